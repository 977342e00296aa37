"""The scripts made with the official TypeScript SDK, and how to run one that is a client."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conversations.agent_program import PROGRAM

__all__ = ["need_node", "report_of", "script"]

HERE = Path(__file__).resolve().parent / "typescript"


def script(name: str) -> list[str]:
    """The command that runs a script."""
    return ["node", str(HERE / name)]


def need_node() -> None:
    """Skip the test that cannot run."""
    if shutil.which("node") is None or not (HERE / "node_modules").is_dir():
        pytest.skip("node or the SDK is not installed: make interop")


def report_of(name: str) -> dict[str, Any]:
    """What a client script saw of our agent, which it starts."""
    need_node()
    finished = subprocess.run(
        [*script(name), sys.executable, str(PROGRAM)], stdout=subprocess.PIPE, timeout=100, check=True
    )
    return json.loads(finished.stdout)
