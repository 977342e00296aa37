"""Broken bytes never raise, never get an answer that is not due, and always get the one that is."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from accord.jsonrpc.events import MessageRejected, RequestReceived
from accord.jsonrpc.pending_calls import PendingCalls

FRAMES = [
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"x","n":[1,2.5,null]}}}',
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}',
    b'{"jsonrpc":"2.0","id":"5f0e","method":"session/prompt","params":{"text":"\\ud83d\\ude00 \\"q\\" \\\\ \\n"}}',
    b'{"jsonrpc":"2.0","id":null,"method":"m"}',
    b'{"jsonrpc":"2.0","id":1.5,"method":"m","params":[1,2]}',
    b'{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}',
    b'{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"Log in","data":{"reason":"auth_required"}}}',
    b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}',
    b'[{"jsonrpc":"2.0","method":"m"},{"jsonrpc":"2.0","id":1,"method":"m","params":{}},{"foo":"boo"},1]',
    b'[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":""}}]',
    '{"jsonrpc":"2.0","id":7,"method":"grüße","params":{"é":"日本"}}'.encode(),
]
TOKENS = [
    *(bytes([letter]) for letter in b'{}[]",:\\0-.eE \n\r\t\x00\x7f\x80\xff'),
    b'"id":', b'"method":', b'"result":', b'"error":', b'"params":', b'"jsonrpc":', b'"2.0"', b"null", b"true", b"[]", b"{}",
    b"NaN", b"1e400", b"99999999999999999999", b"\\ud83d", b"\\ude00", b"\xef\xbb\xbf", b"\xed\xa0\xbd", b"\xf0\x9f\x98",
]  # fmt: skip


def mutated(random: Random) -> bytes:
    text = bytearray(random.choice(FRAMES))
    for _ in range(random.randint(1, 4)):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.randint(0, 12))
        match random.randrange(7):
            case 0:
                del text[start:end]
            case 1:
                text[start:start] = random.choice(TOKENS)
            case 2:
                text[start:end] = random.choice(TOKENS)
            case 3:
                text[start:start] = text[start:end]
            case 4:
                del text[start:]
            case 5:
                other = random.choice(FRAMES)
                text[start:] = other[random.randrange(len(other)) :]
            case _:
                if start < len(text):
                    text[start] ^= 1 << random.randrange(8)
    return bytes(text)


def answers_due(value: Any) -> int:
    """Counted from the text alone, by the rules of JSON-RPC: what is neither notification nor response gets one."""
    entries = value if isinstance(value, list) and value else [value]
    return sum(not (is_notification(entry) or is_response(entry)) for entry in entries)


def is_notification(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("method"), str) and "id" not in entry


def is_response(entry: Any) -> bool:
    return isinstance(entry, dict) and "method" not in entry and ("result" in entry or "error" in entry)


def answers_to(frame: bytes) -> list[Any]:
    calls = PendingCalls()
    events = calls.receive(frame)
    frames = [event.response for event in events if isinstance(event, MessageRejected)]
    requests = [event.request for event in events if isinstance(event, RequestReceived)]
    frames += [answer for request in requests if (answer := calls.respond(request, {})) is not None]
    assert calls.inbound == 0
    assert len(frames) <= 1
    return [json.loads(frame.decode("utf-8")) for frame in frames]


def refuse_constant(name: str) -> None:
    raise ValueError(name)


@pytest.mark.requirement("RPC-06", "RPC-21", "RPC-22", "RPC-55", "RPC-58", "RPC-61", "RPC-62", "RPC-64")
@pytest.mark.parametrize("seed", range(20))
def test_mutated_frames_get_exactly_the_answers_that_are_due(seed: int):
    random = Random(seed)
    for _ in range(400):
        frame = mutated(random)
        answers = answers_to(frame)
        try:
            value = json.loads(frame.decode("utf-8"), parse_constant=refuse_constant)
        except UnicodeDecodeError:
            continue  # what is not UTF-8 may be noticed here or by whoever reads the params
        except ValueError:
            (answer,) = answers
            assert (answer["id"], answer["error"]["code"]) == (None, -32700), frame
            continue
        flat = [entry for answer in answers for entry in (answer if isinstance(answer, list) else [answer])]
        assert len(flat) == answers_due(value), frame
        if answers and isinstance(value, list) and value:
            assert isinstance(answers[0], list), frame


@pytest.mark.parametrize("seed", range(5))
def test_random_bytes_never_raise(seed: int):
    random = Random(seed)
    for _ in range(400):
        answers_to(random.randbytes(random.randrange(40)))


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_cut_short_anywhere_is_one_parse_error(frame: bytes):
    for length in range(len(frame)):
        (answer,) = answers_to(frame[:length])
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)
