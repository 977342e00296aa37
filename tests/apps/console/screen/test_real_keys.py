"""Keys as terminals send them, in a pseudo-terminal: Enter with modifiers, and Ctrl+C."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from accord.apps.console.screen.keys import HELD
from accord.testing import ScriptedAgent, program
from tests.apps.console.looking import SeenTerminal
from tests.apps.console.terminal import at_terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")

NEW_LINES = {
    "Alt+Enter": "\x1b\r",
    "Alt+Enter of the kitty protocol": "\x1b[13;3u",
    "Alt+Enter of modifyOtherKeys": "\x1b[27;3;13~",
    "Shift+Enter of the kitty protocol": "\x1b[13;2u",
    "Shift+Enter of modifyOtherKeys": "\x1b[27;2;13~",
    "a backslash and Enter": "\\\r",
    "Ctrl+J": "\n",
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.delenv("ACCORD_PLAIN", raising=False)
    return tmp_path


def echoing() -> ScriptedAgent:
    agent = ScriptedAgent(1)

    def answer(asked: Any) -> None:
        agent.update("agent_message_chunk", content={"type": "text", "text": "Heard."})
        agent.finish(asked)

    agent.on("session/prompt", answer)
    return agent


async def test_enter_sends_and_each_other_enter_makes_a_new_line(home):
    agent = echoing()
    async with program(agent) as command, at_terminal("--", *command.args, cwd=home, kind=SeenTerminal) as opened:
        terminal, accord = opened
        await terminal.shows("ready")
        for number, key in enumerate(NEW_LINES.values()):
            terminal.type(f"word{number}")
            await terminal.shows(f"word{number}")  # a terminal sends the keys of a person one after the other
            terminal.type(key)
        terminal.type("end\r")
        await terminal.shows("Heard.")
        (asked,) = agent.calls("session/prompt")
        text = "".join(f"word{number}\n" for number in range(len(NEW_LINES))) + "end"
        assert asked.params["prompt"] == [{"type": "text", "text": text}]
        terminal.type("\x11")
        assert await accord.wait() == 0


async def test_ctrl_c_leaves_when_it_is_pressed_twice_in_an_idle_empty_prompt(home):
    agent = echoing()
    async with program(agent) as command, at_terminal("--", *command.args, cwd=home, kind=SeenTerminal) as opened:
        terminal, accord = opened
        await terminal.shows("ready")
        terminal.type("typed")
        await terminal.shows("typed")
        terminal.type("\x03")
        await terminal.until(lambda: "typed" not in "\n".join(terminal.rows))
        await asyncio.sleep(HELD + 0.1)  # sooner it would be the same press
        terminal.type("\x03")
        await terminal.shows("Press Ctrl+C again to quit.")
        assert accord.returncode is None
        terminal.type("\x03")
        assert await accord.wait() == 0


async def test_keys_and_the_vim_mode_of_the_settings_are_in_force(home, monkeypatch):
    monkeypatch.setenv("ACCORD_HOME", str(home))
    (home / "config.toml").write_text('vim = true\n[keys]\nlog = "f6"\n')
    async with program(echoing()) as command, at_terminal("--", *command.args, cwd=home, kind=SeenTerminal) as opened:
        terminal, accord = opened
        await terminal.shows("ready", "INSERT")
        terminal.type("one two")
        await terminal.shows("one two")
        terminal.type("\x1b")
        await terminal.shows("NORMAL")
        terminal.type("0dw")
        await terminal.until(lambda: not any("one two" in row for row in terminal.rows))
        await terminal.shows("two", "NORMAL")
        terminal.type("\x1b[17~")
        await terminal.shows("Wire log")
        terminal.type("\x11")
        assert await accord.wait() == 0


async def test_a_wrong_key_in_the_settings_is_told_with_its_place(home, monkeypatch):
    monkeypatch.setenv("ACCORD_HOME", str(home))
    (home / "config.toml").write_text('[keys]\nlogg = "f6"\n')
    async with at_terminal("--", "sh", cwd=home) as (terminal, accord):
        await terminal.sees("config.toml:2: keys.logg: unknown action; did you mean 'log'?")
        assert await accord.wait() == 1
