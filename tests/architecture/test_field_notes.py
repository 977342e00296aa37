"""Each bug seen in a real product that concerns a layer we have is the docstring of a test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]

COVERED = [
    *range(1, 8), *range(10, 18), *range(20, 27), *range(30, 39), *range(40, 48), *range(50, 55),
    *range(60, 65), *range(70, 82), *range(90, 108), *range(110, 116),
]  # fmt: skip


def test_every_field_note_of_these_layers_has_a_test():
    noted: set[int] = set()
    for file in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                # "FN-01: ..." or, where one test covers two, "FN-01, FN-02: ..."
                opening = re.match(r"FN-\d+(?:, FN-\d+)*", ast.get_docstring(node) or "")
                noted.update(int(number) for number in re.findall(r"\d+", opening.group() if opening else ""))
    missing = [f"FN-{number:02}" for number in COVERED if number not in noted]
    assert not missing, " ".join(missing)
