"""The agents made with the official SDKs, and how a test talks to one through our client.

All of them do what the first block of a prompt says (see their sources), and tell by an extension what they received.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from accord import Client, Command, Remote, Text
from accord.client.session import Session
from accord.dialects.negotiation import ProtocolVersion
from accord.session.content import Content
from accord.transports.remote import Profile
from tests.conversations.seen import described
from tests.conversations.story import PATH
from tests.interop.typescript_peer import need_node, script

__all__ = [
    "PYTHON",
    "TYPESCRIPT_V1",
    "TYPESCRIPT_V2",
    "OfficialAgent",
    "ask",
    "each_update_and_its_line",
    "lines_of",
    "received",
    "seen",
    "tell",
    "to_do",
    "until_seen",
]


class OfficialAgent(NamedTuple):
    """A program, and the version it speaks."""

    args: list[str]
    version: ProtocolVersion

    @property
    def is_python(self) -> bool:
        return self.args[0] == sys.executable

    @asynccontextmanager
    async def connected(self, *, env: dict[str, str] | None = None, **options: Any) -> AsyncIterator[Client]:
        """A client of ours, connected with the agent."""
        if not self.is_python:
            need_node()
        async with Client(Command(self.args, env=env, close_grace=20.0), **options) as client:
            yield client

    @asynccontextmanager
    async def connected_by_url(self, profile: Profile, **options: Any) -> AsyncIterator[Client]:
        """A client of ours, connected with the agent as a server."""
        if not self.is_python:
            need_node()
        environment = {**os.environ, "ACP_HTTP": "1"}
        server = await asyncio.create_subprocess_exec(*self.args, env=environment, stderr=asyncio.subprocess.PIPE)
        assert server.stderr is not None
        try:
            url = (await server.stderr.readline()).decode().split()[-1]
            async with Client(Remote(url, profile=profile), version=self.version, **options) as client:
                yield client
        finally:
            server.kill()
            await server.wait()


PYTHON = OfficialAgent(
    [sys.executable, str(Path(__file__).resolve().parent / "peers" / "official_agent.py"), str(PATH)], 1
)
TYPESCRIPT_V1 = OfficialAgent(script("agent_v1.mjs"), 1)
TYPESCRIPT_V2 = OfficialAgent(script("agent_v2.mjs"), 2)


def to_do(what: str, *blocks: Content | Any) -> list[Content]:
    """A prompt for one of them; what is no content goes as JSON."""
    return [Text(what), *(block if isinstance(block, Content) else Text(json.dumps(block)) for block in blocks)]


async def ask(session: Session, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Have the agent ask us for something; what it got, as `result` or `error`."""
    reply = session.prompt(to_do(f"ask {method}", params))
    return json.loads((await reply).text)


def each_update_and_its_line(version: str) -> list[tuple[dict[str, Any], str]]:
    """Updates of every kind that a version has, and what our user sees of each."""
    path = Path(__file__).resolve().parent / f"updates_{version}.json"
    return [(update, line) for update, line in json.loads(path.read_text(encoding="utf-8"))]


async def tell(session: Session, updates: list[dict[str, Any]]) -> list[str]:
    """Have the agent tell these updates; what our user sees, line by line."""
    return await lines_of(session.prompt(to_do("tell", updates)))


async def lines_of(reply: Any) -> list[str]:
    """What a reply brings, without the prompt itself."""
    lines = [described(change) async for change in reply]
    return [line for line in lines if not line.startswith("user is: ")]


async def seen(client: Client, *methods: str) -> list[Any]:
    """The params of what the agent has received, of these methods and in that order."""
    return [each["params"] for each in await received(client) if each["method"] in methods]


async def until_seen(client: Client, method: str) -> Any:
    """The params of a notification; an SDK may handle what comes after it first."""
    while not (params := await seen(client, method)):
        pass
    return params[0]


async def received(client: Client) -> list[dict[str, Any]]:
    """All that the agent has received, in order: `method` and `params`."""
    return (await client.request("_accord/seen"))["seen"]
