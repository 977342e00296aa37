"""What the permission bar tells of an action: every character of it, wherever the agent put it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from accord import Agent, Turn
from accord.apps.console.screen.widgets.lines_view import LinesView
from accord.session.entities import Diff, FileChange, Location
from accord.testing import ScriptedAgent
from tests.apps.console.real_peers import jsdiff
from tests.apps.console.screen.stage import Stage, opened

NUMBERED = "".join(f"{number:04}|" for number in range(250))


def asker(title: str = "Do it", **what: Any) -> Agent:
    """An agent that asks for one tool call."""
    agent = Agent("asker", version="1")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        async with turn.tool_call(title, **what) as call:
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
        stage.tab.conversation.calls[0].fold(False)
        assert '"mode": "delete"' in stage.conversation


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
    for raw, is_shown in (
        ({"path": "a.py", "old_text": "line 7", "new_text": "Line 7"}, True),
        ({"file_path": path, "content": change.new_text}, version != 2),  # of which a patch shows a part
    ):
        agent = asker(kind="edit", content=[Diff(changes=[change])], raw_input=raw)
        async with opened(agent, tmp_path, version=version) as stage:
            assert ("input" in await detail_of(stage)) is not is_shown
            await stage.press("n")
            await stage.idle()


async def test_no_line_of_a_title_is_taken_for_the_end_of_the_one_before(tmp_path, version):
    agent = asker("echo ok #\nrm -rf ~", kind="execute")
    async with opened(agent, tmp_path, version=version) as stage:
        assert (await detail_of(stage)).splitlines() == ["title: echo ok #", "       rm -rf ~"]
        await stage.press("n")
        await stage.idle()


@pytest.mark.parametrize("size", [(100, 30), (80, 24)])
async def test_a_long_title_is_not_cut(tmp_path, version, size):
    async with opened(asker(NUMBERED, kind="execute"), tmp_path, version=version, size=size) as stage:
        assert f"title:{NUMBERED}" in re.sub(r"\s", "", await detail_of(stage))
        await stage.press("n")
        await stage.idle()


@pytest.mark.parametrize("title", ["Do it", "first &&\nsecond"])
async def test_a_title_that_is_shown_is_not_said_again(tmp_path, version, title):
    raw = {"command": "first &&\nsecond"}
    async with opened(asker(title, kind="execute", raw_input=raw), tmp_path, version=version) as stage:
        assert (await detail_of(stage)).splitlines() == ["$ first &&", "  second"]
        await stage.press("n")
        await stage.idle()


@pytest.mark.parametrize("version", [2, "2-draft"])
async def test_a_title_of_the_question_does_not_hide_what_the_tool_call_is_called(tmp_path, version):
    agent = ScriptedAgent(version)

    async def answer(asked: Any) -> None:
        agent.begin(asked)
        call = {"toolCallId": "c", "title": "Delete all", "name": "remove_tree", "kind": "other"}
        options = [{"optionId": "no", "name": "No", "kind": "reject_once"}]
        about = {"title": "Look around", "subject": {"type": "tool_call", "toolCall": call}, "options": options}
        await agent.ask("session/request_permission", {"sessionId": agent.session_id, **about})
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with opened(agent, tmp_path, version=version) as stage:
        detail = await detail_of(stage)
        await stage.shows("Look around")
        assert detail.splitlines() == ["tool call: Delete all", "tool: remove_tree"]
        await stage.press("n")
        await stage.idle()


async def test_a_file_that_goes_away_does_not_hide_what_the_tool_is_given(tmp_path):
    change = FileChange(operation="delete", path="/a.txt", old_text="old\n")
    agent = asker(kind="edit", content=[Diff(changes=[change])], raw_input={"content": "something else"})
    async with opened(agent, tmp_path, version=1) as stage:
        assert '"content": "something else"' in await detail_of(stage)
        await stage.press("n")
        await stage.idle()


@pytest.mark.parametrize("size", [(80, 12), (40, 18)])
@pytest.mark.parametrize("told", ["title", "command"])
async def test_paging_down_shows_every_line(tmp_path, size, told):
    words = " ".join(f"w{number}" for number in range(400))
    title, raw = (words, None) if told == "title" else ("x " * 195, {"command": words})
    async with opened(asker(title=title, kind="execute", raw_input=raw), tmp_path, size=size) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        detail = stage.app.main.questions.query_one(LinesView)
        seen: set[str] = set()
        before = None
        while before != (before := (detail.scroll_offset, detail.virtual_size)):
            top = detail.scroll_offset.y
            seen.update(detail._line(top + row).text.strip() for row in range(detail.size.height))
            await stage.press("pagedown")
        assert detail._canvas is not None
        lines = [
            strip.text.strip() for part in detail._block.parts(detail._canvas) for strip in part.lines(detail._canvas)
        ]
        assert [line for line in lines if line and line not in seen] == []
        await stage.press("escape")
        await stage.idle()


async def test_the_diff_comes_first_and_input_that_only_repeats_it_is_left_out(tmp_path):
    """opencode and kilo: the raw input is the path and the patch once more."""
    path, old, new = tmp_path / "notes.md", "# Notes\n\nBuy milk.\n", "# Notes\n\nBuy bread.\n"
    change = FileChange(operation="modify", path=str(path), old_text=old, new_text=new)
    raw = {"filepath": str(path), "diff": jsdiff(path, old, new)}
    agent = asker("notes.md", kind="edit", content=["Some words", Diff(changes=[change])], raw_input=raw)
    async with opened(agent, tmp_path, version=1) as stage:
        told = [line.strip() for line in (await detail_of(stage)).splitlines()]
        assert told[0].startswith("notes.md  +1")
        assert told[-1] == "Some words"
        assert "input:" not in told
        await stage.press("n")
        await stage.idle()
        stage.tab.conversation.calls[0].fold(False)
        assert "Index:" not in stage.conversation


async def test_the_command_comes_before_all_that_is_said_of_it(tmp_path, version):
    raw = {"command": "make all", "timeout": 5}
    agent = asker(
        "Build", kind="execute", content=["Some words"], raw_input=raw, locations=[Location(path="/elsewhere")]
    )
    async with opened(agent, tmp_path, version=version) as stage:
        told = [line.strip() for line in (await detail_of(stage)).splitlines()]
        assert told == ["$ make all", "/elsewhere", "Some words", "input:", '"timeout": 5']
        await stage.press("n")
        await stage.idle()
