"""A cancel at any moment: the turn ends as cancelled, and what is left can be taken up."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from accord import permissions
from accord.apps.coder.models.model import (
    ChatMessage,
    Event,
    ModelMessage,
    TextDelta,
    TokenUsage,
    ToolMessage,
    UserMessage,
)
from accord.session.entities import Compaction
from tests.apps.coder.scripted import ScriptedModel, tool, until

ALLOW = {"on_permission": permissions.allow_all}


def is_valid(history: list[ChatMessage]) -> bool:
    """As providers want it: each request for a tool is answered in the next message, and nothing else is."""
    for number, past in enumerate(history):
        asked = [request.id for request in past.requests] if isinstance(past, ModelMessage) else []
        following = history[number + 1] if number + 1 < len(history) else None
        told = [outcome.id for outcome in following.outcomes] if isinstance(following, ToolMessage) else []
        if asked != told:
            return False
    return bool(history) and isinstance(history[-1], UserMessage)


@pytest.fixture
async def silent() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A host that takes a connection and never says anything, and what tells that somebody came."""
    came = asyncio.Event()

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.set()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(hear, "127.0.0.1", 0, family=socket.AF_INET)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", came


async def test_a_cancel_in_the_middle_of_a_fetch(sit: Any, silent: tuple[str, asyncio.Event]) -> None:
    url, came = silent
    async with sit(**ALLOW) as desk:
        desk.model.steps = [[tool("fetch", url=url)]]
        reply = desk.session.prompt("Go")
        await came.wait()
        await reply.cancel()
        assert (await reply).stop_reason == "cancelled"
        assert await desk.ask() == "Done."
        assert is_valid(desk.model.requests[-1].history)


async def test_a_cancel_in_the_middle_of_a_search_ends_its_program(sit: Any) -> None:
    async with sit(**ALLOW) as desk:
        os.mkfifo(desk.root / ".ignore")  # nobody writes into it: ripgrep waits
        desk.model.steps = [[tool("search", pattern="x")]]
        reply = desk.session.prompt("Go")
        await until(lambda: _runs("rg", str(desk.root)))
        await reply.cancel()
        assert (await reply).stop_reason == "cancelled"
        await until(lambda: not _runs("rg", str(desk.root)))


async def test_a_search_in_what_is_no_file_is_refused_at_once(sit: Any) -> None:
    async with sit(**ALLOW) as desk:
        os.mkfifo(desk.root / "endless")
        assert (
            "endless is neither a file nor a directory"
            in (await desk.use_one("search", pattern="x", path="endless")).text
        )


def _runs(program: str, argument: str) -> bool:
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if Path(words[0]).name == program and argument in words:
            return True
    return False


async def test_what_was_done_before_the_cancel_is_known_as_done(sit: Any) -> None:
    async with sit(**ALLOW) as desk:
        desk.model.steps = [
            [tool("write", path="new.py", content="x\n"), tool("run", command="touch begun; sleep 1000"), tool("list")]
        ]
        reply = desk.session.prompt("Go")
        await until((desk.root / "begun").exists)
        await reply.cancel()
        assert (await reply).stop_reason == "cancelled"
        assert await desk.ask() == "Done."
        assert is_valid(desk.model.requests[-1].history)
        assert [outcome.text for outcome in desk.model.outcomes] == [
            "Created new.py.",
            "Cancelled by the user before it was done.",
            "Cancelled by the user before it was done.",
        ]


async def test_a_cancel_in_the_middle_of_a_compaction_ends_it_and_keeps_the_history(sit: Any, version: Any) -> None:
    model = ScriptedModel([TextDelta("One."), TokenUsage(850, 50)], [TextDelta("…")])
    async with sit(model=model) as desk:
        await desk.ask("First")
        reply = desk.session.prompt("Second")
        await model.streaming.wait()
        await reply.cancel()
        assert (await reply).stop_reason == "cancelled"
        compactions = [place for place in desk.agent_side.transcript.timeline if isinstance(place, Compaction)]
        assert [compaction.status for compaction in compactions] == ["cancelled"]
        model.steps.extend(([TextDelta("Short.")], [TextDelta("Fine.")]))
        assert await desk.ask("Third") == "Fine."
        assert is_valid(model.requests[-1].history)


async def test_a_cancel_while_the_model_is_being_opened(sit: Any) -> None:
    opening = asyncio.Event()

    async def never(name: str, settings: Any) -> Any:
        opening.set()
        await asyncio.get_running_loop().create_future()

    async with sit(open_model=never) as desk:
        reply = desk.session.prompt("Go")
        await opening.wait()
        await reply.cancel()
        assert (await reply).stop_reason == "cancelled"


async def test_a_cancel_while_asking_again_is_waited_for(sit: Any) -> None:
    from accord.apps.coder.errors import ModelOverloaded

    class Busy(ScriptedModel):
        async def stream(self, request: Any) -> AsyncGenerator[Event, None]:
            self.streaming.set()
            raise ModelOverloaded("busy", retry_after=100)
            yield

    model = Busy()
    async with sit(model=model) as desk:
        reply = desk.session.prompt("Go")
        await model.streaming.wait()
        await reply.cancel()
        assert (await reply).stop_reason == "cancelled"


@pytest.mark.parametrize("how", ["a cancel", "a client that goes away"])
async def test_a_command_dies_with_all_that_it_started(sit: Any, how: str) -> None:
    async with sit(**ALLOW) as desk:
        command = "(sleep 1000 & echo $! > child; wait) & echo $$ > parent; wait"
        desk.model.steps = [[tool("run", command=command)]]
        reply = desk.session.prompt("Go")
        names = ("parent", "child")
        await until(lambda: all((desk.root / name).exists() and (desk.root / name).read_text() for name in names))
        ids = [(desk.root / name).read_text().strip() for name in names]
        if how == "a cancel":
            await reply.cancel()
            assert (await reply).stop_reason == "cancelled"
        else:
            await desk.client.aclose()
        await until(lambda: not any(Path(f"/proc/{id}").exists() for id in ids))
