from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from accord.errors import (
    AuthRequired,
    ConnectionClosed,
    DeadlineExceeded,
    Denied,
    InternalError,
    Malformed,
    MethodNotFound,
    NotFound,
    RateLimited,
    RequestCancelled,
    RequestFailed,
    VersionRefused,
)
from accord.jsonrpc.batches import BatchRequest
from accord.jsonrpc.messages import Notification
from accord.peer import HandlerResult, Peer
from tests.peer.joined import joined, receiver, until, value


async def echo(params: Any) -> Any:
    return params


@pytest.mark.requirement("RPC-02", "RPC-04")
async def test_a_request_gets_the_result_of_its_handler():
    async with joined(theirs={"test/echo": echo}) as (us, _):
        assert value(await us.request("test/echo", {"a": 1})) == {"a": 1}


@pytest.mark.requirement("RPC-33", "RPC-34", "EXT-08")
async def test_a_method_that_nobody_answers_is_refused_with_its_name():
    """FN-98: a vendor's request without an underscore is answered like any unknown one."""
    async with joined() as (us, _):
        with pytest.raises(MethodNotFound) as refused:
            await us.request("craft/drainMidTurnQueue")
    assert refused.value.data == {"method": "craft/drainMidTurnQueue"}


@pytest.mark.parametrize(
    "error",
    [
        RateLimited(30),
        Denied("write"),
        AuthRequired([{"id": "login", "name": "Log in"}]),
        NotFound(session_id="s"),
        NotFound(terminal_id="t"),
        NotFound(uri="file:///x"),
        VersionRefused(0, [1, 2]),
        RequestFailed(400, "an odd code"),
    ],
    ids=lambda error: f"{type(error).__name__}{error.args[:1]}",
)
@pytest.mark.requirement("RPC-05", "RPC-29", "RPC-31", "RPC-42", "RPC-43", "RPC-44", "RPC-46", "RPC-47", "COMPAT-15")
async def test_an_error_raised_by_a_handler_is_raised_for_whoever_asked(error: RequestFailed):
    async def fails(params: Any) -> Any:
        raise error

    async with joined(theirs={"test/fail": fails}) as (us, _):
        with pytest.raises(type(error)) as raised:
            await us.request("test/fail")
    assert raised.value.to_error() == error.to_error()


@pytest.mark.requirement("RPC-37", "RPC-38", "RPC-39", "RPC-50")
async def test_an_unexpected_exception_is_answered_without_its_text(caplog: pytest.LogCaptureFixture):
    """FN-41: a thrown error's text stays in our log, under the correlation id that the peer got."""

    async def breaks(params: Any) -> Any:
        raise ValueError("the password is swordfish")

    frames: list[bytes] = []
    options = {"on_frame": lambda direction, frame: frames.append(frame)}
    async with joined(theirs={"test/break": breaks}, their_options=options) as (us, _):
        with pytest.raises(InternalError) as raised, caplog.at_level(logging.ERROR, "accord.peer"):
            await us.request("test/break")
    assert not any(b"swordfish" in frame for frame in frames)
    assert "swordfish" in caplog.text
    assert raised.value.data["correlationId"] in caplog.text


async def test_an_error_the_handler_only_received_is_not_passed_on_as_its_own():
    async def asks_back(params: Any) -> Any:
        return await them_holder[0].request("test/missing")

    them_holder: list[Peer] = []
    async with joined(theirs={"test/ask": asks_back}) as (us, them):
        them_holder.append(them)
        with pytest.raises(InternalError):
            await us.request("test/ask")


async def test_an_answer_that_cannot_be_written_is_an_internal_error_for_that_request_only():
    """FN-35: the connection lives on."""

    async def unwritable(params: Any) -> Any:
        return {"what": object()}

    async with joined(theirs={"test/bad": unwritable, "test/echo": echo}) as (us, _):
        with pytest.raises(InternalError):
            await us.request("test/bad")
        assert value(await us.request("test/echo", {})) == {}


@pytest.mark.requirement("RPC-09")
async def test_a_handler_may_ask_the_other_side_while_it_is_being_asked():
    """FN-12: the reader runs no handler, so the answer to the inner question arrives."""

    async def prompt(params: Any) -> Any:
        allowed = value(await peers[1].request("session/request_permission", {}))
        return {"allowed": allowed["outcome"]}

    async def permission(params: Any) -> Any:
        return {"outcome": "selected"}

    peers: list[Peer] = []
    async with joined({"session/request_permission": permission}, {"session/prompt": prompt}) as both:
        peers.extend(both)
        assert value(await both[0].request("session/prompt", {})) == {"allowed": "selected"}


