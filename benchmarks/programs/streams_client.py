"""The asyncio floor's client: asyncio streams, and dicts instead of types."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from typing import Any

import msgspec

from benchmarks.programs.client_program import Options, measure_whole, read_options, report
from benchmarks.programs.loops import run
from benchmarks.programs.payloads import MODE_ID, PROTOCOL_VERSION, write_order


class Connected:
    agent_pid: int
    session_id: str

    def __init__(self, agent: Process) -> None:
        assert agent.stdin
        assert agent.stdout
        self.writer = agent.stdin
        self.reader = agent.stdout
        self.last_id = -1
        self.received = 0

    async def open(self) -> None:
        initialized = await self.ask("initialize", {"protocolVersion": PROTOCOL_VERSION})
        self.agent_pid = int(initialized["agentInfo"]["version"])
        opened = await self.ask("session/new", {"cwd": "/", "mcpServers": []})
        self.session_id = opened["sessionId"]

    async def send(self, method: str, params: dict[str, Any]) -> None:
        self.last_id += 1
        request = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        self.writer.write(msgspec.json.encode(request) + b"\n")
        await self.writer.drain()

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        await self.send(method, params)
        return await self.receive_answer()

    async def receive_answer(self) -> dict[str, Any]:
        while True:
            frame = msgspec.json.decode(await self.reader.readline())
            if "id" in frame:
                return frame["result"]
            update = frame["params"]["update"]
            if update["sessionUpdate"] == "agent_message_chunk":
                self.received += len(update["content"]["text"])

    async def prompt(self, count: int, size: int, tool_every: int = 0) -> int:
        self.received = 0
        text = {"type": "text", "text": write_order(count, size, tool_every)}
        await self.ask("session/prompt", {"sessionId": self.session_id, "prompt": [text]})
        return self.received

    async def set_mode(self) -> None:
        await self.ask("session/set_mode", {"sessionId": self.session_id, "modeId": MODE_ID})

    async def new_session(self) -> None:
        await self.ask("session/new", {"cwd": "/", "mcpServers": []})

    async def in_flight(self, count: int) -> None:
        for _ in range(count):
            await self.send("session/set_mode", {"sessionId": self.session_id, "modeId": MODE_ID})
        for _ in range(count):
            await self.receive_answer()


async def converse(options: Options) -> dict[str, float]:
    agent = await create_subprocess_exec(*options.agent_command, stdin=PIPE, stdout=PIPE)
    connected = Connected(agent)
    await connected.open()
    readings = await measure_whole(options, connected)
    connected.writer.close()
    await asyncio.wait_for(agent.wait(), 10)
    return readings


if __name__ == "__main__":
    given = read_options("streams_agent")
    report(run(converse(given), uvloop=given.uvloop))
