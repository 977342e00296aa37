"""Two processes that speak the protocol over pipes: updates, round trips, requests in flight, loads and sessions."""

from __future__ import annotations

from benchmarks.child_processes import run_program
from benchmarks.contenders import (
    ACCORD,
    BARE,
    OFFICIAL,
    PROTOCOL,
    PROTOCOL_UVLOOP,
    SDK,
    STREAMS,
    TYPESCRIPT,
    Contender,
)
from benchmarks.cpus import Cpus
from benchmarks.experiments.experiment import MEBIBYTE, Experiment, Readings, Scale
from benchmarks.experiments.stored_sessions import load_seconds, stored_turn_seconds

__all__ = ["EXPERIMENTS", "run_client"]

STREAMED = Contender("sdk", label="streamed")


def run_client(contender: Contender, task: str, count: int, *arguments: str) -> Readings:
    uvloop = ["--uvloop"] if contender.uvloop else []
    transport = [f"--transport={contender.transport}"] if contender.transport else []
    return run_program(f"{contender.program}_client", task, f"--count={count}", *arguments, *uvloop, *transport)


def _updates(contender: Contender, scale: Scale) -> Readings:
    return _streaming(run_client(contender, "turn", scale.updates), scale)


def _mixed_updates(contender: Contender, scale: Scale) -> Readings:
    return _streaming(run_client(contender, "mixed-turn", scale.updates), scale)


def _streaming(readings: Readings, scale: Scale) -> Readings:
    return {
        "rate": scale.updates / readings["seconds"],
        "cpu": readings["cpu_seconds"] / scale.updates * 1e6,
    }


def _load(contender: Contender, scale: Scale) -> Readings:
    measured = stored_turn_seconds if contender is STREAMED else load_seconds
    return {"time": measured(scale.stored) * 1e3}


def _sessions(contender: Contender, scale: Scale) -> Readings:
    return {"cpu": run_client(contender, "sessions", scale.sessions)["cpu_seconds"] * 1e3}


def _round_trips(contender: Contender, scale: Scale) -> Readings:
    return {"p50": run_client(contender, "round-trips", scale.round_trips)["median"] * 1e6}


def _in_flight(contender: Contender, scale: Scale) -> Readings:
    return {"time": run_client(contender, "in-flight", scale.in_flight)["median"] * 1e3}


def _message(contender: Contender, scale: Scale) -> Readings:
    readings = run_client(contender, "turn", 1, f"--size={scale.message}")
    return {"time": readings["seconds"], "memory": readings["peak_bytes"] / MEBIBYTE}


def _wire(contender: Contender, scale: Scale) -> Readings:
    readings = run_program(f"{contender.program}_wire", str(scale.wire))
    return {"encode": readings["encode"] * 1e6, "decode": readings["decode"] * 1e6}


_ON_UVLOOP = Contender("accord", uvloop=True), Contender("official", uvloop=True)

EXPERIMENTS = {
    "updates": Experiment((ACCORD, OFFICIAL, TYPESCRIPT, BARE, STREAMS), _updates),
    "mixed-updates": Experiment((SDK, OFFICIAL, TYPESCRIPT, STREAMS), _mixed_updates),
    "load": Experiment((SDK, STREAMED), _load),
    "sessions": Experiment((SDK, OFFICIAL), _sessions),
    "round-trips": Experiment((ACCORD, OFFICIAL, TYPESCRIPT, BARE, STREAMS, PROTOCOL), _round_trips, Cpus.ONE),
    "round-trips-uvloop": Experiment(
        (_ON_UVLOOP[0], OFFICIAL, TYPESCRIPT, BARE, PROTOCOL_UVLOOP, _ON_UVLOOP[1]), _round_trips, Cpus.ONE
    ),
    "round-trips-unpinned": Experiment(
        (ACCORD, OFFICIAL, TYPESCRIPT, BARE, PROTOCOL, PROTOCOL_UVLOOP, _ON_UVLOOP[0]), _round_trips, Cpus.ALL
    ),
    "in-flight": Experiment((ACCORD, OFFICIAL, TYPESCRIPT, BARE, PROTOCOL, PROTOCOL_UVLOOP, _ON_UVLOOP[0]), _in_flight),
    "message": Experiment((ACCORD, OFFICIAL, BARE), _message),
    "wire": Experiment((ACCORD, OFFICIAL, BARE), _wire, Cpus.ONE),
}
