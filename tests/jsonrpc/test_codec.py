"""What a frame is taken for, and what a message looks like on the wire."""

from __future__ import annotations

import json
import math
import tracemalloc
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Raw

from accord.errors import Unencodable
from accord.jsonrpc.batches import BATCH_LIMIT, Batch
from accord.jsonrpc.codec import decode, encode
from accord.jsonrpc.messages import (
    DroppedMessage,
    ErrorObject,
    ErrorResponse,
    InvalidMessage,
    Notification,
    Request,
    ResultResponse,
)


def frame(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


class TestReading:
    @pytest.mark.requirement("RPC-03")
    def test_a_call_with_an_id_is_a_request_and_without_one_a_notification(self):
        request = decode(frame(id=7, method="session/prompt", params={"a": 1}))
        assert isinstance(request, Request)
        assert (request.id, request.method, bytes(request.params)) == (7, "session/prompt", b'{"a": 1}')
        notification = decode(frame(method="session/update", params={}))
        assert isinstance(notification, Notification)
        assert notification.method == "session/update"

    @pytest.mark.requirement("RPC-04", "RPC-05")
    def test_a_response_has_a_result_or_an_error(self):
        success = decode(frame(id=7, result=None))
        assert isinstance(success, ResultResponse)
        assert (success.id, bytes(success.result)) == (7, b"null")
        failure = decode(frame(id=7, error={"code": -32000, "message": "No", "data": {"reason": "auth_required"}}))
        assert failure == ErrorResponse(7, ErrorObject(-32000, "No", {"reason": "auth_required"}))

    def test_an_error_may_lack_its_message(self):
        assert decode(frame(id=7, error={"code": 400})) == ErrorResponse(7, ErrorObject(400))

    def test_a_null_beside_the_real_outcome_is_forgiven(self):
        assert isinstance(decode(frame(id=7, result={}, error=None)), ResultResponse)
        assert isinstance(decode(frame(id=7, result=None, error={"code": 1, "message": ""})), ErrorResponse)

    @pytest.mark.requirement("RPC-07")
    @pytest.mark.parametrize("request_id", [0, "", None, 2**53 + 1, 2**70, -1, 1.5, "0"])
    def test_an_id_is_kept_exactly(self, request_id: object):
        """FN-47: also above 2^53."""
        request = decode(frame(id=request_id, method="m"))
        assert isinstance(request, Request)
        assert request.id == request_id
        assert type(request.id) is type(request_id)
        assert json.loads(encode(ResultResponse(request.id, {})))["id"] == request_id

    def test_members_that_json_rpc_does_not_know_are_skipped(self):
        """FN-75: extra members."""
        assert decode(frame(method="m", trace="abc", params={}, extra=[1])) == Notification("m", msgspec.Raw(b"{}"))

    def test_the_last_of_a_repeated_member_counts(self):
        assert decode(b'{"jsonrpc":"2.0","method":"a","id":[],"id":1,"method":"b"}') == Request(1, "b", UNSET)
        assert isinstance(decode(b'{"jsonrpc":"2.0","id":[],"id":1,"result":{}}'), ResultResponse)

    @pytest.mark.parametrize("result", [{}, 1, {"code": "E"}, "no", None])
    def test_a_result_or_error_beside_a_method_is_an_extra_member(self, result: object):
        assert decode(frame(method="m", error=result)) == Notification("m", UNSET)


TOO_DEEP = 1_000_000
"""Python 3.11 follows some hundreds of levels, 3.14 as many as its stack has room for: over a hundred thousand."""


class TestBrokenFrames:
    @pytest.mark.requirement("RPC-21", "RPC-54")
    @pytest.mark.parametrize(
        "text",
        [
            b"",
            b" ",
            b"{",
            b"npm WARN deprecated",
            b'{"jsonrpc":"2.0","method":"m"} x',
            b'{"jsonrpc":"2.0","method":"m"}{"jsonrpc":"2.0","method":"m"}',
            b'{"jsonrpc":"2.0","method":"m","params":{"a":NaN}}',
            b'{"jsonrpc":"2.0","method":"m","params":{"a":Infinity}}',
            b'{"jsonrpc":"2.0","method":"m","params":{"a":01}}',
            b'{"jsonrpc":"2.0","method":"m","params":{"a":"\n"}}',
            b"{'jsonrpc':'2.0'}",
            b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"m"}',
            '{"jsonrpc":"2.0","method":"m"}'.encode("utf-16"),
            b'{"jsonrpc":"2.0","method":"\xff"}',
            b'[{"jsonrpc":"2.0","method":"m"},',
            b'{"jsonrpc":"2.0","id":[],"method":"m",}',
            b"[" * TOO_DEEP,
            b'{"a":' * TOO_DEEP,
            b"[" * TOO_DEEP + b"]" * TOO_DEEP,
            b'{"jsonrpc":"2.0","method":"m","params":' + b"[" * TOO_DEEP + b"]" * TOO_DEEP + b"}",
        ],
        ids=lambda text: repr(text[:40]),
    )
    def test_what_is_not_json_is_a_parse_error(self, text: bytes):
        message = decode(text)
        assert isinstance(message, InvalidMessage)
        assert (message.code, message.id) == (-32700, UNSET)

    @pytest.mark.parametrize("depth", range(300, 1100, 7))
    def test_no_depth_of_nesting_raises(self, depth: int):
        nested = b"[" * depth + b"]" * depth
        for text in (
            nested,
            b'{"method":%s}' % nested,
            b'{"jsonrpc":1,"method":"m","params":%s}' % nested,
            b"[%s]" % nested,
        ):
            assert isinstance(decode(text), (InvalidMessage, DroppedMessage, Batch))

    def test_the_reason_does_not_quote_what_was_received(self):
        """FN-41: the malformed text does not go back."""
        message = decode(b'{"password":hunter2}')
        assert isinstance(message, InvalidMessage)
        assert "hunter2" not in message.reason
        assert "byte" in message.reason

    @pytest.mark.requirement("RPC-22")
    @pytest.mark.parametrize("value", [1, "text", None, True, 1.5])
    def test_json_that_is_no_object_is_an_invalid_request(self, value: object):
        """FN-32: a JSON scalar."""
        message = decode(json.dumps(value).encode())
        assert isinstance(message, InvalidMessage)
        assert (message.code, message.id) == (-32600, UNSET)

    @pytest.mark.requirement("RPC-01", "RPC-22", "AMB-30")
    @pytest.mark.parametrize("version", [b"", b'"jsonrpc":"1.0",', b'"jsonrpc":2.0,', b'"jsonrpc":null,'])
    def test_a_call_of_another_version_is_refused_with_its_id_or_dropped(self, version: bytes):
        request = decode(b'{%s"id":"a","method":"m"}' % version)
        assert isinstance(request, InvalidMessage)
        assert (request.code, request.id, request.is_call) == (-32600, "a", True)
        assert isinstance(decode(b'{%s"method":"m"}' % version), DroppedMessage)

    @pytest.mark.parametrize("request_id", [b"true", b"[]", b"{}", b"1e400", b"9" * 5000])
    def test_an_id_that_cannot_be_echoed_is_refused_without_one(self, request_id: bytes):
        message = decode(b'{"jsonrpc":"2.0","id":%s,"method":"m"}' % request_id)
        assert isinstance(message, InvalidMessage)
        assert (message.code, message.id) == (-32600, UNSET)

    @pytest.mark.parametrize("method", [1, None, ["m"], {}])
    def test_a_method_that_is_no_string_is_an_invalid_request(self, method: object):
        with_id, without_id = decode(frame(id=3, method=method)), decode(frame(method=method, params="bar"))
        assert isinstance(with_id, InvalidMessage)
        assert isinstance(without_id, InvalidMessage)
        assert (with_id.id, without_id.id) == (3, UNSET)

    @pytest.mark.parametrize("members", [{}, {"id": 5}, {"params": {}}, {"foo": "boo"}, {"id": []}])
    def test_an_object_that_is_neither_call_nor_response_is_an_invalid_request(self, members: dict[str, Any]):
        message = decode(frame(**members))
        assert isinstance(message, InvalidMessage)
        assert (message.code, message.is_call) == (-32600, False)

    @pytest.mark.parametrize(
        "members",
        [
            {"result": {}},
            {"id": 1, "error": None},
            {"id": 1, "error": "no"},
            {"id": 1, "error": {}},
            {"id": 1, "error": {"code": "E", "message": ""}},
            {"id": 1, "error": {"code": 1.5, "message": ""}},
            {"id": 1, "error": {"code": 1, "message": None}},
            {"id": 1, "result": {}, "error": {"code": 1, "message": ""}},
            {"id": True, "result": {}},
            {"id": [], "error": {"code": 1, "message": ""}},
            {"jsonrpc": "1.0", "id": 1, "result": {}},
        ],
    )
    def test_a_malformed_response_is_dropped_and_never_answered(self, members: dict[str, Any]):
        assert isinstance(decode(frame(**members)), DroppedMessage)

    def test_invalid_utf8_inside_params_is_left_to_whoever_reads_them(self):
        message = decode(b'{"jsonrpc":"2.0","method":"m","params":{"a":"\xff"}}')
        assert isinstance(message, Notification)
        with pytest.raises(ValueError):
            msgspec.json.decode(message.params)


