"""The screen told to end from outside: by a signal, or because its terminal is closed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.testing import ScriptedAgent, program

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.apps.console.looking import SeenTerminal
from tests.apps.console.terminal import at_terminal


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME", "ACCORD_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    return tmp_path


def at_screen(command: Any, cwd: Path) -> Any:
    return at_terminal("--", *command.args, cwd=cwd, kind=SeenTerminal)


def kept(project: Path, pattern: str) -> str:
    return "\n".join(path.read_text() for path in (project / "home").rglob(pattern))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_leaves_the_terminal_whole_and_keeps_what_was_written_and_said(project, number):
    agent = ScriptedAgent(1)
    async with program(agent) as command, at_screen(command, project) as (terminal, accord):
        await terminal.shows("ready")
        terminal.type("Go\r")
        await agent.next("session/prompt")
        agent.say("Half an answer")
        await terminal.shows("Half an answer")
        terminal.type("half a thought")
        await terminal.shows("half a thought")
        os.kill(accord.pid, number)
        assert await accord.wait() == 128 + number
        await terminal.until(lambda: not terminal.is_taken)
    assert "half a thought" in kept(project, "drafts.json")
    assert "Half an answer" in kept(project, "conversations/*.jsonl")


async def test_a_terminal_that_is_closed_takes_nothing_along(project):
    agent = ScriptedAgent(1)
    async with program(agent) as command, at_screen(command, project) as (terminal, accord):
        await terminal.shows("ready")
        terminal.type("half a thought")
        await terminal.shows("half a thought")
        terminal.close()
        assert await accord.wait() == 128 + signal.SIGHUP
        terminal.close = lambda: None
    assert "half a thought" in kept(project, "drafts.json")


@pytest.mark.parametrize("by_key", [True, False])
async def test_who_goes_to_the_shell_and_comes_back_finds_everything_as_it_was(project, by_key):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("Hello from the agent"))
    async with program(agent) as command, at_screen(command, project) as (terminal, accord):
        await terminal.shows("ready")
        terminal.type("Say hi\r")
        await terminal.shows("Hello from the agent", "ready")
        terminal.type("and th")
        await terminal.shows("and th")
        before = terminal.rows
        if by_key:
            terminal.type("\x1a")
        else:
            os.kill(accord.pid, signal.SIGTSTP)
        _, status = await asyncio.to_thread(os.waitpid, accord.pid, os.WUNTRACED)  # as a shell does
        assert os.WIFSTOPPED(status)
        await terminal.until(lambda: not terminal.is_taken)
        os.kill(accord.pid, signal.SIGCONT)
        await terminal.until(lambda: terminal.is_taken and terminal.rows == before)
        terminal.type("\x11")
        assert await accord.wait() == 0


async def test_a_terminal_that_is_closed_while_much_is_drawn_ends_the_screen_too(project):
    agent = ScriptedAgent(1)
    async with program(agent) as command, at_screen(command, project) as (terminal, accord):
        await terminal.shows("ready")
        terminal.type("Go\r")
        await agent.next("session/prompt")
        for number in range(3000):
            agent.say(f"word {number}\n\n")
        await terminal.shows("word")
        terminal.close()
        assert await accord.wait() == 128 + signal.SIGHUP
        terminal.close = lambda: None
    assert "word 1" in kept(project, "conversations/*.jsonl")
