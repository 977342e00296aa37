from __future__ import annotations

from typing import Any

import pytest

from accord.schema import v2_draft
from tests.schema.v1.shape import refuses


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (v2_draft.PlanItems, {"entries": []}),
        (v2_draft.SessionConfigBoolean, {"name": "n", "currentValue": True}),
        (v2_draft.SessionConfigSelectChoice, {"name": "n", "options": []}),
        (v2_draft.SessionConfigSelectChoice, {"name": "n", "groupId": "g"}),
        (v2_draft.AuthMethod, {"name": "n"}),
        (
            v2_draft.SessionConfigSelect,
            {
                "id": "x",
                "name": "n",
                "currentValue": "v",
                "options": [{"name": "n", "value": "v"}, {"name": "g", "group": "g", "options": []}],
            },
        ),
    ],
)
def test_without_any_key_it_is_refused(kind: Any, value: Any) -> None:
    assert refuses(kind, value)
