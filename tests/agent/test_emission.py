"""An author's mistake is a ValueError at the call, and no client hears of it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from accord import Agent, Image, Resource, ResourceLink, Text
from accord.agent import AgentToolCall, SyncTurn, Turn
from accord.errors import TurnStopped
from accord.session.capabilities import ClientCapabilities
from accord.session.content import Annotations
from accord.session.entities import (
    Diff,
    Exit,
    FileChange,
    Location,
    Mode,
    Modes,
    Notice,
    Option,
    OptionChoice,
    Plan,
    PlanEntry,
    SlashCommand,
    State,
    TerminalItem,
    TerminalSize,
)
from accord.session.requests import (
    CommandSubject,
    CreateTerminal,
    ElicitationCompleted,
    ElicitationRequest,
    KillTerminal,
    LoadSession,
    PermissionOption,
    PermissionRequest,
    ReadFile,
    ToolCallSubject,
    WriteFile,
)
from accord.session.updates import (
    CommandsPatch,
    CompactionPatch,
    InfoPatch,
    MessageAppend,
    MessagePatch,
    ModePatch,
    ModesPatch,
    NoticePatch,
    OptionsPatch,
    PlanPatch,
    StatePatch,
    TerminalPatch,
    ToolCallAppend,
    ToolCallPatch,
)
from accord.store import MemoryStore
from tests.agent.user import CWD, EVERYTHING, User, plain_agent

Mistake = Callable[[Turn, AgentToolCall], Awaitable[Any]]
NO = PermissionOption(id="no", name="No", kind="reject_once")
NAN = float("nan")
WEB = Option(id="web", name="Web", kind="boolean", value=True)
TOOL_KINDS = "read, edit, delete, move, search, execute, think, fetch, switch_mode, other"


def select(value: str, *values: str) -> Option:
    return Option(id="size", name="Size", value=value, choices=[OptionChoice(value=each, name=each) for each in values])


def permission(turn: Turn, *options: PermissionOption, subject: Any = None) -> Awaitable[Any]:
    return turn.client.request(PermissionRequest(session_id=turn.session.id, options=list(options), subject=subject))


def about(**fields: Any) -> ToolCallSubject:
    return ToolCallSubject(call=ToolCallPatch(id="c", **fields))


def annotated(**hints: Any) -> Text:
    return Text("hi", annotations=Annotations(**hints))


async def _opened(turn: Turn, **fields: Any) -> None:
    turn.tool_call("Look", **fields)


async def _stopped(turn: Turn, reason: str) -> None:
    try:
        turn.stop(reason)
    except TurnStopped as stopped:  # without this the turn would end
        raise AssertionError(f"{reason} was taken") from stopped


async def _ended(call: AgentToolCall, status: str) -> None:
    call.end(status)


async def _reported(turn: Turn, report: Any) -> None:
    turn.session.send_nowait(report)


MISTAKES: dict[str, tuple[Mistake, str]] = {
    "tool kind": (lambda turn, call: _opened(turn, kind="raed"), f"unknown tool kind 'raed': expected {TOOL_KINDS}"),
    "empty tool kind": (lambda turn, call: _opened(turn, kind="_"), TOOL_KINDS),
    "tool kind that says nothing": (lambda turn, call: _opened(turn, kind=""), TOOL_KINDS),
    "updated tool kind that says nothing": (lambda turn, call: call.update(kind=""), TOOL_KINDS),
    "updated tool kind": (lambda turn, call: call.update(kind="Read"), TOOL_KINDS),
    "patched tool kind": (lambda turn, call: turn.send(ToolCallPatch(id=call.id, kind="raed")), TOOL_KINDS),
    "reported tool kind": (lambda turn, call: _reported(turn, ToolCallPatch(id=call.id, kind="raed")), TOOL_KINDS),
    "tool status": (
        lambda turn, call: turn.send(ToolCallPatch(id=call.id, status="done")),
        "unknown tool call status 'done': expected pending, in_progress, paused, completed, failed, cancelled, or your own",
    ),
    "updated tool status": (lambda turn, call: call.update(status="done"), "in_progress, paused, completed"),
    "tool status that says nothing": (lambda turn, call: call.update(status=""), "in_progress, paused, completed"),
    "final status": (lambda turn, call: _ended(call, "done"), "expected completed, failed, cancelled"),
    "status that is not final": (
        lambda turn, call: _ended(call, "in_progress"),
        "expected completed, failed, cancelled",
    ),
    "id of another call": (lambda turn, call: _opened(turn, id=call.id), "duplicate tool call 'call-"),
    "call that was entered": (lambda turn, call: call.__aenter__(), "this tool call has begun before"),
    "line zero": (lambda turn, call: call.locate("a.py", 0), "lines count from 1"),
    "line below zero": (
        lambda turn, call: _opened(turn, locations=[Location(path="/a", line=-1)]),
        "lines count from 1",
    ),
    "line in a patch": (
        lambda turn, call: turn.send(ToolCallPatch(id=call.id, locations=[Location(path="/a", line=0)])),
        "lines count from 1",
    ),
    "line that is a fraction": (lambda turn, call: call.locate("a.py", 1.5), "lines count from 1"),  # type: ignore[arg-type]
    "line that is too large": (lambda turn, call: call.locate("a.py", 2**32), "lines count from 1"),
    "operation on a file": (
        lambda turn, call: call.show(Diff(changes=[FileChange(operation="rename", path="/a")])),
        "expected add, delete, modify, move, copy",
    ),
    "terminal that nobody has": (lambda turn, call: call.terminal("t9"), "unknown terminal 't9'"),
    "terminal item": (
        lambda turn, call: call.show("text", TerminalItem(terminal_id="t9")),
        "unknown terminal 't9'",
    ),
    "replaced by a terminal": (
        lambda turn, call: call.replace(TerminalItem(terminal_id="t9")),
        "unknown terminal 't9'",
    ),
    "terminal in a new call": (lambda turn, call: _opened(turn, content=TerminalItem(terminal_id="t9")), "'t9'"),
    "terminal in a piece": (
        lambda turn, call: turn.send(ToolCallAppend(id=call.id, item=TerminalItem(terminal_id="t9"))),
        "unknown terminal 't9'",
    ),
    "stop reason": (
        lambda turn, call: _stopped(turn, "budget"),
        "unknown stop reason 'budget': expected end_turn, max_tokens, max_turn_requests, refusal, cancelled",
    ),
    "no permission options": (lambda turn, call: turn.allowed(call, options=[]), "at least one option"),
    "question without options": (lambda turn, call: turn.allowed("May I?", options=()), "at least one option"),
    "request without options": (lambda turn, call: permission(turn), "at least one option"),
    "duplicate permission options": (lambda turn, call: turn.allowed(call, options=[NO, NO]), "duplicate .* 'no'"),
    "permission kind": (
        lambda turn, call: turn.allowed(call, options=[PermissionOption(id="y", name="Yes", kind="allow")]),
        "expected allow_once, allow_always, reject_once, reject_always",
    ),
    "tool kind in a question": (lambda turn, call: permission(turn, NO, subject=about(kind="raed")), TOOL_KINDS),
    "duplicate options": (lambda turn, call: turn.session.set_options([WEB, WEB]), "duplicate option 'web'"),
    "duplicate choices": (
        lambda turn, call: turn.session.set_options([select("s", "s", "m", "s")]),
        "duplicate choice of the option 'size' 's'",
    ),
    "value that is no choice": (
        lambda turn, call: turn.session.set_options([select("xl", "s", "m")]),
        "the option 'size' has no choice 'xl': expected s, m",
    ),
    "switch that is a word": (
        lambda turn, call: turn.session.set_options([Option(id="w", name="W", kind="boolean", value="on")]),
        "expected True or False",
    ),
    "kind of option": (
        lambda turn, call: turn.send(OptionsPatch(options=[Option(id="w", name="W", kind="slider")])),
        "expected select, boolean",
    ),
    "category of an option": (
        lambda turn, call: turn.send(OptionsPatch(options=[Option(id="w", name="W", value="", category="fun")])),
        "expected mode, model, model_config, thought_level",
    ),
    "mode that is not there": (
        lambda turn, call: turn.set_mode("fast"),
        "there is no mode 'fast': the session has ask, code",
    ),
    "reported mode that is not there": (lambda turn, call: turn.send(ModePatch(mode_id="fast")), "ask, code"),
    "duplicate modes": (
        lambda turn, call: turn.send(ModesPatch(modes=Modes(current="a", available=[Mode("a", "A"), Mode("a", "B")]))),
        "duplicate mode 'a'",
    ),
    "current mode that is not there": (
        lambda turn, call: turn.send(ModesPatch(modes=Modes(current="z", available=[Mode("a", "A")]))),
        "is not available: expected a",
    ),
    "negative tokens": (lambda turn, call: turn.usage(-1, 10), "invalid used -1"),
    "negative size": (lambda turn, call: turn.usage(1, -10), "invalid size -10"),
    "fraction of a token": (lambda turn, call: turn.usage(1.5, 10), "invalid used 1.5"),  # type: ignore[arg-type]
    "negative cost": (lambda turn, call: turn.usage(1, 10, -0.5), "invalid cost -0.5"),
    "cost that is no number": (lambda turn, call: turn.usage(1, 10, float("nan")), "invalid cost nan"),
    "cost that is a text": (lambda turn, call: turn.usage(1, 10, "0.5"), "invalid cost '0.5'"),  # type: ignore[arg-type]
    "cost that is a truth": (lambda turn, call: turn.usage(1, 10, True), "invalid cost True"),
    "cost in nothing": (lambda turn, call: turn.usage(1, 10, 0.5, ""), "invalid currency ''"),
    "status of a plan entry": (
        lambda turn, call: turn.plan([PlanEntry(content="a", status="done")]),
        "expected pending, in_progress, completed, cancelled",
    ),
    "priority of a plan entry": (
        lambda turn, call: turn.send(PlanPatch(plan=Plan(id="p", entries=[PlanEntry(content="a", priority="top")]))),
        "expected high, medium, low",
    ),
    "severity of a notice": (lambda turn, call: turn.notice("Oh", severity="bad"), "expected info, warning, error"),
    "severity of a reported notice": (
        lambda turn, call: _reported(turn, NoticePatch(notice=Notice(severity="bad", title="Oh"))),
        "expected info, warning, error",
    ),
    "status of a compaction": (
        lambda turn, call: turn.send(CompactionPatch(id="c", status="done")),
        "expected in_progress, completed, failed, cancelled",
    ),
    "state": (lambda turn, call: turn.send(StatePatch(state=State(state="busy"))), "running, idle, requires_action"),
    "role": (
        lambda turn, call: turn.send(MessageAppend(role="system", id=None, content=Image("", ""))),
        "user, agent, ",
    ),
    "role of a message": (lambda turn, call: turn.send(MessagePatch(role="system", id=None)), "user, agent, thought"),
    "resource without contents": (lambda turn, call: turn.say(Resource(uri="file:///a")), "a text or a blob"),
    "resource in a thought": (lambda turn, call: turn.think(Resource(uri="a", text="", blob="")), "a text or a blob"),
    "resource in a call": (lambda turn, call: call.show(Resource(uri="file:///a")), "a text or a blob"),
    "negative size of a link": (
        lambda turn, call: turn.say(ResourceLink(uri="a", name="a", size=-1)),
        "invalid size -1",
    ),
    "duplicate commands": (
        lambda turn, call: turn.send(CommandsPatch(commands=[SlashCommand("a", "A"), SlashCommand("a", "B")])),
        "duplicate command 'a'",
    ),
    "name of a command": (
        lambda turn, call: turn.send(CommandsPatch(commands=[SlashCommand("/a", "A")])),
        "invalid command name '/a': no leading slash, no whitespace",
    ),
    "size of a terminal": (
        lambda turn, call: turn.send(TerminalPatch(id="t", size=TerminalSize(columns=0, rows=1))),
        "invalid columns 0",
    ),
    "line of a file": (
        lambda turn, call: turn.client.request(ReadFile(session_id=turn.session.id, path="/a", line=0)),
        "lines count from 1",
    ),
    "limit of a file": (lambda turn, call: turn.files.read("/a", limit=-1), "invalid limit -1"),
    "line of a file that is read": (lambda turn, call: turn.files.read("/a", line=0), "lines count from 1"),
    "fraction of a line": (lambda turn, call: turn.files.read("/a", line=1.5), "lines count from 1"),  # type: ignore[arg-type]
    "fraction of a limit": (lambda turn, call: turn.files.read("/a", limit=0.5), "invalid limit 0.5"),  # type: ignore[arg-type]
    "negative limit of a command": (
        lambda turn, call: turn.run("true", output_limit=-1),
        "invalid output limit -1",
    ),
    "limit of a command beyond any": (
        lambda turn, call: turn.run("true", output_limit=2**64),
        "invalid output limit",
    ),
    "limit of a terminal": (
        lambda turn, call: turn.client.request(
            CreateTerminal(session_id=turn.session.id, command="a", output_byte_limit=2**64)
        ),
        "invalid output limit",
    ),
    "form that is not flat": (
        lambda turn, call: turn.ask("?", {"a": {"type": "string", "maxLength": -1}}),
        "invalid request",
    ),
    "required field that is not there": (
        lambda turn, call: turn.ask("?", {"a": {"type": "string"}}, required=["b"]),
        "required fields that the form does not have: b",
    ),
    "elicitation": (
        lambda turn, call: turn.client.request(
            ElicitationRequest(message="?", mode="page", session_id=turn.session.id)
        ),
        "expected form, url",
    ),
    "page without an address": (lambda turn, call: turn.ask_to_open("Look", "", "id"), "needs the URL and an id"),
    "final status of ones own": (
        lambda turn, call: _ended(call, "_aborted"),
        "invalid final status of a tool call '_aborted': expected completed, failed, cancelled$",
    ),
    "notice without words": (lambda turn, call: turn.notice(""), "a notice needs a title"),
    "audience": (lambda turn, call: turn.say(annotated(audience=["everybody"])), "expected user, assistant"),
    "audience in a call": (lambda turn, call: call.show(annotated(audience=["all"])), "expected user, assistant"),
    "audience in a message": (
        lambda turn, call: turn.send(MessagePatch(role="agent", id="m", content=[annotated(audience=["all"])])),
        "expected user, assistant",
    ),
    "priority above one": (
        lambda turn, call: turn.say(annotated(priority=5.0)),
        "invalid priority 5.0: .* from 0 to 1",
    ),
    "priority below zero": (lambda turn, call: turn.think(annotated(priority=-0.1)), "invalid priority -0.1"),
    "priority of a picture": (
        lambda turn, call: call.show(Image("", "image/png", annotations=Annotations(priority=2))),
        "invalid priority 2",
    ),
    "raw input that is no object": (lambda turn, call: call.update(raw_input="x"), "raw input .* JSON object, such as"),
    "raw output that is no object": (lambda turn, call: call.update(raw_output=[1]), "raw output .* JSON object"),
    "raw input of a new call": (lambda turn, call: _opened(turn, raw_input=["ls"]), "raw input .* JSON object"),
    "raw input in a question": (
        lambda turn, call: permission(turn, NO, subject=about(raw_input="x")),
        "raw input .* JSON object",
    ),
    "time that is none": (lambda turn, call: turn.send(InfoPatch(updated_at="yesterday")), "ISO 8601"),
    "exit code beyond any": (
        lambda turn, call: turn.send(TerminalPatch(id="t", exit=Exit(code=2**63))),
        "invalid exit code",
    ),
    "size of a link beyond any": (
        lambda turn, call: turn.say(ResourceLink(uri="a", name="a", size=2**63)),
        "invalid size",
    ),
    "elicitation without a scope": (
        lambda turn, call: turn.client.request(ElicitationRequest(message="?", mode="form")),
        "a session or the id of a request",
    ),
    "elicitation with two scopes": (
        lambda turn, call: turn.client.request(
            ElicitationRequest(message="?", mode="form", session_id="s", request_id=1)
        ),
        "a session or the id of a request",
    ),
    "elicitation of a call without its session": (
        lambda turn, call: turn.client.request(
            ElicitationRequest(message="?", mode="form", request_id=1, tool_call_id="c")
        ),
        "the session of the tool call",
    ),
    "id of a permission option": (
        lambda turn, call: turn.allowed(call, options=[PermissionOption(id=1, name="Yes", kind="allow_once")]),  # type: ignore[arg-type]
        r"can't be sent: Expected `str`, got `int` - at `\$.options\[0\].id`",
    ),
    "name of a permission option": (
        lambda turn, call: turn.allowed("May I?", options=[NO, PermissionOption(id="y", name=None, kind="allow_once")]),  # type: ignore[arg-type]
        r"Expected `str`, got `null` - at `\$.options\[1\].name`",
    ),
    "permission option that is a word": (
        lambda turn, call: turn.allowed(call, options=["yes"]),  # type: ignore[list-item]
        "expected a PermissionOption, not str",
    ),
    "option of a request": (
        lambda turn, call: permission(turn, PermissionOption(id=1, name="Yes", kind="allow_once")),  # type: ignore[arg-type]
        "Expected `str`, got `int`",
    ),
    "description of a question": (
        lambda turn, call: turn.allowed("May I?", description=5),  # type: ignore[arg-type]
        "Expected `str | null`, got `int`",
    ),
    "NaN in a question": (lambda turn, call: permission(turn, NO, subject=about(raw_input={"a": NAN})), "NaN"),
    "NaN in the meta of a question": (
        lambda turn, call: turn.client.request(PermissionRequest(session_id="s", options=[NO], meta={"a": NAN})),
        "NaN",
    ),
    "NaN in the meta of an option": (
        lambda turn, call: turn.allowed(
            "May I?", options=[PermissionOption(id="y", name="Y", kind="allow_once", meta={"a": NAN})]
        ),
        "NaN",
    ),
    "message of a form": (lambda turn, call: turn.ask(5, {}), "Expected `str`, got `int` - at `\\$.message`"),  # type: ignore[arg-type]
    "NaN in a form": (lambda turn, call: turn.ask("?", {"a": {"type": "number", "default": NAN}}), "NaN"),
    "message of a page": (lambda turn, call: turn.ask_to_open(5, "https://a", "id"), "Expected `str`"),  # type: ignore[arg-type]
    "variable of a terminal": (
        lambda turn, call: turn.client.request(CreateTerminal(session_id="s", command="a", env={"A": 1})),  # type: ignore[dict-item]
        "Expected `str`, got `int` - at `\\$.env",
    ),
    "variable of a command": (lambda turn, call: turn.run("true", env={"A": 1}), "Expected `str`"),  # type: ignore[dict-item]
    "argument of a command": (lambda turn, call: turn.run("true", 5), "takes the words of a command one by one"),  # type: ignore[arg-type]
    "command that is a number": (lambda turn, call: turn.run(5), "takes the words of a command one by one"),  # type: ignore[arg-type]
    "contents of a file": (
        lambda turn, call: turn.files.write("a", 5),  # type: ignore[arg-type]
        "expected the text of a file as a string, not int",
    ),
    "id of a terminal": (
        lambda turn, call: turn.client.request(KillTerminal(session_id="s", terminal_id=5)),  # type: ignore[arg-type]
        "Expected `str`, got `int`",
    ),
    "id of a page that was dealt with": (
        lambda turn, call: turn.client.notify(ElicitationCompleted(elicitation_id=5)),  # type: ignore[arg-type]
        "Expected `str`, got `int`",
    ),
    "plan entry that is a number": (lambda turn, call: turn.plan([5]), "expected a string or a PlanEntry, not int"),  # type: ignore[list-item]
    "plan that is none": (lambda turn, call: turn.send(PlanPatch(plan=5)), "Expected `object`, got `int`"),  # type: ignore[arg-type]
    "location that is a number": (
        lambda turn, call: turn.send(ToolCallPatch(id="c", locations=[5])),  # type: ignore[list-item]
        "Expected `object`, got `int`",
    ),
    "path that is a number": (
        lambda turn, call: turn.send(ToolCallPatch(id="c", locations=[Location(path=5)])),  # type: ignore[arg-type]
        "Expected `str`, got `int`",
    ),
    "path that is a number, in a question": (
        lambda turn, call: turn.client.request(WriteFile(session_id="s", path=5, content="")),  # type: ignore[arg-type]
        "Expected `str`, got `int`",
    ),
    "annotations that are a word": (
        lambda turn, call: turn.say(Text("hi", annotations="user")),  # type: ignore[arg-type]
        "Expected `object | null`, got `str`",
    ),
}

WITHOUT_TERMINALS = ClientCapabilities(
    **{name: getattr(EVERYTHING, name) for name in EVERYTHING.__struct_fields__ if name != "terminals"}
)


@pytest.mark.requirement(
    "RPC-19", "TOOL-04", "TOOL-39", "PERM-05", "PERM-07", "MODE-05", "AMB-18", "AMB-22", "AMB-47", "CHECK-05"
)
@pytest.mark.requirement("COMPAT-02", "COMPAT-04", "COMPAT-05", "COMPAT-07")
@pytest.mark.parametrize("mistake", MISTAKES)
async def test_a_mistake_is_raised_at_the_call_and_told_to_nobody(mistake, version):
    make, message = MISTAKES[mistake]
    sent: list[bytes] = []
    agent = plain_agent(on_frame=lambda direction, frame: sent.append(frame))
    agent.option("mode", choices=["ask", "code"])
    caught: list[TypeError | ValueError] = []
    counts: list[int] = []

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look") as call:
            counts.append(len(sent))
            try:
                await make(turn, call)
            except (TypeError, ValueError) as error:
                caught.append(error)
            counts.append(len(sent))
            assert call.status == "pending"

    async with User(agent, version, capabilities=WITHOUT_TERMINALS) as user:
        session = await user.new_session()
        assert await user.prompt(session, "x") == "end_turn"
        assert len(caught) == 1, "nothing was raised"
        assert re.search(message, str(caught[0])), caught[0]
        assert counts[0] == counts[1]


@pytest.mark.parametrize("wrong", [5, None, {"type": "text", "text": "hi"}, b"hi"])
async def test_what_is_no_content_is_a_type_error_and_nothing_of_it_is_kept(version, wrong):
    agent = plain_agent()
    caught: list[str] = []

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look") as call:
            for tell in (turn.say, turn.think, call.show, call.replace):
                try:
                    await tell(wrong)
                except TypeError as error:
                    caught.append(str(error))
            assert not list(call.call.content)
        assert [message.role for message in turn.session.transcript.messages.values()] == ["user"]

    async with User(agent, version) as user:
        assert await user.prompt(await user.new_session(), "x") == "end_turn"
    assert caught == [f"expected a string or a content block, not {type(wrong).__name__}"] * 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda turn: turn.send(5), "expected a patch of accord.session.updates, not int"),
        (lambda turn: turn.client.request(5), "expected a request of accord.session.requests, not int"),
        (lambda turn: turn.allowed(5), "expected a tool call or a question as a string, not int"),
        (lambda turn: turn.ask("?", ["name"]), "expected fields by name, not list"),
        (lambda turn: setattr(turn, "token_usage", {}), "expected TokenUsage, not dict"),
    ],
)
async def test_what_is_no_word_at_all_is_a_type_error_and_told_to_nobody(version, make, message):
    sent: list[bytes] = []
    agent = plain_agent(on_frame=lambda direction, frame: sent.append(frame))
    counts: list[int] = []

    @agent.prompt
    async def work(turn: Turn) -> None:
        counts.append(len(sent))
        with pytest.raises(TypeError, match=re.escape(message)):
            await make(turn)
        counts.append(len(sent))

    async with User(agent, version, capabilities=EVERYTHING) as user:
        assert await user.prompt(await user.new_session(), "x") == "end_turn"
    assert counts[0] == counts[1]


class Strange:
    """Has no form in JSON."""


FORMLESS: dict[str, Mistake] = {
    "NaN in what a tool produced": lambda turn, call: call.update(raw_output={"mean": [1.0, float("nan")]}),
    "an infinity in what a tool was given": lambda turn, call: _opened(turn, raw_input={"limit": float("inf")}),
    "an object in what a tool produced": lambda turn, call: call.update(raw_output={"at": Strange()}),
    "a key that is no text": lambda turn, call: call.update(raw_output={(1, 2): "at"}),
    "a number too large and NaN": lambda turn, call: call.update(raw_output={"a": [2**70, float("nan")]}),
    "half a surrogate pair and NaN": lambda turn, call: call.update(raw_output={"a": "\ud83d", "b": float("nan")}),
    "half a surrogate pair and a number": lambda turn, call: turn.send(
        ToolCallPatch(id=call.id, title="\ud83d", name=5)  # type: ignore[arg-type]
    ),
    "an object in the meta of a block": lambda turn, call: turn.say(Text("hi", meta={"at": Strange()})),
    "NaN in the meta of a thought": lambda turn, call: turn.think(Text("hi", meta={"at": float("nan")})),
    "NaN in an annotation": lambda turn, call: call.show(Text("hi", annotations=Annotations(priority=float("nan")))),
    "NaN in the meta of a report": lambda turn, call: turn.send(
        ToolCallPatch(id=call.id, title="Look", meta={"at": float("nan")})
    ),
    "a title that is a number": lambda turn, call: _opened_as(turn, 5),
    "a text that is a number": lambda turn, call: turn.say(Text(5)),  # type: ignore[arg-type]
    "a notice without a title": lambda turn, call: turn.notice(None),  # type: ignore[arg-type]
}


async def _opened_as(turn: Turn, title: Any) -> None:
    turn.tool_call(title)


@pytest.mark.parametrize("mistake", FORMLESS)
async def test_what_has_no_json_form_is_raised_at_the_call_and_the_session_can_be_loaded(version, mistake):
    agent = plain_agent(store=MemoryStore())
    caught: list[TypeError | ValueError] = []

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look", id="look") as call:
            before = (turn.session.transcript.tool_calls["look"], len(turn.session.transcript.messages))
            try:
                await FORMLESS[mistake](turn, call)
            except (TypeError, ValueError) as error:
                caught.append(error)
            assert (turn.session.transcript.tool_calls["look"], len(turn.session.transcript.messages)) == before

    async with User(agent, version) as user, User(agent, version) as second:
        session = await user.new_session()
        assert await user.prompt(session, "x") == "end_turn"
        assert len(caught) == 1, "nothing was raised"
        await second.ask(LoadSession(session_id=session, cwd=CWD))
        assert list(second.transcripts[session].tool_calls) == ["look"]


async def test_a_plain_handler_learns_it_as_well(version):
    agent = plain_agent()
    caught: list[str] = []

    @agent.prompt
    def work(turn: SyncTurn) -> None:
        with turn.tool_call("Look") as call:
            for mistake in (
                lambda: call.update(kind="raed"),
                lambda: call.locate("a.py", 0),
                lambda: turn.usage(-1, 1),
                lambda: turn.allowed(call, options=[]),
                lambda: turn.stop("budget"),
                lambda: turn.tool_call("Look", kind="raed"),
            ):
                try:
                    mistake()
                except (TypeError, ValueError) as error:
                    caught.append(str(error))

    async with User(agent, version) as user:
        session = await user.new_session()
        assert await user.prompt(session, "x") == "end_turn"
        assert len(caught) == 6


async def test_background_work_learns_it_as_well(version):
    agent = plain_agent()
    caught: list[str] = []

    async def index(call: AgentToolCall) -> None:
        try:
            await call.update(kind="raed")
        except (TypeError, ValueError) as error:
            caught.append(str(error))
        await call.locate("a.py", 3)

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.in_background(turn.tool_call("Index", id="i"), index)

    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "x")
        await user.until("i completed")
        assert len(caught) == 1
        assert user.transcripts[session].tool_calls["i"].locations == [Location(path=f"{CWD}/a.py", line=3)]


@pytest.mark.requirement("RPC-18", "TOOL-35", "TOOL-38")
async def test_paths_that_are_not_absolute_count_from_the_directory_of_the_session(version):
    agent = plain_agent()
    places = ["a.py", Location(path="b.py", line=2), Location(path="/c.py"), Location(path="C:\\d.py")]
    diff = Diff(changes=[FileChange(operation="move", path="new.py", old_path="old.py")])

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look", id="one", locations=places, content=diff) as call:
            await call.locate("src/e.py", 5)
            await call.diff("f.py", None, "new")
            await turn.allowed(call)
        await turn.send(ToolCallPatch(id="two", title="Two", locations=[Location(path="g.py")]))
        await turn.send(ToolCallAppend(id="two", item=diff))
        await turn.send(TerminalPatch(id="t", cwd="sub"))
        subject = about(locations=[Location(path="h.py")], title="Ask")
        await turn.client.request(PermissionRequest(session_id=turn.session.id, options=[NO], subject=subject))
        command = CommandSubject(command="ls", cwd="sub")
        await turn.client.request(
            PermissionRequest(session_id=turn.session.id, options=[NO], title="Ls", subject=command)
        )
        if turn.client.capabilities.write_files:
            await turn.client.request(WriteFile(session_id=turn.session.id, path="i.py", content=""))
        assert [place.path for place in turn.session.transcript.tool_calls["two"].locations] == [f"{CWD}/g.py"]

    async with User(agent, version, "reject_once", capabilities=EVERYTHING) as user:
        session = await user.new_session()
        assert await user.prompt(session, "x") == "end_turn"
        sent = str(user.sent())
        first = user.transcripts[session].tool_calls["one"]
        paths = [place.path for place in first.locations]
        assert paths == [f"{CWD}/a.py", f"{CWD}/b.py", "/c.py", "C:\\d.py", f"{CWD}/src/e.py"]
        for name in ("new.py", "old.py", "f.py", "g.py", "h.py"):
            assert f"{CWD}/{name}" in sent
            assert not re.search(f"[^/]{re.escape(name)}", sent), name
        assert f"'cwd': '{CWD}/sub'" in sent
        assert "'cwd': 'sub'" not in sent
        if version != 2:
            assert user.asked[-1] == WriteFile(session_id=session, path=f"{CWD}/i.py", content="")
    assert places[1] == Location(path="b.py", line=2)  # the author's own objects stay as they are
    assert diff.changes[0].path == "new.py"


@pytest.mark.requirement("COMPAT-03", "COMPAT-04", "COMPAT-05", "COMPAT-07", "COMPAT-11", "AMB-59")
async def test_values_of_ones_own_begin_with_an_underscore(version):
    """v1 has closed lists: its clients get the closest value that they know, and the loss is noted."""
    agent = plain_agent()
    options = [PermissionOption(id="maybe", name="Maybe", kind="_maybe"), NO]
    losses: dict[str, int] = {}

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Draw", kind="_draw", id="c") as call:
            await call.update(status="_waiting")
            await turn.say(annotated(audience=["user", "_reviewer"], priority=1))
            await turn.plan([PlanEntry(content="wait", status="_waiting")])
            await turn.allowed(call, options=options)
        losses.update(turn._state.endpoint.dialect.loss_counts)

    async with User(agent, version, "reject_once") as user:
        session = await user.new_session()
        assert await user.prompt(session, "x") == "end_turn"
        told = [frame["params"]["update"] for frame in user.sent() if frame.get("method") == "session/update"]
        calls = [update for update in told if update["sessionUpdate"].startswith("tool_call")]
        statuses = [update["status"] for update in calls if "status" in update]
        (asked,) = [frame["params"] for frame in user.sent() if frame.get("method") == "session/request_permission"]
        kinds = [option["kind"] for option in asked["options"]]
        (said,) = [update["content"] for update in told if update["sessionUpdate"] == "agent_message_chunk"]
        (planned,) = [update for update in told if update["sessionUpdate"] in ("plan", "plan_update")]
        (entry,) = planned["entries"] if version == 1 else planned["plan"]["entries"]
        assert entry == {
            "content": "wait",
            "priority": "medium",
            "status": "_waiting" if version == 2 else "in_progress",
        }
        assert losses.get("plan-status", 0) == (0 if version == 2 else 1)
        assert said["annotations"]["audience"] == (["user"] if version == 1 else ["user", "_reviewer"])
        if version == 1:
            assert losses["audience"]
            assert calls[0]["kind"] == "other"
            assert statuses == ["pending", "in_progress", "in_progress", "failed"]
            assert kinds == ["reject_once", "reject_once"]
            assert losses["tool-kind"]
            assert losses["tool-call-status"]
            assert losses["permission-kind"]
        else:
            assert calls[0]["kind"] == "_draw"
            assert statuses == ["pending", "in_progress", "_waiting", "failed"]
            assert kinds == ["_maybe", "reject_once"]


@pytest.mark.requirement("COMPAT-01", "COMPAT-02", "PROMPT-20")
@pytest.mark.parametrize("way", ["returned", "stopped"])
async def test_a_stop_reason_of_ones_own_ends_the_turn(version, way):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> str:
        if way == "stopped":
            turn.stop("_budget")
        return "_budget"

    async with User(agent, version) as user:
        session = await user.new_session()
        reason = await user.prompt(session, "x")
        if version == 1:
            assert reason == "end_turn"
            (answer,) = [frame["result"] for frame in user.sent() if "stopReason" in frame.get("result", {})]
            assert answer["_meta"] == {"accord/stopReason": "_budget"}
        else:
            assert reason == "_budget"


async def test_a_terminal_of_our_own_or_of_the_client_may_be_shown(version):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.send(TerminalPatch(id="own", command="make"))
        async with turn.tool_call("Make", id="c") as call:
            await call.terminal("own")
            if turn.client.capabilities.terminals:
                await call.terminal("of the client")

    async with User(agent, version, capabilities=EVERYTHING) as user:
        session = await user.new_session()
        assert await user.prompt(session, "x") == "end_turn"
        assert len(user.transcripts[session].tool_calls["c"].content) == (1 if version == 2 else 2)


@pytest.mark.parametrize(
    ("register", "message"),
    [
        (lambda agent: agent.option("size", choices=["s", "m", "s"]), "duplicate choice of the option 'size' 's'"),
        (lambda agent: agent.option("size", choices=["s"], default="xl"), "has no choice 'xl': expected s"),
        (lambda agent: agent.option("mode", choices=["a"]), "duplicate option 'mode'"),
        (lambda agent: agent.option("x", choices=["a"], category="fun"), "expected mode, model, model_config"),
        (lambda agent: agent.command("/a", "A"), "no leading slash, no whitespace"),
        (lambda agent: agent.command("again", "A"), "duplicate command 'again'"),
        (lambda agent: agent.command("new", 5), "Expected `str`, got `int` - at `$.description`"),
        (lambda agent: agent.command(5, "A"), "Expected `str`, got `int` - at `$.name`"),
        (lambda agent: agent.option("size", name=5, choices=["s"]), "Expected `str`, got `int` - at `$.name`"),
        (lambda agent: agent.option("size", choices=[("s", 5)]), "Expected `str`, got `int` - at `$.choices[0].name`"),
        (lambda agent: agent.login("new", name=5), "Expected `str`, got `int` - at `$.name`"),
        (lambda agent: agent.terminal_login("new", name="New", args=[5]), "Expected `str`, got `int` - at `$.args[0]`"),
        (lambda agent: Agent(5), "expected a string as the agent's name, not int"),  # type: ignore[arg-type]
        (lambda agent: Agent("tester", meta={"at": float("nan")}), "NaN"),
        (lambda agent: agent.login("key", name="Key"), "duplicate login 'key'"),
        (lambda agent: agent.terminal_login("key", name="Key"), "duplicate login 'key'"),
    ],
)
def test_what_is_registered_wrongly_is_refused(register, message):
    agent = Agent("tester")
    agent.option("mode", choices=["ask"])
    agent.command("again", "Again")(lambda turn: None)
    agent.login("key", name="Key")(lambda: None)
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        register(agent)


@pytest.mark.bad_frames
async def test_what_a_client_sends_is_never_the_mistake_of_the_author(version):
    """Content that this library would not send is taken, where the protocol lets it be read."""
    agent = plain_agent(embedded_context=True, strict=False)

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.say("taken")

    async with User(agent, version) as user:
        session = await user.new_session()
        link = {"type": "resource_link", "uri": "file:///a", "name": "a", "size": -1}
        await user.call("session/prompt", {"sessionId": session, "prompt": [link]})
        await user.until("agent: taken")


async def test_outside_of_a_session_a_path_must_be_absolute():
    agent = plain_agent()
    caught: list[str] = []

    @agent.method("_acme/read")
    async def read(params: Any, client: Any) -> None:
        try:
            await client.request(ReadFile(session_id=params["id"], path="a.py"))
        except (TypeError, ValueError) as error:
            caught.append(str(error))

    async with User(agent, 1, capabilities=EVERYTHING) as user:
        await user.call("_acme/read", {"id": await user.new_session()})
        assert caught == [
            "the path 'a.py' is not absolute, and there is no session whose directory it could be relative to"
        ]
