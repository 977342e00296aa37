"""What the permission bar tells of an action: every character of it, wherever the agent put it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from accord import Agent, Turn
from accord.session.entities import Diff, FileChange, Location
from tests.apps.console.screen.stage import Stage, opened

NUMBERED = "".join(f"{number:04}|" for number in range(250))


def asker(**what: Any) -> Agent:
    """An agent that asks for one tool call."""
    agent = Agent("asker", version="1")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        async with turn.tool_call("Do it", **what) as call:
            await turn.allowed(call)

    return agent


async def detail_of(stage: Stage) -> str:
    """All lines of what the question is about, scrolled through from its beginning."""
    await stage.send("Go")
    await stage.asked()
    await stage.until(lambda: stage.app.main.questions.has_the_focus)
    view = stage.app.main.questions.query_one("#detail")
    lines: dict[int, str] = {}
    while True:
        await stage.pilot.pause()
        region = view.region
        for row in range(region.height):
            cells = stage.app.screen._compositor.render_strips()[region.y + row]
            lines[view.scroll_offset.y + row] = cells.crop(region.x, region.right).text.rstrip(" ▁▂▃▄▅▆▇█")
        if view.scroll_offset.y >= view.max_scroll_y:
            return "\n".join(lines[place] for place in sorted(lines))
        await stage.press("pagedown")


@pytest.mark.parametrize("size", [(100, 30), (80, 24)])
async def test_no_character_of_a_long_command_is_under_the_scroll_bar(tmp_path, size):
    agent = asker(kind="execute", raw_input={"command": NUMBERED})
    async with opened(agent, tmp_path, size=size) as stage:
        detail = await detail_of(stage)
        assert "".join(line.strip() for line in detail.splitlines()) == f"$ {NUMBERED}"
        await stage.press("n")
        await stage.idle()


async def test_no_character_of_a_long_path_is_under_the_scroll_bar(tmp_path):
    path = "/" + NUMBERED[:900]
    change = FileChange(operation="modify", path=path, old_text="a\n" * 30, new_text="b\n" * 30)
    agent = asker(kind="edit", content=[Diff(changes=[change])], locations=[Location(path="/elsewhere" + path)])
    async with opened(agent, tmp_path, size=(100, 30)) as stage:
        detail = re.sub(r"\s", "", await detail_of(stage))
        assert "/elsewhere" + path in detail
        assert path + "+30" in detail
        await stage.press("n")
        await stage.idle()


async def test_a_command_of_words_is_quoted_and_its_directory_and_environment_are_told(tmp_path):
    raw = {"command": ["sh", "-c", "rm -rf a b; echo x"], "cwd": "/etc", "env": {"LD_PRELOAD": "evil.so"}}
    async with opened(asker(kind="execute", raw_input=raw), tmp_path) as stage:
        detail = await detail_of(stage)
        assert "$ sh -c 'rm -rf a b; echo x'" in detail
        assert len(detail.splitlines()) == 4  # nothing blank between it and the answers
        assert '"cwd": "/etc"' in detail
        assert '"env": {"LD_PRELOAD":"evil.so"}' in detail
        await stage.press("n")
        await stage.idle()


async def test_a_text_does_not_hide_what_the_tool_is_given(tmp_path, version):
    raw = {"path": "/etc/shadow", "mode": "delete"}
    async with opened(asker(raw_input=raw, content=["Just a harmless call"]), tmp_path, version=version) as stage:
        detail = await detail_of(stage)
        for text in ("Just a harmless call", '"path": "/etc/shadow"', '"mode": "delete"'):
            assert text in detail
        await stage.press("n")
        await stage.idle()
        stage.talk.story.calls[0].fold(False)
        assert '"mode": "delete"' in stage.story


async def test_a_move_tells_where_from(tmp_path):
    change = FileChange(operation="move", path="/there/b.txt", old_path="/here/a.txt")
    async with opened(asker(kind="move", content=[Diff(changes=[change])]), tmp_path, version=2) as stage:
        assert "/here/a.txt → /there/b.txt" in await detail_of(stage)
        await stage.press("n")
        await stage.idle()


async def test_a_long_input_is_not_cut(tmp_path):
    raw = {"query": NUMBERED * 20, "then": "drop"}
    async with opened(asker(raw_input=raw), tmp_path, size=(200, 60)) as stage:
        detail = re.sub(r"\s", "", await detail_of(stage))
        assert NUMBERED * 20 in detail
        assert '"then":"drop"' in detail
        await stage.press("n")
        await stage.idle()


async def test_what_the_diff_shows_is_not_said_again(tmp_path, version):
    path, old = str(tmp_path / "a.py"), "".join(f"line {number}\n" for number in range(40))
    change = FileChange(operation="modify", path=path, old_text=old, new_text=old.replace("line 7", "Line 7"))
    for raw in (
        {"path": "a.py", "old_text": "line 7", "new_text": "Line 7"},
        {"file_path": path, "content": change.new_text},
    ):
        agent = asker(kind="edit", content=[Diff(changes=[change])], raw_input=raw)
        async with opened(agent, tmp_path, version=version) as stage:
            assert "input" not in await detail_of(stage)
            await stage.press("n")
            await stage.idle()
