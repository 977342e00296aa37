"""Both sides are ours: each test runs for every version, in memory and with the agent as a child process."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from accord.dialects.negotiation import ProtocolVersion
from accord.transports.memory import memory_pair
from accord.transports.process_transport import ProcessTransport
from tests.conversations.agent_program import PROGRAM
from tests.conversations.agent_side import AgentSide
from tests.conversations.client_side import ClientSide
from tests.conversations.storyteller import tell_story

Connect = Callable[..., AbstractAsyncContextManager[ClientSide]]


@pytest.fixture(params=[1, 2, "2-draft"], ids=["v1", "v2", "v2-draft"])
def version(request: pytest.FixtureRequest) -> ProtocolVersion:
    return request.param


@pytest.fixture(params=["memory", "process"])
def connect(request: pytest.FixtureRequest, version: ProtocolVersion) -> Connect:
    """A client that is connected with our agent; the options are its own."""

    @asynccontextmanager
    async def connected(**options: Any) -> AsyncIterator[ClientSide]:
        if request.param == "process":
            command = [sys.executable, str(PROGRAM)]
            client = ClientSide(ProcessTransport(command, close_grace=20.0), version=version, **options)
            async with client:
                yield client
            reason = await client.peer.wait_closed()
            assert reason.exit_code == 0, reason
        else:
            ours, theirs = memory_pair()
            async with AgentSide(theirs, tell_story), ClientSide(ours, version=version, **options) as client:
                yield client

    return connected
