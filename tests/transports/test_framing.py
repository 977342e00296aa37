from __future__ import annotations

import itertools
import json
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import FrameRejected
from accord.transports.framing import FRAME_LIMIT, FrameParser, Framing, ParseResult, join_frames, wrap_frame

KIB = 1024
MIB = 1024 * KIB


def cut(*pieces: bytes, limit: int = FRAME_LIMIT, end: bool = True) -> list[bytes | FrameRejected]:
    cutter = FrameParser(limit)
    cuts: list[ParseResult] = []
    for piece in pieces:
        cuts += cutter.feed(piece)
    if end:
        cuts += cutter.end()
    return flat(cuts)


def flat(cuts: list[ParseResult]) -> list[bytes | FrameRejected]:
    flattened: list[bytes | FrameRejected] = []
    for each in cuts:
        if isinstance(each, list):
            assert each, "no empty lists"
            flattened += each
        else:
            flattened.append(each)
    return flattened


def shape(things: list[bytes | FrameRejected]) -> list[bytes | str]:
    return [str(thing) if isinstance(thing, FrameRejected) else thing for thing in things]


def block(body: bytes, name: bytes = b"Content-Length") -> bytes:
    return b"%b: %d\r\n\r\n%b" % (name, len(body), body)


@pytest.mark.requirement("TRANS-06", "TRANS-14", "TRANS-04")
def test_each_line_is_a_frame():
    assert cut(b'{"a":1}\n{"b":2}\n') == [b'{"a":1}', b'{"b":2}']


@pytest.mark.requirement("TRANS-13")
def test_a_batch_is_one_frame():
    assert cut(b'[{"id":1},{"id":2}]\n{}\n') == [b'[{"id":1},{"id":2}]', b"{}"]


@pytest.mark.requirement("TRANS-08")
def test_a_character_split_between_two_reads_stays_whole():
    text = '{"text":"grün 🎉"}'.encode()
    for position in range(len(text)):
        assert cut(text[:position], text[position:] + b"\n") == [text]


@pytest.mark.requirement("AMB-07")
def test_blank_lines_and_carriage_returns_are_dropped():
    assert cut(b'\r\n\n  \t\n{"a":1}\r\n\r\n\n \r\n{"b":2}\r\n') == [b'{"a":1}', b'{"b":2}']


def test_the_last_line_needs_no_newline():
    assert cut(b'{"a":1}\n{"b":2}') == [b'{"a":1}', b'{"b":2}']


def test_noise_is_cut_like_any_line_because_it_is_the_peers_business():
    assert cut(b"npm warn deprecated\nready!\n", b"Conn", b'ecting\n{"a":1}\nnoise\n') == [
        b"npm warn deprecated",
        b"ready!",
        b"Connecting",
        b'{"a":1}',
        b"noise",
    ]


def test_hundreds_of_small_lines_come_in_one_list():
    cutter = FrameParser()
    data = b'{"method":"session/update"}\n' * 500
    assert [len(cuts) for cuts in cutter.feed(data) if isinstance(cuts, list)] == [500]


@pytest.mark.requirement("TRANS-07", "TRANS-04", "AMB-07")
@pytest.mark.parametrize("name", [b"Content-Length", b"content-length", b"CONTENT-LENGTH"])
def test_content_length_blocks_are_recognised_in_any_case(name: bytes):
    body = '{"text":"grün 🎉"}'.encode()
    assert len(body) != len(body.decode())
    assert cut(block(body, name) + block(b"{}", name)) == [body, b"{}"]


@pytest.mark.requirement("AMB-08")
def test_stray_line_ends_and_other_headers_are_tolerated():
    stream = b"\r\n\n" + b"Content-Type: application/json\r\nContent-Length:2\r\n\r\n{}" + b"\n\r\n"
    stream += b"Content-Length: 7\nX-Trace: abc\n\n" + b'{"a":1}\r\n' + block(b"[]")
    assert cut(stream) == [b"{}", b'{"a":1}', b"[]"]


def test_noise_before_the_first_block_does_not_hide_it():
    assert cut(b"starting up\n" + block(b"{}")) == [b"starting up", b"{}"]


def test_the_framing_is_known_once_the_other_side_has_spoken():
    newline, blocks = FrameParser(), FrameParser()
    assert newline.framing is blocks.framing is None
    newline.feed(b"noise\n")
    blocks.feed(b"noise\nContent-")
    assert newline.framing is blocks.framing is None
    newline.feed(b" {")
    blocks.feed(b"Length: ")
    assert (newline.framing, blocks.framing) == ("newline", "content-length")


