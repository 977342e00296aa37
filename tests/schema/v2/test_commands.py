from __future__ import annotations

from accord.schema import v2
from tests.schema.v1.shape import assert_shape


def test_a_command_has_a_type_a_name_and_a_description() -> None:
    required = {"type": "command", "name": "dig", "description": "Dig a bed"}
    assert_shape(v2.AvailableCommand, required, {"input": {"type": "text", "hint": "which bed"}})


def test_input_as_text_has_a_hint() -> None:
    assert_shape(v2.AvailableCommandInput, {"type": "text", "hint": "which bed"})


def test_all_commands_are_told_at_once() -> None:
    assert_shape(v2.SessionUpdate, {"sessionUpdate": "available_commands_update", "availableCommands": []})
