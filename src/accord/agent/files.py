"""Text files as the user has them: through the client where it offers that, on the disk otherwise.

The client knows what is unsaved in the editor; the disk knows what is true when the client does not (FN-71). On the disk
nothing is read or written outside the session's directories, wherever links may lead (FN-42).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from accord.agent.connected_client import ConnectedClient
from accord.agent.sessions import Session
from accord.errors import Denied, NotFound, RequestFailed
from accord.local.blocking import in_thread
from accord.local.disk import read_part, replace
from accord.local.lines import count, part_of
from accord.session.requests import ReadFile, WriteFile

__all__ = ["Files"]

_MOST = 16 * 1024 * 1024

T = TypeVar("T")


class Files:
    """Paths that are not absolute count from the session's directory. What can't be done is an OSError that says why:
    FileNotFoundError for what is missing, PermissionError for what is outside or denied.
    """

    def __init__(self, session: Session, client: ConnectedClient) -> None:
        self._session = session
        self._client = client

    async def read(self, path: str | os.PathLike[str], line: int | None = None, limit: int | None = None) -> str:
        """The text, or `limit` lines of it from `line` on, counted from 1."""
        if (line is not None and line < 1) or (limit is not None and limit < 0):
            raise ValueError(f"lines count from 1, and there are none or more; not line={line}, limit={limit}")
        place = str(self._session.cwd / Path(path))
        if not self._offered(self._client.capabilities.read_files):
            return await self._on_disk(place, partial(self._read, place, line, limit))
        asked = ReadFile(session_id=self._session.id, path=place, line=line, limit=limit)
        try:
            text: str = (await self._client.ask(asked)).content
        except Denied as error:
            raise _as_os_error(error, place) from error
        except RequestFailed as error:
            known = await self._known(place, line, limit)
            if known is None:
                raise FileNotFoundError(errno.ENOENT, error.message, place) from error
            return known
        return await self._checked(text, place, line, limit)

    async def write(self, path: str | os.PathLike[str], text: str) -> None:
        """Write the whole file in one step, creating it and its directories if need be."""
        place = str(self._session.cwd / Path(path))
        if self._offered(self._client.capabilities.write_files):
            try:
                await self._client.ask(WriteFile(session_id=self._session.id, path=place, content=text))
            except RequestFailed as error:
                raise _as_os_error(error, place) from error
            if await self._has_arrived(place, text):
                return
        await self._on_disk(place, partial(self._write, place, text))

    async def _checked(self, text: str, place: str, line: int | None, limit: int | None) -> str:
        """What the client said, unless the disk or the lines that were asked for show that it can't be."""
        if not text and limit != 0:
            return await self._known(place, line, limit) or text
        whole = await self._known(place, None, None) if line is not None and line > 1 else None
        has_too_many = limit is not None and count(text) > limit
        if not has_too_many and (whole is None or text != whole):
            return text
        begins_there = whole is not None and text == part_of(whole, line, None)
        return part_of(text, None if begins_there else line, limit)

    async def _has_arrived(self, place: str, text: str) -> bool:
        # A client whose disk is not ours, or that keeps the text unsaved, has it all the same.
        if not await in_thread(self._session.cwd.is_dir) or await self._known(place, None, None) == text:
            return True
        if not self._offered(self._client.capabilities.read_files):
            return False
        try:
            return (await self._client.ask(ReadFile(session_id=self._session.id, path=place))).content == text
        except RequestFailed:
            return False

    async def _known(self, place: str, line: int | None, limit: int | None) -> str | None:
        """What the disk has, None when it has no such file, or none that we may look at."""
        try:
            return await self._on_disk(place, partial(self._read, place, line, limit))
        except OSError:
            return None

    async def _on_disk(self, place: str, call: Callable[[], T]) -> T:
        try:
            return await in_thread(call)
        except RequestFailed as error:
            raise _as_os_error(error, place) from error

    def _read(self, place: str, line: int | None, limit: int | None) -> str:
        return read_part(self._session.roots.place(place, "fs.read"), line, limit, _MOST)

    def _write(self, place: str, text: str) -> None:
        replace(self._session.roots.place(place, "fs.write"), text.encode())

    def _offered(self, capability: bool) -> bool:
        return capability and self._client.dialect.has_client_resources


def _as_os_error(error: RequestFailed, place: str) -> OSError:
    if isinstance(error, NotFound):
        return FileNotFoundError(errno.ENOENT, error.message, place)
    if isinstance(error, Denied):
        return PermissionError(errno.EACCES, error.scope or error.message, place)
    return OSError(errno.EIO, error.message, place)
