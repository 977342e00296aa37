"""The outcome of `initialize`: which version is spoken, and what both sides can do.

An agent answers the same request with the same result, so a result is kept and answers the next connection with the same
request, without a process. A storm of connections starts no process before one of them has work for it.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from accord.relay.envelope import Envelope, encode, find, read_members, read_value

_MOST_KEPT = 64


class Handshake(msgspec.Struct, frozen=True, eq=False):
    """An `initialize` request and its result, with the facts that decide where messages go."""

    params: bytes
    result: bytes
    version: int
    is_published_v2: bool
    client_name: str | None
    can_load: bool
    can_resume: bool
    client_methods: frozenset[str]
    """The requests of the agent that need a capability of the client, and have it."""

    @property
    def dialect(self) -> tuple[int, bool]:
        """Equal for clients that can share a session."""
        return self.version, self.is_published_v2

    @property
    def can_sleep(self) -> bool:
        """Whether a session can be opened again by another process."""
        return self.can_load or self.can_resume


def read_handshake(params: bytes, result: bytes) -> Handshake:
    """The facts of an accepted `initialize`."""
    offer, answer = read_value(msgspec.Raw(params)), read_value(msgspec.Raw(result))
    version = find(answer, "protocolVersion")
    capabilities = find(answer, "agentCapabilities") or find(answer, "capabilities")
    has_info = find(answer, "info") is not None
    is_v2 = version == 2 and has_info
    session = find(capabilities, "sessionCapabilities") or find(capabilities, "session")
    name = find(offer, "clientInfo", "name") or find(offer, "info", "name")
    return Handshake(
        params=params,
        result=result,
        version=version if isinstance(version, int) else 0,
        is_published_v2=is_v2,
        client_name=name if isinstance(name, str) else None,
        can_load=_has(find(capabilities, "loadSession")) or _has(find(session, "load")),
        can_resume=_has(find(session, "resume")) or (is_v2 and session is not None),
        client_methods=_client_methods(offer),
    )


def _client_methods(offer: object) -> frozenset[str]:
    capabilities = find(offer, "clientCapabilities") or find(offer, "capabilities")
    names = {
        "fs/read_text_file": find(capabilities, "fs", "readTextFile"),
        "fs/write_text_file": find(capabilities, "fs", "writeTextFile"),
        "terminal": find(capabilities, "terminal"),
        "elicitation/form": find(capabilities, "elicitation", "form"),
        "elicitation/url": find(capabilities, "elicitation", "url"),
    }
    return frozenset(name for name, value in names.items() if _has(value))


def _has(value: object) -> bool:
    return value is not None and value is not False


class HandshakeCache:
    """Results of `initialize` by their request. Requests that are the same wait for the first one's result.

    The `_meta` of a request does not count: it may have a trace context, which is another one each time.
    """

    def __init__(self) -> None:
        self._kept: dict[bytes, Handshake] = {}
        self._waiting: dict[bytes, list[Callable[[Envelope, Handshake | None], None]]] = {}

    def find(self, params: bytes) -> Handshake | None:
        return self._kept.get(_key(params))

    def join(self, params: bytes, on_result: Callable[[Envelope, Handshake | None], None]) -> bool:
        """Wait for the result of the same request; False if there is none under way, and the caller has to send it."""
        is_first = _key(params) not in self._waiting
        self._waiting.setdefault(_key(params), []).append(on_result)
        return not is_first

    def settle(self, params: bytes, response: Envelope) -> None:
        """The agent's response, for everybody who waits. Only a result is kept."""
        handshake = None
        if response.result is not msgspec.UNSET:
            handshake = self.keep(params, bytes(response.result))
        for on_result in self._waiting.pop(_key(params), []):
            on_result(response, handshake)

    def keep(self, params: bytes, result: bytes) -> Handshake:
        """Keep the newest result of a request."""
        key = _key(params)
        before = self._kept.pop(key, None)
        handshake = before if before is not None and before.result == result else read_handshake(params, result)
        self._kept[key] = handshake
        if len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return handshake


def _key(params: bytes) -> bytes:
    members = read_members(msgspec.Raw(params))
    members.pop("_meta", None)
    return encode(members)
