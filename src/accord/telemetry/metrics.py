"""The counts of a server in the format of Prometheus, with its official client library (the extra `metrics`).

Each server has a registry of its own. The values are read when somebody asks: counting costs nothing more than the numbers
that the status page shows. No label has a value that a client can make up.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from typing import Any

from accord.relay.status import process_memory
from accord.telemetry.traffic import TURN_SECONDS, Traffic

_STATES = ("running", "waiting", "idle", "asleep")


def has_client_library() -> bool:
    return find_spec("prometheus_client") is not None


class Metrics:
    """The metrics of one server. `facts` is its snapshot, in the shape of `StatusPage`."""

    def __init__(self, traffic: Traffic, facts: Callable[[], dict[str, Any]]) -> None:
        self._traffic = traffic
        self._facts = facts
        library: Any = import_module("prometheus_client")
        self._core: Any = import_module("prometheus_client.core")
        self._registry = library.CollectorRegistry()
        self._registry.register(self)
        self._expose = library.exposition.choose_encoder

    def text(self, accept: str) -> tuple[bytes, str]:
        """All metrics, and their content type: OpenMetrics if the reader accepts it."""
        encode, content_type = self._expose(accept)
        return encode(self._registry), content_type

    def describe(self) -> list[Any]:
        """Nothing, so that registering does not collect."""
        return []

    def collect(self) -> Iterable[Any]:
        """The families of metrics; the registry calls it."""
        traffic, facts = self._traffic, self._facts()
        yield self._gauge("connections", "Open connections.", len(facts["connections"]))
        yield self._counts("connections_opened", "Connections opened.", ["transport"], traffic.connected_total)
        yield self._sessions(facts)
        yield self._gauge("processes", "Processes of the agent.", len(facts.get("processes", ())))
        yield self._counter(
            "process_starts", "Processes of the agent that were started.", facts.get("process_starts", 0)
        )
        yield self._counts("requests", "Requests that ended.", ["sender", "method", "outcome"], traffic.requests)
        yield self._counter("received_bytes", "Bytes of messages from clients.", traffic.bytes_in)
        yield self._counter("sent_bytes", "Bytes of messages to clients.", traffic.bytes_out)
        yield self._counter("received_messages", "Messages from clients.", traffic.messages_in)
        yield self._counter("sent_messages", "Messages to clients.", traffic.messages_out)
        yield self._counts("refusals", "HTTP requests that were refused.", ["reason"], traffic.refusals)
        yield self._turns()
        yield self._gauge(
            "resident_memory_bytes", "Memory of the server, without its processes.", process_memory(os.getpid()) or 0
        )
        yield self._gauge("start_time_seconds", "When the server started, in seconds since 1970.", traffic.began)

    def _gauge(self, name: str, text: str, value: float) -> Any:
        return self._core.GaugeMetricFamily(f"accord_{name}", text, value)

    def _counter(self, name: str, text: str, value: float) -> Any:
        return self._core.CounterMetricFamily(f"accord_{name}", text, value)

    def _counts(self, name: str, text: str, labels: list[str], counts: Counter[Any]) -> Any:
        family = self._core.CounterMetricFamily(f"accord_{name}", text, labels=labels)
        for key, count in counts.items():
            family.add_metric([key] if isinstance(key, str) else list(key), count)
        return family

    def _sessions(self, facts: dict[str, Any]) -> Any:
        states = Counter(session["state"] for session in facts["sessions"])
        family = self._core.GaugeMetricFamily("accord_sessions", "Sessions, by what they do.", labels=["state"])
        for state in _STATES:
            family.add_metric([state], states[state])
        return family

    def _turns(self) -> Any:
        family = self._core.HistogramMetricFamily(
            "accord_turn_duration_seconds", "How long turns took, by why they ended.", labels=["stop_reason"]
        )
        bounds = [*(str(bound) for bound in TURN_SECONDS), "+Inf"]
        for reason, durations in self._traffic.turns.items():
            buckets = list(zip(bounds, accumulate(durations.counts), strict=True))
            family.add_metric([reason], buckets, durations.total)
        return family
