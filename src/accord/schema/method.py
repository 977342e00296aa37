"""What a method of the protocol is: who may send it, with what, and what comes back."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = ["Method", "needs_nothing"]


class Method(msgspec.Struct, frozen=True):
    """One row of a version's method table; `params` and `result` are types, or unions of types.

    `gate` is the dotted path of the capability that allows the method, as it is spelled in `initialize`, or the member
    of an earlier answer that does (`modes`); a part in braces stands for the value of that member of the params.
    """

    name: str
    kind: Literal["request", "notification"]
    sender: Literal["client", "agent", "either"]
    params: Any
    result: Any = None
    gate: str | None = None
    unstable: bool = False
    shows_null_result: bool = False
    """The documents show `null` as a result, so it is one also in strict mode."""

    @property
    def takes_null_result(self) -> bool:
        """Nothing in the result is needed, so a peer's `null` says the same as `{}`; outside strict mode."""
        return needs_nothing(self.result)


def needs_nothing(result: Any) -> bool:
    """Whether the empty object is a result of this type."""
    if not (isinstance(result, type) and issubclass(result, msgspec.Struct)):
        return False
    return not any(field.required for field in msgspec.structs.fields(result))
