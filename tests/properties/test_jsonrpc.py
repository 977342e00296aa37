"""Whatever is said in whatever order, two conversations joined together owe each other nothing in the end."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from accord.errors import RequestCancelled, request_failed
from accord.jsonrpc.batches import Batch, BatchRequest
from accord.jsonrpc.codec import decode, encode
from accord.jsonrpc.events import (
    CancelRequested,
    ErrorReceived,
    InboundRequest,
    MessageRejected,
    NotificationReceived,
    RequestReceived,
    ResultReceived,
)
from accord.jsonrpc.messages import ErrorObject, ErrorResponse, InvalidMessage, Notification, Request, ResultResponse
from accord.jsonrpc.pending_calls import PendingCalls

texts = st.text(max_size=8)
ids = st.one_of(st.integers(), texts, st.none(), st.floats(allow_nan=False, allow_infinity=False))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)
objects = st.dictionaries(texts, values, max_size=3)
error_objects = st.builds(ErrorObject, st.integers(-(2**63), 2**63 - 1), texts, values)
messages = st.one_of(
    st.builds(Request, ids, texts, objects),
    st.builds(Notification, texts, objects),
    st.builds(ResultResponse, ids, values),
    st.builds(ErrorResponse, ids, error_objects),
)


def plain(message: Any) -> Any:
    """With the undecoded parts decoded, to compare."""
    for part in ("params", "result"):
        if isinstance(getattr(message, part, None), msgspec.Raw):
            setattr(message, part, msgspec.json.decode(getattr(message, part)))
    return message


@given(messages)
def test_a_message_is_read_as_it_was_written(message: Any):
    assert plain(decode(encode(message))) == message


@given(
    st.lists(st.builds(Notification, texts, objects) | st.builds(Request, ids, texts, objects), min_size=1, max_size=5)
)
def test_a_batch_is_read_as_it_was_written(entries: list[Any]):
    batch = decode(encode(entries))
    assert isinstance(batch, Batch)
    assert [plain(entry) for entry in batch.entries] == entries


@given(st.integers(), texts, values)
def test_an_error_is_raised_as_it_was_sent(code: int, message: str, data: Any):
    assert request_failed(code, message, data).to_error() == (code, message, data)
    assert str(request_failed(code, message, data))


@given(st.text(st.characters(), max_size=30))
def test_any_text_can_be_sent_and_halves_of_pairs_are_replaced(text: str):
    sent = json.loads(encode(Notification("m", [text])).decode("utf-8"))["params"][0]
    assert sent == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@given(st.text(st.sampled_from('\\ud83dDe0C \n"/tu'), max_size=24))
def test_a_text_full_of_escapes_is_read_as_the_standard_library_reads_it(inner: str):
    text = b'{"jsonrpc":"2.0","method":"m","params":["%s"]}' % inner.encode()
    message = decode(text)
    try:
        expected = json.loads(text)["params"]
    except ValueError:
        assert isinstance(message, InvalidMessage)
        assert message.code == -32700
    else:
        assert isinstance(message, Notification)
        mended = [part.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for part in expected]
        assert msgspec.json.decode(message.params) == mended


@given(values)
def test_any_json_is_received_without_an_exception(value: Any):
    PendingCalls().receive(json.dumps(value).encode())


@pytest.mark.requirement("RPC-02", "RPC-07", "RPC-08")
@settings(max_examples=60)
@given(st.lists(ids, max_size=8), st.randoms(use_true_random=False))
def test_every_request_is_answered_once_under_its_own_id(request_ids: list[Any], random: Any):
    calls = PendingCalls()
    requests: list[InboundRequest] = []
    refused = 0
    for request_id in request_ids:
        (event,) = calls.receive(encode(Request(request_id, "m", {})))
        if isinstance(event, RequestReceived):
            requests.append(event.request)
        else:
            assert isinstance(event, MessageRejected)
            assert json.loads(event.response)["id"] is None
            refused += 1
    assert len(requests) + refused == len(request_ids)
    random.shuffle(requests)
    for request in requests:
        answer = json.loads(calls.respond(request, {}) or b"")
        assert answer["id"] == request.id
        assert calls.respond(request, {}) is None
    assert calls.inbound == 0


class Side:
    """One end, with what it was told."""

    def __init__(self) -> None:
        self.calls = PendingCalls()
        self.outbox: list[bytes] = []
        self.serving: list[InboundRequest] = []
        self.open: dict[int, str] = {}
        self.notified = 0
        self.notifications_sent = 0

    def send(self, frame: bytes | None) -> None:
        if frame is not None:
            self.outbox.append(frame)

    def hear(self, frame: bytes) -> None:
        for event in self.calls.receive(frame):
            match event:
                case RequestReceived(request):
                    self.serving.append(request)
                case NotificationReceived(method=method):
                    assert method == "told"
                    self.notified += 1
                case ResultReceived(number, method) | ErrorReceived(number, method):
                    assert self.open.pop(number) == method
                case CancelRequested(request):
                    assert request in self.serving
                case MessageRejected(response):
                    raise AssertionError(response)
                case _:
                    assert event.is_normal


class TwoEnds(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.sides = (Side(), Side())

    which = st.integers(0, 1)
    at = st.integers(0, 10)

    @rule(which=which, method=st.sampled_from(["a", "b"]))
    def ask(self, which: int, method: str) -> None:
        side = self.sides[which]
        number, frame = side.calls.request(method, {})
        side.open[number] = method
        side.send(frame)

    @rule(which=which)
    def tell(self, which: int) -> None:
        side = self.sides[which]
        side.send(side.calls.notify("told", {}))
        side.notifications_sent += 1

    @rule(which=which, kinds=st.lists(st.booleans(), min_size=1, max_size=4))
    def batch(self, which: int, kinds: list[bool]) -> None:
        side = self.sides[which]
        numbers, frame = side.calls.batch(
            [BatchRequest("c", {}) if asks else Notification("told", {}) for asks in kinds]
        )
        side.open.update(dict.fromkeys(numbers, "c"))
        side.notifications_sent += kinds.count(False)
        side.send(frame)

    @rule(which=which)
    def deliver(self, which: int) -> None:
        if self.sides[which].outbox:
            self.sides[1 - which].hear(self.sides[which].outbox.pop(0))

    @rule(which=which, at=at, fails=st.booleans())
    def answer(self, which: int, at: int, fails: bool) -> None:
        side = self.sides[which]
        if side.serving:
            request = side.serving.pop(at % len(side.serving))
            if fails:
                side.send(side.calls.fail(request, RequestCancelled()))
            else:
                side.send(side.calls.respond(request, {"n": 1}))

    @rule(which=which, at=at)
    def cancel(self, which: int, at: int) -> None:
        side = self.sides[which]
        if side.open:
            side.send(side.calls.cancel(list(side.open)[at % len(side.open)]))

    @rule(which=which, at=at)
    def forget(self, which: int, at: int) -> None:
        side = self.sides[which]
        if side.open:
            number = list(side.open)[at % len(side.open)]
            del side.open[number]
            side.calls.forget(number)

    @precondition(lambda self: all(not side.outbox and not side.serving for side in self.sides))
    @rule()
    def nobody_owes_anything(self) -> None:
        for side, other in (self.sides, self.sides[::-1]):
            assert side.open == {}
            assert other.notified == side.notifications_sent
            assert (side.calls.outbound, side.calls.inbound) == (0, 0)

    @invariant()
    def the_counts_agree(self) -> None:
        for side in self.sides:
            assert side.calls.outbound == len(side.open)
            assert side.calls.inbound == len(side.serving)

    def teardown(self) -> None:
        while any(side.outbox or side.serving for side in self.sides):
            for which in (0, 1):
                self.deliver(which)
                self.answer(which, 0, fails=False)
        self.nobody_owes_anything()


TestTwoEnds = TwoEnds.TestCase
TestTwoEnds.settings = settings(max_examples=60, stateful_step_count=40)