class TestHalfAnEmoji:
    @pytest.mark.parametrize(
        ("text", "meaning"),
        [
            (rb"\ud83d", "\ufffd"),
            (rb"\ude00", "\ufffd"),
            (rb"\uD83Dx", "\ufffdx"),
            (rb"\ud83d\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd"),
            (rb"\ud83d\n", "\ufffd\n"),
            (rb"\ud83d\u0041", "\ufffdA"),
            (rb"\ud83d\ude00\ud83d", "\U0001f600\ufffd"),
            (rb"\\ud83d \ud83d", "\\ud83d \ufffd"),
            (rb"\\ud83d\ude00", "\\ud83d\ufffd"),
            (rb"\\\ud83d\ude00\ude00", "\\\U0001f600\ufffd"),
            (rb"\\\\\ud83d\\", "\\\\\ufffd\\"),
        ],
    )
    def test_it_becomes_a_replacement_character(self, text: bytes, meaning: str):
        message = decode(b'{"jsonrpc":"2.0","method":"m","params":{"text":"%s"}}' % text)
        assert isinstance(message, Notification)
        assert msgspec.json.decode(message.params) == {"text": meaning}

    def test_a_whole_emoji_is_untouched(self):
        text = b'{"jsonrpc":"2.0","method":"m","params":{"text":"\\ud83d\\ude00"}}'
        message = decode(text)
        assert isinstance(message, Notification)
        assert bytes(message.params) in text

    @pytest.mark.parametrize("text", [rb'{"a":"\ud83d', rb'{"a":"\ud83d"}}', b'{"a":"\0\0ud83d \\ud83d"}'])
    def test_what_is_broken_besides_stays_broken(self, text: bytes):
        message = decode(text)
        assert isinstance(message, InvalidMessage)
        assert message.code == -32700

    def test_in_what_we_send_it_becomes_a_replacement_character(self):
        params = {"text": "a\ud83d", "b\ude00": ["\ud83d\ude00"], "raw": Raw(b'{"x":[1.5]}')}
        sent = encode(Notification("m", params))
        assert json.loads(sent) == {
            "jsonrpc": "2.0",
            "method": "m",
            "params": {"text": "a\ufffd", "b\ufffd": ["\U0001f600"], "raw": {"x": [1.5]}},
        }

    @pytest.mark.parametrize("other", [math.nan, object()])
    def test_it_does_not_hide_what_cannot_be_sent(self, other: object):
        with pytest.raises(Unencodable):
            encode(Notification("m", ["\ud83d", other]))


