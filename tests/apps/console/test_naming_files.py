"""Names of files in the words of a command line and in the prompts of the plain mode, also those that can be none."""

from __future__ import annotations

import os
import sys

import pytest

from accord.apps.console.errors import ExitStatus
from accord.testing import ScriptedAgent, program
from tests.apps.console.terminal import at_terminal

NOBODY = "~nobody-of-this-name/x"
LONG = "x" * 300


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cwd", NOBODY, "Hi"], f"{NOBODY} is no directory"),
        (["--cwd", LONG, "Hi"], f"{LONG} is no directory"),
        (["--file", NOBODY, "Hi"], f"{NOBODY} can't be read: No such file"),
        (["--image", f"{NOBODY}.png", "Hi"], f"{NOBODY}.png can't be read: No such file"),
        (["--prompt-file", NOBODY], f"{NOBODY} can't be read: No such file"),
    ],
)
async def test_what_is_no_file_is_refused_in_words(typed, words, said):
    finished = await typed("run", *words)
    assert (finished.status, finished.out) == (ExitStatus.USAGE, "")
    assert said in finished.err
    assert "accord itself failed" not in finished.err


@pytest.mark.parametrize("name", [NOBODY, f"./{LONG}"])
async def test_an_agent_of_such_a_name_is_not_there(typed, name):
    finished = await typed("run", "Hi", "--", name)
    assert finished.status == ExitStatus.NOT_FOUND
    assert "is not there" in finished.err


async def test_an_agent_of_the_settings_with_such_a_name_is_not_there_and_harms_no_other(typed, home):
    (home / "config.toml").write_text(f'[agents.odd]\ncommand = "{NOBODY}"\n')
    finished = await typed("agents")
    assert (finished.status, finished.err) == (0, "")
    finished = await typed("run", "--agent", "odd", "Hi")
    assert finished.status == ExitStatus.NOT_FOUND
    assert "is not there" in finished.err


@pytest.mark.skipif(sys.platform == "win32", reason="has no pipes with names")
async def test_the_plain_mode_sends_such_names_as_text_and_links_a_pipe(project):
    os.mkfifo(project / "pipe")
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("Yes."))
    texts = [f"@{NOBODY} please look", f"@{LONG}", "see @pipe"]
    async with program(agent) as command, at_terminal("--plain", "--", *command.args, cwd=project) as (terminal, run):
        for text in texts:
            await terminal.sees("You: ")
            terminal.type(f"{text}\n")
            await terminal.sees("Answer: Yes.")
        await terminal.sees("You: ")
        terminal.type("/quit\n")
        assert await run.wait() == 0
    contents = [call.params["prompt"] for call in agent.calls("session/prompt")]
    assert [content[0]["text"] for content in contents] == texts
    assert [[block["type"] for block in content[1:]] for content in contents] == [[], [], ["resource_link"]]
