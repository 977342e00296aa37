"""The questions each protocol version answers, and the machinery that turns its tables into answers.

Law: above the dialects nobody asks "which version?". What differs is an attribute or a table here; what a version
cannot express is a row of `losses` that is noted each time, never a silent drop.

A dialect belongs to one connection. It is pure: bytes and session words in, session words and wire objects out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from accord.dialects.translation_losses import Loss
from accord.errors import InvalidParams, Malformed, MethodNotFound
from accord.schema.method import Method, has_no_required_members
from accord.schema.reader import Reader
from accord.session.capabilities import ClientCapabilities
from accord.session.message import Message
from accord.session.requests import AcpNotification, AcpRequest
from accord.session.updates import Patch, ToolCallAppend, ToolCallChanged, ToolCallPatch, Update
from accord.session.value import Value

__all__ = [
    "BoundedList",
    "Dialect",
    "NotificationConverter",
    "RequestConverter",
    "RequestFunction",
    "ResultFunction",
    "Side",
    "UpdatesFromWire",
    "UpdatesToWire",
    "set_notification_meta",
]

Side = Literal["client", "agent"]

RequestFunction: TypeAlias = Callable[[Any, Any], Any]
"""Given the dialect and a word it returns the params; given the params, the word."""

ResultFunction: TypeAlias = Callable[[Any, Any, Any], Any]
"""Given the dialect, what was asked and the answer it returns the result; given the result, the answer."""

UpdatesToWire: TypeAlias = Mapping[type[Any], Callable[[Any, str, Any], list[Any]]]
"""By type of change: the `update` objects that tell it to a session's listener; often one, sometimes none."""

UpdatesFromWire: TypeAlias = Mapping[type[Any], Callable[[Any, Any], list[Patch]]]
"""By type of wire update: what it reports."""

T = TypeVar("T")

_NOTHING = (b"null", b"[]")
"""How the empty object is written as well; the second one by languages in which an empty table is a list."""


class BoundedList(list[T]):
    """A list that keeps only what was appended last: a peer must not be able to make it grow."""

    LIMIT = 256

    def append(self, item: T, /) -> None:
        super().append(item)
        if len(self) > 2 * self.LIMIT:
            del self[: -self.LIMIT]


class RequestConverter(msgspec.Struct, frozen=True, gc=False):
    """How one request word and its answer look in one version.

    Where words share a method (v2's resume is LoadSession and ResumeSession), the one that comes first in the table
    reads it and may return either word.
    """

    word: type[AcpRequest]
    method: str
    to_wire: RequestFunction
    from_wire: RequestFunction
    result_to_wire: ResultFunction
    result_from_wire: ResultFunction


class NotificationConverter(msgspec.Struct, frozen=True, gc=False):
    """How one notification word looks in one version."""

    word: type[AcpNotification]
    method: str
    to_wire: RequestFunction
    from_wire: RequestFunction


def set_notification_meta(reports: list[Patch], meta: dict[str, Any] | None) -> None:
    """Give reports the `_meta` of the notification that told them."""
    for report in reports:
        report.notification_meta = meta


