"""Memory of a process whose peer misbehaves: stops reading, takes no updates, or never ends a line."""

from __future__ import annotations

from benchmarks.child_processes import ContenderFailed, RawAgent, peak_when_quiet, start
from benchmarks.contenders import ACCORD, OFFICIAL, Contender
from benchmarks.experiments.experiment import FRAME_CAP, MEBIBYTE, Experiment, Readings, Scale
from benchmarks.processes import forget_peak, resident_memory

__all__ = ["EXPERIMENTS"]

_FLOOD_SIZE = 1 << 16


def _frame_cap(contender: Contender) -> list[str]:
    return [f"--frame-cap={FRAME_CAP}"] if contender == ACCORD else []


def _unread(contender: Contender, scale: Scale) -> Readings:
    """The agent floods a client that has stopped reading its pipe."""
    with start(f"{contender.program}_agent", *_frame_cap(contender)) as program:
        agent = RawAgent(program)
        session_id = _warm_up(agent)
        resident = _start_watch(agent.pid)
        agent.send("session/prompt", **agent.order_updates(session_id, scale.flood // _FLOOD_SIZE, _FLOOD_SIZE))
        return _growth(agent.pid, resident)


def _untaken(contender: Contender, scale: Scale) -> Readings:
    """A bare agent floods a client whose own code has stopped taking updates."""
    flood = [f"--count={scale.flood // _FLOOD_SIZE}", f"--size={_FLOOD_SIZE}", "--agent=bare_agent"]
    with start(f"{contender.program}_client", "stalled", *flood, *_frame_cap(contender)) as program:
        if program.first_line() != b"ready\n":
            raise ContenderFailed(program.last_error())
        return _growth(program.pid, _start_watch(program.pid))


def _endless_line(contender: Contender, scale: Scale) -> Readings:
    """The client sends a line that never ends."""
    with start(f"{contender.program}_agent", *_frame_cap(contender)) as program:
        agent = RawAgent(program)
        _warm_up(agent)
        resident = _start_watch(agent.pid)
        agent.pour(scale.flood)
        return _growth(agent.pid, resident)


def _warm_up(agent: RawAgent) -> str:
    agent.initialize()
    session_id = agent.new_session()
    agent.request("session/prompt", **agent.order_updates(session_id, 10, 64))
    return session_id


def _start_watch(pid: int) -> int:
    forget_peak(pid)
    return resident_memory(pid)


def _growth(pid: int, resident: int) -> Readings:
    return {"growth": (peak_when_quiet(pid) - resident) / MEBIBYTE}


EXPERIMENTS = {
    "unread": Experiment((ACCORD, OFFICIAL), _unread),
    "untaken": Experiment((ACCORD, OFFICIAL), _untaken),
    "endless-line": Experiment((ACCORD, OFFICIAL), _endless_line),
}
