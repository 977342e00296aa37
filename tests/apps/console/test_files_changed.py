"""The files that `accord run --json` names at its end: written through us, or shown in a diff of a completed call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord.session.entities import Diff, FileChange
from accord.session.updates import ToolCallAppend, ToolCallPatch
from accord.session.value import UNSET
from accord.testing import ScriptedAgent, program
from tests.apps.console.real_peers import Turn, does, goose_write, kimi_write, opencode_write, write

OLD, NEW = "# Notes\n\nBuy milk.\n", "# Notes\n\nBuy bread.\n"


async def changed(typed: Any, agent: ScriptedAgent, *words: str) -> list[str]:
    async with program(agent) as command:
        finished = await typed("run", "--json", "--permissions", *(words or ("allow-all",)), "Hi", "--", *command.args)
    return finished.event("end")["files_changed"]


@pytest.mark.parametrize("writes", [True, False], ids=["through us", "by itself"])
@pytest.mark.parametrize("peer", [opencode_write, kimi_write])
async def test_a_diff_that_was_shown_counts_although_the_last_update_replaced_it(typed, project, peer, writes):
    """FN-105: opencode and kimi-code end a call with words in the place of its diff, or never show one at the end."""
    path = project / "notes.md"
    agent = does(ScriptedAgent(1), peer(path, OLD, NEW, writes=writes))
    assert await changed(typed, agent) == [str(path)]


async def test_a_write_through_us_counts_whatever_is_said_of_it(typed, project):
    """FN-105: the agent shows no diff at all."""

    async def silently(agent: ScriptedAgent) -> bool:
        return await write(agent, project / "new.txt", "new\n")

    agent = does(ScriptedAgent(1), silently, goose_write(project / "notes.md", OLD, NEW))
    assert await changed(typed, agent) == [str(project / "new.txt"), str(project / "notes.md")]


def shown(path: Path, status: str, *, then: Any = UNSET) -> Turn:
    async def turn(agent: ScriptedAgent) -> bool:
        diff = Diff(changes=[FileChange(operation="modify", path=str(path), old_text=OLD, new_text=NEW)])
        agent.tell(ToolCallPatch(id=path.name, title="Edit", kind="edit", status="in_progress", content=[diff]))
        agent.tell(ToolCallPatch(id=path.name, status=status, content=then))
        return True

    return turn


@pytest.mark.parametrize("then", [UNSET, []], ids=["kept", "cleared"])
async def test_only_a_call_that_was_completed_has_changed_anything(typed, project, version, then):
    statuses = {"done.py": "completed", "failed.py": "failed", "open.py": "in_progress", "also.py": "completed"}
    turns = [shown(project / name, status, then=then) for name, status in statuses.items()]
    agent = ScriptedAgent(version)

    async def answer(asked: Any) -> None:
        agent.begin(asked)
        for turn in turns:
            await turn(agent)
        agent.finish(asked)

    agent.on("session/prompt", answer)
    assert await changed(typed, agent) == [str(project / "done.py"), str(project / "also.py")]


async def test_files_are_named_once_and_by_their_whole_path(typed, project):
    async def turn(agent: ScriptedAgent) -> bool:
        diff = {"type": "diff", "path": "notes.md", "oldText": OLD, "newText": NEW}
        agent.update("tool_call", toolCallId="c", title="Edit", status="completed", content=[diff])
        return await write(agent, project / "notes.md", NEW)

    assert await changed(typed, does(ScriptedAgent(1), turn)) == [str(project / "notes.md")]


async def test_what_was_rejected_has_changed_nothing(typed, project):
    agent = does(ScriptedAgent(1), opencode_write(project / "notes.md", OLD, NEW))
    assert await changed(typed, agent, "reject") == []


async def test_a_piece_of_a_call_counts_like_its_content(typed, project):
    agent = ScriptedAgent(2)

    async def answer(asked: Any) -> None:
        agent.begin(asked)
        diff = Diff(changes=[FileChange(operation="add", path=str(project / "a.py"), new_text="x\n")])
        agent.tell(ToolCallPatch(id="c", title="Edit", status="in_progress"))
        agent.tell(ToolCallAppend(id="c", item=diff))
        agent.tell(ToolCallPatch(id="c", status="completed", content=[]))
        agent.finish(asked)

    agent.on("session/prompt", answer)
    assert await changed(typed, agent) == [str(project / "a.py")]
