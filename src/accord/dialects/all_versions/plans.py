"""Plans and their entries, as far as every version spells them alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.errors import Malformed
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import Plan, PlanEntry

__all__ = ["entries_from_wire", "entries_to_wire", "plan_from_wire"]


def entries_to_wire(kind: type[Any], entries: Iterable[PlanEntry]) -> list[Any]:
    """The entries, each as an object of this type."""
    return [
        kind(content=entry.content, priority=entry.priority, status=entry.status, meta=unset_if_none(entry.meta))
        for entry in entries
    ]


def entries_from_wire(entries: Iterable[Any]) -> list[PlanEntry]:
    """The entries as words."""
    return [
        PlanEntry(content=entry.content, priority=entry.priority, status=entry.status, meta=none_if_unset(entry.meta))
        for entry in entries
    ]


def plan_from_wire(plan: Any, *id_keys: str) -> Plan:
    """A plan with an id. One of an unknown type has its own under one of the keys, and takes the place of that plan."""
    if not isinstance(plan, UnknownOnWire):
        return Plan(id=plan.plan_id, entries=entries_from_wire(plan.entries), meta=none_if_unset(plan.meta))
    identifier = next((plan.raw[key] for key in id_keys if key in plan.raw), None)
    if not isinstance(identifier, str):
        raise Malformed("$.update.plan.planId", "required")
    return Plan(id=identifier, type=plan.tag, raw=plan.raw)
