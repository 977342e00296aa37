"""Terminals in the `_meta` of tool calls: read whoever sends them, and told to clients that show them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from accord.dialects.display_fallback import TAIL
from accord.dialects.negotiation import negotiate, offer
from accord.session.content import Text
from accord.session.entities import ContentItem, Exit, TerminalItem, TerminalSize
from accord.session.transcript import Transcript
from accord.session.updates import TerminalAppend, TerminalPatch, ToolCallAppend, ToolCallPatch
from accord.session.value import UNSET
from tests.dialects.json_values import raw
from tests.dialects.telling import ABLE, SESSION, reports_of, rows_lost, updates_of
from tests.dialects.v1.speaking import speaker

SHOWS = replace(ABLE, terminals=False, display_terminals=True)
ITEM = {"type": "terminal", "terminalId": "t"}
CALL = ToolCallPatch(id="c", title="make", kind="execute", creates=True)
BEGUN = TerminalPatch(id="t", command="make", cwd="/work")
SHOWN = ToolCallAppend(id="c", item=TerminalItem(terminal_id="t"))


def read(update: str = "tool_call_update", **members: Any) -> list[Any]:
    return reports_of(speaker(), sessionUpdate=update, toolCallId="c", **members)


def info(**members: Any) -> dict[str, Any]:
    return {"terminal_info": {"terminal_id": "t", **members}}


def output(text: Any, id: Any = "t") -> dict[str, Any]:
    return {"terminal_output": {"terminal_id": id, "data": text}}


def ended(code: Any = 0, signal: Any = None) -> dict[str, Any]:
    return {"terminal_exit": {"terminal_id": "t", "exit_code": code, "signal": signal}}


# read


def test_a_terminal_is_announced_by_the_call_that_shows_it():
    call, terminal = read("tool_call", title="ls", content=[ITEM], _meta=info(cwd="/work"))
    assert (call.content, call.meta) == ([TerminalItem(terminal_id="t")], UNSET)
    assert terminal == TerminalPatch(id="t", cwd="/work")


def test_a_call_that_does_not_show_the_terminal_it_announces_does():
    call, _ = read("tool_call", title="ls", _meta=info())
    assert call.content == [TerminalItem(terminal_id="t")]
    words = {"type": "content", "content": {"type": "text", "text": "Listing"}}
    call, _ = read(content=[words], _meta=info())
    assert call.content == [ContentItem(content=Text("Listing")), TerminalItem(terminal_id="t")]


@pytest.mark.parametrize("command", ["ls -l", ["ls", "-l"]], ids=["a line", "words"])
def test_the_command_is_the_one_that_the_call_was_given(command: Any):
    _, terminal = read("tool_call", title="List", rawInput={"command": command}, _meta=info())
    assert terminal.command == "ls -l"


def test_an_update_that_only_tells_output_reports_the_output_alone():
    assert read(_meta=output("née")) == [TerminalAppend(id="t", data="née".encode())]
    assert read(_meta={"terminal_output_delta": output("a")["terminal_output"]}) == [TerminalAppend(id="t", data=b"a")]


def test_output_under_both_keys_is_told_once():
    both = {**output("a"), "terminal_output_delta": output("a")["terminal_output"]}
    assert read(_meta=both) == [TerminalAppend(id="t", data=b"a")]


def test_the_end_comes_after_the_last_output():
    call, piece, end = read(status="completed", _meta={**ended(3), **output("last\n"), "other": 1})
    assert (call.status, call.meta) == ("completed", {"other": 1})
    assert piece == TerminalAppend(id="t", data=b"last\n")
    assert end == TerminalPatch(id="t", exit=Exit(code=3))


def test_what_else_is_in_the_meta_of_a_call_is_not_lost_by_an_update_of_its_terminal():
    transcript = Transcript()
    for report in [*read("tool_call", title="ls", _meta={"claudeCode": 1, **info()}), *read(_meta=output("a"))]:
        transcript.apply(report)
    assert transcript.tool_calls["c"].meta == {"claudeCode": 1}


@pytest.mark.parametrize(
    ("code", "signal", "how"),
    [
        (0, None, Exit(code=0)),
        (None, "SIGKILL", Exit(signal="SIGKILL")),
        (None, None, Exit()),
        (-1, 9, Exit()),
        ("1", "", Exit()),
        (True, [], Exit()),
        (2**40, {}, Exit()),
        (1.5, None, Exit()),
    ],
)
def test_of_an_end_that_is_told_oddly_it_is_known_that_it_ended(code: Any, signal: Any, how: Exit):
    assert read(_meta=ended(code, signal)) == [TerminalPatch(id="t", exit=how)]


ODD: list[Any] = [None, True, 5, "t", [], {}, {"terminal_id": 5}, {"terminal_id": ""}, {"data": "x"}]


@pytest.mark.parametrize("key", ["terminal_info", "terminal_output", "terminal_output_delta", "terminal_exit"])
@pytest.mark.parametrize("said", ODD, ids=repr)
@pytest.mark.parametrize("strict", [False, True])
def test_what_is_malformed_there_means_nothing_and_costs_nothing(key: str, said: Any, strict: bool):
    dialect = speaker(strict=strict)
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "_meta": {key: said}}
    assert reports_of(dialect, **update) == [
        ToolCallPatch(id="c", status="completed", meta={key: said}, meta_replaces=True)
    ]


@pytest.mark.parametrize("data", [None, 5, ["x"], {"text": "x"}], ids=repr)
def test_output_that_is_no_text_means_nothing(data: Any):
    [call] = read(status="completed", _meta=output(data))
    assert call.status == "completed"


# told


def test_a_terminal_is_told_as_it_happens():
    dialect, transcript = speaker(client=SHOWS), Transcript()
    assert updates_of(dialect, CALL, BEGUN, transcript=transcript)[1:] == []
    [announced] = updates_of(dialect, SHOWN, transcript=transcript)
    assert announced == {
        "sessionUpdate": "tool_call",
        "toolCallId": "c",
        "title": "make",
        "kind": "execute",
        "status": "pending",
        "content": [ITEM],
        "_meta": info(cwd="/work"),
    }
    told = updates_of(
        dialect,
        TerminalAppend(id="t", data=b"one\n"),
        TerminalAppend(id="t", data=b"two\n"),
        TerminalPatch(id="t", exit=Exit(code=2)),
        ToolCallPatch(id="c", status="failed"),
        transcript=transcript,
    )
    about = {"sessionUpdate": "tool_call_update", "toolCallId": "c"}
    assert told == [
        {**about, "_meta": output("one\n")},
        {**about, "_meta": output("two\n")},
        {**about, "_meta": ended(2)},
        {**about, "status": "failed"},
    ]
    assert rows_lost(dialect) == ["terminal-details"]


def test_a_terminal_that_has_ended_is_told_with_its_call():
    terminal = TerminalPatch(id="t", output=b"done\n", exit=Exit(signal="SIGTERM"))
    call = replace(CALL, content=[TerminalItem(terminal_id="t")], status="completed", meta={"own": 1})
    announced, told = updates_of(speaker(client=SHOWS), terminal, call)
    assert announced["_meta"] == {"own": 1, **info()}
    assert told["_meta"] == {**output("done\n"), **ended(None, "SIGTERM")}


def test_a_call_that_shows_a_terminal_before_it_is_known_shows_it_then():
    dialect = speaker(client=SHOWS)
    call, other = replace(CALL, content=[SHOWN.item]), ToolCallPatch(id="d", title="Too", content=[SHOWN.item])
    before, also, announced, refreshed = updates_of(dialect, call, other, BEGUN)
    assert "_meta" not in before
    assert "_meta" not in also
    assert (announced["sessionUpdate"], announced["content"]) == ("tool_call", [ITEM])
    assert (refreshed["toolCallId"], refreshed["content"]) == ("d", [ITEM])


def test_a_terminal_that_begins_with_output_is_told_with_it():
    call = replace(CALL, content=[SHOWN.item])
    _, announced, told = updates_of(speaker(client=SHOWS), call, TerminalAppend(id="t", data=b"x"))
    assert announced["_meta"] == info()
    assert told["_meta"] == output("x")


def test_output_is_told_once_however_many_calls_show_it():
    dialect, transcript = speaker(client=SHOWS), Transcript()
    also = ToolCallPatch(id="d", title="Too", content=[SHOWN.item])
    updates_of(dialect, CALL, BEGUN, SHOWN, also, transcript=transcript)
    [told] = updates_of(dialect, TerminalAppend(id="t", data=b"x"), transcript=transcript)
    assert (told["toolCallId"], told["_meta"]) == ("c", output("x"))


def test_no_update_names_a_terminal_that_was_not_announced():
    dialect = speaker(client=SHOWS)
    second = TerminalPatch(id="u", output=b"second")
    call = replace(CALL, content=[TerminalItem(terminal_id="t"), TerminalItem(terminal_id="u")])
    announced: set[str] = set()
    for update in updates_of(dialect, BEGUN, second, call):
        announced.update(told["terminal_id"] for key, told in update["_meta"].items() if key == "terminal_info")
        named = {item["terminalId"] for item in update.get("content", []) if item["type"] == "terminal"}
        assert named <= announced
    assert announced == {"t", "u"}


def test_a_character_that_was_cut_in_two_is_told_whole():
    dialect, transcript = speaker(client=SHOWS), Transcript()
    updates_of(dialect, CALL, BEGUN, SHOWN, transcript=transcript)
    pieces = [TerminalAppend(id="t", data=data) for data in (b"n\xc3", b"\xa9", b"e\xc3")]
    end = TerminalPatch(id="t", exit=Exit(code=0))
    told = updates_of(dialect, *pieces, end, transcript=transcript)
    assert [update["_meta"].get("terminal_output", {}).get("data") for update in told] == ["n", "é", "e", "\ufffd"]


def test_output_that_goes_on_from_what_was_told_is_told_from_there():
    dialect, transcript = speaker(client=SHOWS), Transcript()
    updates_of(dialect, CALL, BEGUN, SHOWN, TerminalAppend(id="t", data=b"one\n"), transcript=transcript)
    [told] = updates_of(dialect, TerminalPatch(id="t", output=b"one\ntwo\n"), transcript=transcript)
    assert told["_meta"] == output("two\n")
    assert rows_lost(dialect) == ["terminal-details"]


def test_what_changes_nothing_that_can_be_told_is_not_told():
    dialect, transcript = speaker(client=SHOWS), Transcript()
    updates_of(dialect, CALL, BEGUN, SHOWN, transcript=transcript)
    size = TerminalPatch(id="t", size=TerminalSize(columns=80, rows=24))
    assert updates_of(dialect, size, TerminalAppend(id="t", data=b"\xc3"), transcript=transcript) == []


def test_of_a_long_output_from_before_the_end_is_told():
    terminal = TerminalPatch(id="t", output="é".encode() * TAIL + b"!")
    _, told = updates_of(speaker(client=SHOWS), terminal, replace(CALL, content=[SHOWN.item]))
    data = told["_meta"]["terminal_output"]["data"]
    assert data.startswith("[earlier output left out]\né")
    assert data.endswith("é!")
    assert "\ufffd" not in data


def test_a_session_that_is_told_again_announces_its_terminals_again():
    dialect, transcript = speaker(client=SHOWS), Transcript()
    updates_of(dialect, CALL, BEGUN, SHOWN, transcript=transcript)
    dialect.forget_session(SESSION)
    told = updates_of(dialect, BEGUN, replace(CALL, content=[SHOWN.item]))
    assert told[0]["_meta"] == info(cwd="/work")


def test_a_client_that_shows_none_gets_text():
    [*_, last] = updates_of(speaker(), CALL, BEGUN, SHOWN, TerminalPatch(id="t", output=b"ok", exit=Exit(code=0)))
    assert last["content"][0]["content"]["text"] == "ok\n[exit code 0]"


@pytest.mark.parametrize("meta", [{"terminal_output": True}, {"terminal_output": True, "other": 1}])
def test_that_a_client_shows_terminals_is_said_in_the_meta_of_its_capabilities(meta: dict[str, Any]):
    can = replace(SHOWS, meta={key: value for key, value in meta.items() if key == "other"} or None)
    offered = offer(1, None, can)
    assert offered["clientCapabilities"]["_meta"] == meta
    dialect, _ = negotiate(raw(offered))
    assert dialect.client.display_terminals


@pytest.mark.parametrize("said", [False, None, 1, "true", {}], ids=repr)
def test_a_client_that_says_something_else_there_shows_none(said: Any):
    offered = {"protocolVersion": 1, "clientCapabilities": {"_meta": {"terminal_output": said}}}
    assert not negotiate(raw(offered))[0].client.display_terminals
