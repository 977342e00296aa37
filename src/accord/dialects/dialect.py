"""A protocol version on one connection: its properties, and the conversion between wire types and session types.

Law: above the dialects nothing asks for the version. What differs is an attribute or a table of the dialect; what a
version can't express is recorded as a row of the loss table each time, never dropped silently.

A dialect does no I/O: bytes and session types in, session types and wire types out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from accord.errors import InvalidParams, Malformed, MethodNotFound
from accord.jsonrpc.codec import NULL, OBJECT, kind_of
from accord.schema.method import Method, has_no_required_members
from accord.schema.reader import Reader
from accord.session.capabilities import ClientCapabilities
from accord.session.message import Message
from accord.session.requests import AcpNotification, AcpRequest, Initialize
from accord.session.updates import Patch, ToolCallAppend, ToolCallChanged, ToolCallPatch, Update
from accord.session.value import Value

if TYPE_CHECKING:
    from accord.dialects.translation_losses import Loss

Side = Literal["client", "agent"]

ConvertFunction: TypeAlias = Callable[[Any, Any], Any]
"""Called with the dialect and a request or notification returns its params; called with the params, the request."""

ConvertResultFunction: TypeAlias = Callable[[Any, Any, Any], Any]
"""Called with the dialect, the request and its result returns the response; called with the response, the result."""

UpdatesToWire: TypeAlias = Mapping[type[Any], Callable[[Any, str, Any], list[Any]]]
"""By type of update, a function of the dialect, the session's id and the update: the wire updates that express it."""

UpdatesFromWire: TypeAlias = Mapping[type[Any], Callable[[Any, Any], list[Patch]]]
"""By type of wire update, a function of the dialect and the wire update: the patches in it."""

K = TypeVar("K")
T = TypeVar("T")

_EMPTY = (b"null", b"[]")
"""Other spellings of the empty object; the second one by languages in which an empty table is a list."""


class BoundedList(list[T]):
    """A list that keeps only the items appended last: a peer must not be able to make it grow."""

    LIMIT = 256

    def append(self, item: T, /) -> None:
        super().append(item)
        if len(self) > 2 * self.LIMIT:
            del self[: -self.LIMIT]


