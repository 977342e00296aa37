"""The table's rows: which reading of which experiment, and what accord has to reach."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.experiments import FRAME_CAP, MEBIBYTE

__all__ = ["CASES", "KNOWN_SIZES", "Case", "Target"]


@dataclass(frozen=True)
class Target:
    """How far accord's number may be from another's, or from a size that is known without measuring."""

    factor: float
    of: str
    at_least: bool = False

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        fraction = 1 / self.factor
        is_named = self.factor < 1 and abs(fraction - round(fraction)) < 1e-9
        factor = f"1/{fraction:.0f}" if is_named else f"{self.factor:g} ×"  # noqa: RUF001  # for people, not for parsers
        return f"{sign} {factor} {self.of}"

    def is_met(self, ratio: float) -> bool:
        return ratio >= self.factor if self.at_least else ratio <= self.factor


@dataclass(frozen=True)
class Case:
    name: str
    title: str
    unit: str
    experiment: str
    reading: str
    target: Target
    floor: str | None = "bare"


FRAME_CAP_NAME = f"the frame cap of {FRAME_CAP // MEBIBYTE} MiB"
_BOUNDED = Target(1.1, FRAME_CAP_NAME)
_MILLISECOND = "a millisecond"
_MICROSECOND = "a microsecond"
_CPU = "per cent of a CPU"
KNOWN_SIZES = {FRAME_CAP_NAME: FRAME_CAP / MEBIBYTE, _MILLISECOND: 1.0, _MICROSECOND: 1.0, _CPU: 1.0}
"""In the unit of the rows that are held against them."""
_SMOOTH = Target(100, _MILLISECOND)

CASES = [
    Case("updates", "50,000 updates in one turn", "/s", "updates", "rate", Target(6, "official", at_least=True)),
    Case("cpu", "CPU per update, both sides", "µs", "updates", "cpu", Target(2, "streams"), "streams"),
    Case(
        "sdk-updates",
        "50,000 updates from Turn to Reply, a tenth of tool calls",
        "/s",
        "mixed-updates",
        "rate",
        Target(6, "official", at_least=True),
        "streams",
    ),
    Case(
        "sdk-updates-floor",
        "the same, against asyncio's streams",
        "/s",
        "mixed-updates",
        "rate",
        Target(0.6, "streams", at_least=True),
        "streams",
    ),
    Case(
        "load",
        "load of a stored session of 100,000 updates",
        "ms",
        "load",
        "time",
        Target(1 / 5, "streamed"),
        None,
    ),
    Case("sessions", "CPU per opened session, both sides", "ms", "sessions", "cpu", Target(1, _MILLISECOND), None),
    Case("round-trips", "round trip, one CPU, p50", "µs", "round-trips", "p50", Target(1 / 2, "official")),
    Case(
        "round-trips-uvloop",
        "round trip, one CPU, p50, with uvloop",
        "µs",
        "round-trips-uvloop",
        "p50",
        Target(1 / 3, "official"),
    ),
    Case("in-flight", "1,000 requests in flight", "ms", "in-flight", "time", Target(1 / 4, "official")),
    Case("message-time", "one 50 MiB text message, time", "s", "message", "time", Target(1.3, "bare")),
    Case("message-memory", "one 50 MiB text message, peak memory", "MiB", "message", "memory", Target(1.6, "bare")),
    Case("import", "import, over bare Python", "ms", "import", "time", Target(1 / 6, "official"), "msgspec"),
    Case("start", "start of an agent to its initialize answer", "ms", "start", "time", Target(1 / 4, "official")),
    Case(
        "coder-start",
        "start of `accord agent` to its initialize answer",
        "ms",
        "coder-start",
        "time",
        Target(3.5, "import msgspec"),
        None,
    ),
    Case(
        "coder-tokens",
        "CPU per token that the coding agent adds",
        "µs",
        "coder-tokens",
        "cpu",
        Target(50, _MICROSECOND),
        None,
    ),
    Case(
        "screen-frame",
        "longest frame while 10,000 chunks and 1,000 tool calls stream in",
        "ms",
        "screen-stream",
        "frame",
        _SMOOTH,
        None,
    ),
    Case("screen-key", "the same, longest from a key to its letter", "ms", "screen-stream", "key", _SMOOTH, None),
    Case(
        "screen-long",
        "longest frame in a session of 20,000 lines",
        "ms",
        "screen-long",
        "frame",
        _SMOOTH,
        None,
    ),
    Case(
        "screen-start",
        "start of `accord` to its first screen",
        "ms",
        "screen-start",
        "time",
        Target(2.5, "import textual.app"),
        None,
    ),
    Case("screen-idle", "CPU of the idle screen", "%", "screen-idle", "share", Target(1 / 2, _CPU), None),
    Case("encode", "encode one tool_call_update", "µs", "wire", "encode", Target(1 / 5, "official")),
    Case("decode", "decode one tool_call_update", "µs", "wire", "decode", Target(1 / 5, "official")),
    Case("memory-unread", "memory while a client stops reading", "MiB over base", "unread", "growth", _BOUNDED, None),
    Case(
        "memory-untaken",
        "memory while a client's code takes no updates",
        "MiB over base",
        "untaken",
        "growth",
        _BOUNDED,
        None,
    ),
    Case(
        "memory-endless-line",
        "memory while a peer never sends a newline",
        "MiB over base",
        "endless-line",
        "growth",
        _BOUNDED,
        None,
    ),
]
