"""A batch is answered with one array, once all of it is done, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accord.errors import Malformed, MethodNotFound, Unencodable
from accord.jsonrpc.batches import BatchRequest
from accord.jsonrpc.events import (
    CancelRequested,
    ErrorReceived,
    InboundRequest,
    MessageIgnored,
    MessageRejected,
    NotificationReceived,
    RequestReceived,
    ResultReceived,
)
from accord.jsonrpc.messages import Notification
from accord.jsonrpc.pending_calls import PendingCalls


def call(method: object = "m", **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **members}


def answer(request_id: object, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, **(members or {"result": {}})}


def requests(events: Any) -> list[InboundRequest]:
    return [event.request for event in events if isinstance(event, RequestReceived)]


def receive(calls: PendingCalls, *entries: Any) -> Any:
    return calls.receive(json.dumps(entries).encode())


class TestReceived:
    @pytest.mark.requirement("RPC-52", "RPC-56", "RPC-57", "RPC-58", "RPC-59", "AMB-25")
    def test_one_array_answers_the_batch_once_all_requests_are_done(self):
        calls = PendingCalls()
        first, second = requests(receive(calls, call(id=1), call("n", params={}), call(id="b")))
        assert calls.respond(second, "two") is None
        assert json.loads(calls.fail(first, MethodNotFound("m")) or b"") == [
            answer("b", result="two"),
            answer(1, error={"code": -32601, "message": "Method not found: m", "data": {"method": "m"}}),
        ]
        assert calls.inbound == 0

    def test_events_come_in_the_order_of_the_array(self):
        events = receive(PendingCalls(), call("a", params={}), call("b", id=1), call("c", params={}))
        names = [event.request.method if isinstance(event, RequestReceived) else event.method for event in events]
        assert names == ["a", "b", "c"]

    def test_a_batch_of_one_is_answered_with_an_array_of_one(self):
        calls = PendingCalls()
        (request,) = requests(receive(calls, call(id=1)))
        assert json.loads(calls.respond(request, {}) or b"") == [answer(1)]

    @pytest.mark.requirement("RPC-06", "RPC-53", "RPC-61")
    def test_a_batch_of_notifications_is_not_answered(self):
        events = receive(PendingCalls(), call(params={}), call(params={}), call(params=[]), call(jsonrpc="1.0"))
        assert [type(event) for event in events] == [
            NotificationReceived,
            NotificationReceived,
            MessageIgnored,
            MessageIgnored,
        ]

    @pytest.mark.requirement("RPC-55")
    def test_an_empty_batch_gets_one_invalid_request_answer(self):
        (event,) = receive(PendingCalls())
        assert isinstance(event, MessageRejected)
        error = json.loads(event.response)
        assert (error["id"], error["error"]["code"]) == (None, -32600)

    @pytest.mark.requirement("RPC-62")
    @pytest.mark.parametrize(
        "entry", [1, "x", None, [], [call(id=1)], {}, call(5, id=1), call(id=[]), call(id=1, jsonrpc="1")]
    )
    def test_each_bad_entry_gets_its_own_error_without_an_id(self, entry: object):
        calls = PendingCalls()
        events = receive(calls, entry, call(id=7), entry)
        assert [type(event) for event in events] == [MessageIgnored, RequestReceived, MessageIgnored]
        (request,) = requests(events)
        answers = json.loads(calls.respond(request, {}) or b"")
        assert [(one["id"], one.get("error", {}).get("code")) for one in answers] == [
            (None, -32600),
            (None, -32600),
            (7, None),
        ]

    @pytest.mark.requirement("RPC-62")
    def test_only_bad_entries_are_answered_at_once(self):
        *_, event = receive(PendingCalls(), 1, 2, 3)
        assert isinstance(event, MessageRejected)
        assert [(one["id"], one["error"]["code"]) for one in json.loads(event.response)] == [(None, -32600)] * 3

    def test_a_request_with_bad_params_is_a_good_entry_and_keeps_its_id(self):
        *_, event = receive(PendingCalls(), call(id=3, params=[]))
        assert isinstance(event, MessageRejected)
        (error,) = json.loads(event.response)
        assert (error["id"], error["error"]["code"]) == (3, -32602)

    def test_the_same_id_twice_in_a_batch_is_refused_once(self):
        calls = PendingCalls()
        events = receive(calls, call(id=1), call(id=1))
        (request,) = requests(events)
        answers = json.loads(calls.respond(request, {}) or b"")
        assert [(one["id"], "error" in one) for one in answers] == [(None, True), (1, False)]

    @pytest.mark.requirement("AMB-25")
    def test_null_ids_in_a_batch_follow_the_version(self):
        calls = PendingCalls()
        first, second = requests(receive(calls, call(id=None), call(id=None)))
        assert calls.respond(first, 1) is None
        assert json.loads(calls.respond(second, 2) or b"") == [answer(None, result=1), answer(None, result=2)]
        calls.null_ids_allowed = False
        *_, event = receive(calls, call(id=None))
        assert isinstance(event, MessageRejected)
        assert json.loads(event.response)[0]["error"]["code"] == -32600

    def test_a_request_of_a_batch_can_be_cancelled_from_within_it(self):
        calls = PendingCalls()
        events = receive(calls, call(id=1), call("$/cancel_request", params={"requestId": 1}))
        assert [type(event) for event in events] == [RequestReceived, CancelRequested]

    def test_an_answer_that_cannot_be_encoded_spoils_only_itself(self):
        """FN-35: inside a batch too."""
        calls = PendingCalls()
        first, second = requests(receive(calls, call(id=1), call(id=2)))
        assert calls.respond(first, object()) is None
        answers = json.loads(calls.respond(second, {}) or b"")
        assert [one.get("error", {}).get("code") for one in answers] == [-32603, None]

    def test_batches_do_not_mix(self):
        calls = PendingCalls()
        (first, _second) = requests(receive(calls, call(id=1), call(id=2)))
        (third,) = requests(receive(calls, call(id=3)))
        assert calls.respond(first, {}) is None
        assert json.loads(calls.respond(third, {}) or b"") == [answer(3)]
        assert calls.close().inbound == [_second]


class TestSent:
    @pytest.mark.requirement("RPC-52", "RPC-53")
    def test_requests_and_notifications_go_out_in_one_array(self):
        calls = PendingCalls()
        calls.request("initialize")
        ids, frame = calls.batch([BatchRequest("a", {"x": 1}), Notification("n", {}), BatchRequest("b")])
        assert ids == [1, 2]
        assert json.loads(frame) == [call("a", id=1, params={"x": 1}), call("n", params={}), call("b", id=2)]
        assert calls.outbound == 3
        assert calls.request("next")[0] == 3

    def test_a_batch_of_notifications_waits_for_nothing(self):
        calls = PendingCalls()
        ids, _ = calls.batch([Notification("n", {})])
        assert ids == []
        assert calls.outbound == 0

    @pytest.mark.requirement("RPC-59", "RPC-60", "RPC-64")
    def test_the_answers_may_come_as_an_array_in_any_order(self):
        calls = PendingCalls()
        calls.batch([BatchRequest("a"), BatchRequest("b")])
        events = receive(calls, answer(1), answer(0, error={"code": 1, "message": ""}))
        assert [(type(event), event.id, event.method) for event in events] == [
            (ResultReceived, 1, "b"),
            (ErrorReceived, 0, "a"),
        ]

    @pytest.mark.requirement("RPC-60")
    def test_the_answers_may_come_singly(self):
        calls = PendingCalls()
        ids, _ = calls.batch([BatchRequest("a"), BatchRequest("b")])
        for request_id in ids:
            (event,) = calls.receive(json.dumps(answer(request_id)).encode())
            assert isinstance(event, ResultReceived)
        assert calls.outbound == 0

    @pytest.mark.requirement("RPC-64")
    def test_an_array_of_answers_is_never_answered(self):
        calls = PendingCalls()
        calls.batch([BatchRequest("a")])
        events = receive(calls, answer(0, error="no"), answer(5), answer(None, error={"code": 1, "message": ""}))
        assert [type(event) for event in events] == [ErrorReceived, MessageIgnored, MessageIgnored]
        assert isinstance(events[0].error, Malformed)

    @pytest.mark.requirement("RPC-64")
    def test_answers_and_calls_may_share_an_array(self):
        calls = PendingCalls()
        calls.request("a")
        events = receive(calls, answer(0), call(id=0))
        assert [type(event) for event in events] == [ResultReceived, RequestReceived]

    @pytest.mark.requirement("RPC-63")
    @pytest.mark.parametrize("method", ["initialize", "authenticate", "session/new", "session/load", "session/prompt"])
    def test_what_changes_the_state_of_the_connection_goes_alone(self, method: str):
        calls = PendingCalls()
        with pytest.raises(ValueError, match=method):
            calls.batch([BatchRequest("a"), BatchRequest(method, {})])
        assert calls.outbound == 0

    def test_an_empty_batch_is_not_sent(self):
        with pytest.raises(ValueError):
            PendingCalls().batch([])

    def test_a_batch_that_cannot_be_encoded_leaves_nothing_open(self):
        calls = PendingCalls()
        with pytest.raises(Unencodable, match="The batch"):
            calls.batch([BatchRequest("a"), BatchRequest("b", object())])
        assert calls.outbound == 0
