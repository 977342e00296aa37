"""Somebody who has never seen this changes a file under their control, guided by what is on the screen and nothing else."""

from __future__ import annotations

import asyncio
import re
import sys

import pytest

from accord.apps.console.screen.blocks.welcome import EXAMPLES
from accord.apps.console.screen.widgets.permission_bar import SETTLING

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.apps.console.looking import SeenTerminal
from tests.apps.console.terminal import at_terminal

KEYS = {"Tab": "\t", "Enter": "\r", "1": "1", "3": "3", "F4": "\x1bOS", "Esc": "\x1b", "Ctrl+Q": "\x11"}


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.delenv("ACCORD_PLAIN", raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


async def press(terminal: SeenTerminal, key: str) -> None:
    """Only what the screen names."""
    await terminal.until(lambda: key in " ".join(terminal.rows).split())
    terminal.type(KEYS[key])


async def asked(terminal: SeenTerminal) -> None:
    await terminal.shows("Permission", "Write hello.txt", "+ Hello from accord", "Allow", "Reject", "press a key above")
    await asyncio.sleep(SETTLING + 0.1)  # whoever answers has read; a key in the first moment is no answer


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["small", "large"])
async def test_a_newcomer_gets_a_file_changed_with_the_keys_that_the_screen_names(project, size):
    async with at_terminal(cwd=project, kind=SeenTerminal) as (terminal, accord):
        terminal.resize(*size)
        await terminal.shows(
            "ready",
            "Type what you want done",
            "Asks before each change",
            "Not a language model",
            "OPENAI_API_KEY",
            *EXAMPLES,
        )
        await press(terminal, "Tab")
        await terminal.until(lambda: sum(EXAMPLES[0] in row for row in terminal.rows) == 2)  # also in the prompt
        await press(terminal, "Enter")
        await asked(terminal)
        assert not (project / "hello.txt").exists()
        await press(terminal, "1")
        await terminal.shows("Created hello.txt", "1 file changed")
        assert (project / "hello.txt").read_text("utf-8") == "Hello from accord\n"
        await press(terminal, "F4")
        await terminal.shows("1 changed file", "1 + Hello from accord")
        await press(terminal, "Esc")
        await terminal.until(lambda: "1 changed file" not in "\n".join(terminal.rows))
        await press(terminal, "Ctrl+Q")
        assert await accord.wait() == 0


async def test_a_newcomer_who_says_no_has_nothing_changed(project):
    async with at_terminal(cwd=project, kind=SeenTerminal) as (terminal, accord):
        await terminal.shows("ready", EXAMPLES[0])
        await press(terminal, "Tab")
        await terminal.until(lambda: sum(EXAMPLES[0] in row for row in terminal.rows) == 2)  # also in the prompt
        await press(terminal, "Enter")
        await asked(terminal)
        await press(terminal, "3")
        await terminal.shows("Nothing was done: permission denied.")
        assert not (project / "hello.txt").exists()
        assert "changed" not in terminal.rows[-1]
        await press(terminal, "Ctrl+Q")
        assert await accord.wait() == 0


async def test_a_newcomer_who_listens_gets_a_file_changed(project, monkeypatch):
    """Words, in their order, and no sign that a screen reader would have to spell."""
    monkeypatch.setenv("ACCORD_PLAIN", "1")
    async with at_terminal(cwd=project) as (terminal, accord):
        await terminal.sees("Starting the built-in coding agent.")
        await terminal.sees("leaves.")
        await terminal.sees("You: ")
        terminal.type(f"{EXAMPLES[0]}\n")
        for said in ("Begun: Write hello.txt", "+Hello from accord", "1  Allow", "3  Reject", "or Enter for no: "):
            await terminal.sees(said)
        assert not (project / "hello.txt").exists()
        terminal.type("1\n")
        await terminal.sees("allowed: Write hello.txt")
        await terminal.sees("Done: Write hello.txt\r\nAnswer: Created hello.txt.")
        await terminal.sees("You: ")
        terminal.type("/quit\n")
        assert await accord.wait() == 0
        assert (project / "hello.txt").read_text("utf-8") == "Hello from accord\n"


async def test_without_colours_nothing_on_the_screen_has_one(project):
    async with at_terminal(cwd=project, kind=SeenTerminal) as (terminal, accord):
        await terminal.shows("ready", EXAMPLES[0])
        assert not re.search(r"\x1b\[[0-9;]*[34]8;|\x1b\[(?:[0-9;]*;)?[34][0-7]m", terminal.shown)
        await press(terminal, "Ctrl+Q")
        assert await accord.wait() == 0
