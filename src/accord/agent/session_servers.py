"""The MCP servers that a client names for a session: which are accepted, and when they are connected."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from accord.agent.connected_client import ConnectedClient
from accord.agent.sessions import Session
from accord.session.entities import Notice
from accord.session.servers import McpServer
from accord.session.updates import NoticeReport

if TYPE_CHECKING:
    from accord.agent.app import Agent
    from accord.agent.mcp import ServerFate

__all__ = ["check_servers", "connect_servers"]

log = logging.getLogger("accord.agent")


def check_servers(agent: Agent, client: ConnectedClient, servers: list[McpServer]) -> None:
    """Refuse servers of kinds that were not offered, where the version wants that; elsewhere they are skipped."""
    if servers and client.dialect.refuses_other_servers:
        from accord.agent.mcp import not_offered  # noqa: PLC0415  # most sessions name no server

        refusal = not_offered(servers, _kinds(agent))
        if refusal is not None:
            raise refusal


async def connect_servers(agent: Agent, session: Session, servers: list[McpServer]) -> None:
    """Connect them; each server's fate is told, and none costs the session."""
    from accord.agent.mcp import ServerConnections  # noqa: PLC0415

    session.servers = ServerConnections(
        session.cwd,
        kinds=_kinds(agent),
        client_name=agent.info.name,
        client_version=agent.info.version,
        connect_deadline=agent.policy.mcp_connect_deadline,
        on_change=partial(_tell_fate, session),
    )
    try:
        await session.servers.connect(servers)
    except Exception:
        log.exception("the MCP servers of %s could not be connected", session.id)


def _kinds(agent: Agent) -> Any:
    offered = agent.capabilities()
    kinds = [("stdio", offered.mcp_stdio), ("http", offered.mcp_http), ("sse", offered.mcp_sse)]
    return [kind for kind, is_offered in kinds if is_offered]


def _tell_fate(session: Session, fate: ServerFate) -> None:
    """Every server's fate is in the log; one that can't be used is shown to the user as well (FN-54, FN-77)."""
    log.info("%s", fate)
    if fate.state in ("failed", "skipped", "lost"):
        notice = Notice(severity="warning", title=f"MCP server {fate.name!r}: {fate.state}", description=str(fate))
        session.report(NoticeReport(notice=notice))
