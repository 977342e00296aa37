"""Encoding and decoding one `tool_call_update`, from a typed object to the frame's bytes and back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter

from benchmarks.programs.payloads import TOOL_CALL_FRAME

__all__ = ["measure_wire"]


def measure_wire(encode: Callable[[], bytes], decode: Callable[[bytes], object]) -> None:
    """Print the seconds per call of both. The encoded frame must equal that of the other contenders."""
    count = int(sys.argv[1])
    frame = encode()
    if json.loads(frame) != TOOL_CALL_FRAME:
        raise RuntimeError(f"encoded something else: {frame!r}")
    print(json.dumps({"encode": _per_call(count, encode), "decode": _per_call(count, lambda: decode(frame))}))


def _per_call(count: int, call: Callable[[], object]) -> float:
    laps: list[float] = []
    for _ in range(5):
        started = perf_counter()
        for _ in range(count):
            call()
        laps.append((perf_counter() - started) / count)
    return median(laps)
