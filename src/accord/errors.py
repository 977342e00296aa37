"""Every exception of accord, each one a fact.

    AccordError
    ├─ ConnectionClosed         the peer is gone; says why, with exit code and the end of stderr
    ├─ DeadlineExceeded         the peer did not answer in time
    ├─ Overloaded               a hard limit was passed, the connection was failed for it
    ├─ FrameRejected            what arrived is no frame we read: too long, not JSON, nested too deep
    ├─ Malformed                a payload does not fit its type; says where
    ├─ Unencodable              a payload of ours cannot be written as JSON
    ├─ TurnStopped              an agent ends its turn early; no failure
    ├─ StoreFailed              the store could not do it; says which store, and why
    │  ├─ StoreClosed           it was closed, before the call or while it waited
    │  ├─ SessionExists         a session with that id is there already
    │  └─ JournalUnreadable     one session's history cannot be read; every other session is unaffected
    └─ RequestFailed            a JSON-RPC error
       ├─ InvalidRequest        -32600
       ├─ MethodNotFound        -32601
       ├─ InvalidParams         -32602
       ├─ InternalError         -32603
       ├─ RequestCancelled      -32800
       ├─ AuthRequired          -32000, or data.reason "auth_required"
       ├─ NotFound              -32002
       ├─ VersionRefused        -32022
       ├─ RateLimited           -32029 from us, data.reason "rate_limited" from anybody
       └─ Denied                -32003 from us, data.reason "permission_denied" from anybody

A RequestFailed works both ways: whoever asked gets it raised, and a handler that raises one answers with it. What a
subclass knows beyond code and message it reads from `data`, so a received one knows what the sent one knew. Codes
without a class of their own stay what they are, as a plain RequestFailed.
"""

# ruff: noqa: N818 - exceptions are facts, not "errors"
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from msgspec import UNSET

__all__ = [
    "AccordError",
    "AuthRequired",
    "ConnectionClosed",
    "DeadlineExceeded",
    "Denied",
    "FrameRejected",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "JournalUnreadable",
    "Malformed",
    "MethodNotFound",
    "NotFound",
    "Overloaded",
    "RateLimited",
    "RequestCancelled",
    "RequestFailed",
    "SessionExists",
    "StoreClosed",
    "StoreFailed",
    "TurnStopped",
    "Unencodable",
    "VersionRefused",
    "request_failed",
]


