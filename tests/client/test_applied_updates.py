"""What becomes of each update that an agent sends: in the client's transcript, and in what its user is told.

Every rule is tried in a turn, in strict mode, and between turns, where the frames are read the short way.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from accord import Client
from accord.session.content import Text
from accord.session.entities import ContentItem, Cost, Location, TerminalItem, ToolCall
from accord.session.updates import (
    CommandsChanged,
    MessageChanged,
    MessageChunk,
    ModeChanged,
    PlanChanged,
    ToolCallChanged,
    UnknownUpdate,
    Update,
    UsageChanged,
)
from accord.session.value import Unknown
from accord.testing import ScriptedAgent
from tests.client.words import CWD

WAYS = ["in a turn", "between turns"]
ROLES = [("user", "user_message"), ("agent", "agent_message"), ("thought", "agent_thought")]
LATER = pytest.mark.parametrize("version", [2, "2-draft"], ids=["v2", "v2-draft"])
V1 = pytest.mark.parametrize("version", [1], ids=["v1"])

pytestmark = pytest.mark.parametrize("way", WAYS)


class Stage:
    """A session with an agent that reports; each report has been applied when `tell` returns."""

    def __init__(self, agent: ScriptedAgent, client: Client, session: Any) -> None:
        self.agent = agent
        self.client = client
        self.session = session
        self.changes: list[Update] = []

    async def tell(self, tag: str, **members: Any) -> None:
        self.agent.update(tag, **members)
        answer = await self.agent.ask("_acme/ping", {})
        assert answer.error["code"] == -32601

    def content(self, role: str, id: str) -> list[str]:
        return [block.text for block in self.session.transcript.messages[role, id].content]

    def call(self, id: str = "c") -> ToolCall:
        return self.session.transcript.tool_calls[id]

    def shown(self, id: str = "c") -> list[str]:
        items: Any = self.call(id).content
        return [item.content.text for item in items]

    def told(self, kind: type[Any]) -> list[Any]:
        """What the user was told of this kind, once the stage is left."""
        return [change for change in self.changes if type(change) is kind]


@asynccontextmanager
async def stage(version: Any, way: str, *, strict: bool | None = None, **opened: Any) -> AsyncIterator[Stage]:
    """`opened` is laid over the answer that opens the session."""
    changes: list[Update] = []
    agent = ScriptedAgent(version)
    agent.on("session/new", {"sessionId": "session-1", **opened})
    is_strict = way == "in a turn" if strict is None else strict
    hear = lambda update: changes.append(update.update)  # noqa: E731
    async with Client(agent, version=version, strict=is_strict, on_update=hear) as client:
        session = await client.new_session(CWD)
        here = Stage(agent, client, session)
        if way == "in a turn":
            reply = session.prompt("go")
            asked = await agent.next("session/prompt")
            agent.begin(asked)
            yield here
            agent.finish(asked)
            here.changes = [change async for change in reply]
        else:
            yield here
            await client._connection.callbacks.join()
            here.changes = changes


def blocks(*texts: str) -> list[Any]:
    return [{"type": "text", "text": text} for text in texts]


def items(*texts: str) -> list[Any]:
    return [{"type": "content", "content": block} for block in blocks(*texts)]


# Messages


@LATER
@pytest.mark.parametrize(("role", "tag"), ROLES)
@pytest.mark.requirement("UPDATE-16", "UPDATE-17", "UPDATE-19", "UPDATE-21", "UPDATE-23", "UPDATE-25", "UPDATE-28")
@pytest.mark.requirement("UPDATE-29", "EXT-13")
async def test_a_message_is_created_patched_and_appended_to_by_its_id(version, way, role, tag):
    async with stage(version, way) as here:
        reports: list[dict[str, Any]] = [
            {"content": blocks("A")},
            {"chunk": "B"},
            {"content": blocks("C", "c")},
            {"chunk": "D"},
            {"_meta": {"seen": True}},
            {"chunk": "E"},
        ]
        steps = []
        for members in reports:
            if "chunk" in members:
                await here.tell(f"{tag}_chunk", messageId="m", content=blocks(members["chunk"])[0])
            else:
                await here.tell(tag, messageId="m", **members)
            steps.append("".join(here.content(role, "m")))
        assert steps == ["A", "AB", "Cc", "CcD", "CcD", "CcDE"]
        assert here.session.transcript.messages[role, "m"].meta == {"seen": True}
    of_it = [change for change in here.told(MessageChanged) if change.message.id == "m"]
    assert [change.created for change in of_it] == [True, False, False]
    assert [change.message.text for change in of_it] == ["A", "Cc", "CcD"]
    assert [change.text for change in here.told(MessageChunk) if change.message.id == "m"] == ["B", "D", "E"]


@LATER
@pytest.mark.parametrize("nothing", [None, []], ids=["null", "an empty array"])
@pytest.mark.parametrize(("role", "tag"), ROLES)
@pytest.mark.requirement("UPDATE-18", "UPDATE-20", "UPDATE-22")
async def test_null_and_an_empty_array_clear_a_message_with_what_was_appended(version, way, role, tag, nothing):
    async with stage(version, way) as here:
        await here.tell(tag, messageId="m", content=blocks("A"))
        await here.tell(f"{tag}_chunk", messageId="m", content=blocks("B")[0])
        await here.tell(tag, messageId="m", content=nothing)
        assert here.content(role, "m") == []
        await here.tell(f"{tag}_chunk", messageId="m", content=blocks("C")[0])
        assert here.content(role, "m") == ["C"]


@LATER
@pytest.mark.requirement("UPDATE-18")
async def test_null_clears_the_meta_of_a_message(version, way):
    async with stage(version, way) as here:
        await here.tell("agent_message", messageId="m", content=blocks("A"), _meta={"a": 1})
        await here.tell("agent_message", messageId="m", _meta=None)
        message = here.session.transcript.messages["agent", "m"]
        assert (message.meta, message.text) == (None, "A")


@pytest.mark.requirement("UPDATE-15", "UPDATE-26", "UPDATE-27", "AMB-52")
async def test_another_id_begins_another_message_and_each_gets_what_is_its_own_in_order(version, way):
    async with stage(version, way) as here:
        for id, text in (("m", "a"), ("n", "b"), ("m", "c"), ("n", "d")):
            await here.tell("agent_message_chunk", messageId=id, content=blocks(text)[0])
        await here.tell("agent_thought_chunk", messageId="m", content=blocks("hm")[0])
        known = here.session.transcript.messages
        assert [known["agent", id].text for id in ("m", "n")] == ["ac", "bd"]
        assert known["thought", "m"].text == "hm"  # one id in two roles is two messages


@pytest.mark.requirement("AMB-51")
@pytest.mark.parametrize("version", [1, "2-draft"], ids=["v1", "v2-draft"])
async def test_a_chunk_without_an_id_goes_on_with_the_newest_message_of_its_role(version, way):
    async with stage(version, way) as here:
        for text, id in (("a", {"messageId": "m"}), ("b", {}), ("c", {"messageId": "n"}), ("d", {})):
            await here.tell("agent_message_chunk", content=blocks(text)[0], **id)
        known = here.session.transcript.messages
        assert [known["agent", id].text for id in ("m", "n")] == ["ab", "cd"]


@pytest.mark.bad_frames
@LATER
@pytest.mark.requirement("AMB-51")
async def test_an_update_without_its_key_is_dropped_with_a_line_in_the_log(version, way, caplog):
    async with stage(version, way) as here:
        await here.tell("agent_message", content=blocks("whose?"))
        await here.tell("agent_message", messageId=None, content=blocks("whose?"))
        await here.tell("tool_call_update", title="whose?")
        await here.tell("tool_call_content_chunk", toolCallId=None, content=items("whose?")[0])
        await here.tell("usage_update", size=5)
        await here.tell("usage_update", used=None, size=5)
        transcript = here.session.transcript
        assert [message.text for message in transcript.messages.values() if message.role != "user"] == []
        assert (transcript.tool_calls, transcript.usage) == ({}, None)
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 6


@pytest.mark.bad_frames
@pytest.mark.parametrize("version", ["2-draft"], ids=["v2-draft"])
@pytest.mark.requirement("AMB-69")
async def test_one_block_is_an_array_of_one_and_an_array_in_a_chunk_is_several(version, way):
    async with stage(version, way, strict=False) as here:
        await here.tell("agent_message", messageId="m", content=blocks("A")[0])
        await here.tell("agent_message_chunk", messageId="m", content=blocks("B", "C"))
        assert here.session.transcript.messages["agent", "m"].text == "ABC"


# Tool calls


@LATER
@pytest.mark.requirement("UPDATE-36", "UPDATE-37", "UPDATE-38", "UPDATE-40", "AMB-50", "TOOL-03", "AMB-19")
async def test_a_tool_call_is_created_with_defaults_patched_and_cleared_by_its_id(version, way):
    async with stage(version, way) as here:
        if version == "2-draft":  # from its first form on that v1 does not have, null clears (AMB-49)
            await here.tell("agent_message", messageId="m", content=[])
        await here.tell("tool_call_update", toolCallId="c")
        call = here.call()
        assert (call.title, call.kind, call.status, list(call.content), call.locations) == (
            None,
            "other",
            "pending",
            [],
            [],
        )
        await here.tell("tool_call_update", toolCallId="c", title="Look", kind="read", status="in_progress")
        await here.tell("tool_call_update", toolCallId="c", rawInput={"path": "a"}, locations=[{"path": "/w/a"}])
        call = here.call()
        assert (call.title, call.kind, call.status) == ("Look", "read", "in_progress")
        assert (call.raw_input, call.locations) == ({"path": "a"}, [Location(path="/w/a")])
        await here.tell(
            "tool_call_update", toolCallId="c", title=None, kind=None, status=None, rawInput=None, locations=None
        )
        call = here.call()
        assert (call.title, call.kind, call.status, call.raw_input, call.locations) == (
            None,
            "other",
            "pending",
            None,
            [],
        )
        await here.tell("tool_call_update", toolCallId="d", title="Other")
        assert (here.call("c").title, here.call("d").title) == (None, "Other")
    of_it = [change for change in here.told(ToolCallChanged) if change.call.id == "c"]
    assert [change.created for change in of_it][:4] == [True, False, False, False]
    assert [change.call.title for change in of_it][:4] == [None, "Look", "Look", None]


@LATER
@pytest.mark.parametrize("nothing", [None, []], ids=["null", "an empty array"])
@pytest.mark.requirement("UPDATE-39", "UPDATE-43", "UPDATE-44", "UPDATE-45", "UPDATE-46", "TOOL-42", "UPDATE-41")
async def test_what_a_tool_call_shows_grows_by_pieces_and_is_replaced_whole(version, way, nothing):
    async with stage(version, way) as here:
        steps = []
        for members in (
            {"content": items("A", "B"), "locations": [{"path": "/w/a"}, {"path": "/w/b"}]},
            {"piece": "C"},
            {"content": items("D"), "locations": [{"path": "/w/c"}]},
            {"piece": "E"},
            {"content": nothing, "locations": nothing},
            {"piece": "F"},
        ):
            if "piece" in members:
                await here.tell("tool_call_content_chunk", toolCallId="c", content=items(members["piece"])[0])
            else:
                await here.tell("tool_call_update", toolCallId="c", **members)
            steps.append(("".join(here.shown()), [place.path[-1] for place in here.call().locations]))
        assert steps == [
            ("AB", ["a", "b"]),
            ("ABC", ["a", "b"]),
            ("D", ["c"]),
            ("DE", ["c"]),
            ("", []),
            ("F", []),
        ]
    told = ["".join(item.content.text for item in change.call.content) for change in here.told(ToolCallChanged)]
    assert told[:6] == ["AB", "ABC", "D", "DE", "", "F"]


@V1
@pytest.mark.requirement("TOOL-32", "TOOL-31", "AMB-49", "AMB-48")
async def test_in_v1_arrays_replace_the_former_ones_and_null_changes_nothing(version, way):
    async with stage(version, way) as here:
        places = [{"path": "/w/a"}, {"path": "/w/b", "line": 3}]
        await here.tell(
            "tool_call", toolCallId="c", title="Look", kind="read", content=items("A", "B"), locations=places
        )
        await here.tell("tool_call_update", toolCallId="c", content=items("C"), locations=[{"path": "/w/c"}])
        assert (here.shown(), here.call().locations) == (["C"], [Location(path="/w/c")])
        await here.tell(
            "tool_call_update", toolCallId="c", title=None, kind=None, status=None, content=None, locations=None
        )
        call = here.call()
        assert (call.title, call.kind, here.shown(), call.locations) == ("Look", "read", ["C"], [Location(path="/w/c")])
        await here.tell("tool_call_update", toolCallId="c", content=[], locations=[])
        assert (here.shown(), here.call().locations) == ([], [])


@pytest.mark.parametrize("version", ["2-draft"], ids=["v2-draft"])
@pytest.mark.requirement("AMB-49")
async def test_null_clears_from_the_first_form_on_that_only_the_draft_has(version, way):
    async with stage(version, way) as here:
        await here.tell("tool_call", toolCallId="c", title="Look", content=items("A"))
        await here.tell("tool_call_update", toolCallId="c", title=None, content=None)
        assert (here.call().title, here.shown()) == ("Look", ["A"])
        await here.tell("tool_call_content_chunk", toolCallId="c", content=items("B")[0])
        await here.tell("tool_call_update", toolCallId="c", title=None, content=None)
        assert (here.call().title, here.shown()) == (None, [])


@pytest.mark.requirement("AMB-54")
async def test_a_report_of_a_call_that_nobody_announced_creates_it(version, way, caplog):
    caplog.set_level(logging.DEBUG, logger="accord.client")
    async with stage(version, way) as here:
        await here.tell("tool_call_update", toolCallId="c", status="in_progress")
        call = here.call()
        assert (call.title, call.kind, call.status) == (None, "other", "in_progress")
        if version != 1:
            await here.tell("tool_call_content_chunk", toolCallId="d", content=items("A")[0])
            assert (here.call("d").status, here.shown("d")) == ("pending", ["A"])
    lines = [record.getMessage() for record in caplog.records if "was never announced" in record.getMessage()]
    assert len(lines) == (1 if version == 1 else 0)


@pytest.mark.parametrize("version", [1, "2-draft"], ids=["v1", "v2-draft"])
@pytest.mark.requirement("AMB-54", "AMB-19")
async def test_a_second_announcement_of_a_call_is_an_update(version, way):
    async with stage(version, way) as here:
        await here.tell("tool_call", toolCallId="c", title="Look", kind="read", content=items("A"))
        await here.tell("tool_call", toolCallId="c", title="Look again", status="in_progress")
        call = here.call()
        assert (call.title, call.kind, call.status, here.shown()) == ("Look again", "read", "in_progress", ["A"])
        assert list(here.session.transcript.tool_calls) == ["c"]


@pytest.mark.requirement("AMB-55", "TOOL-30")
async def test_what_is_told_of_a_call_that_has_ended_is_applied_and_logged(version, way, caplog):
    caplog.set_level(logging.DEBUG, logger="accord.client")
    async with stage(version, way) as here:
        creates = "tool_call" if version == 1 else "tool_call_update"
        await here.tell(creates, toolCallId="c", title="Look", status="completed")
        await here.tell("tool_call_update", toolCallId="c", content=items("A"))
        assert (here.call().status, here.shown()) == ("completed", ["A"])
        assert "has ended" not in caplog.text
        await here.tell("tool_call_update", toolCallId="c", status="in_progress")
        assert here.call().status == "in_progress"
        await here.tell("tool_call_update", toolCallId="c", status="completed")
        assert here.call().status == "completed"
    assert caplog.text.count("has ended") == 1


@pytest.mark.requirement("AMB-56")
@pytest.mark.parametrize("raw", ["text", 5, [1, 2], True, {"a": [None]}], ids=str)
async def test_what_is_raw_is_any_json(version, way, raw):
    async with stage(version, way) as here:
        creates = "tool_call" if version == 1 else "tool_call_update"
        await here.tell(creates, toolCallId="c", title="Look", rawInput=raw)
        await here.tell("tool_call_update", toolCallId="c", rawOutput=raw)
        assert (here.call().raw_input, here.call().raw_output) == (raw, raw)


@LATER
@pytest.mark.requirement("COMPAT-08", "COMPAT-09")
async def test_an_item_of_an_unknown_type_is_kept_whole_between_the_others(version, way):
    chart = {"type": "_chart", "points": [[1, 2.5], None], "_meta": {"unit": "ms"}}
    async with stage(version, way, strict=False) as here:
        await here.tell("tool_call_update", toolCallId="c", content=[*items("A"), chart, *items("B")])
        await here.tell("tool_call_content_chunk", toolCallId="c", content=chart)
    first, unknown, second, appended = here.call().content
    assert (first, second) == (ContentItem(content=Text("A")), ContentItem(content=Text("B")))
    for item in (unknown, appended):
        assert isinstance(item, Unknown)
        assert (item.tag, item.raw) == ("_chart", chart)
    assert here.told(ToolCallChanged)[1].call.content[3].raw == chart


@LATER
@pytest.mark.requirement("AMB-18", "TOOL-33")
async def test_a_terminal_in_a_tool_call_is_kept_by_its_id(version, way):
    async with stage(version, way) as here:
        terminal = {"type": "terminal", "terminalId": "t"}
        await here.tell("tool_call_update", toolCallId="c", content=[*items("A"), terminal])
        assert list(here.call().content) == [ContentItem(content=Text("A")), TerminalItem(terminal_id="t")]


KINDS = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]


@pytest.mark.requirement("AMB-22", "TOOL-07")
async def test_each_of_the_ten_kinds_is_understood_and_one_of_the_agents_own_beside_them(version, way):
    creates = "tool_call" if version == 1 else "tool_call_update"
    kinds = KINDS if version == 1 else [*KINDS, "_draw"]
    async with stage(version, way) as here:
        for kind in kinds:
            await here.tell(creates, toolCallId=kind, title=kind, kind=kind)
        assert [call.kind for call in here.session.transcript.tool_calls.values()] == kinds


@V1
@pytest.mark.bad_frames
@pytest.mark.requirement("AMB-59", "TOOL-07", "TOOL-08", "COMPAT-11")
async def test_in_v1_values_that_it_does_not_list_are_kept_and_the_call_goes_on(version, way):
    async with stage(version, way, strict=False) as here:
        await here.tell("tool_call", toolCallId="c", title="Draw", kind="_draw", status="hovering")
        call = here.call()
        assert (call.kind, call.status, call.finished) == ("_draw", "hovering", False)
        entry = {"content": "wait", "priority": "urgent", "status": "blocked"}
        await here.tell("plan", entries=[entry])
        (plan,) = here.session.transcript.plans.values()
        assert [(each.content, each.priority, each.status) for each in plan.entries] == [("wait", "urgent", "blocked")]


# Everything else


def entries(*texts: str) -> list[Any]:
    return [{"content": text, "priority": "medium", "status": "pending"} for text in texts]


@pytest.mark.requirement("PLAN-09", "PLAN-10", "AMB-20", "AMB-44")
async def test_each_plan_replaces_the_one_before_whole(version, way):
    def plan(*texts: str) -> dict[str, Any]:
        if version == 1:
            return {"entries": entries(*texts)}
        return {"plan": {"type": "items", "planId" if version == 2 else "id": "p", "entries": entries(*texts)}}

    tag = "plan" if version == 1 else "plan_update"
    async with stage(version, way) as here:
        for texts in (["a", "b", "c"], ["b"], [], ["d", "e"]):
            await here.tell(tag, **plan(*texts))
            (shown,) = here.session.transcript.plans.values()
            assert [entry.content for entry in shown.entries] == texts
    told = [[entry.content for entry in change.plan.entries] for change in here.told(PlanChanged)]
    assert told[:4] == [["a", "b", "c"], ["b"], [], ["d", "e"]]


@LATER
@pytest.mark.requirement("AMB-20", "PLAN-11", "UPDATE-47")
async def test_plans_are_kept_side_by_side_by_their_ids_and_an_unknown_type_is_kept(version, way):
    key = "planId" if version == 2 else "id"
    chart = {"type": "_gantt", key: "q", "bars": [1, 2]}
    async with stage(version, way, strict=False) as here:
        await here.tell("plan_update", plan={"type": "items", key: "p", "entries": entries("a")})
        await here.tell("plan_update", plan=chart)
        await here.tell("plan_update", plan={"type": "items", key: "r", "entries": entries("b")})
        await here.tell("plan_update", plan={"type": "items", key: "p", "entries": entries("c")})
        plans = here.session.transcript.plans
        assert [entry.content for id in ("p", "r") for entry in plans[id].entries] == ["c", "b"]
        assert (plans["q"].type, plans["q"].raw) == ("_gantt", chart)
        if version == "2-draft":
            await here.tell("plan", entries=entries("as in v1"))
            await here.tell("plan", entries=entries("again"))
            (last,) = [plan for id, plan in plans.items() if id not in ("p", "q", "r")]
            assert [entry.content for entry in last.entries] == ["again"]


@pytest.mark.requirement("CMD-07", "UPDATE-09", "AMB-21")
async def test_each_list_of_commands_takes_the_place_of_the_one_before(version, way):
    typed = {"type": "command"} if version == 2 else {}
    kind = {"type": "text"} if version == 2 else {}
    review = {"name": "review", "description": "Look again", "input": {"hint": "which file", **kind}, **typed}
    test = {"name": "test", "description": "Run the tests", **typed}
    async with stage(version, way) as here:
        for listed in ([review], [test, review], [test], []):
            await here.tell("available_commands_update", availableCommands=listed)
            assert [command.name for command in here.session.commands] == [each["name"] for each in listed]
    told = [[command.name for command in change.commands] for change in here.told(CommandsChanged)]
    assert told == [["review"], ["test", "review"], ["test"], []]


@pytest.mark.requirement("AMB-68", "CMD-03")
async def test_a_command_is_known_by_its_name_without_the_slash(version, way):
    typed = {"type": "command"} if version == 2 else {}
    listed = [{"name": name, "description": "Look", **typed} for name in ("/review", "test", "//odd")]
    async with stage(version, way) as here:
        await here.tell("available_commands_update", availableCommands=listed)
        assert [command.name for command in here.session.commands] == ["review", "test", "/odd"]


@pytest.mark.parametrize("version", [1, "2-draft"], ids=["v1", "v2-draft"])
@pytest.mark.requirement("AMB-21", "MODE-08", "AMB-71", "AMB-44")
async def test_a_mode_that_the_agent_reports_is_in_force_at_once(version, way):
    modes = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]}
    async with stage(version, way, modes=modes) as here:
        for mode in ("code", "code", "ask"):  # an echo is harmless
            await here.tell("current_mode_update", currentModeId=mode)
            assert here.session.modes.current == mode
    assert [change.mode_id for change in here.told(ModeChanged)] == ["code", "code", "ask"]


@pytest.mark.requirement("AMB-53", "UPDATE-30")
async def test_a_cost_that_is_left_out_stays_and_null_clears_it(version, way):
    cost = {"amount": 0.25, "currency": "EUR"}
    async with stage(version, way) as here:
        seen = []
        for members in ({"cost": cost}, {}, {"cost": None}):
            await here.tell("usage_update", used=len(seen), size=100, **members)
            seen.append(here.session.transcript.usage)
        kept = Cost(amount=0.25, currency="EUR")
        assert [(each.used, each.size, each.cost) for each in seen] == [(0, 100, kept), (1, 100, kept), (2, 100, None)]
    assert [change.usage.used for change in here.told(UsageChanged)] == [0, 1, 2]


@pytest.mark.requirement("AMB-60")
async def test_an_update_that_nobody_knows_is_delivered_whole_and_nothing_ends_by_it(version, way):
    raw = {"sessionUpdate": "_weather", "sky": ["clear", None], "_meta": {"from": "roof"}}
    async with stage(version, way, strict=False) as here:
        await here.tell(raw["sessionUpdate"], sky=raw["sky"], _meta=raw["_meta"])
        await here.tell("agent_message_chunk", messageId="m", content=blocks("on")[0])
        assert here.content("agent", "m") == ["on"]
    (unknown,) = here.told(UnknownUpdate)
    assert unknown.patch.raw == raw
