"""A live session: its transcript, and the one way by which anything in it is told.

Law: a report is applied to the transcript, then written down, then sent; in that order, and nothing overtakes it. Text
that follows text within a short window is sent as one chunk (FN-80); whatever else is told lets it go first.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord.agent.connected_client import ConnectedClient
from accord.session.entities import Option
from accord.session.merging import joined, joins
from accord.session.requests import SessionSummary
from accord.session.transcript import Transcript
from accord.session.updates import (
    Change,
    CommandsReport,
    InfoPatch,
    MessageChanged,
    MessageChunk,
    NoticeReport,
    OptionsReport,
    Report,
    StateReport,
)

if TYPE_CHECKING:
    from accord.agent.mcp import ServerConnections
    from accord.store.interface import Store

__all__ = ["Session"]

_FULL = 4096  # characters that wait at most
_BREATH = 64  # reports between two yields, so that a handler which only talks can be cancelled
_PASSING = (StateReport, NoticeReport, CommandsReport)  # true only while it is told


class Session:
    """`state` is the author's own place for what belongs to the session; it lives as long as the session is open."""

    def __init__(
        self,
        kept: SessionSummary,
        client: ConnectedClient,
        store: Store | None = None,
        merge_seconds: float = 0.0,
    ) -> None:
        self.id = kept.session_id
        self.cwd = Path(kept.cwd)
        self.additional_directories = [Path(directory) for directory in kept.additional_directories]
        self.client = client
        self.transcript = Transcript()
        self.state: dict[str, Any] = {}
        self.remembered: dict[str, bool] = {}
        """The user's always-choices, by what they are about."""
        self.servers: ServerConnections | None = None
        """The MCP servers that the client named, None when it named none."""
        self.connecting: asyncio.Task[Any] | None = None
        self._store = store
        self._window = merge_seconds
        self._held: list[Change] = []
        self._held_key: Any = None
        self._held_size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._breath = 0
        self._calls = 0

    @property
    def options(self) -> dict[str, str | bool | None]:
        """The value of each option, the mode's included."""
        return {option.id: option.value for option in self.transcript.options}

    async def tell(self, report: Report) -> None:
        """Report something; returns when there is room for the next report."""
        self._breath += 1
        if self._breath >= _BREATH:
            self._breath = 0
            await asyncio.sleep(0)
        client = self.client
        change = self._applied(report)
        if self._window:
            self.send(change)
            await client.peer.drain()
            return
        for params in client.dialect.update_to_wire(self.id, change):
            await client.peer.notify("session/update", params)

    def report(self, report: Report, *, told: bool = True) -> Change:
        """As `tell`, without waiting for room; for callbacks and for the end of things."""
        change = self._applied(report)
        if told:
            self.send(change)
        return change

    def _applied(self, report: Report) -> Change:
        change = self.transcript.apply(report)
        kind = type(change)
        if kind is MessageChunk or kind is MessageChanged:
            message_change: Any = change
            if message_change.patch.id is None:
                message_change.patch.id = message_change.message.id  # a journal must not depend on where turns began
        if self._store is not None and type(report) not in _PASSING:
            self._store.append(self.id, (report,))
        return change

    def send(self, change: Change) -> None:
        """Send what was applied, or hold it for the window; nothing when nobody is there any more."""
        if not self._window:
            self._post(change)
            return
        key = joins(change)
        if key is None or key != self._held_key:
            self.flush()
        if key is None:
            self._post(change)
            return
        if not self._held:
            self._held_key = key
            self._timer = asyncio.get_running_loop().call_later(self._window, self.flush)
        self._held.append(change)
        self._held_size += len(change.text) if type(change) is MessageChunk else _FULL // 8
        if self._held_size > _FULL:
            self.flush()

    def flush(self) -> None:
        """Send what waits for the window to end."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held:
            held, self._held = self._held, []
            self._held_key, self._held_size = None, 0
            self._post(joined(held))

    def _post(self, change: Change) -> None:
        peer = self.client.peer
        if peer.is_open:
            for params in self.client.dialect.update_to_wire(self.id, change):
                peer.post("session/update", params)

    async def commit(self) -> None:
        """Return when all that was reported is safe; before any answer or question leaves."""
        self.flush()
        if self._store is not None:
            await self._store.commit()

    async def title(self, title: str | None) -> None:
        """Name the session."""
        await self.tell(InfoPatch(title=title))
        if self._store is not None:
            kept = await self._store.find(self.id)
            if kept is not None:
                kept.title, kept.updated_at = title, None
                await self._store.update(kept)

    def option(self, option_id: str) -> Option | None:
        """An option as it is now."""
        return next((option for option in self.transcript.options if option.id == option_id), None)

    async def set_options(self, options: list[Option]) -> None:
        """Replace the list of options."""
        await self.tell(OptionsReport(options=options))

    def unused_call_id(self) -> str:
        """An id for the next tool call."""
        calls = self.transcript.tool_calls
        self._calls = max(self._calls, len(calls)) + 1
        while f"call-{self._calls}" in calls:
            self._calls += 1
        return f"call-{self._calls}"

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
        """Free what the session holds; what was told of it stays in the store."""
        self.flush()
        if self.connecting is not None:
            self.connecting.cancel()
            await asyncio.wait([self.connecting])
        if self.servers is not None:
            await self.servers.aclose()
