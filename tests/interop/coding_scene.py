"""What a coding agent is asked in the tests, what the model behind it says to that, and ways to ask."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from accord import Client, permissions
from accord.apps.console.known_agents import Environment, KnownAgent, find_agent
from accord.client.workspace.workspace import Workspace
from accord.session.requests import PermissionAnswer, PermissionRequest
from tests.interop.coding_agents import CodingAgent
from tests.model_server.script import Script
from tests.model_server.server import ModelServer

GREET, BREAD, STONE, BOTH, CREATE, WAIT, THANK = (
    f"This is the prompt to {word}." for word in ("greet", "bake", "petrify", "do both", "create", "wait", "thank")
)

FOODS = [{"label": label, "description": f"Take {label.lower()}"} for label in ("Milk", "Bread")]
"""To choose from, for tools that ask the user."""


class Finished(NamedTuple):
    status: int
    out: str
    err: str

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in map(json.loads, self.out.splitlines()) if event["type"] == kind]

    @property
    def text(self) -> str:
        return "".join(event["text"] for event in self.events("text"))


class Scene:
    """An agent that is ready to be started, and a file in its project that it is asked to change."""

    server: ModelServer

    def __init__(self, agent: CodingAgent, directory: Path) -> None:
        self.agent = agent
        self.home = directory / "home"
        self.project = directory / "project"
        self.project.mkdir()
        self.note = self.project / "note.txt"
        self.note.write_text("milk\n")
        self.new = self.project / "new.txt"
        self.ran = self.project / "ran.txt"
        self.questions: list[PermissionRequest] = []
        self.decide: permissions.Policy = permissions.reject_all

    def replies(self) -> list[dict[str, Any]]:
        write, shell = self.agent.write, self.agent.shell
        return [
            *self.agent.aside(),  # a request for a title holds the whole session, with all its prompts
            _reply(GREET, {"text": "Hello there."}),
            _reply(BREAD, *write(self.note, "bread\n")),
            _reply(BREAD, {"text": "Bread it is."}, after_tools=True),
            _reply(STONE, *write(self.note, "stone\n")),
            _reply(STONE, {"text": "As you like."}, after_tools=True),
            _reply(BOTH, *write(self.note, "butter\n"), shell(f"touch {self.ran}")),
            _reply(BOTH, {"text": "One of them."}, after_tools=True),
            _reply(CREATE, *write(self.new, "eggs\n")),
            _reply(CREATE, {"text": "There is one more."}, after_tools=True),
            _reply(WAIT, {"text": ["Let me", " think"]}, fault="hang"),
            _reply(THANK, {"text": "You are welcome."}),
        ]

    @property
    def known(self) -> KnownAgent:
        """The preset, as the command line finds it."""
        return find_agent(self.agent.preset, None, Environment(builtin=[], state=self.home))

    def play(self, calls: dict[str, list[dict[str, Any]]]) -> None:
        """Another play: to each of these prompts the model makes its calls, and then says "So it is."."""
        told = [
            reply
            for prompt, parts in calls.items()
            for reply in (_reply(prompt, *parts), _reply(prompt, {"text": "So it is."}, after_tools=True))
        ]
        self.server.script = Script([*self.agent.aside(), *told])

    def client(self, workspace: Workspace | None = None, **more: Any) -> Client:
        async def policy(asked: PermissionRequest) -> PermissionAnswer:
            self.questions.append(asked)
            return await self.decide(asked)

        return Client(
            self.agent.command(self.project),
            on_permission=policy,
            workspace=workspace,
            version=self.agent.version_offered,
            **more,
        )

    async def accord(self, *words: object) -> Finished:
        """The program with these words, in the project."""
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-W", "error", "-m", "accord", *map(str, words)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.project,
        )
        out, err = await program.communicate()
        assert program.returncode is not None
        return Finished(program.returncode, out.decode(), err.decode())


@asynccontextmanager
async def playing(agent: CodingAgent, directory: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    """The agent's scene, while the model server runs."""
    scene = Scene(agent, directory)
    async with ModelServer(scene.replies()) as scene.server:
        agent.settle(scene.home, scene.server.url, monkeypatch)
        yield scene


def running_in(home: Path) -> dict[int, str]:
    """The commands of all processes with this home, by their ids; nothing where there is no /proc."""
    found: dict[int, str] = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"HOME={home}\0".encode() in (process / "environ").read_bytes():
                found[int(process.name)] = (process / "cmdline").read_text().replace("\0", " ")
    return found


def _reply(prompt: str, *parts: dict[str, Any], after_tools: bool = False, **more: Any) -> dict[str, Any]:
    return {"when": {"last_user": prompt, "tool_result": after_tools}, "times": 0, "parts": list(parts), **more}
