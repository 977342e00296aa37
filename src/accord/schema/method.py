"""What a method of the protocol is: who may send it, with what, and what comes back."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = ["Method"]


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

    @property
    def takes_null_result(self) -> bool:
        """Nothing in the result is required, so a peer's `null` says the same as `{}`."""
        if not (isinstance(self.result, type) and issubclass(self.result, msgspec.Struct)):
            return False
        return not any(field.required for field in msgspec.structs.fields(self.result))
