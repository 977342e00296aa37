"""How each thing is measured: one run of one contender, which gives named readings."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from benchmarks.processes import cpu_seconds, forget_peak, resident_memory
from benchmarks.started import (
    ContenderFailed,
    RawAgent,
    peak_when_quiet,
    run_program,
    start,
    start_python,
    time_command,
)
from benchmarks.talker import LAST_WORD
from benchmarks.terminal import at_terminal

__all__ = ["EXPERIMENTS", "FRAME_CAP", "FULL", "QUICK", "Contender", "Experiment", "Scale"]

MEBIBYTE = 1 << 20
FRAME_CAP = 8 * MEBIBYTE
"""What accord's frame cap is set to where memory is measured; its default only takes longer to fill."""

_FLOOD_SIZE = 1 << 16
_AFTERWORK = 5.0
"""In so many seconds after a short turn the screen has measured what is out of sight."""


@dataclass(frozen=True)
class Scale:
    """How much of everything one run does."""

    rounds: int
    updates: int
    round_trips: int
    in_flight: int
    message: int
    flood: int
    wire: int
    starts: int
    stored: int
    sessions: int
    chunks: int
    calls: int
    lines: int
    idle_seconds: float


FULL = Scale(5, 50_000, 2_000, 1_000, 50 * MEBIBYTE, 128 * MEBIBYTE, 5_000, 3, 100_000, 300, 10_000, 1_000, 20_000, 5.0)
QUICK = Scale(1, 2_000, 200, 100, 5 * MEBIBYTE, 32 * MEBIBYTE, 500, 1, 2_000, 20, 100, 10, 200, 0.5)


@dataclass(frozen=True)
class Contender:
    """Who is measured, and on which loop where that is not its own choice."""

    program: str
    uvloop: bool = False
    shown: str | None = None

    @property
    def name(self) -> str:
        if self.shown is not None:
            return self.shown
        return f"{self.program} on uvloop" if self.uvloop else self.program


Readings = dict[str, float]


@dataclass(frozen=True)
class Experiment:
    contenders: tuple[Contender, ...]
    run: Callable[[Contender, Scale], Readings]


ACCORD, OFFICIAL, BARE, STREAMS = map(Contender, ("accord", "official", "bare", "streams"))
SDK = Contender("sdk", shown="accord")
"""accord as its users write it, where `ACCORD` is its core."""
STREAMED = Contender("sdk", shown="streamed")
CODER = Contender("coder", shown="accord")
SCREEN = Contender("screen", shown="accord")


def _client(contender: Contender, work: str, count: int, *arguments: str) -> Readings:
    uvloop = ["--uvloop"] if contender.uvloop else []
    return run_program(f"{contender.program}_client", work, f"--count={count}", *arguments, *uvloop)


def _updates(contender: Contender, scale: Scale) -> Readings:
    readings = _client(contender, "turn", scale.updates)
    return {
        "rate": scale.updates / readings["seconds"],
        "cpu": readings["cpu_seconds"] / scale.updates * 1e6,
    }


def _mixed_updates(contender: Contender, scale: Scale) -> Readings:
    return {"rate": scale.updates / _client(contender, "mixed-turn", scale.updates)["seconds"]}


def _load(contender: Contender, scale: Scale) -> Readings:
    work = "stored-turn" if contender is STREAMED else "load"
    return {"time": _client(contender, work, scale.stored)["seconds"] * 1e3}


def _sessions(contender: Contender, scale: Scale) -> Readings:
    return {"cpu": _client(contender, "sessions", scale.sessions)["cpu_seconds"] * 1e3}


def _round_trips(contender: Contender, scale: Scale) -> Readings:
    return {"p50": _client(contender, "round-trips", scale.round_trips, "--pin")["seconds"] * 1e6}


def _in_flight(contender: Contender, scale: Scale) -> Readings:
    return {"time": _client(contender, "in-flight", scale.in_flight)["seconds"] * 1e3}


def _message(contender: Contender, scale: Scale) -> Readings:
    readings = _client(contender, "turn", 1, f"--size={scale.message}")
    return {"time": readings["seconds"], "memory": readings["peak_bytes"] / MEBIBYTE}


def _wire(contender: Contender, scale: Scale) -> Readings:
    readings = run_program(f"{contender.program}_wire", str(scale.wire))
    return {"encode": readings["encode"] * 1e6, "decode": readings["decode"] * 1e6}


# `import accord` is lazy; what an agent really loads is shown beside it, and judged by the start of an agent.
_MODULES = {"official": "acp", "accord, a v1 agent's part": "accord.peer, accord.transports.stdio, accord.dialects.v1"}


def _import(contender: Contender, scale: Scale) -> Readings:
    module = _MODULES.get(contender.program, contender.program)
    laps = [time_command("-c", f"import {module}") - time_command("-c", "pass") for _ in range(scale.starts)]
    return {"time": median(laps) * 1e3}


def _start(contender: Contender, scale: Scale) -> Readings:
    laps: list[float] = []
    for _ in range(scale.starts):
        started = time.perf_counter()
        with start(f"{contender.program}_agent") as program:
            RawAgent(program).initialize()
            laps.append(time.perf_counter() - started)
    return {"time": median(laps) * 1e3}


def _coder_start(contender: Contender, scale: Scale) -> Readings:
    laps: list[float] = []
    for _ in range(scale.starts * 3):
        if contender is not CODER:
            laps.append(time_command("-c", "import msgspec"))
            continue
        started = time.perf_counter()
        with start_python("-m", "accord", "agent") as program:
            RawAgent(program).initialize()
            laps.append(time.perf_counter() - started)
    return {"time": median(laps) * 1e3}