async def test_one_waiting_request_does_not_hold_up_the_next_ones():
    release = asyncio.Event()

    async def slow(params: Any) -> Any:
        await release.wait()
        return "slow"

    async with joined(theirs={"test/slow": slow, "test/echo": echo}) as (us, _):
        waiting = asyncio.create_task(us.request("test/slow"))
        assert [value(await us.request("test/echo", {"n": n}))["n"] for n in range(10)] == list(range(10))
        release.set()
        assert value(await waiting) == "slow"


async def test_a_thousand_requests_may_be_in_flight():
    async with joined(theirs={"test/echo": echo}) as (us, _):
        answers = await asyncio.gather(*(us.request("test/echo", {"n": n}) for n in range(1000)))
    assert [value(answer)["n"] for answer in answers] == list(range(1000))


async def test_what_follows_an_answer_leaves_right_after_it_and_before_anything_else():
    """FN-01: updates of a new session go out after the answer that names it, whatever else is being sent."""
    frames: list[Any] = []

    async def new_session(params: Any) -> Any:
        peer = peers[0]
        return HandlerResult({"sessionId": "s"}, after_send=lambda: peer.post("session/update", {"commands": []}))

    async def noise() -> None:
        while True:
            await peers[0].notify("test/noise", {})
            await asyncio.sleep(0)

    peers: list[Peer] = []
    options = {"on_frame": lambda direction, frame: frames.append((direction, msgspec.json.decode(frame)))}
    async with joined(theirs={"session/new": new_session}, their_options=options) as (us, them):
        peers.append(them)
        making_noise = asyncio.create_task(noise())
        await us.request("session/new", {})
        making_noise.cancel()
    sent = [message for direction, message in frames if direction == "sent"]
    answer = next(index for index, message in enumerate(sent) if "result" in message)
    assert sent[answer + 1]["method"] == "session/update"


async def test_what_follows_an_answer_in_a_batch_waits_for_the_whole_array():
    """FN-01: the answer leaves with the array, so what belongs after it does too."""
    sent: list[Any] = []
    release = asyncio.Event()

    async def new_session(params: Any) -> Any:
        return HandlerResult({"sessionId": "s"}, after_send=lambda: peers[0].post("session/update", {"commands": []}))

    async def slow(params: Any) -> Any:
        await release.wait()

    def observe(direction: str, frame: bytes) -> None:
        if direction == "sent":
            sent.append(msgspec.json.decode(frame))

    peers: list[Peer] = []
    handlers = {"_test/new": new_session, "_test/slow": slow}
    async with joined(theirs=handlers, their_options={"on_frame": observe}) as (us, them):
        peers.append(them)
        batch = asyncio.create_task(us.batch(BatchRequest("_test/new"), BatchRequest("_test/slow")))
        await until(lambda: them._inbound._after_batch)
        assert sent == []
        release.set()
        await batch
        assert [type(message) for message in sent] == [list, dict]
        assert them._inbound._after_batch == {}


async def test_an_error_that_cannot_be_written_is_in_the_log_under_the_id_that_the_peer_gets(
    caplog: pytest.LogCaptureFixture,
):
    """FN-35: as a result that cannot be."""

    async def broken(params: Any) -> Any:
        raise RequestFailed(-32050, "no", {"what": object()})

    async with joined(theirs={"test/broken": broken}) as (us, _):
        with pytest.raises(InternalError) as failed:
            await us.request("test/broken")
    assert failed.value.correlation_id
    assert failed.value.correlation_id in caplog.text


async def test_nothing_follows_an_answer_that_could_not_be_written():
    async def new_session(params: Any) -> Any:
        return HandlerResult({"sessionId": object()}, after_send=lambda: followed.append(1))

    followed: list[int] = []
    async with joined(theirs={"session/new": new_session}) as (us, _):
        with pytest.raises(InternalError):
            await us.request("session/new")
    assert followed == []


async def test_what_is_told_during_a_request_arrives_before_its_answer():
    """FN-02, FN-03: when the answer is taken in, everything sent before it has been."""
    order: list[Any] = []

    async def prompt(params: Any) -> Any:
        for number in range(100):
            await peers[0].notify("session/update", {"number": number})
        return {"stopReason": "end_turn"}

    def receive(event: Any) -> Any:
        order.append(value(event.params)["number"])

    peers: list[Peer] = []
    async with joined(receive, {"session/prompt": prompt}) as (us, them):
        peers.append(them)
        await us.send_request("session/prompt", {}, on_outcome=lambda answer: order.append("answer"))
    assert order == [*range(100), "answer"]


