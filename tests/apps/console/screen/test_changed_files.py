"""F4 and the status line count each file that was changed, however its agent tells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.apps.console.screen.drawing.diffs import MINUS
from accord.testing import ScriptedAgent
from tests.apps.console.real_peers import does, goose_write, kimi_write, opencode_write, write
from tests.apps.console.screen.stage import opened

OLD, NEW = "# Notes\n\nBuy milk.\n", "# Notes\n\nBuy bread.\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.md"
    path.write_text(OLD)
    return path


@pytest.mark.parametrize("writes", [True, False], ids=["through us", "by itself"])
@pytest.mark.parametrize("peer", [opencode_write, kimi_write])
async def test_a_diff_that_was_shown_counts_although_the_last_update_replaced_it(notes, peer, writes):
    """FN-105: the last update of a call replaces its diff; what was written is listed once, not once for each telling."""
    agent = does(ScriptedAgent(1), peer(notes, OLD, NEW, writes=writes))
    async with opened(agent, notes.parent, version=1, permissions="allow-all") as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.shows("1 file changed F4 shows")
        await stage.press("f4")
        await stage.shows("1 changed file", f"notes.md  +1 {MINUS}1", "Buy bread.")


async def test_a_diff_that_comes_after_the_write_is_not_a_second_change(notes):
    """FN-105: goose shows its diff only when it has written."""
    agent = does(ScriptedAgent(1), goose_write(notes, OLD, NEW))
    async with opened(agent, notes.parent, version=1, permissions="allow-all") as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.press("f4")
        await stage.shows("1 changed file", f"notes.md  +1 {MINUS}1")


async def test_writes_that_no_call_tells_are_listed_with_what_they_replaced(notes):
    async def silently(agent: ScriptedAgent) -> bool:
        await write(agent, notes, NEW)
        await write(agent, notes.parent / "new.txt", "one\ntwo\n")
        return await write(agent, notes, NEW + "More.\n")

    async with opened(does(ScriptedAgent(1), silently), notes.parent, version=1) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.shows("2 files changed")
        await stage.press("f4")
        await stage.shows("2 changed files", f"notes.md  +2 {MINUS}1", "new.txt  +2", "Buy bread.", "More.")


async def test_fragments_of_one_write_are_one_change(notes):
    """FN-105: an edit shows what it replaced, and not the whole file; a call of two edits writes once."""

    async def edits(agent: ScriptedAgent) -> bool:
        pieces = [("# Notes", "# News"), ("milk", "bread")]
        diffs = [{"type": "diff", "path": "notes.md", "oldText": old, "newText": new} for old, new in pieces]
        agent.update("tool_call", toolCallId="c", title="Edit", kind="edit", status="in_progress", content=diffs)
        await write(agent, notes, "# News\n\nBuy bread.\n")
        agent.update("tool_call_update", toolCallId="c", status="completed")
        return True

    async with opened(does(ScriptedAgent(1), edits), notes.parent, version=1) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.shows("1 file changed")
        await stage.press("f4")
        await stage.shows("1 changed file", f"notes.md  +2 {MINUS}2")


async def test_an_edit_that_is_made_again_is_another_change(notes):
    agent = ScriptedAgent(1)
    texts = [(OLD, NEW), (NEW, OLD), (OLD, NEW)]
    turns = iter([opencode_write(notes, *each, id=f"call_{place}") for place, each in enumerate(texts)])

    async def again(scripted: ScriptedAgent) -> bool:
        return await next(turns)(scripted)

    async with opened(does(agent, again), notes.parent, version=1, permissions="allow-all") as stage:
        for _ in range(3):
            await stage.send("Go")
            await stage.idle()
        await stage.press("f4")
        await stage.shows("1 changed file", f"notes.md  +3 {MINUS}3")


@pytest.mark.parametrize("ends", ["failed", "in_progress"])
async def test_a_call_that_was_not_completed_changed_nothing_but_what_was_written(notes, ends):
    agent = ScriptedAgent(1)
    turns = iter([kimi_write(notes, OLD, NEW, writes=False, ends=ends), kimi_write(notes, OLD, NEW, ends=ends)])

    async def either(scripted: ScriptedAgent) -> bool:
        return await next(turns)(scripted)

    async with opened(does(agent, either), notes.parent, version=1, permissions="allow-all") as stage:
        await stage.send("Go")
        await stage.idle()
        assert "changed" not in stage.lines[-1]
        await stage.send("Go")
        await stage.idle()
        await stage.shows("1 file changed")
