from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from accord.schema import v2
from tests.schema.v1.shape import assert_shape, known, read, refuses

PLACE = {"additionalDirectories": ["/b"], "mcpServers": [{"type": "http", "name": "n", "url": "https://example.org"}]}
LISTS = {"configOptions": [], "availableCommands": []}


def test_a_new_session_needs_a_directory() -> None:
    assert_shape(v2.NewSessionRequest, {"cwd": "/a"}, PLACE)
    assert_shape(v2.NewSessionResponse, {"sessionId": "s"}, LISTS)


def test_lists_left_out_are_not_written() -> None:
    assert msgspec.json.encode(v2.NewSessionRequest("/srv")) == b'{"cwd":"/srv"}'


def test_a_session_is_resumed_with_or_without_its_history() -> None:
    assert_shape(v2.ResumeSessionRequest, {"sessionId": "s", "cwd": "/a"}, {**PLACE, "replayFrom": {"type": "start"}})
    assert_shape(v2.ResumeSessionResponse, {}, LISTS)
    assert read(v2.ResumeSessionRequest, {"sessionId": "s", "cwd": "/a", "replayFrom": None}).replay_from is None


@pytest.mark.parametrize("cursor", [{}, {"type": None}, {"type": ""}, "start", [], True])
def test_a_malformed_place_to_replay_from_is_an_error(cursor: Any) -> None:
    assert refuses(v2.ResumeSessionRequest, {"sessionId": "s", "cwd": "/a", "replayFrom": cursor})


def test_a_session_is_forked() -> None:
    assert_shape(v2.ForkSessionRequest, {"sessionId": "s", "cwd": "/a"}, PLACE)
    assert_shape(v2.ForkSessionResponse, {"sessionId": "s"}, LISTS)


def test_sessions_are_listed() -> None:
    info = {"sessionId": "s", "cwd": "/a"}
    assert_shape(v2.ListSessionsRequest, {}, {"cwd": "/a", "cursor": "c"})
    assert_shape(v2.ListSessionsResponse, {"sessions": [info]}, {"nextCursor": "c"}, forgiven=("sessions",))
    assert_shape(v2.SessionInfo, info, {"additionalDirectories": ["/b"], "title": "t", "updatedAt": "2026-11-03"})


def test_the_empty_string_is_a_cursor() -> None:
    assert read(v2.ListSessionsRequest, {"cursor": ""}).cursor == ""


@pytest.mark.parametrize("kind", [v2.CloseSessionRequest, v2.DeleteSessionRequest])
def test_closing_and_deleting_need_the_session(kind: Any) -> None:
    assert_shape(kind, {"sessionId": "s"})


TEXT = {"type": "text", "text": "hi"}


@pytest.mark.requirement("PROMPT-03", "PROMPT-04")
def test_a_prompt_has_a_session_and_something_to_say() -> None:
    assert_shape(v2.PromptRequest, {"sessionId": "s", "prompt": [TEXT]})
    assert refuses(v2.PromptRequest, {"sessionId": "s", "prompt": []})
    assert refuses(v2.PromptRequest, {"sessionId": "s", "prompt": TEXT})


def test_the_answer_to_a_prompt_is_the_id_of_the_message() -> None:
    assert_shape(v2.PromptResponse, {"messageId": "m"})


def test_a_state_is_one_object_whatever_the_state() -> None:
    work = [{"type": "terminal", "terminalId": "t"}, {"type": "tool_call", "toolCallId": "c"}]
    optional = {"stopReason": "error", "error": {"code": 1, "message": "m"}, "background": work}
    assert_shape(v2.SessionUpdate, {"sessionUpdate": "state_update", "state": "idle"}, optional)


def test_no_background_list_is_not_an_empty_one() -> None:
    assert read(v2.StateUpdate, {"state": "idle"}).background is UNSET
    assert read(v2.StateUpdate, {"state": "idle", "background": []}).background == []


@pytest.mark.requirement("PROMPT-21", "PROMPT-22", "PROMPT-23", "PROMPT-24", "PROMPT-25")
def test_the_known_stop_reasons_and_states() -> None:
    reasons = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"}
    assert set(known(v2.StopReason).values) == reasons
    assert set(known(v2.SessionState).values) == {"running", "idle", "requires_action"}


def test_a_server_to_start() -> None:
    required = {"type": "stdio", "name": "n", "command": "/usr/bin/bulbs"}
    assert_shape(v2.McpServer, required, {"args": ["-v"], "env": [{"name": "A", "value": "b"}]})


def test_a_server_on_the_web() -> None:
    required = {"type": "http", "name": "n", "url": "https://example.org/mcp"}
    assert_shape(v2.McpServer, required, {"headers": [{"name": "A", "value": "b"}]})


def test_server_sent_events_are_not_a_known_kind() -> None:
    assert refuses(v2.McpServer, {"type": "sse", "name": "n", "url": "https://example.org/mcp"})
