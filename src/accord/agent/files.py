"""Text files as the user has them: through the client where it offers that, on the disk otherwise.

The client knows what is unsaved in the editor; the disk knows what is true when the client does not (FN-71). On the disk
nothing is read or written outside the session's directories, wherever links may lead (FN-42). What the client refuses is
not taken from the disk behind its back (FN-112): only what it says is missing, or has no method for, is looked for there.
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
from accord.agent.session import AgentSession
from accord.errors import Denied, InternalError, Malformed, MethodNotFound, NotFound, RequestFailed
from accord.local.files import count_lines, read_lines, replace_file, select_lines
from accord.local.paths import file_kind
from accord.local.threads import in_thread
from accord.session.requests import ReadFile, WriteFile

__all__ = ["ClientFiles"]

_MOST = 16 * 1024 * 1024
_DENIED = re.compile(r"denied|forbidden|not (?:allowed|permitted)|EACCES|EPERM", re.IGNORECASE)

T = TypeVar("T")


class ClientFiles:
    """Paths that are not absolute count from the session's directory. What can't be done is an OSError that says why:
    FileNotFoundError for what is missing, PermissionError for what is outside or denied.
    """

    def __init__(self, session: AgentSession, client: AgentConnection) -> None:
        self._session = session
        self._client = client

    async def read(self, path: str | os.PathLike[str], line: int | None = None, limit: int | None = None) -> str:
        """The text, or `limit` lines of it from `line` on, counted from 1."""
        place = str(self._session.cwd / Path(path))
        asked = ReadFile(session_id=self._session.id, path=place, line=line, limit=limit)
        self._session.validator.request(asked)
        if not self._offered(self._client.capabilities.read_files):
            return await self._on_disk(place, partial(self._read, place, line, limit))
        try:
            text: str = (await self._client.ask(asked)).content
        except (NotFound, MethodNotFound) as error:
            known = await self._known(place, line, limit)
            if known is None:
                raise FileNotFoundError(errno.ENOENT, error.message, place) from error
            return known
        except (RequestFailed, Malformed) as error:
            says_little = isinstance(error, InternalError | Malformed)  # some have no other word for missing
            if says_little and await self._is_missing(place):
                raise FileNotFoundError(errno.ENOENT, _reason(error), place) from error
            raise _as_os_error(error, place) from error
        return await self._checked(text, place, line, limit)

    async def write(self, path: str | os.PathLike[str], text: str) -> None:
        """Write the whole file in one step, creating it and its directories if need be."""
        place = str(self._session.cwd / Path(path))
        asked = WriteFile(session_id=self._session.id, path=place, content=text)
        self._session.validator.request(asked)
        if self._offered(self._client.capabilities.write_files):
            try:
                await self._client.ask(asked)
            except Malformed as error:
                if await self._known(place, None, None) != text:
                    raise _as_os_error(error, place) from error
                return
            except RequestFailed as error:
                raise _as_os_error(error, place) from error
            if await self._has_arrived(place, text):
                return
        await self._on_disk(place, partial(self._write, place, text))

    async def _checked(self, text: str, place: str, line: int | None, limit: int | None) -> str:
        """What the client said, unless the disk or the lines that were asked for show that it can't be."""
        if not text:
            if await self._is_missing(place):
                raise FileNotFoundError(errno.ENOENT, "there is no such file", place)
            return text if limit == 0 else await self._known(place, line, limit) or text
        if not text.endswith("\n"):
            text = await self._ended(text, place, line, limit)
        whole = await self._known(place, None, None) if line is not None and line > 1 else None
        has_too_many = limit is not None and count_lines(text) > limit
        if not has_too_many and (whole is None or text != whole):
            return text
        begins_there = whole is not None and text == select_lines(whole, line, None)
        return select_lines(text, None if begins_there else line, limit)

    async def _ended(self, text: str, place: str, line: int | None, limit: int | None) -> str:
        """The text with the line break at its end that the disk has, and that some clients lose (FN-113)."""
        known = await self._known(place, line, limit) or ""
        end = "\r\n" if known.endswith("\r\n") else "\n" if known.endswith("\n") else ""
        # A part that was changed and not saved may end anywhere.
        return text + end if limit is None or text + end == known else text

    async def _has_arrived(self, place: str, text: str) -> bool:
        # A client whose disk is not ours, or that keeps the text unsaved, has it all the same.
        # One that can't be asked is taken at its word: to write behind it could undo what the user does meanwhile.
        if not self._offered(self._client.capabilities.read_files):
            return True
        if not await self._is_on_disk() or await self._known(place, None, None) == text:
            return True
        try:
            return (await self._client.ask(ReadFile(session_id=self._session.id, path=place))).content == text
        except (RequestFailed, Malformed):
            return False

    async def _is_on_disk(self) -> bool:
        return await in_thread(lambda: file_kind(self._session.cwd)) == "directory"

    async def _is_missing(self, place: str) -> bool:
        """Whether our disk is the client's, as far as we can see, and there is no such file."""
        if not await self._is_on_disk():
            return False
        try:
            await self._on_disk(place, partial(self._read, place, None, 0))
        except FileNotFoundError:
            return True
        except OSError:
            return False
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
        return read_lines(self._session.roots.resolve(place, "fs.read"), line, limit, _MOST)

    def _write(self, place: str, text: str) -> None:
        replace_file(self._session.roots.resolve(place, "fs.write"), text.encode())

    def _offered(self, capability: bool) -> bool:
        return capability and self._client.dialect.has_client_resources


def _as_os_error(error: RequestFailed | Malformed, place: str) -> OSError:
    reason = _reason(error)
    if isinstance(error, NotFound):
        return FileNotFoundError(errno.ENOENT, reason, place)
    if isinstance(error, Denied) or _DENIED.search(reason):
        return PermissionError(errno.EACCES, reason, place)
    return OSError(errno.EIO, reason, place)


def _reason(error: RequestFailed | Malformed) -> str:
    """Why, in the words of whoever refused: the message, and what `data` says beyond it (FN-112)."""
    if isinstance(error, Malformed):
        return f"the client's answer can't be read: {error.path}: {error.reason}"
    if isinstance(error, Denied):
        return error.scope or error.message
    return error.full_message()
