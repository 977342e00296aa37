"""Low and narrow terminals: the answers to a question and the prompt have room, whatever else has none."""

from __future__ import annotations

import pytest

from accord import Agent, Turn
from accord.apps.console.screen.widgets.lines_view import LinesView
from accord.apps.console.screen.widgets.question_dock import QuestionDock
from accord.session.requests import PermissionOption
from tests.apps.console.screen.stage import opened

SIZES = [(40, 10), (80, 11), (80, 12), (40, 18), (60, 14)]
ANSWERS = ["Allow", "Always allow", "Reject", "Always reject"]
KINDS = ["allow_once", "allow_always", "reject_once", "reject_always"]


def asker(title: str = "Run it", message: str = "Which one?") -> Agent:
    agent = Agent("asker", version="1")
    options = [PermissionOption(id=kind, name=name, kind=kind) for kind, name in zip(KINDS, ANSWERS, strict=True)]

    @agent.prompt
    async def ask(turn: Turn) -> None:
        if turn.text == "form":
            await turn.ask(message, {name: {"type": "string", "title": name} for name in ("One", "Two", "Three")})
        elif turn.text == "link":
            await turn.ask_to_open(message, "https://example.org/" + "x" * 400 + "/end", "1")
        else:
            await turn.plan(["first", "second"])
            lines = "\n".join(f"echo {number}" for number in range(50))
            async with turn.tool_call(title, kind="execute", raw_input={"command": lines}) as call:
                await turn.allowed(call, options=options)

    return agent


@pytest.mark.parametrize("size", SIZES)
async def test_all_answers_and_the_prompt_are_on_a_low_screen(tmp_path, size):
    async with opened(asker(), tmp_path, size=size) as stage:
        await stage.send("Go")
        await stage.shows("Permission", "$ echo 0", *(f"  {name}" for name in ANSWERS))
        await stage.shows("Ask for a change", "waiting for your answer")
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        while "echo 49" not in stage.text:
            await stage.press("pagedown")
        await stage.press("pagedown")
        await stage.shows("cover the same kind", *(f"  {name}" for name in ANSWERS))
        await stage.press("n")
        await stage.until(lambda: stage.app.main.questions.question is None)
        assert not stage.app.main.has_class("tight")


@pytest.mark.parametrize("size", [(40, 10), (80, 24)])
async def test_a_question_has_its_share_of_the_screen_though_nobody_was_told_its_size(tmp_path, monkeypatch, size):
    monkeypatch.setattr(QuestionDock, "on_resize", lambda self: None)
    monkeypatch.setattr(LinesView, "on_resize", lambda self, event: None)
    async with opened(asker(), tmp_path, size=size) as stage:
        await stage.send("Go")
        await stage.shows("Run it", "$ echo 0", *(f"  {name}" for name in ANSWERS), "Ask for a change")
        await stage.press("escape")
        await stage.idle()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("message", ["Which one?", "Please\n" + "tell me more. " * 30])
async def test_the_buttons_of_a_form_are_on_a_low_screen(tmp_path, size, message):
    async with opened(asker(message=message), tmp_path, size=size) as stage:
        await stage.send("form")
        await stage.shows("The agent asks", "Send", "Decline", "Ask for a change", "waiting for your answer")
        stage.tab.questions.first.cancel()
        await stage.idle()


async def test_a_link_that_is_longer_than_the_screen_scrolls(tmp_path):
    async with opened(asker(), tmp_path, size=(40, 10)) as stage:
        await stage.send("link")
        await stage.shows("https://example.org", "Open in browser", "Decline")
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        while "/end" not in stage.text:
            await stage.press("down")
        await stage.shows("Open in browser", "Decline")
        await stage.press("escape")
        await stage.idle()


async def test_a_title_that_is_cut_on_a_low_screen_is_told_below(tmp_path):
    async with opened(asker(title="Run " + "something " * 9 + "dangerous"), tmp_path, size=(40, 10)) as stage:
        await stage.send("Go")
        await stage.shows("Permission", *(f"  {name}" for name in ANSWERS))
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        while "dangerous" not in stage.text:
            await stage.press("down")
        await stage.press("n")
        await stage.idle()


async def test_a_screen_that_becomes_higher_has_its_frames_again(tmp_path):
    async with opened(asker(), tmp_path, size=(40, 10)) as stage:
        await stage.send("Go")
        await stage.shows("Permission")
        await stage.until(lambda: stage.app.main.has_class("tight"))
        await stage.pilot.resize_terminal(100, 36)
        await stage.until(lambda: not stage.app.main.has_class("tight"))
        await stage.shows("╭", "cover the same kind", "Esc cancel")
        await stage.pilot.resize_terminal(40, 10)
        await stage.until(lambda: stage.app.main.has_class("tight"))
        await stage.shows(*(f"  {name}" for name in ANSWERS))
        stage.tab.questions.first.cancel()
        await stage.idle()


@pytest.mark.parametrize("kind", ["form", "link"])
async def test_a_question_that_is_still_empty_takes_the_focus_when_it_is_there(tmp_path, monkeypatch, kind):
    async with opened(asker(), tmp_path) as stage:
        monkeypatch.setattr(stage.app, "call_after_refresh", lambda callback: callback())  # no sooner than that
        await stage.send(kind)
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.press("escape")
        await stage.idle()