class Dialect:
    """One protocol version, spoken on one connection."""

    name: ClassVar[str]
    version: ClassVar[int]
    result_ends_turn: ClassVar[bool]
    """The prompt's answer carries the stop reason; otherwise the turn ends with a state report."""
    reports_state: ClassVar[bool]
    """Running, idle and requires_action are reported."""
    echoes_prompt: ClassVar[bool]
    """The agent must tell the user's message back."""
    has_client_resources: ClassVar[bool]
    """The client's files and terminals can be asked for, where it offers them."""
    has_modes: ClassVar[bool]
    """Modes exist beside the mode option."""
    announces_tool_calls: ClassVar[bool]
    """A tool call is announced before anything else is told of it; elsewhere any report may be the first."""
    has_models: ClassVar[bool]
    """A list of models may stand beside the options, or in place of one; unstable."""
    initialize_may_repeat: ClassVar[bool]
    """The handshake may be done again until the first other request."""
    replay_may_follow_load: ClassVar[bool]
    """The agent may answer a load before it has sent all of the history."""
    refuses_other_servers: ClassVar[bool]
    """MCP servers of a kind that was not offered fail the request that names them; otherwise they are skipped."""
    odd_ids_allowed: ClassVar[bool]
    """Requests may carry a null or fractional id."""
    batches_allowed: ClassVar[bool]
    """A batch may be sent, when explicitly asked for."""

    METHODS: ClassVar[Mapping[str, Method]]
    EXCHANGES: ClassVar[Mapping[type[AcpRequest], RequestConverter]]
    TELLINGS: ClassVar[Mapping[type[AcpNotification], NotificationConverter]]
    UPDATES_TO_WIRE: ClassVar[UpdatesToWire]
    UPDATES_FROM_WIRE: ClassVar[UpdatesFromWire]
    UPDATE_PARAMS: ClassVar[type[Any]]
    """The params of `session/update`: has `session_id`, `update` and `meta`."""

    def __init__(self, *, strict: bool = False, client: ClientCapabilities | None = None) -> None:
        self.strict = strict
        self.client = client or ClientCapabilities()
        self.losses: list[Loss] = BoundedList()
        """The newest things that could not be said."""
        self.loss_counts: Counter[str] = Counter()
        """How often each row of the loss table was met."""
        self.notes: list[str] = BoundedList()
        """The newest things that were forgiven in reading."""
        self._exchange_of_method: dict[str, RequestConverter] = {}
        for exchange in self.EXCHANGES.values():
            self._exchange_of_method.setdefault(exchange.method, exchange)
        self._telling_of_method = {telling.method: telling for telling in self.TELLINGS.values()}
        self._readers: dict[Any, Reader[Any]] = {}
        self._update_reader: Reader[Any] = Reader(self.UPDATE_PARAMS, strict=strict)

    def lose(self, row: str, what: str) -> None:
        """Note that something could not be said in this version; `row` is an id of the loss table."""
        self.loss_counts[row] += 1
        self.losses.append(Loss(row=row, what=what))

    def request_to_wire(self, asked: AcpRequest) -> tuple[str, Any]:
        """The method and params of a request; MethodNotFound when this version has no such method."""
        exchange = self._exchange(asked)
        return exchange.method, exchange.to_wire(self, asked)

    def request_from_wire(self, method: str, params: Raw, sender: Side) -> AcpRequest:
        """What a request asks; MethodNotFound or InvalidParams is what it should be answered with."""
        exchange = self._exchange_of_method.get(method)
        known = self.METHODS.get(method)
        if exchange is None or known is None or known.sender not in (sender, "either"):
            raise MethodNotFound(method)
        try:
            return exchange.from_wire(self, self._reader(known.params).decode(params, self.notes))
        except Malformed as error:
            raise InvalidParams(error.reason, field=error.path.removeprefix("$").removeprefix(".") or None) from error

    def result_to_wire(self, asked: AcpRequest, answer: Value) -> Any:
        """The result that answers a request."""
        return self._exchange(asked).result_to_wire(self, asked, answer)

    def result_from_wire(self, asked: AcpRequest, result: Raw) -> Any:
        """The answer to a request of ours, as `asked.answer`; Malformed when it is not one."""
        exchange = self._exchange(asked)
        method = self.METHODS[exchange.method]
        said = bytes(memoryview(result)[:5])
        if said in _NOTHING and self._takes_nothing(method, said):
            result = Raw(b"{}")  # AMB-01..05, FN-103
        return exchange.result_from_wire(self, asked, self._reader(method.result).decode(result, self.notes))

    def _takes_nothing(self, method: Method, said: bytes) -> bool:
        if self.strict:
            return method.shows_null_result and said == b"null"
        return has_no_required_members(self._read_as(method.result))

    def _read_as(self, wire_type: Any) -> Any:
        """What is read in the place of a type."""
        return wire_type

    def notification_to_wire(self, told: AcpNotification) -> tuple[str, Any]:
        """The method and params of a notification."""
        telling = self.TELLINGS.get(type(told))
        if telling is None:
            raise MethodNotFound(type(told).__name__)
        return telling.method, telling.to_wire(self, told)

    def notification_from_wire(self, method: str, params: Raw, sender: Side) -> AcpNotification | None:
        """What a notification tells; None when this version has no such one (EXT-11: it is ignored)."""
        telling = self._telling_of_method.get(method)
        known = self.METHODS.get(method)
        if telling is None or known is None or known.sender not in (sender, "either"):
            return None
        return telling.from_wire(self, self._reader(known.params).decode(params, self.notes))

    def update_to_wire(self, session_id: str, change: Update) -> list[Any]:
        """The params of the `session/update` notifications that tell a change."""
        params = self.UPDATE_PARAMS
        if type(change) is ToolCallChanged and change.call.ended_without_result:
            change = self._failed(change)
        updates = self.UPDATES_TO_WIRE[type(change)](self, session_id, change)
        meta = change.patch.notification_meta
        if len(updates) == 1:  # nearly always, and a comprehension costs as much as the rest
            return [params(session_id=session_id, update=updates[0], meta=meta)]
        return [params(session_id=session_id, update=update, meta=meta) for update in updates]

    def update_from_wire(self, params: Raw) -> tuple[str, list[Patch]]:
        """The session and the reports of a `session/update`; Malformed when it can't be read even with tolerance."""
        read = self._update_reader.decode(params, self.notes)
        update = read.update
        reports = self.UPDATES_FROM_WIRE[type(update)](self, update)
        if read.meta is not UNSET:
            set_notification_meta(reports, read.meta)
        return read.session_id, reports

    def can_send_chunk(self, session_id: str, message: Message) -> bool:
        """Whether a piece of a message can be told as it is, whatever was told before."""
        return True

    def forget_session(self, session_id: str) -> None:
        """Drop what is remembered of a session in order to tell it: it was closed, or is told from the beginning."""

    def _failed(self, change: ToolCallChanged) -> ToolCallChanged:
        self.lose("ended-without-result", change.call.id)
        call = replace(change.call, status="failed", ended_without_result=False)
        patch = ToolCallPatch(id=call.id) if isinstance(change.patch, ToolCallAppend) else change.patch
        return ToolCallChanged(call=call, patch=replace(patch, status="failed"), created=change.created)

    def _exchange(self, asked: AcpRequest) -> RequestConverter:
        exchange = self.EXCHANGES.get(type(asked))
        if exchange is None:
            raise MethodNotFound(type(asked).__name__)
        return exchange

    def _reader(self, wire_type: Any) -> Reader[Any]:
        reader = self._readers.get(wire_type)
        if reader is None:
            reader = self._readers[wire_type] = Reader(self._read_as(wire_type), strict=self.strict)
        return reader
