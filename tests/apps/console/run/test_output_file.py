"""`accord run --output FILE`: the file has all of the answer or is as it was before."""

from __future__ import annotations

import json
import os
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from accord.apps.console.errors import ConsoleFailed, ExitStatus, InvalidUsage
from accord.apps.console.run.output_stream import OutputFile
from accord.testing import ScriptedAgent, program


def answering(text: str = "Hello", stop_reason: str = "end_turn") -> ScriptedAgent:
    agent = ScriptedAgent(2)

    def answer(asked: Any) -> None:
        agent.begin(asked)
        agent.say(text)
        agent.finish(asked, stop_reason)

    agent.on("session/prompt", answer)
    return agent


async def test_the_answer_is_written_and_stdout_stays_empty(typed, project: Path):
    async with program(answering()) as command:
        finished = await typed("run", "Hi", "--output", "answer.md", "--", *command.args)
    assert (finished.status, finished.out) == (0, "")
    assert (project / "answer.md").read_text() == "Hello\n"
    assert sorted(os.listdir(project)) == [".git", "answer.md", "notes.md"]  # noqa: PTH208


async def test_an_answer_that_was_cut_off_is_written_with_its_status(typed, project: Path):
    async with program(answering(stop_reason="max_tokens")) as command:
        finished = await typed("run", "Hi", "--output", "answer.md", "--", *command.args)
    assert finished.status == ExitStatus.MAX_TOKENS
    assert (project / "answer.md").read_text() == "Hello\n"


async def test_events_are_written_also_when_the_run_fails(typed, project: Path):
    agent = ScriptedAgent(2)
    agent.on("session/prompt", lambda asked: asked.fail(-32603, "The model is down"))
    async with program(agent) as command:
        finished = await typed("run", "--json", "Hi", "--output", "events.jsonl", "--", *command.args)
    assert (finished.status, finished.out) == (1, "")
    events = [json.loads(line) for line in (project / "events.jsonl").read_text().splitlines()]
    assert (events[0]["type"], events[-1]["type"], events[-1]["exit"]) == ("start", "end", 1)


async def test_without_a_whole_answer_the_file_is_as_it_was(start, project: Path):
    (project / "answer.md").write_text("old")
    agent = ScriptedAgent(2)
    said: list[Any] = []

    def answer(asked: Any) -> None:
        agent.begin(asked)
        agent.say("Half of")
        said.append(asked)

    agent.on("session/prompt", answer)
    agent.on("session/cancel", lambda asked: agent.finish(said[0], "cancelled"))
    async with program(agent) as command:
        process = await start("run", "Hi", "--output", "answer.md", "--", *command.args)
        await agent.seen("session/prompt")
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
    assert process.returncode == ExitStatus.INTERRUPTED
    assert (project / "answer.md").read_text() == "old"
    assert out == b"Half of\n"
    assert b"accord: answer.md was not written: there is no whole answer\n  What the agent said" in err


async def test_a_pipe_is_written_as_it_comes(typed, project: Path):
    async with program(answering()) as command:
        finished = await typed("run", "Hi", "--output", "/dev/stdout", "--", *command.args)
    assert (finished.status, finished.out) == (0, "Hello\n")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("missing/answer.md", "missing is no directory"),
        (".", "is a directory"),
        ("locked.md", "locked.md can't be written: Permission denied"),
    ],
)
async def test_what_can_not_be_written_is_said_before_the_agent_is_started(typed, project: Path, given, said):
    (project / "locked.md").write_text("old")
    (project / "locked.md").chmod(0o444)
    if given == "locked.md" and os.geteuid() == 0:
        pytest.skip("root may write everything")
    finished = await typed("run", "Hi", "--output", given, "--", "false")
    assert finished.status == 2
    assert finished.err.startswith("accord: --output: ")
    assert said in finished.err


class TestAFile:
    def test_keeps_its_permissions_and_is_written_through_a_link(self, tmp_path: Path):
        (tmp_path / "real").write_text("old")
        (tmp_path / "real").chmod(0o640)
        (tmp_path / "link").symlink_to("real")
        with OutputFile(tmp_path / "link") as file:
            os.write(file.descriptor, b"new")
            assert (tmp_path / "real").read_text() == "old"
            file.replace()
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real").read_text() == "new"
        assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o640

    def test_that_can_not_be_replaced_at_the_end_is_printed(self, tmp_path: Path, capfd):
        (tmp_path / "sub").mkdir()
        with OutputFile(tmp_path / "sub" / "answer.md") as file:
            os.write(file.descriptor, b"dear answer")
            (tmp_path / "sub").rmdir()
            with pytest.raises(ConsoleFailed, match="No such file or directory"):
                file.replace()
            assert file.print()
        assert capfd.readouterr().out == "dear answer"

    def test_needs_a_directory(self, tmp_path: Path):
        with pytest.raises(InvalidUsage, match="is no directory"):
            OutputFile(tmp_path / "a" / "b")
