"""A live session: its transcript, and the one way by which anything in it is told.

Law: a report is applied to the transcript, then written down, then sent to every connection that listens; in that order,
and nothing overtakes it. Text that follows text within a short window is sent as one chunk (FN-80), and what is told of a
tool call right before its end is sent with its end (FN-114); whatever else is told lets it go first.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Hashable, Iterable, MutableMapping
from contextlib import suppress
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from accord.agent.background import Background
from accord.agent.connected_client import ConnectedClient
from accord.agent.listeners import Listener
from accord.errors import Fenced, StoreFailed
from accord.local.roots import Roots
from accord.peer.limited_log import LimitedLog
from accord.session.content import Content
from accord.session.entities import Option, State, TokenUsage, ToolCall
from accord.session.merging import is_end, joined, joins, joins_end, with_outcome
from accord.session.requests import SessionSummary
from accord.session.servers import McpServer
from accord.session.transcript import Transcript
from accord.session.updates import (
    Change,
    CommandsReport,
    InfoPatch,
    MessageChanged,
    MessageChunk,
    NoticeReport,
    OptionsReport,
    PlanReport,
    Report,
    StateReport,
    ToolCallChanged,
)
from accord.session.validation import Validator, is_absolute

if TYPE_CHECKING:
    from accord.agent.mcp import ServerConnections, ServerFate
    from accord.store.claims import Claim
    from accord.store.interface import Store

__all__ = ["Session"]

log = logging.getLogger("accord.agent")

T = TypeVar("T")

_FULL = 4096  # characters that wait at most
_BREATH = 64  # reports between two yields, so that a handler which only talks can be cancelled
SERVER_LINES, _SERVER_LENGTH = 100, 1000  # more than anybody's servers need, and what one client may write at most
_PASSING = (StateReport, NoticeReport, CommandsReport)  # true only while it is told


class Session:
    """`state` is the author's own place for what belongs to the session; it lives as long as the session is open."""

    def __init__(
        self,
        kept: SessionSummary,
        store: Store | None = None,
        merge_seconds: float = 0.0,
    ) -> None:
        self.id = kept.session_id
        self.cwd = Path(kept.cwd)
        self.additional_directories = [Path(directory) for directory in kept.additional_directories]
        directories = (kept.cwd, *kept.additional_directories)
        self.roots = Roots(path for path in directories if os.path.isabs(path))  # noqa: PTH117  # on this system
        self.listeners: list[Listener] = []
        """The connections that hear it."""
        self.asker: ConnectedClient | None = None
        """Whose prompt is answered now."""
        self.cancelled_content: list[Content] = []
        """The blocks of the prompts that the last cancel ended, until another turn has ended."""
        self.transcript = Transcript()
        self.transcript.new_id = partial(_new_id, "message")
        self.is_new = False
        """Whether it was just made, by session/new or as a fork; one that is loaded or resumed is not new."""
        self.state: dict[str, Any] = {}
        self.own_servers: list[McpServer] = []
        """MCP servers that the agent itself brings, beside those of the client; set while the session is prepared."""
        self.remembered: MutableMapping[str, bool] = {}
        """The user's always-choices, by what they are about."""
        self.chosen: dict[str, str | bool | None] = {}
        """What was chosen when the session was last open, by option; also what the agent does not offer any more."""
        self.named_servers: list[McpServer] = []
        """All that it was opened with."""
        self.unusable_servers: dict[tuple[str, int], ServerFate] = {}
        """Those that failed, were skipped or died, by name and number; for clients that are not told by a notice."""
        self.server_log = LimitedLog(lines=SERVER_LINES, length=_SERVER_LENGTH)
        self.servers: ServerConnections | None = None
        """The MCP servers that the client named, None when it named none; connected only when `Turn.servers` returns."""
        self.connecting: asyncio.Task[Any] | None = None
        self.background = Background(self._repeat_state)
        self.validator = Validator(self.absolute, self._check_terminal, self._mode_ids, self._tool_calls)
        """Checks what the author tells and asks."""
        self.claim: Claim | None = None
        """The right to write to the store; None without a store, and when it is over."""
        self.lost: Fenced | None = None
        """Why nothing more of the session is kept: another process has taken it over."""
        self.on_lost: Callable[[Fenced], None] = _ignore
        self._store = store
        self._window = merge_seconds
        self._held: list[Change] = []
        self._held_key: Any = None
        self._held_size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._breath = 0

    @property
    def options(self) -> dict[str, str | bool | None]:
        """The value of each option, the mode's included."""
        return {option.id: option.value for option in self.transcript.options}

    def absolute(self, path: str | os.PathLike[str]) -> str:
        """The path as the protocol wants it: one that is not absolute counts from the session's directory."""
        text = os.fspath(path)
        return text if is_absolute(text) else str(self.cwd / text)

    async def tell(self, report: Report) -> None:
        """Report something; returns when there is room for the next report. ValueError for what must not be told."""
        if not self.told(self.validator.report(report)):
            await self.room()

    def told(self, report: Report) -> bool:
        """As `tell` for what is known to be valid, but False in place of waiting: `room` comes before the next one."""
        change = self.record(report)
        if self.lost is not None:
            raise copy(self.lost)
        has_room = self.send(change)
        self._breath += 1
        return has_room and self._breath < _BREATH

    async def room(self) -> None:
        """Let others go on, and wait until there is room for the next report."""
        if self._breath >= _BREATH:
            self._breath = 0
            await asyncio.sleep(0)
        for listener in self._slowing():
            await listener.room()

    def _slowing(self) -> list[Listener]:
        # Whoever only looks on must not stop others; if it never reads, its connection fails by its own limit.
        if len(self.listeners) == 1:
            return self.listeners[:]
        return [listener for listener in self.listeners if listener.client is self.asker]

    def report(self, report: Report, *, told: bool = True) -> Change:
        """As `tell`, without waiting for room; for callbacks and for the end of things."""
        change = self.record(self.validator.report(report))
        if told:
            self.send(change)
        return change

    def record(self, report: Report) -> Change:
        """Apply what a client has said, or what is known to be valid, and write it down; it is told to nobody."""
        change = self.transcript.apply(report)
        if (type(change) is MessageChunk or type(change) is MessageChanged) and change.patch.id is None:
            change.patch.id = change.message.id  # a journal must not depend on where turns began
        if self.claim is not None and type(report) not in _PASSING:
            assert self._store is not None
            try:
                self._store.append(self.claim, (report,))
            except Fenced as fenced:
                self.lose(fenced)
        return change

    def lose(self, fenced: Fenced) -> None:
        """Another process has the session: from now on nothing can be told, and what is reported is not kept."""
        if self.lost is None:
            self.lost, self.claim = fenced, None
            self.on_lost(fenced)

    def send(self, change: Change) -> bool:
        """Send what was applied, or hold it for the window; whether there is room for more."""
        if type(change) is ToolCallChanged:
            return self._send_call(change)
        return self._held_back(change, joins(change)) if self._window else self._post(change)

    def _send_call(self, change: ToolCallChanged) -> bool:
        key = ("call", change.call.id)
        if is_end(change):
            waiting = self._taken() if key == self._held_key else []
            change = with_outcome(change, [each for each in waiting if type(each) is ToolCallChanged])
        if not self._window:
            return self._post(change)
        return self._held_back(change, key if joins_end(change) else None)

    def _held_back(self, change: Change, key: Hashable | None) -> bool:
        if key is None or key != self._held_key:
            self.flush()
        if key is None:
            return self._post(change)
        if not self._held:
            self._held_key = key
            self._timer = asyncio.get_running_loop().call_later(self._window, self.flush)
        self._held.append(change)
        self._held_size += len(change.text) if type(change) is MessageChunk else _FULL // 8
        if self._held_size > _FULL:
            self.flush()
        return all(listener.has_room for listener in self.listeners)

    def flush(self) -> None:
        """Send what waits for the window to end."""
        if not self._held:
            return
        held = self._taken()
        for change in held if type(held[0]) is ToolCallChanged else (joined(held),):
            self._post(change)

    def _taken(self) -> list[Change]:
        """What waits; from now on nothing does."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        held, self._held = self._held, []
        self._held_key, self._held_size = None, 0
        return held

    def _post(self, change: Change) -> bool:
        has_room = True
        for listener in self.listeners:
            has_room = listener.send(change) and has_room
        return has_room

    def echo(self, change: Change, asker: ConnectedClient, *, to_asker: bool) -> None:
        """Tell a prompt to those who did not send it, or to the one who did."""
        self.flush()
        for listener in self.listeners:
            if (listener.client is asker) is to_asker:
                listener.send(change)

    def listener(self, client: ConnectedClient) -> Listener | None:
        """The one of this client, if it listens."""
        return next((listener for listener in self.listeners if listener.client is client), None)

    def attach(self, client: ConnectedClient) -> Listener:
        """Let a client listen from now on, and say when to begin."""
        self.flush()
        listener = Listener(self.id, client)
        self.listeners.append(listener)
        return listener

    def detach(self, client: ConnectedClient) -> None:
        """Tell it nothing more."""
        self.flush()
        self.listeners = [listener for listener in self.listeners if listener.client is not client]

    def stands(
        self,
        state: str,
        stop_reason: str | None = None,
        error: dict[str, Any] | None = None,
        usage: TokenUsage | None = None,
    ) -> None:
        """Report what the session does now, with what goes on beside that."""
        now = State(
            state=state, stop_reason=stop_reason, error=error, background=self.background.listed, token_usage=usage
        )
        self.report(StateReport(state=now))

    def _repeat_state(self) -> None:
        self.stands(self.transcript.state.state)  # without the reason for which it stopped: it did not stop again

    async def commit(self) -> None:
        """Return when all that was reported is safe; before any answer or question leaves."""
        self.flush()
        if self.claim is not None and self._store is not None:
            await self._claimed(self._store.commit(self.claim))
        if self.lost is not None:
            raise copy(self.lost)

    async def renew(self) -> None:
        """Tell the store that the session is still in use."""
        if self.claim is not None and self._store is not None:
            await self._claimed(self._store.renew(self.claim))

    async def is_lost(self) -> bool:
        """Whether another process has it, noticed or not."""
        with suppress(Fenced, StoreFailed):  # what can't be asked now is asked again before anything is kept
            await self.renew()
        return self.lost is not None

    async def _claimed(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except Fenced as fenced:
            self.lose(fenced)
            raise

    async def title(self, title: str | None) -> None:
        """Name the session."""
        await self.tell(InfoPatch(title=title))
        if self._store is not None:
            kept = await self._store.find(self.id)
            if kept is not None and self.claim is not None:
                kept.title, kept.updated_at = title, None
                await self._claimed(self._store.update(self.claim, kept))

    def pause_plans(self, plan_ids: Iterable[str]) -> None:
        """Report what is in progress in these plans as pending: nobody works on it any more."""
        for plan in [self.transcript.plans[id] for id in plan_ids if id in self.transcript.plans]:
            if plan.raw is None and any(entry.status == "in_progress" for entry in plan.entries):
                entries = [
                    replace(entry, status="pending") if entry.status == "in_progress" else entry
                    for entry in plan.entries
                ]
                self.report(PlanReport(plan=replace(plan, entries=entries)))

    def option(self, option_id: str) -> Option | None:
        """An option as it is now."""
        return next((option for option in self.transcript.options if option.id == option_id), None)

    async def set_options(self, options: list[Option]) -> None:
        """Replace the list of options."""
        await self.tell(OptionsReport(options=options))

    def _check_terminal(self, terminal_id: str) -> None:
        clients = [listener.client for listener in self.listeners] if self.asker is None else [self.asker]
        if terminal_id in self.transcript.terminals or not clients:
            return
        if not any(client.has_terminals for client in clients):  # AMB-18
            raise ValueError(
                f"there is no terminal {terminal_id!r}, and the client offers none: report one of your own with TerminalPatch"
            )

    def _mode_ids(self) -> list[str]:
        told = self.transcript.modes
        offered = [option for option in self.transcript.options if option.category == "mode"]
        return [
            *([] if told is None else [mode.id for mode in told.available]),
            *(choice.value for option in offered for choice in option.choices),
        ]

    def _tool_calls(self) -> dict[str, ToolCall]:
        return self.transcript.tool_calls

    def unused_call_id(self) -> str:
        """An id for the next tool call."""
        while (id := _new_id("call")) in self.transcript.tool_calls:
            pass
        return id

    def summary(self) -> SessionSummary:
        """The session as a line of a list."""
        info = self.transcript.info
        return SessionSummary(
            session_id=self.id,
            cwd=str(self.cwd),
            additional_directories=[str(directory) for directory in self.additional_directories],
            title=info.title,
            updated_at=info.updated_at,
        )

    async def release(self) -> None:
        """Free what the session holds; what was told of it stays in the store, for whoever claims it next."""
        self.flush()
        if self.connecting is not None:
            self.connecting.cancel()
            await asyncio.wait([self.connecting])
        if self.servers is not None:
            await self.servers.aclose()
        self.server_log.close()
        claim, self.claim = self.claim, None
        if claim is not None and self._store is not None:
            try:
                await self._store.release(claim)
            except StoreFailed as failed:
                log.warning("the session %s stays claimed until what was said in it is written: %s", self.id, failed)


def _ignore(fenced: Fenced) -> None: ...


def _new_id(kind: str) -> str:
    """An id that no process gives again, whoever else has this session: ids that count would meet in its journal."""
    return f"{kind}-{os.urandom(8).hex()}"
