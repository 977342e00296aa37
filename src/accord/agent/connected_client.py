"""The client at the other end of a connection, as an agent's code meets it."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from accord.dialects.dialect import Dialect
from accord.errors import Malformed
from accord.peer import Peer
from accord.session.capabilities import ClientCapabilities, Implementation
from accord.session.checks import check_extension
from accord.session.form import check_form
from accord.session.requests import Asked, Told
from accord.session.validation import Validator

__all__ = ["ConnectedClient", "trace_of"]

T = TypeVar("T", bound=Asked | Told)

_TRACE = ("traceparent", "tracestate", "baggage")


def trace_of(meta: Any) -> dict[str, Any]:
    """The trace context in the `_meta` that a request came with, to be carried on."""
    if not isinstance(meta, dict):
        return {}
    given: dict[str, Any] = {**meta}
    return {key: given[key] for key in _TRACE if key in given}


class ConnectedClient:
    """Who the client is, what it can do, and a way to ask it anything. Nothing may be decided by its name."""

    def __init__(
        self,
        peer: Peer,
        dialect: Dialect,
        info: Implementation | None,
        capabilities: ClientCapabilities,
        *,
        trace: dict[str, Any] | None = None,
        validator: Validator | None = None,
    ) -> None:
        self.peer = peer
        self.dialect = dialect
        self.info = info
        self.capabilities = capabilities
        """`meta` and `group_meta` hold what the client advertises beyond the protocol."""
        self.named_logins: list[Any] = []
        """The agent's logins as the handshake has told them to this client, for an `auth_required`."""
        self._trace = trace or {}
        self._validator = validator or Validator(_refuse, _take_any)

    def traced(self, trace: dict[str, Any], validator: Validator | None = None) -> ConnectedClient:
        """The same client; every request made through this one carries the trace context, and is checked by this."""
        client = ConnectedClient(
            self.peer, self.dialect, self.info, self.capabilities, trace=trace, validator=validator
        )
        client.named_logins = self.named_logins
        return client

    @property
    def has_terminals(self) -> bool:
        """Whether commands can be run in its terminals (TERM-02)."""
        return self.capabilities.terminals and self.dialect.has_client_resources

    async def ask(self, asked: Asked, *, deadline: float | None = None) -> Any:
        """Ask in words and get the answer in words; MethodNotFound when the version agreed on can't ask that.

        ValueError for what must not be asked, such as a permission without options.
        """
        asked = self._with_trace(self._validator.request(asked))
        method, params = self._to_wire(asked)
        return self.dialect.answer_from_wire(asked, await self.peer.request(method, params, deadline=deadline))

    def check(self, asked: Asked) -> None:
        """ValueError for what must not be asked, before anybody learns that something is."""
        self._to_wire(self._validator.request(asked))

    def _to_wire(self, asked: Asked) -> tuple[str, Any]:
        try:
            return self.dialect.request_to_wire(asked)
        except Malformed as error:
            raise ValueError(f"this can't be asked: {error.path}: {error.reason}") from error

    async def tell(self, told: Told) -> None:
        """Tell in words; ValueError for what must not be told."""
        check_form(told)
        await self.peer.notify(*self.dialect.notification_to_wire(self._with_trace(told)))

    def _with_trace(self, word: T) -> T:
        return replace(word, meta={**self._trace, **(word.meta or {})}) if self._trace else word

    async def request(self, method: str, params: Any = None, *, deadline: float | None = None) -> Any:
        """Call a method of the client's own, such as `_acme/pick`; its result as plain values."""
        result = await self.peer.request(check_extension(method), self._traced(params), deadline=deadline)
        return msgspec.json.decode(result)

    async def notify(self, method: str, params: Any = None) -> None:
        """Send a notification of the client's own kind, such as `_acme/highlight`."""
        await self.peer.notify(check_extension(method), self._traced(params))

    def _traced(self, params: Any) -> Any:
        params = {} if params is None else params
        if self._trace and isinstance(params, dict):
            given: dict[str, Any] = {**params}
            given["_meta"] = {**self._trace, **given.get("_meta", {})}
            return given
        return params


def _refuse(path: str) -> str:
    raise ValueError(f"the path {path!r} is not absolute, and there is no session to complete it")


def _take_any(terminal_id: str) -> None: ...