class Cache(dict[K, T]):
    """A dictionary that makes missing values: a hit takes no call."""

    def __init__(self, make: Callable[[K], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: K) -> T:
        value = self[key] = self._make(key)
        return value


class RequestConverter(msgspec.Struct, frozen=True, gc=False):
    """One type of request and its result in one version.

    Where two types share a method (v2's resume is LoadSession and ResumeSession), the first of the table reads it and
    may return either.
    """

    request_type: type[AcpRequest]
    method: str
    to_wire: ConvertFunction
    from_wire: ConvertFunction
    result_to_wire: ConvertResultFunction
    result_from_wire: ConvertResultFunction


class NotificationConverter(msgspec.Struct, frozen=True, gc=False):
    """One type of notification in one version."""

    notification_type: type[AcpNotification]
    method: str
    to_wire: ConvertFunction
    from_wire: ConvertFunction


def by_type(*converters: RequestConverter) -> dict[type[AcpRequest], RequestConverter]:
    """The table of a version's requests."""
    return {converter.request_type: converter for converter in converters}


def set_notification_meta(patches: list[Patch], meta: dict[str, Any] | None) -> None:
    """Give patches the `_meta` of the notification that carried them."""
    for patch in patches:
        patch.notification_meta = meta


class _LazyTable:
    def __set_name__(self, owner: type[Dialect], name: str) -> None:
        self._name = name

    def __get__(self, _dialect: Dialect | None, dialect_type: type[Dialect]) -> Any:
        table = getattr(import_module(dialect_type.TABLES), self._name)
        setattr(dialect_type, self._name, table)
        return table


def lazy_table() -> Any:
    """A table of a dialect, imported from the module `TABLES` when it is first used."""
    return _LazyTable()


class Dialect:
    """One protocol version, spoken on one connection.

    `initialize` is converted without the tables: they load most of the version's types, and an agent starts faster if it
    loads them after its response.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    result_ends_turn: ClassVar[bool]
    """The result of a prompt has the stop reason; otherwise a state update ends the turn."""
    reports_state: ClassVar[bool]
    """The agent reports running, idle and requires_action."""
    echoes_prompt: ClassVar[bool]
    """The agent must send the user's message back."""
    has_modes: ClassVar[bool]
    """Modes exist beside the mode option."""
    announces_tool_calls: ClassVar[bool]
    """The first update of a tool call creates it; otherwise any update may be the first."""
    has_models: ClassVar[bool]
    """A list of models may stand beside the options, or in place of one; unstable."""
    initialize_may_repeat: ClassVar[bool]
    """`initialize` may be sent again until the first other request."""
    replay_may_follow_load: ClassVar[bool]
    """The agent may answer a load before it has sent all of the history."""
    refuses_other_servers: ClassVar[bool]
    """MCP servers of a kind that was not offered fail the request; otherwise they are skipped."""
    odd_ids_allowed: ClassVar[bool]
    """Requests may carry a null or fractional id."""
    batches_allowed: ClassVar[bool]
    """A batch may be sent, when explicitly requested."""

    INITIALIZE: ClassVar[RequestConverter]
    INITIALIZE_METHOD: ClassVar[Method]
    TABLES: ClassVar[str]
    """The module that has the following tables."""

    METHODS: ClassVar[Mapping[str, Method]] = lazy_table()
    REQUESTS: ClassVar[Mapping[type[AcpRequest], RequestConverter]] = lazy_table()
    NOTIFICATIONS: ClassVar[Mapping[type[AcpNotification], NotificationConverter]] = lazy_table()
    UPDATES_TO_WIRE: ClassVar[UpdatesToWire] = lazy_table()
    UPDATES_FROM_WIRE: ClassVar[UpdatesFromWire] = lazy_table()
    UPDATE_PARAMS: ClassVar[type[Any]] = lazy_table()
    """The params of `session/update`: has `session_id`, `update` and `meta`."""

    def __init__(self, *, strict: bool = False, client: ClientCapabilities | None = None) -> None:
        self.strict = strict
        self.client = client or ClientCapabilities()
        self.losses: list[Loss] = BoundedList()
        """The newest things that could not be expressed."""
        self.loss_counts: Counter[str] = Counter()
        """How often each row of the loss table occurred."""
        self.notes: list[str] = BoundedList()
        """The newest errors that were tolerated in reading."""
        self._readers: Cache[Any, Reader[Any]] = Cache(self._make_reader)
        self._converters: Cache[type[AcpRequest], RequestConverter] = Cache(self._find_converter)

    @classmethod
    def load_tables(cls) -> None:
        """Import the tables now, instead of when one is first used."""
        import_module(cls.TABLES)

    @cached_property
    def _request_by_method(self) -> dict[str, RequestConverter]:
        return self._index_requests()

    def _index_requests(self) -> dict[str, RequestConverter]:
        by_method: dict[str, RequestConverter] = {}
        for converter in self.REQUESTS.values():
            by_method.setdefault(converter.method, converter)
        return by_method

    @cached_property
    def _notification_by_method(self) -> dict[str, NotificationConverter]:
        return {converter.method: converter for converter in self.NOTIFICATIONS.values()}

    @cached_property
    def _update_reader(self) -> Reader[Any]:
        return Reader(self.UPDATE_PARAMS, strict=self.strict)

    def record_loss(self, row: str, what: str) -> None:
        """Record that this version can't express something; `row` is an id of the loss table."""
        from accord.dialects.translation_losses import Loss  # noqa: PLC0415  # not loaded when an agent starts

        self.loss_counts[row] += 1
        self.losses.append(Loss(row=row, what=what))

    def request_to_wire(self, request: AcpRequest) -> tuple[str, Any]:
        """The method and params of a request; MethodNotFound when this version has no such method."""
        converter = self._converters[type(request)]
        return converter.method, converter.to_wire(self, request)

    def request_from_wire(self, method: str, params: Raw, sender: Side) -> AcpRequest:
        """The typed request; MethodNotFound or InvalidParams is the error to respond with."""
        if method == "initialize":
            converter, entry = self.INITIALIZE, self.INITIALIZE_METHOD
        else:
            converter, entry = self._request_by_method.get(method), self.METHODS.get(method)
        if converter is None or entry is None or entry.sender not in (sender, "either"):
            raise MethodNotFound(method)
        try:
            return converter.from_wire(self, self._readers[entry.params].decode(params, self.notes))
        except Malformed as error:
            raise InvalidParams(error.reason, field=error.path.removeprefix("$").removeprefix(".") or None) from error

    def result_to_wire(self, request: AcpRequest, result: Value) -> Any:
        """The JSON-RPC result of a request."""
        return self._converters[type(request)].result_to_wire(self, request, result)

    def result_from_wire(self, request: AcpRequest, response: Raw) -> Any:
        """The typed result of a request of ours, a `request.result_type`; Malformed when it can't be read."""
        converter = self._converters[type(request)]
        method = self.INITIALIZE_METHOD if converter is self.INITIALIZE else self.METHODS[converter.method]
        if kind_of(response) != OBJECT and self._is_empty(method, response):
            response = Raw(b"{}")  # AMB-01..05, FN-103
        return converter.result_from_wire(self, request, self._readers[method.result].decode(response, self.notes))

    def _is_empty(self, method: Method, response: Raw) -> bool:
        if len(response) > 4 or bytes(response) not in _EMPTY:
            return False
        if self.strict:
            return method.shows_null_result and kind_of(response) == NULL
        return has_no_required_members(self._lenient_type(method.result))

    def _lenient_type(self, wire_type: Any) -> Any:
        """The type that is read in the place of a type of the schema."""
        return wire_type

    def notification_to_wire(self, notification: AcpNotification) -> tuple[str, Any]:
        """The method and params of a notification."""
        converter = self.NOTIFICATIONS.get(type(notification))
        if converter is None:
            raise MethodNotFound(type(notification).__name__)
        return converter.method, converter.to_wire(self, notification)

    def notification_from_wire(self, method: str, params: Raw, sender: Side) -> AcpNotification | None:
        """The typed notification; None when this version does not have it (EXT-11: it is ignored)."""
        converter, entry = self._notification_by_method.get(method), self.METHODS.get(method)
        if converter is None or entry is None or entry.sender not in (sender, "either"):
            return None
        return converter.from_wire(self, self._readers[entry.params].decode(params, self.notes))

    def update_to_wire(self, session_id: str, update: Update) -> list[Any]:
        """The params of the `session/update` notifications that express an update."""
        params = self.UPDATE_PARAMS
        if type(update) is ToolCallChanged and update.call.ended_without_result:
            update = self._as_failed(update)
        wire_updates = self.UPDATES_TO_WIRE[type(update)](self, session_id, update)
        meta = update.patch.notification_meta
        if len(wire_updates) == 1:  # nearly always, and a comprehension costs as much as the rest
            return [params(session_id=session_id, update=wire_updates[0], meta=meta)]
        return [params(session_id=session_id, update=wire_update, meta=meta) for wire_update in wire_updates]

    def update_from_wire(self, params: Raw) -> tuple[str, list[Patch]]:
        """The session and the patches of a `session/update`; Malformed when it can't be read even with tolerance."""
        notification = self._update_reader.decode(params, self.notes)
        update = notification.update
        patches = self.UPDATES_FROM_WIRE[type(update)](self, update)
        if notification.meta is not UNSET:
            set_notification_meta(patches, notification.meta)
        return notification.session_id, patches

    def can_send_chunk(self, session_id: str, message: Message) -> bool:
        """Whether a chunk of a message can be sent as it is, whatever was sent before."""
        return True

    def forget_session(self, session_id: str) -> None:
        """Drop the state of a session: it was closed, or will be sent again from the beginning."""

    def _as_failed(self, update: ToolCallChanged) -> ToolCallChanged:
        self.record_loss("ended-without-result", update.call.id)
        call = replace(update.call, status="failed", ended_without_result=False)
        patch = ToolCallPatch(id=call.id) if isinstance(update.patch, ToolCallAppend) else update.patch
        return ToolCallChanged(call=call, patch=replace(patch, status="failed"), created=update.created)

    def _make_reader(self, wire_type: Any) -> Reader[Any]:
        return Reader(self._lenient_type(wire_type), strict=self.strict)

    def _find_converter(self, request_type: type[AcpRequest]) -> RequestConverter:
        converter = self.INITIALIZE if request_type is Initialize else self.REQUESTS.get(request_type)
        if converter is None:
            raise MethodNotFound(request_type.__name__)
        return converter
