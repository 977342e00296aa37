"""Every request is answered exactly once, and nothing else is ever answered."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from accord.errors import (
    AuthRequired,
    ConnectionClosed,
    FrameRejected,
    InvalidParams,
    Malformed,
    MethodNotFound,
    RequestCancelled,
    RequestFailed,
    Unencodable,
)
from accord.jsonrpc.events import (
    CancelRequested,
    ErrorReceived,
    Event,
    InboundRequest,
    MessageIgnored,
    MessageRejected,
    NotificationReceived,
    OpenRequests,
    RequestReceived,
    ResultReceived,
)
from accord.jsonrpc.pending_calls import FORGOTTEN_LIMIT, PendingCalls


def frame(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def only(events: Sequence[Event]) -> Event:
    assert len(events) == 1
    return events[0]


def receive_request(calls: PendingCalls, **members: Any) -> InboundRequest:
    event = only(calls.receive(frame(**members)))
    assert isinstance(event, RequestReceived)
    return event.request


def reply(events: Sequence[Event]) -> dict[str, Any]:
    event = only(events)
    assert isinstance(event, MessageRejected)
    assert event.reason
    return json.loads(event.response)


def sent(text: bytes | None) -> dict[str, Any]:
    assert text is not None
    return json.loads(text)


def is_ignored(events: Sequence[Event], is_normal: bool = False) -> bool:
    event = only(events)
    return isinstance(event, MessageIgnored) and bool(event.reason) and event.is_normal is is_normal


class TestAsking:
    @pytest.mark.requirement("RPC-01", "RPC-03", "RPC-07")
    def test_our_ids_are_integers_from_zero(self):
        calls = PendingCalls()
        assert calls.request("initialize", {"protocolVersion": 1}) == (
            0,
            b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}',
        )
        assert calls.request("session/new")[0] == 1
        assert calls.notify("session/cancel", {}) == b'{"jsonrpc":"2.0","method":"session/cancel","params":{}}'
        assert calls.outbound == 2

    @pytest.mark.requirement("RPC-02", "RPC-04")
    def test_an_answer_ends_its_request(self):
        calls = PendingCalls()
        number, _ = calls.request("session/new")
        assert only(calls.receive(frame(id=number, result={"a": 1}))) == ResultReceived(
            0, "session/new", Raw(b'{"a": 1}')
        )
        assert calls.outbound == 0

    @pytest.mark.requirement("RPC-05", "RPC-31", "RPC-47")
    def test_an_error_ends_its_request(self):
        calls = PendingCalls()
        calls.request("session/new")
        calls.request("session/new")
        first = only(calls.receive(frame(id=0, error={"code": -32000, "message": "Log in"})))
        second = only(calls.receive(frame(id=1, error={"code": 400, "message": "Odd", "data": None})))
        assert isinstance(first, ErrorReceived)
        assert isinstance(first.error, AuthRequired)
        assert isinstance(second, ErrorReceived)
        assert isinstance(second.error, RequestFailed)
        assert second.error.to_error() == (400, "Odd", None)

    def test_answers_may_come_in_any_order(self):
        calls = PendingCalls()
        numbers = [calls.request("m")[0] for _ in range(3)]
        events = [only(calls.receive(frame(id=number, result=number))) for number in reversed(numbers)]
        assert [event.id for event in events if isinstance(event, ResultReceived)] == [2, 1, 0]

    @pytest.mark.parametrize("request_id", [5, "0", None, 0.5, "nobody"])
    def test_an_answer_nobody_asked_for_is_ignored(self, request_id: object):
        calls = PendingCalls()
        calls.request("m")
        assert is_ignored(calls.receive(frame(id=request_id, result={})))
        assert is_ignored(calls.receive(frame(id=request_id, error={"code": 1, "message": ""})))
        assert calls.outbound == 1

    def test_a_second_answer_is_ignored(self):
        calls = PendingCalls()
        calls.request("m")
        calls.receive(frame(id=0, result={}))
        assert is_ignored(calls.receive(frame(id=0, result={})))

    def test_an_error_without_an_id_is_survived(self):
        """FN-74: an error with `id: null` fails no request."""
        calls = PendingCalls()
        calls.request("m")
        event = only(calls.receive(frame(id=None, error={"code": -32600, "message": "What is that?"})))
        assert isinstance(event, MessageIgnored)
        assert "What is that?" in event.reason
        assert calls.outbound == 1

    @pytest.mark.parametrize(
        "members",
        [
            {"error": "no"},
            {"error": {"code": "E", "message": "no"}},
            {"result": {}, "error": {"code": 1, "message": "no"}},
            {"result": {}, "jsonrpc": "1.0"},
            {},
        ],
    )
    def test_a_malformed_answer_is_never_answered_but_nobody_waits_for_ever(self, members: dict[str, Any]):
        calls = PendingCalls()
        calls.request("session/prompt")
        event = only(calls.receive(frame(**{"id": 0, **members})))
        assert isinstance(event, ErrorReceived)
        assert (event.id, event.method) == (0, "session/prompt")
        assert isinstance(event.error, Malformed)
        assert calls.outbound == 0

    @pytest.mark.parametrize("members", [{"result": {}}, {"id": 9, "error": "no"}, {"id": True, "result": {}}])
    def test_a_malformed_response_to_nothing_is_ignored(self, members: dict[str, Any]):
        assert is_ignored(PendingCalls().receive(frame(**members)))

    def test_what_cannot_be_encoded_is_raised_and_leaves_nothing_open(self):
        calls = PendingCalls()
        with pytest.raises(Unencodable):
            calls.request("m", {"amount": math.nan})
        with pytest.raises(Unencodable):
            calls.notify("m", object())
        assert calls.outbound == 0
        assert calls.request("m")[0] == 0


class TestCancelling:
    def test_we_cancel_by_the_id_of_our_request_and_still_get_an_answer(self):
        calls = PendingCalls()
        number, _ = calls.request("m")
        assert sent(calls.cancel(number)) == {
            "jsonrpc": "2.0",
            "method": "$/cancel_request",
            "params": {"requestId": 0},
        }
        event = only(calls.receive(frame(id=0, error={"code": -32800, "message": "Cancelled"})))
        assert isinstance(event, ErrorReceived)
        assert isinstance(event.error, RequestCancelled)

    def test_there_is_nothing_to_cancel_once_the_answer_is_there(self):
        calls = PendingCalls()
        number, _ = calls.request("m")
        calls.receive(frame(id=0, result={}))
        assert calls.cancel(number) is None

    @pytest.mark.parametrize("late", [{"result": {}}, {"error": {"code": -32800, "message": ""}}, {"error": "no"}])
    def test_a_late_answer_is_ignored_quietly(self, late: dict[str, Any]):
        calls = PendingCalls()
        number, _ = calls.request("m")
        calls.cancel(number)
        calls.forget(number)
        calls.forget(number)
        assert is_ignored(calls.receive(frame(id=0, **late)), is_normal=True)
        assert is_ignored(calls.receive(frame(id=0, **late)))

    def test_the_memory_of_forgotten_requests_is_bounded(self):
        calls = PendingCalls()
        for _ in range(FORGOTTEN_LIMIT + 10):
            calls.forget(calls.request("m")[0])
        assert len(calls._forgotten) == FORGOTTEN_LIMIT
        assert is_ignored(calls.receive(frame(id=0, result={})))
        assert is_ignored(calls.receive(frame(id=FORGOTTEN_LIMIT, result={})), is_normal=True)

    @pytest.mark.parametrize("request_id", [0, 7, "0b6c1a52-7a2e-4a35-9f62-0d1f0b1c2d3e", "", 1.5])
    def test_the_peer_cancels_a_request_and_is_still_answered(self, request_id: object):
        """FN-98: `$/cancel_request` is honoured, once."""
        calls = PendingCalls()
        request = receive_request(calls, id=request_id, method="session/request_permission", params={})
        cancel = frame(method="$/cancel_request", params={"requestId": request_id})
        event = only(calls.receive(cancel))
        assert isinstance(event, CancelRequested)
        assert event.request is request
        assert request.is_cancelled
        assert is_ignored(calls.receive(cancel), is_normal=True)
        answer = sent(calls.fail(request, RequestCancelled()))
        assert (answer["id"], answer["error"]["code"]) == (request_id, -32800)

    def test_a_cancel_that_crosses_the_answer_is_ignored(self):
        calls = PendingCalls()
        calls.respond(receive_request(calls, id=1, method="m"), {})
        assert is_ignored(calls.receive(frame(method="$/cancel_request", params={"requestId": 1})), is_normal=True)

    @pytest.mark.parametrize("params", [{}, {"requestId": []}, {"requestId": True}, [1], None, {"requestId": "1"}])
    def test_a_cancel_of_nothing_is_never_answered(self, params: object):
        calls = PendingCalls()
        receive_request(calls, id=1, method="m")
        assert isinstance(only(calls.receive(frame(method="$/cancel_request", params=params))), MessageIgnored)
        assert calls.inbound == 1

    def test_the_directions_do_not_mix(self):
        calls = PendingCalls()
        calls.request("m")
        assert isinstance(
            only(calls.receive(frame(method="$/cancel_request", params={"requestId": 0}))), MessageIgnored
        )
        assert calls.outbound == 1

    def test_other_dollar_notifications_are_ignored(self):
        assert is_ignored(PendingCalls().receive(frame(method="$/progress", params={})))

    def test_a_dollar_request_is_a_request(self):
        assert receive_request(PendingCalls(), id=1, method="$/cancel_request", params={}).method == "$/cancel_request"


class TestServing:
    @pytest.mark.requirement("RPC-03", "RPC-04", "RPC-07")
    @pytest.mark.parametrize(
        "request_id", [0, -1, 2**53 + 1, 2**64, "", "0", "0b6c1a52-7a2e-4a35-9f62-0d1f0b1c2d3e", None, 1.5]
    )
    def test_a_request_is_answered_with_its_own_id(self, request_id: object):
        """FN-91: 0 and UUID strings are ids."""
        calls = PendingCalls()
        request = receive_request(calls, id=request_id, method="m", params={"a": 1})
        assert (request.id, request.method, bytes(request.params)) == (request_id, "m", b'{"a": 1}')
        answer = sent(calls.respond(request, {"ok": True}))
        assert answer == {"jsonrpc": "2.0", "id": request_id, "result": {"ok": True}}
        assert calls.inbound == 0

    def test_ids_are_echoed_digit_by_digit(self):
        """FN-47: ids above 2^53 come back as they were."""
        calls = PendingCalls()
        for digits in (b"9007199254740993", b"18446744073709551617", b"-9223372036854775809"):
            event = only(calls.receive(b'{"jsonrpc":"2.0","id":%s,"method":"m"}' % digits))
            assert isinstance(event, RequestReceived)
            assert calls.respond(event.request, {}) == b'{"jsonrpc":"2.0","id":%s,"result":{}}' % digits

    def test_string_ids_and_extra_members_are_fine(self):
        """FN-75: string ids, and members nobody defined."""
        calls = PendingCalls()
        request = receive_request(calls, id="req-1", method="initialize", params={"clientInfo": 5}, meta={}, sender="x")
        assert sent(calls.respond(request, {}))["id"] == "req-1"

    @pytest.mark.requirement("RPC-05")
    def test_a_handlers_error_is_the_answer(self):
        calls = PendingCalls()
        request = receive_request(calls, id=4, method="m")
        assert sent(calls.fail(request, InvalidParams("too long", "$.name")))["error"] == {
            "code": -32602,
            "message": "Invalid params at $.name: too long",
            "data": {"field": "$.name", "reason": "too long"},
        }

    def test_methods_nobody_knows_are_left_to_the_layer_above(self):
        """FN-98: vendor methods, with and without an underscore, come through with their names."""
        calls = PendingCalls()
        for method in ("craft/drainMidTurnQueue", "_x.ai/ask_user_question", ""):
            request = receive_request(calls, id=1, method=method)
            assert request.method == method
            assert sent(calls.fail(request, MethodNotFound(method)))["error"]["data"] == {"method": method}

    def test_a_second_answer_is_not_sent(self):
        calls = PendingCalls()
        request = receive_request(calls, id=1, method="m")
        assert calls.respond(request, {}) is not None
        assert calls.respond(request, {}) is None
        assert calls.fail(request, RequestCancelled()) is None
        again = receive_request(calls, id=1, method="m")
        assert calls.respond(request, {}) is None
        assert calls.respond(again, {}) is not None

    def test_pipelined_requests_are_all_received(self):
        """FN-07: the second does not wait for the first to be answered."""
        calls = PendingCalls()
        first = receive_request(calls, id=0, method="initialize", params={})
        second = receive_request(calls, id=1, method="session/new", params={})
        assert calls.inbound == 2
        assert sent(calls.respond(second, {}))["id"] == 1
        assert sent(calls.respond(first, {}))["id"] == 0

    @pytest.mark.requirement("RPC-08", "RPC-09")
    def test_each_direction_has_its_own_ids(self):
        calls = PendingCalls()
        number, _ = calls.request("session/prompt")
        request = receive_request(calls, id=number, method="fs/read_text_file", params={})
        assert sent(calls.respond(request, {}))["id"] == number
        assert isinstance(only(calls.receive(frame(id=number, result={}))), ResultReceived)

    @pytest.mark.requirement("RPC-08")
    @pytest.mark.parametrize("request_id", [0, "a"])
    def test_an_id_that_is_still_open_is_refused_without_one(self, request_id: object):
        calls = PendingCalls()
        first = receive_request(calls, id=request_id, method="m")
        for members in ({}, {"params": []}, {"jsonrpc": "1.0"}):
            answer = reply(calls.receive(frame(id=request_id, **{"method": "m", **members})))
            assert (answer["id"], answer["error"]["code"]) == (None, -32600)
        assert sent(calls.respond(first, {}))["id"] == request_id
        receive_request(calls, id=request_id, method="m")

    def test_one_and_one_point_zero_are_the_same_id(self):
        calls = PendingCalls()
        receive_request(calls, id=1, method="m")
        assert reply(calls.receive(frame(id=1.0, method="m")))["error"]["code"] == -32600
        receive_request(calls, id="1", method="m")

    def test_each_null_id_is_a_request_of_its_own(self):
        calls = PendingCalls()
        first, second = (receive_request(calls, id=None, method=method) for method in ("a", "b"))
        assert calls.inbound == 2
        assert sent(calls.respond(second, "b")) == {"jsonrpc": "2.0", "id": None, "result": "b"}
        assert calls.respond(second, "b") is None
        assert sent(calls.respond(first, "a"))["result"] == "a"

    @pytest.mark.parametrize("request_id", [None, 1.5])
    def test_v2_refuses_null_and_fractional_ids(self, request_id: object):
        calls = PendingCalls()
        calls.null_ids_allowed = False
        for version in ("2.0", "1.0"):
            answer = reply(calls.receive(frame(jsonrpc=version, id=request_id, method="m")))
            assert (answer["id"], answer["error"]["code"]) == (None, -32600)
        for fine in (0, "", 2.0, 2**70):
            receive_request(calls, id=fine, method="m")

    @pytest.mark.requirement("RPC-35", "AMB-31", "RPC-49")
    @pytest.mark.parametrize("params", [[], [1], "text", 5, True])
    def test_params_that_are_no_object_are_invalid(self, params: object):
        answer = reply(PendingCalls().receive(frame(id=3, method="m", params=params)))
        assert (answer["id"], answer["error"]["code"]) == (3, -32602)

    @pytest.mark.requirement("AMB-31")
    @pytest.mark.parametrize("members", [{}, {"params": None}])
    def test_missing_params_are_an_empty_object(self, members: dict[str, Any]):
        calls = PendingCalls()
        assert bytes(receive_request(calls, id=1, method="m", **members).params) == b"{}"
        event = only(calls.receive(frame(method="m", **members)))
        assert isinstance(event, NotificationReceived)
        assert bytes(event.params) == b"{}"

    def test_a_request_can_let_go_of_its_frame(self):
        request = receive_request(PendingCalls(), id=1, method="m", params={"a": "b"})
        request.release()
        assert bytes(request.params) == b"{}"

    @pytest.mark.requirement("RPC-25", "RPC-37", "RPC-38", "RPC-50")
    @pytest.mark.parametrize("result", [object(), {"amount": math.inf}, {"secret": {1, object()}}])
    def test_an_answer_that_cannot_be_encoded_is_an_internal_error_for_that_request(self, result: object):
        """FN-35, FN-41: the connection lives, and the peer learns nothing but a correlation id."""
        calls = PendingCalls(iter(["c-1", "c-2"]))
        for correlation_id in ("c-1", "c-2"):
            request = receive_request(calls, id=1, method="m")
            assert sent(calls.respond(request, result))["error"] == {
                "code": -32603,
                "message": f"Internal error (correlation id {correlation_id})",
                "data": {"correlationId": correlation_id},
            }
            assert request.failure is not None
            assert isinstance(request.failure.__cause__, Unencodable)

    def test_an_error_whose_data_cannot_be_encoded_is_an_internal_error(self):
        calls = PendingCalls()
        request = receive_request(calls, id=1, method="m")
        answer = sent(calls.fail(request, RequestFailed(1, "m", object())))
        assert answer["error"]["code"] == -32603
        assert answer["error"]["data"]["correlationId"]

    def test_no_result_is_null(self):
        calls = PendingCalls()
        answer = calls.respond(receive_request(calls, id=1, method="m"), msgspec.UNSET)
        assert sent(answer) == {"jsonrpc": "2.0", "id": 1, "result": None}


class TestNotifications:
    @pytest.mark.requirement("RPC-02", "RPC-06")
    def test_a_notification_is_handed_on(self):
        event = only(PendingCalls().receive(frame(method="session/update", params={"a": 1})))
        assert event == NotificationReceived("session/update", Raw(b'{"a": 1}'))

    @pytest.mark.requirement("RPC-06")
    @pytest.mark.parametrize(
        "members", [{"params": []}, {"params": 5}, {"jsonrpc": "1.0"}, {"jsonrpc": None, "params": {}}]
    )
    def test_a_bad_notification_is_never_answered(self, members: dict[str, Any]):
        assert is_ignored(PendingCalls().receive(frame(**{"method": "m", **members})))

    def test_a_notification_without_the_version_is_dropped(self):
        assert is_ignored(PendingCalls().receive(b'{"method":"m","params":{}}'))


class TestGarbage:
    @pytest.mark.requirement("RPC-21", "RPC-54")
    @pytest.mark.parametrize(
        "text", [b"", b"npm WARN", b"{", b'[{"jsonrpc":"2.0","method":"m"},', b"\xff\xfe", b"[" * 1_000_000]
    )
    def test_what_is_not_json_gets_one_parse_error(self, text: bytes):
        """FN-32: the sender is told, the connection lives."""
        calls = PendingCalls()
        answer = reply(calls.receive(text))
        assert (answer["jsonrpc"], answer["id"], answer["error"]["code"]) == ("2.0", None, -32700)
        receive_request(calls, id=0, method="m")

    @pytest.mark.requirement("RPC-22")
    @pytest.mark.parametrize("value", [1, "x", None, {}, {"foo": "boo"}, {"jsonrpc": "2.0", "id": 5}, {"id": 5}])
    def test_json_that_is_no_message_gets_one_invalid_request(self, value: object):
        answer = reply(PendingCalls().receive(json.dumps(value).encode()))
        assert (answer["id"], answer["error"]["code"]) == (None, -32600)

    @pytest.mark.requirement("RPC-01")
    @pytest.mark.parametrize("request_id", [0, "a", None, 1.5])
    def test_a_request_without_the_version_is_refused_with_its_id(self, request_id: object):
        answer = reply(PendingCalls().receive(json.dumps({"id": request_id, "method": "m"}).encode()))
        assert (answer["id"], answer["error"]["code"]) == (request_id, -32600)

    def test_our_own_complaint_is_not_complained_about(self):
        complaint = only(PendingCalls().receive(b"garbage"))
        assert isinstance(complaint, MessageRejected)
        assert is_ignored(PendingCalls().receive(complaint.response))

    def test_bytes_that_never_became_a_frame_are_refused_too(self):
        text = PendingCalls().reject(FrameRejected("the frame is longer than 67108864 bytes"))
        assert json.loads(text) == {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": -32700, "message": "Parse error: the frame is longer than 67108864 bytes"},
        }

    def test_a_very_long_method_is_not_logged_in_full(self):
        event = only(PendingCalls().receive(frame(method="m" * 100_000, params=[])))
        assert isinstance(event, MessageIgnored)
        assert len(event.reason) < 200


class TestHangingUp:
    def test_everything_open_is_handed_back(self):
        calls = PendingCalls()
        calls.request("session/new")
        calls.request("session/prompt")
        calls.receive(frame(id=0, result={}))
        requests = [receive_request(calls, id=request_id, method="m") for request_id in (0, None, "a")]
        left = calls.close()
        assert left.outbound == {1: "session/prompt"}
        assert left.inbound == requests
        assert (calls.outbound, calls.inbound) == (0, 0)

    def test_afterwards_nothing_is_received_answered_or_asked(self):
        calls = PendingCalls()
        calls.request("m")
        request = receive_request(calls, id=0, method="m")
        calls.close()
        for text in (frame(id=1, method="m"), frame(method="m", params={}), frame(id=0, result={}), b"[]", b"garbage"):
            assert calls.receive(text) == ()
        assert calls.respond(request, {}) is None
        for ask in (calls.request, calls.notify):
            with pytest.raises(ConnectionClosed):
                ask("m")
        with pytest.raises(ConnectionClosed):
            calls.cancel(0)
        with pytest.raises(ConnectionClosed):
            calls.batch([NotificationReceived("m")])
        assert calls.close() == OpenRequests({}, [])