class AccordError(Exception):
    """Whatever accord raises on purpose; every one survives copying and pickling."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception's own way calls the class with `args`, which few of the signatures below would survive.
        return _revived, (type(self), self.args), self.__dict__


class ConnectionClosed(AccordError):
    """The peer is gone, and so is every request that waited for it."""

    def __init__(self, reason: str, exit_code: int | None = None, stderr_tail: str = "") -> None:
        super().__init__(reason, exit_code, stderr_tail)
        self.reason = reason
        self.exit_code = exit_code
        self.stderr_tail = stderr_tail

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


class RequestFailed(AccordError):
    """A JSON-RPC error: raised for whoever asked, and the answer when a handler raises it."""

    was_received = False
    """It came from the other side. A handler that lets it through did not mean it as its own answer."""

    def __init__(self, code: int, message: str, data: Any = UNSET) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        text = f"{_shortened(self.message, 2000) or 'The request failed'} (error {self.code}"
        text += ")" if self.data is UNSET or self.data is None else f", data {_shortened(repr(self.data))})"
        advice = self.advice
        return f"{text}. {advice}" if advice else text

    @property
    def advice(self) -> str:
        """What to do about it, where there is something to do."""
        return ""

    def to_error(self) -> tuple[int, str, Any]:
        """Code, message and data as they go on the wire; data is UNSET when there is none."""
        return self.code, self.message, self.data

    def _member(self, name: str) -> Any:
        return _member(self.data, name)


class InvalidRequest(RequestFailed):
    """No valid JSON-RPC request, or one that is not allowed in this state of the connection."""

    def __init__(self, reason: str, data: Any = UNSET) -> None:
        super().__init__(-32600, f"Invalid request: {reason}", data)


class MethodNotFound(RequestFailed):
    """The method is unknown, or was not offered."""

    def __init__(self, method: str) -> None:
        super().__init__(-32601, f"Method not found: {_shortened(method)}", {"method": method})  # RPC-33, RPC-34

    @property
    def method(self) -> str | None:
        return self._member("method")

    @property
    def advice(self) -> str:
        return "Only methods that the peer's capabilities offer can be called"


class InvalidParams(RequestFailed):
    """Params are malformed, or well-formed but not acceptable; `field` names the culprit where there is one."""

    def __init__(self, reason: str, field: str | None = None) -> None:
        where = f" at {field}" if field else ""
        super().__init__(  # RPC-35, RPC-36
            -32602,
            f"Invalid params{where}: {reason}",
            {"field": field, "reason": reason} if field else {"reason": reason},
        )

    @property
    def reason(self) -> str | None:
        return self._member("reason")

    @property
    def field(self) -> str | None:
        return self._member("field")


class InternalError(RequestFailed):
    """Something unexpected broke; the peer learns only under which id our log tells what.

    It has no place for an exception's text, and must not get one. RPC-37, RPC-39, RPC-50, FN-41
    """

    def __init__(self, correlation_id: str) -> None:
        super().__init__(-32603, "Internal error", {"correlationId": correlation_id})  # RPC-38

    @property
    def correlation_id(self) -> str | None:
        return self._member("correlationId")

    @property
    def advice(self) -> str:
        return "Whoever answered has the details in its log" + (
            f" under {_shortened(str(self.correlation_id))}" if self.correlation_id else ""
        )


class RequestCancelled(RequestFailed):
    """The request was aborted, because it was asked for or by whoever worked on it. Never the end of a cancelled turn."""

    def __init__(self, reason: str = "Request cancelled") -> None:
        super().__init__(-32800, reason)


class AuthRequired(RequestFailed):
    """A login has to come first; `auth_methods` is empty when the peer named none, then those of initialize count."""

    def __init__(self, auth_methods: Iterable[Any] = ()) -> None:
        super().__init__(  # RPC-31
            -32000, "Authentication required", {"reason": "auth_required", "authMethods": list(auth_methods)}
        )

    @property
    def auth_methods(self) -> list[Any]:
        methods = self._member("authMethods")
        return cast("list[Any]", methods) if isinstance(methods, list) else []

    @property
    def advice(self) -> str:
        return "Log in with one of the agent's auth methods, then ask again"


class NotFound(RequestFailed):
    """The session, terminal or resource does not exist or is no longer active."""

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
        super().__init__(-32002, f"{what} not found: {_shortened(name)}", {member: name})

    @property
    def session_id(self) -> str | None:
        return self._member("sessionId")

    @property
    def terminal_id(self) -> str | None:
        return self._member("terminalId")

    @property
    def uri(self) -> str | None:
        return self._member("uri")


class VersionRefused(RequestFailed):
    """The agent has no protocol version at or below the requested one."""

    def __init__(self, requested: int, supported: Iterable[int]) -> None:
        versions = list(supported)
        super().__init__(
            -32022,
            f"Protocol version {requested} is not supported, only {', '.join(map(str, versions)) or 'none'}",
            {"requested": requested, "supported": versions},
        )

    @property
    def requested(self) -> int | None:
        return self._member("requested")

    @property
    def supported(self) -> list[int]:
        versions = self._member("supported")
        return cast("list[int]", versions) if isinstance(versions, list) else []


class RateLimited(RequestFailed):
    """Too many requests; ask again after `retry_after` seconds where that is known."""

    def __init__(self, retry_after: float | None = None) -> None:
        details: dict[str, Any] = {"reason": "rate_limited"}  # RPC-42
        if retry_after is not None:
            details["retryAfter"] = retry_after  # RPC-43
        super().__init__(-32029, "Rate limit reached", details)

    @property
    def retry_after(self) -> float | None:
        seconds = self._member("retryAfter")
        return seconds if isinstance(seconds, (int, float)) and not isinstance(seconds, bool) else None

    @property
    def advice(self) -> str:
        seconds = self.retry_after
        return "Ask again later" if seconds is None else f"Ask again in {seconds:g} s"


class Denied(RequestFailed):
    """A permission is missing; `scope` names which."""

    def __init__(self, scope: str) -> None:
        super().__init__(  # RPC-42, RPC-44
            -32003, f"Permission denied: {_shortened(scope)}", {"reason": "permission_denied", "scope": scope}
        )

    @property
    def scope(self) -> str | None:
        return self._member("scope")


_BY_REASON: dict[str, type[RequestFailed]] = {
    "auth_required": AuthRequired,
    "rate_limited": RateLimited,
    "permission_denied": Denied,
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
    """The exception for a received error object; code, message and data stay exactly as they came."""
    reason = _member(data, "reason")
    # AMB-11: the reason is as good as the code, and the codes from -32001 on mean different things to different peers.
    kind = _BY_REASON.get(reason) if isinstance(reason, str) else None
    kind = kind or _BY_CODE.get(code, RequestFailed)  # RPC-47
    error = kind.__new__(kind)
    RequestFailed.__init__(error, code, message, data)
    return error


def _member(data: Any, name: str) -> Any:
    return cast("dict[str, Any]", data).get(name) if isinstance(data, dict) else None


def _revived(kind: type[AccordError], args: tuple[Any, ...]) -> AccordError:
    return kind.__new__(kind, *args)


def _shortened(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
