"""`Turn` for plain `def` handlers: they run in a thread, with objects whose calls block. Same names, same meaning.

Law: when the turn is cancelled, every call raises `asyncio.CancelledError` in the thread.

A blocking method is made of its asynchronous one, so that signatures, types and docstrings are the same.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from functools import partial, wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from accord.agent.connection import AgentConnection
from accord.agent.files import ClientFiles
from accord.agent.permissions import OPTIONS
from accord.agent.tool_calls import AgentToolCall, CommandResult, FilePath
from accord.agent.turn import Turn, TurnContext, TurnState
from accord.local.threads import shielded_result
from accord.session.capabilities import ClientCapabilities, Implementation
from accord.session.entities import ToolCall
from accord.session.open_enums import ToolStatus
from accord.session.requests import PermissionOption

if TYPE_CHECKING:
    from accord.agent.mcp import McpResult, McpTool, ServerStatus

A = TypeVar("A")
T = TypeVar("T")
P = ParamSpec("P")


class Bridge:
    """Runs coroutines of the handler's thread in the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: set[Future[Any]] = set()
        self._is_cancelled = False

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop, and block until it is done."""
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
        """Called in the loop: every call that waits, and every later one, raises CancelledError."""
        self._is_cancelled = True
        for call in list(self._calls):
            call.cancel()


class _Blocking(Generic[A]):
    """An object for a thread, made of the asynchronous one."""

    def __init__(self, wrapped: A, bridge: Bridge) -> None:
        self._wrapped = wrapped
        self._bridge = bridge


def _parts(blocking: _Blocking[A]) -> tuple[A, Bridge]:
    return blocking._wrapped, blocking._bridge  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # hidden from users only


def _blocking(method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Any, P], T]:
    """The method of a `_Blocking` that runs this one in the loop."""

    @wraps(method)
    def call(self: _Blocking[A], *args: P.args, **kwargs: P.kwargs) -> T:
        wrapped, bridge = _parts(self)
        return bridge.wait(method(wrapped, *args, **kwargs))

    return call


def _in_loop(method: Callable[Concatenate[A, P], T]) -> Callable[Concatenate[Any, P], T]:
    """As `_blocking`, of a plain method that must be called in the loop."""

    @wraps(method)
    async def work(wrapped: A, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(wrapped, *args, **kwargs)

    return _blocking(work)


class SyncToolCall(_Blocking[AgentToolCall]):
    """`AgentToolCall` for a thread, with a plain `with`."""

    def __enter__(self) -> Self:
        self._bridge.wait(self._wrapped.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not isinstance(error, asyncio.CancelledError):  # then the turn ends the call
            self._bridge.wait(self._wrapped.__aexit__(kind, error, traceback))

    @property
    def id(self) -> str:
        """The id of the call."""
        return self._wrapped.id

    @property
    def allowed(self) -> bool | None:
        """The user's last answer to a permission request; None when there was no request."""
        return self._wrapped.allowed

    @property
    def call(self) -> ToolCall:
        """The call as it is now, with its content."""
        return self._wrapped.call

    @property
    def status(self) -> ToolStatus:
        """The status of the call as it is now."""
        return self._wrapped.status

    begin = _blocking(AgentToolCall.begin)
    """Set the status to in progress; every update does so by itself."""
    end = _in_loop(AgentToolCall.end)
    """End the call with a final status, unless it has ended; for code that does not use it as a context manager."""
    show = _blocking(AgentToolCall.show)
    """Add content: text, blocks, diffs or terminals."""
    say = _blocking(AgentToolCall.say)
    """Add text to the content."""
    replace = _blocking(AgentToolCall.replace)
    """Replace all content."""
    diff = _blocking(AgentToolCall.diff)
    """Add the change of a file. `old_text` None: the file is created; `new_text` None: it is deleted."""
    terminal = _blocking(AgentToolCall.terminal)
    """Add a terminal: one that you report, or one of a client that has terminals."""
    locate = _blocking(AgentToolCall.locate)
    """Add a file that the call works on, so that an editor can follow; lines count from 1."""
    update = _blocking(AgentToolCall.update)
    """Change fields of the call. Raw input and output are JSON objects of the tool's own. A final status stays."""
    fail = _blocking(AgentToolCall.fail)
    """Mark the call as failed without raising; it fails when the block is left."""


class SyncFiles(_Blocking[ClientFiles]):
    """`ClientFiles` for a thread."""

    read = _blocking(ClientFiles.read)
    """Read a text file, or `limit` lines of it from `line` on, counted from 1."""
    write = _blocking(ClientFiles.write)
    """Replace a text file in one step; it and its directories are created if they do not exist."""


class SyncConnection(_Blocking[AgentConnection]):
    """`AgentConnection` for a thread."""

    @property
    def info(self) -> Implementation | None:
        """The name and version of the client."""
        return self._wrapped.info

    @property
    def capabilities(self) -> ClientCapabilities:
        """What the client offers; `meta` and `group_meta` are what it advertises beyond the protocol."""
        return self._wrapped.capabilities

    request = _blocking(AgentConnection.request)
    """Send a request of `accord.session.requests`, or one of your own such as `"_acme/pick"`, and return the result."""
    notify = _blocking(AgentConnection.notify)
    """Send a notification of `accord.session.requests`, or one of your own such as `"_acme/highlight"`."""


