"""The options and outcomes of permission requests, which every version spells alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accord.dialects.dialect import Dialect, RequestConverter, RequestFunction
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.requests import PermissionAnswer, PermissionOption, PermissionRequest

__all__ = ["PermissionConverter", "permission_options"]


class PermissionConverter:
    """Bound to the schema of one version; `is_open`: it takes outcomes that are not listed."""

    def __init__(self, schema: Any, is_open: bool = True) -> None:
        self._schema = schema
        self._is_open = is_open

    def exchange(self, to_wire: RequestFunction, from_wire: RequestFunction) -> RequestConverter:
        """The question, which each version asks in its own way, and its answer."""
        return RequestConverter(
            PermissionRequest, "session/request_permission", to_wire, from_wire, self.result_to_wire, result_from_wire
        )

    def options_to_wire(self, options: Iterable[PermissionOption]) -> list[Any]:
        """The options, in order."""
        return [
            self._schema.PermissionOption(
                option_id=option.id, name=option.name, kind=option.kind, meta=unset_if_none(option.meta)
            )
            for option in options
        ]

    def result_to_wire(self, dialect: Dialect, asked: Any, answer: PermissionAnswer) -> Any:
        """The outcome; whatever does not select an option, and is not one of another kind as it came, is a cancelled one."""
        meta = unset_if_none(answer.outcome_meta)
        outcome: Any
        if answer.raw is not None and self._is_open:
            outcome = UnknownOnWire(answer.outcome, answer.raw)
        elif answer.outcome == "selected" and answer.option_id is not None:
            outcome = self._schema.SelectedPermissionOutcome(option_id=answer.option_id, meta=meta)
        else:
            if answer.raw is not None:
                dialect.lose("permission-outcome", answer.outcome)
            outcome = self._schema.CancelledPermissionOutcome(meta=meta)
        return self._schema.RequestPermissionResponse(outcome=outcome, meta=unset_if_none(answer.meta))


def permission_options(options: Iterable[Any]) -> list[PermissionOption]:
    """The options as words; a kind that is not known is kept (COMPAT-06)."""
    return [
        PermissionOption(id=option.option_id, name=option.name, kind=option.kind, meta=none_if_unset(option.meta))
        for option in options
    ]


def result_from_wire(dialect: Dialect, asked: Any, result: Any) -> PermissionAnswer:
    """The outcome. One that is not known is kept, and is not an approval (AMB-58)."""
    outcome = result.outcome
    if isinstance(outcome, UnknownOnWire):
        return PermissionAnswer(outcome=outcome.tag, raw=outcome.raw, meta=none_if_unset(result.meta))
    option_id = getattr(outcome, "option_id", None)
    return PermissionAnswer(
        outcome="cancelled" if option_id is None else "selected",
        option_id=option_id,
        outcome_meta=none_if_unset(outcome.meta),
        meta=none_if_unset(result.meta),
    )
