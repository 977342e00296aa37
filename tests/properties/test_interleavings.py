"""Two peers talk over a bad line under a virtual clock; whatever the order of things, the laws of the peer hold."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import msgspec
import pytest

from accord.errors import AccordError, Denied
from accord.jsonrpc.batches import BatchRequest
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.jsonrpc.messages import Notification
from accord.peer import HandlerResult, Limits, Peer
from tests import virtual_clock
from tests.peer.link import linked

SEEDS = range(60)
LIMITS = Limits(
    queue_bytes=400,
    queue_bytes_hard=10**6,
    unsent_bytes=500,
    unsent_bytes_hard=10**6,
    open_requests=5,
    open_requests_hard=10**4,
)


class Side:
    """One peer that asks, answers, tells, gives up and hangs up at random, and remembers what it saw."""

    def __init__(self, name: str, transport: Any, source: random.Random) -> None:
        self.name = name
        self.source = source
        self.heard: list[int] = []
        self.told = 0
        self.outcomes: Counter[str] = Counter()
        self.frames: list[tuple[str, Any]] = []
        self.peer = Peer(transport, self.receive, limits=LIMITS, on_frame=self.observe)
        self.inbox = self.peer.new_queue()

    def observe(self, direction: str, frame: bytes) -> None:
        self.frames.append((direction, msgspec.json.decode(frame)))

    def receive(self, event: RequestReceived | NotificationReceived) -> Any:
        if isinstance(event, RequestReceived):
            return self.answer(event.request.method)
        number = msgspec.json.decode(event.params)["number"]
        self.heard.append(number)
        self.inbox.put(number, 20)
        return None

    async def answer(self, method: str) -> Any:
        source = self.source
        if method == "test/refuse":
            raise Denied("this")
        if method == "test/break":
            raise ValueError("a secret")
        await asyncio.sleep(source.expovariate(2))
        if method == "test/ask_back" and source.random() < 0.7:
            await self.ask("test/echo")
        if method == "test/announce":
            return HandlerResult({}, after_send=self.tell)
        return {"done": method}

    def tell(self) -> None:
        if self.peer.is_open:
            self.told += 1
            self.peer.post("test/told", {"number": self.told})

    async def consume(self) -> None:
        try:
            async for _ in self.inbox:
                await asyncio.sleep(self.source.expovariate(5))
        except AccordError:
            pass

    async def ask(self, method: str) -> None:
        try:
            await self.peer.request(method, {"from": self.name}, deadline=self.source.choice((None, 0.5, 30)))
            self.outcomes["answered"] += 1
        except AccordError as error:
            self.outcomes[type(error).__name__] += 1

    async def act(self) -> None:
        source = self.source
        running: list[asyncio.Task[None]] = []
        for _ in range(source.randrange(30)):
            await asyncio.sleep(source.expovariate(10))
            if not self.peer.is_open:
                break
            choice = source.random()
            method = source.choice(("test/echo", "test/refuse", "test/break", "test/ask_back", "test/announce"))
            if choice < 0.4:
                running.append(asyncio.create_task(self.ask(method)))
            elif choice < 0.7:
                self.tell()
            elif choice < 0.8 and running:
                source.choice(running).cancel()
            elif choice < 0.9:
                call = self.peer.send_request(method)
                if source.random() < 0.5:
                    call.cancel()
            else:
                running.append(asyncio.create_task(self.batch(method)))
        await asyncio.gather(*running, return_exceptions=True)

    async def batch(self, method: str) -> None:
        self.told += 1
        entries = [BatchRequest(method), Notification("test/told", {"number": self.told}), BatchRequest("test/echo")]
        try:
            outcomes = await self.peer.batch(*entries, deadline=60)
            assert len(outcomes) == 2
        except AccordError as error:
            self.outcomes[type(error).__name__] += 1


async def conversation(seed: int, framing: Any) -> tuple[Side, Side]:
    source = random.Random(seed)
    ends = linked(seed, framing=framing)
    one, two = (Side(name, end, source) for name, end in zip(("one", "two"), ends, strict=True))
    await asyncio.gather(one.peer.open(), two.peer.open())
    consumers = [asyncio.create_task(side.consume()) for side in (one, two)]
    acting = [asyncio.create_task(side.act()) for side in (one, two)]
    if seed % 3 == 0:  # the line is cut in the middle
        await asyncio.sleep(source.random() * 5)
        ends[0].lose("cut")
        ends[1].lose("cut")
    await asyncio.gather(*acting)
    if seed % 3 == 1:  # what is under way arrives before the end
        await asyncio.sleep(1000)
    await asyncio.gather(one.peer.aclose(), two.peer.aclose(), one.peer.aclose())
    await asyncio.gather(*consumers)
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert not left, "something still runs after close"
    return one, two


def calls_and_answers(side: Side) -> tuple[Counter[Any], Counter[Any]]:
    asked: Counter[Any] = Counter()
    answered: Counter[Any] = Counter()
    for direction, content in side.frames:
        for message in content if isinstance(content, list) else [content]:
            if "id" not in message:
                continue
            if "method" in message and direction == "received":
                asked[message["id"]] += 1
            elif "method" not in message and direction == "sent":
                answered[message["id"]] += 1
    return asked, answered


@pytest.mark.parametrize("framing", ["newline", "content-length"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.requirement("RPC-06", "RPC-08", "RPC-09")
def test_whatever_the_order_of_things_the_laws_of_the_peer_hold(
    seed: int, framing: str, caplog: pytest.LogCaptureFixture
):
    one, two = virtual_clock.run(conversation(seed, framing))
    for side, other in ((one, two), (two, one)):
        assert side.heard == list(range(1, len(side.heard) + 1)), "order kept, nothing lost between"
        if seed % 3 == 1:
            assert len(side.heard) == other.told
        asked, answered = calls_and_answers(side)
        assert all(count == 1 for count in answered.values()), "never two answers"
        assert set(answered) <= set(asked), "never an answer to what was not asked"
        if seed % 3 == 1:
            assert set(answered) == set(asked), "every request answered"
        assert not any("secret" in str(content) for direction, content in side.frames if direction == "sent")
