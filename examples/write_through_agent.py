"""A client with a file open that is not saved: the agent reads and writes what the user sees. python write_through_agent.py

An agent asks its client for files in v1 and the draft, where a Workspace answers. In v2 it uses the disk.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from accord import Client, Workspace, permissions

AGENT = [sys.executable, str(Path(__file__).with_name("permission_and_diff.py"))]


class Editor(dict[str, str]):
    """The files that are open, by their path."""

    def read(self, path: str) -> str | None:
        return self.get(path)

    def write(self, path: str, text: str) -> bool:
        return path in self and self.update({path: text}) is None


async def main(folder: Path) -> None:
    notes = folder / "notes.md"
    editor = Editor({str(notes): "- Buy bread\n"})
    workspace = Workspace(folder, buffers=editor, run=False)
    async with Client(AGENT, version=1, on_permission=permissions.allow_all, workspace=workspace) as client:
        session = await client.new_session(folder)
        await session.prompt("Buy milk")
    print(editor[str(notes)], "saved" if notes.exists() else "not saved", sep="")


with tempfile.TemporaryDirectory() as directory:
    asyncio.run(main(Path(directory).resolve()))
