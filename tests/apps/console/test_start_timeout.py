"""How long an agent may take to answer at its start, and what is said meanwhile."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.apps.console.agent_process import StartProgress
from accord.apps.console.errors import ExitStatus
from accord.testing import ScriptedAgent, Silent, faulty, program
from tests.virtual_clock import run

SHORT = "1.75"
"""Longer than it takes until the start is mentioned."""


def silent() -> Any:
    return faulty(ScriptedAgent(1), Silent("initialize"))


def watched(seconds: float, limit: float | None, **options: Any) -> list[str]:
    told: list[str] = []

    async def main() -> None:
        with StartProgress("slow", limit, told.append, **options):
            await asyncio.sleep(seconds)
        await asyncio.sleep(1000)

    run(main())
    return told


def test_an_agent_that_starts_at_once_is_not_mentioned():
    assert watched(1.4, 60) == []
    assert watched(9, 60, is_announced=True) == []


def test_who_waits_is_told_so_every_ten_seconds():
    assert watched(25, 90) == [
        "starting 'slow'…",
        "starting 'slow': no answer yet after 10 s, of 90 s that --start-timeout gives it",
        "starting 'slow': no answer yet after 20 s, of 90 s that --start-timeout gives it",
    ]
    assert watched(12, None, is_announced=True) == ["starting 'slow': no answer yet after 10 s"]


async def test_run_waits_as_long_as_it_is_told_and_says_that_it_waits(typed: Any):
    async with program(silent()) as command:
        finished = await typed("run", "--start-timeout", SHORT, "Hi", "--", *command.args)
    assert finished.status == ExitStatus.TIMEOUT
    assert "starting 'python" in finished.err
    assert f"did not answer `initialize` within {SHORT} s" in finished.err
    assert "; --start-timeout gives it more time" in finished.err


async def test_the_time_of_the_whole_run_is_another_option(typed: Any):
    async with program(silent()) as command:
        finished = await typed("run", "--timeout", SHORT, "Hi", "--", *command.args)
    assert finished.status == ExitStatus.TIMEOUT
    assert "; --timeout gives it more time" in finished.err


@pytest.mark.parametrize("words", [["run", "Hi"], ["sessions"], ["agents"]], ids=lambda words: words[0])
@pytest.mark.parametrize("way", ["file", "variable"])
async def test_it_can_be_set_for_all_commands(typed: Any, home: Path, monkeypatch: Any, words: list[str], way: str):
    if way == "file":
        (home / "config.toml").write_text(f"start_timeout = {SHORT}\n")
    else:
        monkeypatch.setenv("ACCORD_START_TIMEOUT", SHORT)
    async with program(silent()) as command:
        finished = await typed(*words, "--", *command.args)
    assert finished.status == ExitStatus.TIMEOUT
    assert f"within {SHORT} s" in finished.err
    assert "starting 'python" in finished.err


async def test_the_option_wins_over_the_setting(typed: Any, home: Path):
    (home / "config.toml").write_text("start_timeout = 1000\n")
    async with program(silent()) as command:
        finished = await typed("run", "--start-timeout", SHORT, "Hi", "--", *command.args)
    assert f"within {SHORT} s" in finished.err


@pytest.mark.parametrize("given", ["0", "-1", "soon", "inf"])
async def test_what_is_no_time_is_refused(typed: Any, given: str):
    finished = await typed("run", f"--start-timeout={given}", "Hi")
    assert (finished.status, "is no time" in finished.err) == (ExitStatus.USAGE, True)


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
async def test_the_plain_mode_and_the_screen_take_it_as_well(project: Path):
    from tests.apps.console.terminal import at_terminal  # not on Windows

    async with program(silent()) as command:
        words = ("--start-timeout", SHORT, "--", *command.args)
        async with at_terminal("--plain", *words, cwd=project) as (terminal, accord):
            await terminal.sees("Starting python")
            await terminal.sees(f"did not answer `initialize` within {SHORT} s")
            assert await accord.wait() == ExitStatus.TIMEOUT
        async with at_terminal(*words, cwd=project) as (terminal, accord):
            await terminal.sees("starting…")
            await terminal.sees(f"within {SHORT} s")
            await terminal.sees("--start-timeout")
            terminal.type("\x11")
            await accord.wait()
