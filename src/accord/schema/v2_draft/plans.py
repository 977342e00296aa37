"""Plans under `id` or `planId`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from accord.schema import v2
from accord.schema.v2.identifiers import OpenOne
from accord.schema.v2_draft.spellings import EITHER, Spelled, spelled
from accord.schema.wire_values import DefaultTag, ValidItems, Wire

__all__ = ["PlanItems", "PlanUpdate", "PlanUpdateContent"]


class PlanItems(Wire, tag_field="type", tag="items"):
    """A plan as a list of steps."""

    entries: ValidItems[v2.PlanEntry]
    plan_id: Spelled[v2.PlanId] = EITHER
    id: Spelled[v2.PlanId] = EITHER

    def __post_init__(self) -> None:
        self.plan_id = self.id = spelled("planId", self.plan_id, self.id)


PlanUpdateContent: TypeAlias = Annotated[OpenOne[PlanItems], DefaultTag("items")]


class PlanUpdate(Wire, tag_field="sessionUpdate", tag="plan_update"):
    """One plan as it is now."""

    plan: PlanUpdateContent
