"""Converts between session structs and wire structs that have the same members.

A member that is None in a session struct is missing on the wire. One that is missing or null on the wire has its
default in the session struct.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from accord.dialects.dialect import Dialect, NotificationConverter, RequestConverter
from accord.schema.method import Method
from accord.session.requests import AcpNotification, AcpRequest
from accord.session.value import UNSET, Value

S = TypeVar("S", bound=Value)


class StructConverter(Generic[S]):
    """Copies the members that both types have; `wire_names` gives the wire's name of a member where it is another.

    Members that need more than copying are passed to the call.
    """

    def __init__(self, session_type: type[S], wire_type: type[Any], **wire_names: str) -> None:
        self._session_type = session_type
        self._wire_type = wire_type
        names = {name: wire_names.get(name, name) for name in session_type.__struct_fields__}
        self._names = [names for names in names.items() if names[1] in wire_type.__struct_fields__]

    def to_wire(self, value: S, **members: Any) -> Any:
        for name, wire in self._names:
            if (member := getattr(value, name)) is not None:
                members.setdefault(wire, member)
        return self._wire_type(**members)

    def from_wire(self, wire_value: Any, **members: Any) -> S:
        for name, wire in self._names:
            if (member := getattr(wire_value, wire)) is not UNSET and member is not None:
                members.setdefault(name, member)
        return self._session_type(**members)


def copied_request(
    methods: Mapping[str, Method], request_type: type[AcpRequest], method: str, **functions: Any
) -> RequestConverter:
    """A request whose params and result have the members of their session types, except where a function is given."""
    request = StructConverter(request_type, methods[method].params)
    result = StructConverter(request_type.result_type, methods[method].result)
    copies: dict[str, Any] = {
        "to_wire": _converter(request.to_wire),
        "from_wire": _converter(request.from_wire),
        "result_to_wire": _result_converter(result.to_wire),
        "result_from_wire": _result_converter(result.from_wire),
    }
    return RequestConverter(request_type, method, **{**copies, **functions})


def copied_notification(
    methods: Mapping[str, Method], notification_type: type[AcpNotification], method: str
) -> NotificationConverter:
    """A notification whose params have the members of its session type."""
    converter = StructConverter(notification_type, methods[method].params)
    return NotificationConverter(
        notification_type, method, _converter(converter.to_wire), _converter(converter.from_wire)
    )


def _converter(convert: Callable[[Any], Any]) -> Callable[[Dialect, Any], Any]:
    return lambda _dialect, value: convert(value)


def _result_converter(convert: Callable[[Any], Any]) -> Callable[[Dialect, AcpRequest, Any], Any]:
    return lambda _dialect, _request, value: convert(value)
