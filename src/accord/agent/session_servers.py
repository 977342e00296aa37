"""The MCP servers of a session: which are accepted, when they are connected, and who waits for that.

Law: connecting begins when the session is opened, and nobody waits for it but a turn that asks for the servers.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from accord.agent.definition import AgentDefinition
from accord.dialects.dialect import Dialect
from accord.peer.limited_log import LimitedLog
from accord.session.entities import Notice
from accord.session.mcp_servers import McpServer

if TYPE_CHECKING:
    from accord.agent.mcp import ServerConnections, ServerStatus

__all__ = ["SERVER_LINES", "SessionServers", "check_servers"]

log = logging.getLogger("accord.agent")

SERVER_LINES, _SERVER_LENGTH = 100, 1000  # more than anybody's servers need, and what one client may write at most
_UNSAID = 0.5  # seconds that a turn waits without a word

ToolCallFactory: TypeAlias = Callable[[str], AbstractAsyncContextManager[Any]]
"""Makes a tool call of this title, to show something."""


def check_servers(definition: AgentDefinition, dialect: Dialect, servers: list[McpServer]) -> None:
    """Refuse servers of kinds that were not offered, where the version wants that; elsewhere they are skipped."""
    if servers and dialect.refuses_other_servers:
        from accord.agent.mcp import not_offered  # noqa: PLC0415  # most sessions name no server

        refusal = not_offered(servers, _kinds(definition))
        if refusal is not None:
            raise refusal


class SessionServers:
    """`notify` shows a notice to the clients that can show one."""

    def __init__(self, session_id: str, cwd: Path, notify: Callable[[Notice], None]) -> None:
        self.own: list[McpServer] = []
        """Servers that the agent itself brings, beside those of the client; set while the session is prepared."""
        self.named: list[McpServer] = []
        """All that the session was opened with."""
        self.connections: ServerConnections | None = None
        """None when no server was named; all are connected or have failed when `wait` has returned."""
        self.connecting: asyncio.Task[None] | None = None
        self._session_id = session_id
        self._cwd = cwd
        self._notify = notify
        self._unusable: dict[tuple[str, int], ServerStatus] = {}
        """Those that failed, were skipped or died, by name and number; for clients that are not told by a notice."""
        self._log = LimitedLog(lines=SERVER_LINES, length=_SERVER_LENGTH)

    def begin_to_connect(self, definition: AgentDefinition, servers: list[McpServer]) -> None:
        """Connect the agent's own and these, while others go on; each server's status is told, and none costs the session.

        Nothing happens when there are none, or the session has its servers.
        """
        every = [*self.own, *servers]
        if every and self.connecting is None:
            self.named = every
            self.connecting = asyncio.create_task(self._connect(definition))

    async def _connect(self, definition: AgentDefinition) -> None:
        from accord.agent.mcp import ServerConnections, failed  # noqa: PLC0415

        self.connections = ServerConnections(
            self._cwd,
            kinds=_kinds(definition),
            client_name=definition.info.name,
            client_version=definition.info.version,
            connect_deadline=definition.policy.mcp_connect_deadline,
            on_change=self.report,
        )
        try:
            await self.connections.connect(self.named)
        except Exception:
            log.exception("the MCP servers of %s could not be connected", self._session_id)
            reason = "the agent failed to connect it; its log says why"
            self._report_all([failed(server, reason) for server in self.named])
        finally:
            self._log.close()

    def skip(self, servers: list[McpServer]) -> None:
        """Tell of servers that come too late: the session is open, on another connection, with those of its own."""
        others = [server for server in servers if server not in self.named]
        if others:
            from accord.agent.mcp import skipped  # noqa: PLC0415

            reason = "the session is open already; close it everywhere to change its servers"
            self._report_all([skipped(server, reason) for server in others])
            self._log.close()

    async def wait(self, make_tool_call: ToolCallFactory, *, shows_notices: bool) -> ServerConnections:
        """The servers, each connected or not to be had; who waits for that is shown to wait."""
        if self.connecting is not None:
            await asyncio.wait([self.connecting], timeout=_UNSAID)
            if not self.connecting.done():
                await self._show_waiting(make_tool_call, self.connecting)
            await self.show_unusable(make_tool_call, shows_notices=shows_notices)
        if self.connections is not None:
            return self.connections
        from accord.agent.mcp import ServerConnections  # noqa: PLC0415  # as above

        return ServerConnections(self._cwd)

    async def _show_waiting(self, make_tool_call: ToolCallFactory, connecting: asyncio.Task[None]) -> None:
        """Wait with a tool call that is pending until all is known; it then shows what became of each server."""
        from accord.agent.mcp.status import name_of  # noqa: PLC0415  # as above

        known = {place for place, status in enumerate(self._statuses()) if status.state != "connecting"}
        awaited = [place for place in range(len(self.named)) if place not in known]
        names = ", ".join(repr(name_of(self.named[place])) for place in awaited)
        async with make_tool_call(f"Connecting to the MCP server{'' if len(awaited) == 1 else 's'} {names}") as call:
            await asyncio.wait([connecting])
            statuses = [status for place, status in enumerate(self._statuses()) if place in awaited]
            await call.show(*map(str, statuses))
            for status in statuses:
                if status.state != "connected":
                    await call.fail()
                    self._unusable.pop((status.name, 0), None)  # this call has told of it

    def _statuses(self) -> list[ServerStatus]:
        """Of the servers in the order in which they were named, as far as they are known."""
        return [] if self.connections is None else self.connections.statuses

    async def show_unusable(self, make_tool_call: ToolCallFactory, *, shows_notices: bool) -> None:
        """At the beginning and end of a turn: what a client without notices has not been told of is a failed tool call.

        Nothing in the protocol tells that a client shows no tool calls, so there is nothing that such a one could be sent
        instead.
        """
        if shows_notices:
            return
        for key, status in list(self._unusable.items()):
            async with make_tool_call(_title(status)) as call:
                await call.fail(str(status))
            if self._unusable.get(key) is status:
                del self._unusable[key]

    def _report_all(self, statuses: list[ServerStatus]) -> None:
        """Of servers that were never connected, and so got no name of their own: one client may name two alike."""
        seen: Counter[str] = Counter()
        for status in statuses:
            seen[status.name] += 1
            self.report(status, seen[status.name])

    def report(self, status: ServerStatus, number: int = 0) -> None:
        """Every server's status is in the log; one that can't be used is shown to the user as well (FN-54, FN-77)."""
        if status.state not in ("failed", "skipped", "lost"):
            write = self._log.warning if status.notes else self._log.info
            write(log, "%s", status)
            self._unusable.pop((status.name, number), None)
            return
        self._log.warning(log, "%s", status)
        self._unusable[status.name, number] = status
        self._notify(Notice(severity="warning", title=_title(status), description=str(status)))

    async def close(self) -> None:
        """End the servers that were started."""
        if self.connecting is not None:
            self.connecting.cancel()
            await asyncio.wait([self.connecting])
        if self.connections is not None:
            await self.connections.aclose()
        self._log.close()


def _kinds(definition: AgentDefinition) -> Any:
    offered = definition.capabilities()
    kinds = [("stdio", offered.mcp_stdio), ("http", offered.mcp_http), ("sse", offered.mcp_sse)]
    return [kind for kind, is_offered in kinds if is_offered]


def _title(status: ServerStatus) -> str:
    return f"MCP server {status.name!r}: {status.state}"
