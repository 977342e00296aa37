"""Forms and links that an agent shows."""

from __future__ import annotations

from accord import Agent, Turn
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened

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
        await stage.shows("age: at least 18")
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
        await stage.shows("Please log in", "https://example.org/login?x=1", "Open in the browser")
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
        await stage.shows("Only http and https addresses are opened.")
        await asked
        assert visited == []
