"""The agent's plan for a turn; each report replaces the one before."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from accord.schema.wire_values import Items, Known, Wire

__all__ = ["Plan", "PlanEntry", "PlanEntryPriority", "PlanEntryStatus"]

PlanEntryPriority: TypeAlias = Annotated[str, Known("high", "medium", "low", closed=True)]
PlanEntryStatus: TypeAlias = Annotated[str, Known("pending", "in_progress", "completed", closed=True)]


class PlanEntry(Wire):
    """One step; it has no id, its place in the list is all that identifies it."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus


class Plan(Wire, tag_field="sessionUpdate", tag="plan"):
    """The complete plan as it now stands."""

    entries: Items[PlanEntry]
