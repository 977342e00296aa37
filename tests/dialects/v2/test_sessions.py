"""Sessions and prompts, between v2 and words; what v2 does not have."""

from __future__ import annotations

from typing import Any

import pytest

from accord.dialects.v2 import V2
from accord.errors import InvalidParams, Malformed, MethodNotFound
from accord.session import requests as words
from accord.session.content import Text
from accord.session.mcp_servers import HttpServer, SseServer, StdioServer
from accord.session.value import Unknown
from tests.dialects.json_values import plain, raw
from tests.dialects.v2.speaking import SESSION, asked_of, speaker

PROMPT = words.Prompt(session_id=SESSION, content=[Text("dig")])
STORED: dict[str, Any] = {"sessionId": SESSION, "cwd": "/srv"}
SSE = {"type": "sse", "name": "weather", "url": "https://example.org", "headers": []}


def test_the_questions_that_versions_answer() -> None:
    assert (V2.name, V2.version) == ("v2", 2)
    assert (V2.reports_state, V2.echoes_prompt) == (True, True)
    assert (V2.result_ends_turn, V2.has_modes) == (False, False)
    assert (V2.odd_ids_allowed, V2.batches_allowed) == (False, False)


def test_loading_is_resuming_with_all_of_the_history() -> None:
    dialect = speaker()
    method, params = dialect.request_to_wire(words.LoadSession(session_id=SESSION, cwd="/srv"))
    assert (method, plain(params)) == ("session/resume", {**STORED, "replayFrom": {"type": "start"}})
    method, params = dialect.request_to_wire(words.ResumeSession(session_id=SESSION, cwd="/srv"))
    assert (method, plain(params)) == ("session/resume", STORED)


@pytest.mark.parametrize(
    ("members", "word"),
    [
        ({}, words.ResumeSession),
        ({"replayFrom": None}, words.ResumeSession),
        ({"replayFrom": {"type": "start"}}, words.LoadSession),
    ],
)
def test_where_the_replay_begins_tells_loading_from_resuming(members: dict[str, Any], word: type[Any]) -> None:
    assert asked_of(V2(), "session/resume", {**STORED, **members}) == word(session_id=SESSION, cwd="/srv")


@pytest.mark.parametrize("beginning", [{"type": "message"}, {"type": "_yesterday"}, {}, {"type": 1}, "start", [], 0])
def test_a_beginning_the_agent_does_not_know_is_refused(beginning: Any) -> None:
    with pytest.raises(InvalidParams) as refused:
        asked_of(V2(), "session/resume", {**STORED, "replayFrom": beginning})
    assert refused.value.data["field"].startswith("replayFrom")


