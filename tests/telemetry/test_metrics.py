"""The metrics are in the format of Prometheus, complete, and of one server only."""

from __future__ import annotations

import time

import pytest

from accord.telemetry.metrics import Metrics
from accord.telemetry.traffic import Traffic
from tests.telemetry.conftest import Conversation

parser = pytest.importorskip("prometheus_client.parser")


def samples(metrics: Metrics) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    text, content_type = metrics.text("")
    assert content_type.startswith("text/plain")
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for family in parser.text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


@pytest.fixture
def metrics(traffic: Traffic) -> Metrics:
    return Metrics(traffic, traffic.snapshot)


def test_everything_that_is_counted_is_told(metrics: Metrics, traffic: Traffic, conversation: Conversation):
    conversation.new_session("s")
    conversation.answer(conversation.ask("session/prompt", sessionId="s"), stopReason="end_turn")
    conversation.ask("session/prompt", sessionId="s")
    traffic.refused(401)
    found = samples(metrics)
    assert found["accord_connections"] == {(): 1}
    assert found["accord_sessions"][("state", "running"),] == 1
    assert found["accord_sessions"][("state", "idle"),] == 0
    requests = found["accord_requests_total"]
    assert requests[("method", "session/prompt"), ("outcome", "ok"), ("sender", "client")] == 1
    assert found["accord_received_bytes_total"] == {(): traffic.bytes_in}
    assert found["accord_sent_messages_total"] == {(): 2}
    assert found["accord_refusals_total"] == {(("reason", "no_valid_token"),): 1}
    assert found["accord_turn_duration_seconds_count"] == {(("stop_reason", "end_turn"),): 1}
    assert found["accord_start_time_seconds"][()] <= time.time()


def test_the_classes_of_turns_add_up(metrics: Metrics, traffic: Traffic):
    for seconds in (0.05, 0.5, 7.0, 100_000.0):
        traffic.turn_ended(None, "end_turn", seconds)
    buckets = {
        dict(labels)["le"]: value for labels, value in samples(metrics)["accord_turn_duration_seconds_bucket"].items()
    }
    assert (buckets["0.1"], buckets["0.5"], buckets["10.0"], buckets["3600.0"], buckets["+Inf"]) == (1, 2, 3, 3, 4)


def test_a_reader_that_asks_for_openmetrics_gets_it(metrics: Metrics):
    text, content_type = metrics.text("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert text.endswith(b"# EOF\n")


def test_each_server_has_metrics_of_its_own(metrics: Metrics, conversation: Conversation):
    other = Traffic()
    assert samples(Metrics(other, other.snapshot))["accord_connections"] == {(): 0}
    assert samples(metrics)["accord_connections"] == {(): 1}
