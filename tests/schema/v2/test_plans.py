from __future__ import annotations

from accord.schema import v2
from tests.schema.v1.shape import assert_shape, known

ENTRY = {"content": "Dig", "priority": "high", "status": "pending"}
ITEMS = {"type": "items", "planId": "p", "entries": [ENTRY]}


def test_a_plan_has_a_type_an_id_and_entries() -> None:
    assert_shape(v2.SessionUpdate, {"sessionUpdate": "plan_update", "plan": ITEMS})
    assert_shape(v2.PlanUpdateContent, ITEMS)
    assert_shape(v2.PlanEntry, ENTRY)


def test_the_known_priorities_and_statuses() -> None:
    assert set(known(v2.PlanEntryPriority).values) == {"high", "medium", "low"}
    assert set(known(v2.PlanEntryStatus).values) == {"pending", "in_progress", "completed", "cancelled"}
