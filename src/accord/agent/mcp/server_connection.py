"""One MCP server and the task that owns it.

Law: the task opens, speaks and closes; everybody else only tells it to end. So whoever closes, whenever, no scope is
ever left in another task than it was entered in.
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
from mcp_types import (
    CONNECTION_CLOSED,
    Implementation,
    Tool,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from accord.agent.mcp.content import McpResult, McpTool, OnProgress, result_from_mcp
from accord.agent.mcp.failure_reasons import reason_of, traceback_of
from accord.agent.mcp.protocol import Dispatcher, all_tools, call_tool, greet
from accord.agent.mcp.status import ServerStatus, Settings, State, kind_of, told
from accord.agent.mcp.streams import Pipe, Streams, http_streams, sse_streams, stdio_streams
from accord.errors import ConnectionClosed, DeadlineExceeded, Malformed, RequestFailed
from accord.errors.escape_sequences import clean_output
from accord.local.redaction import redact
from accord.peer.limited_log import LimitedLog
from accord.session.mcp_servers import HttpServer, SseServer, StdioServer
from accord.transports.process_transport import Process

__all__ = ["ServerConnection"]

log = logging.getLogger("accord.mcp")

_CLOSE_SECONDS = 2.0
_UNDECLARED_SECONDS = 5.0
_VERDICT_SECONDS = 5.0


class ServerConnection:
    """`settled` is done, and never fails, when the server is connected or it is known why not."""

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
        self._last_words: ServerStatus | None = None
        self._has_ended = False
        self._looked: asyncio.Future[None] | None = None
        self._is_stopping = False
        self._limited = LimitedLog()
        self.task = asyncio.create_task(self._own(), name=f"accord mcp {name}")

    @property
    def status(self) -> ServerStatus:
        """As it is now."""
        if self._last_words is not None:
            return self._last_words
        lost = self._pipe.lost if self._pipe is not None else None
        notes = [*self._notes, *(["it prints what is no MCP message to stdout"] if self._noise else [])]
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
        """Tell the task to end; it does so soon, and says goodbye to a server it is connected to."""
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
            raise self._gone()
        self._refusal = ""
        try:
            async with asyncio.timeout(deadline):
                raw = await call_tool(session, tool.name, arguments, on_progress, meta)
        except TimeoutError:
            raise DeadlineExceeded(f"tools/call {tool.name}", deadline or 0.0) from None
        except MCPError as error:
            raise await self._failure(error) from None
        if raw.get("resultType") == "input_required":
            raise _refused(-32603, f"the tool {tool.name!r} asks for input, which this agent can't give")
        try:
            return result_from_mcp(raw)
        except Malformed as error:
            raise Malformed(f"{self.name}/{tool.name}: {error.path}", error.reason) from None

    async def _failure(self, error: MCPError) -> Exception:
        if error.code == CONNECTION_CLOSED and error.data is None:
            # All is over, or over HTTP one answer was cut off, or it is the server's own code; asking for the tools tells.
            verdicts = (self._over, self._look_again())
            await asyncio.wait(verdicts, timeout=_VERDICT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if self._over.done():
                return self._gone()
        refusal = f" ({self._refusal})" if self._refusal else ""
        return _refused(error.code, redact(error.message + refusal, self._url), error.data)

    def _gone(self) -> ConnectionClosed:
        status = self.status
        return ConnectionClosed(
            f"MCP server {self.name!r} is not connected: {self._reason}", status.exit_code, status.stderr_tail
        )

    async def _own(self) -> None:
        error: Exception | None = None
        try:
            with self._scope:
                async with self._streams() as (read, write):
                    await self._speak(read, write)
        except Exception as caught:  # noqa: BLE001  # whatever it is, it is this server's status and nobody else's
            log.debug("MCP server %r: %s", self.name, traceback_of(caught, self._url))
            error = caught
        finally:
            self._conclude(error)

    async def _speak(self, read: Any, write: Any) -> None:
        # What is known is told before the streams are closed, which may take a while.
        try:
            await self._converse(read, write)
        except Exception as error:
            self._conclude(error)
            raise
        except asyncio.CancelledError:
            if self._scope.cancel_called:
                self._conclude(None)
            raise  # else it is the streams that broke, and they will say why
        else:
            self._conclude(None)

    def _streams(self) -> AbstractAsyncContextManager[Streams]:
        match self._server:
            case StdioServer() as server:
                if not Path(server.command).is_absolute():
                    self._notes.append("its command is not an absolute path")  # SESS-26, AMB-46
                self._pipe = Pipe(self._heard_noise, self._give_up)
                env = os.environ if self._settings.env is None else self._settings.env
                process = Process(
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

    async def _converse(self, read: Any, write: Any) -> None:
        dispatcher = Dispatcher(read, write, on_end=self._ended, on_left_out=self._left_out)
        client = Implementation(name=self._settings.client_name, version=self._settings.client_version)
        async with ClientSession(dispatcher=dispatcher, client_info=client, message_handler=self._message) as session:
            await greet(session)
            dispatcher.version = session.protocol_version or dispatcher.version
            self.tools = await self._list(session)
            self._scope.deadline = float("inf")
            self._session = session
            self._state = "connected"
            self._tell()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._listen, session)
                await self._follow(session)
                tasks.cancel_scope.cancel()

    async def _list(self, session: ClientSession) -> list[McpTool]:
        declared = session.server_capabilities is not None and session.server_capabilities.tools is not None
        with anyio.move_on_after(None if declared else _UNDECLARED_SECONDS):
            try:
                return [self._tool(tool) for tool in await all_tools(session)]
            except MCPError as error:
                if declared or error.code == CONNECTION_CLOSED:
                    raise
        return []

    async def _follow(self, session: ClientSession) -> None:
        while not (self._is_stopping or self._has_ended):
            await self._wake.wait()
            self._wake.clear()
            if self._looked is not None and not self._is_stopping:
                looked, self._looked = self._looked, None
                if await self._refresh(session):
                    looked.set_result(None)

    async def _refresh(self, session: ClientSession) -> bool:
        """Whether it has answered, be it with a refusal."""
        with anyio.move_on_after(self._settings.connect_deadline):
            try:
                tools = await self._list(session)
            except (MCPError, ValueError) as error:
                text = "MCP server %r did not say which tools it has now: %s"
                self._limited.info(log, text, self.name, reason_of(error, self._url))
                return not (isinstance(error, MCPError) and error.code == CONNECTION_CLOSED)
            if tools != self.tools:
                self.tools = tools
                self._tell()
            return True
        return False

    async def _listen(self, session: ClientSession) -> None:
        # From 2026-07-28 on, changes are told to those who listen; before, the message handler gets them.
        if session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            try:
                async with listen(session, tools_list_changed=True) as changes:
                    self._look_again()  # for what has changed before it listened to us
                    async for _ in changes:
                        self._look_again()
            except (MCPError, SubscriptionLost) as error:
                log.info("MCP server %r doesn't tell when its tools change: %s", self.name, error)

    async def _message(self, message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._look_again()

    def _look_again(self) -> asyncio.Future[None]:
        """Done when it has answered once more."""
        if self._looked is None:
            self._looked = asyncio.get_running_loop().create_future()
        self._wake.set()
        return self._looked

    def _ended(self) -> None:
        self._has_ended = True
        self._wake.set()

    def _left_out(self, tool: str) -> None:
        note = f"its tool {tool!r} is malformed and was left out"
        if note not in self._notes and len(self._notes) < 20:
            self._notes.append(note)

    def _heard_noise(self) -> None:
        self._noise += 1

    async def _responded(self, response: httpx2.Response) -> None:
        if response.request.method != "POST" and not isinstance(self._server, SseServer):
            return  # a stream of notifications is a server's to refuse
        if response.status_code < 400:
            self._refusal = ""
            return
        self._refusal = f"it answered {response.status_code} {response.reason_phrase}".rstrip()
        has_forgotten_us = response.status_code == 404 and "mcp-session-id" in response.request.headers
        # mcp goes on after these, and whoever waits for an answer would wait for ever.
        if response.request.method == "POST" and (has_forgotten_us or isinstance(self._server, SseServer)):
            self._give_up(self._refusal)

    def _give_up(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._scope.cancel()

    def _conclude(self, error: BaseException | None) -> None:
        if self._over.done():
            return
        if self._is_stopping:
            self._reason = "it was closed while it was being connected" if self._state == "connecting" else ""
            self._state = "closed"
        else:
            self._reason = self._reason or self._why(error)
            self._state = "failed" if self._state == "connecting" else "lost"
        self._session = None
        self.tools = []
        self._last_words = self.status
        self._over.set_result(None)
        self._tell()

    def _why(self, error: BaseException | None) -> str:
        if self._scope.cancel_called and self._state == "connecting":
            return f"it did not answer within {self._settings.connect_deadline:g} s"
        if self._pipe is not None and self._pipe.lost is not None:
            return self._pipe.lost.reason
        reason = "it closed the connection" if error is None else reason_of(error, self._url)
        return f"{self._refusal}: {reason}" if self._refusal else reason

    def _tell(self) -> None:
        if not self.settled.done():
            self.settled.set_result(None)
        told(self.status, self._settings.on_change)

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


def _refused(code: int, message: str, data: Any = None) -> RequestFailed:
    # Never one of the subclasses: a server's codes are not ours. And received, so it never becomes our own answer.
    error = RequestFailed(code, message, data)
    error.was_received = True
    return error
