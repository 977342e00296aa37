"""Converts plans and their entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from accord.dialects.dialect import Dialect
from accord.dialects.struct_converter import StructConverter
from accord.dialects.unset_values import none_if_unset
from accord.errors import Malformed
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import Plan, PlanEntry

__all__ = ["PlanConverter", "supported_entries"]


class PlanConverter:
    """For the type of a plan's entry in one version; `id_names` are the members that may have a plan's id."""

    def __init__(self, entry: type[Any], *id_names: str) -> None:
        converter = StructConverter(PlanEntry, entry)
        self.entry_to_wire = converter.to_wire
        self.entry_from_wire = converter.from_wire
        self._id_names = id_names

    def from_wire(self, plan: Any) -> Plan:
        """A plan of an unknown type takes the place of the plan with its id."""
        if not isinstance(plan, UnknownOnWire):
            entries = list(map(self.entry_from_wire, plan.entries))
            return Plan(id=plan.plan_id, entries=entries, meta=none_if_unset(plan.meta))
        id = next((plan.raw[name] for name in self._id_names if name in plan.raw), None)
        if not isinstance(id, str):
            raise Malformed("$.update.plan.planId", "required")
        return Plan(id=id, type=plan.tag, raw=plan.raw)


def supported_entries(dialect: Dialect, plan: Plan) -> Iterator[PlanEntry]:
    """The entries with statuses that v1 and the draft have, without cancelled ones."""
    for entry in plan.entries:
        if entry.status in ("pending", "in_progress", "completed"):
            yield entry
        elif entry.status == "cancelled":
            dialect.record_loss("plan-entry", plan.id)
        else:
            dialect.record_loss("plan-status", plan.id)
            yield replace(entry, status="in_progress")
