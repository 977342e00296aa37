"""The MCP servers of a session: which are accepted, when they are connected, and who waits for that.

Law: connecting begins when the session is opened, and only a turn that asks for the servers waits for it.
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

log = logging.getLogger("accord.agent")

SERVER_LINES, _LINE_LENGTH = 100, 1000  # of the log: more than servers need, and a limit for what a client may cause
_SILENT_SECONDS = 0.5  # that a turn waits before it shows that it waits

ToolCallFactory: TypeAlias = Callable[[str], AbstractAsyncContextManager[Any]]
"""Makes a tool call with this title."""


def check_servers(definition: AgentDefinition, dialect: Dialect, servers: list[McpServer]) -> None:
    """Refuse servers of kinds that were not offered, where the version wants that; elsewhere they are skipped."""
    if servers and dialect.refuses_other_servers:
        from accord.agent.mcp import not_offered  # noqa: PLC0415  # most sessions have no servers

        refusal = not_offered(servers, _kinds(definition))
        if refusal is not None:
            raise refusal


class SessionServers:
    """`notify` shows a notice to the clients that have notices."""

    def __init__(self, session_id: str, cwd: Path, notify: Callable[[Notice], None]) -> None:
        self.connections: ServerConnections | None = None
        """None in a session without servers; all are connected or have failed when `wait` returns."""
        self.connecting: asyncio.Task[None] | None = None
        self._servers: list[McpServer] = []
        self._session_id = session_id
        self._cwd = cwd
        self._notify = notify
        self._unusable: dict[tuple[str, int], ServerStatus] = {}
        """Servers that failed, were skipped or died, by name and number, until a client without notices is told."""
        self._log = LimitedLog(lines=SERVER_LINES, length=_LINE_LENGTH)

    def connect(self, definition: AgentDefinition, servers: list[McpServer]) -> None:
        """Start to connect the servers, once. The status of each is reported; a failure does not affect the session."""
        if servers and self.connecting is None:
            self._servers = servers
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
            await self.connections.connect(self._servers)
        except Exception:
            log.exception("could not connect the MCP servers of %s", self._session_id)
            reason = "the agent failed to connect it; see its log"
            self._report_all([failed(server, reason) for server in self._servers])
        finally:
            self._log.close()

    def skip(self, servers: list[McpServer]) -> None:
        """Report servers that come too late: the session is open on another connection, with other servers."""
        others = [server for server in servers if server not in self._servers]
        if others:
            from accord.agent.mcp import skipped  # noqa: PLC0415

            reason = "the session is already open; close it everywhere to change its servers"
            self._report_all([skipped(server, reason) for server in others])
            self._log.close()

    async def wait(self, make_tool_call: ToolCallFactory, *, shows_notices: bool) -> ServerConnections:
        """The servers, once each is connected or has failed; a turn that waits shows that by a tool call."""
        if self.connecting is not None:
            await asyncio.wait([self.connecting], timeout=_SILENT_SECONDS)
            if not self.connecting.done():
                await self._show_progress(make_tool_call, self.connecting)
            await self.report_unusable(make_tool_call, shows_notices=shows_notices)
        if self.connections is not None:
            return self.connections
        from accord.agent.mcp import ServerConnections  # noqa: PLC0415  # as above

        return ServerConnections(self._cwd)

    async def _show_progress(self, make_tool_call: ToolCallFactory, connecting: asyncio.Task[None]) -> None:
        """Wait with a pending tool call, which then shows the status of each server that it waited for."""
        from accord.agent.mcp.status import name_of  # noqa: PLC0415  # as above

        known = {index for index, status in enumerate(self._statuses()) if status.state != "connecting"}
        pending = [index for index in range(len(self._servers)) if index not in known]
        names = ", ".join(repr(name_of(self._servers[index])) for index in pending)
        async with make_tool_call(f"Connecting to the MCP server{'' if len(pending) == 1 else 's'} {names}") as call:
            await asyncio.wait([connecting])
            statuses = [status for index, status in enumerate(self._statuses()) if index in pending]
            await call.show(*map(str, statuses))
            for status in statuses:
                if status.state != "connected":
                    await call.fail()
                    self._unusable.pop((status.name, 0), None)  # this call has reported it

    def _statuses(self) -> list[ServerStatus]:
        """Of the servers in their order, as far as they are known."""
        return [] if self.connections is None else self.connections.statuses

    async def report_unusable(self, make_tool_call: ToolCallFactory, *, shows_notices: bool) -> None:
        """Report unusable servers to a client without notices by failed tool calls, at the beginning and end of a turn.

        The protocol has no capability for tool calls: every client is expected to show them.
        """
        if shows_notices:
            return
        for key, status in list(self._unusable.items()):
            async with make_tool_call(_title(status)) as call:
                await call.fail(str(status))
            if self._unusable.get(key) is status:
                del self._unusable[key]

    def _report_all(self, statuses: list[ServerStatus]) -> None:
        """Of servers that were never connected, so their names are not unique: they are numbered."""
        numbers: Counter[str] = Counter()
        for status in statuses:
            numbers[status.name] += 1
            self.report(status, numbers[status.name])

    def report(self, status: ServerStatus, number: int = 0) -> None:
        """Log the status of a server; one that can't be used is shown to the user as well (FN-54, FN-77)."""
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
    offer = definition.capabilities()
    kinds = [("stdio", offer.mcp_stdio), ("http", offer.mcp_http), ("sse", offer.mcp_sse)]
    return [kind for kind, is_offered in kinds if is_offered]


def _title(status: ServerStatus) -> str:
    return f"MCP server {status.name!r}: {status.state}"
