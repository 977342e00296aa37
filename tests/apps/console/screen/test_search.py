"""Search in the conversation: what is found, shown and counted, also in what is folded, and how it ends."""

from __future__ import annotations

from typing import Any

import pytest

from accord import Agent, Turn
from accord.apps.console.screen.blocks.messages import AgentMessage, Thought, UserMessage
from accord.apps.console.screen.search import MOST_MATCHES, Search
from accord.session.content import Text
from accord.session.entities import Exit
from accord.session.updates import TerminalAppend, TerminalPatch
from accord.testing import ScriptedAgent
from tests.apps.console.screen.drawing.palettes import canvas
from tests.apps.console.screen.looks import cells
from tests.apps.console.screen.stage import Stage, opened
from tests.apps.console.screen.test_permission_bar import asker


def talker() -> Agent:
    agent = Agent("talker", version="1")

    @agent.prompt
    async def say(turn: Turn) -> None:
        await turn.think("First think.\nThen search for the needle in thoughts.")
        async with turn.tool_call("Run it", kind="execute") as run:
            await turn.send(TerminalPatch(id="t", command="make", cwd=str(turn.cwd)))
            await turn.send(TerminalAppend(id="t", data=b"ok\n" * 40 + b"a Needle in the output\n" + b"ok\n" * 40))
            await run.terminal("t")
            await turn.send(TerminalPatch(id="t", exit=Exit(code=0)))
        await turn.say("\n\n".join(f"line {number}" for number in range(100)))
        await turn.say("\n\nA **needle** at the end.\n")

    return agent


async def found(stage: Stage, text: str) -> None:
    await stage.shows(text)
    await stage.settled()


def selected(stage: Stage) -> list[str]:
    """What is drawn as the selected match."""
    style = stage.app.palette.found_here
    return [text for text, each in cells(stage.app) if each.bgcolor == style.bgcolor and each.bold]


async def test_matches_are_counted_shown_and_stepped_through_also_in_what_is_folded(tmp_path):
    async with opened(talker(), tmp_path) as stage:
        await stage.send("Find a needle for me")
        await stage.idle()
        await stage.type("unsent ")
        await stage.press("ctrl+f")
        await stage.type("needle")
        await found(stage, "4 of 4")
        assert "A needle at the end." in stage.text
        assert selected(stage) == ["needle"]
        await stage.press("enter")
        await found(stage, "3 of 4")
        assert "a Needle in the output" in stage.text
        assert selected(stage) == ["Needle"]
        await stage.press("up")
        await found(stage, "2 of 4")
        assert "search for the needle in thoughts" in stage.text
        thought, call = (
            next(each for each in stage.tab.conversation.blocks if type(each).__name__ == name)
            for name in ("Thought", "ToolCallBlock")
        )
        assert not thought.is_folded
        assert call.is_folded  # again
        await stage.press("up")
        await found(stage, "1 of 4")
        await stage.press("up")
        await found(stage, "4 of 4")
        await stage.press("down", "down")
        await found(stage, "2 of 4")
        await stage.press("escape")
        await stage.until(lambda: not stage.app.main.search_bar.display)
        await stage.settled()
        assert not thought.is_folded  # what was found stays
        assert selected(stage) == []
        await stage.type("text")
        assert stage.prompt == "unsent text"


