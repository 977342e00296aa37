"""The scripts made with the official TypeScript SDK, and how to run one that is a client."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.interop.official_client import PROGRAM

__all__ = ["need_node", "report_of", "script"]

HERE = Path(__file__).resolve().parent / "typescript"


def script(name: str) -> list[str]:
    """The command that runs a script."""
    return ["node", str(HERE / name)]


def need_node() -> None:
    """Skip the test that cannot run."""
    if shutil.which("node") is None or not (HERE / "node_modules").is_dir():
        pytest.skip("node or the SDK is not installed: make interop")


def report_of(name: str, place: Path, **env: str) -> dict[str, Any]:
    """What a client script saw of our agent, which it starts and opens sessions with in `place`."""
    need_node()
    command = [*script(name), str(place), sys.executable, str(PROGRAM)]
    finished = subprocess.run(command, stdout=subprocess.PIPE, timeout=100, check=True, env={**os.environ, **env})
    return json.loads(finished.stdout)
