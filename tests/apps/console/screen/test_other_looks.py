"""Another theme or size while something is asked: all of it is painted anew, and the question can still be answered."""

from __future__ import annotations

from typing import Any

import pytest
from rich.color import Color
from textual.widgets import Input

from accord import Agent, Turn
from accord.testing import ScriptedAgent
from tests.apps.console.screen import looks
from tests.apps.console.screen.looks import cells
from tests.apps.console.screen.stage import Stage, opened
from tests.apps.console.screen.test_permission_bar import asker

SIGNS = set("─│╭╮╰╯▌▸● ")


def colours(stage: Stage) -> set[Color]:
    """Every colour that something on the screen is written in."""
    strips = stage.app.screen._compositor.render_strips()
    styles = [style for strip in strips for text, style, _ in strip if text.strip() and style is not None]
    return {style.color for style in styles if style.color is not None}


async def choose_theme(stage: Stage, name: str) -> None:
    stage.app.prompt.focus()
    await stage.send("/theme")
    await stage.until(lambda: stage.app.screen is not stage.app.main)
    await stage.type(name)
    await stage.press("enter")
    await stage.until(lambda: stage.app.theme == name and stage.app.screen is stage.app.main)
    await stage.pilot.pause()


async def test_a_permission_is_repainted_in_another_theme_and_answered(tmp_path, version):
    agent, allowed = asker()
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.shows("Permission")
        dark, asked = colours(stage), stage.app.main.questions.question
        await choose_theme(stage, "accord-light")
        light = colours(stage)
        assert stage.app.main.questions.question is asked
        await stage.shows("Permission", "Allow")
        stage.app.prompt.clear()
        stage.app.main.questions.take_focus()
        await stage.pilot.pause()
        assert not dark & light, "something is still painted in the colours of the other theme"
        await stage.press("y")
        await stage.idle()
        assert allowed == [True]


def form(agent: ScriptedAgent, got: list[Any]) -> Any:
    async def answer(asked: Any) -> None:
        fields = {
            "name": {"type": "string", "title": "Your name", "description": "the one that you go by"},
            "age": {"type": "integer", "title": "Age"},
        }
        schema = {"type": "object", "properties": fields, "required": ["name"]}
        about = {"sessionId": agent.session_id, "message": "Who?", "mode": "form", "requestedSchema": schema}
        got.append((await agent.ask("elicitation/create", about)).result)
        agent.finish(asked)

    return answer


async def test_a_form_keeps_what_was_filled_in_another_theme(tmp_path):
    agent, got = ScriptedAgent(1), []
    agent.on("session/prompt", form(agent, got))
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.type("Ada")
        await stage.press("tab")
        await stage.type("many")
        await stage.press("enter")
        await stage.shows("Age:")
        dark = colours(stage)
        await choose_theme(stage, "accord-light")
        assert not dark & colours(stage)
        await stage.shows("Ada", "many", "Age:", "the one that you go by")
        stage.app.main.query_one("#field-1", Input).focus()
        await stage.press(*["backspace"] * 4, "3", "6", "enter")
        await stage.idle()
        assert got[0]["content"] == {"name": "Ada", "age": 36}


@pytest.mark.parametrize("size", [(60, 20), (200, 60)])
async def test_a_permission_stays_whole_when_the_terminal_has_another_size(tmp_path, size):
    agent, allowed = asker()
    async with opened(agent, tmp_path, size=(120, 40)) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.pilot.resize_terminal(*size)
        await stage.shows("Permission", "Allow", "Reject")
        await stage.type("zz")
        assert stage.prompt == "zz"
        await stage.pilot.resize_terminal(120, 40)
        await stage.shows("Permission", "Allow", "Reject")
        await stage.press("tab", "n")
        await stage.idle()
        assert allowed == [False]


@pytest.mark.parametrize("size", [(60, 20), (200, 60)])
async def test_a_form_keeps_what_was_filled_in_at_another_size(tmp_path, size):
    agent, got = ScriptedAgent(1), []
    agent.on("session/prompt", form(agent, got))
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.type("Ada")
        await stage.pilot.resize_terminal(*size)
        await stage.shows("Ada", "Send")
        await stage.type(" L")
        await stage.press("enter")
        await stage.idle()
        assert got[0]["content"] == {"name": "Ada L"}


