"""Which tests prove which requirement, read from the marks in the tests' sources; run it to write them down.

The mark is the only link between a test and a requirement: the lists in requirements.toml are made from it.
"""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements.toml"


def requirements() -> dict[str, dict[str, Any]]:
    return tomllib.loads(REQUIREMENTS.read_text(encoding="utf-8"))


def marked_tests() -> dict[str, list[str]]:
    """For each marked id the tests that carry it, in the order of their names."""
    found: dict[str, set[str]] = {}
    for file in sorted((ROOT / "tests").rglob("*.py")):
        if "node_modules" not in file.parts:
            for identifier, name in marks_of(ast.parse(file.read_text(encoding="utf-8")), file):
                found.setdefault(identifier, set()).add(name)
    return {identifier: sorted(names) for identifier, names in found.items()}


def marks_of(tree: ast.Module, file: Path) -> Iterator[tuple[str, str]]:
    """The marks of a file with the test they are on; one that is on no single test belongs to the whole file."""
    owners = dict(owned(tree, ""))
    path = file.relative_to(ROOT).as_posix()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requirement":
            for argument in node.args:
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise TypeError(f"{path}:{node.lineno}: write the requirement ids as plain strings")
                yield argument.value, path + owners.get(node, "")


def owned(parent: ast.Module | ast.ClassDef, name: str) -> Iterator[tuple[ast.AST, str]]:
    """What decorates a test or a class of tests, with its name as pytest spells it."""
    for test in parent.body:
        if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            its_name = f"{name}::{test.name}"
            for decorator in test.decorator_list:
                yield from dict.fromkeys(ast.walk(decorator), its_name).items()
            if isinstance(test, ast.ClassDef):
                yield from owned(test, its_name)


ELSEWHERE = ("interop", "local_model", "installed")
"""Marks of tests that `make test` leaves out: they need more than Python."""


def marks_on(names: Iterable[str]) -> dict[str, set[str]]:
    """For each of these tests what else it is marked with, by itself, by its class or by its file.

    `skip` also stands for a test that begins by skipping itself, and for one that is expected to fail.
    """
    trees: dict[str, ast.Module] = {}
    found: dict[str, set[str]] = {}
    for name in names:
        path, *inner = name.split("::")
        if path not in trees:
            trees[path] = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        found[name] = set(marks_inside(trees[path], inner))
    return found


def marks_inside(tree: ast.Module, inner: list[str]) -> Iterator[str]:
    """Of the test, or the file, that is found by these names in a file."""
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef = tree
    yield from _own_marks(node)
    for name in inner:
        node = next(each for each in node.body if getattr(each, "name", None) == name)  # type: ignore[assignment]
        yield from _own_marks(node)


def _is_call_of(statement: ast.stmt, name: str) -> bool:
    called = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(called, ast.Call) and _names(called.func) == ["pytest", name]


def _own_marks(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """By decorators, by `pytestmark`, and by a call of `pytest.skip` that no condition stands before."""
    places: list[ast.AST] = [*getattr(node, "decorator_list", ())]
    for statement in node.body:
        if isinstance(statement, ast.Assign) and _names(statement.targets[0]) == ["pytestmark"]:
            places.append(statement.value)
        elif _is_call_of(statement, "skip") or _is_call_of(statement, "xfail"):
            yield "skip"
    for place in places:
        for part in ast.walk(place):
            names = _names(part)
            if names[:2] == ["pytest", "mark"] and len(names) == 3:
                yield "skip" if names[2] == "xfail" else names[2]
            if isinstance(part, ast.Call) and _names(part.func) == ["pytest", "mark", "skipif"] and _is_true(part):
                yield "skip"


def _is_true(skipif: ast.Call) -> bool:
    return bool(skipif.args) and isinstance(skipif.args[0], ast.Constant) and bool(skipif.args[0].value)


def _names(node: ast.AST) -> list[str]:
    """The parts of a dotted name."""
    if isinstance(node, ast.Attribute):
        return [*_names(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else []


def with_tests(rows: dict[str, dict[str, Any]], tests: dict[str, list[str]]) -> dict[str, dict[str, Any]]:
    plain = {identifier: {key: row[key] for key in row if key != "tests"} for identifier, row in rows.items()}
    return {
        identifier: row | ({"tests": tests[identifier]} if identifier in tests else {})
        for identifier, row in plain.items()
    }


def write(rows: dict[str, dict[str, Any]]) -> None:
    heading, _, _ = REQUIREMENTS.read_text(encoding="utf-8").partition("\n\n")
    tables = ["\n".join([f'["{identifier}"]', *map(line, row.items())]) for identifier, row in rows.items()]
    REQUIREMENTS.write_text("\n\n".join([heading, *tables]) + "\n", encoding="utf-8")


def line(item: tuple[str, Any]) -> str:
    key, value = item
    if isinstance(value, list):
        return "\n".join([f"{key} = [", *(f"    {json.dumps(entry, ensure_ascii=False)}," for entry in value), "]"])
    return f"{key} = {json.dumps(value, ensure_ascii=False)}"


if __name__ == "__main__":
    write(with_tests(requirements(), marked_tests()))
