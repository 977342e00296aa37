"""A batch is answered with one array, once all of it is done, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accord.errors import Malformed, MethodNotFound, Unencodable
from accord.jsonrpc.messages import Notification
from accord.jsonrpc.pending_calls import (
    Answered,
    Ask,
    CancelRequested,
    Failed,
    Ignored,
    Incoming,
    NotificationReceived,
    PendingCalls,
    Reply,
    RequestReceived,
)


def call(method: object = "m", **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **members}


def answer(request_id: object, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, **(members or {"result": {}})}


def requests(events: Any) -> list[Incoming]:
    return [event.incoming for event in events if isinstance(event, RequestReceived)]


def receive(conversation: PendingCalls, *entries: Any) -> Any:
    return conversation.receive(json.dumps(entries).encode())


class TestReceived:
    @pytest.mark.requirement("RPC-52", "RPC-56", "RPC-57", "RPC-58", "RPC-59", "AMB-25")
    def test_one_array_answers_the_batch_once_all_requests_are_done(self):
        conversation = PendingCalls()
        first, second = requests(receive(conversation, call(id=1), call("n", params={}), call(id="b")))
        assert conversation.answer(second, "two") is None
        assert json.loads(conversation.fail(first, MethodNotFound("m")) or b"") == [
            answer("b", result="two"),
            answer(1, error={"code": -32601, "message": "Method not found: m", "data": {"method": "m"}}),
        ]
        assert conversation.serving == 0

    def test_events_come_in_the_order_of_the_array(self):
        events = receive(PendingCalls(), call("a", params={}), call("b", id=1), call("c", params={}))
        names = [event.incoming.method if isinstance(event, RequestReceived) else event.method for event in events]
        assert names == ["a", "b", "c"]

    def test_a_batch_of_one_is_answered_with_an_array_of_one(self):
        conversation = PendingCalls()
        (request,) = requests(receive(conversation, call(id=1)))
        assert json.loads(conversation.answer(request, {}) or b"") == [answer(1)]

    @pytest.mark.requirement("RPC-06", "RPC-53", "RPC-61")
    def test_a_batch_of_notifications_is_not_answered(self):
        events = receive(PendingCalls(), call(params={}), call(params={}), call(params=[]), call(jsonrpc="1.0"))
        assert [type(event) for event in events] == [NotificationReceived, NotificationReceived, Ignored, Ignored]

    @pytest.mark.requirement("RPC-55")
    def test_an_empty_batch_gets_one_invalid_request_answer(self):
        (event,) = receive(PendingCalls())
        assert isinstance(event, Reply)
        error = json.loads(event.frame)
        assert (error["id"], error["error"]["code"]) == (None, -32600)

    @pytest.mark.requirement("RPC-62")
    @pytest.mark.parametrize(
        "entry", [1, "x", None, [], [call(id=1)], {}, call(5, id=1), call(id=[]), call(id=1, jsonrpc="1")]
    )
    def test_each_bad_entry_gets_its_own_error_without_an_id(self, entry: object):
        conversation = PendingCalls()
        events = receive(conversation, entry, call(id=7), entry)
        assert [type(event) for event in events] == [Ignored, RequestReceived, Ignored]
        (request,) = requests(events)
        answers = json.loads(conversation.answer(request, {}) or b"")
        assert [(one["id"], one.get("error", {}).get("code")) for one in answers] == [
            (None, -32600),
            (None, -32600),
            (7, None),
        ]

    @pytest.mark.requirement("RPC-62")
    def test_only_bad_entries_are_answered_at_once(self):
        *_, event = receive(PendingCalls(), 1, 2, 3)
        assert isinstance(event, Reply)
        assert [(one["id"], one["error"]["code"]) for one in json.loads(event.frame)] == [(None, -32600)] * 3

    def test_a_request_with_bad_params_is_a_good_entry_and_keeps_its_id(self):
        *_, event = receive(PendingCalls(), call(id=3, params=[]))
        assert isinstance(event, Reply)
        (error,) = json.loads(event.frame)
        assert (error["id"], error["error"]["code"]) == (3, -32602)

    def test_the_same_id_twice_in_a_batch_is_refused_once(self):
        conversation = PendingCalls()
        events = receive(conversation, call(id=1), call(id=1))
        (request,) = requests(events)
        answers = json.loads(conversation.answer(request, {}) or b"")
        assert [(one["id"], "error" in one) for one in answers] == [(None, True), (1, False)]

    @pytest.mark.requirement("AMB-25")
    def test_null_ids_in_a_batch_follow_the_version(self):
        conversation = PendingCalls()
        first, second = requests(receive(conversation, call(id=None), call(id=None)))
        assert conversation.answer(first, 1) is None
        assert json.loads(conversation.answer(second, 2) or b"") == [answer(None, result=1), answer(None, result=2)]
        conversation.null_ids_allowed = False
        *_, event = receive(conversation, call(id=None))
        assert isinstance(event, Reply)
        assert json.loads(event.frame)[0]["error"]["code"] == -32600

    def test_a_request_of_a_batch_can_be_cancelled_from_within_it(self):
        conversation = PendingCalls()
        events = receive(conversation, call(id=1), call("$/cancel_request", params={"requestId": 1}))
        assert [type(event) for event in events] == [RequestReceived, CancelRequested]

    def test_an_answer_that_cannot_be_encoded_spoils_only_itself(self):
        """FN-35: inside a batch too."""
        conversation = PendingCalls()
        first, second = requests(receive(conversation, call(id=1), call(id=2)))
        assert conversation.answer(first, object()) is None
        answers = json.loads(conversation.answer(second, {}) or b"")
        assert [one.get("error", {}).get("code") for one in answers] == [-32603, None]

    def test_batches_do_not_mix(self):
        conversation = PendingCalls()
        (first, _second) = requests(receive(conversation, call(id=1), call(id=2)))
        (third,) = requests(receive(conversation, call(id=3)))
        assert conversation.answer(first, {}) is None
        assert json.loads(conversation.answer(third, {}) or b"") == [answer(3)]
        assert conversation.hang_up().serving == [_second]


class TestSent:
    @pytest.mark.requirement("RPC-52", "RPC-53")
    def test_requests_and_notifications_go_out_in_one_array(self):
        conversation = PendingCalls()
        conversation.request("initialize")
        ids, frame = conversation.batch([Ask("a", {"x": 1}), Notification("n", {}), Ask("b")])
        assert ids == [1, 2]
        assert json.loads(frame) == [call("a", id=1, params={"x": 1}), call("n", params={}), call("b", id=2)]
        assert conversation.asked == 3
        assert conversation.request("next")[0] == 3

    def test_a_batch_of_notifications_waits_for_nothing(self):
        conversation = PendingCalls()
        ids, _ = conversation.batch([Notification("n", {})])
        assert ids == []
        assert conversation.asked == 0

    @pytest.mark.requirement("RPC-59", "RPC-60", "RPC-64")
    def test_the_answers_may_come_as_an_array_in_any_order(self):
        conversation = PendingCalls()
        conversation.batch([Ask("a"), Ask("b")])
        events = receive(conversation, answer(1), answer(0, error={"code": 1, "message": ""}))
        assert [(type(event), event.id, event.method) for event in events] == [(Answered, 1, "b"), (Failed, 0, "a")]

    @pytest.mark.requirement("RPC-60")
    def test_the_answers_may_come_singly(self):
        conversation = PendingCalls()
        ids, _ = conversation.batch([Ask("a"), Ask("b")])
        for request_id in ids:
            (event,) = conversation.receive(json.dumps(answer(request_id)).encode())
            assert isinstance(event, Answered)
        assert conversation.asked == 0

    @pytest.mark.requirement("RPC-64")
    def test_an_array_of_answers_is_never_answered(self):
        conversation = PendingCalls()
        conversation.batch([Ask("a")])
        events = receive(conversation, answer(0, error="no"), answer(5), answer(None, error={"code": 1, "message": ""}))
        assert [type(event) for event in events] == [Failed, Ignored, Ignored]
        assert isinstance(events[0].error, Malformed)

    @pytest.mark.requirement("RPC-64")
    def test_answers_and_calls_may_share_an_array(self):
        conversation = PendingCalls()
        conversation.request("a")
        events = receive(conversation, answer(0), call(id=0))
        assert [type(event) for event in events] == [Answered, RequestReceived]

    @pytest.mark.requirement("RPC-63")
    @pytest.mark.parametrize("method", ["initialize", "authenticate", "session/new", "session/load", "session/prompt"])
    def test_what_changes_the_state_of_the_connection_goes_alone(self, method: str):
        conversation = PendingCalls()
        with pytest.raises(ValueError, match=method):
            conversation.batch([Ask("a"), Ask(method, {})])
        assert conversation.asked == 0

    def test_an_empty_batch_is_not_sent(self):
        with pytest.raises(ValueError):
            PendingCalls().batch([])

    def test_a_batch_that_cannot_be_encoded_leaves_nothing_open(self):
        conversation = PendingCalls()
        with pytest.raises(Unencodable, match="The batch"):
            conversation.batch([Ask("a"), Ask("b", object())])
        assert conversation.asked == 0
