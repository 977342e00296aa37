"""The connection to one MCP server, owned by one task.

Law: the task opens, uses and closes the streams; others only tell it to end. So every cancel scope is left in the task that
entered it, whoever closes the connection and whenever.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import ClientSession, MCPError
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp_types import CONNECTION_CLOSED, Implementation, Tool, ToolListChangedNotification
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from accord.agent.mcp.content import McpResult, McpTool, OnProgress, result_from_mcp
from accord.agent.mcp.protocol import Dispatcher, call_tool, initialize, list_tools, reason_of, traceback_of
from accord.agent.mcp.status import ServerStatus, Settings, State, kind_of, notify
from accord.agent.mcp.streams import Pipe, Streams, http_streams, sse_streams, stdio_streams
from accord.errors import ConnectionClosed, DeadlineExceeded, Malformed, RequestFailed
from accord.errors.escape_sequences import clean_output
from accord.local.redaction import redact
from accord.peer.limited_log import LimitedLog
from accord.session.mcp_servers import HttpServer, SseServer, StdioServer
from accord.transports.process_transport import ProcessTransport

log = logging.getLogger("accord.mcp")

_CLOSE_SECONDS = 2.0
_UNDECLARED_TOOLS_SECONDS = 5.0
_CHECK_SECONDS = 5.0


class ServerConnection:
    """`settled` is done, and never fails, when the server is connected or has failed."""

    def __init__(self, server: StdioServer | HttpServer | SseServer, name: str, settings: Settings) -> None:
        self.name = name
        self.tools: list[McpTool] = []
        self.settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._server = server
        self._url = None if isinstance(server, StdioServer) else server.url
        self._settings = settings
        self._state: State = "connecting"
        self._reason = ""
        self._notes: list[str] = []
        self._noise = 0
        self._refusal = ""
        self._session: ClientSession | None = None
        self._pipe: Pipe | None = None
        self._scope = anyio.CancelScope(deadline=anyio.current_time() + settings.connect_deadline)
        self._wake = asyncio.Event()
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._final_status: ServerStatus | None = None
        self._has_ended = False
        self._refreshed: asyncio.Future[None] | None = None
        self._is_stopping = False
        self._limited_log = LimitedLog()
        self.task = asyncio.create_task(self._run(), name=f"accord mcp {name}")

    @property
    def status(self) -> ServerStatus:
        """The status as it is now."""
        if self._final_status is not None:
            return self._final_status
        lost = self._pipe.lost if self._pipe is not None else None
        notes = [*self._notes, *(["it prints text that is not MCP to stdout"] if self._noise else [])]
        return ServerStatus(
            name=self.name,
            kind=kind_of(self._server),
            state=self._state,
            tools=len(self.tools),
            reason=self._reason,
            exit_code=lost.exit_code if lost is not None and self._state in ("failed", "lost") else None,
            stderr_tail=clean_output(self._pipe.stderr.text) if self._pipe is not None else "",
            notes=tuple(notes),
        )

    def stop(self) -> None:
        """Tell the task to end soon; a connected server is shut down properly."""
        if self._is_stopping:
            return
        self._is_stopping = True
        self._scope.deadline = anyio.current_time() + _CLOSE_SECONDS
        self._wake.set()
        if self._state == "connecting":
            self._scope.cancel()

    async def call(
        self,
        tool: McpTool,
        arguments: dict[str, Any],
        on_progress: OnProgress | None,
        *,
        deadline: float | None,
        meta: Mapping[str, Any] | None,
    ) -> McpResult:
        session = self._session
        if session is None:
            raise self._closed_error()
        self._refusal = ""
        try:
            async with asyncio.timeout(deadline):
                raw = await call_tool(session, tool.name, arguments, on_progress, meta)
        except TimeoutError:
            raise DeadlineExceeded(f"tools/call {tool.name}", deadline or 0.0) from None
        except MCPError as error:
            raise await self._to_error(error) from None
        if raw.get("resultType") == "input_required":
            raise _received_error(-32603, f"the tool {tool.name!r} asks for input, which this agent does not support")
        try:
            return result_from_mcp(raw)
        except Malformed as error:
            raise Malformed(f"{self.name}/{tool.name}: {error.path}", error.reason) from None

    async def _to_error(self, error: MCPError) -> Exception:
        if error.code == CONNECTION_CLOSED and error.data is None:
            # The connection is closed, or one HTTP response was cut off, or it is the server's own code; a request shows.
            signs = (self._over, self._request_refresh())
            await asyncio.wait(signs, timeout=_CHECK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if self._over.done():
                return self._closed_error()
        refusal = f" ({self._refusal})" if self._refusal else ""
        return _received_error(error.code, redact(error.message + refusal, self._url), error.data)

    def _closed_error(self) -> ConnectionClosed:
        status = self.status
        return ConnectionClosed(
            f"MCP server {self.name!r} is not connected: {self._reason}", status.exit_code, status.stderr_tail
        )

    async def _run(self) -> None:
        error: Exception | None = None
        try:
            with self._scope:
                async with self._streams() as (read, write):
                    await self._use(read, write)
        except Exception as caught:  # noqa: BLE001  # any error is the reason of this server's status, and does not affect others
            log.debug("MCP server %r: %s", self.name, traceback_of(caught, self._url))
            error = caught
        finally:
            self._finish(error)

    async def _use(self, read: Any, write: Any) -> None:
        # The status is reported before the streams are closed, which may take a while.
        try:
            await self._connect(read, write)
        except Exception as error:
            self._finish(error)
            raise
        except asyncio.CancelledError:
            if self._scope.cancel_called:
                self._finish(None)
            raise  # else the streams failed, and their error says why
        else:
            self._finish(None)

    def _streams(self) -> AbstractAsyncContextManager[Streams]:
        match self._server:
            case StdioServer() as server:
                if not Path(server.command).is_absolute():
                    self._notes.append("its command is not an absolute path")  # SESS-26, AMB-46
                self._pipe = Pipe(self._count_noise, self._give_up)
                env = os.environ if self._settings.env is None else self._settings.env
                process = ProcessTransport(
                    [server.command, *server.args],
                    env={**env, **server.env},
                    cwd=self._settings.cwd,
                    framing="newline",
                    on_stderr=self._pipe.stderr.add,
                )
                return stdio_streams(process, self._pipe)
            case HttpServer() as server:
                return http_streams(server, self._responded)
            case SseServer() as server:
                return sse_streams(server, self._responded)

    async def _connect(self, read: Any, write: Any) -> None:
        dispatcher = Dispatcher(read, write, on_end=self._stream_ended, on_invalid_tool=self._note_invalid_tool)
        client = Implementation(name=self._settings.client_name, version=self._settings.client_version)
        async with ClientSession(dispatcher=dispatcher, client_info=client, message_handler=self._message) as session:
            await initialize(session)
            dispatcher.version = session.protocol_version or dispatcher.version
            self.tools = await self._list(session)
            self._scope.deadline = float("inf")
            self._session = session
            self._state = "connected"
            self._report()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._listen, session)
                await self._follow(session)
                tasks.cancel_scope.cancel()

    async def _list(self, session: ClientSession) -> list[McpTool]:
        declared = session.server_capabilities is not None and session.server_capabilities.tools is not None
        with anyio.move_on_after(None if declared else _UNDECLARED_TOOLS_SECONDS):
            try:
                return [self._tool(tool) for tool in await list_tools(session)]
            except MCPError as error:
                if declared or error.code == CONNECTION_CLOSED:
                    raise
        return []

    async def _follow(self, session: ClientSession) -> None:
        while not (self._is_stopping or self._has_ended):
            await self._wake.wait()
            self._wake.clear()
            if self._refreshed is not None and not self._is_stopping:
                refreshed, self._refreshed = self._refreshed, None
                if await self._refresh(session):
                    refreshed.set_result(None)

    async def _refresh(self, session: ClientSession) -> bool:
        """Whether the server has responded, be it with an error."""
        with anyio.move_on_after(self._settings.connect_deadline):
            try:
                tools = await self._list(session)
            except (MCPError, ValueError) as error:
                text = "MCP server %r did not list its tools: %s"
                self._limited_log.info(log, text, self.name, reason_of(error, self._url))
                return not (isinstance(error, MCPError) and error.code == CONNECTION_CLOSED)
            if tools != self.tools:
                self.tools = tools
                self._report()
            return True
        return False

    async def _listen(self, session: ClientSession) -> None:
        # From 2026-07-28 on, a client subscribes to changes; before, the message handler gets them.
        if session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            try:
                async with listen(session, tools_list_changed=True) as changes:
                    self._request_refresh()  # for changes before the subscription
                    async for _ in changes:
                        self._request_refresh()
            except (MCPError, SubscriptionLost) as error:
                log.info("MCP server %r does not report changes of its tools: %s", self.name, error)

    async def _message(self, message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._request_refresh()

    def _request_refresh(self) -> asyncio.Future[None]:
        """Ask for the tools again; done when the server has responded."""
        if self._refreshed is None:
            self._refreshed = asyncio.get_running_loop().create_future()
        self._wake.set()
        return self._refreshed

    def _stream_ended(self) -> None:
        self._has_ended = True
        self._wake.set()

    def _note_invalid_tool(self, tool: str) -> None:
        note = f"its tool {tool!r} is invalid and was dropped"
        if note not in self._notes and len(self._notes) < 20:
            self._notes.append(note)

    def _count_noise(self) -> None:
        self._noise += 1

    async def _responded(self, response: httpx2.Response) -> None:
        if response.request.method != "POST" and not isinstance(self._server, SseServer):
            return  # a server may refuse a stream of notifications
        if response.status_code < 400:
            self._refusal = ""
            return
        self._refusal = f"HTTP status {response.status_code} {response.reason_phrase}".rstrip()
        has_lost_session = response.status_code == 404 and "mcp-session-id" in response.request.headers
        # After these mcp continues, and the caller would wait for ever.
        if response.request.method == "POST" and (has_lost_session or isinstance(self._server, SseServer)):
            self._give_up(self._refusal)

    def _give_up(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._scope.cancel()

    def _finish(self, error: BaseException | None) -> None:
        if self._over.done():
            return
        if self._is_stopping:
            self._reason = "closed while it was connecting" if self._state == "connecting" else ""
            self._state = "closed"
        else:
            self._reason = self._reason or self._reason_for(error)
            self._state = "failed" if self._state == "connecting" else "lost"
        self._session = None
        self.tools = []
        self._final_status = self.status
        self._over.set_result(None)
        self._report()

    def _reason_for(self, error: BaseException | None) -> str:
        if self._scope.cancel_called and self._state == "connecting":
            return f"timed out after {self._settings.connect_deadline:g} s"
        if self._pipe is not None and self._pipe.lost is not None:
            return self._pipe.lost.reason
        reason = "it closed the connection" if error is None else reason_of(error, self._url)
        return f"{self._refusal}: {reason}" if self._refusal else reason

    def _report(self) -> None:
        if not self.settled.done():
            self.settled.set_result(None)
        notify(self.status, self._settings.on_change)

    def _tool(self, tool: Tool) -> McpTool:
        annotations = tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else {}
        return McpTool(
            server=self.name,
            name=tool.name,
            title=tool.title or annotations.get("title"),
            description=tool.description,
            input_schema=tool.input_schema,
            output_schema=tool.output_schema,
            annotations=annotations,
            meta=tool.meta,
        )


def _received_error(code: int, message: str, data: Any = None) -> RequestFailed:
    # Not one of the subclasses: a server's codes are not ours. Marked as received, so that it never becomes our own response.
    error = RequestFailed(code, message, data)
    error.was_received = True
    return error