async def test_what_an_answer_changes_is_changed_before_anything_that_came_later():
    order: list[Any] = []

    async def opened(params: Any) -> Any:
        return HandlerResult({"sessionId": "s"}, lambda: peers[0].post("session/update", {}))

    def take(result: Any) -> str:
        order.append("answer")
        return value(result)["sessionId"]

    peers: list[Peer] = []
    async with joined(lambda event: order.append("update"), {"session/new": opened}) as (us, them):
        peers.append(them)
        assert await us.request("session/new", {}, on_result=take) == "s"
        await until(lambda: len(order) == 2)
    assert order == ["answer", "update"]


async def test_an_answer_that_is_not_taken_in_fails_its_request_and_nothing_else():
    def refuse(result: Any) -> None:
        raise Malformed("$", "not what was asked for")

    async with joined(theirs={"session/new": echo}) as (us, _):
        with pytest.raises(Malformed, match="not what was asked for"):
            await us.request("session/new", {}, on_result=refuse)
        assert value(await us.request("session/new", {})) == {}


async def test_an_answer_is_not_taken_in_for_somebody_who_has_ceased_to_wait():
    taken: list[Any] = []
    answering = asyncio.Event()

    async def slow(params: Any) -> Any:
        answering.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return {}

    async with joined(theirs={"session/new": slow}) as (us, _):
        waiting = asyncio.create_task(us.request("session/new", {}, on_result=taken.append))
        await answering.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(MethodNotFound):
            await us.request("ping")
    assert taken == []


async def test_updates_are_before_the_answer_also_when_the_handler_is_cancelled():
    """FN-02: a cancelled handler that still tells something tells it before its answer."""
    order: list[Any] = []

    async def prompt(params: Any) -> Any:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await peers[0].notify("session/update", {"number": "last"})

    def receive(event: Any) -> Any:
        order.append(value(event.params)["number"])

    peers: list[Peer] = []
    started = asyncio.Event()
    async with joined(receive, {"session/prompt": prompt}) as (us, them):
        peers.append(them)
        call = us.send_request("session/prompt", {}, on_outcome=lambda answer: order.append(type(answer).__name__))
        await started.wait()
        call.cancel()
        with pytest.raises(RequestCancelled):
            await call
    assert order == ["last", "RequestCancelled"]


async def test_notifications_are_taken_in_in_wire_order():
    """FN-04, FN-05: many senders, one order; nothing is lost and nothing overtakes."""
    heard: list[tuple[str, Any]] = []
    async with joined(theirs=receiver({"test/echo": echo}, heard)) as (us, _):
        for number in range(500):
            await us.notify("session/update", {"number": number})
        await us.request("test/echo", {})
    assert [params["number"] for _, params in heard] == list(range(500))


async def test_requests_sent_together_are_both_answered():
    """FN-07: `initialize` and `session/new` in one write."""
    async with joined(theirs={"initialize": echo, "session/new": echo}) as (us, _):
        first, second = us.send_request("initialize", {"n": 1}), us.send_request("session/new", {"n": 2})
        assert [value(await first), value(await second)] == [{"n": 1}, {"n": 2}]


