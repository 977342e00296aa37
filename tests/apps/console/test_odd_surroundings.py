"""`accord run` where the system is not as one would like it: names that are no text, a disk that is full."""

from __future__ import annotations

import os
import sys

import pytest

from accord.apps.console.errors import ConsoleFailed, ExitStatus, to_console_failed
from accord.apps.console.prompt_history import PromptHistory
from accord.apps.console.run import one_prompt
from accord.apps.console.run.program import _run
from accord.testing import ScriptedAgent, program

linux = pytest.mark.skipif(sys.platform != "linux", reason="names are text elsewhere")


def answering() -> ScriptedAgent:
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("ok"))
    return agent


@linux
async def test_a_prompt_that_is_no_text_becomes_one(typed):
    agent = answering()
    async with program(agent) as command:
        finished = await typed("run", "-q", os.fsdecode(b"h\xffi"), "--", *command.args)
    assert (finished.status, finished.out, finished.err) == (0, "ok\n", "")
    assert agent.calls("session/prompt")[0].params["prompt"][0]["text"] == "h�i"


@linux
async def test_a_directory_whose_name_is_no_text_is_refused_in_words(typed, project):
    directory = project / os.fsdecode(b"d\xff")
    directory.mkdir()
    finished = await typed("run", "--json", "Hi", cwd=directory)
    assert (finished.status, finished.out) == (2, "")
    assert "its name is no UTF-8" in finished.err
    assert "Traceback" not in finished.err


@linux
async def test_a_file_whose_name_is_no_text_can_be_attached(typed, project):
    (project / os.fsdecode(b"f\xff.txt")).write_text("hello")
    agent = ScriptedAgent(1, agentCapabilities={})
    agent.on("session/prompt", agent.reply("ok"))
    async with program(agent) as command:
        finished = await typed("run", "-q", "--file", os.fsdecode(b"f\xff.txt"), "Hi", "--", *command.args)
    assert (finished.status, finished.err) == (0, "")
    assert agent.calls("session/prompt")[0].params["prompt"][1]["name"] == "f�.txt"


def test_the_history_keeps_what_is_no_text(tmp_path):
    prompts, place = PromptHistory(tmp_path), tmp_path / "d\udcff"
    prompts.add("a\udcff", place, "s1", "h\udcffi")
    assert prompts.last_session("a\udcff", place) == "s1"
    assert prompts.entries()[0].text == "h�i"


async def test_what_nobody_has_foreseen_still_ends_the_run_in_order(monkeypatch, capfd, project, home):
    from accord.apps.console.known_agents import find_agent
    from accord.cli.environment import load_environment

    async def broken(*_: object) -> str:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(one_prompt, "read_stdin", broken)
    around = load_environment(project)
    agent = find_agent(None, ["nothing"], around)
    asked = one_prompt.RunOptions(agent=agent, environment=around, cwd=project, prompt=None, output_format="json")
    assert await _run(asked) == ExitStatus.FAILED
    out, err = capfd.readouterr()
    assert '"type":"end"' in out
    assert '"exit":1' in out
    assert err.startswith("accord: accord itself failed: ZeroDivisionError: oh (test_odd_surroundings.py, line ")


def test_a_failure_stays_what_it_is():
    failed = ConsoleFailed("no")
    assert to_console_failed(failed) is failed
    assert to_console_failed(OSError("disk")).reason == "disk"


@linux
@pytest.mark.parametrize("words", [(), ("--json",), ("--format", "v1")], ids=["text", "json", "v1"])
async def test_a_full_disk_is_said_and_is_a_failure(typed, words):
    agent = answering()
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        async with program(agent) as command:
            finished = await typed("run", "-q", *words, "Hi", "--", *command.args, stdout=full)
    finally:
        os.close(full)
    assert finished.status == ExitStatus.FAILED
    assert "accord: stdout can't be written: No space left on device" in finished.err