class TestBatches:
    @pytest.mark.requirement("RPC-53")
    def test_entries_keep_their_order(self):
        text = b'[{"jsonrpc":"2.0","method":"a"}, {"jsonrpc":"2.0","id":1,"method":"b"},5,[],{"jsonrpc":"2.0","id":1,"result":0}]'
        batch = decode(b" " + text)
        assert isinstance(batch, Batch)
        assert [type(entry) for entry in batch.entries] == [
            Notification,
            Request,
            InvalidMessage,
            InvalidMessage,
            ResultResponse,
        ]

    @pytest.mark.requirement("RPC-55")
    @pytest.mark.parametrize("text", [b"[]", b" [ ] "])
    def test_an_empty_batch_is_one_invalid_request(self, text: bytes):
        message = decode(text)
        assert isinstance(message, InvalidMessage)
        assert (message.code, message.id) == (-32600, UNSET)

    def test_a_batch_at_the_limit_is_read_and_one_above_it_refused(self):
        def entries(count: int) -> bytes:
            return b"[" + b",".join([b'{"jsonrpc":"2.0","method":"m"}'] * count) + b"]"

        batch = decode(entries(BATCH_LIMIT))
        assert isinstance(batch, Batch)
        assert len(batch.entries) == BATCH_LIMIT
        assert isinstance(decode(entries(BATCH_LIMIT + 1)), InvalidMessage)

    def test_a_dense_batch_costs_no_more_memory_than_its_limit(self):
        decode(b"[" + b"1," * BATCH_LIMIT + b"1]")  # what is made once
        text = b"[" + b"1," * 2_000_000 + b"1]"
        tracemalloc.start()
        message = decode(text)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert isinstance(message, InvalidMessage)
        assert peak < 4 * 2**20


