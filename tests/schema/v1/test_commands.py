from __future__ import annotations

import pytest

from accord.schema import v1
from tests.schema.v1.shape import assert_shape


@pytest.mark.requirement("CMD-02", "CMD-03", "CMD-04", "CMD-05", "CMD-06", "UPDATE-09")
def test_commands_are_listed_with_a_name_a_description_and_maybe_a_hint():
    command = {"name": "web", "description": "Search the web"}
    assert_shape(v1.AvailableCommand, command, {"input": {"hint": "what to look for"}})
    assert_shape(v1.AvailableCommandInput, {"hint": "what to look for"})
    update = {"sessionUpdate": "available_commands_update", "availableCommands": [command]}
    assert_shape(v1.SessionUpdate, update)
