"""The import contracts of pyproject.toml cover every module they are about, also those that come later."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "accord"
CONTRACTS = {
    contract["name"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
}


def exists(module: str) -> bool:
    path = SOURCE.joinpath(*module.split(".")[1:])
    return path.is_dir() or path.with_suffix(".py").is_file()


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
