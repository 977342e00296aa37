"""Long sessions: what is out of sight costs nothing, and nothing is drawn twice."""

from __future__ import annotations

from itertools import pairwise

import pytest

from accord import Agent, Turn
from accord.apps.console.screen import session
from accord.apps.console.screen.drawing import markdown_stream
from accord.apps.console.screen.drawing.parts import PART_LINES, Part
from accord.apps.console.screen.widgets import blocks_view
from accord.apps.console.screen.widgets.blocks_view import BlocksView
from accord.session.content import Text
from accord.session.entities import Diff, FileChange
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened


@pytest.fixture
def drawn(monkeypatch) -> list[str]:
    """The Markdown that was drawn, each time."""
    drawn: list[str] = []
    draw = markdown_stream.draw_markdown

    def counted(source, canvas, stretch=None):
        drawn.append(source)
        return draw(source, canvas, stretch)

    monkeypatch.setattr(markdown_stream, "draw_markdown", counted)
    return drawn


@pytest.fixture
def drawn_at_once(monkeypatch) -> list[int]:
    """How many lines were drawn for a frame, each time."""
    counts = [0]
    draw, settle, scrolled = Part._draw_safely, BlocksView.settle, BlocksView.watch_scroll_y

    def counted_draw(self, canvas):
        strips = draw(self, canvas)
        counts[-1] += len(strips)
        return strips

    def counted_settle(self):
        counts.append(0)
        settle(self)
        counts.append(0)

    def counted_scroll(self, old, new):
        counts.append(0)
        scrolled(self, old, new)

    monkeypatch.setattr(Part, "_draw_safely", counted_draw)
    monkeypatch.setattr(BlocksView, "settle", counted_settle)
    monkeypatch.setattr(BlocksView, "watch_scroll_y", counted_scroll)
    return counts


def many(messages: int, lines: int) -> Agent:
    agent = Agent("talker", version="1")

    @agent.prompt
    async def talk(turn: Turn) -> None:
        for number in range(messages):
            await turn.say(f"Message {number}\n" + "".join(f"\nline {line}\n" for line in range(lines)))
            async with turn.tool_call(f"Step {number}"):
                pass

    return agent


