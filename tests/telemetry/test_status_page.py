"""The status page, its data and its metrics: for this machine only, to look at only, and with everything as data."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from importlib.resources import files
from typing import Any

import pytest

from accord.relay.status import ProcessStatus, SessionStatus, Snapshot, Totals
from accord.telemetry import status_page
from accord.telemetry.status_page import StatusPage
from accord.telemetry.traffic import Traffic
from tests.asgi_driver import Driver
from tests.telemetry.conftest import Conversation


@pytest.fixture
def driver(traffic: Traffic) -> Driver:
    return Driver(StatusPage("accord serve", traffic))


async def facts(driver: Driver) -> dict[str, Any]:
    return json.loads((await driver.request("GET", {}, path="/status.json")).body)


async def test_the_data_tells_who_is_connected_and_what_runs(driver: Driver, traffic: Traffic):
    conversation = Conversation(traffic, user="ada")
    conversation.ask("initialize", clientInfo={"name": "<b>zed</b>", "version": "1"})
    conversation.new_session("s")
    conversation.ask("session/prompt", sessionId="s")
    found = await facts(driver)
    assert found["name"] == "accord serve"
    assert found["connections"][0]["client"] == "<b>zed</b> 1"
    assert found["connections"][0]["user"] == found["sessions"][0]["user"] == "ada"
    assert found["sessions"][0]["state"] == "running"
    assert "process_starts" not in found, "this server has no processes"
    if sys.platform == "linux":
        assert found["memory_bytes"] > 1_000_000


async def test_processes_and_sessions_that_sleep_are_told_too(traffic: Traffic):
    Conversation(traffic).new_session("awake")
    snapshot = Snapshot(
        connections=(),
        sessions=(
            SessionStatus(id="awake", user="ada", pid=7, state="running", since=0, clients=("00000001",)),
            SessionStatus(id="sleeper", user="bob", pid=None, state="asleep", since=0, clients=()),
        ),
        processes=(ProcessStatus(pid=7, memory=1000, sessions=("awake",), state="used", since=0),),
        totals=Totals(processes=3),
    )
    found = await facts(Driver(StatusPage("accord serve", traffic, lambda: snapshot)))
    assert [(session["id"], session["state"], session["pid"]) for session in found["sessions"]] == [
        ("awake", "idle", 7), ("sleeper", "asleep", None),
    ]  # fmt: skip
    assert found["processes"][0]["pid"] == 7
    assert found["process_starts"] == 3


async def test_the_page_is_whole_and_may_run_nothing_but_itself(driver: Driver):
    response = await driver.request("GET", {}, path="/")
    page = response.body
    assert response.status == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = response.headers["content-security-policy"]
    for tag in (b"script", b"style"):
        [content] = re.findall(rb"<%b>(.*?)</%b>" % (tag, tag), page, re.DOTALL)
        assert base64.b64encode(hashlib.sha256(content).digest()).decode() in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(
        rb"""(?:src|href)\s*=|url\(|@import|(?<!//www\.w3\.org)https?://(?!www\.w3\.org/2000/svg)""", page
    )
    assert response.headers["x-frame-options"] == "DENY"
    assert response.headers["cache-control"] == "no-store"


def test_the_script_makes_no_markup_of_data():
    page = files("accord.telemetry").joinpath("status_page.html").read_text(encoding="utf-8")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|setAttribute\(\"on", page
    )


@pytest.mark.parametrize("path", ["/", "/status.json", "/metrics"])
async def test_whoever_calls_it_by_another_name_or_from_another_page_is_refused(driver: Driver, path: str):
    assert (await driver.request("GET", {"host": "rebound.example:9100"}, path=path)).status == 403
    assert (await driver.request("GET", {"origin": "https://evil.example"}, path=path)).status == 403
    assert (await driver.request("GET", {}, path=path)).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_nothing_can_be_changed(driver: Driver, method: str):
    response = await driver.request(method, {}, path="/status.json")
    assert (response.status, response.headers["allow"]) == (405, "GET, HEAD")


async def test_head_gets_the_length_and_no_body(driver: Driver):
    response = await driver.request("HEAD", {}, path="/")
    assert response.body == b""
    assert int(response.headers["content-length"]) > 1000


async def test_other_paths_and_websockets_are_not_there(driver: Driver):
    assert (await driver.request("GET", {}, path="/acp")).status == 404
    assert (await driver.request("GET", {}, path="/../etc/passwd")).status == 404
    assert (await driver.websocket(path="/").received())["type"] == "websocket.close"


async def test_metrics_are_for_prometheus(driver: Driver, traffic: Traffic):
    pytest.importorskip("prometheus_client")
    Conversation(traffic).tap.received([b"12345"])
    response = await driver.request("GET", {}, path="/metrics")
    assert b"accord_received_bytes_total 5.0" in response.body
    assert response.headers["content-type"].startswith("text/plain; version=")


async def test_metrics_without_the_extra_say_how_to_get_it(traffic: Traffic, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(status_page, "has_client_library", lambda: False)
    driver = Driver(StatusPage("accord serve", traffic))
    response = await driver.request("GET", {}, path="/metrics")
    assert response.status == 501
    assert b"accord[metrics]" in response.body
