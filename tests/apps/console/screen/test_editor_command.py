"""Which command opens a file in which editor; the editors themselves are in test_handing_over.py."""

from __future__ import annotations

import pytest

from accord.apps.console.screen.external_programs import editor_command
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened


@pytest.mark.parametrize(
    ("editor", "command"),
    [
        ("vi", ["vi", "+7", "/a b.py"]),
        ("/usr/bin/nvim -R", ["/usr/bin/nvim", "-R", "+7", "/a b.py"]),
        ("emacsclient -nw", ["emacsclient", "-nw", "+7", "/a b.py"]),
        ("code --wait", ["code", "--wait", "--goto", "/a b.py:7"]),
        ("'/opt/my editor/subl' -w", ["/opt/my editor/subl", "-w", "/a b.py:7"]),
        ("hx", ["hx", "/a b.py:7"]),
        ("vidir", ["vidir", "/a b.py"]),  # not an editor of that kind: no guesses
    ],
)
def test_a_line_is_given_to_those_that_are_known_to_take_one(editor, command):
    assert editor_command(editor, "/a b.py", 7) == command


def test_without_a_line_there_is_only_the_file():
    assert editor_command("code --wait", "/a.py", None) == ["code", "--wait", "/a.py"]


async def test_without_a_terminal_to_hand_over_the_draft_stays(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        await stage.type("My draft")
        await stage.press("ctrl+g")
        await stage.shows("Cannot run")
        assert stage.prompt == "My draft"
