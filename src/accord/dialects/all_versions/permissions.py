"""Converts the options and outcomes of permission requests. Each version has its own shape of the request itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accord.dialects.dialect import ConvertFunction, Dialect, RequestConverter
from accord.dialects.struct_converter import StructConverter
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.schema.all_versions import CancelledPermissionOutcome, SelectedPermissionOutcome
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.requests import PermissionAnswer, PermissionOption, PermissionRequest


class PermissionConverter:
    """For the schema of one version; `is_open`: it allows outcomes that it does not list."""

    def __init__(self, schema: Any, is_open: bool = True) -> None:
        self._response = schema.RequestPermissionResponse
        self._option = StructConverter(PermissionOption, schema.PermissionOption, id="option_id")
        self._is_open = is_open

    def request(self, to_wire: ConvertFunction, from_wire: ConvertFunction) -> RequestConverter:
        return RequestConverter(
            PermissionRequest,
            "session/request_permission",
            to_wire,
            from_wire,
            self.result_to_wire,
            self.result_from_wire,
        )

    def options_to_wire(self, options: Iterable[PermissionOption]) -> list[Any]:
        return list(map(self._option.to_wire, options))

    def options_from_wire(self, options: Iterable[Any]) -> list[PermissionOption]:
        """An unknown kind is kept (COMPAT-06)."""
        return list(map(self._option.from_wire, options))

    def result_to_wire(self, dialect: Dialect, request: Any, result: PermissionAnswer) -> Any:
        """An outcome that selects no option, and is not an unknown one that was received, is sent as cancelled."""
        meta = unset_if_none(result.outcome_meta)
        outcome: Any
        if result.raw is not None and self._is_open:
            outcome = UnknownOnWire(result.outcome, result.raw)
        elif result.outcome == "selected" and result.option_id is not None:
            outcome = SelectedPermissionOutcome(option_id=result.option_id, meta=meta)
        else:
            if result.raw is not None:
                dialect.record_loss("permission-outcome", result.outcome)
            outcome = CancelledPermissionOutcome(meta=meta)
        return self._response(outcome=outcome, meta=unset_if_none(result.meta))

    def result_from_wire(self, dialect: Dialect, request: Any, response: Any) -> PermissionAnswer:
        """An unknown outcome is kept, and is not an approval (AMB-58)."""
        outcome = response.outcome
        if isinstance(outcome, UnknownOnWire):
            return PermissionAnswer(outcome=outcome.tag, raw=outcome.raw, meta=none_if_unset(response.meta))
        option_id = getattr(outcome, "option_id", None)
        return PermissionAnswer(
            outcome="cancelled" if option_id is None else "selected",
            option_id=option_id,
            outcome_meta=none_if_unset(outcome.meta),
            meta=none_if_unset(response.meta),
        )
