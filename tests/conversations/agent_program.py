"""Our agent as a program on its stdin and stdout. Where the official schemas are at hand, it ends badly if a frame did not fit."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from accord.peer.event_loop import run
from accord.transports.stdio import StdioTransport
from tests.conversations.agent_side import AgentSide
from tests.conversations.storyteller import tell_story

PROGRAM = Path(__file__).resolve()


async def serve() -> None:
    async with AgentSide(StdioTransport(), tell_story) as agent:
        await agent.peer.wait_closed()


def main() -> int:
    if "ACP_SCHEMAS" not in os.environ:
        run(serve())
        return 0
    from tests.frame_watch import FrameWatch

    watch = FrameWatch()
    with watch.watching():
        run(serve())
    sys.stderr.writelines(f"{violation}\n" for violation in watch.violations)
    return 1 if watch.violations else 0


if __name__ == "__main__":
    sys.exit(main())