class Version:
    def __wire__(self) -> dict[str, Any]:
        return {"v": [1, Tag("x")]}


class Tag(msgspec.Struct):
    name: str
    note: str | msgspec.UnsetType = UNSET


class Broken:
    def __wire__(self) -> Any:
        raise OSError("the disk is gone")


class TestWriting:
    @pytest.mark.requirement("RPC-01")
    @pytest.mark.parametrize(
        ("message", "text"),
        [
            (Request(0, "m", {"a": 1}), b'{"jsonrpc":"2.0","id":0,"method":"m","params":{"a":1}}'),
            (Request(0, "m"), b'{"jsonrpc":"2.0","id":0,"method":"m"}'),
            (Notification("m", Tag("x")), b'{"jsonrpc":"2.0","method":"m","params":{"name":"x"}}'),
            (ResultResponse("a", None), b'{"jsonrpc":"2.0","id":"a","result":null}'),
            (ErrorResponse(None, ErrorObject(1, "e")), b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"e"}}'),
        ],
    )
    def test_every_message_carries_the_version(self, message: Any, text: bytes):
        assert encode(message) == text

    def test_an_object_may_say_what_it_is_on_the_wire(self):
        assert encode(ResultResponse(1, [Version()])) == b'{"jsonrpc":"2.0","id":1,"result":[{"v":[1,{"name":"x"}]}]}'

    def test_raw_goes_out_untouched(self):
        assert encode(ResultResponse(1, Raw(b'{"a" : 1.0}'))) == b'{"jsonrpc":"2.0","id":1,"result":{"a" : 1.0}}'

    def test_a_frame_never_holds_a_newline(self):
        sent = encode(ResultResponse(1, [Raw(b'{\r\n  "a": "x\\n"\n}'), "b\n"]))
        assert b"\n" not in sent
        assert json.loads(sent)["result"] == [{"a": "x\n"}, "b\n"]

    @pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
    @pytest.mark.parametrize(
        "wrap",
        [
            lambda number: number,
            lambda number: {"cost": {"amount": number, "currency": "EUR"}},
            lambda number: [None, (1, [number])],
            lambda number: Tag("x", number),
            lambda number: {"text": "x" * 100_000, "priority": number},
        ],
    )
    def test_a_number_that_is_none_is_refused_instead_of_sent_as_null(self, number: float, wrap: Any):
        with pytest.raises(Unencodable, match="NaN"):
            encode(Notification("session/update", wrap(number)))

    def test_a_real_null_is_sent(self):
        params = [None, "null", 1.5, Raw(b"null"), {"a": None}, datetime(2026, 1, 1, tzinfo=UTC), Version()]
        assert b"null" in encode(Notification("m", params))

    @pytest.mark.parametrize("params", [object(), {"a": {(1, 2): 3}}, [Broken()], {"a": lambda: 0}])
    def test_what_has_no_json_form_is_a_clear_error(self, params: object):
        with pytest.raises(Unencodable, match="The params of session/update cannot be written as JSON"):
            encode(Notification("session/update", params))

    def test_what_contains_itself_is_a_clear_error(self):
        params: list[Any] = []
        params.append(params)
        with pytest.raises(Unencodable):
            encode(Notification("m", params))


def test_a_large_payload_is_never_copied_on_the_way_in():
    text = b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"data":"' + b"A" * (16 * 2**20) + b'"}}'
    tracemalloc.start()
    message = decode(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(message, Request)
    assert peak < 2**16
