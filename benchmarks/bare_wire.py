"""msgspec alone: the whole frame is one typed struct."""

from __future__ import annotations

import msgspec

from benchmarks.floor_types import Update
from benchmarks.payloads import TOOL_CALL_FRAME
from benchmarks.wire import measure_wire

NOTIFICATION = msgspec.convert(TOOL_CALL_FRAME, Update)
ENCODER = msgspec.json.Encoder()
DECODER = msgspec.json.Decoder(Update)


def encode() -> bytes:
    return ENCODER.encode(NOTIFICATION)


if __name__ == "__main__":
    measure_wire(encode, DECODER.decode)
