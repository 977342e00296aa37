"""Agents behind a router, each in place of a process: a new agent for each that the router starts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from accord import Agent, Client, Remote, Turn
from accord.agent.agent import InProcessTransport
from accord.relay.process_pool import RelayLimits
from accord.relay.router import Router
from accord.store import MemoryStore, Store
from accord.transports.http_application import HttpApplication
from accord.transports.http_server import HttpLimits
from tests.client.test_remote import served


class Farm:
    """Starts an agent whenever the router wants a process, all with the same store. `started` are their transports."""

    def __init__(self, make_agent: Callable[[Farm], Agent] | None = None, store: Store | None = None) -> None:
        self.store = MemoryStore() if store is None else store
        self.started: list[InProcessTransport] = []
        self.prompts: list[str] = []
        self.answers: list[bool] = []
        self.ticks: list[int] = []
        self.go = asyncio.Event()
        self._make_agent = make_agent or counter

    def connect(self) -> Any:
        transport = self._make_agent(self).connect()
        assert isinstance(transport, InProcessTransport)
        self.started.append(transport)
        return transport

    async def kill(self, number: int) -> None:
        """End one of them as if it had crashed."""
        await self.started[number]._agent_end.aclose()  # no public way to crash

    def router(self, **limits: Any) -> Router:
        return Router(self.connect, RelayLimits(**limits))


def counter(farm: Farm) -> Agent:
    """An agent that does what it is told in a word."""
    agent = Agent("counter", store=farm.store, slow_loop_seconds=None, merge_seconds=0.0)
    agent.option("mode", choices=["ask", "code"])
    number = len(farm.started)

    @agent.prompt
    async def answer(turn: Turn) -> None:
        farm.prompts.append(turn.text)
        if turn.text == "wait":
            await turn.say("begun ")
            await farm.go.wait()
            await turn.say("done")
        elif turn.text == "ask":
            async with turn.tool_call("Delete everything", kind="delete") as call:
                allowed = await turn.allowed(call)
            farm.answers.append(allowed)
            await turn.say("yes" if allowed else "no")
        elif turn.text == "which":
            await turn.say(f"process {number}")
        elif turn.text.isdecimal():
            for each in range(int(turn.text)):
                await turn.say(f"{each} ")
                if each % 20 == 10:
                    async with turn.tool_call(f"Step {each}", kind="edit") as call:
                        farm.answers.append(await turn.allowed(call))
        else:
            await turn.say(turn.text)

    @agent.method("_acme/echo")
    async def echo(params: Any) -> Any:
        return params

    @agent.notification("_acme/tick")
    async def tick(params: Any) -> None:
        farm.ticks.append(params["n"])

    return agent


@asynccontextmanager
async def routed(router: Router, limits: HttpLimits | None = None, **options: Any) -> AsyncIterator[str]:
    """The URL of a server with this router."""
    app = HttpApplication(router.serve, limits=limits, **options)
    try:
        async with served(app) as url:
            yield url
    finally:
        await router.aclose()


def client_of(url: str, profile: Any = "websocket", version: Any = "auto", **options: Any) -> Client:
    return Client(Remote(url, profile=profile), version=version, **options)
