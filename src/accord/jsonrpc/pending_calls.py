"""The requests of both directions that have no response yet: bytes in, events out, no input or output, no clock.

Law: every request that is received gets exactly one response, and nothing else gets one. So

- a malformed message that could be a request gets an error, with its id only if no open request has that id;
- notifications and responses never get a response, whatever is wrong with them;
- a request of a batch gets its response in the array of that batch, once all of its requests are done;
- a second response to the same request is not sent.

In the other direction, each of our requests ends in at most one `ResultReceived` or `ErrorReceived`, or in what `close`
returns. The two directions have separate ids. Memory is used for open requests; everything else is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, cast

import msgspec
from msgspec import UNSET, Raw

from accord.errors import (
    ConnectionClosed,
    FrameRejected,
    InternalError,
    InvalidParams,
    Malformed,
    RequestFailed,
    Unencodable,
    request_failed,
)
from accord.jsonrpc.batches import Batch, BatchRequest, InboundBatch, requests_and_notifications
from accord.jsonrpc.codec import (
    NOT_WELL_FORMED,
    NULL,
    OBJECT,
    classify,
    decode_malformed,
    encode,
    kind_of,
    read_envelope,
)
from accord.jsonrpc.error_codes import INVALID_REQUEST, name_of
from accord.jsonrpc.events import (
    NO_PARAMS,
    CancelRequested,
    ErrorReceived,
    Event,
    InboundRequest,
    MessageIgnored,
    MessageRejected,
    OpenRequests,
    RequestReceived,
    ResultReceived,
)
from accord.jsonrpc.messages import (
    DroppedMessage,
    ErrorObject,
    ErrorResponse,
    Id,
    InvalidMessage,
    Message,
    Notification,
    Request,
    ResultResponse,
)

FORGOTTEN_LIMIT = 1024
_CLOSED = "the connection is closed"
_PLAIN_IDS = (int, str)


class _CancelParams(msgspec.Struct, rename="camel"):
    request_id: Id


_read_cancel_params = msgspec.json.Decoder(_CancelParams).decode


class PendingCalls:
    """One side of a connection. `receive` never raises, whatever the bytes are.

    `correlation_ids` identify internal errors, whose cause is only in our own log.
    """

    def __init__(self, correlation_ids: Iterator[str] | None = None) -> None:
        self.null_ids_allowed = True
        """Whether requests may have null and fractional ids; not in v2."""
        self._correlation_ids = correlation_ids or (f"response-{number}" for number in count(1))
        self._next_id = 0
        self._outbound: dict[Id, str] = {}  # the methods, by our ids
        self._forgotten: dict[Id, None] = {}
        self._inbound: dict[Id | InboundRequest, InboundRequest] = {}
        self._is_closed = False

    @property
    def outbound(self) -> int:
        """The number of our requests without a response."""
        return len(self._outbound)

    @property
    def is_response_expected(self) -> bool:
        """Whether a response may still arrive, even a late one to a request that we forgot."""
        return bool(self._outbound or self._forgotten)

    @property
    def inbound(self) -> int:
        """The number of received requests without a response; the layer above limits it."""
        return len(self._inbound)

    def request(self, method: str, params: Any = UNSET) -> tuple[int, bytes]:
        """The id of a new request and the frame to send; if it raises Unencodable, no request is open."""
        if self._is_closed:
            raise ConnectionClosed(_CLOSED)
        request_id = self._next_id
        frame = encode(Request(request_id, method, params))
        self._next_id = request_id + 1
        self._outbound[request_id] = method
        return request_id, frame

    def notify(self, method: str, params: Any = UNSET) -> bytes:
        if self._is_closed:
            raise ConnectionClosed(_CLOSED)
        return encode(Notification(method, params))

    def batch(self, entries: Sequence[BatchRequest | Notification]) -> tuple[list[int], bytes]:
        """The ids of the requests, and one frame; the responses may come as an array or one by one. RPC-52"""
        if self._is_closed:
            raise ConnectionClosed(_CLOSED)
        messages = requests_and_notifications(entries, self._next_id)
        frame = encode(messages)
        first_id = self._next_id
        for message in messages:
            if isinstance(message, Request):
                self._outbound[self._next_id] = message.method
                self._next_id += 1
        return list(range(first_id, self._next_id)), frame

    def cancel(self, request_id: int) -> bytes | None:
        """The frame that asks the peer to stop; a response still follows. None if it has arrived already."""
        if self._is_closed:
            raise ConnectionClosed(_CLOSED)
        if request_id not in self._outbound:
            return None
        return encode(Notification("$/cancel_request", {"requestId": request_id}))

    def forget(self, request_id: int) -> None:
        """Do not wait for a response any longer; a late one is ignored without a warning. Safe to call twice."""
        if self._outbound.pop(request_id, None) is None:
            return
        self._forgotten[request_id] = None
        if len(self._forgotten) > FORGOTTEN_LIMIT:
            del self._forgotten[next(iter(self._forgotten))]

    def respond(self, request: InboundRequest, result: Any) -> bytes | None:
        """The frame to send, or None: its batch is not complete, it has a response already, or the connection is closed.

        A result that cannot be encoded becomes an internal error, see `InboundRequest.failure`.
        """
        return self._settle(request, ResultResponse(request.id, None if result is UNSET else result))

    def fail(self, request: InboundRequest, error: RequestFailed) -> bytes | None:
        """As `respond`, with an error."""
        return self._settle(request, _error_response(request.id, error))

    def reject(self, error: FrameRejected) -> bytes:
        """The response to bytes that are not a frame."""
        return encode(_error_response(None, _protocol_error(error.code, error.reason)))

    def close(self) -> OpenRequests:
        """End the connection. The open requests of both directions; from now on nothing is received or sent."""
        outbound = cast("dict[int, str]", self._outbound)
        open_requests = OpenRequests(outbound, list(self._inbound.values()))
        self._outbound, self._inbound, self._forgotten = {}, {}, {}
        self._is_closed = True
        return open_requests

    def receive(self, frame: bytes) -> Sequence[Event]:
        """The events of the frame, in wire order."""
        if self._is_closed:
            return ()
        try:
            envelope = read_envelope(frame)
        except NOT_WELL_FORMED:
            message = decode_malformed(frame)
            return self._receive_batch(message) if isinstance(message, Batch) else self._receive_one(message, None)
        # First the messages that nearly every frame is, by the rules of `classify` and `_receive_one`.
        method, params, request_id = envelope.method, envelope.params, envelope.id
        if method is UNSET:
            if envelope.error is UNSET and envelope.result is not UNSET and type(request_id) is int:
                pending_method = self._outbound.pop(request_id, None)
                if pending_method is not None:
                    return (ResultReceived(request_id, pending_method, envelope.result),)
        elif method and params is not UNSET and kind_of(params) == OBJECT and method[0] != "$":
            if request_id is UNSET:
                return (Notification(method, params),)
            if type(request_id) in _PLAIN_IDS and request_id not in self._inbound:
                request = self._inbound[request_id] = InboundRequest(request_id, method, params)
                return (RequestReceived(request),)
        return self._receive_one(classify(envelope), None)

    def _receive_batch(self, message: Batch) -> Sequence[Event]:
        batch = InboundBatch([])
        # In array order, so that notifications are applied in the order in which they were written. AMB-27
        events = [event for entry in message.entries for event in self._receive_one(entry, batch)]
        if batch.responses and not batch.pending:  # RPC-61
            events.append(MessageRejected(batch.frame(), "a batch without a valid request"))
        return events

    def _receive_one(self, message: Message, batch: InboundBatch | None) -> Sequence[Event]:
        match message:
            case Notification():
                return self._receive_notification(message)
            case ResultResponse(request_id, result):
                return self._receive_response(request_id, result)
            case ErrorResponse(request_id, error):
                return self._receive_response(request_id, request_failed(error.code, error.message, error.data))
            case Request():
                return self._receive_request(message, batch)
            case InvalidMessage():
                return self._receive_invalid(message, batch)
            case DroppedMessage(reason, request_id):
                if request_id is UNSET:
                    return (MessageIgnored(reason),)
                # Gets no response. But its request must not wait forever: for the peer it has its response.
                return self._receive_response(request_id, Malformed("$", reason))

    def _receive_notification(self, message: Notification) -> Sequence[Event]:
        params = message.params
        if params is UNSET or kind_of(params) == NULL:
            params = message.params = NO_PARAMS  # AMB-31
        if kind_of(params) != OBJECT:
            return (MessageIgnored(f"{message.method[:80]!r} has params that are not an object"),)  # AMB-31, RPC-06
        if message.method == "$/cancel_request":
            return (self._receive_cancel(params),)
        if message.method.startswith("$/"):
            return (MessageIgnored(f"{message.method[:80]!r} is not known and may be ignored"),)
        return (message,)

    def _receive_cancel(self, params: Raw) -> Event:
        try:
            request_id = _read_cancel_params(params).request_id
        except NOT_WELL_FORMED:
            return MessageIgnored("$/cancel_request without a valid requestId")
        request = self._inbound.get(request_id)
        if request is None or request.is_cancelled:
            # It crossed our response, or the request is being cancelled already.
            return MessageIgnored("$/cancel_request for a request that is not open", is_normal=True)
        request.is_cancelled = True
        return CancelRequested(request)

    def _receive_response(self, request_id: Id, outcome: Raw | RequestFailed | Malformed) -> Sequence[Event]:
        method = self._outbound.pop(request_id, None)  # RPC-60
        if method is None:
            return (self._unexpected_response(request_id, outcome),)
        own_id = int(cast("int | float", request_id))  # JSON does not distinguish 7 and 7.0
        if isinstance(outcome, Raw):
            return (ResultReceived(own_id, method, outcome),)
        return (ErrorReceived(own_id, method, outcome),)

    def _unexpected_response(self, request_id: Id, outcome: Raw | RequestFailed | Malformed) -> MessageIgnored:
        if request_id in self._forgotten:
            del self._forgotten[request_id]
            return MessageIgnored("a late response to a request that timed out or was cancelled", is_normal=True)
        if request_id is None and isinstance(outcome, RequestFailed):
            return MessageIgnored(f"the peer rejected a message that we sent: {outcome}")
        if isinstance(outcome, Malformed):
            return MessageIgnored(outcome.reason)
        return MessageIgnored("a response to a request that is not open")

    def _receive_request(self, message: Request, batch: InboundBatch | None) -> Sequence[Event]:
        request_id, params = message.id, message.params
        if not self._may_be_echoed(request_id):
            error = _protocol_error(INVALID_REQUEST, "the id must be a string or an integer")
            return self._reject(None, error, batch)
        if request_id is not None and request_id in self._inbound:
            # With its own id, this would look like the response to the first request. RPC-08
            error = _protocol_error(INVALID_REQUEST, "a request with this id is still open")
            return self._reject(None, error, batch)
        if params is UNSET or kind_of(params) == NULL:
            params = NO_PARAMS  # AMB-31
        if kind_of(params) != OBJECT:
            return self._reject(request_id, InvalidParams("params must be an object"), batch)  # AMB-31, RPC-35
        request = InboundRequest(request_id, message.method, params, batch)
        # AMB-29: several open requests may have a null id.
        self._inbound[request if request_id is None else request_id] = request
        if batch is not None:
            batch.pending += 1
        return (RequestReceived(request),)

    def _receive_invalid(self, message: InvalidMessage, batch: InboundBatch | None) -> Sequence[Event]:
        request_id = message.id
        if not message.is_call:
            if request_id is not UNSET and request_id in self._outbound:
                return self._receive_response(
                    request_id, Malformed("$", "a response with neither a result nor an error")
                )
            request_id = None
        elif request_id is UNSET or request_id in self._inbound or not self._may_be_echoed(request_id):
            request_id = None  # AMB-28
        elif batch is not None:
            request_id = None  # RPC-62
        error = _protocol_error(message.code, message.reason)
        return self._reject(request_id, error, batch, is_malformed=not message.is_call)

    def _may_be_echoed(self, request_id: Id) -> bool:
        if self.null_ids_allowed or isinstance(request_id, (int, str)):
            return True
        return request_id is not None and request_id.is_integer()

    def _reject(
        self, request_id: Id, error: RequestFailed, batch: InboundBatch | None, *, is_malformed: bool = False
    ) -> Sequence[Event]:
        frame = encode(_error_response(request_id, error))
        if batch is None:
            return (MessageRejected(frame, error.message, is_malformed),)
        batch.responses.append(frame)
        return (MessageIgnored(f"an entry of a batch was rejected: {error.message}"),)

    def _settle(self, request: InboundRequest, response: ResultResponse | ErrorResponse) -> bytes | None:
        key = request if request.id is None else request.id
        if self._inbound.get(key) is not request:
            return None
        del self._inbound[key]
        try:
            frame = encode(response)
        except Unencodable as error:  # FN-35
            request.failure = InternalError(next(self._correlation_ids))
            request.failure.__cause__ = error
            frame = encode(_error_response(request.id, request.failure))
        batch = request.batch
        return frame if batch is None else batch.complete(frame)


def _error_response(request_id: Id, error: RequestFailed) -> ErrorResponse:
    return ErrorResponse(request_id, ErrorObject(*error.to_error()))


def _protocol_error(code: int, reason: str) -> RequestFailed:
    return RequestFailed(code, f"{name_of(code).capitalize()}: {reason}")
