"""The options and outcomes of permission requests, which every version spells alike."""

from __future__ import annotations

from typing import Any

from accord.dialects.absent import known, told
from accord.dialects.dialect import Dialect
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.requests import PermissionAnswer, PermissionOption

__all__ = ["permission_answer_from_wire", "permission_answer_to_wire", "permission_options"]


def permission_options(options: list[Any]) -> list[PermissionOption]:
    """The options as words; a kind that is not known is kept (COMPAT-06)."""
    return [
        PermissionOption(id=option.option_id, name=option.name, kind=option.kind, meta=known(option.meta))
        for option in options
    ]


def permission_answer_to_wire(wire: Any) -> Any:
    """For the schema of one version."""

    def to_wire(dialect: Dialect, asked: Any, answer: PermissionAnswer) -> Any:
        meta = told(answer.outcome_meta)
        if answer.outcome == "selected" and answer.option_id is not None:
            outcome = wire.SelectedPermissionOutcome(option_id=answer.option_id, meta=meta)
        else:
            outcome = wire.CancelledPermissionOutcome(meta=meta)
        return wire.RequestPermissionResponse(outcome=outcome, meta=told(answer.meta))

    return to_wire


def permission_answer_from_wire(dialect: Dialect, asked: Any, result: Any) -> PermissionAnswer:
    """The outcome. One that is not known is kept, and is not an approval (AMB-58)."""
    outcome = result.outcome
    if isinstance(outcome, UnknownOnWire):
        return PermissionAnswer(outcome=outcome.tag, raw=outcome.raw, meta=known(result.meta))
    option_id = getattr(outcome, "option_id", None)
    return PermissionAnswer(
        outcome="cancelled" if option_id is None else "selected",
        option_id=option_id,
        outcome_meta=known(outcome.meta),
        meta=known(result.meta),
    )
