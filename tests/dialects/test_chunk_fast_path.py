"""The short way to a frame of plain text makes the same bytes as the long one."""

from __future__ import annotations

from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.dialects.chunk_fast_path import ChunkEncoder
from accord.dialects.dialect import Dialect
from accord.dialects.v1 import V1
from accord.dialects.v2 import V2
from accord.dialects.v2_draft import V2Draft
from accord.jsonrpc.codec import encode
from accord.jsonrpc.messages import Notification
from accord.session.content import Annotations, Image, Text
from accord.session.transcript import Transcript
from accord.session.updates import MessageAppend, MessageChunk, MessagePatch, Update

DIALECTS = [V1, V2, V2Draft]
MARKS = ["\ue000text", "\ue000id", '"', "\\", "\n", "\x00", "🙂", "null", "accord-1", ""]
texts = st.text() | st.sampled_from(MARKS)


def chunk_of(content, role="agent", id="m", **piece) -> MessageChunk:
    change = Transcript().apply(MessageAppend(role=role, id=id, content=content, **piece))
    assert isinstance(change, MessageChunk)
    return change


def the_long_way(dialect: Dialect, session_id: str, change: Update) -> bytes:
    (params,) = dialect.update_to_wire(session_id, change)
    return encode(Notification("session/update", params))


@pytest.mark.parametrize("kind", DIALECTS)
@given(
    session_id=texts, said=st.lists(st.tuples(st.sampled_from(["user", "agent", "thought"]), texts, texts), min_size=1)
)
def test_plain_text_becomes_the_same_frame_either_way(kind, session_id, said):
    dialect = kind()
    frames = ChunkEncoder(dialect, session_id)
    for role, id, text in said:
        chunk = chunk_of(Text(text), role, id)
        frame = frames.encode(chunk)
        assert frame == the_long_way(dialect, session_id, chunk) or (frame is None and session_id in MARKS[:2])


@pytest.mark.parametrize("kind", DIALECTS)
@given(session_id=texts, role=st.sampled_from(["user", "agent", "thought"]), id=texts, text=texts)
def test_a_new_message_of_plain_text_becomes_the_same_frame_either_way(kind, session_id, role, id, text):
    dialect = kind()
    change = Transcript().apply(MessagePatch(role=role, id=id, content=[Text(text)]))
    frame = ChunkEncoder(dialect, session_id).encode(change)
    assert frame == the_long_way(dialect, session_id, change) or (frame is None and session_id in MARKS[:2])


@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize(
    "patch",
    [
        MessagePatch(role="agent", id="m", content=[Text("a"), Text("b")]),
        MessagePatch(role="agent", id="m", content=[Text("a", meta={"a": 1})]),
        MessagePatch(role="agent", id="m", content=[Text("a")], meta={"a": 1}),
        MessagePatch(role="agent", id="m", content=[Image(data="", mime_type="image/png")]),
        MessagePatch(role="agent", id="m", content=[]),
        MessagePatch(role="agent", id="m", content=None),
        MessagePatch(role="agent", id="m"),
        MessagePatch(role="agent", id="known", content=[Text("a")]),
    ],
)
def test_any_other_patch_of_a_message_goes_the_long_way(kind, patch):
    transcript = Transcript()
    transcript.apply(MessagePatch(role="agent", id="known", content=[Text("b")]))
    assert ChunkEncoder(kind(), "s").encode(transcript.apply(patch)) is None


@pytest.mark.parametrize("kind", DIALECTS)
def test_a_message_that_goes_on_keeps_its_id(kind):
    transcript, dialect = Transcript(), kind()
    frames = ChunkEncoder(dialect, "s")
    for role, text in [("agent", "a"), ("agent", "b"), ("thought", "c"), ("agent", "d"), ("agent", "e")]:
        chunk = transcript.apply(MessageAppend(role=role, id=None, content=Text(text)))
        assert isinstance(chunk, MessageChunk)
        assert frames.encode(chunk) == the_long_way(dialect, "s", chunk)


class Word(StrEnum):
    YES = "yes"


@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize(
    "chunk",
    [
        chunk_of(Text("x", annotations=Annotations(priority=1.0))),
        chunk_of(Text("x", meta={"a": 1})),
        chunk_of(Text("x"), meta={"a": 1}),
        chunk_of(Text("x"), meta=None),
        chunk_of(Image(data="", mime_type="image/png")),
        chunk_of(Text("half \ud83d a pair")),
        chunk_of(Text("x"), id="half \ud83d"),
        chunk_of(Text(type("Own", (str,), {})("x"))),
    ],
)
def test_whatever_is_not_plain_text_goes_the_long_way(kind, chunk):
    assert ChunkEncoder(kind(), "s").encode(chunk) is None


@pytest.mark.parametrize("kind", DIALECTS)
def test_a_word_of_an_enumeration_is_written_as_its_text(kind):
    dialect, chunk = kind(), chunk_of(Text(Word.YES))
    assert ChunkEncoder(dialect, "s").encode(chunk) == the_long_way(dialect, "s", chunk)
