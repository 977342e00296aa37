"""Text files of a turn: through the client where it offers that, on the disk otherwise.

The client knows the unsaved text of the editor; the disk is right where the client is wrong (FN-71). On the disk nothing is
read or written outside the session's directories, wherever links may lead (FN-42). A file that the client refuses is not
read from the disk instead (FN-112): only a file that the client can't find, or has no method for, is looked up there.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from accord.agent.connection import AgentConnection
from accord.agent.session import AgentSession, Publisher
from accord.errors import Denied, InternalError, Malformed, MethodNotFound, NotFound, RequestFailed
from accord.local.files import count_lines, read_lines, replace_file, select_lines
from accord.local.paths import file_kind
from accord.local.threads import in_thread
from accord.peer.required_await import requires_await
from accord.session.requests import ReadFile, WriteFile
from accord.session.type_checks import check_type

_MAX_BYTES = 16 * 1024 * 1024
_DENIED = re.compile(r"denied|forbidden|not (?:allowed|permitted)|EACCES|EPERM", re.IGNORECASE)

T = TypeVar("T")


class ClientFiles:
    """Relative paths are relative to the session's directory. Errors are OSErrors that say why: FileNotFoundError for a
    missing file, PermissionError for one that is denied or outside the session's directories.
    """

    def __init__(self, session: AgentSession, publisher: Publisher, client: AgentConnection) -> None:
        self._session = session
        self._validator = publisher.validator
        self._client = client

    @requires_await("turn.files.read")
    async def read(self, path: str | os.PathLike[str], line: int | None = None, limit: int | None = None) -> str:
        """Read a text file, or `limit` lines of it from `line` on, counted from 1."""
        place = str(self._session.cwd / Path(path))
        request = ReadFile(session_id=self._session.id, path=place, line=line, limit=limit)
        self._validator.request(request)
        if not self._client.capabilities.read_files:
            return await self._in_thread(place, partial(self._read, place, line, limit))
        try:
            text: str = (await self._client.request(request)).content
        except (NotFound, MethodNotFound) as error:
            on_disk = await self._disk_text(place, line, limit)
            if on_disk is None:
                raise FileNotFoundError(errno.ENOENT, error.message, place) from error
            return on_disk
        except (RequestFailed, Malformed) as error:
            is_vague = isinstance(error, InternalError | Malformed)  # some clients say no more of a missing file
            if is_vague and await self._is_missing(place):
                raise FileNotFoundError(errno.ENOENT, _reason(error), place) from error
            raise _to_os_error(error, place) from error
        return await self._correct(text, place, line, limit)

    async def write(self, path: str | os.PathLike[str], text: str) -> None:
        """Replace a text file in one step; it and its directories are created if they do not exist."""
        place = str(self._session.cwd / Path(path))
        check_type(text, str, "the text of a file as a string")
        request = WriteFile(session_id=self._session.id, path=place, content=text)
        self._validator.request(request)
        if self._client.capabilities.write_files:
            try:
                await self._client.request(request)
            except Malformed as error:
                if await self._disk_text(place) != text:
                    raise _to_os_error(error, place) from error
                return
            except RequestFailed as error:
                raise _to_os_error(error, place) from error
            if await self._is_written(place, text):
                return
        await self._in_thread(place, partial(self._write, place, text))

    async def _correct(self, text: str, place: str, line: int | None, limit: int | None) -> str:
        """The client's text, corrected where the disk or the requested lines show that it is wrong."""
        if not text:
            if await self._is_missing(place):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place)
            return text if limit == 0 else await self._disk_text(place, line, limit) or text
        if not text.endswith("\n"):
            text = await self._with_line_break(text, place, line, limit)
        whole = await self._disk_text(place) if line is not None and line > 1 else None
        has_too_many = limit is not None and count_lines(text) > limit
        if not has_too_many and (whole is None or text != whole):
            return text
        starts_at_line = whole is not None and text == select_lines(whole, line, None)
        return select_lines(text, None if starts_at_line else line, limit)

    async def _with_line_break(self, text: str, place: str, line: int | None, limit: int | None) -> str:
        """The text with the line break at its end that the disk has, and that some clients drop (FN-113)."""
        on_disk = await self._disk_text(place, line, limit) or ""
        end = "\r\n" if on_disk.endswith("\r\n") else "\n" if on_disk.endswith("\n") else ""
        # Some lines of an unsaved text may end anywhere.
        return text + end if limit is None or text + end == on_disk else text

    async def _is_written(self, place: str, text: str) -> bool:
        # A client on another machine, or with an unsaved editor, has the text even if our disk does not.
        # A client that can't be asked is believed: writing as well could undo what the user does meanwhile.
        if not self._client.capabilities.read_files:
            return True
        if not await self._has_directory() or await self._disk_text(place) == text:
            return True
        try:
            return (await self._client.request(ReadFile(session_id=self._session.id, path=place))).content == text
        except (RequestFailed, Malformed):
            return False

    async def _has_directory(self) -> bool:
        return await in_thread(lambda: file_kind(self._session.cwd)) == "directory"

    async def _is_missing(self, place: str) -> bool:
        """Whether our disk seems to be the client's, and has no such file."""
        if not await self._has_directory():
            return False
        try:
            await self._in_thread(place, partial(self._read, place, None, 0))
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return False

    async def _disk_text(self, place: str, line: int | None = None, limit: int | None = None) -> str | None:
        """The text on the disk; None when there is no such file, or we may not read it."""
        try:
            return await self._in_thread(place, partial(self._read, place, line, limit))
        except OSError:
            return None

    async def _in_thread(self, place: str, call: Callable[[], T]) -> T:
        try:
            return await in_thread(call)
        except RequestFailed as error:
            raise _to_os_error(error, place) from error

    def _read(self, place: str, line: int | None, limit: int | None) -> str:
        return read_lines(self._session.roots.resolve(place, "fs.read"), line, limit, _MAX_BYTES)

    def _write(self, place: str, text: str) -> None:
        replace_file(self._session.roots.resolve(place, "fs.write"), text.encode())


def _to_os_error(error: RequestFailed | Malformed, place: str) -> OSError:
    reason = _reason(error).removesuffix(f": {place}")  # the exception names it
    reason = re.sub(rf"^Can't (?:read|write) {re.escape(place)}: ", "", reason)
    if isinstance(error, NotFound):
        is_default = reason.startswith("Resource not found: ")
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT) if is_default else reason, place)
    if isinstance(error, Denied) or _DENIED.search(reason):
        return PermissionError(errno.EACCES, reason, place)
    return OSError(errno.EIO, reason, place)


def _reason(error: RequestFailed | Malformed) -> str:
    """The peer's message, and what `data` says beyond it (FN-112)."""
    if isinstance(error, Malformed):
        return f"the client's response is malformed: {error.path}: {error.reason}"
    if isinstance(error, Denied):
        return error.scope or error.message
    return error.full_message()