@pytest.mark.requirement("TRANS-15")
def test_a_pretty_printed_body_loses_its_newlines_and_nothing_else():
    body = json.dumps({"a": [1, "two\nlines"]}, indent=2).encode()
    (frame,) = cut(block(body))
    assert isinstance(frame, bytes)
    assert b"\n" not in frame
    assert json.loads(frame) == json.loads(body)


def test_something_between_two_blocks_is_refused_once_and_skipped():
    things = cut(block(b"{}") + b"Traceback:\n  oops\n  oops\n" + block(b"[]"))
    assert [type(thing) for thing in things] == [bytes, FrameRejected, bytes]


def test_headers_without_a_length_are_refused_and_the_next_block_is_found():
    things = cut(b'Content-Length: many\r\n\r\n{"a":1}' + block(b'{"b":2}'))
    assert [type(thing) for thing in things] == [FrameRejected, bytes]
    assert things[-1] == b'{"b":2}'


def test_endless_headers_do_not_fill_the_memory():
    cutter = FrameParser()
    cutter.feed(b"Content-Length: ")
    tracemalloc.start()
    try:
        refusals = [cuts for _ in range(200) for cuts in cutter.feed(b"9" * (64 * KIB))]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(refusals) == 1
    assert peak < MIB


@pytest.mark.parametrize("stream", [b"Content-Length: 5\r\n\r\n{", b"Content-Length: 5\r\n", b"Content-Length: 5"])
def test_a_stream_that_ends_inside_a_block_says_so(stream: bytes):
    assert [type(thing) for thing in cut(stream)] == [FrameRejected]


def test_refusals_do_not_quote_what_came():
    things = cut(block(b"{}") + b"password: hunter2 hunter2\nhunter2\n" + block(b"[]"))
    assert "hunter2" not in str([str(thing) for thing in things])


@pytest.mark.parametrize("framing", ["newline", "content-length"])
def test_a_frame_past_the_limit_is_refused_once_and_the_connection_lives(framing: Framing):
    """FN-33: a frame that is too long gets one refusal, its rest is skipped, the frames around it arrive."""
    long = b'{"long":"' + b"x" * 100 + b'"}'
    stream = join_frames([b"{}", long, b"[]", long, long, b'{"a":1}'], framing)
    for size in (1, 7, 64, len(stream)):
        pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
        things = cut(*pieces, limit=50)
        assert [thing if isinstance(thing, bytes) else None for thing in things] == [
            b"{}", None, b"[]", None, None, b'{"a":1}',
        ]  # fmt: skip


@pytest.mark.parametrize("framing", ["newline", "content-length"])
def test_a_frame_of_exactly_the_limit_is_taken(framing: Framing):
    frame = b"{" + b"x" * 48 + b"}"
    assert cut(join_frames([frame, frame], framing), limit=50) == [frame, frame]


@pytest.mark.parametrize("start", [b"{", b"Content-Length: 999999999999\r\n\r\n{"])
def test_a_peer_that_never_ends_its_frame_does_not_fill_the_memory(start: bytes):
    """FN-33: memory stays flat at about the limit, however much comes."""
    limit = 8 * MIB
    cutter = FrameParser(limit)
    piece = b"x" * (256 * KIB)
    tracemalloc.start()
    try:
        things = flat(cutter.feed(start))
        for _ in range(160):
            things += flat(cutter.feed(piece))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [type(thing) for thing in things] == [FrameRejected]
    assert peak < 1.3 * limit  # tracemalloc counts the old block while realloc makes the new one


