"""Whatever is reported, a transcript holds what a small and slow model of the rules holds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.session import (
    Compaction,
    Cost,
    Image,
    Info,
    Message,
    Mode,
    Modes,
    Option,
    Patch,
    Plan,
    PlanEntry,
    SlashCommand,
    State,
    Terminal,
    TerminalItem,
    Text,
    ToolCall,
    Transcript,
    Usage,
)
from accord.session.content import text_of
from accord.session.entities import ContentItem, Exit, Location, Notice
from accord.session.memory_estimate import weigh, weigh_piece
from accord.session.patch_rules import appended_content
from accord.session.replay import replay
from accord.session.updates import (
    CommandsPatch,
    CompactionAppend,
    CompactionPatch,
    InfoPatch,
    MessageAppend,
    MessageChanged,
    MessagePatch,
    ModePatch,
    ModesPatch,
    NoticePatch,
    OptionsPatch,
    PlanPatch,
    PromptPatch,
    StatePatch,
    TerminalAppend,
    TerminalPatch,
    ToolCallAppend,
    ToolCallPatch,
    UnknownPatch,
    UsagePatch,
)
from accord.session.value import UNSET

BEGIN_TURN = "begin turn"
ROLES = st.sampled_from(["user", "agent", "thought"])
IDS = st.sampled_from(["1", "2", "accord-1"])
WORDS = st.sampled_from(["", "a", "b\n", "é", "😀"])


def patched(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.just(UNSET), st.none(), values)


BLOCKS = st.one_of(
    st.builds(Text, WORDS),
    st.builds(Text, WORDS, meta=st.just({"x": 1})),
    st.builds(Image, data=WORDS, mime_type=st.just("image/png")),
)
ITEMS = st.one_of(st.builds(ContentItem, BLOCKS), st.builds(TerminalItem, terminal_id=IDS))
JSON = st.sampled_from([0, "x", {"a": [None]}])
META = {
    "meta": patched(st.dictionaries(st.sampled_from("ab"), st.one_of(st.none(), JSON))),
    "meta_replaces": st.booleans(),
}
MODES = st.sampled_from(["ask", "code"])

PIECES = st.builds(MessageAppend, role=ROLES, id=st.one_of(st.none(), IDS), content=BLOCKS)
PATCHES = st.builds(
    MessagePatch, role=ROLES, id=st.one_of(st.none(), IDS), content=patched(st.lists(BLOCKS, max_size=3)), **META
)
CALLS = st.builds(
    ToolCallPatch,
    id=IDS,
    title=patched(WORDS),
    kind=patched(st.just("read")),
    status=patched(st.sampled_from(["in_progress", "completed"])),
    content=patched(st.lists(ITEMS, max_size=3)),
    locations=patched(st.lists(st.builds(Location, path=WORDS), max_size=2)),
    raw_input=patched(JSON),
    raw_output=patched(JSON),
    cancellable=patched(st.booleans()),
    creates=st.booleans(),
    **META,
)
CALL_PIECES = st.builds(ToolCallAppend, id=IDS, item=ITEMS)
TERMINALS = st.builds(
    TerminalPatch,
    id=IDS,
    command=patched(WORDS),
    output=patched(st.binary(max_size=4)),
    exit=patched(st.builds(Exit, code=st.integers(0, 1))),
    **META,
)
TERMINAL_PIECES = st.builds(TerminalAppend, id=IDS, data=st.binary(max_size=4))
PLANS = st.builds(
    PlanPatch,
    plan=st.builds(Plan, id=IDS, entries=st.lists(st.builds(PlanEntry, content=WORDS), max_size=2)),
)
COMPACTIONS = st.builds(
    CompactionPatch,
    id=IDS,
    status=st.sampled_from(["in_progress", "completed"]),
    summary=patched(st.lists(BLOCKS, max_size=2)),
    error=patched(WORDS),
    **META,
)
SETTINGS = st.one_of(
    st.builds(CommandsPatch, commands=st.lists(st.builds(SlashCommand, name=WORDS, description=WORDS), max_size=2)),
    st.builds(
        OptionsPatch,
        options=st.lists(
            st.builds(Option, id=IDS, name=WORDS, value=MODES, category=st.sampled_from(["mode", "model"])), max_size=3
        ),
    ),
    st.builds(
        ModesPatch, modes=st.builds(Modes, current=MODES, available=st.lists(st.builds(Mode, id=MODES, name=WORDS)))
    ),
    st.builds(ModePatch, mode_id=MODES),
    st.builds(InfoPatch, title=patched(WORDS), updated_at=patched(WORDS), **META),
    st.builds(
        UsagePatch,
        used=st.integers(0, 9),
        size=st.just(9),
        cost=patched(st.builds(Cost, amount=st.just(1.5), currency=WORDS)),
    ),
    st.builds(NoticePatch, notice=st.builds(Notice, severity=st.just("info"), title=WORDS)),
    st.builds(StatePatch, state=st.builds(State, state=st.sampled_from(["idle", "running"]))),
)
REPORTS: st.SearchStrategy[Any] = st.one_of(
    PIECES,
    PIECES,
    PATCHES,
    CALLS,
    CALL_PIECES,
    TERMINALS,
    TERMINAL_PIECES,
    PLANS,
    COMPACTIONS,
    st.builds(CompactionAppend, id=IDS, content=BLOCKS),
    SETTINGS,
    st.builds(UnknownPatch, tag=st.just("_x"), raw=st.dictionaries(WORDS, JSON, max_size=1)),
    st.just(BEGIN_TURN),
)
HISTORIES = st.lists(REPORTS, max_size=25)


class Model:
    """The rules, as plainly as they can be put: everything is a dict of fields, and copying costs nothing."""

    def __init__(self) -> None:
        self.things: dict[tuple[str, ...], dict[str, Any]] = {}
        self.timeline: list[Any] = []
        self.fields: dict[str, Any] = {
            "commands": [], "options": [], "modes": None, "info": {}, "usage": None, "state": State()
        }  # fmt: skip
        self.telling: tuple[str, ...] | None = None

    def thing(self, *key: str, **created_with: Any) -> dict[str, Any]:
        if key not in self.things:
            self.things[key] = {"id": key[-1], **created_with}
            if key[0] != "terminal":
                self.timeline.append(key)
                self.telling = None
        return self.things[key]

    def patch(self, thing: dict[str, Any], report: Any, *names: str) -> None:
        for name in names:
            value = getattr(report, name)
            if value is None or value in ([], b""):
                thing.pop(name, None)
            elif value is not UNSET:
                thing[name] = value
        if report.meta is None:
            thing.pop("meta", None)
        elif report.meta is not UNSET:
            kept = {} if report.meta_replaces else thing.get("meta", {})
            thing["meta"] = kept | report.meta
            if not report.meta_replaces:
                thing["meta"] = {
                    key: value for key, value in thing["meta"].items() if report.meta.get(key, 0) is not None
                }

    def message(self, report: Any) -> dict[str, Any]:
        key = ("message", report.role, report.id)
        if report.id is None:
            key = self.telling
            if key is None or key[1] != report.role:
                taken = {each[-1] for each in self.things if each[0] == "message"}
                self.made_up = next(n for n in range(getattr(self, "made_up", 0) + 1, 99) if f"accord-{n}" not in taken)
                key = ("message", report.role, f"accord-{self.made_up}")
        thing = self.thing(*key, role=report.role)
        self.telling = key
        return thing

    def apply(self, report: Any) -> None:
        match report:
            case MessageAppend():
                message = self.message(report)
                block: Any = report.content
                plain = isinstance(block, Text) and block.meta is None
                content = message.get("content", [])
                if plain and message.get("open"):
                    message["content"] = [*content[:-1], Text(content[-1].text + block.text)]
                else:
                    message["content"] = [*content, block]
                message["open"] = plain
            case MessagePatch():
                message = self.message(report)
                message["open"] = False
                self.patch(message, report, "content")
            case ToolCallPatch() | ToolCallAppend():
                call = self.thing("call", report.id)
                begins = getattr(report, "creates", False) and call.get("status") == "completed"
                self.telling = None if begins else self.telling
                if isinstance(report, ToolCallAppend):
                    call["content"] = [*call.get("content", []), report.item]
                else:
                    names = (
                        "title",
                        "kind",
                        "status",
                        "content",
                        "locations",
                        "raw_input",
                        "raw_output",
                        "cancellable",
                    )
                    self.patch(call, report, *names)
            case TerminalPatch():
                self.patch(self.thing("terminal", report.id), report, "command", "output", "exit")
            case TerminalAppend():
                terminal = self.thing("terminal", report.id)
                terminal["output"] = terminal.get("output", b"") + report.data
            case PlanPatch():
                self.thing("plan", report.plan.id)["plan"] = report.plan
            case CompactionPatch():
                compaction = self.thing("compaction", report.id)
                self.patch(compaction, report, "summary", "error")
                compaction["status"] = report.status
            case CompactionAppend():
                compaction = self.thing("compaction", report.id, status="in_progress")
                compaction["summary"] = [*compaction.get("summary", []), report.content]
            case UnknownPatch():
                self.timeline.append(report)
            case _:
                self.set(report)

    def set(self, report: Any) -> None:
        fields = self.fields
        match report:
            case CommandsPatch():
                fields["commands"] = report.commands
            case OptionsPatch():
                fields["options"] = report.options
                modes: list[Any] = [option.value for option in report.options if option.category == "mode"]
                if modes and fields["modes"]:
                    fields["modes"] = Modes(current=modes[0], available=fields["modes"].available)
            case ModesPatch() | ModePatch():
                mode = report.modes.current if isinstance(report, ModesPatch) else report.mode_id
                if isinstance(report, ModesPatch):
                    fields["modes"] = report.modes
                elif fields["modes"]:
                    fields["modes"] = Modes(current=mode, available=fields["modes"].available)
                first = next((n for n, option in enumerate(fields["options"]) if option.category == "mode"), None)
                fields["options"] = [
                    msgspec.structs.replace(option, value=mode) if n == first else option
                    for n, option in enumerate(fields["options"])
                ]
            case InfoPatch():
                fields["info"] = dict(fields["info"])
                self.patch(fields["info"], report, "title", "updated_at")
            case UsagePatch():
                cost = fields["usage"] and fields["usage"].cost if report.cost is UNSET else report.cost
                fields["usage"] = Usage(used=report.used, size=report.size, cost=cost)
            case StatePatch():
                fields["state"] = report.state

    def built(self, kind: str) -> dict[Any, Any]:
        """The entities of one kind as a transcript has them."""
        makers: dict[str, Any] = {"message": Message, "call": ToolCall, "terminal": Terminal, "compaction": Compaction}
        result: dict[Any, Any] = {}
        for key, thing in self.things.items():
            if key[0] == kind == "plan":
                result[key[1]] = thing["plan"]
            elif key[0] == kind:
                entity = makers[kind](**{name: value for name, value in thing.items() if name != "open"})
                result[key[1:] if kind == "message" else key[1]] = entity
        return result


def told(history: list[Any], byte_limit: int = 2**30) -> Transcript:
    transcript = Transcript(byte_limit)
    for report in history:
        if report == BEGIN_TURN:
            transcript.begin_turn()
        else:
            transcript.apply(report)
    return transcript


def assert_same(transcript: Transcript, other: Transcript) -> None:
    for name in ("messages", "tool_calls", "terminals", "plans", "compactions", "timeline"):
        assert getattr(transcript, name) == getattr(other, name)
    for name in ("commands", "options", "modes", "info", "usage", "state"):
        assert getattr(transcript, name) == getattr(other, name)


def weight(transcript: Transcript) -> int:
    """What the content of everything adds up to, weighed anew."""
    total = sum(len(terminal.output) for terminal in transcript.terminals.values())
    for place in transcript.timeline:
        match place:
            case Message():
                total += sum(weigh_piece(block) for block in place.content)
            case ToolCall():
                total += weigh(place.content) + weigh(place.raw_input) + weigh(place.raw_output)
            case Plan():
                total += weigh(place.entries) + weigh(place.raw)
            case Compaction():
                total += weigh(place.summary)
            case UnknownPatch():
                total += weigh(place.raw)
    return total


@pytest.mark.requirement("UPDATE-27", "UPDATE-46")
@given(HISTORIES)
@settings(max_examples=300)
def test_a_transcript_holds_what_the_model_holds(history: list[Any]):
    transcript, model = told(history), Model()
    for report in history:
        if report == BEGIN_TURN:
            model.telling = None
        else:
            model.apply(report)
    assert transcript.messages == model.built("message")
    assert transcript.tool_calls == model.built("call")
    assert transcript.terminals == model.built("terminal")
    assert transcript.plans == model.built("plan")
    assert transcript.compactions == model.built("compaction")
    places = {("message", *key): value for key, value in transcript.messages.items()}
    places |= {("call", key): value for key, value in transcript.tool_calls.items()}
    places |= {("plan", key): value for key, value in transcript.plans.items()}
    places |= {("compaction", key): value for key, value in transcript.compactions.items()}
    assert transcript.timeline == [places[key] if isinstance(key, tuple) else key for key in model.timeline]
    assert [transcript.last] == (transcript.timeline[-1:] or [None])
    assert {call.id for call in transcript.open_calls} == {
        id for id, call in transcript.tool_calls.items() if not call.finished
    }
    assert transcript.info == Info(**model.fields.pop("info"))
    assert {name: getattr(transcript, name) for name in model.fields} == model.fields


@pytest.mark.requirement("SESS-14")
@given(HISTORIES)
@settings(max_examples=200)
def test_a_replay_makes_an_equal_transcript_of_a_fresh_one(history: list[Any]):
    transcript = told(history)
    assert_same(told([change.patch for change in replay(transcript)]), transcript)


@given(HISTORIES)
@settings(max_examples=100)
def test_a_replay_changes_nothing_where_it_was_heard_before(history: list[Any]):
    transcript, listener = told(history), told(history)
    for change in replay(transcript):
        if not isinstance(change.patch, UnknownPatch):
            listener.apply(change.patch)
    assert_same(listener, transcript)


def about(report: Any) -> tuple[str, ...]:
    """Which entity a report is about."""
    match report:
        case MessagePatch() | MessageAppend():
            return ("message", report.role, report.id or "")
        case ToolCallPatch() | ToolCallAppend():
            return ("call", report.id)
        case TerminalPatch() | TerminalAppend():
            return ("terminal", report.id)
        case CompactionPatch() | CompactionAppend():
            return ("compaction", report.id)
        case PlanPatch():
            return ("plan", report.plan.id)
        case _:
            return ("other",)


ADDRESSED = st.lists(
    st.one_of(PIECES, PATCHES, CALLS, CALL_PIECES, TERMINALS, TERMINAL_PIECES, PLANS, COMPACTIONS).filter(
        lambda report: about(report)[-1] != ""
    ),
    max_size=20,
)


@pytest.mark.requirement("UPDATE-27", "UPDATE-46", "AMB-27")
@given(ADDRESSED)
@settings(max_examples=100)
def test_only_the_order_of_receipt_per_entity_decides(history: list[Any]):
    shuffled: list[Any] = sorted(
        history, key=lambda report: about(report)[::-1]
    )  # a stable sort: order per entity stays
    one, other = told(history), told(shuffled)
    for name in ("messages", "tool_calls", "terminals", "plans", "compactions"):
        assert getattr(one, name) == getattr(other, name)


@given(HISTORIES)
@settings(max_examples=100)
def test_what_a_change_shows_stays_as_it_was(history: list[Any]):
    transcript = Transcript()
    shown: list[tuple[Any, str]] = []
    for report in history:
        if report == BEGIN_TURN:
            continue
        change: Any = transcript.apply(report)
        if not isinstance(report, MessageAppend):
            shown.append((change, repr(change)))
    assert [repr(change) for change, _ in shown] == [then for _, then in shown]


@given(HISTORIES, st.sampled_from([0, 100, 300, 1000, 2**30]))
@settings(max_examples=200)
def test_the_weight_is_that_of_the_content_and_within_the_limit(history: list[Any], byte_limit: int):
    transcript = told(history, byte_limit)
    assert transcript._weight == weight(transcript) <= byte_limit
    still_open = [call.id for call in transcript.tool_calls.values() if not call.finished]
    assert sorted(call.id for call in transcript.open_calls) == sorted(still_open)


PROMPTS = st.builds(
    PromptPatch, id=IDS, new_id=st.one_of(st.none(), IDS), goes_last=st.booleans(), not_accepted=st.booleans()
)


@given(st.lists(st.one_of(REPORTS, PROMPTS), max_size=25), st.sampled_from([300, 2**30]))
@settings(max_examples=300)
def test_prompts_that_are_named_and_moved_stand_once_each_in_the_order_of_the_timeline(
    history: list[Any], byte_limit: int
):
    transcript = Transcript(byte_limit)
    for report in history:
        if report == BEGIN_TURN:
            transcript.begin_turn()
            continue
        change: Any = transcript.apply(report)
        if isinstance(report, PromptPatch):
            assert (change.former_id, change.message.id) == (report.id, report.new_id or report.id)
            assert change.message == transcript.messages["user", change.message.id]
            others = [id for role, id in transcript.messages if role == "user"]
            assert len(others) == len(set(others))
            assert report.new_id in (None, report.id) or report.id not in others
            if report.goes_last and change.message.id == report.id:
                assert transcript.timeline[-1] == change.message
    places = [place for place in transcript.timeline if isinstance(place, Message)]
    assert places == list(transcript.messages.values())
    assert [(place.role, place.id) for place in places] == list(transcript.messages)
    assert transcript._weight == weight(transcript) <= byte_limit
    told_again = [change.message for change in replay(transcript) if isinstance(change, MessageChanged)]
    assert told_again == [place for place in places if not place.not_accepted]


@given(HISTORIES)
@settings(max_examples=100)
def test_a_report_is_never_changed_by_being_applied(history: list[Patch]):
    before = repr(history)
    told(history)
    list(replay(told(history)))
    assert repr(history) == before


@given(st.lists(BLOCKS, max_size=5), st.lists(BLOCKS, max_size=5), st.booleans())
@settings(max_examples=200)
def test_what_was_added_to_a_content_makes_the_one_the_other(before: list[Any], after: list[Any], extends: bool):
    if extends:
        after = before + after
    added = appended_content(before, after)
    if added is None:
        assert not extends
    else:
        assert appended_content([*before, *added], after) in ([], [Text("")])
        assert text_of([*before, *added]) == text_of(after)
