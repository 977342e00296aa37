"""Keys that the user's settings give to the actions of the screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from accord.apps.coder.settings.settings import KEY_ACTIONS
from accord.apps.console.screen.key_bindings import ACTIONS, KeyBindings
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened

PAGE = Path(__file__).resolve().parents[4] / "docs" / "screen.md"


def test_the_settings_know_every_action_and_the_page_lists_its_keys():
    assert sorted(KEY_ACTIONS) == sorted(ACTIONS)
    section = PAGE.read_text(encoding="utf-8").partition("### Own keys")[2].partition("\n#")[0]
    told = {
        name: re.findall("`(.+?)`", keys)
        for name, keys in re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE)
    }
    assert told == {name: KeyBindings()._keys[name] for name in ACTIONS}


def test_a_key_that_is_given_to_an_action_is_taken_from_the_one_that_had_it():
    keys = KeyBindings({"log": ["Ctrl+N", "shift+alt+x"], "history": []})
    assert (keys.label("log"), keys.label("new_session"), keys.label("history")) == ("Ctrl+N, Alt+Shift+X", "", "")
    assert keys.label("next_tab") == "Alt+→, Ctrl+PgDn"


@pytest.mark.parametrize("key", ["f6", "ctrl+n", "ctrl+w", "ctrl+q", "ctrl+p", "alt+x"])
async def test_the_chosen_key_works_and_the_default_one_no_more(tmp_path, key):
    async with opened(ScriptedAgent(1), tmp_path, version=1, keys={"log": [key]}) as stage:
        await stage.press(key)
        await stage.shows("Wire log")
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.main)
        await stage.press("ctrl+l")
        assert stage.app.screen is stage.app.main
        assert len(stage.app.tabs) == 1
        await stage.press("f1")
        label = "+".join(part.upper() if len(part) == 1 else part.capitalize() for part in key.split("+"))
        await stage.until(lambda: re.search(rf"{re.escape(label)} +wire log", stage.text))


async def test_an_action_without_a_key_is_still_in_the_palette_and_the_keys_page(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, version=1, keys={"log": [], "command_palette": ["f6"]}) as stage:
        await stage.press("ctrl+l", "ctrl+p")
        assert stage.app.screen is stage.app.main
        await stage.press("f1")
        await stage.until(lambda: re.search(r"  - +wire log", stage.text))
        await stage.press("escape", "f6")
        await stage.until(lambda: stage.app.screen is not stage.app.main)
        await stage.type("wire log")
        await stage.shows("Wire log: messages")


async def test_enter_makes_a_new_line_if_another_key_sends(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("Heard."))
    chosen = {"send": ["alt+enter"], "newline": ["enter"]}
    async with opened(agent, tmp_path, version=1, keys=chosen) as stage:
        await stage.type("one")
        await stage.press("enter")
        await stage.type("two")
        assert stage.prompt == "one\ntwo"
        await stage.press("alt+enter")
        await stage.shows("Heard.")
        await stage.press("f1", "end")
        assert KeyBindings(chosen).groups()["In the prompt"][:2] == [
            ("Alt+Enter", "send"),
            ("Enter, \\ Alt+Enter", "new line"),
        ]
