"""Forms and links that an agent shows."""

from __future__ import annotations

import asyncio

import pytest

from accord import Agent, Turn
from accord.apps.console.screen import keys
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import Stage, opened

FIELDS = {
    "name": {"type": "string", "title": "Your name", "description": "as on the door", "minLength": 2},
    "age": {"type": "integer", "minimum": 18},
    "color": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]},
    "spam": {"type": "boolean", "title": "Send me letters", "default": True},
}


def asking(answers: list) -> Agent:
    agent = Agent("asker", version="1")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        answers.append(await turn.ask("Who are **you**?", FIELDS, required=["name"]))

    return agent


async def test_a_form_is_filled_in_and_sent(tmp_path, version):
    answers: list = []
    async with opened(asking(answers), tmp_path, version=version) as stage:
        await stage.send("Go")
        await stage.shows("The agent asks", "Who are **you**?", "Your name*", "as on the door", "Send me letters")
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.type("x")
        await stage.press("enter")
        await stage.shows("Your name:")
        await stage.shows("at least 2")
        await stage.type("y")
        await stage.press("tab")
        await stage.type("12")
        await stage.press("enter")
        await stage.shows("age: must be at least 18")
        await stage.press("backspace", "backspace", "4", "2", "enter")
        await stage.idle()
        assert answers == [{"name": "xy", "age": 42, "spam": True}]


async def test_escape_cancels_a_form(tmp_path):
    answers: list = []
    async with opened(asking(answers), tmp_path) as stage:
        await stage.send("Go")
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.press("escape")
        await stage.idle()
        assert answers == [None]
        assert stage.app.focused is stage.app.prompt


async def test_a_link_is_shown_whole_and_opened_only_on_request(tmp_path, version):
    visited: list[str] = []
    agent, answers = Agent("linker", version="1"), []

    @agent.prompt
    async def ask(turn: Turn) -> None:
        answers.append(await turn.ask_to_open("Please log in", "https://example.org/login?x=1", "e1"))

    async with opened(agent, tmp_path, version=version) as stage:
        stage.app.open_url = lambda url, **_: visited.append(url)
        await stage.send("Go")
        await stage.shows("Please log in", "https://example.org/login?x=1", "Open in browser")
        assert visited == []
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.press("enter")
        await stage.idle()
        assert visited == ["https://example.org/login?x=1"]
        assert answers == [True]


async def test_only_web_addresses_are_opened(tmp_path):
    visited: list[str] = []
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        stage.app.open_url = lambda url, **_: visited.append(url)
        params = {"mode": "url", "message": "Look", "url": "file:///etc/passwd", "elicitationId": "e"}
        asked = agent.ask("elicitation/create", {"sessionId": agent.session_id, **params})
        await stage.shows("file:///etc/passwd")
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.press("enter")
        await stage.shows("only http and https")
        await asked
        assert visited == []


HOSTILE = "use [/dev/null] [red]now"
ANY_OF = [{"const": "a", "title": HOSTILE}, {"const": "b", "title": "[/]"}]


async def test_square_brackets_in_a_form_are_text(tmp_path):
    fields = {
        "box": {"type": "boolean", "title": f"Box {HOSTILE}", "description": "[/b]"},
        "one": {"type": "string", "title": f"One {HOSTILE}", "oneOf": ANY_OF, "default": "a"},
        "some": {"type": "array", "title": f"Some {HOSTILE}", "items": {"anyOf": ANY_OF}},
        "text": {"type": "string", "title": f"Text {HOSTILE}", "description": "[/b]", "default": "[/c]"},
        "age": {"type": "integer", "title": f"Age {HOSTILE}"},
    }
    agent, answers = Agent("asker", version="1"), []

    @agent.prompt
    async def ask(turn: Turn) -> None:
        answers.append(await turn.ask(f"Which {HOSTILE}?", fields))

    async with opened(agent, tmp_path, size=(100, 50)) as stage:
        await stage.send("Go")
        await stage.shows(*(f"{what} {HOSTILE}" for what in ("Which", "Box", "One", "Some", "Text", "Age")))
        assert sum(HOSTILE in line for line in stage.lines) == 8  # those, the choice and the tick
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.press("space", "tab", "tab", "space", "tab", "tab", "x", "enter")
        await stage.shows(f"Age {HOSTILE}: ")
        await stage.press("backspace", "7", "enter")
        await stage.idle()
        assert answers == [{"box": True, "one": "a", "some": ["a"], "text": "[/c]", "age": 7}]


async def let_go(stage: Stage) -> None:
    """Wait until a button takes keys again."""
    await stage.until(lambda: not stage.app.main.query("Button.-active"))


def presenting(answers: list, *, is_link: bool) -> Agent:
    agent = Agent("asker", version="1")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        if is_link:
            answers.append(await turn.ask_to_open("Look", "https://example.org/", "e1"))
        else:
            answers.append(await turn.ask("Shall I?", {}))

    return agent


@pytest.mark.parametrize("is_link", [False, True], ids=["form", "link"])
@pytest.mark.parametrize("by", ["key", "click"])
async def test_what_is_pressed_when_a_form_or_link_has_only_just_come_answers_nothing(tmp_path, is_link, by):
    answers: list = []
    async with opened(presenting(answers, is_link=is_link), tmp_path, settling=60.0) as stage:
        stage.app.open_url = lambda url, **_: None
        await stage.send("Go")
        await stage.asked()
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        for accepts in (False, True):
            if by == "key":
                await stage.press("enter")
            else:
                await stage.pilot.click("#open" if is_link else "#accept")
            assert bool(stage.tab.questions.pending) is not accepts
            await let_go(stage)
            bar = stage.app.main.questions._bar
            if bar is not None:
                bar._visible_since -= 100.0
        await stage.idle()
        assert answers == [True if is_link else {}]


@pytest.mark.parametrize("is_link", [False, True], ids=["form", "link"])
async def test_the_enter_that_sent_the_prompt_does_not_answer_when_it_is_held_down(tmp_path, is_link):
    answers: list = []
    async with opened(presenting(answers, is_link=is_link), tmp_path, held=60.0) as stage:
        stage.app.open_url = lambda url, **_: None
        await stage.send("Go")
        await stage.asked()
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        for _ in range(2):
            await stage.press("enter")
            await let_go(stage)
        assert (len(stage.tab.questions.pending), answers) == (1, [])
        keys.HELD = keys.REPEATING = 0.0  # as if it had been let go for long enough
        await stage.press("enter")
        await stage.idle()
        assert answers == [True if is_link else {}]


async def test_a_form_that_has_not_the_keys_says_how_to_get_there(tmp_path):
    agent, asks = Agent("asker", version="1"), asyncio.Event()

    @agent.prompt
    async def ask(turn: Turn) -> None:
        await asks.wait()
        await turn.ask("Who are you?", FIELDS)

    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.type("wait")
        asks.set()
        await stage.shows("The agent asks", "Tab to answer")
        await stage.press("tab")
        await stage.shows("Enter send")
        assert "Tab to answer" not in stage.text
        await stage.press("escape")
        await stage.idle()
