"""The MCP servers that a client names for a session: which are accepted, when they are connected, and who waits for that.

Law: connecting begins when the session is opened, and nobody waits for it but a turn that asks for the servers.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from accord.agent.connected_client import ConnectedClient
from accord.agent.sessions import Session
from accord.session.entities import Notice
from accord.session.servers import McpServer
from accord.session.updates import NoticeReport

if TYPE_CHECKING:
    from accord.agent.app import Agent
    from accord.agent.mcp import ServerConnections, ServerFate
    from accord.agent.turn import Turn

__all__ = ["begin_to_connect", "check_servers", "servers_for", "show_unusable", "skip_servers", "tell_fate"]

log = logging.getLogger("accord.agent")

_UNSAID = 0.5  # seconds that a turn waits without a word


def check_servers(agent: Agent, client: ConnectedClient, servers: list[McpServer]) -> None:
    """Refuse servers of kinds that were not offered, where the version wants that; elsewhere they are skipped."""
    if servers and client.dialect.refuses_other_servers:
        from accord.agent.mcp import not_offered  # noqa: PLC0415  # most sessions name no server

        refusal = not_offered(servers, _kinds(agent))
        if refusal is not None:
            raise refusal


def begin_to_connect(agent: Agent, session: Session, servers: list[McpServer]) -> None:
    """Connect them, while others go on; each server's fate is told, and none costs the session."""
    session.named_servers = servers
    session.connecting = asyncio.create_task(_connect(agent, session, servers))


async def _connect(agent: Agent, session: Session, servers: list[McpServer]) -> None:
    from accord.agent.mcp import ServerConnections, failed  # noqa: PLC0415

    session.servers = ServerConnections(
        session.cwd,
        kinds=_kinds(agent),
        client_name=agent.info.name,
        client_version=agent.info.version,
        connect_deadline=agent.policy.mcp_connect_deadline,
        on_change=partial(tell_fate, session),
    )
    try:
        await session.servers.connect(servers)
    except Exception:
        log.exception("the MCP servers of %s could not be connected", session.id)
        _tell_all(session, [failed(server, "the agent failed to connect it; its log says why") for server in servers])
    finally:
        session.server_log.close()


def skip_servers(session: Session, servers: list[McpServer]) -> None:
    """Tell of servers that come too late: the session is open, on another connection, with those of its own."""
    others = [server for server in servers if server not in session.named_servers]
    if others:
        from accord.agent.mcp import skipped  # noqa: PLC0415

        reason = "the session is open already; close it everywhere to change its servers"
        _tell_all(session, [skipped(server, reason) for server in others])
        session.server_log.close()


async def servers_for(turn: Turn) -> ServerConnections:
    """The session's servers, each connected or not to be had; who waits for that is shown to wait."""
    session = turn.session
    if (connecting := session.connecting) is not None:
        await asyncio.wait([connecting], timeout=_UNSAID)
        if not connecting.done():
            await _show_waiting(turn, connecting)
        await show_unusable(turn)
    if session.servers is not None:
        return session.servers
    from accord.agent.mcp import ServerConnections  # noqa: PLC0415  # as above

    return ServerConnections(session.cwd)


async def _show_waiting(turn: Turn, connecting: asyncio.Task[Any]) -> None:
    """Wait with a tool call that is pending until all is known; it then shows what became of each server."""
    from accord.agent.mcp.fates import name_of  # noqa: PLC0415  # as above

    session = turn.session
    known = {place for place, fate in enumerate(_fates(session)) if fate.state != "connecting"}
    awaited = [place for place in range(len(session.named_servers)) if place not in known]
    names = ", ".join(repr(name_of(session.named_servers[place])) for place in awaited)
    async with turn.tool_call(f"Connecting to the MCP server{'' if len(awaited) == 1 else 's'} {names}") as call:
        await asyncio.wait([connecting])
        fates = [fate for place, fate in enumerate(_fates(session)) if place in awaited]
        await call.show(*map(str, fates))
        for fate in fates:
            if fate.state != "connected":
                await call.fail()
                session.unusable_servers.pop((fate.name, 0), None)  # this call has told of it


def _fates(session: Session) -> list[ServerFate]:
    """Of the servers in the order in which they were named, as far as they are known."""
    return [] if session.servers is None else session.servers.fates


async def show_unusable(turn: Turn) -> None:
    """At the beginning and the end of a turn: what a client without notices has not been told of is a tool call that failed.

    Nothing in the protocol tells that a client shows no tool calls, so there is nothing that such a one could be sent instead.
    """
    unusable = turn.session.unusable_servers
    if turn.client.capabilities.notices:
        return
    for key, fate in list(unusable.items()):
        async with turn.tool_call(_title(fate), kind="other") as call:
            await call.fail(str(fate))
        if unusable.get(key) is fate:
            del unusable[key]


def _kinds(agent: Agent) -> Any:
    offered = agent.capabilities()
    kinds = [("stdio", offered.mcp_stdio), ("http", offered.mcp_http), ("sse", offered.mcp_sse)]
    return [kind for kind, is_offered in kinds if is_offered]


def _tell_all(session: Session, fates: list[ServerFate]) -> None:
    """Of servers that were never connected, and so got no name of their own: one client may name two alike."""
    seen: Counter[str] = Counter()
    for fate in fates:
        seen[fate.name] += 1
        tell_fate(session, fate, seen[fate.name])


def tell_fate(session: Session, fate: ServerFate, number: int = 0) -> None:
    """Every server's fate is in the log; one that can't be used is shown to the user as well (FN-54, FN-77)."""
    if fate.state not in ("failed", "skipped", "lost"):
        write = session.server_log.warning if fate.notes else session.server_log.info
        write(log, "%s", fate)
        session.unusable_servers.pop((fate.name, number), None)
        return
    session.server_log.warning(log, "%s", fate)
    session.unusable_servers[fate.name, number] = fate
    session.report(NoticeReport(notice=Notice(severity="warning", title=_title(fate), description=str(fate))))


def _title(fate: ServerFate) -> str:
    return f"MCP server {fate.name!r}: {fate.state}"
