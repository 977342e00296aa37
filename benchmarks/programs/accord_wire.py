"""accord's codec and readers on one frame."""

from __future__ import annotations

import msgspec

from accord.jsonrpc import codec
from accord.jsonrpc.messages import Notification
from accord.schema.reader import Reader
from accord.schema.v1.updates import SessionNotification
from benchmarks.programs.payloads import TOOL_CALL_FRAME
from benchmarks.programs.wire import measure_wire

READER = Reader(SessionNotification)
NOTIFICATION = msgspec.convert(TOOL_CALL_FRAME["params"], SessionNotification)


def encode() -> bytes:
    return codec.encode(Notification("session/update", NOTIFICATION))


def decode(frame: bytes) -> SessionNotification:
    message = codec.decode(frame)
    assert isinstance(message, Notification)
    return READER.decode(message.params)


if __name__ == "__main__":
    measure_wire(encode, decode)
