"""A theme that is chosen on the screen is there again at the next start, until the setting changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.css.stylesheet import Stylesheet

from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import Stage, opened


async def choose(stage: Stage, name: str) -> None:
    await stage.send("/theme")
    await stage.shows("accord-light", "default")
    await stage.type(name)
    await stage.press("enter")
    await stage.until(lambda: stage.app.screen is stage.app.main)


async def theme_at_start(state: Path, **given: Any) -> str:
    async with opened(ScriptedAgent(1), state, ready=False, state=state, **{"theme": None, **given}) as stage:
        return stage.app.theme


async def test_a_chosen_theme_is_saved_for_the_next_start_and_the_screen_says_so(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, state=tmp_path) as stage:
        await choose(stage, "nord")
        await stage.shows("nord is saved for the next start.")
    assert await theme_at_start(tmp_path) == "nord"
    assert await theme_at_start(tmp_path, theme="dracula") == "dracula"  # --theme is for one start
    assert await theme_at_start(tmp_path) == "nord"


async def test_the_style_sheets_are_read_again_for_another_theme_but_not_at_the_start(tmp_path, monkeypatch):
    themes: list[str] = []
    read_again = Stylesheet.reparse

    def reparse(sheet: Stylesheet) -> None:
        themes.append(sheet._variables["primary"])
        read_again(sheet)

    monkeypatch.setattr(Stylesheet, "reparse", reparse)
    async with opened(ScriptedAgent(1), tmp_path, state=tmp_path) as stage:
        assert themes == []
        await choose(stage, "nord")
        assert themes[-1] == stage.app.get_css_variables()["primary"]


async def test_a_theme_that_was_only_tried_is_not_saved(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, state=tmp_path) as stage:
        await stage.send("/theme")
        await stage.shows("accord-light")
        await stage.type("nord")
        await stage.until(lambda: stage.app.theme == "nord")
        await stage.press("escape")
        await stage.until(lambda: stage.app.theme == "accord-dark")
    assert not (tmp_path / "theme.json").exists()


async def test_the_latest_counts_the_choice_or_the_setting(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, state=tmp_path, theme_setting="gruvbox") as stage:
        await choose(stage, "nord")
        await stage.shows("nord is saved")
    assert await theme_at_start(tmp_path, theme_setting="gruvbox") == "nord"
    assert await theme_at_start(tmp_path, theme_setting="dracula") == "dracula"


async def test_the_default_removes_the_choice(tmp_path):
    given = {"state": tmp_path, "theme": None, "theme_setting": "gruvbox"}
    async with opened(ScriptedAgent(1), tmp_path, **given) as stage:
        await choose(stage, "nord")
        await choose(stage, "default")
        assert stage.app.theme == "gruvbox"
        await stage.shows("gruvbox is the default")
    assert await theme_at_start(tmp_path, theme_setting="gruvbox") == "gruvbox"


async def test_a_file_that_cannot_be_read_does_not_prevent_the_start_and_is_told_when_a_theme_is_chosen(tmp_path):
    (tmp_path / "theme.json").write_text("{")
    async with opened(ScriptedAgent(1), tmp_path, state=tmp_path, theme=None, theme_setting="gruvbox") as stage:
        assert stage.app.theme == "gruvbox"
        await choose(stage, "nord")
        await stage.shows("not saved")
        assert stage.app.theme == "nord"


async def test_a_saved_theme_that_no_longer_exists_is_ignored(tmp_path):
    (tmp_path / "theme.json").write_text('{"theme": "no-such-theme"}')
    assert await theme_at_start(tmp_path, theme_setting=None) in (
        "accord-dark",
        "accord-light",
        "ansi-dark",
        "ansi-light",
    )
