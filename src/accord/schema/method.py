"""One method of the protocol: its sender, its params and result types, and the capability that allows it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Method(msgspec.Struct, frozen=True):
    """One row of a version's method table; `params` and `result` are types, or unions of types.

    `gate` is the dotted path of the capability that allows the method, as spelled in `initialize`, or the member of an
    earlier result that does (`modes`); a part in braces stands for the value of that member of the params.
    """

    name: str
    kind: Literal["request", "notification"]
    sender: Literal["client", "agent", "either"]
    params: Any
    result: Any = None
    gate: str | None = None
    unstable: bool = False
    shows_null_result: bool = False
    """The specification shows `null` as the result, so `null` is valid in strict mode too."""


def by_client(name: str, params: Any, result: Any = None, gate: str | None = None, **flags: bool) -> Method:
    """A request that the client sends, or a notification if it has no result."""
    return Method(name, "notification" if result is None else "request", "client", params, result, gate, **flags)


def by_agent(name: str, params: Any, result: Any = None, gate: str | None = None, **flags: bool) -> Method:
    """A request that the agent sends, or a notification if it has no result."""
    return Method(name, "notification" if result is None else "request", "agent", params, result, gate, **flags)


def method_table(*methods: Method) -> dict[str, Method]:
    """The methods of a version by name."""
    return {method.name: method for method in methods}


def has_no_required_members(result: Any) -> bool:
    """Whether the empty object is a valid result of this type."""
    if not (isinstance(result, type) and issubclass(result, msgspec.Struct)):
        return False
    return not any(field.required for field in msgspec.structs.fields(result))
