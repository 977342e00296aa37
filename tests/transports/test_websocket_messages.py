"""The bytes of WebSocket messages, against the package `websockets` where both know the answer."""

from __future__ import annotations

import random

import pytest
from websockets.exceptions import PayloadTooBig, ProtocolError
from websockets.frames import Frame, Opcode
from websockets.utils import apply_mask

from accord.transports.websocket_messages import BINARY, TEXT, MessageReader, write_messages

SIZES = [0, 1, 125, 126, 127, 65535, 65536, 200_000]


def frame(opcode: Opcode, data: bytes, *, fin: bool = True, mask: bool = False) -> bytes:
    return Frame(opcode, data, fin=fin).serialize(mask=mask)


def reader(limit: int | None = None) -> MessageReader:
    return MessageReader(limit, lambda _: None)


@pytest.mark.parametrize("size", SIZES)
def test_a_message_is_written_as_others_write_it(size: int):
    assert write_messages([b"x" * size]) == frame(Opcode.TEXT, b"x" * size)
    assert write_messages([b"x" * size], BINARY) == frame(Opcode.BINARY, b"x" * size)


def test_a_client_masks_every_message_with_another_key():
    data = write_messages([b"abcd"] * 20, TEXT, apply_mask)
    frames = [data[start : start + 10] for start in range(0, len(data), 10)]
    assert {each[:2] for each in frames} == {bytes((0x81, 0x84))}
    assert len({each[2:6] for each in frames}) > 10
    assert {apply_mask(each[6:], each[2:6]) for each in frames} == {b"abcd"}


@pytest.mark.parametrize("is_masked", [False, True], ids=["of-a-server", "of-a-client"])
@pytest.mark.parametrize("seed", range(20))
def test_messages_are_read_from_any_pieces(seed: int, is_masked: bool):
    chance = random.Random(seed)
    controls: list[bytes] = []
    messages = [
        (chance.choice([TEXT, BINARY]), chance.randbytes(chance.choice([0, 5, 125, 126, 300, 70_000])))
        for _ in range(12)
    ]
    ping, data = frame(Opcode.PING, b"p", mask=is_masked), b""
    for opcode, content in messages:
        middle = chance.randrange(len(content) + 1)
        if chance.random() < 0.4:
            data += frame(Opcode(opcode), content[:middle], fin=False, mask=is_masked) + ping
            data += frame(Opcode.CONT, content[middle:], mask=is_masked)
        else:
            data += write_messages([content], opcode, apply_mask if is_masked else None) + ping
    read = MessageReader(None, controls.append, apply_mask if is_masked else None)
    received: list[tuple[int, bytes]] = []
    while data:
        size = chance.choice([1, 2, 3, 100, 1000, 40_000])
        received += read.feed(data[:size])
        data = data[size:]
    assert received == messages
    assert controls == [ping] * 12


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (frame(Opcode.TEXT, b"x" * 101), PayloadTooBig),
        (frame(Opcode.TEXT, b"x" * 60, fin=False) + frame(Opcode.CONT, b"x" * 60), PayloadTooBig),
        (bytes((0x81, 127)) + (2**62).to_bytes(8, "big"), PayloadTooBig),
        (frame(Opcode.TEXT, b"x", mask=True), ProtocolError),
        (bytes((0xC1, 1)) + b"x", ProtocolError),
        (frame(Opcode.CONT, b"x"), ProtocolError),
        (frame(Opcode.TEXT, b"x", fin=False) + frame(Opcode.TEXT, b"x"), ProtocolError),
        (bytes((0x83, 1)) + b"x", ProtocolError),
    ],
    ids=["big", "big-parts", "huge", "masked", "extension", "no-beginning", "two-beginnings", "unknown"],
)
def test_what_is_not_allowed_is_refused(data: bytes, error: type[Exception]):
    with pytest.raises(error):
        reader(100).feed(data)
