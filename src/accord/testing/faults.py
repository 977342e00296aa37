"""What can be wrong with a peer, to be put on any target: `faulty(target, Slow(2.0), Dies(after="session/prompt"))`.

A fault is a tap. The first one named is the nearest to the agent. `side` says whose fault it is: the agent's, unless told
otherwise.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Self

from accord.client.target import AnyTarget, Target, target_of
from accord.errors import ConnectionClosed
from accord.testing.frame_taps import Peek, Side, Tap, TappedTarget, TappedTransport, Torn, frame_of


def faulty(target: AnyTarget, *faults: Fault) -> Target:
    """The same target with these faults; each connection begins anew with them."""
    made = target_of(target)
    for fault in faults:
        made = TappedTarget(made, fault)
    return made


class Fault(Tap):
    """Override `says` and `hears` for a fault of your own: `pass_on` and `pass_back` are the way on."""

    def __init__(self, side: Side = "agent") -> None:
        self.side: Side = side

    def begun(self, line: TappedTransport) -> Self:
        """This fault on one connection."""
        mine = super().begun(line)
        mine.start()
        return mine

    def start(self) -> None:
        """Begin to remember: called once for each connection."""

    def says(self, frame: bytes) -> None:
        """A frame that the faulty side sends."""
        self.pass_on(frame)

    def hears(self, frame: bytes) -> None:
        """A frame that the other side sends."""
        self.pass_back(frame)

    def pass_on(self, frame: bytes) -> None:
        """Deliver what the faulty side says."""
        self.line.to_client(frame) if self.side == "agent" else self.line.to_agent(frame)

    def pass_back(self, frame: bytes) -> None:
        """Deliver what the other side says."""
        self.line.to_agent(frame) if self.side == "agent" else self.line.to_client(frame)

    def from_agent(self, frame: bytes) -> None:
        """As `says` or `hears`."""
        self.says(frame) if self.side == "agent" else self.hears(frame)

    def from_client(self, frame: bytes) -> None:
        """As `hears` or `says`."""
        self.hears(frame) if self.side == "agent" else self.says(frame)


class Slow(Fault):
    """Everything it says takes this long, by the event loop's clock; the order stays."""

    def __init__(self, seconds: float, side: Side = "agent") -> None:
        super().__init__(side)
        self._seconds = seconds

    def start(self) -> None:
        """Nothing is on its way yet."""
        self._under_way: deque[tuple[float, bytes | ConnectionClosed]] = deque()

    def says(self, frame: bytes) -> None:
        """Deliver it later."""
        self._take(frame)

    def ended(self, reason: ConnectionClosed) -> None:
        """The end takes as long as the rest."""
        self._take(reason) if self.side == "agent" else super().ended(reason)

    def _take(self, event: bytes | ConnectionClosed) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + self._seconds
        self._under_way.append((due, event))
        if len(self._under_way) == 1:
            loop.call_at(due, self._arrive)

    def _arrive(self) -> None:
        loop = asyncio.get_running_loop()
        while self._under_way and self._under_way[0][0] <= loop.time():
            _, event = self._under_way.popleft()
            super().ended(event) if isinstance(event, ConnectionClosed) else self.pass_on(event)
        if self._under_way:
            loop.call_at(self._under_way[0][0], self._arrive)


class Silent(Fault):
    """Never answers these methods; whatever else it says comes through."""

    def __init__(self, *methods: str, side: Side = "agent") -> None:
        super().__init__(side)
        self._methods = methods

    def start(self) -> None:
        """Nothing was asked yet."""
        self._unanswered: set[Any] = set()

    def hears(self, frame: bytes) -> None:
        """Remember what will not be answered."""
        seen = Peek(frame)
        if seen.is_request and seen.method in self._methods:
            self._unanswered.add(seen.id)
        self.pass_back(frame)

    def says(self, frame: bytes) -> None:
        """Swallow those answers."""
        seen = Peek(frame)
        if not (seen.is_answer and seen.id in self._unanswered):
            self.pass_on(frame)


_NOISE: tuple[Any, ...] = (
    b"npm warn deprecated: this line is no JSON",
    b'{"jsonrpc": "2.0", "meth',
    {"jsonrpc": "2.0", "method": "_noise/notification", "params": {"loud": True}},
    {"jsonrpc": "2.0", "method": "_noise/request", "params": {}},
    {"jsonrpc": "2.0", "method": "session/update", "params": {"update": {"sessionUpdate": "_noise", "loud": True}}},
    {"jsonrpc": "2.0", "id": "noise: nobody asked this", "result": {}},
)


