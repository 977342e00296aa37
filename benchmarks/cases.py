"""The rows of the table: a reading of an experiment, what accord must reach, and what it aims at."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.experiments.experiment import FRAME_CAP, MEBIBYTE
from benchmarks.experiments.growth import JOURNALS, PROMPTS, SESSIONS, UPDATES

__all__ = ["CASES", "KNOWN_SIZES", "Case", "Target"]


@dataclass(frozen=True)
class Target:
    """A limit for the ratio of accord's figure to another contender's, or to a known size."""

    factor: float
    of: str
    at_least: bool = False

    def __str__(self) -> str:
        if self.is_ahead:
            return f"ahead of {self.of}"
        sign = "≥" if self.at_least else "≤"
        fraction = 1 / self.factor
        is_fraction = self.factor < 1 and abs(fraction - round(fraction)) < 1e-9
        factor = f"1/{fraction:.0f}" if is_fraction else f"{self.factor:g}"
        return f"{sign} {factor} × {self.of}"  # noqa: RUF001  # for people, not for parsers

    @property
    def is_ahead(self) -> bool:
        return self.factor == 1 and self.of not in KNOWN_SIZES

    def is_met(self, ratio: float) -> bool:
        if self.is_ahead and ratio == 1:
            return False
        return ratio >= self.factor if self.at_least else ratio <= self.factor


@dataclass(frozen=True)
class Case:
    """`own` is the contender whose figure is accord's."""

    name: str
    title: str
    unit: str
    experiment: str
    reading: str
    must: tuple[Target, ...]
    aim: tuple[Target, ...] = ()
    own: str = "accord"

    @property
    def is_rate(self) -> bool:
        """Whether more is better."""
        return self.unit == "/s"


def _growth(name: str, title: str, unit: str, reading: str, counts: tuple[int, ...]) -> Case:
    """The cost per unit at the largest of the sizes, compared with that at each smaller one."""
    largest, *smaller = (f"{count:,}" for count in counts)
    must = tuple(Target(1.3, size) for size in smaller)
    return Case(name, f"{title}, at {largest}", unit, name.removesuffix("-memory"), reading, must, own=largest)


def _remote(transport: str, name: str) -> tuple[Case, ...]:
    """The rows of one transport; what they must reach is a multiple of the better of the two others."""
    others = ("official", "typescript")
    updates = Case(
        f"{transport}-updates",
        f"10,000 updates from Turn to Reply over {name}",
        "/s",
        f"{transport}-updates",
        "rate",
        tuple(Target(4, other, at_least=True) for other in others),
    )
    round_trips = Case(
        f"{transport}-round-trips",
        f"round trip over {name}, p50",
        "µs",
        f"{transport}-round-trips",
        "p50",
        tuple(Target(1 / 2, other) for other in others),
    )
    idle = Case(
        f"{transport}-idle",
        f"memory of a server with 1,000 idle connections over {name}",
        "MiB",
        f"{transport}-idle",
        "memory",
        (Target(1, _SERVER_MEMORY),),
    )
    return updates, round_trips, idle


_FRAME_CAP_NAME = f"the frame cap of {FRAME_CAP // MEBIBYTE} MiB"
_BOUNDED = (Target(1.1, _FRAME_CAP_NAME),)
_MILLISECOND = "a millisecond"
_MICROSECOND = "a microsecond"
_CPU = "per cent of a CPU"
_SERVER_MEMORY = "200 MB"
KNOWN_SIZES = {
    _FRAME_CAP_NAME: FRAME_CAP / MEBIBYTE,
    _SERVER_MEMORY: 200e6 / MEBIBYTE,
    _MILLISECOND: 1.0,
    _MICROSECOND: 1.0,
    _CPU: 1.0,
}
"""In the unit of the rows that are compared with them."""
_SMOOTH = (Target(100, _MILLISECOND),)
_UVLOOP_FLOOR = "protocol on uvloop"

