"""Exceptions for what fails on this side: a connection, a payload, a turn or a store."""

# ruff: noqa: N818 - exceptions are facts, not "errors"
from __future__ import annotations

from typing import Any

from accord.errors.texts import output_text

__all__ = [
    "AccordError",
    "ConnectionClosed",
    "DeadlineExceeded",
    "FrameRejected",
    "JournalUnreadable",
    "Malformed",
    "NotContent",
    "Overloaded",
    "SessionExists",
    "StoreClosed",
    "StoreFailed",
    "TurnStopped",
    "Unencodable",
]


class AccordError(Exception):
    """Whatever accord raises on purpose; every one survives copying and pickling."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception's own way calls the class with `args`, which few of the signatures below would survive.
        return _revived, (type(self), self.args), self.__dict__


class ConnectionClosed(AccordError):
    """The peer is gone, and so is every request that waited for it.

    `stderr_tail` is the end of what it wrote there, without colours and other terminal sequences.
    """

    def __init__(self, reason: str, exit_code: int | None = None, stderr_tail: str = "") -> None:
        stderr_tail = output_text(stderr_tail)
        super().__init__(reason, exit_code, stderr_tail)
        self.reason = reason
        self.exit_code = exit_code
        self.stderr_tail = stderr_tail

    def again(self) -> ConnectionClosed:
        """A fresh one for each who gets it raised: an exception collects the frames of everybody who raised it."""
        error = ConnectionClosed(self.reason, self.exit_code, self.stderr_tail)
        error.__cause__ = self.__cause__
        return error

    def __str__(self) -> str:
        text = f"The connection is closed: {self.reason}"
        if self.exit_code is not None:
            text += f" (exit code {self.exit_code})"
        tail = self.stderr_tail.strip()
        return f"{text}. Its last words on stderr:\n{tail}" if tail else text


class DeadlineExceeded(AccordError):
    """The peer did not answer in time; a late answer is dropped."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(method, seconds)
        self.method = method
        self.seconds = seconds

    def __str__(self) -> str:
        return f"{self.method} was not answered within {self.seconds:g} s; give it a longer deadline or check the peer"


class Overloaded(AccordError):
    """A hard limit was passed; the connection failed rather than grow without bound or drop anything silently."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(what, limit)
        self.what = what
        self.limit = limit

    def __str__(self) -> str:
        return f"Too much of {self.what}: the limit is {self.limit}; read faster or raise the limit"


class FrameRejected(AccordError):
    """What arrived is no frame we read; the connection lives and the sender is told with `code` and `id: null`.

    `reason` goes to the sender, so it never quotes what was received.
    """

    def __init__(self, reason: str, code: int = -32700) -> None:
        super().__init__(reason, code)
        self.reason = reason
        self.code = code

    def __str__(self) -> str:
        return f"A frame was refused: {self.reason}"


class Malformed(AccordError):
    """A payload does not fit its type; `path` says where, `reason` why, neither quotes the payload at length."""

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
    """What was given to be told is neither text nor a block of content."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind

    def __str__(self) -> str:
        return f"expected text or a block of content, not {self.kind}"


class TurnStopped(AccordError):
    """Raised by `turn.stop()`: it ends the turn with `reason` and is no failure."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class StoreFailed(AccordError):
    """The store could not do it. Reports that were appended are kept, and tried again with the next write."""

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
    """A session with that id is there already; it was not touched."""

    def __init__(self, store: str, session_id: str) -> None:
        super().__init__(store, f"it has a session {session_id!r} already")
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
    """There is no git repository here, or none that is safe to look at without asking; the message says why."""


def _revived(kind: type[AccordError], args: tuple[Any, ...]) -> AccordError:
    return kind.__new__(kind, *args)