class Noisy(Fault):
    """Says one thing too many before each frame: garbage, unknown notifications, requests and updates, stray answers.

    Other noise may be given, in turn: bytes, or what becomes JSON. Answers to it don't reach the side that made none.
    """

    def __init__(self, *noise: Any, side: Side = "agent") -> None:
        super().__init__(side)
        self._noise = noise or _NOISE

    def start(self) -> None:
        """It is quiet yet."""
        self._made = 0
        self._session_id: str | None = None

    def says(self, frame: bytes) -> None:
        """Precede it with noise."""
        self._learn(frame)
        noise = self._next()
        if noise is not None:
            self.pass_on(noise)
        self.pass_on(frame)

    def hears(self, frame: bytes) -> None:
        """Keep answers to noise away."""
        self._learn(frame)
        seen = Peek(frame)
        if not (seen.is_answer and isinstance(seen.id, str) and seen.id.startswith("noise-")):
            self.pass_back(frame)

    def _learn(self, frame: bytes) -> None:
        self._session_id = Peek(frame).session_id or self._session_id

    def _next(self) -> bytes | None:
        noise = self._noise[self._made % len(self._noise)]
        self._made += 1
        if noise is _NOISE[3]:
            noise = {**noise, "id": f"noise-{self._made}"}
        elif noise is _NOISE[4]:
            if self._session_id is None:
                return None
            noise = {**noise, "params": {"sessionId": self._session_id, **noise["params"]}}
        return frame_of(noise)


class Dies(Fault):
    """Hangs up after so many frames of its own, or after the so-manieth call of a method, by whichever side.

    `torn` cuts its last frame in the middle. The exit code and the last words are what the other side learns; under
    `program` they are a real program's.
    """

    def __init__(
        self,
        after: int | str,
        *,
        count: int = 1,
        torn: bool = False,
        exit_code: int | None = None,
        stderr: str = "",
        side: Side = "agent",
    ) -> None:
        super().__init__(side)
        self._after = after
        self._count = after if isinstance(after, int) else count
        self._is_torn = torn
        self._reason = ConnectionClosed(f"the {side} died", exit_code, stderr)

    def start(self) -> None:
        """It lives."""
        self._left = self._count
        if self._left <= 0 and not self._is_torn:
            asyncio.get_running_loop().call_soon(self._die)

    def says(self, frame: bytes) -> None:
        """Perhaps for the last time."""
        if isinstance(self._after, int) or Peek(frame).method == self._after:
            self._left -= 1
        if self._left > 0:
            self.pass_on(frame)
            return
        self.pass_on(Torn(frame[: len(frame) // 2]) if self._is_torn else frame)
        self._die()

    def hears(self, frame: bytes) -> None:
        """Perhaps the last it hears."""
        self.pass_back(frame)
        if Peek(frame).method == self._after:
            self._left -= 1
            if self._left <= 0 and not self._is_torn:
                self._die()

    def _die(self) -> None:
        self.line.cut(self._reason)


class _HoldsFrames(Fault):
    """Holds frames of its own while requests of the other side are open."""

    def start(self) -> None:
        """Nothing is held."""
        self._open: set[Any] = set()
        self._held: list[bytes] = []

    def hears(self, frame: bytes) -> None:
        """Count what is open."""
        seen = Peek(frame)
        if seen.is_request:
            self._open.add(seen.id)
        self.pass_back(frame)

    def ended(self, reason: ConnectionClosed) -> None:
        """Let go of what is held."""
        self._release()
        super().ended(reason)

    def _release(self) -> None:
        held, self._held = self._held, []
        for frame in held:
            self.pass_on(frame)


class AnswersFirst(_HoldsFrames):
    """Updates come after the answer of the request that they belong before: while one is open, they are held."""

    def says(self, frame: bytes) -> None:
        """Answers and requests pass at once."""
        seen = Peek(frame)
        if self._open and seen.method is not None and not seen.is_request:
            self._held.append(frame)
            return
        self.pass_on(frame)
        if seen.is_answer:
            self._open.discard(seen.id)
            if not self._open:
                self._release()


class AnswersSwapped(_HoldsFrames):
    """Of requests that are open at the same time, the one that is answered first comes last."""

    def says(self, frame: bytes) -> None:
        """Hold an answer while another one is due."""
        seen = Peek(frame)
        if not seen.is_answer:
            self.pass_on(frame)
            return
        self._open.discard(seen.id)
        self._held.insert(0, frame)
        if not self._open:
            self._release()
