"""Keys that the user's settings give to the actions of the screen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.apps.coder.settings.settings import KEY_ACTIONS
from accord.apps.console.screen.key_bindings import ACTIONS, KeyBindings, key_label
from accord.apps.console.screen.pages.keys_page import key_groups
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened

ROOT = Path(__file__).resolve().parents[4]
PAGE = ROOT / "docs" / "screen.md"
SCREEN = ROOT / "src" / "accord" / "apps" / "console" / "screen"


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
        assert key_groups(KeyBindings(chosen))["In the prompt"][:2] == [
            ("Alt+Enter", "send"),
            ("Enter, \\ Alt+Enter", "new line"),
        ]


def texts_of(file: Path) -> Iterator[str]:
    """The texts in a module that are not docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes:
            yield node.value


def test_no_text_names_the_default_key_of_an_action():
    labels = {key_label(key) for name in ACTIONS for key in KeyBindings().of(name)} - {"Enter", "PgUp", "PgDn"}
    default = re.compile(rf"(?<![\w+])({'|'.join(map(re.escape, labels))}|F[1-5]|\^[A-Z])(?![\w+])")
    own = ("key_bindings", "keys_page")
    found = [
        f"{file.stem}: {text}"
        for file in SCREEN.rglob("*.py")
        if file.stem not in own
        for text in texts_of(file)
        if " " in text and default.search(text)
    ]
    # Keys of a page or a list of its own, which the settings do not change.
    expected = {"wire_log: ↑↓ select · Tab to the text · F5 refresh · Esc close"}
    assert set(found) == expected


async def test_the_hints_name_the_keys_in_force(tmp_path):
    agent = ScriptedAgent(1)

    async def ask(prompt: Any) -> None:
        options = [{"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_always", "reject_once")]
        about = {"sessionId": agent.session_id, "toolCall": {"toolCallId": "t", "title": "Make"}, "options": options}
        await agent.ask("session/request_permission", about)
        agent.finish(prompt)

    agent.on("session/prompt", ask)
    chosen = {"send": ["f9"], "next_focus": ["f6"], "keys": ["f7"], "exit": ["f8"], "next_mode": [], "restart": ["f12"]}
    async with opened(agent, tmp_path, version=1, keys=chosen | {"command_palette": ["f10"]}) as stage:
        await stage.shows(
            "press F9", "F6 inserts an example, F9 sends it", "/options mode   F7 keys   F8 quit", "F7 keys"
        )
        await stage.type("/nonsense")
        await stage.press("f9")
        await stage.shows("F9 again")
        await stage.press("ctrl+c", "x", "f9")
        await stage.asked()
        await stage.shows("F6 to the prompt", "Forget (F10)")
        await stage.press("f6", "y", "f9")
        await stage.shows("F6 selects")


async def test_the_advice_of_an_error_names_the_keys_in_force(tmp_path):
    chosen = {"restart": ["f6"], "log": []}
    async with opened("no-such-agent-anywhere", tmp_path, ready=False, keys=chosen) as stage:
        await stage.shows("F6 tries again, /log shows the wire log", "agent ended, F6 restarts it")
        await stage.send("x")
        await stage.shows("F6 restarts it;")


async def test_the_key_that_opens_the_keys_page_closes_it(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, version=1, keys={"keys": ["f6"]}) as stage:
        await stage.press("f6")
        await stage.shows("Keys and commands")
        await stage.press("f6")
        await stage.until(lambda: stage.app.screen is stage.app.main)
