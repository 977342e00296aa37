"""The scripts made with the official TypeScript SDK, and how to run one that is a client."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.interop.official_client import Transport, reachable_agent

__all__ = ["need_node", "report_of", "script"]

HERE = Path(__file__).resolve().parent / "typescript"


def script(name: str) -> list[str]:
    """The command that runs a script."""
    return ["node", str(HERE / name)]


def need_node() -> None:
    """Skip the test that cannot run."""
    if shutil.which("node") is None or not (HERE / "node_modules").is_dir():
        pytest.skip("node or the SDK is not installed: make interop")


def report_of(name: str, place: Path, transport: Transport = "stdio", **env: str) -> dict[str, Any]:
    """What a client script saw of our agent, which it starts, or reaches by a URL, and opens sessions with in `place`."""
    need_node()
    with reachable_agent(transport) as agent:
        command = [*script(name), str(place), *agent]
        finished = subprocess.run(command, stdout=subprocess.PIPE, timeout=100, check=True, env={**os.environ, **env})
    return json.loads(finished.stdout)
