from __future__ import annotations

from typing import Any

import msgspec
import pytest

from accord.schema import v2
from tests.schema.v1.shape import assert_shape, read, refuses

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
