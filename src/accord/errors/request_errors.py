"""JSON-RPC errors as exceptions.

A RequestFailed works both ways: a request that fails raises it, and a handler that raises one responds with it. What a
subclass knows beyond code and message it reads from `data`, so a received error knows what the sent one knew. A code
without a class of its own becomes a plain RequestFailed.
"""

# ruff: noqa: N818 - exceptions are facts, not "errors"
from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any, Generic, TypeVar, cast

from msgspec import UNSET

from accord.errors.escape_sequences import clean_output, escape_controls, strip_colours
from accord.errors.local_errors import AccordError

__all__ = [
    "AuthRequired",
    "Denied",
    "Fenced",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "MethodNotFound",
    "NotFound",
    "RateLimited",
    "RequestCancelled",
    "RequestFailed",
    "SessionInUse",
    "VersionRefused",
    "request_failed",
]

T = TypeVar("T")

_CLAIM = ("sessionId", "pid", "host", "since")
_MODEL_FAILED = "model_failed"  # from the built-in agent: its message and advice say more
_STDERR_LINES = 20
_MAX_STDERR_LINES = 200
_GENERIC = ("", "internal error", "internal server error")


class _Member(Generic[T]):
    """A member of an error's `data`; None when it is missing. A peer may have sent another type."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, error: RequestFailed | None, owner: type[RequestFailed]) -> T | None:
        return None if error is None else _member(error.data, self._name)


class RequestFailed(AccordError):
    """A JSON-RPC error: raised where a request fails, and the error response when a handler raises it."""

    was_received = False
    """It came from the peer. A handler that lets it through did not mean it as its own response."""

    _shown_members: tuple[str, ...] = ()
    """Members of `data` that are part of the message or the advice."""

    _advice = ""

    def __init__(self, code: int, message: str, data: Any = UNSET) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        text = _shorten(self.message, 2000) or "The request failed"
        if details := " ".join("; ".join(self.detail_list()).split()):
            text = f"{text.rstrip('.: ')}: {_shorten(details, 800)}"
        text = f"{escape_controls(strip_colours(text))} (error {self.code})"
        advice = self.advice
        return f"{text}. {advice}" if advice else text

    @property
    def advice(self) -> str:
        """What to do about it; empty when there is nothing to do."""
        return self._advice

    @property
    def details(self) -> str:
        """What `data` adds to the message, whatever its shape, one per line; the reason comes first."""
        return "\n".join(self.detail_list())

    def full_message(self, *excluded: str) -> str:
        """The message and the details, without these members of `data`."""
        details = "; ".join(self.detail_list(*excluded))
        return f"{self.message.rstrip('.: ')}: {details}".removeprefix(": ") if details else self.message

    def detail_list(self, *excluded: str) -> list[str]:
        """The details as a list, without these members of `data`."""
        reason = _member(self.data, "reason")
        codes = ("reason",) if isinstance(reason, str) and (reason in _BY_REASON or reason == _MODEL_FAILED) else ()
        return _details(self.data, self.message, (*self._shown_members, *codes, *excluded))

    def to_error(self) -> tuple[int, str, Any]:
        """Code, message and data as they go on the wire; data is UNSET when there is none."""
        return self.code, self.message, self.data


class InvalidRequest(RequestFailed):
    """Not a valid JSON-RPC request, or not allowed in this state of the connection."""

    def __init__(self, reason: str, data: Any = UNSET) -> None:
        super().__init__(-32600, f"Invalid request: {reason}", data)


class MethodNotFound(RequestFailed):
    """The method is unknown, or was not offered."""

    method: _Member[str] = _Member("method")
    """The name of the method."""

    def __init__(self, method: str) -> None:
        super().__init__(-32601, f"Method not found: {_shorten(method)}", {"method": method})  # RPC-33, RPC-34

    @property
    def advice(self) -> str:
        if self.was_received:
            return "The peer does not have this method, even if its capabilities offer it"
        return "Only methods that the peer's capabilities offer can be called"


class InvalidParams(RequestFailed):
    """Params are malformed, or well-formed but not acceptable; `field` names the invalid member where it is known."""

    reason: _Member[str] = _Member("reason")
    """What is wrong."""
    field: _Member[str] = _Member("field")
    """The invalid member, where it is known."""

    def __init__(self, reason: str, field: str | None = None) -> None:
        where = f" at {field}" if field else ""
        super().__init__(  # RPC-35, RPC-36
            -32602,
            f"Invalid params{where}: {reason}",
            {"field": field, "reason": reason} if field else {"reason": reason},
        )


class InternalError(RequestFailed):
    """An unexpected exception; the peer gets only a correlation id, under which our log has the traceback.

    The id is in the message too, which is all that most clients display. The text of the exception must not be in the
    message. RPC-37, RPC-39, RPC-50, FN-41. A client that started the peer as a program has the end of its stderr in
    `stderr_tail`.
    """

    stderr_tail = ""

    correlation_id: _Member[str] = _Member("correlationId")
    """The id in the log of the peer."""

    def __init__(self, correlation_id: str) -> None:
        message = f"Internal error (correlation id {correlation_id})"
        super().__init__(-32603, message, {"correlationId": correlation_id})  # RPC-38

    @property
    def advice(self) -> str:
        says_why = self.message.strip(" .").casefold() not in _GENERIC and not self.correlation_id
        if says_why or self.detail_list("correlationId"):
            return ""
        advice, id = "The peer has the details in its log", str(self.correlation_id or "")
        if not id:
            return advice
        return f"{advice} under {'this id' if id in self.message else _shorten(id)}"

    def add_stderr(self, written: str) -> None:
        """Keep the end of the peer's stderr: from the line with the correlation id on, or the last lines."""
        lines = clean_output(written).splitlines()
        id = str(self.correlation_id or "")
        first = next((n for n, line in enumerate(lines) if id and id in line), len(lines) - _STDERR_LINES)
        self.stderr_tail = "\n".join(lines[max(first, len(lines) - _MAX_STDERR_LINES, 0) :])

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}. Last lines of its stderr:\n{self.stderr_tail}" if self.stderr_tail else text

    def detail_list(self, *excluded: str) -> list[str]:
        """The details; none if the correlation id, which the advice explains, is the only one."""
        details = super().detail_list("correlationId", *excluded)
        return super().detail_list(*excluded) if details else []


