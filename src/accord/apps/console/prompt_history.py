"""The prompts that were given, kept for the user alone: the newest thousand, in one file of the state directory.

Law: the file is read anew before each change and replaced in one step under a lock, so two programs never lose each
other's prompts. A history that can't be kept never costs a run.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from accord.apps.console.sanitizer import encodable
from accord.local.files import file_lock, make_private_directory, read_file, write_private_file

_MOST = 1000
_MOST_BYTES = 4 * 1024 * 1024
_LONGEST = 1024 * 1024
_PATIENCE = 2.0


class PromptEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt: when, to which agent, where, and in which session, which is empty if there was none yet."""

    when: str
    agent: str
    cwd: str
    session_id: str
    text: str


class PromptHistory:
    """The file, which need not be there."""

    def __init__(self, state: Path) -> None:
        self._path = state / "prompts.jsonl"

    def add(self, agent: str, cwd: Path, session_id: str, text: str) -> None:
        """Keep a prompt; one that begins with a blank is left out of it, a very long one is cut."""
        if text.startswith(" "):
            text = ""  # the session can still be continued
        if not text and not session_id:
            return
        when = datetime.now(UTC).isoformat(timespec="seconds")
        prompted = PromptEntry(
            when=when,
            agent=encodable(agent),
            cwd=encodable(str(cwd)),
            session_id=session_id,
            text=encodable(text[:_LONGEST]),
        )
        with suppress(OSError):
            make_private_directory(self._path.parent)
            with file_lock(self._path.with_suffix(".lock"), _PATIENCE):
                self._write([*self.entries(), prompted])

    def entries(self) -> list[PromptEntry]:
        """All of them, the newest last; a line that can't be read is skipped."""
        try:
            lines = read_file(self._path).splitlines()
        except OSError:
            return []
        listed: list[PromptEntry] = []
        for line in lines:
            with suppress(msgspec.DecodeError):
                listed.append(msgspec.json.decode(line, type=PromptEntry))
        return listed

    def last_session(self, agent: str, cwd: Path) -> str | None:
        """The session that an agent was last prompted in, in this directory."""
        meant = (encodable(agent), encodable(str(cwd)))
        fitting = [each for each in self.entries() if each.session_id and (each.agent, each.cwd) == meant]
        return fitting[-1].session_id if fitting else None

    def _write(self, prompts: list[PromptEntry]) -> None:
        lines = [msgspec.json.encode(each) + b"\n" for each in prompts[-_MOST:]]
        size = sum(map(len, lines))
        first = 0
        while size > _MOST_BYTES:
            size -= len(lines[first])
            first += 1
        write_private_file(self._path, b"".join(lines[first:]), is_durable=False)
