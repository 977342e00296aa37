"""JSON-RPC errors, as exceptions.

A RequestFailed works both ways: whoever asked gets it raised, and a handler that raises one answers with it. What a
subclass knows beyond code and message it reads from `data`, so a received one knows what the sent one knew. Codes
without a class of their own stay what they are, as a plain RequestFailed.
"""

# ruff: noqa: N818 - exceptions are facts, not "errors"
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from msgspec import UNSET

from accord.errors.failures import AccordError
from accord.errors.texts import details_of, escaped_controls, without_colours

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

_CLAIM = ("sessionId", "pid", "host", "since")
_MODEL_FAILED = "model_failed"  # of the built-in agent: its message and advice say more
_GENERIC = ("", "internal error", "internal server error")


class RequestFailed(AccordError):
    """A JSON-RPC error: raised for whoever asked, and the answer when a handler raises it."""

    was_received = False
    """It came from the other side. A handler that lets it through did not mean it as its own answer."""

    _shown_members: tuple[str, ...] = ()
    """What of `data` the message or the advice of this class shows."""

    def __init__(self, code: int, message: str, data: Any = UNSET) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        text = _shortened(self.message, 2000) or "The request failed"
        if details := " ".join("; ".join(self.details_without()).split()):
            text = f"{text.rstrip('.: ')}: {_shortened(details, 800)}"
        text = f"{escaped_controls(without_colours(text))} (error {self.code})"
        advice = self.advice
        return f"{text}. {advice}" if advice else text

    @property
    def advice(self) -> str:
        """What to do about it, where there is something to do."""
        return ""

    @property
    def details(self) -> str:
        """What `data` says beyond the message, whatever its shape, in lines; the reason comes first."""
        return "\n".join(self.details_without())

    def full_message(self, *left_out: str) -> str:
        """The message and the details, but for these members of `data`."""
        details = "; ".join(self.details_without(*left_out))
        return f"{self.message.rstrip('.: ')}: {details}".removeprefix(": ") if details else self.message

    def details_without(self, *names: str) -> list[str]:
        """The details, each by itself, but for these members of `data`."""
        reason = self._member("reason")
        codes = ("reason",) if isinstance(reason, str) and (reason in _BY_REASON or reason == _MODEL_FAILED) else ()
        return details_of(self.data, self.message, (*self._shown_members, *codes, *names))

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
        if self.was_received:
            return "The peer does not have this method, even if its capabilities offer it"
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

    The id is in the message, too: that is all that most clients show. The message has no place for an exception's text,
    and must not get one. RPC-37, RPC-39, RPC-50, FN-41
    """

    def __init__(self, correlation_id: str) -> None:
        message = f"Internal error (correlation id {correlation_id})"
        super().__init__(-32603, message, {"correlationId": correlation_id})  # RPC-38

    @property
    def correlation_id(self) -> str | None:
        return self._member("correlationId")

    @property
    def advice(self) -> str:
        says_why = self.message.strip(" .").casefold() not in _GENERIC and not self.correlation_id
        if says_why or self.details_without("correlationId"):
            return ""
        advice, id = "Whoever answered has the details in its log", str(self.correlation_id or "")
        if not id:
            return advice
        return f"{advice} under {'this id' if id in self.message else _shortened(id)}"

    def details_without(self, *names: str) -> list[str]:
        """Without the correlation id if that is all there is: the advice says what it is good for."""
        details = super().details_without("correlationId", *names)
        return super().details_without(*names) if details else []


class RequestCancelled(RequestFailed):
    """The request was aborted, because it was asked for or by whoever worked on it. Never the end of a cancelled turn."""

    def __init__(self, reason: str = "Request cancelled") -> None:
        super().__init__(-32800, reason)


class AuthRequired(RequestFailed):
    """A login has to come first; `auth_methods` is empty when the peer named none, then those of initialize count."""

    _shown_members = ("authMethods",)

    def __init__(self, auth_methods: Iterable[Any] = ()) -> None:
        super().__init__(  # RPC-31
            -32000, "Authentication required", {"reason": "auth_required", "authMethods": list(auth_methods)}
        )

    @property
    def auth_methods(self) -> list[Any]:
        methods = self._member("authMethods")
        return cast("list[Any]", methods) if isinstance(methods, list) else []

    def complete(self, auth_methods: Iterable[Any]) -> None:
        """Name these methods, unless some are named or it came from a peer."""
        if not self.auth_methods and not self.was_received:
            self.data = {"reason": "auth_required", "authMethods": list(auth_methods)}

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

    _shown_members = ("requested", "supported")

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

    _shown_members = ("retryAfter",)

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


class SessionInUse(RequestFailed):
    """Another process has the session, and only one may write to it; says who, and since when."""

    _shown_members = _CLAIM

    def __init__(self, session_id: str, pid: int, host: str, since: str) -> None:
        super().__init__(
            -32009,
            f"The session is in use by another process: pid {pid} on {_shortened(host)}, since {since}",
            {"reason": "session_in_use", "sessionId": session_id, "pid": pid, "host": host, "since": since},
        )

    @property
    def session_id(self) -> str | None:
        return self._member("sessionId")

    @property
    def pid(self) -> int | None:
        return self._member("pid")

    @property
    def host(self) -> str | None:
        return self._member("host")

    @property
    def since(self) -> str | None:
        return self._member("since")

    @property
    def advice(self) -> str:
        return "Close it there, or take it over"


class Fenced(RequestFailed):
    """The session was taken over, or the claim was released: nothing more of this owner is kept."""

    _shown_members = _CLAIM

    def __init__(
        self, session_id: str, pid: int | None = None, host: str | None = None, since: str | None = None
    ) -> None:
        details: dict[str, Any] = {"reason": "session_taken_over", "sessionId": session_id}
        message = "The session was closed, or taken over by another process"
        if pid is not None and host is not None:
            details |= {"pid": pid, "host": host, "since": since}
            message = f"The session was taken over by another process: pid {pid} on {_shortened(host)}, since {since}"
        super().__init__(-32010, f"{message}. Nothing more of this process is kept in it", details)

    @property
    def session_id(self) -> str | None:
        return self._member("sessionId")

    @property
    def advice(self) -> str:
        return "Load the session again to go on with it here"


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


def _shortened(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