class RequestCancelled(RequestFailed):
    """The request was cancelled by its sender or by its handler. A cancelled turn does not end with this error."""

    def __init__(self, reason: str = "Request cancelled") -> None:
        super().__init__(-32800, reason)


class AuthRequired(RequestFailed):
    """A login is required; `auth_methods` is empty when the peer named none: use those of its initialize result."""

    _advice = "Log in with one of the agent's auth methods, then try again"
    _shown_members = ("authMethods",)

    def __init__(self, auth_methods: Iterable[Any] = ()) -> None:
        super().__init__(  # RPC-31
            -32000, "Authentication required", {"reason": "auth_required", "authMethods": list(auth_methods)}
        )

    @property
    def auth_methods(self) -> list[Any]:
        """The logins that the peer named."""
        methods = _member(self.data, "authMethods")
        return cast("list[Any]", methods) if isinstance(methods, list) else []

    def complete(self, auth_methods: Iterable[Any]) -> None:
        """Set the methods, unless there are some or the error came from a peer."""
        if not self.auth_methods and not self.was_received:
            named: list[Any] = list(auth_methods)
            self.data = {"reason": "auth_required", "authMethods": named}


class NotFound(RequestFailed):
    """The session, terminal or resource does not exist or is no longer active."""

    session_id: _Member[str] = _Member("sessionId")
    """The id of a session."""
    terminal_id: _Member[str] = _Member("terminalId")
    """The id of a terminal."""
    uri: _Member[str] = _Member("uri")
    """The address of a resource."""

    def __init__(
        self, *, session_id: str | None = None, terminal_id: str | None = None, uri: str | None = None
    ) -> None:
        if session_id is not None:
            what, name, member = "Session", session_id, "sessionId"
        elif terminal_id is not None:
            what, name, member = "Terminal", terminal_id, "terminalId"
        elif uri is not None:
            what, name, member = "Resource", uri, "uri"
        else:
            raise TypeError("NotFound needs a session_id, a terminal_id or a uri")
        super().__init__(-32002, f"{what} not found: {_shorten(name)}", {member: name})


class VersionRefused(RequestFailed):
    """The agent has no protocol version at or below the requested one."""

    _shown_members = ("requested", "supported")

    requested: _Member[int] = _Member("requested")
    """The version that was asked for."""

    def __init__(self, requested: int, supported: Iterable[int]) -> None:
        versions = list(supported)
        super().__init__(
            -32022,
            f"Protocol version {requested} is not supported, only {', '.join(map(str, versions)) or 'none'}",
            {"requested": requested, "supported": versions},
        )

    @property
    def supported(self) -> list[int]:
        """The versions that the peer has."""
        versions = _member(self.data, "supported")
        return cast("list[int]", versions) if isinstance(versions, list) else []


class RateLimited(RequestFailed):
    """Too many requests; retry after `retry_after` seconds where that is known."""

    _shown_members = ("retryAfter",)

    def __init__(self, retry_after: float | None = None) -> None:
        details: dict[str, Any] = {"reason": "rate_limited"}  # RPC-42
        if retry_after is not None:
            details["retryAfter"] = retry_after  # RPC-43
        super().__init__(-32029, "Rate limit reached", details)

    @property
    def retry_after(self) -> float | None:
        """How many seconds to wait, where that is known."""
        seconds = _member(self.data, "retryAfter")
        return seconds if isinstance(seconds, (int, float)) and not isinstance(seconds, bool) else None

    @property
    def advice(self) -> str:
        seconds = self.retry_after
        return "Retry later" if seconds is None else f"Retry in {seconds:g} s"


class Denied(RequestFailed):
    """Permission denied; `scope` names the missing permission."""

    scope: _Member[str] = _Member("scope")
    """The missing permission."""

    def __init__(self, scope: str) -> None:
        super().__init__(  # RPC-42, RPC-44
            -32003, f"Permission denied: {_shorten(scope)}", {"reason": "permission_denied", "scope": scope}
        )


