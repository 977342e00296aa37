"""A module or class is named for its idea, not for being a drawer."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "accord"
DRAWERS = {"utils", "util", "helpers", "helper", "common", "core", "shared", "base", "misc", "manager", "impl", "data"}

NOUNS = {"framing", "paging", "recording", "testing", "drawing", "screen"}
"""Words that end as a participle does, and are nouns of the field."""


def words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_no_module_is_named_as_a_drawer():
    modules = [path for path in SOURCE.rglob("*") if path.suffix == ".py" or path.is_dir()]
    assert [str(path.relative_to(SOURCE)) for path in modules if words(path.stem) & DRAWERS] == []


def test_every_module_is_named_by_a_noun():
    names = {path.stem for path in SOURCE.rglob("*") if path.suffix == ".py" or path.is_dir()}
    assert (
        sorted(name for name in names if name.endswith(("ing", "ed", "en")) and name.split("_")[-1] not in NOUNS) == []
    )


def test_no_two_folders_of_the_screen_share_a_name():
    screen = SOURCE / "apps" / "console" / "screen"
    names = [path.stem for path in screen.rglob("*.py") if path.stem != "__init__"]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_no_class_is_named_as_a_drawer():
    ours = [file for file in SOURCE.rglob("*.py") if "schema" not in file.parts]  # there the protocol chose the names
    classes = {
        f"{file.relative_to(SOURCE)}:{node.lineno}": node.name
        for file in ours
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    }
    assert {place: name for place, name in classes.items() if words(name) & DRAWERS} == {}
