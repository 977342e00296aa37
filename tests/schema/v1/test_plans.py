from __future__ import annotations

import pytest

from accord.schema import v1
from tests.schema.v1.shape import assert_shape, known

ENTRY = {"content": "Look", "priority": "high", "status": "pending"}


@pytest.mark.requirement("PLAN-03", "PLAN-04", "PLAN-05", "PLAN-06", "UPDATE-08")
def test_a_plan_is_a_list_of_steps():
    assert_shape(v1.PlanEntry, ENTRY)
    assert_shape(v1.SessionUpdate, {"sessionUpdate": "plan", "entries": [ENTRY]})


@pytest.mark.requirement("PLAN-05", "PLAN-06")
def test_priorities_and_statuses_are_closed_lists():
    assert known(v1.PlanEntryPriority).values == ("high", "medium", "low")
    assert known(v1.PlanEntryStatus).values == ("pending", "in_progress", "completed")
    assert known(v1.PlanEntryPriority).closed
    assert known(v1.PlanEntryStatus).closed
