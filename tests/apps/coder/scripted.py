"""A model that says what a test wants it to say, and a project to work in."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from accord import Client
from accord.apps.coder.coder import Coder
from accord.apps.coder.models.model import (
    Event,
    InputKinds,
    ModelRequest,
    Stop,
    TextDelta,
    ToolMessage,
    ToolOutcome,
    ToolRequest,
)
from accord.apps.coder.settings.precedence import load_settings
from accord.client.session import Session
from accord.session.entities import ToolCall
from accord.store import MemoryStore

_ids = itertools.count(1)


def tool(name: str, **arguments: Any) -> ToolRequest:
    """A request for a tool."""
    return raw_tool(name, msgspec.json.encode(arguments).decode())


def raw_tool(name: str, arguments: str) -> ToolRequest:
    return ToolRequest(id=f"request-{next(_ids)}", name=name, arguments=arguments)


class ScriptedModel:
    """Plays its steps, one for each time that it is asked; then it says "Done." A step may wait for `held`."""

    name = "scripted"
    context_size: int | None = 1000
    is_language_model = True

    def __init__(self, *steps: Iterable[Event], input_kinds: InputKinds | None = None) -> None:
        self.input_kinds = input_kinds or InputKinds()
        self.steps = [list(step) for step in steps]
        self.requests: list[ModelRequest] = []
        self.held = asyncio.Event()
        self.streaming = asyncio.Event()
        self.closed = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        self.requests.append(request)
        step = self.steps.pop(0) if self.steps else [TextDelta("Done.")]
        try:
            for event in step:
                yield event
                if isinstance(event, TextDelta) and event.text == "…":
                    self.streaming.set()
                    await self.held.wait()
            if not any(isinstance(event, Stop) for event in step):
                yield Stop("tools" if any(isinstance(event, ToolRequest) for event in step) else "end")
        finally:
            self.closed += 1

    async def aclose(self) -> None:
        pass

    @property
    def outcomes(self) -> list[ToolOutcome]:
        """What it was told of its tools, all in all."""
        history = self.requests[-1].history
        return [outcome for past in history if isinstance(past, ToolMessage) for outcome in past.outcomes]


class Desk:
    """A project, the agent that works in it, and a client's session with it."""

    def __init__(self, root: Path, coder: Coder, client: Client, session: Session, model: ScriptedModel) -> None:
        self.root = root
        self.coder = coder
        self.client = client
        self.session = session
        self.model = model

    async def ask(self, prompt: Any = "Go on") -> str:
        """What the agent says to it."""
        return (await self.session.prompt(prompt)).text

    async def use(self, *requests: ToolRequest) -> list[ToolOutcome]:
        """Let the model ask for tools, and see what it is told."""
        known = len(self.model.outcomes) if self.model.requests else 0
        step: list[Event] = [*requests]
        self.model.steps = [step]
        await self.ask()
        return self.model.outcomes[known:]

    async def use_one(self, name: str, **arguments: Any) -> ToolOutcome:
        (outcome,) = await self.use(tool(name, **arguments))
        return outcome

    @property
    def agent_side(self) -> Any:
        """The session as the agent has it: some clients are not told everything."""
        turns = self.coder.agent.sessions.find(self.session.id)
        assert turns is not None
        return turns.session

    @property
    def servers(self) -> Any:
        """The session's MCP servers, as the agent has them."""
        turns = self.coder.agent.sessions.find(self.session.id)
        assert turns is not None
        return turns.servers

    @property
    def has_waiting(self) -> bool:
        """Whether the agent has got a prompt for which there is no turn yet."""
        turns = self.coder.agent.sessions.find(self.session.id)
        return turns is not None and bool(turns._queue)  # nobody else needs to know

    @property
    def calls(self) -> list[ToolCall]:
        return list(self.session.transcript.tool_calls.values())


@asynccontextmanager
async def desk(
    root: Path,
    version: Any,
    *,
    model: ScriptedModel | None = None,
    home: Path,
    flags: dict[str, Any] | None = None,
    store: Any = None,
    open_model: Any = None,
    **client_options: Any,
) -> AsyncIterator[Desk]:
    scripted = model or ScriptedModel()

    async def open_scripted(name: str, settings: Any) -> Any:
        return scripted

    os.environ["ACCORD_HOME"] = str(home)
    coder = Coder(
        load_settings(root, flags or {}),
        store=store or MemoryStore(),
        choices_file=home / "choices.json",
        open_model=None if model is None and flags == {} else open_model or open_scripted,
    )
    async with Client(coder.agent, version=version, **client_options) as client:
        yield Desk(root, coder, client, await client.new_session(cwd=root), scripted)
    await coder.aclose()


def git(root: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
        cwd=root,
        check=True,
        capture_output=True,
    )


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for what only the system can tell; the hang guard ends it."""
    while not is_so():  # noqa: ASYNC110  # nobody sets an event for it
        await asyncio.sleep(0.01)