async def test_a_deadline_ends_the_waiting_and_tells_the_other_side():
    ended = asyncio.Event()

    async def slow(params: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with joined(theirs={"test/slow": slow, "test/echo": echo}) as (us, _):
        with pytest.raises(DeadlineExceeded) as exceeded:
            await us.request("test/slow", deadline=0.01)
        await ended.wait()
        assert value(await us.request("test/echo", {})) == {}
    assert exceeded.value.method == "test/slow"


async def test_cancelling_whoever_waits_cancels_the_request():
    """FN-98: `$/cancel_request` is honoured with an answer of its own."""
    ended, started = asyncio.Event(), asyncio.Event()
    frames: list[Any] = []

    async def slow(params: Any) -> Any:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    options = {"on_frame": lambda direction, frame: frames.append((direction, msgspec.json.decode(frame)))}
    async with joined(theirs={"test/slow": slow}, their_options=options) as (us, _):
        waiting = asyncio.create_task(us.request("test/slow"))
        await started.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await ended.wait()
    (answer,) = [message for direction, message in frames if direction == "sent"]
    assert answer["error"]["code"] == -32800


async def test_a_request_cancelled_before_its_handler_began_is_still_answered():
    async with joined(theirs={"test/echo": echo}) as (us, _):
        call = us.send_request("test/echo", {})
        call.cancel()
        with pytest.raises(RequestCancelled):
            await call


async def test_a_handler_may_answer_a_cancelled_request_with_what_it_has():
    started = asyncio.Event()

    async def partial(params: Any) -> Any:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return {"stopReason": "cancelled"}

    async with joined(theirs={"session/prompt": partial}) as (us, _):
        call = us.send_request("session/prompt", {})
        await started.wait()
        call.cancel()
        assert value(await call) == {"stopReason": "cancelled"}


async def test_a_cancel_for_an_answered_or_unknown_request_changes_nothing():
    async with joined(theirs={"test/echo": echo}) as (us, _):
        await us.notify("$/cancel_request", {"requestId": 99})
        call = us.send_request("test/echo", {})
        await call
        call.cancel()
        assert value(await us.request("test/echo", {"b": 2})) == {"b": 2}


@pytest.mark.requirement("RPC-52", "RPC-57", "RPC-60", "AMB-26")
async def test_a_batch_is_sent_as_one_array_and_its_outcomes_come_in_order():
    heard: list[tuple[str, Any]] = []
    frames: list[Any] = []
    options = {"on_frame": lambda direction, frame: frames.append((direction, msgspec.json.decode(frame)))}
    async with joined(theirs=receiver({"test/echo": echo}, heard), their_options=options) as (us, _):
        outcomes = await us.batch(
            BatchRequest("test/echo", {"n": 1}),
            Notification("test/told", {"n": 2}),
            BatchRequest("test/missing"),
            BatchRequest("test/echo", {"n": 3}),
        )
    assert value(outcomes[0]) == {"n": 1}
    assert isinstance(outcomes[1], MethodNotFound)
    assert value(outcomes[2]) == {"n": 3}
    assert heard == [("test/told", {"n": 2})]
    received, sent = [message for _, message in frames]
    assert len(received) == 4
    assert len(sent) == 3


@pytest.mark.requirement("RPC-63", "AMB-24")
@pytest.mark.parametrize("method", ["initialize", "authenticate", "session/new", "session/load", "session/prompt"])
async def test_what_changes_the_rules_for_what_follows_is_never_put_in_a_batch(method: str):
    async with joined() as (us, _):
        with pytest.raises(ValueError, match=method):
            await us.batch(BatchRequest(method), BatchRequest("test/echo"))


async def test_a_version_without_batches_refuses_to_send_one():
    async with joined() as (us, _):
        us.set_version_rules(odd_ids_allowed=False, batches_allowed=False)
        with pytest.raises(ValueError, match="one by one"):
            await us.batch(BatchRequest("test/echo"))


async def test_a_relay_passes_on_the_bytes_it_received():
    """FN-52: what accord does not model goes through untouched."""
    peers: list[Peer] = []
    heard: list[bytes] = []

    def pass_on(event: Any) -> Any:
        peers[0].post(event.method, event.params)

    def collect(event: Any) -> Any:
        heard.append(bytes(event.params))

    odd = b'{"zeta":1,"alpha":[1.50,12345678901234567890123],"\\u00e9":null}'
    async with joined(theirs=pass_on) as (source, _), joined(theirs=collect) as (onward, _):
        peers.append(onward)
        source.post("session/update", msgspec.Raw(odd))
        await until(lambda: heard)
    assert heard == [odd]


async def test_asking_after_the_end_says_why_it_ended():
    async with joined() as (us, them):
        await them.aclose()
        await us.wait_closed()
        with pytest.raises(ConnectionClosed):
            await us.request("test/echo")
        with pytest.raises(ConnectionClosed):
            await us.notify("test/told")


@pytest.mark.requirement("EXT-05", "EXT-06", "EXT-07", "EXT-10", "EXT-11")
async def test_extension_methods_are_requests_and_notifications_like_any_other():
    """FN-98: `_x.ai/ask_user_question` is answered by whoever handles it."""
    heard: list[tuple[str, Any]] = []
    async with joined(theirs=receiver({"_x.ai/ask_user_question": echo}, heard)) as (us, _):
        await us.notify("_x.ai/told", {"a": 1})
        assert value(await us.request("_x.ai/ask_user_question", {"b": 2})) == {"b": 2}
    assert heard == [("_x.ai/told", {"a": 1})]


@pytest.mark.requirement("RPC-48")
async def test_no_failure_is_silent_on_either_side(caplog: pytest.LogCaptureFixture):
    async def breaks(params: Any) -> Any:
        raise ValueError("unexpected")

    def receive(event: Any) -> Any:
        if hasattr(event, "request"):
            return breaks(None)
        raise ValueError("could not be read")

    async with joined(theirs=receive) as (us, _):
        with caplog.at_level(logging.WARNING, "accord.peer"):
            await us.notify("session/update", {})
            with pytest.raises(InternalError):
                await us.request("test/break")
    assert "unexpected" in caplog.text
    assert "could not be read" in caplog.text
