"""A relay between a client and an agent in memory."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from accord.errors import ConnectionClosed
from accord.relay.relay import Relay
from accord.transports.memory import memory_pair
from accord.transports.transport import Receiver
from tests.transports.recorder import Recorder


def request(id: object, method: str = "m") -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method}, separators=(",", ":")).encode()


def response(id: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": {}}, separators=(",", ":")).encode()


class Ends:
    """The two ends that the relay connects, and what each of them receives."""

    def __init__(self, **options: Any) -> None:
        self.client, near = memory_pair(**options)
        self.agent, far = memory_pair(**options)
        self.relay = Relay(near, far)
        self.at_client, self.at_agent = Recorder(), Recorder()
        self.task = asyncio.create_task(self.relay.run())

    async def open(self) -> None:
        await self.client.open(self.at_client)
        await self.agent.open(self.at_agent)


async def test_frames_pass_in_order_both_ways():
    ends = Ends()
    await ends.open()
    forth = [request(number) for number in range(500)]
    back = [response(number) for number in range(500)]
    for frame in forth:
        ends.client.send(frame)
    await ends.at_agent.until(lambda: len(ends.at_agent.frames) == 500)
    for frame in [b'[{"odd":1}]', *back]:
        ends.agent.send(frame)
    await ends.at_client.until(lambda: len(ends.at_client.frames) == 501)
    assert ends.at_agent.frames == forth
    assert ends.at_client.frames == [b'[{"odd":1}]', *back]
    await ends.client.aclose()
    await ends.task
    assert ends.relay.lost is None
    assert ends.at_agent.reason is not None


async def test_open_requests_get_an_error_when_the_agent_ends():
    ends = Ends()
    await ends.open()
    for frame in (request(1), request("two"), b'{"jsonrpc":"2.0","method":"note"}', b"[" + request(3) + b"]"):
        ends.client.send(frame)
    await ends.at_agent.until(lambda: len(ends.at_agent.frames) == 4)
    ends.agent.send(response("two"))
    await ends.agent.aclose()
    await ends.task
    assert ends.relay.lost is not None
    answers = [json.loads(frame) for frame in ends.at_client.frames]
    assert [(answer["id"], "error" in answer) for answer in answers] == [("two", False), (1, True), (3, True)]
    assert answers[1]["error"]["code"] == -32603
    await ends.at_client.until(lambda: ends.at_client.reason is not None)


async def test_a_client_that_does_not_read_stops_the_agent_from_being_read():
    ends = Ends(high_water=1000)
    await ends.open()
    ends.client.pause_receiving()
    big = request("x" * 900)
    for _ in range(100):
        ends.agent.send(big)
        await asyncio.sleep(0)
    assert "paused" in ends.at_agent.calls
    assert ends.relay._client.unsent < 200_000
    ends.client.resume_receiving()
    await ends.at_client.until(lambda: len(ends.at_client.frames) == 100)
    await ends.client.aclose()
    await ends.task


async def test_an_agent_that_cannot_be_reached_is_the_answer_to_the_first_request():
    class Unreachable:
        unsent = 0

        async def open(self, receiver: Receiver) -> None:
            raise ConnectionClosed("no such program", kind="not_started")

        def send(self, frame: bytes) -> None:
            raise AssertionError(frame)

        def pause_receiving(self) -> None: ...

        def resume_receiving(self) -> None: ...

        async def aclose(self) -> None: ...

    client, near = memory_pair()
    recorder = Recorder()
    await client.open(recorder)
    client.send(request(7, "initialize"))
    with pytest.raises(ConnectionClosed, match="no such program"):
        await Relay(near, Unreachable()).run()
    await recorder.until(lambda: recorder.reason is not None)
    (answer,) = [json.loads(frame) for frame in recorder.frames]
    assert answer["id"] == 7
    assert answer["error"]["message"] == "no such program"


async def test_a_frame_that_is_too_long_is_refused_to_its_sender_and_costs_nothing_else():
    ends = Ends(frame_limit=1000)
    await ends.open()
    ends.client.send(b'"' + b"x" * 2000 + b'"')
    ends.client.send(request(1))
    await ends.at_agent.until(lambda: ends.at_agent.frames == [request(1)])
    await ends.at_client.until(lambda: bool(ends.at_client.frames))
    assert json.loads(ends.at_client.frames[0])["id"] is None
    await ends.client.aclose()
    await ends.task
