"""What is taken from a frame the short way is what all the rules make of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.dialects.chunk_fast_path import update_reader
from accord.dialects.dialect import Dialect
from accord.dialects.v1 import V1
from accord.dialects.v2 import V2
from accord.dialects.v2_draft import V2Draft
from accord.errors import Malformed
from accord.jsonrpc.events import NotificationReceived
from accord.jsonrpc.pending_calls import PendingCalls
from accord.session.updates import Patch

DIALECTS = [V1, V2, V2Draft]
CHUNK = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi"}, "messageId": "m"}
UPDATES: list[dict[str, Any]] = [
    CHUNK,
    CHUNK | {"_meta": {"a": 1}},
    CHUNK | {"content": {"type": "text", "text": "Hi", "annotations": {"priority": 1}}},
    CHUNK | {"content": {"type": "image", "data": "", "mimeType": "image/png"}},
    CHUNK | {"content": {"type": "hologram"}},
    CHUNK | {"content": 7},
    CHUNK | {"messageId": None},
    CHUNK | {"messageId": 7},
    {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi"}},
    {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c",
        "title": "T",
        "status": "_odd",
        "locations": [{"path": "x"}],
    },
    {"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [{"type": "content", "content": 5}]},
    {"sessionUpdate": "usage_update", "used": 1, "size": 2},
    {"sessionUpdate": "_own", "a": 1},
    {"sessionUpdate": 5},
    {},
]


class Heard:
    def __init__(self) -> None:
        self.reports: list[Patch] = []

    def take(self, report: Patch, size: int) -> None:
        assert size > 0
        self.reports.append(report)


def the_long_way(dialect: Dialect, frame: bytes) -> list[Patch] | None:
    """None when it is not, or not only, an update of the session."""
    events = PendingCalls().receive(frame)
    if len(events) != 1 or not isinstance(events[0], NotificationReceived) or events[0].method != "session/update":
        return None
    try:
        session_id, reports = dialect.update_from_wire(events[0].params)
    except Malformed:
        return None
    return reports if session_id == "s" else None


def check(kind: type[Dialect], frame: bytes) -> bool:
    """Also after chunks of the message: the reader then reads the text alone, where nothing else differs."""
    return {check_after(kind, count, frame) for count in (0, 1, 3)} == {True}


def check_after(kind: type[Dialect], count: int, frame: bytes) -> bool:
    heard, dialect, patient = Heard(), kind(), kind()
    take = update_reader(dialect, {"s": heard})
    assert take is not None
    assert all(take(TEXT) for _ in range(count))
    heard.reports.clear()
    if not take(frame):
        assert heard.reports == []
        assert dialect.notes == []
        return False
    assert heard.reports == the_long_way(patient, frame)
    assert dialect.notes == patient.notes
    return True


def frame_of(update: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}, **members}


@pytest.mark.parametrize("kind", DIALECTS)
def test_text_and_tool_calls_go_the_short_way(kind):
    assert check(kind, json.dumps(frame_of(CHUNK)).encode())
    assert check(kind, json.dumps(frame_of({"sessionUpdate": "tool_call_update", "toolCallId": "c"})).encode())


@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize("meta", [{"a": 1}, {}, None, 5])
def test_meta_around_an_update_is_taken_with_it(kind, meta):
    frame = frame_of(CHUNK)
    frame["params"]["_meta"] = meta
    check(kind, json.dumps(frame).encode())


@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("order", [1, -1])
def test_any_update_is_taken_as_the_rules_would_or_left_to_them(kind, update, order):
    whole = dict(list(frame_of(update, extra=[1]).items())[::order])
    check(kind, json.dumps(whole).encode())
    check(kind, json.dumps(whole, indent=1).replace("\n", " ").encode())


TEXT = json.dumps(frame_of(CHUNK)).encode()


TEXTS = st.one_of(st.text(max_size=5), st.sampled_from(["text", "s", "m", "Hi", '"', "\\", "2.0", "type"]))


@pytest.mark.parametrize("kind", DIALECTS)
@given(st.lists(st.tuples(TEXTS, st.sampled_from(["m", "n", None]), st.sampled_from("st"), TEXTS, st.booleans())))
def test_chunks_that_follow_each_other_are_taken_as_the_rules_would(kind, chunks):
    heard, dialect, patient = Heard(), kind(), kind()
    take = update_reader(dialect, {"s": heard})
    assert take is not None
    for text, id, session_id, other, is_ascii in chunks:
        frame = frame_of(CHUNK | {"content": {"x": other, "type": "text", "text": text}, "messageId": id})
        frame["params"]["sessionId"] = session_id
        data = json.dumps(frame, ensure_ascii=is_ascii).encode()
        heard.reports.clear()
        if take(data):
            assert heard.reports == the_long_way(patient, data)
        else:
            assert heard.reports == []


@pytest.mark.parametrize("kind", DIALECTS)
def test_the_text_of_a_chunk_is_not_taken_from_another_member(kind):
    """It is written with escapes, and another member has the same text without them."""
    heard = Heard()
    take = update_reader(kind(), {"s": heard})
    assert take is not None
    frame = TEXT.replace(b'"Hi"', b'"\\u0048i"').replace(b'"jsonrpc"', b'"x": "Hi", "jsonrpc"')
    for other in (b"Hi", b"Hi", b"Hi", b"Ho"):
        assert take(frame.replace(b'"x": "Hi"', b'"x": "%s"' % other))
    reports: list[Any] = heard.reports
    assert [report.content.text for report in reports] == ["Hi"] * 4


@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize(
    "frame",
    [
        TEXT[:-1] + b',"id":1}',
        TEXT[:-1] + b',"id":null}',
        TEXT[:-1] + b',"id":"a"}',
        b'{"id":0,' + TEXT[1:],
        TEXT.replace(b"2.0", b"2.1"),
        TEXT.replace(b'"jsonrpc": "2.0", ', b""),
        TEXT.replace(b"session/update", b"session/updated"),
        TEXT.replace(b'"s"', b'"t"'),
        TEXT[:-1],
        TEXT + b"}",
        TEXT + TEXT,
        b"[" + TEXT + b"]",
        b"",
        b"[]",
        b"\xff",
        TEXT.replace(b"Hi", b"\xff"),
        TEXT.replace(b"Hi", b"\\ud83d"),
        TEXT.replace(b'"params"', b'"params": 5, "x"'),
        b'{"jsonrpc": "2.0", "method": "session/update"}',
        TEXT[:-1] + b',"params":' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
)
def test_what_is_no_update_of_a_session_that_is_open_is_left_to_the_rules(kind, frame):
    assert not check(kind, frame)


@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize(
    "frame",
    [
        TEXT[:-1] + b',"params":' + json.dumps(frame_of({**CHUNK, "messageId": "n"})["params"]).encode() + b"}",
        TEXT[:-1] + b',"error":5,"result":null}',
        TEXT[:-1] + b',"method":"session/update"}',
        TEXT.replace(b'"Hi"', b'"Hi","text":"Ho"'),
        TEXT.replace(b'"params"', b'"p\\u0061rams"'),
        b" " + TEXT + b"\t",
    ],
)
def test_repeated_and_unknown_members_count_as_the_rules_say(kind, frame):
    assert check(kind, frame)


@pytest.mark.parametrize("kind", DIALECTS)
@given(st.binary(max_size=3), st.integers(0, len(TEXT)), st.integers(0, 3))
def test_a_frame_with_a_few_bytes_changed_is_taken_as_the_rules_would_or_left_to_them(kind, put, place, removed):
    check(kind, TEXT[:place] + put + TEXT[place + removed :])


@pytest.mark.parametrize("kind", DIALECTS)
def test_in_strict_mode_there_is_no_short_way(kind):
    assert update_reader(kind(strict=True), {}) is None
