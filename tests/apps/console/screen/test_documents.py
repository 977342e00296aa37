"""docs/screen.md says what the screen does, and its pictures show it."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest
from textual.screen import Screen

from accord.apps.console.screen.app import ScreenApp
from accord.apps.console.screen.blocks.messages import LONG_CHARACTERS, LONG_LINES, READABLE_WIDTH
from accord.apps.console.screen.drawing.diffs import SIDE_BY_SIDE
from accord.apps.console.screen.drawing.palette import READABLE, VISIBLE
from accord.apps.console.screen.key_bindings import KEYS, KeyBindings
from accord.apps.console.screen.main_screen import MainScreen
from accord.apps.console.screen.pages.keys_page import key_groups
from accord.apps.console.screen.prompt_queue import QueuePanel
from accord.apps.console.screen.widgets.conversation_view import ConversationView
from accord.apps.console.session_files import PATIENCE
from accord.apps.console.slash_commands import OWN_COMMANDS
from accord.local import checkpoint_log, checkpoints, shadow_repository
from tests.apps.console.screen import headless

DOCS = Path(__file__).resolve().parents[4] / "docs"
GROUPS = key_groups(KeyBindings())
PAGE = (DOCS / "screen.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[tuple[str, str]]:
    section = re.split(rf"^#+ {re.escape(heading)}$", PAGE, flags=re.MULTILINE)[1].partition("\n#")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [(line.split("|")[1].strip(), line.split("|")[2].strip()) for line in lines[2:]]


@pytest.mark.parametrize("group", GROUPS)
def test_every_key_is_in_its_table(group):
    assert rows(group) == GROUPS[group]


def test_every_key_has_an_action():
    for binding in KEYS:
        namespace, _, action = binding.action.partition("(")[0].rpartition(".")
        assert hasattr(ScreenApp if namespace else MainScreen, f"action_{action}"), binding


@pytest.mark.parametrize(
    ("bound", "group"), [(ConversationView.BINDINGS, "In the conversation"), (QueuePanel.BINDINGS, "In the queue")]
)
def test_the_keys_of_the_parts_are_those_that_are_told(bound, group):
    told = " ".join(key.casefold() for key, _ in GROUPS[group]).split()
    for keys, action, _ in bound:
        assert keys.partition(",")[0] in told or action.startswith("move("), keys


def test_every_own_command_is_told():
    told = dict(re.findall(r"^\| `/(\w+)` \| (.*?) \|$", PAGE, flags=re.MULTILINE))
    assert told == {command.name: command.meaning for command in OWN_COMMANDS.values()}


def test_every_own_command_has_an_action():
    for command in OWN_COMMANDS.values():
        assert hasattr(ScreenApp, f"action_{command.action or command.name}"), command


def test_the_figures_are_those_that_are_told():
    assert f"In a terminal of {SIDE_BY_SIDE}\ncolumns" in PAGE
    assert f"A pasted text of more than {LONG_LINES} lines or {LONG_CHARACTERS:,} characters" in PAGE
    assert f"lines of at most {READABLE_WIDTH} characters" in PAGE
    assert f"contrast of at least {READABLE} to 1" in PAGE
    assert f"a scrollbar of at least {VISIBLE:.0f} to 1" in PAGE


def test_the_limits_of_checkpoints_are_those_that_are_told():
    undo = PAGE.partition("## Undo\n")[2].partition("\n## ")[0]
    days = checkpoint_log.MAX_AGE / 24 / 3600
    for limit in (
        f"files of more than {shadow_repository.MAX_FILE >> 20} MiB",
        f"more than {shadow_repository.MOST_FILES:,} files or {shadow_repository.MAX_BYTES >> 30} GiB",
        f"longer than {checkpoints.TIMEOUT:g} seconds",
        f"at most {PATIENCE:g} seconds",
        f"kept for {days:g} days: at most {checkpoint_log.MOST_CHECKPOINTS} for",
        f"the last {checkpoint_log.MOST_TURNS} turns",
        f"take {checkpoint_log.MAX_SIZE >> 30} GiB",
    ):
        assert limit in " ".join(undo.split()), limit


def test_the_readme_and_the_page_show_every_picture():
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    names = {picture.name for picture in (DOCS / "pictures").glob("*.svg")}
    assert set(re.findall(r"pictures/(\w+\.svg)", PAGE)) == names
    assert len(set(re.findall(r"docs/pictures/(\w+\.svg)", readme))) == 3


async def test_the_pictures_are_what_the_screen_shows(monkeypatch, tmp_path):
    """Words, not pixels: what a newer Textual draws a little differently is no other picture."""
    monkeypatch.syspath_prepend(str(DOCS / "pictures"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(Screen, "_compositor_refresh", headless.with_painting)  # with frames, as the program has them
    make = import_module("make")
    for name, work, theme, size in make.PICTURES:
        svg = await make.picture(work, theme, size)
        assert "url(" not in svg.replace("url(#", "")  # nothing is fetched
        assert _words(svg) == _words((DOCS / "pictures" / f"{name}.svg").read_text(encoding="utf-8")), (
            f"{name} has changed: python docs/pictures/make.py"
        )
    sys.modules.pop("make")


def _words(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_each_no_of_this_screen_beside_others_has_a_reason():
    answers = [answer for _, answer in rows("Beside other screens")]
    assert len(answers) > 15
    assert [answer for answer in answers if answer in ("", "-") or re.match(r"no\b(?!: \w)", answer)] == []
