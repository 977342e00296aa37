"""The program's own slash commands in `accord --plain`, unknown ones, and Ctrl+C."""

from __future__ import annotations

import sys

import pytest

from accord.apps.console.line_commands import MEANINGS
from accord.apps.console.slash_commands import OWN_COMMANDS
from accord.session.entities import Diff, FileChange
from accord.session.updates import ToolCallPatch
from accord.testing import ScriptedAgent, program

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.apps.console.terminal import left, plainly, prompted
from tests.apps.console.test_plain import remembering


def test_the_line_mode_has_the_commands_that_every_agent_gets():
    assert (
        {"help", "new", "clear", "resume", "undo", "diff", "export", "quit", "exit"}
        == set(MEANINGS)
        <= set(OWN_COMMANDS)
    )


async def test_an_unknown_command_is_sent_when_it_is_typed_again(project):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("As you say."))
    async with program(agent) as command, plainly(command, cwd=project) as (terminal, accord):
        await prompted(terminal, "/exprt it")
        await terminal.sees("No such command: /exprt; did you mean /export? Type it again to send it as text.")
        await prompted(terminal, "/usr/bin is a path")
        await terminal.sees("Answer: As you say.")
        await prompted(terminal, "/exprt it")
        await terminal.sees("No such command")
        await prompted(terminal, "/exprt it")
        await terminal.sees("Answer: As you say.")
        await left(terminal, accord)
    texts = [call.params["prompt"][0]["text"] for call in agent.calls("session/prompt")]
    assert texts == ["/usr/bin is a path", "/exprt it"]


async def test_help_lists_the_commands_of_both_and_the_agents_own_help_has_a_prefix(project):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("My help."))
    agent.on("session/new", _with_commands(agent))
    async with program(agent) as command, plainly(command, cwd=project) as (terminal, accord):
        await prompted(terminal, "/help")
        for line in ("/look: Look around\r\n", "/agent:help: Its help  (agent)", "/quit: quit accord  (accord)"):
            await terminal.sees(line)
        await prompted(terminal, "/agent:help")
        await terminal.sees("Answer: My help.")
        await prompted(terminal, "/theme")
        await terminal.sees("/theme is a command of the screen")
        await prompted(terminal, "/exit")
        assert await accord.wait() == 0
    assert [call.params["prompt"][0]["text"] for call in agent.calls("session/prompt")] == ["/help"]


def _with_commands(agent):
    def new(asked):
        commands = [{"name": "look", "description": "Look around"}, {"name": "help", "description": "Its help"}]
        agent.update("available_commands_update", session_id="s", availableCommands=commands)
        return {"sessionId": "s"}

    return new


async def test_new_begins_another_session_and_resume_lists_the_earlier_ones(project):
    agent = remembering()
    agent._handshake["agentCapabilities"]["sessionCapabilities"]["list"] = {}
    agent.on("session/list", {"sessions": [{"sessionId": "given", "cwd": str(project), "title": "Counting"}]})
    async with program(agent) as command, plainly(command, cwd=project) as (terminal, accord):
        await prompted(terminal, "/new at once")
        await terminal.sees("/new takes no text after it.")
        await prompted(terminal, "/new")
        await terminal.sees("Session ")
        assert len(agent.calls("session/new")) == 2
        await prompted(terminal, "/resume")
        await terminal.sees("Counting")
        await terminal.sees("Enter for none: ")
        terminal.type("1\n")
        await terminal.sees("Answer: It is two.")
        await prompted(terminal, "Go on")
        await terminal.sees("Answer: Done.")
        await left(terminal, accord)
    assert agent.calls("session/prompt")[0].params["sessionId"] == "given"


async def test_diff_shows_what_was_changed_and_export_writes_a_file_once(project):
    agent = ScriptedAgent(1)

    def edit(asked):
        change = FileChange("modify", str(project / "a.txt"), old_text="one\n", new_text="two\n")
        agent.tell(
            ToolCallPatch(id="c", title="Edit", kind="edit", status="completed", content=[Diff(changes=[change])])
        )
        agent.finish(asked)

    agent.on("session/prompt", edit)
    async with program(agent) as command, plainly(command, cwd=project) as (terminal, accord):
        await prompted(terminal, "/diff")
        await terminal.sees("No files changed yet.")
        await prompted(terminal, "Edit")
        await prompted(terminal, "/diff")
        await terminal.sees("1 file changed:\r\n  a.txt")
        await terminal.sees("-one\r\n+two")
        await prompted(terminal, "/export talk.md")
        await terminal.sees(f"Written to {project / 'talk.md'}")
        await prompted(terminal, "/export talk.md")
        await terminal.sees("Cannot write")
        await terminal.sees("File exists")
        await left(terminal, accord)
    assert "### Edit (edit, completed)" in (project / "talk.md").read_text(encoding="utf-8")