class SyncServers(_Blocking[Any]):
    """`ServerConnections` for a thread, as far as a turn needs them."""

    @property
    def tools(self) -> list[McpTool]:
        """The tools of all connected servers, as they are now."""
        return self._wrapped.tools

    @property
    def statuses(self) -> list[ServerStatus]:
        """The status of every server, as it is now."""
        return self._wrapped.statuses

    def call(
        self,
        tool: McpTool,
        arguments: Mapping[str, Any] | None = None,
        *,
        deadline: float | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> McpResult:
        """As `ServerConnections.call`, without progress."""
        return self._bridge.wait(self._wrapped.call(tool, arguments, deadline=deadline, meta=meta))


def _tool_call(method: Callable[Concatenate[Turn, P], AgentToolCall]) -> Callable[Concatenate[Any, P], SyncToolCall]:
    @wraps(method)
    def call(self: _Blocking[Turn], *args: P.args, **kwargs: P.kwargs) -> SyncToolCall:
        turn, bridge = _parts(self)
        return SyncToolCall(method(turn, *args, **kwargs), bridge)

    return call


class SyncTurn(_Blocking[Turn], TurnContext):
    """`Turn` for a thread."""

    def __init__(self, state: TurnState, turn: Turn, bridge: Bridge) -> None:
        super().__init__(turn, bridge)
        TurnContext.__init__(self, state)
        self.files = SyncFiles(turn.files, bridge)
        """Text files: the client's where it offers them, on the disk otherwise."""
        self.client = SyncConnection(turn.client, bridge)
        """The client that prompted; permission and other requests go to it."""

    say = _blocking(Turn.say)
    """Send a part of the answer, in Markdown; call it for each part as it comes."""
    think = _blocking(Turn.think)
    """Send a part of the agent's thoughts."""
    notice = _blocking(Turn.notice)
    """Show a notice that is not part of the conversation; clients without notices do not see it."""
    plan = _blocking(Turn.plan)
    """Show the plan as it is now, complete; nothing is sent if it has not changed in this turn."""
    pause_plans = _blocking(Turn.pause_plans)
    """Show the entries in progress of this turn's plans as pending: nobody works on them any more."""
    tool_call = _tool_call(Turn.tool_call)
    """A tool call: `with turn.tool_call(...) as call`. The user sees these fields before permission is asked."""
    ask = _blocking(Turn.ask)
    """Ask the user with a form; `fields` are flat JSON Schema properties, all required unless `required` says which."""
    ask_to_open = _blocking(Turn.ask_to_open)
    """Ask the user to open a URL; False when the user declines, or the client can't ask that."""
    usage = _blocking(Turn.usage)
    """Report the tokens in context, the size of the context, and the cost of the session so far."""
    set_title = _blocking(Turn.set_title)
    """Name the session."""
    set_mode = _blocking(Turn.set_mode)
    """Switch the session to a mode; ValueError when the agent has no such mode."""
    next_prompt = _blocking(Turn.next_prompt)
    """The next prompt that came during this turn, taken into it; None if there is none. For `busy="steer"`."""
    send = _blocking(Turn.send)
    """Send any update of `accord.session.updates`; ValueError for one that is not valid."""

    def allowed(
        self,
        about: SyncToolCall | str,
        *,
        options: Sequence[PermissionOption] = OPTIONS,
        description: str | None = None,
        scope: str | None = None,
    ) -> bool:
        """As `Turn.allowed`: ask the user for permission; only a clear yes is True."""
        subject = _parts(about)[0] if isinstance(about, SyncToolCall) else about
        return self._bridge.wait(self._wrapped.allowed(subject, options=options, description=description, scope=scope))

    def run(
        self,
        *command: str,
        cwd: FilePath | None = None,
        env: Mapping[str, str] | None = None,
        deadline: float | None = None,
        output_limit: int = 1024 * 1024,
        call: SyncToolCall | None = None,
    ) -> CommandResult:
        """As `Turn.run`: run a command to its end, in the client's terminal where it has them, else here."""
        shown_in = None if call is None else _parts(call)[0]
        return self._bridge.wait(
            self._wrapped.run(*command, cwd=cwd, env=env, deadline=deadline, output_limit=output_limit, call=shown_in)
        )

    def in_background(self, call: SyncToolCall, work: Callable[[SyncToolCall], None]) -> None:
        """As `Turn.in_background`: start `work(call)` beside the turns, in a thread of its own."""
        self._bridge.wait(self._wrapped.in_background(_parts(call)[0], partial(_work_in_thread, work)))

    def servers(self) -> SyncServers:
        """As `Turn.servers`: the session's MCP servers, once each is connected or has failed."""
        return SyncServers(self._bridge.wait(self._wrapped.servers()), self._bridge)


async def run_in_thread(handler: Callable[[SyncTurn], Any], turn: Turn, state: TurnState) -> Any:
    """Run a handler in a daemon thread of its own; its result is the stop reason."""
    bridge = Bridge(asyncio.get_running_loop())
    return await _run(partial(handler, SyncTurn(state, turn, bridge)), bridge, f"accord turn of {state.session.id}")


async def _work_in_thread(work: Callable[[SyncToolCall], None], call: AgentToolCall) -> None:
    bridge = Bridge(asyncio.get_running_loop())
    await _run(partial(work, SyncToolCall(call, bridge)), bridge, f"accord background {call.id}")


async def _run(call: Callable[[], Any], bridge: Bridge, name: str) -> Any:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def work() -> None:
        result, error = None, None
        try:
            result = call()
        except BaseException as raised:  # noqa: BLE001  # it is raised again, in the loop
            error = raised
        try:
            loop.call_soon_threadsafe(_resolve, done, result, error)
        except RuntimeError:
            return  # the loop is closed: nobody waits

    threading.Thread(target=work, name=name, daemon=True).start()
    try:
        return await shielded_result(done)
    except asyncio.CancelledError:
        bridge.cancel()
        return await done


def _resolve(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(result)
    elif isinstance(error, asyncio.CancelledError):
        done.cancel()
    elif isinstance(error, StopIteration):
        done.set_exception(RuntimeError("the handler raised StopIteration"))
    else:
        done.set_exception(error)
