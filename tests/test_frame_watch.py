"""The watch over our frames notices what it is there for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from accord.dialects.negotiation import offer
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.peer import Peer
from accord.transports.memory import memory_pair

pytestmark = [pytest.mark.interop, pytest.mark.bad_frames]

ANSWERS: dict[Any, dict[str, Any]] = {
    1: {"protocolVersion": 1},
    2: {"protocolVersion": 2, "info": {"name": "agent", "version": "1"}},
    "2-draft": {"protocolVersion": 2, "agentInfo": {"name": "agent", "version": "1"}},
}


async def violations(version: Any, result: Any, *, pipelined: bool = False) -> list[str]:
    """Of a conversation in which the agent answers `session/new` with this."""
    from tests.frame_watch import FrameWatch

    def receive(event: RequestReceived | NotificationReceived) -> Coroutine[Any, Any, Any] | None:
        async def answer() -> Any:
            assert isinstance(event, RequestReceived)
            return ANSWERS[version] if event.request.method == "initialize" else result

        return answer()

    watch = FrameWatch()
    ours, theirs = memory_pair()
    with watch.watching():
        async with Peer(theirs, receive), Peer(ours, receive) as client:
            calls = [client.send_request("initialize", offer(version))]
            if not pipelined:
                await calls[0]
            calls.append(client.send_request("session/new", {"cwd": "/", "mcpServers": []}))
            async with asyncio.timeout(120):
                await calls[1]
    return watch.violations


@pytest.mark.parametrize("version", [1, 2, "2-draft"])
@pytest.mark.parametrize("pipelined", [False, True])
async def test_frames_that_fit_are_passed_over_in_silence(version: Any, pipelined: bool):
    assert await violations(version, {"sessionId": "s"}, pipelined=pipelined) == []


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.requirement("COMPAT-13")
async def test_an_answer_that_does_not_fit_is_noticed(version: Any, pipelined: bool):
    (violation,) = await violations(version, {"sessionId": 1}, pipelined=pipelined)
    assert violation.startswith("session/new: NewSessionResponse $.sessionId")


async def test_the_draft_is_not_judged():
    assert await violations("2-draft", {"sessionId": 1}) == []


async def test_an_answer_to_the_handshake_that_does_not_fit_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(ANSWERS, 1, {"protocolVersion": 1, "agentInfo": {"name": 1}})
    (violation,) = await violations(1, {"sessionId": "s"})
    assert violation.startswith("InitializeResponse $.agentInfo")


def test_frames_received_from_a_program_of_ours_can_be_judged_too():
    from tests.frame_watch import violations_received

    frames = [
        ("sent", b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'),
        ("received", b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'),
        ("sent", b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}'),
        ("received", b'{"jsonrpc":"2.0","id":1,"result":{"sessionId":1}}'),
    ]
    (violation,) = violations_received(frames)
    assert violation.startswith("session/new: NewSessionResponse $.sessionId")