async def test_find_with_a_text_searches_for_it_and_ctrl_f_goes_on(tmp_path):
    async with opened(talker(), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.send("/find line 4")
        await found(stage, "11 of 11")
        await stage.press("ctrl+f")
        await found(stage, "10 of 11")
        assert selected(stage) == ["line 4"]
        assert "line 48" in stage.text
        await stage.press("escape", "ctrl+f")
        await found(stage, "of 11")  # the last text is still there, and is replaced by what is typed
        await stage.type("nowhere")
        await found(stage, "no match")
        assert stage.app.main.search_bar.field.value == "nowhere"


async def test_the_search_begins_where_the_user_reads_whatever_is_typed_first(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, size=(80, 24)) as stage:
        for text in (
            "alpha one",
            "\n\n".join(["filler"] * 60),
            "alpine two",
            "\n\n".join(["filler"] * 60),
            "also three",
        ):
            agent.update("agent_message_chunk", content={"type": "text", "text": text})
            agent.update("tool_call", toolCallId=text[:6], title="Step", status="completed")
        await stage.shows("also three")
        await stage.press("ctrl+f")
        await stage.type("al")
        await found(stage, "3 of 3")
        await stage.type("p")
        await found(stage, "2 of 2")
        await stage.press("backspace")
        await found(stage, "3 of 3")
        await stage.type("pha")
        await found(stage, "1 of 1")
        assert "alpha one" in stage.text


async def test_what_arrives_during_a_search_is_searched_too(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path) as stage:
        agent.update("agent_message_chunk", content={"type": "text", "text": "one fish"})
        await stage.shows("one fish")
        await stage.press("ctrl+f")
        await stage.type("fish")
        await found(stage, "1 of 1")
        agent.update("agent_message_chunk", content={"type": "text", "text": ", two Fish"})
        await found(stage, "1 of 2")
        await stage.press("down")
        await found(stage, "2 of 2")
        assert selected(stage) == ["Fish"]


async def test_the_selected_match_stays_selected_when_the_terminal_has_another_size(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, size=(120, 40)) as stage:
        text = "one needle and many words, then a needle " * 9
        agent.update("agent_message_chunk", content={"type": "text", "text": text})
        await stage.shows("then a needle")
        await stage.press("ctrl+f")
        await stage.type("needle")
        await found(stage, "18 of 18")
        await stage.press("up")
        await found(stage, "17 of 18")
        search = stage.app.conversation._search
        assert search is not None
        before = search.matches
        await stage.pilot.resize_terminal(60, 30)
        await stage.until(lambda: search.matches != before)
        await stage.settled()
        assert "17 of 18" in stage.text
        assert selected(stage) == ["needle"]


def test_a_match_is_found_again_when_its_block_is_drawn_with_another_width():
    words = said("one needle and many words, then a needle " * 9)
    search = Search("needle")
    fourth = searched(search, [words], 80)[3]
    narrow = searched(search, [words], 30)
    assert fourth not in narrow
    assert search.found_again(fourth) is narrow[3]
    assert search.found_again(narrow[3]) is narrow[3]


async def test_esc_ends_the_search_before_it_stops_the_agent_and_ctrl_c_stops_at_once(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", None)
    async with opened(agent, tmp_path) as stage:
        for stop in ("escape", "ctrl+c"):
            await stage.send("Go")
            asked = await agent.next("session/prompt")
            await stage.press("ctrl+f")
            await stage.type("go")
            await found(stage, " of ")
            if stop == "escape":
                await stage.press("escape")
                assert not stage.app.main.search_bar.display
                assert not stage.tab.is_stopping
            await stage.press(stop)
            await stage.until(lambda: stage.tab.is_stopping)
            agent.finish(asked, "cancelled")
            await stage.idle()
        assert stage.app.main.search_bar.display
        await stage.press("ctrl+c")
        assert not stage.app.main.search_bar.display


async def test_a_question_does_not_take_the_focus_from_the_search(tmp_path):
    agent, allowed = asker()
    async with opened(agent, tmp_path) as stage:
        await stage.press("ctrl+f")
        stage.tab.queue.send("Go")
        await stage.asked()
        await stage.type("y")
        assert stage.app.main.search_bar.field.value == "y"
        assert allowed == []
        await stage.press("escape", "tab")
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.press("y")
        await stage.idle()
        assert allowed == [True]


async def test_another_tab_ends_the_search(tmp_path):
    async with opened(talker(), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.press("ctrl+f")
        await stage.type("needle")
        await found(stage, "3 of 3")
        await stage.press("ctrl+n")
        await stage.until(lambda: len(stage.app.tabs) == 2 and not stage.app.main.search_bar.display)
        await stage.type("here")
        assert stage.prompt == "here"


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (200, 60)], ids=str)
async def test_the_bar_fits_and_shows_the_count_at_every_size(tmp_path, size):
    async with opened(talker(), tmp_path, size=size) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.press("ctrl+f")
        await stage.type("needle")
        await found(stage, "3 of 3")
        row = next(line for line in stage.lines if "3 of 3" in line)
        assert "needle" in row
        assert len(row) <= size[0]


def searched(search: Search, blocks: list[Any], width: int = 80) -> list[Any]:
    search.begin(blocks, canvas(width), len(blocks) - 1)
    while not search.is_complete:
        search.run(0.0)
    return search.matches


def said(text: str, kind: type[Any] = AgentMessage) -> Any:
    block = kind()
    block.append(Text(text))
    return block


def test_words_are_found_across_lines_that_were_wrapped_and_markdown():
    block = said("Some words and " * 10 + "then the **very last** words of all.")
    for width in (30, 40, 50, 60, 70):
        assert len(searched(Search("the very LAST words of all"), [block], width)) == 1
    user = said("a prompt with enough words to be wrapped at last", UserMessage)
    assert len(searched(Search("enough words to be wrapped"), [user], 20)) == 1


def test_a_match_in_a_folded_block_is_where_it_is_when_unfolded():
    block = said("\n".join(f"thought {number}" for number in range(100)), Thought)
    (match,) = searched(Search("thought 77"), [said("other"), block])
    assert block.is_folded
    block.fold(False)
    assert "thought 77" in block.parts(canvas(80))[match.part].lines(canvas(80))[match.line].text


def test_only_what_has_changed_is_searched_again_and_drawn_lines_are_not_kept():
    first, second = said("\n\n".join(["needle"] * 50)), said("needle")
    search = Search("needle")
    assert len(searched(search, [first, second])) == 51
    assert not any(part.is_drawn for part in first.known_parts)
    assert search.is_current([first, second], canvas(80))
    second.append(Text(" and another needle"))
    assert not search.is_current([first, second], canvas(80))
    first.source = None  # would fail if it were searched again
    assert len(searched(search, [first, second])) == 52


def test_a_search_in_a_long_block_makes_progress_in_short_steps():
    block = said("\n\n".join(f"line {number}" for number in range(500)))
    search = Search("line 3")
    search.begin([block], canvas(80), 0)
    steps = 0
    while not search.is_complete:
        search.run(0.0)
        steps += 1
    assert steps > 5
    assert len(search.matches) == 111


def test_the_number_of_matches_is_bounded():
    blocks = [said("a " * 3000) for _ in range(6)]
    search = Search("a")
    assert MOST_MATCHES <= len(searched(search, blocks)) < MOST_MATCHES + 3001
