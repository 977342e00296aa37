"""A task set: repositories with a failing test, mended through the whole stack.

A client, the agent's own program on stdio, the model library's real code, and a server that speaks a provider's API.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accord import Client, Command, permissions
from tests.apps.coder.tasks import TASKS, Task, prompt_of, replies_to
from tests.model_server.script import Script
from tests.model_server.server import ModelServer


def passes(root: Path) -> bool:
    run = subprocess.run(
        [sys.executable, "-m", "unittest", "-q"],
        cwd=root,
        capture_output=True,
        check=False,
        env={"PYTHONDONTWRITEBYTECODE": "1"},
    )
    return run.returncode == 0


def laid_out(task: Task, root: Path) -> Path:
    for name, content in task.all_files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


@pytest.mark.parametrize(
    ("model", "variable", "version", "part"),
    [("openai:scripted", "OPENAI", 2, slice(0, None, 2)), ("anthropic:scripted", "ANTHROPIC", 1, slice(1, None, 2))],
    ids=["openai", "anthropic"],
)
async def test_failing_tests_are_mended_through_the_whole_stack(
    tmp_path: Path, model: str, variable: str, version: Any, part: slice
) -> None:
    numbered = list(enumerate(TASKS))[part]
    replies = [reply for number, task in numbered for reply in replies_to(task, number)]
    async with ModelServer(Script(replies)) as server:
        base = f"{server.url}/v1" if variable == "OPENAI" else server.url
        environment = {
            "ACCORD_HOME": str(tmp_path / "home"),
            f"{variable}_API_KEY": "none",
            f"{variable}_BASE_URL": base,
        }
        command = Command([sys.executable, "-m", "accord", "agent", "--model", model], env=environment)
        async with Client(command, version=version, on_permission=permissions.allow_all) as client:
            for number, task in numbered:
                root = laid_out(task, tmp_path / f"{number}")
                assert not passes(root), task.name
                session = await client.new_session(cwd=root)
                reply = session.prompt(prompt_of(task, number))
                assert ((await reply).text).endswith(f"{task.name}: mended.")
                assert reply.stop_reason == "end_turn"
                assert passes(root), task.name
                assert list(session.transcript.tool_calls.values())[-1].status == "completed"


def test_there_are_at_least_twenty_tasks_with_names_of_their_own() -> None:
    assert len({task.name for task in TASKS}) == len(TASKS) >= 20
