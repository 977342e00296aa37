"""Plans: what the agent means to do, each known by its id and always told whole."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from accord.schema.v2.identifiers import OpenOne, PlanId
from accord.schema.wire_values import Alias, Known, Others, ValidItems, Wire

__all__ = [
    "PlanEntry",
    "PlanEntryPriority",
    "PlanEntryStatus",
    "PlanItems",
    "PlanUpdate",
    "PlanUpdateContent",
]

PlanEntryPriority: TypeAlias = Annotated[str, Known("high", "medium", "low")]
PlanEntryStatus: TypeAlias = Annotated[str, Known("pending", "in_progress", "completed", "cancelled")]


class PlanEntry(Wire):
    """One step."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus


class PlanItems(Wire, tag_field="type", tag="items"):
    """A plan as a list of steps."""

    plan_id: Annotated[PlanId, Alias("id")]
    entries: ValidItems[PlanEntry]


class _OtherPlan(Wire):
    plan_id: PlanId


PlanUpdateContent: TypeAlias = Annotated[OpenOne[PlanItems], Others(_OtherPlan)]
"""Also an unknown kind of plan carries `planId`, and replaces what that id had."""


class PlanUpdate(Wire, tag_field="sessionUpdate", tag="plan_update"):
    """One plan as it is now."""

    plan: PlanUpdateContent