CASES = [
    Case("updates", "50,000 updates in one turn", "/s", "updates", "rate", (Target(6, "official", at_least=True),)),
    Case(
        "cpu",
        "CPU per update from Turn to Reply, both sides",
        "µs",
        "mixed-updates",
        "cpu",
        (Target(1.5, "streams"),),
        (Target(1.2, "streams"),),
    ),
    Case(
        "sdk-updates",
        "50,000 updates from Turn to Reply, a tenth of tool calls",
        "/s",
        "mixed-updates",
        "rate",
        (
            Target(0.9, "streams", at_least=True),
            Target(4, "typescript", at_least=True),
            Target(6, "official", at_least=True),
        ),
        (Target(1.05, "streams", at_least=True),),
    ),
    Case(
        "load",
        "load of a stored session of 100,000 updates",
        "ms",
        "load",
        "time",
        (Target(1 / 6, "streamed"),),
        (Target(1 / 10, "streamed"),),
    ),
    Case("sessions", "CPU per opened session, both sides", "ms", "sessions", "cpu", (Target(1, _MILLISECOND),)),
    Case(
        "round-trips",
        "round trip, p50",
        "µs",
        "round-trips",
        "p50",
        (Target(1.15, "protocol"), Target(1 / 2, "official")),
        (Target(1.05, "protocol"),),
    ),
    Case(
        "round-trips-uvloop",
        "round trip, p50, with uvloop",
        "µs",
        "round-trips-uvloop",
        "p50",
        (Target(2.7, _UVLOOP_FLOOR), Target(1, "typescript"), Target(1 / 3, "official")),
        (Target(2, _UVLOOP_FLOOR),),
        own="accord on uvloop",
    ),
    Case(
        "round-trips-unpinned",
        "round trip, p50, on any CPU",
        "µs",
        "round-trips-unpinned",
        "p50",
        (Target(1 / 2, "official"),),
    ),
    Case(
        "in-flight",
        "1,000 requests in flight",
        "ms",
        "in-flight",
        "time",
        (Target(1 / 4, "official"), Target(1, "typescript")),
        (Target(1 / 6, "official"),),
    ),
    *_remote("http", "HTTP"),
    *_remote("websocket", "WebSocket"),
    Case(
        "message-time",
        "one 50 MiB text message, time",
        "s",
        "message",
        "time",
        (Target(1.2, "bare"),),
        (Target(1.1, "bare"),),
    ),
    Case("message-memory", "one 50 MiB text message, peak memory", "MiB", "message", "memory", (Target(1.6, "bare"),)),
    _growth("growth-updates", "CPU per update in one turn", "µs", "cpu", UPDATES),
    _growth("growth-sessions", "CPU per open session", "µs", "cpu", SESSIONS),
    _growth("growth-sessions-memory", "memory per open session", "KiB", "memory", SESSIONS),
    _growth("growth-prompts", "CPU per prompt in one session", "µs", "cpu", PROMPTS),
    _growth("growth-load", "load time per stored update", "µs", "time", JOURNALS),
    Case("import", "import, over bare Python", "ms", "import", "time", (Target(1 / 6, "official"),)),
    Case(
        "start",
        "start of an agent to its initialize response",
        "ms",
        "start",
        "time",
        (Target(1.35, "streams"), Target(1 / 4, "official")),
        (Target(1.2, "streams"),),
    ),
    Case(
        "coder-start",
        "start of `accord agent` to its initialize response",
        "ms",
        "coder-start",
        "time",
        (Target(2.6, "import msgspec"),),
        (Target(2.2, "import msgspec"),),
    ),
    Case(
        "coder-tokens",
        "CPU per token that the coding agent adds",
        "µs",
        "coder-tokens",
        "cpu",
        (Target(50, _MICROSECOND),),
    ),
    Case(
        "provider-start",
        "start of `accord agent` to an open session, with a provider's model",
        "ms",
        "provider-start",
        "time",
        (Target(1.1, "model offline"),),
    ),
    Case(
        "provider-stall",
        "longest wait for a response while the provider's library loads",
        "ms",
        "provider-stall",
        "wait",
        _SMOOTH,
    ),
    Case(
        "provider-prompt",
        "first prompt to the provider's server, after 3 s of typing",
        "ms",
        "provider-prompt",
        "time",
        (Target(2, "second prompt"),),
    ),
    Case(
        "screen-frame",
        "longest frame while 10,000 chunks and 1,000 tool calls stream in",
        "ms",
        "screen-stream",
        "frame",
        _SMOOTH,
    ),
    Case("screen-key", "the same, longest from a key to its letter", "ms", "screen-stream", "key", _SMOOTH),
    Case("screen-long", "longest frame in a session of 20,000 lines", "ms", "screen-long", "frame", _SMOOTH),
    Case(
        "screen-start",
        "start of `accord` to its first screen",
        "ms",
        "screen-start",
        "time",
        (Target(1.75, "import textual.app"),),
        (Target(1.5, "import textual.app"),),
    ),
    Case("screen-idle", "CPU of the idle screen", "%", "screen-idle", "share", (Target(1 / 2, _CPU),)),
    Case(
        "checkpoint",
        "checkpoint of 5,000 files, three of them changed, until the prompt is sent",
        "ms",
        "checkpoint",
        "changed",
        (Target(1.5, "git status"),),
        (Target(1.25, "git status"),),
    ),
    Case(
        "checkpoint-unchanged",
        "the same, without a change",
        "ms",
        "checkpoint",
        "unchanged",
        (Target(1.5, "git status"),),
        (Target(1.25, "git status"),),
    ),
    Case("encode", "encode one tool_call_update", "µs", "wire", "encode", (Target(1 / 5, "official"),)),
    Case("decode", "decode one tool_call_update", "µs", "wire", "decode", (Target(1 / 5, "official"),)),
    Case("memory-unread", "memory while a client stops reading", "MiB over base", "unread", "growth", _BOUNDED),
    Case(
        "memory-untaken",
        "memory while a client's code takes no updates",
        "MiB over base",
        "untaken",
        "growth",
        _BOUNDED,
    ),
    Case(
        "memory-endless-line",
        "memory while a peer never sends a newline",
        "MiB over base",
        "endless-line",
        "growth",
        _BOUNDED,
    ),
]
