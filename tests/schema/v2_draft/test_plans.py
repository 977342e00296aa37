from __future__ import annotations

import pytest

from accord.schema import v2_draft
from tests.schema.v1.shape import read, write


@pytest.mark.requirement("UPDATE-47", "PLAN-11", "AMB-20")
@pytest.mark.parametrize(
    "spelling", [{"id": "x"}, {"planId": "x"}, {"id": "x", "planId": "x"}, {"id": "y", "planId": "x"}]
)
def test_a_plan_is_found_by_either_key_and_written_with_both(spelling: dict[str, str]) -> None:
    plan = read(v2_draft.PlanItems, {"entries": [], **spelling})
    assert plan.plan_id == plan.id == "x"
    assert write(plan) == {"type": "items", "entries": [], "planId": "x", "id": "x"}
