"""Conversations as they were seen here, so that one can be read again that its agent can't tell.

Law: one file for each, bounded, that nobody but the user may read. A record that can't be kept never costs a turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import Path

import msgspec

from accord.apps.console.sanitizer import encodable
from accord.client.session import Session
from accord.local.files import make_private_directory, open_file, read_file, write_private_file
from accord.session import Transcript
from accord.session.content import render_text
from accord.session.entities import USER, Message
from accord.session.replay import replay
from accord.session.requests import SessionSummary
from accord.session.updates import Patch, Update

_MOST = 200
_MOST_PLACES = 2000
_MOST_BYTES = 4 * 1024 * 1024
_HEAD_BYTES = 16 * 1024
_NEXT_PART = b"null"


class RecordHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What a record says of itself, in its first line."""

    format: int = 1
    agent: str
    session_id: str
    cwd: str
    title: str | None = None
    updated_at: str = ""


class ConversationRecords:
    """The directory of all, which need not be there. These calls block."""

    def __init__(self, state: Path) -> None:
        self._directory = state / "conversations"

    def save(self, recorded: RecordHeader, lines: Iterable[bytes]) -> None:
        """Take the place of what was kept of this conversation; the oldest of two hundred goes."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        head = msgspec.json.encode(
            msgspec.structs.replace(
                recorded,
                updated_at=when,
                agent=encodable(recorded.agent),
                cwd=encodable(recorded.cwd),
                title=_short(recorded.title),
            )
        )
        path = self._path(recorded.agent, recorded.session_id)
        with suppress(OSError):
            make_private_directory(self._directory)
            write_private_file(path, b"\n".join([head, *lines, b""]), is_durable=False)
            for old in self._files()[_MOST:]:
                old.unlink(missing_ok=True)

    def summaries(self, agent: str) -> list[SessionSummary]:
        """Those of an agent, the newest first."""
        found = [recorded for path in self._files() if (recorded := _head(path)) is not None]
        return [
            SessionSummary(session_id=each.session_id, cwd=each.cwd, title=each.title, updated_at=each.updated_at)
            for each in found
            if each.agent == encodable(agent)
        ]

    def lines(self, agent: str, session_id: str) -> list[bytes]:
        """What was written of a conversation."""
        try:
            return read_file(self._path(agent, session_id)).splitlines()[1:]
        except OSError:
            return []

    def transcripts(self, agent: str, session_id: str) -> list[Transcript]:
        """The conversation as it was last kept: a part for each time that it was taken up without its history."""
        parts: list[Transcript] = [Transcript()]
        for line in self.lines(agent, session_id):
            if line == _NEXT_PART:
                parts.append(Transcript())
                continue
            with suppress(msgspec.DecodeError, UnicodeDecodeError):  # of another accord, or damaged
                parts[-1].apply(_reader().decode(line))
        return [part for part in parts if part.timeline]

    def delete(self, agent: str, session_id: str) -> bool:
        """Whether there was one."""
        path = self._path(agent, session_id)
        try:
            path.unlink()
        except OSError:
            return False
        return True

    def _path(self, agent: str, session_id: str) -> Path:
        name = sha256(f"{agent}\0{session_id}".encode("utf-8", "replace")).hexdigest()[:32]
        return self._directory / f"{name}.jsonl"

    def _files(self) -> list[Path]:
        aged: list[tuple[float, Path]] = []
        with suppress(OSError):
            for path in self._directory.glob("*.jsonl"):
                with suppress(OSError):
                    aged.append((path.stat().st_mtime, path))
        return [path for _, path in sorted(aged, reverse=True)]


class ConversationRecorder:
    """A session that was just opened. If it was taken up and its history not told, what was kept stays in front."""

    def __init__(self, records: ConversationRecords, agent: str, session: Session) -> None:
        self._records = records
        self._agent = agent
        self._session = session
        is_continued = session.is_resumed and not session.transcript.timeline
        self._before: list[bytes] | None = None if is_continued else []

    async def save(self) -> None:
        """As it is now, at the end of a turn."""
        session = self._session
        if self._before is None:
            before = await asyncio.to_thread(self._records.lines, self._agent, session.id)
            self._before = [*before, _NEXT_PART] if before else []
        transcript = session.transcript
        told = transcript.info.title or _first_words(transcript)
        recorded = RecordHeader(agent=self._agent, session_id=session.id, cwd=session.cwd, title=told)
        changes = replay(transcript, _MOST_PLACES)  # as it is at this moment, whatever comes while it is written
        await asyncio.to_thread(self._write, recorded, self._before, changes)

    def _write(self, recorded: RecordHeader, before: list[bytes], changes: Iterable[Update]) -> None:
        self._records.save(recorded, _within(chain(before, _lines_of(changes))))


def _lines_of(changes: Iterable[Update]) -> Iterator[bytes]:
    for change in changes:
        with suppress(Exception):  # what one thing carries may have no JSON form; the others do
            yield msgspec.json.encode(change.patch)


def _within(lines: Iterable[bytes]) -> list[bytes]:
    """The last of them, as far as that is not too much; no more is held meanwhile."""
    kept: deque[bytes] = deque()
    room = _MOST_BYTES
    for line in lines:
        kept.append(line)
        room -= len(line)
        while room < 0:
            room += len(kept.popleft())
    return list(kept)


def _first_words(transcript: Transcript) -> str | None:
    for place in transcript.timeline:
        if isinstance(place, Message) and place.role == USER and not place.not_accepted:
            return " ".join(render_text(place.content).split())[:80] or None
    return None


@cache  # made when first needed: it takes milliseconds
def _reader() -> msgspec.json.Decoder[Patch]:
    return msgspec.json.Decoder(Patch)


def _head(path: Path) -> RecordHeader | None:
    try:
        with open_file(path) as file:
            return msgspec.json.decode(file.readline(_HEAD_BYTES), type=RecordHeader)
    except (OSError, msgspec.DecodeError):
        return None


def _short(title: str | None) -> str | None:
    return None if title is None else title[:500]
