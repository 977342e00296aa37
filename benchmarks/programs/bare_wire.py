"""msgspec alone: the whole frame is one typed struct."""

from __future__ import annotations

import msgspec

from benchmarks.programs.floor_types import Update
from benchmarks.programs.payloads import TOOL_CALL_FRAME
from benchmarks.programs.wire import measure_wire

NOTIFICATION = msgspec.convert(TOOL_CALL_FRAME, Update)
ENCODER = msgspec.json.Encoder()
DECODER = msgspec.json.Decoder(Update)


def encode() -> bytes:
    return ENCODER.encode(NOTIFICATION)


if __name__ == "__main__":
    measure_wire(encode, DECODER.decode)
