"""A tool call that an agent reports, as the author's code holds it.

Its status: pending when it is entered; in progress once it is allowed or sends an update; completed when the block is left,
or failed when the user's last answer was no; failed by an exception; cancelled with the turn.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import NoneType, TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

import msgspec

from accord.agent.session import Publisher
from accord.errors import TurnStopped
from accord.peer.required_await import refuse_syntax
from accord.session.content import Content, Text
from accord.session.entities import ContentItem, Diff, FileChange, Location, TerminalItem, ToolCall, ToolCallItem
from accord.session.open_enums import FINAL_STATUSES, ToolKind, ToolStatus
from accord.session.type_checks import check_type
from accord.session.updates import Patch, ToolCallAppend, ToolCallPatch
from accord.session.value import UNSET, Unknown

FilePath: TypeAlias = str | os.PathLike[str]

ToolCallContent: TypeAlias = str | Content | ToolCallItem
"""What a tool call can display: text, a content block, a diff or a terminal."""


def to_items(content: ToolCallContent | Iterable[ToolCallContent]) -> list[ToolCallItem]:
    """Content as items of a tool call."""
    if isinstance(content, str):
        return [ContentItem(content=Text(content))]
    if isinstance(content, (ContentItem, Diff, TerminalItem, Unknown)):
        return [content]
    kind: type[object] = type(content)
    if issubclass(kind, Mapping | bytes):  # they are iterable, too
        raise TypeError(f"expected a string or a content block, not {kind.__name__}")
    if isinstance(content, Iterable):
        return [item for each in content for item in to_items(each)]
    return [ContentItem(content=content)]


def file_diff(path: FilePath, old_text: str | None, new_text: str | None) -> Diff:
    """The change of one file. `old_text` None: the file is created; `new_text` None: it is deleted."""
    if old_text is None and new_text is None:
        raise ValueError("a diff needs an old text, a new text, or both")
    for text in (old_text, new_text):
        check_type(text, (str, NoneType), "the text of a diff as a string, or None")
    operation = "add" if old_text is None else "delete" if new_text is None else "modify"
    return Diff([FileChange(operation=operation, path=os.fspath(path), old_text=old_text, new_text=new_text)])


def to_diff(diff: Diff | tuple[FilePath, str | None, str | None]) -> Diff:
    """A diff from a path, the old and the new text; TypeError for anything else."""
    if isinstance(diff, Diff):
        return diff
    parts: Any = diff
    if not isinstance(parts, tuple | list) or len(cast("list[Any]", parts)) != 3:
        raise TypeError("expected a diff as (path, old_text, new_text), with None for a text that does not exist")
    return file_diff(*diff)


def to_location(location: FilePath | Location) -> Location:
    """A location of a tool call; a path is one without a line."""
    return location if isinstance(location, Location) else Location(path=os.fspath(location))


class AgentToolCall:
    """Enter it to announce the call, leave it to end the call. ValueError for values that are not valid."""

    def __init__(self, publisher: Publisher, announcement: ToolCallPatch, on_send: Callable[[str], None]) -> None:
        self.id = announcement.id
        """The id of the call, unique in its session."""
        self.allowed: bool | None = None
        """The user's last answer to a permission request; None when there was no request."""
        self._publisher = publisher
        self._announcement = publisher.validator.patch(announcement)
        self._on_send = on_send
        self._has_failed = False
        self._is_entered = False
        self._check_new()

    @property
    def call(self) -> ToolCall:
        """The call as it is now, with its content."""
        try:
            return self._publisher.transcript.tool_calls[self.id]
        except KeyError:
            raise RuntimeError(
                "this tool call has not begun: write `async with turn.tool_call(...) as call:`"
            ) from None

    @property
    def status(self) -> ToolStatus:
        """The status of the call as it is now."""
        return self.call.status

    if not TYPE_CHECKING:  # a type checker reports it without help
        __enter__ = __exit__ = __await__ = refuse_syntax(
            "a tool call begins and ends with a block: write `async with turn.tool_call(...) as call:`"
        )

    async def __aenter__(self) -> Self:
        if self._is_entered:
            raise ValueError("this tool call has begun before: make another one with turn.tool_call(...)")
        self._check_new()
        self._is_entered = True
        await self._send(self._announcement)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, TurnStopped):
            self.end("failed" if self._has_failed or self.allowed is False else "completed")
        else:
            self.end("cancelled" if isinstance(error, asyncio.CancelledError) else "failed")

    def end(self, status: ToolStatus, *, raw_output: Any = UNSET, meta: dict[str, Any] | None = None) -> None:
        """End the call with a final status, unless it has ended; for code that does not use it as a context manager.

        The update carries all content and output of the call (FN-114).
        """
        if status not in FINAL_STATUSES:
            raise ValueError(f"invalid final status of a tool call {status!r}: expected {', '.join(FINAL_STATUSES)}")
        if self.call.finished:
            return
        end = ToolCallPatch(id=self.id, status=status, raw_output=raw_output, meta=UNSET if meta is None else meta)
        end = self._publisher.validator.patch(end)
        if status == "completed" and self.status == "pending":
            self._publisher.send_nowait(ToolCallPatch(id=self.id, status="in_progress"))  # TOOL-28
        self._publisher.send_nowait(end)

    async def begin(self) -> None:
        """Set the status to in progress; every update does so by itself."""
        if self.status == "pending":
            await self._send(ToolCallPatch(id=self.id, status="in_progress"))

    async def show(self, *content: ToolCallContent) -> None:
        """Add content: text, blocks, diffs or terminals."""
        validate = self._publisher.validator.patch
        for patch in [validate(ToolCallAppend(id=self.id, item=item)) for item in to_items(content)]:
            await self._progress(patch)

    async def say(self, text: str) -> None:
        """Add text to the content."""
        await self.show(text)

    async def replace(self, *content: ToolCallContent) -> None:
        """Replace all content."""
        await self._progress(self._publisher.validator.patch(ToolCallPatch(id=self.id, content=to_items(content))))

    async def diff(self, path: FilePath, old_text: str | None, new_text: str | None) -> None:
        """Add the change of a file. `old_text` None: the file is created; `new_text` None: it is deleted."""
        await self.show(file_diff(path, old_text, new_text))

    async def terminal(self, terminal_id: str) -> None:
        """Add a terminal: one that you report, or one of a client that has terminals."""
        await self.show(TerminalItem(terminal_id=terminal_id))

    async def locate(self, path: FilePath, line: int | None = None) -> None:
        """Add a file that the call works on, so that an editor can follow; lines count from 1."""
        location = Location(path=os.fspath(path), line=line)
        patch = ToolCallPatch(id=self.id, locations=[*self.call.locations, location])
        await self._progress(self._publisher.validator.patch(patch))

    async def update(
        self,
        *,
        title: str | None = None,
        kind: ToolKind | None = None,
        status: ToolStatus | None = None,
        locations: Iterable[FilePath | Location] | None = None,
        raw_input: Any = UNSET,
        raw_output: Any = UNSET,
    ) -> None:
        """Change fields of the call. Raw input and output are JSON objects of the tool's own. A final status stays.

        `locations` replaces all of them.
        """
        patch = ToolCallPatch(
            id=self.id,
            title=UNSET if title is None else title,
            kind=UNSET if kind is None else kind,
            status=UNSET if status is None else status,
            locations=UNSET if locations is None else [to_location(location) for location in locations],
            raw_input=raw_input,
            raw_output=raw_output,
        )
        await self._progress(self._publisher.validator.patch(patch))

    async def fail(self, reason: str | None = None) -> None:
        """Mark the call as failed without raising; it fails when the block is left."""
        self._has_failed = True
        if reason is not None:
            await self.show(reason)

    def _check_new(self) -> None:
        if self.id in self._publisher.transcript.tool_calls:  # TOOL-04
            raise ValueError(f"duplicate tool call {self.id!r}: each call of a session needs an id of its own")

    async def _progress(self, patch: Patch) -> None:
        if self.status == "pending":
            await self.begin()
        await self._send(patch)

    async def _send(self, patch: Patch) -> None:
        self._on_send(self.id)
        if not self._publisher.post(patch):
            await self._publisher.drain()


BackgroundWork: TypeAlias = Callable[[AgentToolCall], Awaitable[None]]
"""The work behind a tool call that outlives its turn."""


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended, and its output; past the limit, the end of the output."""

    output: str
    code: int | None = None
    signal: str | None = None
    is_truncated: bool = False
    is_timed_out: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself, with the exit code 0."""
        return self.code == 0 and not self.is_timed_out
