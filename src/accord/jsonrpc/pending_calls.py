"""Who owes whom an answer: bytes in, events out, no input or output, no clock.

The law: every request that is received is answered exactly once, and nothing else is ever answered. So

- what could be a request and is broken gets an error, with its id only where no open request has that id;
- notifications and responses are never answered, whatever is wrong with them;
- a request inside a batch is answered inside the array of that batch, once all of its requests are done;
- a second answer to the same request is not sent.

And the other way round: each of our requests ends in at most one Answered or Failed, or in what `hang_up` returns. The two
directions have ids of their own. What is kept is kept for an open request; all else is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

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
from accord.jsonrpc.codec import NOT_WELL_FORMED, NULL, OBJECT, classify, decode_odd, encode, kind_of, read_envelope
from accord.jsonrpc.error_codes import INVALID_REQUEST, name_of
from accord.jsonrpc.events import (
    NO_PARAMS,
    Answered,
    Ask,
    CancelRequested,
    Event,
    Failed,
    Ignored,
    Incoming,
    NotificationReceived,
    OpenBatch,
    Reply,
    RequestReceived,
    Unfinished,
)
from accord.jsonrpc.messages import (
    Batch,
    Dropped,
    ErrorObject,
    ErrorResponse,
    Id,
    Invalid,
    Message,
    Notification,
    Request,
    ResultResponse,
)

__all__ = [
    "Answered",
    "Ask",
    "CancelRequested",
    "Event",
    "Failed",
    "Ignored",
    "Incoming",
    "NotificationReceived",
    "PendingCalls",
    "Reply",
    "RequestReceived",
    "Unfinished",
]

FORGOTTEN_LIMIT = 1024
NEVER_BATCHED = frozenset(
    ("initialize", "authenticate", "auth/login", "session/new", "session/load", "session/resume", "session/prompt")
)
_OVER = "the conversation is over"


class _CancelParams(msgspec.Struct, rename="camel"):
    request_id: Id


_read_cancel_params = msgspec.json.Decoder(_CancelParams).decode


class PendingCalls:
    """One side of a connection. `receive` never raises, whatever the bytes are.

    `correlation_ids` names the failures that only our own log explains.
    """

    def __init__(self, correlation_ids: Iterator[str] | None = None) -> None:
        self.null_ids_allowed = True
        """Whether null and fractional ids are served; to be switched off when v2 has been agreed on."""
        self._correlation_ids = correlation_ids or (f"answer-{number}" for number in count(1))
        self._next_id = 0
        self._asked: dict[Id, tuple[int, str]] = {}
        self._forgotten: dict[Id, None] = {}
        self._serving: dict[Id | Incoming, Incoming] = {}
        self._is_over = False

    @property
    def asked(self) -> int:
        """How many of our requests wait for an answer."""
        return len(self._asked)

    @property
    def is_owed(self) -> bool:
        """Whether an answer may still come, if only a late one to a request that we gave up on."""
        return bool(self._asked or self._forgotten)

    @property
    def serving(self) -> int:
        """How many received requests we still owe an answer; limiting them is up to the layer above."""
        return len(self._serving)

    def request(self, method: str, params: Any = UNSET) -> tuple[int, bytes]:
        """Our id and the frame to send; raises Unencodable, and then nothing is open."""
        if self._is_over:
            raise ConnectionClosed(_OVER)
        request_id = self._next_id
        frame = encode(Request(request_id, method, params))
        self._next_id = request_id + 1
        self._asked[request_id] = (request_id, method)
        return request_id, frame

    def notify(self, method: str, params: Any = UNSET) -> bytes:
        if self._is_over:
            raise ConnectionClosed(_OVER)
        return encode(Notification(method, params))

    def batch(self, entries: Sequence[Ask | Notification]) -> tuple[list[int], bytes]:
        """The ids of the requests among the entries, and one frame; answers may come as an array or singly. RPC-52"""
        if self._is_over:
            raise ConnectionClosed(_OVER)
        if not entries:
            raise ValueError("a batch needs at least one entry")
        refused = [entry.method for entry in entries if entry.method in NEVER_BATCHED]  # RPC-63
        if refused:
            raise ValueError(f"{', '.join(refused)} must be sent alone, not in a batch")
        ids = range(self._next_id, self._next_id + sum(isinstance(entry, Ask) for entry in entries))
        unused = iter(ids)
        frame = encode(
            [
                Request(next(unused), entry.method, entry.params) if isinstance(entry, Ask) else entry
                for entry in entries
            ]
        )
        methods = (entry.method for entry in entries if isinstance(entry, Ask))
        self._asked.update((request_id, (request_id, method)) for request_id, method in zip(ids, methods, strict=True))
        self._next_id = ids.stop
        return list(ids), frame

    def cancel(self, request_id: int) -> bytes | None:
        """Asks the peer to stop working on it; the answer is still to come. None if it has come already."""
        if self._is_over:
            raise ConnectionClosed(_OVER)
        if request_id not in self._asked:
            return None
        return encode(Notification("$/cancel_request", {"requestId": request_id}))

    def forget(self, request_id: int) -> None:
        """Stops waiting for an answer; if it comes after all, it is ignored quietly. Safe to call twice."""
        if self._asked.pop(request_id, None) is None:
            return
        self._forgotten[request_id] = None
        if len(self._forgotten) > FORGOTTEN_LIMIT:
            del self._forgotten[next(iter(self._forgotten))]

    def answer(self, incoming: Incoming, result: Any) -> bytes | None:
        """The frame to send, or None: its batch is not complete, it was answered before, or nobody is there any more.

        A result that cannot be encoded becomes an internal error for this request, see `Incoming.failure`.
        """
        return self._settle(incoming, ResultResponse(incoming.id, None if result is UNSET else result))

    def fail(self, incoming: Incoming, error: RequestFailed) -> bytes | None:
        """As `answer`, with an error."""
        return self._settle(incoming, _failure(incoming.id, error))

    def refuse(self, error: FrameRejected) -> bytes:
        """The answer to bytes that never became a frame."""
        return encode(_failure(None, _protocol_error(error.code, error.reason)))

    def hang_up(self) -> Unfinished:
        """Ends the conversation and says what is left open. From then on nothing is received, answered or asked."""
        unfinished = Unfinished(dict(self._asked.values()), list(self._serving.values()))
        self._asked, self._serving, self._forgotten = {}, {}, {}
        self._is_over = True
        return unfinished

    def receive(self, frame: bytes) -> Sequence[Event]:
        """What the frame means, in wire order."""
        if self._is_over:
            return ()
        # Spelled out rather than left to `decode`: nearly every frame is a notification and ends here.
        try:
            envelope = read_envelope(frame)
        except NOT_WELL_FORMED:
            message = decode_odd(frame)
        else:
            method, params = envelope.method, envelope.params
            if (
                method
                and method[0] != "$"
                and envelope.id is UNSET
                and params is not UNSET
                and kind_of(params) == OBJECT
            ):
                return (Notification(method, params),)
            message = classify(envelope)
        if isinstance(message, Batch):
            return self._receive_batch(message)
        return self._receive_one(message, None)

    def _receive_batch(self, message: Batch) -> Sequence[Event]:
        batch = OpenBatch([])
        # In array order, so that notifications apply in the order they were written. AMB-27
        events = [event for entry in message.entries for event in self._receive_one(entry, batch)]
        if batch.answers and not batch.owed:
            # With nothing to say, nothing is sent, not even an empty array. RPC-61
            events.append(Reply(batch.frame(), "a batch without a single good request"))
        return events

    def _receive_one(self, message: Message, batch: OpenBatch | None) -> Sequence[Event]:
        match message:
            case Notification():
                return self._notified(message)
            case ResultResponse(request_id, result):
                return self._answered(request_id, result)
            case ErrorResponse(request_id, error):
                return self._answered(request_id, request_failed(error.code, error.message, error.data))
            case Request():
                return self._requested(message, batch)
            case Invalid():
                return self._invalid(message, batch)
            case Dropped(reason, request_id):
                if request_id is UNSET:
                    return (Ignored(reason),)
                # Never answered. But whoever waits for it would wait for ever: the peer thinks it has answered.
                return self._answered(request_id, Malformed("$", reason))

    def _notified(self, message: Notification) -> Sequence[Event]:
        params = message.params
        if params is UNSET or kind_of(params) == NULL:
            params = message.params = NO_PARAMS  # AMB-31
        if kind_of(params) != OBJECT:
            return (Ignored(f"{message.method[:80]!r} came with params that are no object"),)  # AMB-31, RPC-06
        if message.method == "$/cancel_request":
            return (self._cancel_requested(params),)
        if message.method.startswith("$/"):
            return (Ignored(f"{message.method[:80]!r} may be ignored"),)
        return (message,)

    def _cancel_requested(self, params: Raw) -> Event:
        try:
            request_id = _read_cancel_params(params).request_id
        except NOT_WELL_FORMED:
            return Ignored("$/cancel_request came without a usable requestId")
        incoming = self._serving.get(request_id)
        if incoming is None or incoming.is_cancelled:
            # It crossed our answer on the way, or the request is being cancelled already.
            return Ignored("$/cancel_request for a request that is not open", is_normal=True)
        incoming.is_cancelled = True
        return CancelRequested(incoming)

    def _answered(self, request_id: Id, outcome: Raw | RequestFailed | Malformed) -> Sequence[Event]:
        asked = self._asked.pop(request_id, None)  # RPC-60
        if asked is None:
            return (self._unexpected(request_id, outcome),)
        if isinstance(outcome, Raw):
            return (Answered(*asked, outcome),)
        return (Failed(*asked, outcome),)

    def _unexpected(self, request_id: Id, outcome: Raw | RequestFailed | Malformed) -> Ignored:
        if request_id in self._forgotten:
            del self._forgotten[request_id]
            return Ignored("an answer that came after we gave up on it", is_normal=True)
        if request_id is None and isinstance(outcome, RequestFailed):
            return Ignored(f"the peer could not read something we sent: {outcome}")
        if isinstance(outcome, Malformed):
            return Ignored(outcome.reason)
        return Ignored("an answer to a request that is not open")

    def _requested(self, request: Request, batch: OpenBatch | None) -> Sequence[Event]:
        request_id, params = request.id, request.params
        if not self._may_be_echoed(request_id):
            error = _protocol_error(INVALID_REQUEST, "an id is a string or an integer")
            return self._refused(None, error, batch)
        if request_id is not None and request_id in self._serving:
            # With its own id, the first request would seem to be answered. RPC-08
            error = _protocol_error(INVALID_REQUEST, "a request with this id is still open")
            return self._refused(None, error, batch)
        if params is UNSET or kind_of(params) == NULL:
            params = NO_PARAMS  # AMB-31
        if kind_of(params) != OBJECT:
            return self._refused(request_id, InvalidParams("params must be an object"), batch)  # AMB-31, RPC-35
        incoming = Incoming(request_id, request.method, params, batch)
        # AMB-29: a null id may be used many times over, each is a request of its own.
        self._serving[incoming if request_id is None else request_id] = incoming
        if batch is not None:
            batch.owed += 1
        return (RequestReceived(incoming),)

    def _invalid(self, message: Invalid, batch: OpenBatch | None) -> Sequence[Event]:
        request_id = message.id
        if not message.is_call:
            if request_id is not UNSET and request_id in self._asked:
                return self._answered(request_id, Malformed("$", "an answer with neither a result nor an error"))
            request_id = None
        elif request_id is UNSET or request_id in self._serving or not self._may_be_echoed(request_id):
            request_id = None  # AMB-28
        elif batch is not None:
            request_id = None  # RPC-62
        error = _protocol_error(message.code, message.reason)
        return self._refused(request_id, error, batch, is_malformed=not message.is_call)

    def _may_be_echoed(self, request_id: Id) -> bool:
        if self.null_ids_allowed or isinstance(request_id, (int, str)):
            return True
        return request_id is not None and request_id.is_integer()

    def _refused(
        self, request_id: Id, error: RequestFailed, batch: OpenBatch | None, *, is_malformed: bool = False
    ) -> Sequence[Event]:
        frame = encode(_failure(request_id, error))
        if batch is None:
            return (Reply(frame, error.message, is_malformed),)
        batch.answers.append(frame)
        return (Ignored(f"an entry of a batch was refused: {error.message}"),)

    def _settle(self, incoming: Incoming, answer: ResultResponse | ErrorResponse) -> bytes | None:
        key = incoming if incoming.id is None else incoming.id
        if self._serving.get(key) is not incoming:
            return None
        del self._serving[key]
        try:
            frame = encode(answer)
        except Unencodable as error:  # FN-35
            incoming.failure = InternalError(next(self._correlation_ids))
            incoming.failure.__cause__ = error
            frame = encode(_failure(incoming.id, incoming.failure))
        batch = incoming.batch
        if batch is None:
            return frame
        batch.answers.append(frame)
        batch.owed -= 1
        return None if batch.owed else batch.frame()  # RPC-57


def _failure(request_id: Id, error: RequestFailed) -> ErrorResponse:
    return ErrorResponse(request_id, ErrorObject(*error.to_error()))


def _protocol_error(code: int, reason: str) -> RequestFailed:
    return RequestFailed(code, f"{name_of(code).capitalize()}: {reason}")
