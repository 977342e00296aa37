"""Imports go downward and never in a circle, imports for type checkers included; the contracts of pyproject.toml name
every module they are about, also those that come later.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "accord"
CONTRACTS = {
    contract["name"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
}

LAYERS = [
    ["cli"],
    ["apps.coder", "apps.console", "apps.remote", "apps.web", "apps.conformance", "apps.inspector", "apps.hub"],
    ["testing", "rules"],
    ["agent", "client"],
    ["telemetry"],
    ["store", "peer", "relay"],
    ["local"],
    ["transports"],
    ["dialects"],
    ["session"],
    ["schema", "jsonrpc"],
    ["errors"],
]
"""From the top; a package may come later."""
OUTSIDE = {"accord", "accord.__main__", "accord.apps"}
"""In no layer: the public names, which the programs of the two upper layers may import, `python -m`, the apps' folder."""


def import_graph(source: Path) -> dict[str, set[str]]:
    """The modules below `source`, each with those it imports anywhere: in functions and for type checkers too."""
    files = {
        ".".join((source.name, *file.relative_to(source).with_suffix("").parts)).removesuffix(".__init__"): file
        for file in source.rglob("*.py")
    }
    graph: dict[str, set[str]] = {}
    for module, file in files.items():
        imported: set[str] = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                inside = {f"{node.module}.{alias.name}" for alias in node.names}
                imported |= (inside & files.keys()) or {node.module}
        graph[module] = (imported & files.keys()) - {module}
    return graph


def layer(module: str) -> tuple[int, str]:
    """The number of a module's layer, from the top, and the package that it belongs to."""
    for number, packages in enumerate(LAYERS):
        for package in packages:
            if f"{module}.".startswith(f"accord.{package}."):
                return number, package
    raise LookupError(f"{module} is in no layer")


def may_import(module: str, imported: str) -> bool:
    (number, package) = layer(module)
    if imported in OUTSIDE:
        return imported == "accord" and number <= 1
    return layer(imported)[1] == package or layer(imported)[0] > number


def exists(module: str) -> bool:
    path = SOURCE.joinpath(*module.split(".")[1:])
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_no_modules_import_each_other_in_a_circle():
    TopologicalSorter(import_graph(SOURCE)).prepare()


def test_a_circle_of_imports_for_type_checkers_and_in_functions_is_found(tmp_path: Path):
    (tmp_path / "a.py").write_text(f"if TYPE_CHECKING:\n    from {tmp_path.name}.b import B\n")
    (tmp_path / "b.py").write_text(f"def b():\n    from {tmp_path.name} import a\n")
    with pytest.raises(CycleError):
        TopologicalSorter(import_graph(tmp_path)).prepare()


def test_every_import_goes_to_a_lower_layer_or_stays_in_its_package():
    wrong = [
        f"{module} imports {imported}"
        for module, imports in import_graph(SOURCE).items()
        for imported in imports
        if module not in OUTSIDE and not may_import(module, imported)
    ]
    assert wrong == []


def test_the_contract_has_the_same_layers():
    contract = CONTRACTS["Each layer imports only from layers below it, siblings never import each other"]
    layers = [row.replace("(", "").replace(")", "").split(" | ") for row in contract["layers"]]
    assert layers == [["__main__"], *LAYERS]
    assert contract["exhaustive"]


def test_the_diagram_of_the_document_has_the_same_layers():
    page = (ROOT / "docs" / "layers.md").read_text(encoding="utf-8")
    diagram = page.partition("```text\n")[2].partition("```")[0]
    rows = [line.strip().split(" | ") for line in diagram.splitlines() if "---" not in line]
    assert rows == [[package for package in packages if exists(f"accord.{package}")] for packages in LAYERS]


def test_whoever_must_not_see_wire_shapes_is_named():
    named = CONTRACTS["Wire shapes stop at the dialects"]["source_modules"]
    blind = [f"accord.{name}" for name in ("session", "transports", "local", "peer", "agent", "client")]
    assert [module for module in blind if exists(module) and module not in named] == []


def test_the_judge_is_named_once_it_exists():
    judge = CONTRACTS["The judge does not trust what it judges"]
    if exists("accord.apps.conformance"):
        assert judge["source_modules"] == ["accord.apps.conformance"]
        assert set(judge["forbidden_modules"]) == {"accord.agent", "accord.client", "accord.dialects", "accord.testing"}


def test_importing_accord_loads_neither_asyncio_nor_a_schema():
    program = "import sys, accord; print([name for name in ('asyncio', 'accord.schema') if name in sys.modules])"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "[]"
