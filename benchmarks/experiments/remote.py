"""Processes that speak the protocol over the network of one machine: updates, round trips, and many idle connections."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.child_processes import run_program
from benchmarks.contenders import ACCORD, OFFICIAL, SDK, TYPESCRIPT, Contender
from benchmarks.cpus import Cpus
from benchmarks.experiments.experiment import MEBIBYTE, Experiment, Readings, Scale
from benchmarks.experiments.protocol import run_client

__all__ = ["EXPERIMENTS"]

ON_UVLOOP = Contender("accord", uvloop=True)


def _updates(contender: Contender, scale: Scale) -> Readings:
    seconds = run_client(contender, "mixed-turn", scale.remote_updates)["seconds"]
    return {"rate": scale.remote_updates / seconds}


def _round_trips(contender: Contender, scale: Scale) -> Readings:
    return {"p50": run_client(contender, "round-trips", scale.round_trips)["median"] * 1e6}


def _idle(contender: Contender, scale: Scale) -> Readings:
    readings = run_program(
        "idle_connections", "idle", f"--count={scale.connections}", f"--transport={contender.transport}"
    )
    return {"memory": readings["bytes"] / MEBIBYTE}


def _over(transport: str, *contenders: Contender) -> tuple[Contender, ...]:
    return tuple(replace(contender, transport=transport) for contender in contenders)


EXPERIMENTS: dict[str, Experiment] = {}
for _transport in ("http", "websocket"):
    EXPERIMENTS[f"{_transport}-updates"] = Experiment(_over(_transport, SDK, OFFICIAL, TYPESCRIPT), _updates)
    EXPERIMENTS[f"{_transport}-round-trips"] = Experiment(
        _over(_transport, ACCORD, OFFICIAL, TYPESCRIPT, ON_UVLOOP), _round_trips, Cpus.ONE
    )
    EXPERIMENTS[f"{_transport}-idle"] = Experiment(_over(_transport, SDK), _idle, most_rounds=1)
