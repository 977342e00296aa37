"""What the page for users says is what there is."""

from __future__ import annotations

import re
from pathlib import Path

from accord.apps.coder.session_options import MODES
from accord.apps.coder.slash_commands import COMMANDS
from accord.apps.coder.tools.tool_call import Toolbox

PAGE = (Path(__file__).parents[3] / "docs" / "coder.md").read_text(encoding="utf-8")


def named(heading: str, pattern: str) -> set[str]:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(pattern, row)}


def test_every_slash_command_is_in_the_page() -> None:
    assert named("Slash commands", r"`/(\w+)") == {name for name, *_ in COMMANDS}


def test_every_tool_is_in_the_page() -> None:
    assert named("Tools", r"`(\w+)`") == set(Toolbox().names)


def test_every_mode_is_in_the_page() -> None:
    assert named("Modes", r"`(\w+)`") == MODES.keys()