@pytest.mark.parametrize("method", ["session/new", "session/resume", "session/fork"])
@pytest.mark.parametrize(
    ("servers", "field"),
    [
        ([SSE], "mcpServers[0].type"),
        ([{"type": "_smoke", "name": "signals"}], "mcpServers[0].type"),
        (
            [{"type": "http", "name": "a", "url": "u"}, {"type": "stdio", "name": "a", "command": "/b"}],
            "mcpServers[1].name",
        ),
        ([{"type": "http", "name": "a"}], "mcpServers[0].url"),
        ("none", "mcpServers"),
    ],
)
def test_a_server_that_cannot_be_had_is_refused(method: str, servers: Any, field: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        asked_of(V2(), method, {**STORED, "mcpServers": servers})
    assert refused.value.data["field"] == field


def test_a_server_of_the_kind_that_v2_gave_up_is_refused_before_it_is_sent() -> None:
    asked = words.NewSession(cwd="/srv", servers=[SseServer(name="weather", url="https://example.org")])
    with pytest.raises(InvalidParams, match="sse"):
        speaker().request_to_wire(asked)


def test_servers_are_told_with_their_types() -> None:
    raw_server = {"type": "_smoke", "name": "signals"}
    asked = words.NewSession(
        cwd="/srv",
        servers=[
            StdioServer(name="seeds", command="/bin/seeds", args=["-v"], env={"A": "b"}),
            HttpServer(name="weather", url="https://example.org", headers={"Accept": "x"}),
            Unknown(tag="_smoke", raw=raw_server),
        ],
    )
    assert plain(speaker().request_to_wire(asked)[1])["mcpServers"] == [
        {
            "type": "stdio",
            "name": "seeds",
            "command": "/bin/seeds",
            "args": ["-v"],
            "env": [{"name": "A", "value": "b"}],
        },
        {
            "type": "http",
            "name": "weather",
            "url": "https://example.org",
            "headers": [{"name": "Accept", "value": "x"}],
        },
        raw_server,
    ]


@pytest.mark.parametrize("nothing", [{}, {"mcpServers": None, "additionalDirectories": None}])
def test_lists_may_be_left_out_or_null(nothing: dict[str, Any]) -> None:
    assert asked_of(V2(), "session/new", {"cwd": "/srv", **nothing}) == words.NewSession(cwd="/srv")


@pytest.mark.parametrize(
    "members", [{"cwd": "srv"}, {"cwd": "../srv"}, {"cwd": "/srv", "additionalDirectories": ["shed"]}]
)
def test_a_directory_must_be_absolute(members: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams, match="absolute"):
        asked_of(V2(), "session/new", members)
    with pytest.raises(InvalidParams, match="absolute"):
        asked_of(V2(), "session/fork", {**STORED, **members})


def test_a_list_of_sessions_takes_an_empty_cursor_and_an_absolute_directory() -> None:
    assert asked_of(V2(), "session/list", {"cursor": ""}) == words.ListSessions(cursor="")
    assert plain(speaker().request_to_wire(words.ListSessions(cursor=""))[1]) == {"cursor": ""}
    with pytest.raises(InvalidParams, match="absolute"):
        asked_of(V2(), "session/list", {"cwd": "srv"})


@pytest.mark.parametrize(
    ("prompt", "field"),
    [
        ([], "prompt"),
        ([{"type": "text", "text": "dig"}, {"type": "_smell", "of": "roses"}], "prompt[1].type"),
        ([{"type": "image", "data": "x"}], "prompt[0].mimeType"),
    ],
)
def test_a_prompt_of_what_the_agent_cannot_take_is_refused(prompt: list[Any], field: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        asked_of(V2(), "session/prompt", {"sessionId": SESSION, "prompt": prompt})
    assert refused.value.data["field"] == field


def test_a_prompt_is_answered_with_the_id_of_its_message() -> None:
    result = speaker().result_to_wire(PROMPT, words.PromptResult(message_id="m1"))
    assert plain(result) == {"messageId": "m1"}
    assert V2().result_from_wire(PROMPT, raw({"messageId": "m1"})) == words.PromptResult(message_id="m1")


@pytest.mark.parametrize("result", [{}, None, {"messageId": None}, {"messageId": 7}, []])
def test_an_answer_to_a_prompt_that_names_no_message_is_one_of_v2_as_first_published(result: Any) -> None:
    """FN-53: in strict mode a clear error for that prompt, and nothing else."""
    assert V2().result_from_wire(PROMPT, raw(result)) == words.PromptResult()
    with pytest.raises(Malformed):
        V2(strict=True).result_from_wire(PROMPT, raw(result))


@pytest.mark.parametrize("word", [words.CloseSession, words.DeleteSession])
@pytest.mark.parametrize("result", [{}, None])
def test_an_answer_that_only_says_yes_may_be_null(word: type[Any], result: Any) -> None:
    assert V2().result_from_wire(word(session_id=SESSION), raw(result)) == words.EmptyResult()


GONE = [
    words.SetMode(session_id=SESSION, mode_id="ask"),
    words.SetModel(session_id=SESSION, model_id="small"),
    words.ReadFile(session_id=SESSION, path="/a"),
    words.WriteFile(session_id=SESSION, path="/a", content=""),
    words.CreateTerminal(session_id=SESSION, command="ls"),
    words.ReadTerminal(session_id=SESSION, terminal_id="t"),
    words.WaitForExit(session_id=SESSION, terminal_id="t"),
    words.KillTerminal(session_id=SESSION, terminal_id="t"),
    words.ReleaseTerminal(session_id=SESSION, terminal_id="t"),
]


@pytest.mark.parametrize("asked", GONE, ids=lambda asked: type(asked).__name__)
def test_what_v2_does_not_have_cannot_be_asked(asked: words.AcpRequest) -> None:
    with pytest.raises(MethodNotFound):
        speaker().request_to_wire(asked)


@pytest.mark.parametrize(
    "method",
    [
        "authenticate",
        "logout",
        "session/load",
        "session/set_mode",
        "session/set_model",
        "fs/read_text_file",
        "terminal/create",
    ],
)
@pytest.mark.parametrize("sender", ["client", "agent"])
def test_methods_of_v1_are_not_found(method: str, sender: Any) -> None:
    with pytest.raises(MethodNotFound):
        V2().request_from_wire(method, raw({**STORED, "methodId": "x"}), sender)


def test_a_method_is_found_only_for_the_side_that_may_call_it() -> None:
    with pytest.raises(MethodNotFound):
        V2().request_from_wire("session/prompt", raw({}), "agent")
    assert V2().notification_from_wire("session/cancel", raw({"sessionId": SESSION}), "agent") is None
