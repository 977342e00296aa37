"""`accord` at a pseudo-terminal: the real screen, resized, interrupted; and the plain one."""

from __future__ import annotations

import fcntl
import os
import shlex
import struct
import sys
import termios
from typing import Any

import pytest

from accord.apps.console import talk_command
from accord.cli import main
from accord.testing import ScriptedAgent, program

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.apps.console.terminal import at_terminal


@pytest.fixture
def quiet_home(tmp_path, monkeypatch):
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    return tmp_path


@pytest.mark.usefixtures("activated")
async def test_the_screen_opens_answers_and_leaves_the_terminal_as_it_was(quiet_home):
    agent = ScriptedAgent(1, agentCapabilities={"loadSession": True})
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
        await terminal.sees(
            f"To continue this session: accord --resume {agent.session_id} -- {shlex.join(command.args)}"
        )
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


async def test_the_first_frame_is_complete(quiet_home):
    async with at_terminal("--", "sleep", "300", cwd=quiet_home) as (terminal, accord):
        frame = await terminal.sees("starting")
        assert frame.count("for commands") == 1
        assert "Type what you want done" in frame
        terminal.type("\x11")
        assert await accord.wait() == 0


@pytest.mark.parametrize("keys", ["\x03\x03", "\x11"], ids=["control-c twice", "control-q"])
async def test_who_leaves_while_the_agent_starts_leaves_nothing_behind(quiet_home, keys):
    script = f"echo $$ > {quiet_home}/pid; echo begun >&2; exec sleep 300"
    async with at_terminal("--", "sh", "-c", script, cwd=quiet_home) as (terminal, accord):
        await terminal.sees("starting")
        await terminal.sees("begun")
        for key in keys:
            terminal.type(key)
        assert await accord.wait() == 0
    pid = (quiet_home / "pid").read_text().strip()
    assert not os.path.exists(f"/proc/{pid}")  # noqa: PTH110, ASYNC240  # nothing else runs


async def test_the_permissions_of_the_command_line_hold_on_the_screen(quiet_home):
    agent = ScriptedAgent(1)

    async def answer(asked: Any) -> None:
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        call = {"toolCallId": "c", "title": "Do it", "kind": "execute"}
        about = {"sessionId": agent.session_id, "toolCall": call, "options": options}
        agent.say((await agent.ask("session/request_permission", about)).result["outcome"]["optionId"])
        agent.finish(asked)

    agent.on("session/prompt", answer)
    words = ("--permissions", "allow-all", "--")
    async with program(agent) as command, at_terminal(*words, *command.args, cwd=quiet_home) as (terminal, accord):
        await terminal.sees("ready")
        terminal.type("Hi\r")
        await terminal.sees("allowed by --permissions: Do it (execute)")
        terminal.type("\x11")
        assert await accord.wait() == 0


async def test_an_agent_that_is_not_there_opens_no_screen(quiet_home):
    async with at_terminal("--", "no-such-agent", cwd=quiet_home) as (terminal, accord):
        await terminal.sees("its program 'no-such-agent' is not on PATH")
        assert await accord.wait() == 127
        assert "\x1b[?1049h" not in terminal.shown


async def test_a_theme_that_there_is_not_is_told_with_all_that_there_are(quiet_home):
    async with at_terminal("--theme", "drakula", cwd=quiet_home) as (terminal, accord):
        await terminal.sees("unknown theme 'drakula'; did you mean 'dracula'?")
        await terminal.sees("accord-dark, accord-light")
        assert await accord.wait() == 2


@pytest.mark.parametrize(
    ("given", "theme"),
    [
        (("nord", "dracula", "gruvbox"), "nord"),
        ((None, "dracula", "gruvbox"), "dracula"),
        ((None, None, "gruvbox"), "gruvbox"),
        ((None, None, None), None),
    ],
)
def test_a_flag_wins_over_a_variable_and_that_over_the_file(tmp_path, monkeypatch, given, theme):
    flag, variable, file = given
    monkeypatch.setenv("ACCORD_HOME", str(tmp_path))
    monkeypatch.delenv("ACCORD_THEME", raising=False)
    if variable:
        monkeypatch.setenv("ACCORD_THEME", variable)
        monkeypatch.setenv("ACCORD_PLAIN", "0")
    if file:
        (tmp_path / "config.toml").write_text(f'theme = "{file}"\nplain = true\n')
    opened: list[Any] = []
    monkeypatch.setattr(talk_command, "_has_terminal", lambda: True)
    monkeypatch.setattr(
        talk_command, "open_screen", lambda run, theme: opened.append(theme or run.environment.theme) or 0
    )
    monkeypatch.setattr(talk_command, "run_line_mode", lambda run: opened.append("plain") or 0)
    monkeypatch.setenv("TERM", "xterm")
    words = ["--theme", flag] if flag else []
    assert main([*words, "--", "sh"]) == 0
    assert opened == ["plain" if file and not variable else theme]
    opened.clear()
    assert main([*words, "--plain", "--", "sh"]) == 0
    assert opened == ["plain"]


async def test_the_plain_mode_draws_nothing(quiet_home, monkeypatch):
    monkeypatch.setenv("ACCORD_PLAIN", "1")
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("Hello \x1b[31mfrom the agent"))
    async with program(agent) as command, at_terminal("--", *command.args, cwd=quiet_home) as (terminal, accord):
        await terminal.sees("Ctrl-D, Ctrl-C twice or /quit leaves.")
        await terminal.sees("You: ")
        terminal.type("Hi\n")
        await terminal.sees("Answer: Hello ␛[31mfrom the agent")
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
        await terminal.sees("Press Ctrl-C again to quit.")
        terminal.type("\x03")
        assert await accord.wait() == 0
