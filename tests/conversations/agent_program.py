"""Our agent as a program that speaks on its stdin and stdout."""

from __future__ import annotations

import asyncio
from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from accord.transports.stdio import Stdio
from tests.conversations.agent_side import AgentSide
from tests.conversations.storyteller import tell_story


async def serve() -> None:
    async with AgentSide(Stdio(), tell_story) as agent:
        await agent.peer.wait_closed()


if __name__ == "__main__":
    asyncio.run(serve())
