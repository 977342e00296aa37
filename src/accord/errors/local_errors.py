"""Exceptions raised on this side: a connection, a payload, a turn, a store, a repository or a checkpoint failed."""

# ruff: noqa: N818 - exceptions are facts, not "errors"
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from accord.errors.escape_sequences import clean_output

__all__ = [
    "AccordError",
    "CheckpointFailed",
    "ConnectionClosed",
    "DeadlineExceeded",
    "ExtraMissing",
    "FrameRejected",
    "JournalUnreadable",
    "Malformed",
    "NotContent",
    "Overloaded",
    "RepositoryMissing",
    "SessionExists",
    "StoreClosed",
    "StoreFailed",
    "TurnStopped",
    "Unencodable",
    "UnusableRepository",
]


class AccordError(Exception):
    """Every exception that accord raises on purpose. All can be copied and pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception's own __reduce__ calls the class with `args`, which does not fit most signatures below.
        return _unpickle, (type(self), self.args), self.__dict__


CloseKind: TypeAlias = Literal[
    "not_started", "not_open", "closed_here", "peer_closed", "bad_frames", "overloaded", "session_closed"
]
"""Why a connection is closed, for code: `reason` is only for people.

`not_started` is a program or stream that could not be opened, `not_open` a connection that was used before it was
opened or closed before that, `bad_frames` a peer that sends no ACP, `overloaded` a hard limit that was exceeded.
"""


class ConnectionClosed(AccordError):
    """The connection to the peer is closed; all its pending requests have failed.

    `kind` says why, for code; `reason` says it to people. `stderr_tail` is the end of the peer's stderr, without
    terminal escape sequences.
    """

    def __init__(
        self, reason: str, exit_code: int | None = None, stderr_tail: str = "", *, kind: CloseKind = "peer_closed"
    ) -> None:
        stderr_tail = clean_output(stderr_tail)
        super().__init__(reason, exit_code, stderr_tail)
        self.reason = reason
        self.exit_code = exit_code
        self.stderr_tail = stderr_tail
        self.kind: CloseKind = kind

    def again(self) -> ConnectionClosed:
        """A copy to raise: an exception object collects the frames of every place that raises it."""
        error = ConnectionClosed(self.reason, self.exit_code, self.stderr_tail, kind=self.kind)
        error.__cause__ = self.__cause__
        return error

    def __str__(self) -> str:
        text = f"The connection is closed: {self.reason}"
        if self.exit_code is not None:
            text += f" (exit code {self.exit_code})"
        tail = self.stderr_tail.strip()
        return f"{text}. Last lines of stderr:\n{tail}" if tail else text


class DeadlineExceeded(AccordError):
    """The peer did not respond in time; a late response is dropped."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(method, seconds)
        self.method = method
        self.seconds = seconds

    def __str__(self) -> str:
        return f"{self.method} timed out after {self.seconds:g} s; set a longer deadline or check the peer"


class Overloaded(AccordError):
    """A hard limit was exceeded. The connection fails rather than grow without bound or drop anything silently."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(what, limit)
        self.what = what
        self.limit = limit

    def __str__(self) -> str:
        return f"Too many {self.what}: the limit is {self.limit}; read faster or raise the limit"


class FrameRejected(AccordError):
    """An unreadable frame was received. The connection goes on; the sender gets `code` with `id: null`.

    `reason` goes to the sender, so it never quotes the frame. `is_too_long` says that it exceeded the limit.
    """

    def __init__(self, reason: str, code: int = -32700, *, is_too_long: bool = False) -> None:
        super().__init__(reason, code)
        self.reason = reason
        self.code = code
        self.is_too_long = is_too_long

    def __str__(self) -> str:
        return f"A frame was refused: {self.reason}"


class Malformed(AccordError):
    """A payload does not match its type; `path` says where, `reason` why. Neither quotes the payload at length."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"Malformed at {self.path}: {self.reason}"


class Unencodable(AccordError):
    """A payload of ours cannot be written as JSON; nothing of it was sent."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(what, reason)
        self.what = what
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.what} cannot be written as JSON: {self.reason}"


class NotContent(AccordError, TypeError):
    """A value that should be content is neither a string nor a content block."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind

    def __str__(self) -> str:
        return f"expected a string or a content block, not {self.kind}"


class ExtraMissing(AccordError, ImportError):
    """A package of an extra is not installed; the message says how to add it."""


class TurnStopped(AccordError):
    """Raised by `turn.stop()` to end the turn with `reason`; not a failure."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class StoreFailed(AccordError):
    """The store failed. Entries that were appended stay in memory and are tried again with the next write."""

    def __init__(self, store: str, reason: str) -> None:
        super().__init__(store, reason)
        self.store = store
        self.reason = reason

    def __str__(self) -> str:
        return f"The session store {self.store} failed: {self.reason}"


class StoreClosed(StoreFailed):
    """The store was closed, before the call or while it waited."""

    def __init__(self, store: str) -> None:
        super().__init__(store, "it is closed")

    def __str__(self) -> str:
        return f"The session store {self.store} is closed"


class SessionExists(StoreFailed):
    """A session with that id exists already; it was not changed."""

    def __init__(self, store: str, session_id: str) -> None:
        super().__init__(store, f"session {session_id!r} exists already")
        self.session_id = session_id


class JournalUnreadable(StoreFailed):
    """One session's history cannot be read, from `entry` on; every other session is unaffected."""

    def __init__(self, store: str, session_id: str, entry: int, reason: str) -> None:
        super().__init__(store, reason)
        self.session_id = session_id
        self.entry = entry

    def __str__(self) -> str:
        return (
            f"The history of session {self.session_id!r} cannot be read from entry {self.entry} on "
            f"(session store {self.store}): {self.reason}. Other sessions are unaffected; this one can be deleted"
        )


class UnusableRepository(AccordError):
    """There is no git repository here, or none that is safe to read without asking; the message says why."""


class RepositoryMissing(UnusableRepository):
    """There is no git repository here."""


class CheckpointFailed(AccordError):
    """The files of a session could not be saved or read back; the message says why.

    `is_final`: trying again would fail again.
    """

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


def _unpickle(kind: type[AccordError], args: tuple[Any, ...]) -> AccordError:
    return kind.__new__(kind, *args)


class HttpRefusal(Exception):
    """Inside the HTTP server only: the request gets this status, and the client gets the reason."""

    def __init__(self, status: int, reason: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, reason)
        self.status = status
        self.reason = reason
        self.headers = headers or {}


class LimitReached(Exception):
    """Inside a server only: a limit of it; the text is for the client."""
