"""The mouse: what can be clicked, scrolled and selected."""

from __future__ import annotations

from typing import Any

import pytest
from textual import events
from textual.widget import Widget

from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import Stage, opened
from tests.apps.console.screen.test_permission_bar import asker


def place_of(stage: Stage, text: str) -> tuple[int, int]:
    """Where on the screen this stands."""
    for line, row in enumerate(stage.lines):
        if text in row:
            return row.index(text), line
    pytest.fail(f"{text!r} is not on the screen:\n{stage.text}")


async def click(stage: Stage, text: str) -> None:
    await stage.settled()
    await stage.pilot.click(offset=place_of(stage, text))


async def wheel(stage: Stage, widget: Widget, step: int) -> None:
    x, y = widget.region.x + 2, widget.region.y + 2
    kind = events.MouseScrollDown if step > 0 else events.MouseScrollUp
    stage.app.post_message(kind(None, x, y, 0, step, 0, False, False, False, x, y))
    await stage.pilot.pause()


async def drag(stage: Stage, start: tuple[int, int], end: tuple[int, int]) -> None:
    await stage.pilot.mouse_down(offset=start)
    await stage.pilot.hover(offset=end)
    await stage.pilot.mouse_up(offset=end)


async def test_a_click_on_a_tab_shows_it(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        first = stage.tab
        await stage.type("here")
        await stage.press("ctrl+n")
        await stage.until(lambda: len(stage.app.tabs) == 2)
        await stage.shows(" 2 ")
        await click(stage, " 1")
        assert stage.tab is first
        assert stage.prompt == "here"
        await click(stage, " 2")
        assert stage.tab is stage.app.tabs[1]
        await stage.pilot.click(offset=(stage.app.size.width - 1, 0))  # beside them
        assert stage.tab is stage.app.tabs[1]


async def test_the_wheel_scrolls_the_conversation_and_the_end_is_followed_again(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("\n\n".join(f"line {number}" for number in range(200))))
    async with opened(agent, tmp_path) as stage:
        await stage.type("unsent")
        stage.tab.queue.send("Go")
        await stage.idle()
        await stage.shows("line 199")
        view = stage.app.conversation
        before = view.scroll_offset.y
        for _ in range(4):
            await wheel(stage, view, -1)
        assert not view.is_following
        assert before - 4 * 3 <= view.scroll_offset.y < before
        assert "line 199" not in stage.text
        for _ in range(8):
            await wheel(stage, view, 1)
        assert view.is_following
        await stage.shows("line 199")
        await stage.type("!")
        assert stage.prompt == "unsent!"


async def test_a_click_folds_and_unfolds_a_line_and_leaves_the_focus_in_the_prompt(tmp_path):
    agent = ScriptedAgent(1)

    def answer(asked: Any) -> None:
        content = [{"type": "content", "content": {"type": "text", "text": "what was found"}}]
        agent.update("tool_call", toolCallId="c", title="Search it", status="completed", content=content)
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        assert "what was found" not in stage.text
        await click(stage, "Search it")
        await stage.shows("what was found")
        await click(stage, "what was found")  # to read it, not to fold it
        assert "what was found" in stage.text
        await stage.type("on")
        assert stage.prompt == "on"
        await click(stage, "Search it")
        await stage.until(lambda: "what was found" not in stage.text)
        assert stage.app.focused is stage.app.prompt


@pytest.mark.parametrize(("answer", "is_allowed"), [("Allow", True), ("Reject", False)])
async def test_a_click_on_an_answer_gives_it(tmp_path, answer, is_allowed, version):
    agent, allowed = asker()
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.type("z")  # no answer: the prompt has the focus now
        assert stage.app.focused is stage.app.prompt
        await click(stage, answer)
        await stage.idle()
        assert allowed == [is_allowed]
        await stage.type("z")
        assert stage.prompt == "zz"


async def test_a_click_in_the_moment_in_which_a_question_appears_answers_nothing(tmp_path):
    agent, allowed = asker()
    async with opened(agent, tmp_path, settling=60.0) as stage:
        await stage.send("Go")
        await stage.asked()
        await click(stage, "Allow")
        assert allowed == []
        await stage.press("escape")
        await stage.idle()


async def test_a_click_on_a_prompt_that_waits_chooses_it(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", None)
    async with opened(agent, tmp_path) as stage:
        for text in ("Go", "first", "second", "third"):
            await stage.send(text)
        await stage.shows("Next 3")
        await click(stage, "second")
        await stage.shows("▸ second")
        await stage.press("x")
        assert stage.tab.queue.prompts == ["first", "third"]
        await click(stage, "first")
        await stage.press("enter")
        assert (stage.tab.queue.prompts, stage.prompt) == (["third"], "first")
        assert stage.app.focused is stage.app.prompt


async def test_a_click_into_the_prompt_puts_the_cursor_there(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        await stage.type("one two")
        await stage.press("tab")
        assert stage.app.focused is stage.app.conversation
        await click(stage, "two")
        assert stage.app.focused is stage.app.prompt
        await stage.type("and ")
        assert stage.prompt == "one and two"


async def test_what_is_selected_with_the_mouse_is_copied_by_ctrl_c(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("first line of it\n\n日本語 and 😀 wide ones\n\nlast line"))
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        start, end = place_of(stage, "line of it"), place_of(stage, "last line")
        await drag(stage, start, (end[0] + 4, end[1]))
        await stage.press("ctrl+c")
        (copied,) = stage.copied
        assert [line.strip() for line in copied.split("\n") if line.strip()] == [
            "line of it",
            "日本語 and 😀 wide ones",
            "last",
        ]
        wide = place_of(stage, "日本語")
        await drag(stage, wide, (wide[0] + 6 + 1 + 3, wide[1]))
        await stage.press("ctrl+c")
        assert stage.copied[1].strip() == "日本語 and"
        assert not stage.app.screen.get_selected_text()


async def test_text_is_selected_in_the_prompt_too(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        await stage.type("one two three")
        start = place_of(stage, "two")
        await drag(stage, start, (start[0] + 3, start[1]))
        await stage.press("ctrl+c")
        assert stage.copied == ["two"]
        assert stage.prompt == "one two three"


async def test_what_is_asked_about_can_be_marked_and_copied_too(tmp_path):
    agent, _ = asker()
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.asked()
        start = place_of(stage, "a = 1")
        await drag(stage, start, (start[0] + 5, start[1]))
        await stage.press("ctrl+c")
        assert stage.copied == ["a = 1"]
        await stage.press("escape")
        await stage.idle()


async def test_a_click_on_a_completion_takes_it(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        await stage.type("/e")
        await stage.shows("/export", "/new")
        await click(stage, "/new")
        assert stage.prompt == "/new "
        await stage.type("x")
        assert stage.prompt == "/new x"


async def test_new_text_is_announced_when_scrolled_up_and_a_click_goes_to_it(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("\n\n".join(f"line {number}" for number in range(200))))
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.shows("line 199")
        for goes_there in (lambda: click(stage, "new text below"), lambda: stage.press("ctrl+end")):
            await stage.press("pageup", "pageup")
            await stage.settled()
            assert "new text below" not in stage.text  # nothing has arrived
            first = stage.lines[0]
            agent.update("agent_message_chunk", content={"type": "text", "text": "\n\nand one more"})
            await stage.shows("↓ new text below, Ctrl+End")
            assert stage.lines[0] == first
            assert "and one more" not in stage.text
            await goes_there()
            await stage.shows("and one more")
            await stage.until(lambda: "new text below" not in stage.text)
            assert stage.app.conversation.is_following
            agent.update("agent_message_chunk", content={"type": "text", "text": "\n\nfollowed"})
            await stage.shows("followed")
            assert "new text below" not in stage.text


async def test_scrolling_to_the_end_ends_the_announcement_of_new_text(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("\n\n".join(f"line {number}" for number in range(200))))
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.shows("line 199")
        await stage.press("pageup")
        agent.update("agent_message_chunk", content={"type": "text", "text": "\n\nand one more"})
        await stage.shows("new text below")
        await stage.press("pagedown", "pagedown")
        await stage.until(lambda: "new text below" not in stage.text)
        await stage.shows("and one more")


async def test_what_the_user_folds_is_not_announced_as_new(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("\n\n".join(f"line {number}" for number in range(200))))
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        content = [{"type": "content", "content": {"type": "text", "text": "found"}}]
        agent.update("tool_call", toolCallId="c", title="Look", status="completed", content=content)
        await stage.shows("Look")
        await stage.press("pageup")
        await stage.settled()
        await stage.press("ctrl+o")
        await stage.settled()
        assert not stage.tab.conversation.calls[0].is_folded
        assert "new text below" not in stage.text