async def test_a_page_that_is_open_is_repainted_too(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        await stage.press("f1")
        await stage.shows("Anywhere")
        dark = colours(stage)
        stage.app.theme = "accord-light"
        await stage.pilot.pause()
        assert not dark & colours(stage)


async def test_the_list_of_themes_shows_each_theme_while_the_cursor_moves_and_esc_restores_the_one_before(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        before = colours(stage)
        await stage.send("/theme")
        await stage.shows("accord-light")
        assert stage.app.theme == "accord-dark"
        await stage.press("down")
        await stage.until(lambda: stage.app.theme == "accord-light")
        await stage.until(lambda: stage.app.palette is stage.app.conversation.palette)
        assert not before & colours(stage)
        await stage.type("dracu")
        await stage.until(lambda: stage.app.theme == "dracula")
        await stage.press("escape")
        await stage.until(lambda: stage.app.theme == "accord-dark" and stage.app.screen is stage.app.main)


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_the_chosen_line_of_a_list_is_marked_in_the_sixteen_colours(theme, tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, theme=theme) as stage:
        await stage.send("/theme")
        await stage.shows(theme, "dracula")
        grounds = [
            next(style.bgcolor for text, style in cells(stage.app) if name in text)
            for name in (f"● {theme}", "dracula")
        ]
        assert grounds[0] != grounds[1]


async def test_the_completions_and_the_line_about_new_text_are_repainted_too(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        stage.app.main.new_text.show(True, stage.app.palette)
        stage.app.main.mount(stage.app.main.new_text)
        await stage.type("/he")
        await stage.shows("▸ /help", "new text below")
        dark = colours(stage)
        stage.app.theme = "accord-light"
        await stage.until(lambda: stage.app.palette.accent.color not in dark)
        await stage.shows("▸ /help", "new text below")
        assert not dark & colours(stage), "something is still painted in the colours of the other theme"


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_no_text_has_a_colour_that_most_terminals_make_too_like_the_ground(theme, tmp_path):
    """Blue on black, and yellow on white."""
    async with opened(looks.agent, tmp_path, theme=theme, size=(120, 40)) as stage:
        await stage.send("everything")
        await stage.idle()
        await stage.press("ctrl+o", "ctrl+t")
        unreadable = 4 if theme == "ansi-dark" else 3
        for _ in range(2):
            numbers = {
                style.color.number: text for text, style in cells(stage.app) if style.color and not set(text) <= SIGNS
            }
            assert 2 in numbers
            assert unreadable not in numbers, numbers
            await stage.press("pageup")


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_the_marks_of_a_form_can_be_seen_in_the_sixteen_colours(theme, tmp_path):
    fields = {
        "loud": {"type": "boolean", "title": "Loud", "default": True},
        "tags": {"type": "array", "title": "Tags", "items": {"type": "string", "enum": ["a", "b"]}, "default": ["a"]},
    }
    agent = Agent("asker", version="1")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        await turn.ask("Which?", fields)

    async with opened(agent, tmp_path, theme=theme) as stage:
        await stage.send("Go")
        await stage.shows("Tags")
        marks = [style for text, style in cells(stage.app) if text == "✓"]
        assert [style.color and style.color.name for style in marks] == ["color(0)", "color(0)"]


async def test_a_list_in_a_form_shows_where_it_is_only_while_it_has_the_focus(tmp_path):
    fields = {
        "name": {"type": "string", "title": "Name"},
        "tags": {"type": "array", "title": "Tags", "items": {"type": "string", "enum": ["alpha", "beta"]}},
    }
    agent = Agent("asker", version="1")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        await turn.ask("Which?", fields)

    def grounds(stage: Stage) -> set[Any]:
        return {style.bgcolor for text, style in cells(stage.app) if text.strip() in ("alpha", "beta")}

    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.shows("alpha")
        assert len(grounds(stage)) == 1
        await stage.press("tab")
        await stage.until(lambda: len(grounds(stage)) == 2)
