"""Plain `def` handlers: they run in a thread, with a turn whose calls block. Same names, same meaning.

When the turn is cancelled, every call of it raises `asyncio.CancelledError` in the thread.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from accord.agent.command_line import CommandResult
from accord.agent.connection import AgentConnection
from accord.agent.permissions import OPTIONS
from accord.agent.session import AgentSession
from accord.agent.tool_calls import AgentToolCall, ToolCallContent
from accord.agent.turn import Turn
from accord.local.threads import shielded_result
from accord.session.content import Content
from accord.session.entities import Location, PlanEntry, TokenUsage, ToolCall
from accord.session.open_enums import NoticeSeverity, StopReason, ToolKind, ToolStatus
from accord.session.requests import AcpNotification, AcpRequest, PermissionOption
from accord.session.updates import Patch
from accord.session.value import UNSET

if TYPE_CHECKING:
    from accord.agent.mcp import McpResult, McpTool, ServerConnections, ServerStatus

__all__ = ["SyncClient", "SyncFiles", "SyncServers", "SyncToolCall", "SyncTurn", "in_thread"]

T = TypeVar("T")


class Bridge:
    """From the handler's thread to the event loop and back."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: set[Future[Any]] = set()
        self._is_cancelled = False

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in the loop and block until it is done."""
        if self._is_cancelled:
            work.close()
            raise asyncio.CancelledError
        call = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._calls.add(call)
        try:
            return call.result()
        except BaseException:
            if self._is_cancelled:
                raise asyncio.CancelledError from None
            raise
        finally:
            self._calls.discard(call)

    def cancel(self) -> None:
        """Called in the loop: whoever waits is released, and nobody waits any more."""
        self._is_cancelled = True
        for call in list(self._calls):
            call.cancel()


class SyncToolCall:
    """`AgentToolCall` for a thread, with a plain `with`."""

    def __init__(self, call: AgentToolCall, bridge: Bridge) -> None:
        self.open = call
        self._bridge = bridge

    def __enter__(self) -> Self:
        self._bridge.wait(self.open.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not isinstance(error, asyncio.CancelledError):  # then nobody waits any more, and the turn ends the call
            self._bridge.wait(self.open.__aexit__(kind, error, traceback))

    @property
    def allowed(self) -> bool | None:
        return self.open.allowed

    @property
    def id(self) -> str:
        return self.open.id

    @property
    def call(self) -> ToolCall:
        return self.open.call

    @property
    def status(self) -> ToolStatus:
        return self.open.status

    def begin(self) -> None:
        self._bridge.wait(self.open.begin())

    def end(self, status: ToolStatus, *, raw_output: Any = UNSET, meta: dict[str, Any] | None = None) -> None:
        self._bridge.wait(_done(partial(self.open.end, status, raw_output=raw_output, meta=meta)))

    def show(self, *shown: ToolCallContent) -> None:
        self._bridge.wait(self.open.show(*shown))

    def say(self, text: str) -> None:
        self._bridge.wait(self.open.say(text))

    def replace(self, *shown: ToolCallContent) -> None:
        self._bridge.wait(self.open.replace(*shown))

    def diff(self, path: str | os.PathLike[str], new_text: str | None, old_text: str | None = None) -> None:
        self._bridge.wait(self.open.diff(path, new_text, old_text))

    def terminal(self, terminal_id: str) -> None:
        self._bridge.wait(self.open.terminal(terminal_id))

    def locate(self, path: str | os.PathLike[str], line: int | None = None) -> None:
        self._bridge.wait(self.open.locate(path, line))

    def update(
        self,
        *,
        title: str | None = None,
        kind: ToolKind | None = None,
        status: ToolStatus | None = None,
        raw_input: Any = UNSET,
        raw_output: Any = UNSET,
    ) -> None:
        self._bridge.wait(
            self.open.update(title=title, kind=kind, status=status, raw_input=raw_input, raw_output=raw_output)
        )

    def fail(self, reason: str | None = None) -> None:
        self._bridge.wait(self.open.fail(reason))


class SyncFiles:
    """`Files` for a thread."""

    def __init__(self, turn: Turn, bridge: Bridge) -> None:
        self._turn = turn
        self._bridge = bridge

    def read(self, path: str | os.PathLike[str], line: int | None = None, limit: int | None = None) -> str:
        return self._bridge.wait(self._turn.files.read(path, line, limit))

    def write(self, path: str | os.PathLike[str], text: str) -> None:
        self._bridge.wait(self._turn.files.write(path, text))


class SyncClient:
    """`AgentConnection` for a thread."""

    def __init__(self, client: AgentConnection, bridge: Bridge) -> None:
        self.info = client.info
        self.capabilities = client.capabilities
        self._client = client
        self._bridge = bridge

    def ask(self, asked: AcpRequest, *, deadline: float | None = None) -> Any:
        return self._bridge.wait(self._client.ask(asked, deadline=deadline))

    def tell(self, told: AcpNotification) -> None:
        self._bridge.wait(self._client.tell(told))

    def request(self, method: str, params: Any = None, *, deadline: float | None = None) -> Any:
        return self._bridge.wait(self._client.request(method, params, deadline=deadline))

    def notify(self, method: str, params: Any = None) -> None:
        self._bridge.wait(self._client.notify(method, params))


class SyncServers:
    """`ServerConnections` for a thread, as far as a turn needs them."""

    def __init__(self, servers: ServerConnections, bridge: Bridge) -> None:
        self._servers = servers
        self._bridge = bridge

    @property
    def tools(self) -> list[McpTool]:
        return self._servers.tools

    @property
    def statuses(self) -> list[ServerStatus]:
        return self._servers.statuses

    def call(
        self,
        tool: McpTool,
        arguments: Mapping[str, Any] | None = None,
        *,
        deadline: float | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> McpResult:
        return self._bridge.wait(self._servers.call(tool, arguments, deadline=deadline, meta=meta))


class SyncTurn:
    """`Turn` for a thread; `turn` is the turn itself."""

    def __init__(self, turn: Turn, bridge: Bridge) -> None:
        self.turn = turn
        self.meta = turn.meta
        self.trace = turn.trace
        self.files = SyncFiles(turn, bridge)
        self.client = SyncClient(turn.client, bridge)
        self._bridge = bridge

    @property
    def session(self) -> AgentSession:
        return self.turn.session

    @property
    def content(self) -> list[Content]:
        return self.turn.content

    @property
    def new_content(self) -> list[Content]:
        return self.turn.new_content

    @property
    def text(self) -> str:
        return self.turn.text

    @property
    def whole_text(self) -> str:
        return self.turn.whole_text

    @property
    def cwd(self) -> Path:
        return self.turn.cwd

    @property
    def options(self) -> dict[str, str | bool | None]:
        return self.turn.options

    @property
    def command(self) -> str | None:
        return self.turn.command

    @property
    def arguments(self) -> str:
        return self.turn.arguments

    @property
    def is_cancelled(self) -> bool:
        """For loops that call nothing of the turn."""
        return self.turn.is_cancelled

    @property
    def is_over(self) -> bool:
        return self.turn.is_over

    @property
    def requests(self) -> int:
        return self.turn.requests

    @property
    def tokens(self) -> int:
        return self.turn.tokens

    @property
    def token_usage(self) -> TokenUsage | None:
        return self.turn.token_usage

    @token_usage.setter
    def token_usage(self, usage: TokenUsage | None) -> None:
        self._bridge.wait(_done(setattr, self.turn, "token_usage", usage))

    @property
    def can_ask(self) -> bool:
        return self.turn.can_ask

    def say(self, content: str | Content) -> None:
        self._bridge.wait(self.turn.say(content))

    def think(self, content: str | Content) -> None:
        self._bridge.wait(self.turn.think(content))

    def notice(self, title: str, description: str | None = None, severity: NoticeSeverity = "info") -> None:
        self._bridge.wait(self.turn.notice(title, description, severity))

    def plan(self, entries: Iterable[str | PlanEntry], id: str = "main") -> None:
        self._bridge.wait(self.turn.plan(entries, id))

    def tool_call(
        self,
        title: str,
        *,
        kind: ToolKind = "other",
        name: str | None = None,
        raw_input: Any = None,
        content: ToolCallContent | Iterable[ToolCallContent] = (),
        locations: Iterable[str | os.PathLike[str] | Location] = (),
        id: str | None = None,
    ) -> SyncToolCall:
        call = self.turn.tool_call(
            title, kind=kind, name=name, raw_input=raw_input, content=content, locations=locations, id=id
        )
        return SyncToolCall(call, self._bridge)

    def in_background(self, call: SyncToolCall, work: Callable[[SyncToolCall], None]) -> None:
        """As `Turn.in_background`; the work gets a thread of its own."""
        self._bridge.wait(self.turn.in_background(call.open, partial(_work_in_thread, work)))

    def allowed(
        self,
        about: SyncToolCall | str,
        *,
        options: Sequence[PermissionOption] = OPTIONS,
        description: str | None = None,
        scope: str | None = None,
    ) -> bool:
        subject = about if isinstance(about, str) else about.open
        return self._bridge.wait(self.turn.allowed(subject, options=options, description=description, scope=scope))

    def ask(
        self, message: str, fields: Mapping[str, Any], *, required: Sequence[str] | None = None
    ) -> dict[str, Any] | None:
        return self._bridge.wait(self.turn.ask(message, fields, required=required))

    def ask_to_open(self, message: str, url: str, id: str) -> bool:
        return self._bridge.wait(self.turn.ask_to_open(message, url, id))

    def run(
        self,
        *command: str,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        deadline: float | None = None,
        output_limit: int = 1024 * 1024,
        call: SyncToolCall | None = None,
    ) -> CommandResult:
        shown = None if call is None else call.open
        return self._bridge.wait(
            self.turn.run(*command, cwd=cwd, env=env, deadline=deadline, output_limit=output_limit, call=shown)
        )

    def servers(self) -> SyncServers:
        return SyncServers(self._bridge.wait(self.turn.servers()), self._bridge)

    def usage(self, used: int, size: int, cost: float | None = None, currency: str = "USD") -> None:
        self._bridge.wait(self.turn.usage(used, size, cost, currency))

    def title(self, title: str) -> None:
        self._bridge.wait(self.turn.title(title))

    def mode(self, mode_id: str) -> None:
        self._bridge.wait(self.turn.mode(mode_id))

    def tell(self, report: Patch) -> None:
        self._bridge.wait(self.turn.tell(report))

    def steered(self) -> list[Content] | None:
        return self._bridge.wait(self.turn.steered())

    def stop(self, reason: StopReason) -> NoReturn:
        self.turn.stop(reason)

    def count_request(self) -> None:
        self.turn.count_request()

    def count_tokens(self, tokens: int) -> None:
        self.turn.count_tokens(tokens)


async def in_thread(handler: Callable[[SyncTurn], Any], turn: Turn) -> Any:
    """Run it in a thread of its own, which does not keep the process alive; its result is the stop reason."""
    bridge = Bridge(asyncio.get_running_loop())
    return await _threaded(partial(handler, SyncTurn(turn, bridge)), bridge, f"accord turn of {turn.session.id}")


async def _work_in_thread(work: Callable[[SyncToolCall], None], call: AgentToolCall) -> None:
    bridge = Bridge(asyncio.get_running_loop())
    await _threaded(partial(work, SyncToolCall(call, bridge)), bridge, f"accord background {call.id}")


async def _threaded(call: Callable[[], Any], bridge: Bridge, name: str) -> Any:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Any] = loop.create_future()

    def work() -> None:
        result, error = None, None
        try:
            result = call()
        except BaseException as raised:  # noqa: BLE001  # it is raised again, in the loop
            error = raised
        try:
            loop.call_soon_threadsafe(_settle, ended, result, error)
        except RuntimeError:
            return  # the loop is closed: nobody waits

    threading.Thread(target=work, name=name, daemon=True).start()
    try:
        return await shielded_result(ended)
    except asyncio.CancelledError:
        bridge.cancel()
        return await ended


async def _done(call: Callable[..., None], *arguments: Any) -> None:
    call(*arguments)


def _settle(ended: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if ended.done():
        return
    if error is None:
        ended.set_result(result)
    elif isinstance(error, asyncio.CancelledError):
        ended.cancel()
    elif isinstance(error, StopIteration):
        ended.set_exception(RuntimeError("the handler raised StopIteration"))
    else:
        ended.set_exception(error)