def _coder_tokens(contender: Contender, scale: Scale) -> Readings:
    return {"cpu": run_program("coder_tokens", str(scale.updates))["seconds"] * 1e6}


def _screen_stream(contender: Contender, scale: Scale) -> Readings:
    return _in_milliseconds(run_program("screen", "stream", str(scale.chunks), str(scale.calls)))


def _screen_long(contender: Contender, scale: Scale) -> Readings:
    return _in_milliseconds(run_program("screen", "long", str(scale.lines)))


def _in_milliseconds(seconds: Readings) -> Readings:
    return {name: value * 1e3 for name, value in seconds.items()}


def _screen_start(contender: Contender, scale: Scale) -> Readings:
    laps: list[float] = []
    for _ in range(scale.starts):
        if contender is not SCREEN:
            laps.append(time_command("-c", "import textual.app"))
            continue
        started = time.perf_counter()
        with at_terminal("-m", "accord") as terminal:
            terminal.wait_for("F1")  # at the end of the last line
            laps.append(time.perf_counter() - started)
    return {"time": median(laps) * 1e3}


def _screen_idle(contender: Contender, scale: Scale) -> Readings:
    """After a turn, when all that it left to do is done."""
    with at_terminal("-m", "accord", "--", sys.executable, "-m", "benchmarks.talker") as terminal:
        terminal.wait_for("ready")
        terminal.type("stream 500 50")
        terminal.watch(0.2)  # together with what comes before it, Enter would be part of a paste
        terminal.type("\r")
        terminal.wait_for(LAST_WORD)
        terminal.watch(_AFTERWORK)
        before = cpu_seconds(terminal.pid)
        terminal.watch(scale.idle_seconds)
        return {"share": (cpu_seconds(terminal.pid) - before) / scale.idle_seconds * 100}


def _frame_cap(contender: Contender) -> list[str]:
    return [f"--frame-cap={FRAME_CAP}"] if contender == ACCORD else []


def _unread(contender: Contender, scale: Scale) -> Readings:
    """The agent floods a client that has stopped reading its pipe."""
    with start(f"{contender.program}_agent", *_frame_cap(contender)) as program:
        agent = RawAgent(program)
        session_id = _warm_up(agent)
        resident = _mark(agent.pid)
        agent.send("session/prompt", **agent.order_updates(session_id, scale.flood // _FLOOD_SIZE, _FLOOD_SIZE))
        return _growth(agent.pid, resident)


def _untaken(contender: Contender, scale: Scale) -> Readings:
    """A bare agent floods a client whose own code has stopped taking updates."""
    flood = [f"--count={scale.flood // _FLOOD_SIZE}", f"--size={_FLOOD_SIZE}", "--agent=bare_agent"]
    with start(f"{contender.program}_client", "stalled", *flood, *_frame_cap(contender)) as program:
        if program.first_line() != b"ready\n":
            raise ContenderFailed(program.last_words())
        return _growth(program.pid, _mark(program.pid))


def _endless_line(contender: Contender, scale: Scale) -> Readings:
    """The client sends a line that never ends."""
    with start(f"{contender.program}_agent", *_frame_cap(contender)) as program:
        agent = RawAgent(program)
        _warm_up(agent)
        resident = _mark(agent.pid)
        agent.pour(scale.flood)
        return _growth(agent.pid, resident)


def _warm_up(agent: RawAgent) -> str:
    agent.initialize()
    session_id = agent.new_session()
    agent.ask("session/prompt", **agent.order_updates(session_id, 10, 64))
    return session_id


def _mark(pid: int) -> int:
    forget_peak(pid)
    return resident_memory(pid)


def _growth(pid: int, resident: int) -> Readings:
    return {"growth": (peak_when_quiet(pid) - resident) / MEBIBYTE}


EXPERIMENTS = {
    "updates": Experiment((ACCORD, OFFICIAL, BARE, STREAMS), _updates),
    "mixed-updates": Experiment((SDK, OFFICIAL, STREAMS), _mixed_updates),
    "load": Experiment((SDK, STREAMED), _load),
    "sessions": Experiment((SDK, OFFICIAL), _sessions),
    "round-trips": Experiment((ACCORD, OFFICIAL, BARE, STREAMS), _round_trips),
    "round-trips-uvloop": Experiment(
        (
            Contender("accord", uvloop=True),
            OFFICIAL,
            BARE,
            Contender("protocol", uvloop=True),
            Contender("official", uvloop=True),
        ),
        _round_trips,
    ),
    "in-flight": Experiment((ACCORD, OFFICIAL, BARE), _in_flight),
    "message": Experiment((ACCORD, OFFICIAL, BARE), _message),
    "import": Experiment(
        (ACCORD, OFFICIAL, Contender("msgspec"), Contender("asyncio"), Contender("accord, a v1 agent's part")), _import
    ),
    "start": Experiment((ACCORD, OFFICIAL, BARE, STREAMS), _start),
    "coder-start": Experiment((CODER, Contender("import msgspec")), _coder_start),
    "coder-tokens": Experiment((CODER,), _coder_tokens),
    "screen-stream": Experiment((SCREEN,), _screen_stream),
    "screen-long": Experiment((SCREEN,), _screen_long),
    "screen-start": Experiment((SCREEN, Contender("import textual.app")), _screen_start),
    "screen-idle": Experiment((SCREEN,), _screen_idle),
    "wire": Experiment((ACCORD, OFFICIAL, BARE), _wire),
    "unread": Experiment((ACCORD, OFFICIAL), _unread),
    "untaken": Experiment((ACCORD, OFFICIAL), _untaken),
    "endless-line": Experiment((ACCORD, OFFICIAL), _endless_line),
}