async def test_ctrl_c_leaves_when_it_is_pressed_twice_at_the_prompt(project):
    async with program(ScriptedAgent(1)) as command, plainly(command, cwd=project) as (terminal, accord):
        await terminal.sees("You: ")
        terminal.type("\x03")
        await terminal.sees("Press Ctrl-C again to quit.")
        await terminal.sees("You: ")
        assert accord.returncode is None
        terminal.type("\x03")
        assert await accord.wait() == 0


def _writer(project):
    agent = ScriptedAgent(1)
    counts: list[int] = []

    def write(asked):
        counts.append(1)
        (project / "notes.txt").write_text(f"version {len(counts)}\n")
        agent.say("Written.")
        agent.finish(asked)

    agent.on("session/prompt", write)
    return agent


async def test_undo_shows_what_would_change_and_goes_back_to_the_files_before_a_turn(project):
    notes = project / "notes.txt"
    notes.write_text("version 0\n")
    async with program(_writer(project)) as command, plainly(command, cwd=project) as (terminal, accord):
        await prompted(terminal, "/undo")
        await terminal.sees("There is no turn to go back to yet.")
        for text in ("first", "second"):
            await prompted(terminal, text)
            await terminal.sees("Answer: Written.")
        await prompted(terminal, "/undo")
        await terminal.sees("1  ")
        await terminal.sees("  second")
        await terminal.sees("  first")
        await terminal.sees("1-2, or Enter for none: ")
        terminal.type("2\n")
        await terminal.sees("1 file: 1 changed back")
        await terminal.sees("-version 2")
        await terminal.sees("+version 0")
        await terminal.sees("y goes back, Enter does nothing: ")
        terminal.type("\n")
        await prompted(terminal, "/undo")
        await terminal.sees("none: ")
        assert notes.read_text() == "version 2\n"
        terminal.type("2\n")
        await terminal.sees("y goes back")
        terminal.type("y\n")
        await terminal.sees("Went back to before “first”, 1 file: 1 changed back. The agent's memory does not change")
        assert notes.read_text() == "version 0\n"
        await prompted(terminal, "/undo")
        await terminal.sees("undo: first")
        await terminal.sees("none: ")
        terminal.type("1\n")
        await terminal.sees("y goes back")
        terminal.type("y\n")
        await terminal.sees("Went back")
        assert notes.read_text() == "version 2\n"
        await left(terminal, accord)


async def test_undo_keeps_a_file_that_was_edited_after_the_turn_unless_it_is_to_be_overwritten(project):
    notes, mine = project / "notes.txt", project / "mine.txt"
    mine.write_text("mine\n")
    async with program(_writer(project)) as command, plainly(command, cwd=project) as (terminal, accord):
        await prompted(terminal, "first")
        await terminal.sees("Answer: Written.")
        await prompted(terminal, "/undo")
        await terminal.sees("none: ")
        terminal.type("1\n")
        await terminal.sees("y goes back, Enter does nothing: ")  # the checkpoint of the end of the turn is there, too
        terminal.type("\n")
        mine.write_text("edited\n")
        for answer, kept in (("y", "edited\n"), ("o", "mine\n")):
            await prompted(terminal, "/undo")
            await terminal.sees("none: ")
            terminal.type("1\n" if answer == "y" else "2\n")
            await terminal.sees("You have edited these after the turn:")
            await terminal.sees("o overwrites them, Enter does nothing: ")
            terminal.type(f"{answer}\n")
            await terminal.sees("Went back to before “first”")
            assert mine.read_text() == kept
            assert not notes.exists()
        await left(terminal, accord)


async def test_undo_says_that_checkpoints_are_turned_off(project, monkeypatch):
    monkeypatch.setenv("ACCORD_CHECKPOINTS", "false")
    async with program(_writer(project)) as command, plainly(command, cwd=project) as (terminal, accord):
        await prompted(terminal, "/undo")
        await terminal.sees(
            "Checkpoints are turned off: set checkpoints = true in config.toml, or ACCORD_CHECKPOINTS=true."
        )
        await left(terminal, accord)
