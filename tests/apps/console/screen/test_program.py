"""`accord` at a pseudo-terminal: the real screen, resized, interrupted; and the plain one."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import termios

import pytest

from accord.testing import ScriptedAgent, program

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.apps.console.terminal import at_terminal

pytestmark = pytest.mark.timeout(40)


@pytest.fixture
def quiet_home(tmp_path, monkeypatch):
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    return tmp_path


async def test_the_screen_opens_answers_and_leaves_the_terminal_as_it_was(quiet_home):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("Hello from the agent"))
    async with program(agent) as command, at_terminal("--", *command.args, cwd=quiet_home) as (terminal, accord):
        fcntl.ioctl(terminal._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 90, 0, 0))
        await terminal.sees("\x1b[?1049h")
        await terminal.sees("ready")
        for letter in "Hi":
            terminal.type(letter)
        terminal.type("\r")
        await terminal.sees("Hello")
        fcntl.ioctl(terminal._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 60, 0, 0))
        os.kill(accord.pid, 28)  # SIGWINCH
        terminal.type("\x11")
        await terminal.sees("\x1b[?1049l")
        assert await accord.wait() == 0


async def test_an_agent_that_crashes_leaves_the_screen_usable(quiet_home):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", lambda asked: agent.die(9, "boom"))
    async with program(agent) as command, at_terminal("--", *command.args, cwd=quiet_home) as (terminal, accord):
        await terminal.sees("ready")
        terminal.type("Hi\r")
        await terminal.sees("gone")
        terminal.type("\x03")
        await terminal.sees("again")
        terminal.type("\x03")
        assert await accord.wait() == 0


async def test_the_plain_mode_draws_nothing(quiet_home, monkeypatch):
    monkeypatch.setenv("ACCORD_PLAIN", "1")
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("Hello \x1b[31mfrom the agent"))
    async with program(agent) as command, at_terminal("--", *command.args, cwd=quiet_home) as (terminal, accord):
        await terminal.sees("Ctrl-D or /quit leaves.")
        await terminal.sees("You: ")
        terminal.type("Hi\n")
        await terminal.sees("Agent:")
        await terminal.sees("Hello ␛[31mfrom the agent")
        await terminal.sees("You: ")
        assert "\x1b" not in terminal.shown
        terminal.type("/quit\n")
        assert await accord.wait() == 0


async def test_control_c_stops_a_turn_of_the_plain_mode(quiet_home, monkeypatch):
    monkeypatch.setenv("ACCORD_PLAIN", "1")
    agent = ScriptedAgent(1)
    agent.on("session/prompt", None)
    async with program(agent) as command, at_terminal("--", *command.args, cwd=quiet_home) as (terminal, accord):
        await terminal.sees("You: ")
        terminal.type("Hi\n")
        asked = await agent.next("session/prompt")
        terminal.type("\x03")
        await terminal.sees("stopping…")
        await agent.next("session/cancel")
        agent.finish(asked, "cancelled")
        await terminal.sees("the turn was cancelled")
        await terminal.sees("You: ")
        terminal.type("\x03")
        assert await accord.wait() == 0
