"""Commands of the user's own: one at a time for each tab, and none is left behind."""

from __future__ import annotations

from pathlib import Path

from accord.apps.console.screen.blocks.notices import ShellBlock
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import Stage, is_there, opened

SLEEPS = "!echo $$ >> pids; exec sleep 1000"


async def began(stage: Stage, cwd: Path) -> int:
    """The process that the command is."""
    pids = cwd / "pids"
    await stage.until(lambda: pids.exists() and pids.read_text().endswith("\n"))
    (pid,) = pids.read_text().split()
    return int(pid)


async def test_a_command_ends_with_its_tab(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, version=1) as stage:
        first = stage.tab
        await stage.press("ctrl+n")
        await stage.until(lambda: stage.tab is not first and stage.tab.is_open)
        second = stage.tab
        await stage.send(SLEEPS)
        pid = await began(stage, tmp_path)
        await stage.press("alt+w")
        await stage.until(lambda: not is_there(pid))
        await stage.until(lambda: not stage.app.shell.is_running(second))
        assert stage.tab is first


async def test_of_two_commands_at_once_the_second_is_refused_and_stays_in_the_prompt(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, version=1) as stage:
        stage.app.prompt_controller.submit(SLEEPS)
        stage.app.prompt.set_text("!echo other")
        stage.app.prompt_controller.submit("!echo other")
        assert stage.prompt == "!echo other"
        await stage.shows("A shell command is running; Esc stops it.")
        assert [block.command for block in stage.tab.conversation.blocks if isinstance(block, ShellBlock)] == [
            SLEEPS[1:]
        ]
        pid = await began(stage, tmp_path)
        await stage.press("escape")
        await stage.shows("ended by SIGTERM")
        assert not is_there(pid)
        assert not stage.app.shell.is_running(stage.tab)


async def test_a_command_that_is_stopped_before_it_runs_is_ended(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, version=1) as stage:
        stage.app.prompt_controller.submit("!sleep 1000")
        stage.app.action_stop()
        await stage.until(lambda: not stage.app.shell.is_running(stage.tab))
        await stage.shows("ended by SIGTERM")


async def test_a_command_ends_with_the_screen(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, version=1) as stage:
        await stage.send(SLEEPS)
        pid = await began(stage, tmp_path)
    assert not is_there(pid)


async def test_a_command_that_can_not_be_started_says_why_and_another_may_follow(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, version=1) as stage:
        stage.tab.cwd = str(tmp_path / "gone")
        await stage.send("!pwd")
        await stage.until(lambda: not stage.app.shell.is_running(stage.tab))
        await stage.shows("! pwd", "gone")
        stage.tab.cwd = str(tmp_path)
        await stage.send("!exit 3")
        await stage.shows("exit 3")
