"""A message that v2 clears and writes again under its id reaches a listener of v1 with its text once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accord.dialects.chunk_fast_path import ChunkEncoder
from accord.dialects.v1 import V1
from accord.dialects.v2 import V2
from accord.session.transcript import Transcript
from tests.dialects.json_values import plain
from tests.dialects.telling import SESSION, reports_of, rows_lost
from tests.dialects.v1.speaking import speaker

TOOL_CALL = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "Dig", "status": "completed"}
IDLE = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def piece(said: str, id: str = "m") -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "messageId": id, "content": text(said)}


def whole(*said: str, id: str = "m", **more: Any) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message", "messageId": id, "content": [text(each) for each in said], **more}


CLEAR = {"sessionUpdate": "agent_message", "messageId": "m", "content": None}


class Relay:
    """What a listener of v1 hears of a session whose updates come in v2, by either way to a frame."""

    def __init__(self) -> None:
        self.dialect: V1 = speaker()
        self.transcript = Transcript()
        self._frames = ChunkEncoder(self.dialect, SESSION)

    def tell(self, *updates: dict[str, Any]) -> list[dict[str, Any]]:
        heard: list[dict[str, Any]] = []
        for update in updates:
            for report in reports_of(V2(strict=True), **update):
                change = self.transcript.apply(report)
                frame = self._frames.encode(change)
                if frame is not None:
                    heard.append(json.loads(frame)["params"]["update"])
                else:
                    heard += [plain(params)["update"] for params in self.dialect.update_to_wire(SESSION, change)]
        return heard


def told(*updates: dict[str, Any]) -> list[tuple[str, str]]:
    """The ids and texts of the messages, and `call` for a tool call."""
    return [read(update) for update in Relay().tell(*updates)]


def read(update: dict[str, Any]) -> tuple[str, str]:
    return ("call", "") if "toolCallId" in update else (update["messageId"], update["content"]["text"])


@pytest.mark.parametrize("clear", [CLEAR, whole()], ids=["null", "empty"])
def test_a_message_that_is_cleared_and_written_again_is_told_once(clear: dict[str, Any]):
    assert told(piece("Hello "), piece("you"), clear, piece("Hel"), piece("lo you"), IDLE) == [
        ("m", "Hello "),
        ("m", "you"),
    ]


def test_what_is_written_beyond_the_old_text_is_told_as_it_comes():
    again = [piece("Hello "), CLEAR, piece("Hel"), piece("lo you"), piece(", and"), piece(" you")]
    assert told(*again) == [("m", "Hello "), ("m", "you"), ("m", ", and"), ("m", " you")]


def test_a_patch_that_writes_it_again_is_told_as_what_it_adds():
    assert told(piece("Hello"), CLEAR, whole("Hello", " you")) == [("m", "Hello"), ("m", " you")]


def test_a_message_that_says_something_else_is_told_whole_before_what_comes_next():
    assert told(piece("Draft"), CLEAR, piece("Fin"), piece("al"), TOOL_CALL) == [
        ("m", "Draft"),
        ("m-rewritten-1", "Final"),
        ("call", ""),
    ]


def test_a_message_that_says_something_else_is_told_at_the_end_of_the_turn():
    relay = Relay()
    heard = relay.tell(piece("Draft"), whole("Final"), IDLE)
    assert [read(update) for update in heard] == [("m", "Draft"), ("m-rewritten-1", "Final")]
    assert rows_lost(relay.dialect) == ["message-patch"]


def test_a_message_that_was_told_anew_goes_on_under_its_new_id():
    updates = [
        piece("Draft"),
        whole("Final"),
        piece("x", id="other"),
        piece(" word"),
        CLEAR,
        piece("Final word."),
        IDLE,
    ]
    assert told(*updates) == [
        ("m", "Draft"),
        ("m-rewritten-1", "Final"),
        ("other", "x"),
        ("m-rewritten-1", " word"),
        ("m-rewritten-1", "."),
    ]


def test_each_version_of_a_message_that_is_told_has_an_id_of_its_own():
    versions = [update for said in "abcd" for update in (whole(said), TOOL_CALL)]
    ids = ["m", "m-rewritten-1", "m-rewritten-2", "m-rewritten-3"]
    assert [each for each in told(*versions) if each[0] != "call"] == list(zip(ids, "abcd", strict=True))


def test_pieces_that_are_told_later_than_they_came_are_told_once():
    """The message is ahead of the changes that a listener waits for."""
    relay = Relay()
    updates = [piece("Hello"), CLEAR, piece("Hel"), piece("lo you"), piece("."), IDLE]
    changes = [relay.transcript.apply(report) for update in updates for report in reports_of(V2(), **update)]
    heard = [params for change in changes for params in relay.dialect.update_to_wire(SESSION, change)]
    assert [read(plain(params)["update"]) for params in heard] == [("m", "Hello"), ("m", " you"), ("m", ".")]


def test_other_messages_are_told_while_one_is_written_again():
    updates = [piece("Hello"), CLEAR, piece("Hel"), piece("x", id="other"), piece("lo"), piece("!"), IDLE]
    assert told(*updates) == [("m", "Hello"), ("other", "x"), ("m", "!")]


def test_a_message_that_stays_cleared_is_a_loss():
    relay = Relay()
    assert [read(update) for update in relay.tell(piece("Oops"), CLEAR, IDLE)] == [("m", "Oops")]
    assert rows_lost(relay.dialect) == ["message-patch"]


def test_what_was_held_back_is_forgotten_with_the_session():
    relay = Relay()
    relay.tell(piece("Draft"), CLEAR, piece("Fin"))
    relay.dialect.forget_session(SESSION)
    assert [read(update) for update in relay.tell(TOOL_CALL)] == [("call", "")]


IDS = st.sampled_from(["m", "n"])
TEXTS = st.text("ab", max_size=3)
UPDATES = st.one_of(
    st.builds(piece, TEXTS, id=IDS),
    st.builds(lambda said, id: whole(*said, id=id), st.lists(TEXTS, max_size=2), IDS),
    st.just(TOOL_CALL),
)


@given(st.lists(UPDATES, max_size=12))
@example([whole("a"), whole("b"), piece("")])
@example([whole("a"), whole("b"), piece("x", id="n")])
def test_after_a_turn_the_newest_message_of_each_id_has_its_text_once(updates: list[dict[str, Any]]):
    relay = Relay()
    heard: dict[str, str] = {}
    for update in relay.tell(*updates, IDLE):
        id, said = read(update)
        heard[id] = heard.get(id, "") + said
    for message in relay.transcript.messages.values():
        newest = [said for id, said in heard.items() if id.split("-")[0] == message.id]
        if message.text:
            assert newest[-1] == message.text
