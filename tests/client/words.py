"""Requests as an agent of the session `s` makes them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from accord.client.workspace.workspace import Workspace
from accord.session.requests import (
    CreateTerminal,
    CreateTerminalResult,
    FileContent,
    KillTerminal,
    ReadFile,
    ReadTerminal,
    ReleaseTerminal,
    TerminalSnapshot,
    WaitForExit,
    WriteFile,
)

SESSION = "s"
CWD = tempfile.gettempdir()
"""A directory that exists: an agent on this machine is asked for no session in any other."""


async def read(workspace: Workspace, path: str | Path, **options: Any) -> str:
    answer = await workspace.answer(ReadFile(session_id=SESSION, path=os.fspath(path), **options))
    assert isinstance(answer, FileContent)
    return answer.content


async def write(workspace: Workspace, path: str | Path, content: str) -> None:
    await workspace.answer(WriteFile(session_id=SESSION, path=os.fspath(path), content=content))


async def create(workspace: Workspace, command: str, *args: str, **options: Any) -> str:
    asked = CreateTerminal(session_id=SESSION, command=command, args=list(args), **options)
    answer = await workspace.answer(asked)
    assert isinstance(answer, CreateTerminalResult)
    return answer.terminal_id


async def output(workspace: Workspace, terminal_id: str) -> TerminalSnapshot:
    answer = await workspace.answer(ReadTerminal(session_id=SESSION, terminal_id=terminal_id))
    assert isinstance(answer, TerminalSnapshot)
    return answer


async def wait(workspace: Workspace, terminal_id: str) -> Any:
    return await workspace.answer(WaitForExit(session_id=SESSION, terminal_id=terminal_id))


async def kill(workspace: Workspace, terminal_id: str) -> Any:
    return await workspace.answer(KillTerminal(session_id=SESSION, terminal_id=terminal_id))


async def release(workspace: Workspace, terminal_id: str) -> Any:
    return await workspace.answer(ReleaseTerminal(session_id=SESSION, terminal_id=terminal_id))


async def outcome(workspace: Workspace, command: str, *args: str, **options: Any) -> TerminalSnapshot:
    """What a command wrote, and how it ended."""
    terminal_id = await create(workspace, command, *args, **options)
    await wait(workspace, terminal_id)
    return await output(workspace, terminal_id)
