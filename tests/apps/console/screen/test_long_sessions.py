"""Long sessions: what is out of sight costs nothing, and nothing is drawn twice."""

from __future__ import annotations

import pytest

from accord import Agent, Turn
from accord.apps.console.screen.blocks.messages import AgentMessage
from accord.apps.console.screen.widgets import conversation
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened


@pytest.fixture
def drawn(monkeypatch) -> list[str]:
    """The messages that were drawn, each time."""
    drawn: list[str] = []
    draw = AgentMessage.draw

    def counted(self, ink):
        drawn.append(self.plain()[:20])
        return draw(self, ink)

    monkeypatch.setattr(AgentMessage, "draw", counted)
    return drawn


def many(messages: int, lines: int) -> Agent:
    agent = Agent("talker", version="1")

    @agent.prompt
    async def talk(turn: Turn) -> None:
        for number in range(messages):
            await turn.say(f"Message {number}\n" + "".join(f"\nline {line}\n" for line in range(lines)))
            async with turn.tool_call(f"Step {number}"):
                pass

    return agent


@pytest.mark.timeout(60)
async def test_of_a_long_session_only_what_is_in_sight_is_drawn_at_once(tmp_path, drawn, monkeypatch):
    monkeypatch.setattr(conversation, "QUIET", 1e9)  # the idle work would draw the rest
    async with opened(many(500, 20), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.shows("Step 499")
        assert len(stage.talk.story.blocks) > 1000
        assert len(set(drawn)) < 200


@pytest.mark.timeout(60)
async def test_what_was_guessed_is_measured_when_nothing_happens_and_then_it_is_quiet(tmp_path, monkeypatch):
    monkeypatch.setattr(conversation, "QUIET", 0.0)
    monkeypatch.setattr(conversation, "SLICE", 10.0)
    async with opened(many(40, 20), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        view = stage.app.conversation
        await stage.until(lambda: view._idle is None and view._next_guess >= len(stage.talk.story.blocks))
        ink = view._ink
        heights = [len(block.lines(ink)) for block in stage.talk.story.blocks]
        assert [block.height for block in stage.talk.story.blocks] == heights
        assert view.virtual_size.height == sum(heights) + sum(conversation._gaps(stage.talk.story.blocks))


async def test_scrolling_back_shows_every_line_once(tmp_path):
    async with opened(many(30, 6), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        view = stage.app.conversation
        await stage.press("tab", "home")
        await stage.until(lambda: view.scroll_offset.y == 0)
        assert "Say what you want changed" in stage.text
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
    monkeypatch.setattr(conversation, "KEPT_LINES", 100)
    async with opened(many(120, 6), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        view = stage.app.conversation
        await stage.press("tab", "home")
        for _ in range(20):
            view.action_page_down()
        await stage.pilot.pause()
        kept = [block for block in stage.talk.story.blocks if block._drawn is not None]
        assert len(kept) < 120


async def test_a_message_of_many_pieces_is_not_drawn_for_each(tmp_path, drawn):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        for _ in range(3000):
            agent.say("word ")
        agent.finish(asked)
        await stage.idle()
        assert stage.talk.story.blocks[-1].plain().count("word") == 3000
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