class SessionInUse(RequestFailed):
    """Another process has the session open for writing; says which, and since when."""

    _advice = "Close it there, or take it over"
    _shown_members = _CLAIM

    session_id: _Member[str] = _Member("sessionId")
    """The id of the session."""
    pid: _Member[int] = _Member("pid")
    """The process that has it."""
    host: _Member[str] = _Member("host")
    """The machine of that process."""
    since: _Member[str] = _Member("since")
    """When it was opened there."""

    def __init__(self, session_id: str, pid: int, host: str, since: str) -> None:
        super().__init__(
            -32009,
            f"The session is in use by another process: pid {pid} on {_shorten(host)}, since {since}",
            {"reason": "session_in_use", "sessionId": session_id, "pid": pid, "host": host, "since": since},
        )


class Fenced(RequestFailed):
    """The session was taken over, or the claim was released: nothing more from this owner is stored."""

    _advice = "Load the session again to continue it here"
    _shown_members = _CLAIM

    session_id: _Member[str] = _Member("sessionId")
    """The id of the session."""

    def __init__(
        self, session_id: str, pid: int | None = None, host: str | None = None, since: str | None = None
    ) -> None:
        details: dict[str, Any] = {"reason": "session_taken_over", "sessionId": session_id}
        message = "The session was closed, or taken over by another process"
        if pid is not None and host is not None:
            details |= {"pid": pid, "host": host, "since": since}
            message = f"The session was taken over by another process: pid {pid} on {_shorten(host)}, since {since}"
        super().__init__(-32010, f"{message}. Nothing more from this process is stored in it", details)


_BY_REASON: dict[str, type[RequestFailed]] = {
    "auth_required": AuthRequired,
    "rate_limited": RateLimited,
    "permission_denied": Denied,
    "session_in_use": SessionInUse,
    "session_taken_over": Fenced,
}
_BY_CODE: dict[int, type[RequestFailed]] = {
    -32600: InvalidRequest,
    -32601: MethodNotFound,
    -32602: InvalidParams,
    -32603: InternalError,
    -32800: RequestCancelled,
    -32000: AuthRequired,
    -32002: NotFound,
    -32022: VersionRefused,
}


def request_failed(code: int, message: str, data: Any = UNSET) -> RequestFailed:
    """The exception for a received error object; code, message and data are unchanged."""
    reason = _member(data, "reason")
    # AMB-11: the reason counts first, because the codes from -32001 on mean different things to different peers.
    kind = _BY_REASON.get(reason) if isinstance(reason, str) else None
    kind = kind or _BY_CODE.get(code, RequestFailed)  # RPC-47
    error = kind.__new__(kind)
    RequestFailed.__init__(error, code, message, data)
    return error


def _member(data: Any, name: str) -> Any:
    return cast("dict[str, Any]", data).get(name) if isinstance(data, dict) else None


def _shorten(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


_REASON_NAMES = (
    "message", "details", "detail", "reason", "error", "errors", "description", "cause", "msg", "title", "text"
)  # fmt: skip
"""Members that hold the reason itself, so that their names add nothing."""
_CODE = "[a-z0-9]+(?:_[a-z0-9]+)+"  # compiled when first used
_MAX_DEPTH = 8
_MAX_MEMBERS = 50


def _details(data: Any, message: str, excluded: Collection[str]) -> list[str]:
    """What an error's `data` adds to its message, whatever its shape; the reason comes first.

    Each string, number and boolean counts once, with the name of its member unless that adds nothing.
    """
    if isinstance(data, dict):
        data = {name: value for name, value in cast("dict[str, Any]", data).items() if name not in excluded}
    details: dict[str, None] = {}
    for path, leaf in islice(_leaves(data, (), 0), _MAX_MEMBERS):
        text = _text(leaf)
        if not text or (isinstance(leaf, str) and text.rstrip(".").casefold() in message.casefold()):
            continue
        is_code = re.fullmatch(_CODE, text)
        names = [name for name in path if is_code or name not in _REASON_NAMES]
        details[f"{'.'.join(names)}: {text}" if names else text] = None
    return list(details)


def _leaves(value: Any, path: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All values in it, each with the names that lead to it."""
    if depth > _MAX_DEPTH or value is None or value is UNSET:
        return
    if isinstance(value, dict):
        members = {str(name): member for name, member in cast("dict[Any, Any]", value).items()}
        for name in sorted(members, key=lambda name: (*_REASON_NAMES, name).index(name)):
            yield from _leaves(members[name], (*path, name), depth + 1)
    elif isinstance(value, list | tuple):
        entries = [*cast("list[Any] | tuple[Any, ...]", value)]
        if any(isinstance(entry, dict | list | tuple) for entry in entries):
            for entry in entries:
                yield from _leaves(entry, path, depth + 1)
        else:
            yield path, ", ".join(_text(entry) for entry in entries if entry is not None)
    else:
        yield path, value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return strip_colours(str(value)).strip()
