"""Opens many connections to one server, each with a session, and reports the memory of the server."""

from __future__ import annotations

import asyncio
import resource
from contextlib import AsyncExitStack

from accord import Client, Remote
from benchmarks.processes import resident_memory
from benchmarks.programs.client_program import Options, read_options, report
from benchmarks.programs.payloads import PROTOCOL_VERSION
from benchmarks.programs.served_agent import served_agent

AT_ONCE = 20


async def measure(options: Options) -> dict[str, float]:
    """The memory of the server with `count` idle connections, and with one."""
    target_profile = "http" if options.transport == "http" else "websocket"
    async with served_agent(options.agent_command) as url, AsyncExitStack() as stack:

        async def connect() -> Client:
            client = Client(Remote(url, profile=target_profile), version=PROTOCOL_VERSION)
            await stack.enter_async_context(client)
            await client.new_session("/")
            return client

        first = await connect()
        assert first.agent.info is not None
        pid = int(first.agent.info.version)
        alone = resident_memory(pid)
        for start in range(1, options.count, AT_ONCE):
            await asyncio.gather(*(connect() for _ in range(start, min(start + AT_ONCE, options.count))))
        return {"bytes": resident_memory(pid), "alone": alone}


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # the server inherits it
    report(asyncio.run(measure(read_options("sdk_agent"))))
