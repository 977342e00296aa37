"""With `--permissions ask`, an action that the agent has asked for itself is asked for once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from accord.testing import ScriptedAgent, program

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.apps.console.real_peers import (
    Turn,
    does,
    goose_shell,
    goose_write,
    kimi_shell,
    kimi_write,
    opencode_write,
    wrapped_shell,
)
from tests.apps.console.screen.stage import opened
from tests.apps.console.terminal import at_terminal

OLD, NEW, RAN = "# Notes\n\nBuy milk.\n", "# Notes\n\nBuy bread.\n", "echo bread > notes.md"

PEERS = [
    pytest.param(lambda path: goose_write(path, OLD, NEW), NEW, id="goose writes"),
    pytest.param(lambda path: goose_shell(RAN, path.parent), "bread\n", id="goose runs"),
    pytest.param(lambda path: kimi_write(path, "", NEW), NEW, id="kimi-code writes"),
    pytest.param(lambda path: kimi_write(path, OLD, NEW), NEW, id="kimi-code edits"),
    pytest.param(lambda path: kimi_shell(RAN, path.parent), "bread\n", id="kimi-code runs"),
    pytest.param(lambda path: opencode_write(path, OLD, NEW), NEW, id="opencode writes"),
    pytest.param(lambda path: wrapped_shell(RAN, "bash", "-lc"), "bread\n", id="grok runs"),
    pytest.param(lambda path: wrapped_shell(RAN, "/bin/sh", "-lc"), "bread\n", id="fast-agent runs"),
]


@pytest.mark.parametrize("way", ["run", "--plain"])
@pytest.mark.parametrize(("peer", "text"), PEERS)
async def test_one_action_is_asked_for_once_in_lines(
    project: Path, peer: Callable[[Path], Turn], text: str, way: str
) -> None:
    agent = does(ScriptedAgent(1), peer(project / "notes.md"))
    words = ("run", "--permissions", "ask", "Hi") if way == "run" else (way, "--permissions", "ask")
    async with program(agent) as command, at_terminal(*words, "--", *command.args, cwd=project) as (terminal, accord):
        if way != "run":
            await terminal.sees("You: ")
            terminal.type("Hi\n")
        await terminal.sees("May the agent ")
        listed = await terminal.sees("Enter for no: ")
        once = next(line.split()[0] for line in listed.splitlines() if "once" in line.casefold())
        terminal.type(f"{once}\n")
        between = await terminal.sees("Over.")
        assert "May the agent" not in between
        if way != "run":
            await terminal.sees("You: ")
            terminal.type("/quit\n")
        assert await accord.wait() == 0
    assert (project / "notes.md").read_text() == text


@pytest.mark.parametrize(("peer", "text"), PEERS)
async def test_one_action_is_asked_for_once_on_the_screen(project, peer, text):
    agent = does(ScriptedAgent(1), peer(project / "notes.md"))
    async with opened(agent, project, version=1, permissions="ask") as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.press("end", "y")
        await stage.idle()
        assert stage.tab.questions.pending == []
        await stage.shows("Over.")
    assert (project / "notes.md").read_text() == text
