"""Checked by pyright and mypy, never run: a decorator accepts the handlers that work, and no others.

An ignore comment that is not needed is an error for both, so each wrong handler is proven to be reported.
"""

from __future__ import annotations

from typing import Any, assert_type

from accord import (
    Agent,
    AgentConnection,
    AgentSession,
    Client,
    PermissionAnswer,
    PermissionRequest,
    Reply,
    Session,
    SessionUpdate,
    StopReason,
    SyncTurn,
    Turn,
    permissions,
)
from accord.testing import ReceivedFrame, ScriptedAgent

agent = Agent("typed", version="1.0")


@agent.prompt
async def answer(turn: Turn) -> StopReason | None:
    assert_type(await turn.allowed("May I?"), bool)
    assert_type(await turn.files.read("notes.md"), str)
    assert_type((await turn.run("true")).code, int | None)
    return "end_turn"


@agent.prompt
async def answer_nothing(turn: Turn) -> None: ...


@agent.prompt
def answer_in_a_thread(turn: SyncTurn) -> str | None:
    assert_type(turn.allowed("May I?"), bool)
    assert_type(turn.files.read("notes.md"), str)
    return None


@agent.command("tidy", "Tidies up")
async def tidy(turn: Turn) -> None: ...


@agent.command("look", "Looks")
def look(turn: SyncTurn) -> None: ...


@agent.new_session
async def prepare(session: AgentSession) -> None: ...


@agent.login("key", name="Key")
def log_in(client: AgentConnection) -> None: ...


@agent.logout
async def log_out() -> None: ...


@agent.option("mode", choices=["ask", "go"])
async def set_mode(session: AgentSession, value: str) -> None: ...


@agent.option("loud", default=True)
def set_loud(session: AgentSession, value: bool) -> None: ...


@agent.method("_acme/ping")
async def ping(params: Any, client: AgentConnection) -> dict[str, int]:
    return {"pong": 1}


@agent.notification("_acme/seen")
def seen(params: Any) -> None: ...


scripted = ScriptedAgent()
assert_type(scripted.on("session/new", {"sessionId": "1"}), None)


@scripted.on("session/prompt")
def prompted(heard: ReceivedFrame) -> dict[str, str]:
    return {"stopReason": "end_turn"}


def the_decorated_answer_keeps_its_type(heard: ReceivedFrame) -> None:
    assert_type(prompted(heard), dict[str, str])


async def the_decorated_function_keeps_its_type(turn: Turn) -> None:
    assert_type(await answer(turn), StopReason | None)


@agent.prompt  # type: ignore[type-var]
def plain_with_the_wrong_turn(turn: Turn) -> None: ...


@agent.prompt  # type: ignore[type-var]
async def async_with_the_wrong_turn(turn: SyncTurn) -> None: ...


@agent.prompt  # type: ignore[type-var]
async def wrong_result(turn: Turn) -> bool:
    return True


@agent.prompt  # type: ignore[type-var]
async def no_parameter() -> None: ...


@agent.prompt  # type: ignore[type-var]
async def two_parameters(turn: Turn, session: AgentSession) -> None: ...


@agent.command("wrong", "Wrong")  # type: ignore[type-var]
async def wrong_command(session: AgentSession) -> None: ...


@agent.new_session  # type: ignore[type-var]
async def wrong_session(turn: Turn) -> None: ...


@agent.option("wrong", choices=["a"])  # type: ignore[type-var]
async def wrong_option(session: AgentSession, value: bytes) -> None: ...


async def decide(request: PermissionRequest) -> PermissionAnswer:
    return await permissions.reject_all(request)


def say_yes(request: PermissionRequest) -> bool:
    return True


def show(update: SessionUpdate) -> None: ...


async def clients_are_typed() -> None:
    async with Client(agent, version=2, on_permission=decide, on_update=show) as client:
        session = await client.new_session(cwd=".")
        assert_type(session, Session)
        reply = session.prompt("Go")
        assert_type(reply, Reply)
        assert_type(await reply, Reply)
        assert_type(reply.text, str)
    Client(agent, on_permission=permissions.ask(say_yes), stderr="capture")


Client(agent, on_permission=say_yes)  # type: ignore[arg-type]
Client(agent, version=3)  # type: ignore[arg-type]
Client(agent, stderr="pipe")  # type: ignore[arg-type]
Client(42)  # type: ignore[arg-type]
