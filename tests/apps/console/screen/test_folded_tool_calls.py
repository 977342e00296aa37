"""A folded tool call tells the command or the files below its title, where the title does not."""

from __future__ import annotations

from typing import Any

import pytest

from accord.apps.console.screen.export import as_markdown
from accord.session import Transcript
from accord.session.entities import Diff, Exit, FileChange, Location, TerminalItem
from accord.session.updates import TerminalPatch, ToolCallPatch
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened


async def story_of(tmp_path: Any, version: Any, *reports: Any) -> list[str]:
    agent = ScriptedAgent(version)

    def answer(asked: Any) -> None:
        agent.begin(asked)
        for report in reports:
            agent.tell(report)
        agent.say("Over.")
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go")
        await stage.idle()
        lines = [line.strip() for line in stage.conversation.splitlines()]
        start = next(place for place, line in enumerate(lines) if "scripted description" in line)
        return [line for line in lines[start:] if line and line != "Over."]


async def test_the_command_is_told_below_the_title(tmp_path, version):
    """copilot: the title is the model's description of what it does."""
    raw = {"command": "echo hi &&\necho you", "description": "scripted description"}
    call = ToolCallPatch(id="c", title="scripted description", kind="execute", status="in_progress", raw_input=raw)
    done = ToolCallPatch(id="c", status="completed")
    assert await story_of(tmp_path, version, call, done) == ["✓ $ scripted description", "$ echo hi &&␊echo you"]


async def test_the_command_of_a_terminal_that_has_ended_is_told(tmp_path):
    """codex in v2."""
    call = ToolCallPatch(id="c", title="scripted description", kind="execute", content=[TerminalItem(terminal_id="t")])
    terminal = TerminalPatch(id="t", command="echo hi", cwd=str(tmp_path), exit=Exit(code=0))
    told = await story_of(tmp_path, 2, terminal, call, ToolCallPatch(id="c", status="completed"))
    assert told == ["✓ $ scripted description  exit 0", "$ echo hi"]


async def test_the_command_of_a_terminal_that_runs_is_told_once(tmp_path):
    raw = {"command": "sleep 60"}
    call = ToolCallPatch(
        id="c", title="scripted description", kind="execute", raw_input=raw, content=[TerminalItem(terminal_id="t")]
    )
    told = await story_of(tmp_path, 2, TerminalPatch(id="t", command="sleep 60", cwd=str(tmp_path)), call)
    assert told[1:] == ["$ sleep 60"]


async def test_a_command_in_the_title_is_not_told_again(tmp_path, version):
    call = ToolCallPatch(
        id="c", title="scripted description: `make all`", status="completed", raw_input={"command": "make all"}
    )
    assert await story_of(tmp_path, version, call) == ["✓ • scripted description: `make all`"]


@pytest.mark.parametrize("places", [[], [Location(path="{cwd}/notes.md")]], ids=["diff alone", "diff and place"])
async def test_the_file_of_a_diff_is_told_beside_the_title(tmp_path, places):
    change = FileChange(operation="modify", path=str(tmp_path / "notes.md"), old_text="a\n", new_text="b\n")
    locations = [Location(path=place.path.format(cwd=tmp_path)) for place in places]
    call = ToolCallPatch(
        id="c",
        title="scripted description",
        kind="edit",
        status="completed",
        content=[Diff(changes=[change])],
        locations=locations,
    )
    told = await story_of(tmp_path, 1, call)
    assert told[0].startswith("✓ ✎ scripted description  notes.md  +1")


def test_what_is_exported_tells_the_command_once():
    told, transcript = ToolCallPatch(id="c", title="Build", raw_input={"command": ["sh", "-c", "make"]}), Transcript()
    transcript.apply(told)
    assert "### Build (other, pending)\n\n```console\n$ sh -c make\n```" in as_markdown(transcript)
    transcript.apply(TerminalPatch(id="t", command="make", output=b"done\n"))
    transcript.apply(ToolCallPatch(id="c", content=[TerminalItem(terminal_id="t")]))
    assert as_markdown(transcript).count("$ ") == 1
