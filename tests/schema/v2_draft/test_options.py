from __future__ import annotations

from typing import Any

import pytest

from accord.schema import v2_draft
from tests.schema.v1.shape import read, refuses, write


@pytest.mark.parametrize("spelling", [{"id": "x"}, {"configId": "x"}])
def test_an_option_is_found_by_either_key_and_written_with_both(spelling: dict[str, str]) -> None:
    option = read(v2_draft.SessionConfigBoolean, {"name": "n", "currentValue": True, **spelling})
    assert option.config_id == option.id == "x"
    assert {"configId": "x", "id": "x"}.items() <= write(option).items()


@pytest.mark.parametrize("spelling", [{"group": "x"}, {"groupId": "x"}])
def test_a_group_is_found_by_either_key_and_written_with_both(spelling: dict[str, str]) -> None:
    group = read(v2_draft.SessionConfigSelectChoice, {"name": "n", "options": [], **spelling})
    assert group.is_group
    assert {"groupId": "x", "group": "x"}.items() <= write(group).items()


def test_a_value_of_a_select_is_no_group() -> None:
    choice = read(v2_draft.SessionConfigSelectChoice, {"name": "n", "value": "v"})
    assert not choice.is_group
    assert write(choice) == {"name": "n", "value": "v"}


@pytest.mark.parametrize(
    ("members", "taken"),
    [
        ({"value": "v"}, True),
        ({"type": "id", "value": "v"}, True),
        ({"type": "boolean", "value": True}, True),
        ({"type": "_range", "value": [1, 2]}, True),
        ({"value": True}, False),
        ({"type": "id", "value": True}, False),
        ({"type": "boolean", "value": "true"}, False),
        ({}, False),
    ],
)
def test_the_value_of_an_option_fits_its_type(members: dict[str, Any], taken: bool) -> None:
    request = {"sessionId": "s", "configId": "c", **members}
    if taken:
        assert write(read(v2_draft.SetSessionConfigOptionRequest, request)) == request
    else:
        assert refuses(v2_draft.SetSessionConfigOptionRequest, request)
