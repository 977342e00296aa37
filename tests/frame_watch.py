"""Every frame that a peer of ours sends, against the official schema of the version that its connection agreed on.

Who is the client, and which version is spoken, is read from the handshake; a connection without one is not judged, as it
speaks no protocol. Nor is one of the draft, which no official schema has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock
from weakref import WeakKeyDictionary

from accord.peer import Peer
from tests.parity.frames import FrameValidator, Side, validate

__all__ = ["FrameWatch", "violations_received"]

UNSTABLE = ("session/set_model", "session/fork")


class Watched:
    """What one peer sends; what it receives is needed to know which requests its answers belong to."""

    def __init__(self) -> None:
        self.judge: FrameValidator | None = None
        self.side: Side = "client"
        self.offers: dict[str, Any] = {}
        self.held: list[tuple[bool, bytes]] = []

    def observe(self, is_ours: bool, frame: bytes) -> list[str]:
        if self.offers or b'"initialize"' in frame:
            message = parsed(frame)
            found = self.handshake(is_ours, message) if isinstance(message, dict) else None
            if found is not None:
                return found
        if self.offers and self.judge is None:
            self.held.append((is_ours, frame))  # sent together with the handshake
            return []
        return self.judged(is_ours, frame)

    def judged(self, is_ours: bool, frame: bytes) -> list[str]:
        if self.judge is None:
            return []
        other: Side = "agent" if self.side == "client" else "client"
        self.judge.violations.clear()
        self.judge.observe(self.side if is_ours else other, frame)
        return self.judge.violations_of(self.side)

    def handshake(self, is_ours: bool, message: dict[str, Any]) -> list[str] | None:
        """What is wrong with a message of the handshake; None if it is another one."""
        id = json.dumps(message.get("id"))
        if message.get("method") == "initialize":
            self.side = "client" if is_ours else "agent"
            self.offers[id] = offer = message.get("params", {})
            return fits("InitializeRequest", offer, offer) if is_ours else []
        if "method" in message or id not in self.offers:
            return None
        offer = self.offers.pop(id)
        if "result" not in message:
            self.held.clear()
            return []
        answer = message["result"]
        version = version_of(offer, answer)
        self.judge = None if version is None else FrameValidator(version, UNSTABLE)
        found = fits("InitializeResponse", offer, answer) if is_ours else []
        held, self.held = self.held, []
        return [*found, *(reason for each in held for reason in self.judged(*each))]


def fits(definition: str, offer: Any, said: Any) -> list[str]:
    version = version_of(offer, said)
    return [] if version is None else list(validate(said, version, definition))


def parsed(frame: bytes) -> Any:
    try:
        return json.loads(frame)
    except ValueError:
        return None


def version_of(offer: Any, said: Any) -> int | None:
    """Of which version an offer or an answer to it is; None for the draft, and for a version that nobody has."""
    version = said.get("protocolVersion")
    if version == 2:
        return 2 if "info" in offer and "info" in said else None
    return 1 if version == 1 else None


def violations_received(frames: Iterable[tuple[str, bytes]]) -> list[str]:
    """What is wrong with the frames that a peer received, for one whose other side is a program of ours."""
    watched = Watched()
    return [reason for direction, frame in frames for reason in watched.observe(direction == "received", frame)]


class FrameWatch:
    """Collects what is wrong with the frames of all peers while it is `watching`."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self._peers: WeakKeyDictionary[Peer, Watched] = WeakKeyDictionary()

    @contextmanager
    def watching(self) -> Iterator[None]:
        send, receive = Peer._send, Peer.frames_received

        def observed_send(peer: Peer, frame: bytes) -> bool:
            self._observe(peer, True, [frame])
            return send(peer, frame)

        def observed_receive(peer: Peer, frames: Sequence[bytes]) -> None:
            self._observe(peer, False, frames)
            receive(peer, frames)

        with (
            mock.patch.object(Peer, "_send", observed_send),
            mock.patch.object(Peer, "frames_received", observed_receive),
        ):
            yield

    def _observe(self, peer: Peer, is_ours: bool, frames: Sequence[bytes]) -> None:
        watched = self._peers.setdefault(peer, Watched())
        for frame in frames:
            self.violations += [f"{reason}, in {frame[:1000]!r}" for reason in watched.observe(is_ours, frame)]
