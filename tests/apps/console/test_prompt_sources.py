"""Where the prompt of `accord run` comes from, and which words of its command line are refused."""

from __future__ import annotations

import os

import pytest

from accord.apps.console.attachments import MOST_BYTES
from accord.testing import ScriptedAgent, program


def answering() -> ScriptedAgent:
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("ok"))
    return agent


def types_of(agent: ScriptedAgent) -> list[str]:
    return [block["type"] for block in agent.calls("session/prompt")[0].params["prompt"]]


async def test_stdin_is_the_prompt_also_when_a_file_is_attached(typed):
    agent = answering()
    async with program(agent) as command:
        finished = await typed("run", "-q", "--file", "notes.md", "--", *command.args, stdin=b"What is wrong?\n")
    assert finished.status == 0
    assert types_of(agent) == ["text", "resource"]
    assert agent.calls("session/prompt")[0].params["prompt"][0]["text"] == "What is wrong?\n"


async def test_an_empty_stdin_leaves_the_attached_file_alone(typed):
    agent = answering()
    async with program(agent) as command:
        finished = await typed("run", "-q", "--file", "notes.md", "--", *command.args)
    assert finished.status == 0
    assert types_of(agent) == ["resource"]


async def test_a_prompt_that_takes_long_to_come_is_waited_for_and_that_is_said(start):
    agent = answering()
    reader, writer = os.pipe()
    async with program(agent) as command:
        process = await start("run", "--", *command.args, stdin=reader)
        os.close(reader)
        assert await process.stderr.readline() == b"the prompt is read from stdin, to its end\xe2\x80\xa6\n"
        os.write(writer, b"At last")
        os.close(writer)
        out, _ = await process.communicate()
    assert (process.returncode, out) == (0, b"ok\n")


async def test_a_prompt_file_that_says_minus_is_a_prompt_of_one_minus(typed, project):
    (project / "prompt").write_text("-")
    agent = answering()
    async with program(agent) as command:
        finished = await typed("run", "-q", "--prompt-file", "prompt", "--", *command.args, stdin=b"not this")
    assert finished.status == 0
    assert agent.calls("session/prompt")[0].params["prompt"] == [{"type": "text", "text": "-"}]


async def test_a_stdin_that_is_too_long_is_refused_with_advice_that_helps(typed):
    finished = await typed("run", "-q", stdin=b"x" * (MOST_BYTES + 1))
    assert finished.status == 2
    assert "longer than 16 MiB" in finished.err
    assert "name that in the prompt" in finished.err


@pytest.mark.parametrize("words", [["--session="], ["--resume", " "]])
async def test_an_empty_session_id_is_no_session(typed, words):
    finished = await typed("run", *words, "Hi")
    assert (finished.status, finished.out) == (2, "")
    assert "--session needs the ID of a session" in finished.err


@pytest.mark.parametrize("text", ["0", "-1", "abc", "nan", "inf"])
async def test_a_timeout_that_is_none_is_refused_in_words(typed, text):
    finished = await typed("run", f"--timeout={text}", "Hi")
    assert finished.status == 2
    assert f"--timeout: {text!r} is no time: give it in seconds, more than 0" in finished.err
