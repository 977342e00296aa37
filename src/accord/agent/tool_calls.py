"""One tool call while it is under way, as an agent's code holds it.

Its life: pending when it is entered; in progress once it is allowed, or reports something; completed when the block is
left, unless the user's last word was no; failed by an exception; cancelled with the turn.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeAlias

from accord.agent.session import AgentSession
from accord.errors import TurnStopped
from accord.session.content import Content, Text
from accord.session.entities import ContentItem, Diff, FileChange, Location, TerminalItem, ToolCall, ToolCallItem
from accord.session.open_enums import FINAL_STATUSES, ToolKind, ToolStatus
from accord.session.updates import Patch, ToolCallAppend, ToolCallPatch
from accord.session.value import UNSET, Unknown

__all__ = ["AgentToolCall", "BackgroundWork", "ToolCallContent", "file_change", "to_items"]

ToolCallContent: TypeAlias = str | Content | ToolCallItem
"""What a tool call can show: text, a content block, a diff or a terminal."""


def to_items(shown: ToolCallContent | Iterable[ToolCallContent]) -> list[ToolCallItem]:
    """What is shown, as items of a tool call."""
    if isinstance(shown, str):
        return [ContentItem(content=Text(shown))]
    if isinstance(shown, (ContentItem, Diff, TerminalItem, Unknown)):
        return [shown]
    kind: type[object] = type(shown)
    if issubclass(kind, Mapping | bytes):  # they can be iterated over, too
        raise TypeError(f"expected a string or a content block, not {kind.__name__}")
    if isinstance(shown, Iterable):
        return [item for each in shown for item in to_items(each)]
    return [ContentItem(content=shown)]


def file_change(path: str, old_text: str | None, new_text: str | None) -> FileChange:
    """A file before and after; None is a file that is not there."""
    operation = "add" if old_text is None else "delete" if new_text is None else "modify"
    return FileChange(operation=operation, path=path, old_text=old_text, new_text=new_text)


class AgentToolCall:
    """Enter it to announce the call, leave it to give it its final status. ValueError for what must not be told."""

    def __init__(self, session: AgentSession, announcement: ToolCallPatch, on_report: Callable[[], None]) -> None:
        self.id = announcement.id
        self.allowed: bool | None = None
        """The user's last word, None when nobody was asked."""
        self._session = session
        self._announcement = session.validator.patch(announcement)
        self._on_report = on_report
        self._has_failed = False
        self._check_new()

    @property
    def call(self) -> ToolCall:
        """The call as it is now."""
        return self._session.transcript.tool_calls[self.id]

    @property
    def status(self) -> ToolStatus:
        return self.call.status

    async def __aenter__(self) -> Self:
        self._check_new()
        await self._tell(self._announcement)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, TurnStopped):
            self.end("failed" if self._has_failed or self.allowed is False else "completed")
        else:
            self.end("cancelled" if isinstance(error, asyncio.CancelledError) else "failed")

    def end(self, status: ToolStatus, *, raw_output: Any = UNSET, meta: dict[str, Any] | None = None) -> None:
        """Give it its final status, unless it has one; for those who do not use it as a context.

        The client is told with it all that the call shows and gave (FN-114).
        """
        if status not in FINAL_STATUSES:
            raise ValueError(f"invalid final status of a tool call {status!r}: expected {', '.join(FINAL_STATUSES)}")
        if self.call.finished:
            return
        end = ToolCallPatch(id=self.id, status=status, raw_output=raw_output, meta=UNSET if meta is None else meta)
        end = self._session.validator.patch(end)
        if status == "completed" and self.status == "pending":
            self._session.send_nowait(ToolCallPatch(id=self.id, status="in_progress"))  # TOOL-28
        self._session.send_nowait(end)

    def outlives_turn(self) -> None:
        """From now on it may be reported when the turn is over."""
        self._on_report = _nothing

    async def begin(self) -> None:
        """It runs from now on; every report says so by itself."""
        if self.status == "pending":
            await self._tell(ToolCallPatch(id=self.id, status="in_progress"))

    async def show(self, *shown: ToolCallContent) -> None:
        """Add to what the call shows."""
        check = self._session.validator.patch
        for piece in [check(ToolCallAppend(id=self.id, item=item)) for item in to_items(shown)]:
            await self._progress(piece)

    async def say(self, text: str) -> None:
        """Add text to what the call shows."""
        await self.show(text)

    async def replace(self, *shown: ToolCallContent) -> None:
        """Show this and nothing else."""
        await self._progress(self._session.validator.patch(ToolCallPatch(id=self.id, content=to_items(shown))))

    async def diff(self, path: str | os.PathLike[str], new_text: str | None, old_text: str | None = None) -> None:
        """Show a changed file. Without an old text it is a new one, without a new text it is gone."""
        await self.show(Diff(changes=[file_change(self._session.absolute(path), old_text, new_text)]))

    async def terminal(self, terminal_id: str) -> None:
        """Show a terminal."""
        await self.show(TerminalItem(terminal_id=terminal_id))

    async def locate(self, path: str | os.PathLike[str], line: int | None = None) -> None:
        """Add a place that the call works on, so that an editor can follow; lines count from 1."""
        here = Location(path=self._session.absolute(path), line=line)
        patch = ToolCallPatch(id=self.id, locations=[*self.call.locations, here])
        await self._progress(self._session.validator.patch(patch))

    async def update(
        self,
        *,
        title: str | None = None,
        kind: ToolKind | None = None,
        status: ToolStatus | None = None,
        raw_input: Any = UNSET,
        raw_output: Any = UNSET,
    ) -> None:
        """Tell what is known by now; what is raw is the tool's own, a JSON object. A final status stays what it is."""
        patch = ToolCallPatch(id=self.id, raw_input=raw_input, raw_output=raw_output)
        patch.title = UNSET if title is None else title
        patch.kind = UNSET if kind is None else kind
        patch.status = UNSET if status is None else status
        await self._progress(self._session.validator.patch(patch))

    async def fail(self, reason: str | None = None) -> None:
        """It has failed, though nothing is raised; the block may go on."""
        self._has_failed = True
        if reason is not None:
            await self.show(reason)

    def asked(self) -> ToolCallPatch:
        """All that is known of the call, for a question about it (FN-78)."""
        call = self.call
        return ToolCallPatch(
            id=call.id,
            title=UNSET if call.title is None else call.title,
            name=UNSET if call.name is None else call.name,
            kind=call.kind,
            status=call.status,
            content=list(call.content) or UNSET,
            locations=call.locations or UNSET,
            raw_input=UNSET if call.raw_input is None else call.raw_input,
        )

    def _check_new(self) -> None:
        if self.id in self._session.transcript.tool_calls:  # TOOL-04
            raise ValueError(f"duplicate tool call {self.id!r}: each call of a session needs an id of its own")

    async def _progress(self, report: Patch) -> None:
        if self.status == "pending":
            await self.begin()
        await self._tell(report)

    async def _tell(self, report: Patch) -> None:
        self._on_report()
        if not self._session.post(report):
            await self._session.drain()


def _nothing() -> None: ...


BackgroundWork: TypeAlias = Callable[[AgentToolCall], Awaitable[None]]
"""What is done about a tool call, however many turns that takes."""
