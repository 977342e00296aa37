"""Text files as the user has them: through the client where it offers that, on the disk otherwise.

The client knows what is unsaved in the editor; the disk knows what is true when the client does not (FN-71).
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from accord.agent.connected_client import ConnectedClient
from accord.agent.sessions import Session
from accord.errors import RequestFailed
from accord.session.requests import ReadFile, WriteFile

__all__ = ["Files"]


class Files:
    """Paths that are not absolute count from the session's directory. A missing file is FileNotFoundError."""

    def __init__(self, session: Session, client: ConnectedClient) -> None:
        self._session = session
        self._client = client

    async def read(self, path: str | os.PathLike[str], line: int | None = None, limit: int | None = None) -> str:
        """The text, or `limit` lines of it from `line` on, counted from 1."""
        place = self._session.cwd / Path(path)
        if not self._offered(self._client.capabilities.read_files):
            return _part(await asyncio.to_thread(_read, place), line, limit)
        asked = ReadFile(session_id=self._session.id, path=str(place), line=line, limit=limit)
        try:
            text: str = (await self._client.ask(asked)).content
        except RequestFailed as error:
            if not await asyncio.to_thread(place.is_file):
                raise FileNotFoundError(f"{place}: {error.message}") from error
            return _part(await asyncio.to_thread(_read, place), line, limit)
        if not text and await asyncio.to_thread(_holds_text, place):
            text = await asyncio.to_thread(_read, place)
            return _part(text, line, limit)
        if limit is not None and len(text.splitlines()) > limit:
            return _part(text, line, limit)
        return text

    async def write(self, path: str | os.PathLike[str], text: str) -> None:
        """Write the whole file, creating it and its directories if need be."""
        place = self._session.cwd / Path(path)
        if self._offered(self._client.capabilities.write_files):
            await self._client.ask(WriteFile(session_id=self._session.id, path=str(place), content=text))
            if await self._has_arrived(place, text):
                return
        await asyncio.to_thread(_write, place, text)

    async def _has_arrived(self, place: Path, text: str) -> bool:
        # A client whose disk is not ours, or that keeps the text unsaved, has it all the same.
        if not await asyncio.to_thread(place.parent.is_dir) or await asyncio.to_thread(_is, place, text):
            return True
        if not self._offered(self._client.capabilities.read_files):
            return False
        try:
            return (await self._client.ask(ReadFile(session_id=self._session.id, path=str(place)))).content == text
        except RequestFailed:
            return False

    def _offered(self, capability: bool) -> bool:
        return capability and self._client.dialect.has_client_resources


def _read(place: Path) -> str:
    with place.open(encoding="utf-8", errors="replace", newline="") as file:
        return file.read()


def _write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("w", encoding="utf-8", newline="") as file:
        file.write(text)


def _is(place: Path, text: str) -> bool:
    try:
        return _read(place) == text
    except OSError:
        return False


def _holds_text(place: Path) -> bool:
    try:
        return place.stat().st_size > 0
    except OSError:
        return False


def _part(text: str, line: int | None, limit: int | None) -> str:
    if line is None and limit is None:
        return text
    first = (line or 1) - 1
    return "".join(text.splitlines(keepends=True)[first : None if limit is None else first + limit])
