"""Text files as an agent reads and writes them: unsaved changes included, never half written."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable
from contextlib import suppress
from functools import partial
from typing import Literal, Protocol, TypeAlias, TypeVar, cast
from weakref import WeakValueDictionary

from accord.errors import NotFound, RequestFailed
from accord.local.files import read_lines, replace_file, select_lines
from accord.local.paths import ResolvedPath, Roots
from accord.local.threads import in_thread
from accord.session.requests import FileContent, ReadFile, WriteFile

MissingFile: TypeAlias = Literal["error", "empty"]
T = TypeVar("T")


class Buffers(Protocol):
    """What an editor has open. Its methods may be plain or async; they are called in the event loop.

    A path is tried as the agent wrote it and, if that is another one, without links.
    """

    def read(self, path: str) -> str | None | Awaitable[str | None]:
        """The text as the user sees it, or None when the file is not open."""
        ...

    def write(self, path: str, text: str) -> bool | Awaitable[bool]:
        """True when the text has been taken over and the disk is the editor's affair, False when it is ours."""
        ...


class WorkspaceFiles:
    """Reads and writes in one file happen in the order they were asked for; so do all steps of each."""

    def __init__(self, buffers: Buffers | None, missing_file: MissingFile, limit: int) -> None:
        self._buffers = buffers
        self.missing_file: MissingFile = missing_file
        self._limit = limit
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def read(self, roots: Roots, request: ReadFile) -> FileContent:
        """The lines asked for, exactly as they are. Past the end there is nothing. FS-06, FS-07, AMB-47"""
        async with self._in_order(request.path):
            place = await in_thread(partial(roots.resolve, request.path, "fs.read"))
            text = await self._from_buffer(place)
            if text is not None:
                lines = select_lines(text, request.line, request.limit, request.path, self._limit)
                return FileContent(content=lines)
            try:
                lines = await in_thread(partial(read_lines, place, request.line, request.limit, self._limit))
            except NotFound:
                if self.missing_file == "error":
                    raise
                lines = ""  # FN-95
            return FileContent(content=lines)

    async def real_path(self, roots: Roots, request: WriteFile) -> str:
        """The file that would be written, with all links followed."""
        return str((await in_thread(partial(roots.resolve, request.path, "fs.write"))).real)

    async def old_text(self, roots: Roots, request: WriteFile) -> str | None:
        """The text that a write would replace; None if there is none, or none that can be shown."""
        return await self._text(await in_thread(partial(roots.resolve, request.path, "fs.write")))

    async def write(self, roots: Roots, request: WriteFile, *, returns_old_text: bool = False) -> str | None:
        """Either all of it is there afterwards, or what was there before. FS-13. With `returns_old_text`, that text."""
        async with self._in_order(request.path):
            place = await in_thread(partial(roots.resolve, request.path, "fs.write"))
            before = await self._text(place) if returns_old_text else None
            if not await self._to_buffer(place, request.content):
                await in_thread(partial(replace_file, place, request.content.encode()))
        return before

    async def _text(self, place: ResolvedPath) -> str | None:
        text = await self._from_buffer(place)
        if text is None:
            with suppress(RequestFailed):
                text = await in_thread(partial(read_lines, place, None, None, self._limit))
        return text

    def _in_order(self, path: str) -> asyncio.Lock:
        return self._locks.setdefault(path, asyncio.Lock())

    async def _from_buffer(self, place: ResolvedPath) -> str | None:
        if self._buffers is not None:
            for path in _spellings(place):
                text = await _awaited(self._buffers.read(path))
                if text is not None:
                    return text
        return None

    async def _to_buffer(self, place: ResolvedPath, text: str) -> bool:
        if self._buffers is not None:
            for path in _spellings(place):
                if await _awaited(self._buffers.write(path, text)):
                    return True
        return False


def _spellings(place: ResolvedPath) -> list[str]:
    return list(dict.fromkeys((place.path, str(place.real))))


async def _awaited(answer: T | Awaitable[T]) -> T:
    return await cast("Awaitable[T]", answer) if inspect.isawaitable(answer) else cast("T", answer)
