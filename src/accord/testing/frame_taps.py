"""Frames as a test sees them, and taps. A tap sits on the line between a client and an agent: each frame passes through it, is held, changed, or never arrives.

It is how conversations are recorded and how peers are made faulty. A tapped target is a target, so taps stack.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable
from copy import copy
from typing import Any, Literal, Self, TypeAlias, cast

import msgspec

from accord.client.target import AnyTarget, target_of
from accord.errors import ConnectionClosed, FrameRejected
from accord.transports.transport import Receiver, Transport

Side: TypeAlias = Literal["client", "agent"]

_WIDTH = 200
_ABSENT = object()


class Torn(bytes):
    """The beginning of a frame whose sender died in the middle of writing it; on a stream no newline follows."""

    __slots__ = ()


class Peek:
    """What a frame says, as far as it is one message in JSON; a batch or garbage has no method, id or answer. Never raises."""

    __slots__ = ("is_json", "json", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.json: Any
        """The value of the JSON; None where it is none."""
        self.is_json: bool
        """Whether it is JSON at all."""
        self.is_json, self.json = _read(raw)

    @property
    def method(self) -> str | None:
        """Of a request or a notification."""
        method = self.get("method")
        return method if isinstance(method, str) else None

    @property
    def id(self) -> Any:
        """None also where there is none."""
        return self.get("id")

    @property
    def params(self) -> Any:
        """An empty object where there are none."""
        return self.get("params", {})

    @property
    def result(self) -> Any:
        """What an answer says that is no error."""
        return self.get("result")

    @property
    def error(self) -> Any:
        """The error object of an answer that is one."""
        return self.get("error")

    @property
    def is_request(self) -> bool:
        """Whether it wants an answer."""
        return self.method is not None and self.get("id", _ABSENT) is not _ABSENT

    @property
    def is_answer(self) -> bool:
        """Whether it is a result or an error for a request."""
        is_outcome = self.get("result", _ABSENT) is not _ABSENT or self.get("error", _ABSENT) is not _ABSENT
        return is_outcome and self.method is None

    @property
    def session_id(self) -> str | None:
        """The session that the params are about."""
        params = self.params
        value = cast("dict[str, Any]", params).get("sessionId") if isinstance(params, dict) else None
        return value if isinstance(value, str) else None

    def get(self, member: str, default: Any = None) -> Any:
        """A member of the message, if it is an object."""
        value: Any = self.json
        return cast("dict[str, Any]", value).get(member, default) if isinstance(value, dict) else default

    def __getitem__(self, member: str) -> Any:
        return self.json[member]

    def __str__(self) -> str:
        return shown(self)


def other(side: Side) -> Side:
    """The one across."""
    return "client" if side == "agent" else "agent"


def frame_of(message: Any) -> bytes:
    """Bytes stay what they are, a string is its UTF-8; anything else becomes JSON, types of `accord.schema` included."""
    if isinstance(message, bytes):
        return message
    if isinstance(message, str):
        return message.encode()
    return msgspec.json.encode(message, enc_hook=_to_wire)


def shown(seen: Peek, width: int = _WIDTH) -> str:
    """One line, cut where it gets long."""
    if not seen.is_json:
        return f"not JSON: {_cut(repr(bytes(seen.raw)), width)}"
    number = "" if seen.get("id") is None else f" #{seen.id}"
    if seen.method is not None:
        return f"{seen.method}{number} {_json(seen.get('params'), width)}"
    if seen.error is not None:
        return f"error{number} {_json(seen.error, width)}"
    if seen.is_answer:
        return f"answer{number} {_json(seen.result, width)}"
    kind = "batch" if seen.raw.lstrip().startswith(b"[") else "no message"
    return f"{kind} {_json(seen.json, width)}"


def _read(raw: bytes) -> tuple[bool, Any]:
    try:
        return True, msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:  # halves of surrogate pairs and large integers, which only this one reads
        return True, json.loads(raw)
    except (ValueError, RecursionError):
        return False, None


def _to_wire(value: Any) -> Any:
    wire = getattr(value, "__wire__", None)
    if wire is None:
        raise TypeError(f"a {type(value).__name__} has no JSON form; send a dict, or bytes to send them as they are")
    return wire()


def _json(value: Any, width: int) -> str:
    return "" if value is None else _cut(json.dumps(value, ensure_ascii=False), width)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[:width]}… ({len(text)} characters)"


_Event: TypeAlias = bytes | FrameRejected | ConnectionClosed
# What one call of a receiver gets at most: so a pause takes effect after this much.
_CHUNK = 64 * 1024


class Tap:
    """Passes everything on. Override what should be otherwise; each connection gets a copy of its own."""

    line: TappedTransport
    """The connection that it is on."""

    def begun(self, line: TappedTransport) -> Self:
        """This tap on one connection. What it remembers of a connection is set here."""
        mine = copy(self)
        mine.line = line
        return mine

    def from_agent(self, frame: bytes) -> None:
        """Pass it to the client: now, later, or not at all."""
        self.line.to_client(frame)

    def from_client(self, frame: bytes) -> None:
        """Pass it to the agent."""
        self.line.to_agent(frame)

    def ended(self, reason: ConnectionClosed) -> None:
        """The agent's side has ended: let go of what is held, then tell the client."""
        self.line.end(reason)

    def left(self) -> None:
        """The client has hung up; nothing passes any more."""