async def test_of_a_long_session_only_what_is_in_sight_is_drawn_at_once(tmp_path, drawn, monkeypatch):
    monkeypatch.setattr(blocks_view, "QUIET", 1e9)  # the idle work would draw the rest
    async with opened(many(500, 20), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.shows("Step 499")
        assert len(stage.tab.conversation.blocks) > 1000
        assert len(set(drawn)) < 200


async def test_what_was_guessed_is_measured_when_nothing_happens_and_then_it_is_quiet(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks_view, "QUIET", 0.0)
    monkeypatch.setattr(blocks_view, "SLICE", 10.0)
    async with opened(many(40, 20), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        view = stage.app.conversation
        await stage.until(lambda: view._idle is None and view._next_estimate >= len(stage.tab.conversation.blocks))
        canvas = view._canvas
        heights = [len(block.lines(canvas)) for block in stage.tab.conversation.blocks]
        assert [block.height for block in stage.tab.conversation.blocks] == heights
        blocks = stage.tab.conversation.blocks
        lone = [block.can_fold and block.height == 1 for block in blocks]
        gaps = sum(not (one and other) for one, other in pairwise(lone))
        assert view.virtual_size.height == sum(heights) + gaps


async def test_scrolling_back_shows_every_line_once(tmp_path):
    async with opened(many(30, 6), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        view = stage.app.conversation
        await stage.press("tab", "home")
        await stage.until(lambda: view.scroll_offset.y == 0)
        assert "Type what you want done" in stage.text
        seen: list[str] = []
        while True:
            seen += [line for line in stage.lines[: view.size.height] if "Message" in line]
            before = view.scroll_offset.y
            view.scroll_to(y=before + view.size.height, animate=False)
            await stage.pilot.pause()
            if view.scroll_offset.y == before:
                break
        names = [" ".join(line.split()[:2]) for line in seen]
        assert list(dict.fromkeys(names)) == [f"Message {number}" for number in range(30)]


async def test_lines_that_were_drawn_long_ago_are_let_go(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks_view, "CACHED_LINES", 100)
    async with opened(many(120, 6), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        view = stage.app.conversation
        await stage.press("tab", "home")
        for _ in range(20):
            view.action_page_down()
        await stage.pilot.pause()
        kept = [part for block in stage.tab.conversation.blocks for part in block.known_parts if part.is_drawn]
        assert sum(part.height for part in kept) < 300


async def test_a_message_of_many_pieces_is_not_drawn_for_each(tmp_path, drawn):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        for _ in range(3000):
            agent.say("word ")
        agent.finish(asked)
        await stage.idle()
        assert stage.tab.conversation.blocks[-1].plain().count("word") == 3000
        assert len(drawn) < 300


async def test_another_width_keeps_the_place(tmp_path):
    async with opened(many(30, 6), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.press("pageup", "pageup", "pageup")
        top = next(line for line in stage.lines if "Message" in line or "line" in line)
        await stage.pilot.resize_terminal(60, 36)
        await stage.pilot.pause()
        assert top.strip() in stage.text
        await stage.press("ctrl+end")
        await stage.pilot.resize_terminal(100, 20)
        await stage.shows("Step 29")


LINES = 20_000
LONG = {
    "paragraphs": "".join(f"Paragraph {number} of it.\n\n" for number in range(LINES // 2)),
    "list": "".join(f"- item {number}\n" for number in range(LINES)),
    "table": "| a | b |\n|---|---|\n" + "".join(f"| {number} | cell |\n" for number in range(LINES)),
    "code": "```python\n" + "".join(f"value_{number} = {number}\n" for number in range(LINES)) + "```\n",
    "one line": "words " * 170_000,
}
OLD = "".join(f"value_{number} = {number}\n" for number in range(LINES))


def says(kind: str) -> Agent:
    agent = Agent("talker", version="1")

    @agent.prompt
    async def talk(turn: Turn) -> None:
        match kind:
            case "thought":
                await turn.think("a thought of some words\n" * LINES)
            case "output":
                async with turn.tool_call("Look") as call:
                    await call.show(Text(text=LONG["code"]))
            case "diff":
                async with turn.tool_call("Change", kind="edit") as call:
                    change = FileChange(operation="modify", path="/a.py", old_text=OLD, new_text=OLD.replace("7", "8"))
                    await call.show(Diff(changes=[change]))
            case _:
                await turn.say(LONG[kind])

    return agent


@pytest.mark.parametrize("kind", [*LONG, "thought", "output", "diff"])
async def test_however_long_something_is_no_more_of_it_is_drawn_at_once_than_is_seen(
    kind, tmp_path, drawn_at_once, monkeypatch
):
    monkeypatch.setattr(blocks_view, "QUIET", 1e9)  # the idle work has its own measure
    monkeypatch.setattr(session, "_PAUSE", 0.0)
    async with opened(says(kind), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        view = stage.app.conversation
        for block in stage.tab.conversation.blocks:
            block.fold(False)
        view.paint()
        for place in (0.5, 0.1, 1.0, 0.3):
            view.scroll_to(y=place * view.max_scroll_y, animate=False)
            await stage.pilot.pause()
            view.paint()
        for width in (70, 160):
            await stage.pilot.resize_terminal(width, 36)
            await stage.pilot.pause()
        assert view.virtual_size.height > 5000
    assert max(drawn_at_once) <= 36 + 5 * PART_LINES


async def test_a_guess_that_is_corrected_moves_nothing_that_is_seen(tmp_path, monkeypatch):
    text = "".join(f"Paragraph {number}: {'many words ' * (number % 40)}\n\n" for number in range(400))
    agent = Agent("talker", version="1")

    @agent.prompt
    async def talk(turn: Turn) -> None:
        await turn.say(text)

    monkeypatch.setattr(blocks_view, "QUIET", 1e9)
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        view = stage.app.conversation
        await stage.pilot.resize_terminal(61, 36)
        view.scroll_to(y=0.6 * view.max_scroll_y, animate=False)
        await stage.pilot.pause()
        view.paint()
        await stage.pilot.pause()
        seen, guessed = stage.lines[: view.size.height], view.virtual_size.height
        monkeypatch.setattr(blocks_view, "QUIET", 0.0)
        await stage.until(lambda: view._next_estimate >= len(stage.tab.conversation.blocks))
        assert view.virtual_size.height != guessed
        assert [line.rstrip("▁▂▃▄▅▆▇█ ") for line in stage.lines[: view.size.height]] == [
            line.rstrip("▁▂▃▄▅▆▇█ ") for line in seen
        ]


async def test_who_scrolls_up_sees_every_line_once(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks_view, "QUIET", 1e9)
    agent = Agent("talker", version="1")

    @agent.prompt
    async def talk(turn: Turn) -> None:
        for number in range(40):
            await turn.say(f"Message {number}: {'many words ' * (number % 7 * 20)}\n\n- and an item {number}\n")
            async with turn.tool_call(f"Step {number}"):
                pass

    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.pilot.resize_terminal(60, 36)
        view = stage.app.conversation
        windows: list[list[int]] = []
        while True:
            await stage.settled()
            seen = [line.split()[1] for line in stage.lines[: view.size.height] if "Message" in line]
            windows.insert(0, [int(number.rstrip(":")) for number in seen])
            if view.scroll_offset.y == 0:
                break
            view.scroll_to(y=max(0, view.scroll_offset.y - view.size.height), animate=False)
        first, *others = windows  # the last step may have been a short one
        below = [number for window in others for number in window]
        assert below == list(range(below[0], 40))
        assert first[: below[0]] == list(range(below[0]))


async def test_all_of_something_long_can_be_copied_and_folded_again(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks_view, "QUIET", 1e9)
    async with opened(says("thought"), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.press("tab", "j", "enter")
        view = stage.app.conversation
        assert view.virtual_size.height > LINES
        await stage.press("c")
        assert stage.copied[-1].count("a thought of some words") == LINES
        await stage.press("enter")
        assert view.virtual_size.height < 40
