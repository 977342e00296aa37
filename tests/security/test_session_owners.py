"""One session and several `accord agent` processes: one of them has it, and nothing is lost."""

# ruff: noqa: F811  # the fixtures of the console's tests are imported
from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from accord.apps.console.error_messages import AgentOutput, explain_error
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.screen.errors import error_block, reopen_error_block
from accord.apps.console.screen.key_bindings import KeyBindings
from accord.client.client import Client
from accord.client.session import Session
from accord.client.target import Command
from accord.errors import Fenced, SessionInUse
from tests.apps.console.conftest import home, project, start, typed  # noqa: F401  # fixtures

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")

TAKE_OVER = {"accord/claim": "take_over"}
Agents = Callable[[], Awaitable[Client]]


@pytest.fixture
async def agent(home: Path, project: Path) -> AsyncIterator[Agents]:
    """Starts the coding agent in a process of its own, with the store of the others."""
    async with AsyncExitStack() as stack:

        async def start() -> Client:
            command = Command([sys.executable, "-m", "accord", "agent"], cwd=project, env={"ACCORD_HOME": str(home)})
            return await stack.enter_async_context(Client(command))

        yield start


async def ask(session: Session, text: str) -> str:
    reply = await session.prompt(text)
    if reply.stop_reason == "error":  # v2 ends the turn so, after its prompt was taken up
        raise AssertionError(reply)
    return (await reply).text


async def pid_of(refused: Awaitable[Any]) -> int:
    """The process that has the session, as the one that is refused is told."""
    with pytest.raises(SessionInUse, match=r"in use by another process: pid \d+ on .+, since 2\d\d\d-") as error:
        await refused
    assert error.value.pid is not None
    return error.value.pid


def prompts(session: Session) -> list[str]:
    return [message.text for message in session.transcript.messages.values() if message.role == "user"]


def answers(session: Session) -> str:
    return "".join(message.text for message in session.transcript.messages.values() if message.role == "agent")


async def test_two_processes_prompted_in_turn_lose_nothing(agent: Agents, project: Path):
    one, other = await agent(), await agent()
    first = await one.new_session(cwd=project)
    await ask(first, "/read notes.md")
    assert await pid_of(other.load_session(first.id, project)) > 1
    has_it, session, told, heard = one, first, ["/read notes.md"], answers(first)
    for number in range(4):
        wants_it = other if has_it is one else one
        mine = await wants_it.load_session(first.id, project, meta=TAKE_OVER)
        assert prompts(mine) == told
        with pytest.raises(Fenced, match="taken over by another process"):
            await ask(session, "/search lost")
        told.append(f"/search turn {number}")
        heard += await ask(mine, told[-1])
        has_it, session = wants_it, mine
    await session.close()
    third = await (await agent()).load_session(first.id, project)
    assert prompts(third) == told
    assert answers(third) == heard


async def test_a_session_of_a_killed_agent_can_be_gone_on_with(agent: Agents, project: Path):
    one, other = await agent(), await agent()
    session = await one.new_session(cwd=project)
    await ask(session, "/read notes.md")
    pid = await pid_of(other.load_session(session.id, project))
    os.kill(pid, signal.SIGKILL)
    with suppress(Exception):
        session.prompt("/help")  # the other end is gone: it has ended for sure then
    await one.wait_closed()
    again = await other.load_session(session.id, project)
    assert prompts(again) == ["/read notes.md"]
    await ask(again, "/search milk")


async def test_a_stopped_agent_keeps_its_session_until_a_person_takes_it_over(agent: Agents, project: Path, typed: Any):
    one, other = await agent(), await agent()
    session = await one.new_session(cwd=project)
    await ask(session, "/read notes.md")
    pid = await pid_of(other.load_session(session.id, project))
    os.kill(pid, signal.SIGSTOP)
    try:
        assert await pid_of(other.load_session(session.id, project)) == pid
        assert await pid_of(other.delete_session(session.id)) == pid
        shown = await typed("sessions", "--show", session.id)
        assert (shown.status, "/read notes.md" in shown.out) == (0, True)
        for words in (("run", "--session", session.id, "/help"), ("--plain", "--resume", session.id)):
            refused = await typed(*words, stdin=b"")
            assert refused.status == 1
            assert f"in use by another process: pid {pid}" in refused.err
            assert f"accord sessions --take-over {session.id}" in refused.err
        taken = await typed("sessions", "--take-over", session.id)
        assert (taken.status, "Taken over" in taken.err) == (0, True)
        assert (await typed("run", "--session", session.id, "/search milk")).status == 0
    finally:
        os.kill(pid, signal.SIGCONT)
    with pytest.raises(Fenced):
        await ask(session, "/search lost")
    again = await other.load_session(session.id, project)
    assert prompts(again) == ["/read notes.md", "/search milk"]


def test_the_screen_says_who_has_a_session_and_what_to_do():
    in_use = reopen_error_block(SessionInUse("s", 4711, "host", "2026-01-02T03:04:05Z"), KeyBindings())
    assert "pid 4711 on host, since 2026-01-02T03:04:05Z" in in_use.title
    assert "accord sessions --take-over" in in_use.advice
    fenced = error_block(Fenced("s", 4711, "host", "2026-01-02T03:04:05Z"), KeyBindings())
    assert "taken over by another process: pid 4711 on host" in fenced.title
    assert "F5" in fenced.advice


@pytest.mark.parametrize(
    ("source", "way"),
    [
        ("built-in", "--take-over s` "),
        ("config", "--take-over s --agent mine` "),
        ("command", "--take-over s -- mine acp` "),
    ],
)
def test_the_advice_names_the_agent_as_it_has_to_be_typed(source: Any, way: str):
    agent = KnownAgent(name="mine", command=["mine", "acp"], source=source)
    for error in (SessionInUse("s", 4711, "host", "2026"), Fenced("s")):
        assert way in explain_error(error, "taking up the session", agent, AgentOutput()).advice


async def test_one_of_show_delete_and_take_over_is_given(typed: Any):
    refused = await typed("sessions", "--show", "a", "--take-over", "b")
    assert (refused.status, "mutually exclusive" in refused.err) == (2, True)
