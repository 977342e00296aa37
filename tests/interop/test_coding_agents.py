"""Coding agents that others have made, as their users start them: talked to by a client, by `accord run`, on the screen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from accord import permissions
from accord.apps.console.errors import ExitStatus
from accord.client.session import Session
from accord.client.workspace.workspace import Workspace
from accord.session.updates import MessageChunk
from tests.apps.console.screen.stage import opened
from tests.interop.coding_agents import CODING_AGENTS, IN_EVERY_VERSION, THEIR_OWN_CHOICE
from tests.interop.coding_scene import BOTH, BREAD, CREATE, GREET, STONE, THANK, WAIT, Scene, playing

pytestmark = pytest.mark.interop


@pytest.fixture(params=IN_EVERY_VERSION)
async def scene(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Scene]:
    async with playing(request.param, tmp_path, monkeypatch) as scene:
        yield scene


async def said(session: Session, prompt: str) -> str:
    return (await session.prompt(prompt)).text


async def test_a_client_talks_decides_stops_and_comes_back(scene: Scene) -> None:
    async with scene.client() as client:
        assert client.agent.info is not None
        assert client.agent.info.version == scene.agent.version
        session = await client.new_session(scene.project)
        assert await said(session, GREET) == "Hello there."

        scene.decide = permissions.allow_all
        assert await said(session, BREAD) == "Bread it is."
        assert scene.note.read_text() == "bread\n"
        scene.decide = permissions.reject_all
        await said(session, STONE)
        assert scene.note.read_text() == "bread\n"
        assert [permissions.kind_of(asked) for asked in scene.questions] == ["edit", "edit"]
        first, second = (call for call in session.transcript.tool_calls.values() if call.kind == "edit")
        assert first.status == "completed"
        assert second.status in ("failed", "cancelled")

        reply = session.prompt(WAIT)
        async for change in reply:
            if isinstance(change, MessageChunk) and change.message.text == "Let me think":
                break
        await reply.cancel()
        assert (await reply).stop_reason == "cancelled"
        assert await said(session, THANK) == "You are welcome."

    scene.agent.let_time_pass(scene.home)
    async with scene.client() as client:
        again = await client.load_session(session.id, scene.project)
        told = [message.text for message in again.transcript.messages.values()]
        for text in (GREET, "Hello there.", BREAD, "Bread it is.", "You are welcome."):
            assert any(text in each for each in told), text
        assert await said(again, GREET) == "Hello there."


@pytest.mark.parametrize("scene", THEIR_OWN_CHOICE, indirect=True)
async def test_a_file_is_created_in_the_workspace_of_a_client(scene: Scene) -> None:
    """FN-95: an agent reads before it creates; one that takes our answer for a failure is offered no reads."""
    scene.decide = permissions.allow_all
    async with scene.client(Workspace(read=not scene.known.reads_itself)) as client:
        session = await client.new_session(scene.project)
        assert await said(session, CREATE) == "There is one more."
    assert scene.new.read_text() == "eggs\n"
    assert [permissions.kind_of(asked) for asked in scene.questions] == ["edit"]


@pytest.mark.parametrize("scene", CODING_AGENTS, indirect=True)
async def test_accord_run_creates_a_file_if_it_is_permitted(scene: Scene) -> None:
    """FN-95"""
    words = ("run", "--agent", scene.agent.preset, CREATE)
    rejected = await scene.accord(*words)
    assert (rejected.status, scene.new.exists()) == (ExitStatus.ALL_REJECTED, False), rejected
    allowed = await scene.accord(*words, "--permissions", "allow-edits")
    assert (allowed.status, allowed.out) == (0, "There is one more.\n"), allowed
    assert scene.new.read_text() == "eggs\n"


@pytest.mark.parametrize("scene", THEIR_OWN_CHOICE, indirect=True)
async def test_the_screen_asks_before_a_file_is_created(scene: Scene) -> None:
    """FN-95"""
    async with opened(scene.agent.command(scene.project), scene.project, known=scene.known) as stage:
        await stage.send(CREATE)
        await stage.asked()
        assert ("new.txt  +1" if scene.agent.shows_diffs else "new.txt") in stage.text
        assert not scene.new.exists()
        await stage.press("y")
        await stage.idle()
        await stage.shows("There is one more.")
    assert scene.new.read_text() == "eggs\n"


@pytest.mark.parametrize("scene", CODING_AGENTS, indirect=True)
async def test_accord_run_talks_permits_and_goes_on_with_a_session(scene: Scene) -> None:
    name = scene.agent.preset
    first = await scene.accord("run", "--agent", name, "--json", GREET)
    assert (first.status, first.text) == (0, "Hello there."), first
    (start,) = first.events("start")
    assert start["agent_version"] == scene.agent.version

    scene.agent.let_time_pass(scene.home)
    rest = ("--session", start["session_id"], "--permissions", "allow-edits", "--json", BOTH)
    second = await scene.accord("run", "--agent", name, *rest)
    decided = [event["allowed"] for event in second.events("permission")]
    if scene.agent.ends_when_rejected:  # perhaps before what was allowed is done, or asked for
        assert second.status in (ExitStatus.CANCELLED, ExitStatus.ALL_REJECTED), second
        assert False in decided
    else:
        assert (second.status, second.text, decided) == (0, "One of them.", [True, False]), second
        assert scene.note.read_text() == "butter\n"
    assert not scene.ran.exists()

    before = scene.note.read_text()
    third = await scene.accord("run", "--agent", name, STONE)
    said = "" if scene.agent.ends_when_rejected else "As you like.\n"
    assert (third.status, third.out) == (ExitStatus.ALL_REJECTED, said), third
    assert scene.note.read_text() == before


@pytest.mark.parametrize("scene", THEIR_OWN_CHOICE, indirect=True)
async def test_the_screen_talks_asks_and_stops(scene: Scene) -> None:
    async with opened(scene.agent.command(scene.project), scene.project) as stage:
        await stage.send(GREET)
        await stage.idle()
        await stage.shows("Hello there.")

        await stage.send(BREAD)
        await stage.asked()
        assert ("note.txt  +1" if scene.agent.shows_diffs else "note.txt") in stage.text
        await stage.press("y")
        await stage.idle()
        await stage.shows("Bread it is.")
        assert scene.note.read_text() == "bread\n"

        await stage.send(WAIT)
        await stage.shows("Let me think")
        await stage.press("escape")
        await stage.shows("● ready", "stopped")
        await stage.send(THANK)
        await stage.shows("You are welcome.")