class TappedTarget:
    """A target whose connections pass through a tap. `tap` makes it, or is it."""

    def __init__(self, target: AnyTarget, tap: Tap | Callable[[], Tap]) -> None:
        self.target = target_of(target)
        self._tap = tap

    def connect(self) -> TappedTransport:
        return TappedTransport(self.target.connect(), self._tap if isinstance(self._tap, Tap) else self._tap())


class TappedTransport:
    """The client's end of a line with a tap on it."""

    def __init__(self, inner: Transport, tap: Tap) -> None:
        self._inner = inner
        self._receiver: Receiver | None = None
        self._events: deque[_Event] = deque()
        self._is_paused = False
        self._is_due = False
        self._is_ended = False
        self._is_closing = False
        self._is_over = False
        self._reason: ConnectionClosed | None = None
        self._cutting: asyncio.Task[None] | None = None
        self._tap = tap.begun(self)

    async def open(self, receiver: Receiver) -> None:
        """Opens what it wraps."""
        self._receiver = receiver
        try:
            await self._inner.open(self)
        except BaseException:
            self._receiver = None  # whoever is refused is told of no end
            raise

    def send(self, frame: bytes) -> None:
        """The client speaks."""
        if self._receiver is None:
            raise ConnectionClosed("it is not open yet", kind="not_open")
        if not self._is_ended:
            self._tap.from_client(frame)

    def pause_receiving(self) -> None:
        self._is_paused = True
        self._inner.pause_receiving()

    def resume_receiving(self) -> None:
        self._is_paused = False
        self._inner.resume_receiving()
        self._schedule()

    @property
    def unsent(self) -> int:
        return self._inner.unsent

    async def aclose(self) -> None:
        """Closes what it wraps; nothing that is held arrives after it."""
        if self._receiver is not None and not self._is_ended:
            self._tap.left()
        self._is_ended = self._is_closing = True
        self._events.clear()
        await self._inner.aclose()
        if self._cutting is not None:
            await asyncio.wait([self._cutting])
        if self._receiver is not None and not self._is_over:
            self._is_over = True
            self._receiver.connection_lost(self._reason or ConnectionClosed("closed by this side", kind="closed_here"))

    def to_client(self, frame: bytes) -> None:
        """Deliver a frame, whoever wrote it, with the next tick."""
        self._put(frame)

    def to_agent(self, frame: bytes) -> None:
        """Deliver a frame, whoever wrote it."""
        if not self._is_ended:
            self._inner.send(frame)

    def end(self, reason: ConnectionClosed) -> None:
        """Tell the client of the end, after everything before; nothing comes after it."""
        self._put(reason)
        self._reason = self._reason or reason
        self._is_ended = True

    def cut(self, reason: ConnectionClosed) -> None:
        """End the connection for both sides."""
        if not self._is_ended:
            self.end(reason)
            self._cutting = asyncio.create_task(self._inner.aclose(), name="accord tap cutting")

    def frames_received(self, frames: list[bytes]) -> None:
        """Called by what it wraps."""
        for frame in frames:
            if not self._is_ended:
                self._tap.from_agent(frame)

    def frame_rejected(self, error: FrameRejected) -> None:
        """Called by what it wraps."""
        self._put(error)

    def input_ended(self, reason: ConnectionClosed) -> None:
        """Called by the transport: what says no more is gone."""
        self.connection_lost(reason)

    def connection_lost(self, reason: ConnectionClosed) -> None:
        """Called by what it wraps."""
        if self._is_closing:
            self._reason = self._reason or reason  # a process tells its exit code
        elif not self._is_ended:
            self._tap.ended(reason)

    def send_paused(self) -> None:
        """Called by what it wraps."""
        if self._receiver is not None and not self._is_over:
            self._receiver.send_paused()

    def send_resumed(self) -> None:
        """Called by what it wraps."""
        if self._receiver is not None and not self._is_over:
            self._receiver.send_resumed()

    def _put(self, event: _Event) -> None:
        if not self._is_ended:
            self._events.append(event)
            self._schedule()

    def _schedule(self) -> None:
        if self._events and not (self._is_due or self._is_paused):
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._deliver)

    def _deliver(self) -> None:
        self._is_due = False
        assert self._receiver is not None
        while self._events and not self._is_paused and not self._is_over:
            event = self._events.popleft()
            if isinstance(event, ConnectionClosed):
                self._is_over = True
                self._receiver.connection_lost(event)
            elif isinstance(event, FrameRejected):
                self._receiver.frame_rejected(event)
            else:
                self._receiver.frames_received(self._with_the_next(event))

    def _with_the_next(self, frame: bytes) -> list[bytes]:
        frames, size = [frame], len(frame)
        while self._events and isinstance(self._events[0], bytes) and size < _CHUNK:
            following = self._events.popleft()
            assert isinstance(following, bytes)
            frames.append(following)
            size += len(following)
        return frames
