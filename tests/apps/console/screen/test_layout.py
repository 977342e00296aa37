"""The modules of the screen: their names, and that only the app knows the app."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import accord.apps.console.screen

SCREEN = Path(accord.apps.console.screen.__file__).parent
MODULES = [path for path in SCREEN.rglob("*.py") if path.name != "__init__.py"]
CONCEPTS = [
    "export",
    "external_programs",
    "interrupts",
    "keys",
    "login",
    "mentions",
    "pasted_pictures",
    "plan_panel",
    "prompt_history",
    "prompt_queue",
    "shutdown",
    "slash_completion",
    "status",
    "tabs",
    "themes",
    "wire_log",
]


def test_no_two_folders_share_a_module_name():
    names = Counter(path.stem for path in MODULES)
    assert [name for name, count in names.items() if count > 1] == []


def test_each_concept_that_a_bug_report_names_has_a_module():
    assert set(CONCEPTS) <= {path.stem for path in MODULES}


def test_pages_are_called_pages():
    assert all(path.stem.endswith("_page") for path in MODULES if path.parent.name == "pages")


def test_no_part_of_the_screen_knows_the_app():
    importers = [
        path.stem for path in MODULES if re.search(r"import .*\bScreenApp\b", path.read_text(encoding="utf-8"))
    ]
    assert importers == []  # the subcommand that opens the screen makes it
    holders = [path.stem for path in MODULES if re.search(r"\b_app\b|self\.app\b", path.read_text(encoding="utf-8"))]
    assert [name for name in holders if name != "app"] == []