def test_a_whole_frame_is_never_held_twice():
    size = 16 * MIB
    cutter = FrameParser()
    piece = b"x" * (64 * KIB)
    tracemalloc.start()
    try:
        cutter.feed(b"{")
        for _ in range(size // len(piece)):
            cutter.feed(piece)
        (frames,) = cutter.feed(b"}\n")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(frames, list)
    assert len(frames[0]) == size + 2
    assert peak < 1.3 * size


def test_a_line_of_half_a_megabyte_arrives():
    """FN-92: one line of 564 kB."""
    frame = b'{"text":"' + b"x" * 564_000 + b'"}'
    stream = frame + b"\n{}\n"
    pieces = [stream[start : start + 65536] for start in range(0, len(stream), 65536)]
    assert cut(*pieces) == [frame, b"{}"]


def test_assembling_a_long_line_is_linear():
    """FN-34: sixteen times the length takes about sixteen times as long, not 256 times."""

    def seconds(pieces: int) -> float:
        best = float("inf")
        for _ in range(5):
            cutter = FrameParser()
            cutter.feed(b"{")
            started = time.process_time()
            for _ in range(pieces):
                cutter.feed(b"x" * 64)
            cutter.feed(b"\n")
            best = min(best, time.process_time() - started)
        return best

    assert seconds(32_000) < 100 * seconds(2_000)


@pytest.mark.requirement("TRANS-15", "TRANS-14")
@pytest.mark.parametrize("framing", ["newline", "content-length"])
def test_what_is_sent_contains_no_newline_of_its_own(framing: Framing):
    frame = b'{\n  "a": 1\n}'
    assert cut(join_frames([frame, b"{}"], framing)) == [b'{   "a": 1 }', b"{}"]
    assert b"".join(wrap_frame(frame, framing)) == join_frames([frame], framing)
    assert join_frames([b"{}", b"[]"], "newline") == b"{}\n[]\n"


@pytest.mark.requirement("TRANS-07")
def test_the_length_written_counts_bytes():
    assert join_frames(['"ü"'.encode()], "content-length") == b'Content-Length: 4\r\n\r\n"\xc3\xbc"'


def split_at(stream: bytes, positions: list[int]) -> list[bytes]:
    cuts = sorted({0, len(stream), *(position % (len(stream) + 1) for position in positions)})
    return [stream[start:end] for start, end in itertools.pairwise(cuts)]


FRAMES = st.lists(st.sampled_from([b"{}", b'{"a":1}', b"[]", b"noise", b"Content-Length: 3", b"", b"\r", b"x" * 40]))
POSITIONS = st.lists(st.integers(0, 10_000), max_size=30)


@given(st.sampled_from([b"\n", b"\r\n"]), FRAMES, POSITIONS, st.sampled_from([20, FRAME_LIMIT]))
def test_any_split_of_a_stream_of_lines_gives_the_same_frames(
    newline: bytes, frames: list[bytes], positions: list[int], limit: int
):
    stream = b'{"first":1}\n' + newline.join(frames)
    assert shape(cut(*split_at(stream, positions), limit=limit)) == shape(cut(stream, limit=limit))


@given(FRAMES, POSITIONS, st.sampled_from([20, FRAME_LIMIT]))
def test_any_split_of_a_stream_of_blocks_gives_the_same_frames(frames: list[bytes], positions: list[int], limit: int):
    stream = b"".join(block(frame) for frame in [b"{}", *frames])
    whole = shape(cut(stream, limit=limit))
    assert shape(cut(*split_at(stream, positions), limit=limit)) == whole
    expected = [frame.strip() for frame in [b"{}", *frames] if frame.strip() and len(frame) <= limit]
    assert [frame for frame in whole if isinstance(frame, bytes)] == expected


@given(st.binary(max_size=300), POSITIONS)
def test_any_split_of_any_bytes_gives_the_same_frames(stream: bytes, positions: list[int]):
    assert shape(cut(*split_at(stream, positions))) == shape(cut(stream))


@given(
    st.lists(st.sampled_from([b"Content-Length: 3\r\n", b"\r\n", b"content-type: x\n", b"{}\n", b"abc", b"Content-"])),
    POSITIONS,
)
def test_any_split_of_broken_headers_gives_the_same_frames(parts: list[bytes], positions: list[int]):
    stream = b"".join(parts)
    assert shape(cut(*split_at(stream, positions))) == shape(cut(stream))


@given(
    st.lists(st.recursive(st.none() | st.text(), st.lists, max_leaves=5)),
    st.sampled_from(["newline", "content-length"]),
)
def test_what_is_joined_is_cut_again(values: list[object], framing: Framing):
    frames = [json.dumps({"value": value}, ensure_ascii=False).encode() for value in values]
    assert cut(join_frames(frames, framing)) == frames if frames else True


@pytest.mark.parametrize("start", [b"  ", b"noise\n \t", b"noise\n\r\n  con", b" Content-Le"])
def test_a_beginning_that_is_cut_anywhere_is_still_recognised(start: bytes):
    cutter = FrameParser()
    cutter.feed(start)
    cutter.feed(b"ngth: 2\r\n\r\n{}" if start.endswith(b"Le") else b"\n{}\n" if start.endswith(b"con") else b"{}\n")
    assert cutter.framing == ("content-length" if start.endswith(b"Le") else "newline")
