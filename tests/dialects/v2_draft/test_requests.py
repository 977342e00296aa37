"""Requests of the draft: v1's are sent, and v2's names and forms are understood."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from accord.dialects.v2_draft import V2Draft
from accord.errors import InvalidParams, Malformed, MethodNotFound
from accord.session import requests as words
from accord.session.content import Icon, ResourceLink, Text
from accord.session.entities import Mode, Modes, Option, OptionChoice
from accord.session.updates import ToolCallPatch
from accord.session.value import Unknown
from tests.dialects.json_values import plain, raw
from tests.dialects.telling import SESSION, rows_lost
from tests.dialects.v2_draft.speaking import speaker

PROMPT = words.Prompt(session_id=SESSION, content=[Text("hi")])
OPTIONS = [words.PermissionOption(id="y", name="Yes", kind="_yes")]
OPTIONS_SAID = [{"optionId": "y", "name": "Yes", "kind": "_yes"}]


def ask(method: str, params: Any, dialect: V2Draft | None = None) -> Any:
    sender: Any = V2Draft.METHODS[method].sender
    return (dialect or speaker()).request_from_wire(method, raw(params), sender)


def said(word: words.AcpRequest, dialect: V2Draft | None = None) -> tuple[str, Any]:
    method, params = (dialect or speaker()).request_to_wire(word)
    return method, plain(params)


def test_the_questions_of_a_dialect_are_answered_as_in_v1_but_for_the_echo():
    assert V2Draft.result_ends_turn
    assert not V2Draft.reports_state
    assert V2Draft.echoes_prompt
    assert V2Draft.has_modes
    assert V2Draft.odd_ids_allowed
    assert V2Draft.batches_allowed


def test_logging_in_and_out_is_asked_as_in_v1_and_understood_by_either_name():
    assert said(words.Authenticate(method_id="m")) == ("authenticate", {"methodId": "m"})
    assert said(words.Logout()) == ("logout", {})
    for method in ("authenticate", "auth/login"):
        assert ask(method, {"methodId": "m"}) == words.Authenticate(method_id="m")
    for method in ("logout", "auth/logout"):
        assert ask(method, {}) == words.Logout()


def test_loading_is_asked_as_in_v1_and_understood_as_in_either():
    load = words.LoadSession(session_id="s", cwd="/w")
    assert said(load) == ("session/load", {"sessionId": "s", "cwd": "/w", "mcpServers": []})
    assert ask("session/load", {"sessionId": "s", "cwd": "/w"}) == load
    resume = {"sessionId": "s", "cwd": "/w"}
    assert ask("session/resume", resume) == words.ResumeSession(session_id="s", cwd="/w")
    assert ask("session/resume", {**resume, "replayFrom": None}) == words.ResumeSession(session_id="s", cwd="/w")
    assert ask("session/resume", {**resume, "replayFrom": {"type": "start"}}) == load
    with pytest.raises(InvalidParams):
        ask("session/resume", {**resume, "replayFrom": {"type": "yesterday"}})


@pytest.mark.requirement("AMB-17")
def test_the_client_is_asked_for_files_and_terminals_as_in_v1():
    read = words.ReadFile(session_id="s", path="/f", line=1)
    assert said(read) == ("fs/read_text_file", {"sessionId": "s", "path": "/f", "line": 1})
    assert said(words.CreateTerminal(session_id="s", command="ls"))[0] == "terminal/create"


def test_one_tool_call_or_terminal_can_be_cancelled_as_in_v2():
    assert said(words.CancelToolCall(session_id="s", tool_call_id="c"))[0] == "tool_call/cancel"
    assert said(words.CancelTerminal(session_id="s", terminal_id="t"))[0] == "terminal/cancel"
    assert ask("tool_call/cancel", {"sessionId": "s", "toolCallId": "c"}) == words.CancelToolCall("s", "c")


def test_a_method_of_nobody_is_not_found():
    with pytest.raises(MethodNotFound):
        speaker().request_from_wire("craft/drain", raw({}), "client")


@pytest.mark.requirement("PROMPT-11", "PROMPT-12")
def test_a_prompt_is_answered_with_the_stop_reason_and_the_id_of_the_message():
    answer = words.PromptResult(stop_reason="_tired", message_id="m")
    dialect = speaker()
    assert plain(dialect.result_to_wire(PROMPT, answer)) == {"stopReason": "_tired", "messageId": "m"}
    assert plain(dialect.result_to_wire(PROMPT, words.PromptResult())) == {"stopReason": "end_turn"}
    assert dialect.losses == []
    assert dialect.result_from_wire(PROMPT, raw({"stopReason": "end_turn"})) == words.PromptResult("end_turn")


def test_an_answer_that_only_accepts_the_prompt_is_v2_after_all():
    dialect = speaker()
    assert dialect.result_from_wire(PROMPT, raw({"messageId": "m"})) == words.PromptResult(message_id="m")
    assert dialect.null_clears


def test_a_prompt_answered_with_nothing_is_a_clear_error():
    for nothing in (b"null", b"{}"):
        with pytest.raises(Malformed, match="`stopReason` is required"):
            speaker().result_from_wire(PROMPT, Raw(nothing))


def test_links_keep_their_icons():
    link = ResourceLink(uri="u:1", name="n", icons=[Icon(src="https://x/i.png")])
    _, params = said(words.Prompt(session_id=SESSION, content=[link]))
    assert params["prompt"][0]["icons"] == [{"src": "https://x/i.png"}]
    assert ask("session/prompt", params).content == [link]


MODE = Option(
    id="mode", name="Mode", category="mode", value="a", choices=[OptionChoice("a", "A"), OptionChoice("b", "B")]
)


@pytest.mark.requirement("AMB-16", "AMB-21")
def test_a_session_opens_with_modes_and_options_under_both_keys():
    grouped = Option(id="o", name="O", value="x", choices=[OptionChoice("x", "X", group="g", group_name="G")])
    answer = words.SessionSetup(session_id="s", options=[MODE, grouped])
    result = plain(speaker().result_to_wire(words.NewSession(cwd="/w"), answer))
    assert result["modes"]["currentModeId"] == "a"
    first, second = result["configOptions"]
    assert (first["id"], first["configId"]) == ("mode", "mode")
    group = second["options"][0]
    assert (group["group"], group["groupId"], group["name"]) == ("g", "g", "G")
    read = speaker().result_from_wire(words.NewSession(cwd="/w"), raw(result))
    assert read.options == answer.options
    assert read.modes == Modes("a", [Mode("a", "A"), Mode("b", "B")])


def test_commands_in_an_answer_are_read():
    result = {"sessionId": "s", "availableCommands": [{"name": "/web", "description": "Search"}]}
    assert speaker().result_from_wire(words.NewSession(cwd="/w"), raw(result)).commands[0].name == "web"


def test_an_option_of_an_unknown_kind_is_kept_whole():
    slider = {"type": "slider", "id": "v", "name": "Volume", "max": 11}
    nameless = {"type": "slider", "max": 11}
    dialect = speaker()
    read = dialect.result_from_wire(
        words.NewSession(cwd="/w"), raw({"sessionId": "s", "configOptions": [slider, nameless]})
    )
    assert read.options == [Option(id="v", name="Volume", kind="slider", raw=slider)]
    assert len(dialect.notes) == 1
    again = plain(dialect.result_to_wire(words.NewSession(cwd="/w"), read))
    assert again["configOptions"] == [{**slider, "configId": "v"}]


@pytest.mark.parametrize(("value", "kind"), [("x", "id"), (True, "boolean")])
def test_a_choice_is_always_sent_with_its_type(value: str | bool, kind: str):
    word = words.SetOption(session_id="s", option_id="o", value=value)
    params = {"sessionId": "s", "configId": "o", "type": kind, "value": value}
    assert said(word) == ("session/set_config_option", params)
    assert ask("session/set_config_option", params) == word


def test_a_choice_without_a_type_is_a_string_and_one_of_another_kind_is_refused():
    params = {"sessionId": "s", "configId": "o"}
    assert ask("session/set_config_option", {**params, "value": "x"}).value == "x"
    assert ask("session/set_config_option", {**params, "value": "x", "type": "_odd"}).value == "x"
    for bad in ({"value": 7, "type": "_odd"}, {"value": True}, {"value": "x", "type": "boolean"}):
        with pytest.raises(InvalidParams):
            ask("session/set_config_option", {**params, **bad})


@pytest.mark.requirement("PERM-03", "COMPAT-05")
def test_permission_is_asked_about_a_tool_call_with_a_title_beside_it():
    dialect = speaker()
    subject = words.ToolCallSubject(ToolCallPatch(id="c", title="Delete", kind="delete"))
    asked = words.PermissionRequest(
        session_id="s", title="May I?", description="Really", subject=subject, options=OPTIONS
    )
    method, params = said(asked, dialect)
    assert method == "session/request_permission"
    assert params == {
        "sessionId": "s",
        "title": "May I?",
        "description": "Really",
        "toolCall": {"toolCallId": "c", "title": "Delete", "kind": "delete"},
        "options": OPTIONS_SAID,
    }
    assert dialect.losses == []


def test_a_question_about_a_command_names_it_and_makes_up_a_tool_call():
    dialect = speaker()
    subject = words.CommandSubject("make", "/w", terminal_id="t")
    asked = words.PermissionRequest(session_id="s", title="Run it?", subject=subject, options=OPTIONS)
    _, params = said(asked, dialect)
    assert params["subject"] == {"type": "command", "command": "make", "cwd": "/w", "terminalId": "t"}
    assert params["toolCall"]["rawInput"] == {"command": "make", "cwd": "/w"}
    assert rows_lost(dialect) == ["permission-subject"]
    assert ask("session/request_permission", params).subject == subject


@pytest.mark.requirement("PERM-03")
def test_permission_is_read_in_the_form_of_v1_and_of_v2():
    call = {"toolCallId": "c", "title": "Delete"}
    of_v1 = ask("session/request_permission", {"sessionId": "s", "toolCall": call, "options": []})
    assert (of_v1.title, of_v1.subject.call.id) == ("Delete", "c")
    subject: Any = {"type": "tool_call", "toolCall": call}
    of_v2 = ask("session/request_permission", {"sessionId": "s", "title": "May I?", "subject": subject, "options": []})
    assert (of_v2.title, of_v2.subject.call.title) == ("May I?", "Delete")
    unknown = {"type": "moon", "phase": 1}
    odd = ask("session/request_permission", {"sessionId": "s", "title": "?", "subject": unknown, "options": []})
    assert odd.subject == Unknown(tag="moon", raw=unknown)
    with pytest.raises(InvalidParams):
        ask("session/request_permission", {"sessionId": "s", "options": []})


def test_modes_can_be_set_as_in_v1():
    assert said(words.SetMode(session_id="s", mode_id="m")) == ("session/set_mode", {"sessionId": "s", "modeId": "m"})


@pytest.mark.requirement("RPC-18")
def test_paths_have_to_be_absolute_as_in_v1():
    with pytest.raises(InvalidParams):
        ask("session/new", {"cwd": "w"})


def test_no_meta_of_a_peer_overwrites_what_was_asked():
    """FN-40: a peer's `_meta` is data, whatever its keys are called."""
    word = ask("session/prompt", {"sessionId": "s", "prompt": [], "_meta": {"session_id": "other"}})
    assert (word.session_id, word.meta) == ("s", {"session_id": "other"})
