"""acpx, a client for the command line from npm, with an agent of ours behind it."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from tests.interop.coding_scene import running_in
from tests.interop.peers.frame_report import REPORT

__all__ = ["DENIED", "Acpx", "Seen", "using"]

DENIED = 5
"""How it ends where it has denied a permission."""


class Seen(NamedTuple):
    """What acpx prints: its exit status, and every frame that it sends or receives, in order."""

    status: int
    frames: list[dict[str, Any]]

    @property
    def methods(self) -> list[str]:
        """Of all requests, from either side."""
        return [frame["method"] for frame in self.frames if "method" in frame and "id" in frame]

    @property
    def text(self) -> str:
        """What the agent says in the turn."""
        said = [each for each in self.updates(after="session/prompt") if each["sessionUpdate"] == "agent_message_chunk"]
        return "".join(each["content"]["text"] for each in said)

    @property
    def stop_reason(self) -> str:
        return next(frame["result"]["stopReason"] for frame in self.frames if "stopReason" in frame.get("result", {}))

    def updates(self, *, after: str) -> list[dict[str, Any]]:
        """The updates after a request."""
        start = [frame.get("method") for frame in self.frames].index(after)
        return [frame["params"]["update"] for frame in self.frames[start:] if frame.get("method") == "session/update"]


class Acpx:
    """Runs it, in a project, with a home of its own (the environment's)."""

    def __init__(self, agent: Sequence[str], project: Path) -> None:
        self._words = ["acpx", "--agent", shlex.join(agent), "--cwd", str(project), "--format", "json", "--ttl", "60"]

    async def __call__(self, *words: str) -> Seen:
        running = await self.start(*words)
        return await self.finish(running)

    async def start(self, *words: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._words,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            limit=1024 * 1024,
        )

    async def finish(self, running: asyncio.subprocess.Process) -> Seen:
        out, _ = await running.communicate()
        assert running.returncode is not None
        return Seen(running.returncode, [json.loads(line) for line in out.splitlines()])

    async def prompt_and_cancel(self, prompt: str, begun: str) -> Seen:
        """A prompt of the session that is cancelled when a frame has this in it."""
        running = await self.start("prompt", prompt)
        assert running.stdout is not None
        frames: list[dict[str, Any]] = []
        async for line in running.stdout:
            frames.append(json.loads(line))
            if begun in line.decode():
                break
        assert (await self("cancel")).status == 0
        rest = await self.finish(running)
        return Seen(rest.status, [*frames, *rest.frames])


@asynccontextmanager
async def using(agent: Sequence[str], project: Path, home: Path) -> AsyncIterator[Acpx]:
    """acpx, and in the end nothing that it has started; its frames and ours are as the official schemas have them."""
    report = home / "frames.txt"
    os.environ[REPORT] = str(report)
    try:
        yield Acpx(agent, project)
        async with asyncio.timeout(120):
            while running_in(home):  # noqa: ASYNC110  # nobody tells when a process of others has ended
                await asyncio.sleep(0.05)
        assert not report.exists(), report.read_text()
    finally:
        del os.environ[REPORT]
        for process in running_in(home):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
