"""Updates read from whole frames, in one pass: what a client receives nearly always.

Law: what is taken this way is what the rules of JSON-RPC and of the dialect make of the same frame. A frame in which there
is anything to forgive is left to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Protocol

import msgspec
from msgspec import UNSET

from accord.dialects.dialect import Dialect, put_around
from accord.session.updates import Report

__all__ = ["Hearing", "update_taker"]


class Hearing(Protocol):
    """A session that hears what is reported."""

    def take(self, report: Report, size: int) -> None:
        """Take in a report that came with so many bytes."""
        ...


def update_taker(dialect: Dialect, sessions: Mapping[str, Hearing]) -> Callable[[bytes], bool] | None:
    """What hands the reports of a frame to its session; False when the frame is not such a one.

    None in strict mode, where every value is looked at.
    """
    if dialect.strict:
        return None
    read = msgspec.json.Decoder(_frame(dialect.UPDATE_PARAMS)).decode
    from_wire = dialect.UPDATES_FROM_WIRE

    def take(frame: bytes) -> bool:
        try:
            params = read(frame).params
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        session = sessions.get(params.session_id)
        if session is None:
            return False
        update, size = params.update, len(frame)
        reports = from_wire[type(update)](dialect, update)
        if params.meta is not UNSET:
            put_around(reports, params.meta)
        for report in reports:
            session.take(report, size)
        return True

    return take


def _frame(params: type[Any]) -> type[Any]:
    fields: list[Any] = [
        ("jsonrpc", Literal["2.0"]),
        ("method", Literal["session/update"]),
        ("params", params),
        ("id", Annotated[int, msgspec.Meta(gt=0, lt=0)], 0),  # what has an id is no notification, whatever the id is
    ]
    return msgspec.defstruct("UpdateFrame", fields, gc=False)
