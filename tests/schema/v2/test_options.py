from __future__ import annotations

from typing import Any

import pytest

from accord.errors import Malformed
from accord.schema import v2
from accord.schema.reader import Reader
from accord.schema.wire_values import UNSET
from tests.schema.v1.shape import assert_shape, known, read, refuses, write

VALUE = {"value": "a", "name": "A"}
GROUP = {"groupId": "g", "name": "G", "options": [VALUE]}
HEADER = {"configId": "c", "name": "n"}
OPTIONAL = {"description": "d", "category": "model"}


def select(*options: dict[str, Any]) -> dict[str, Any]:
    return {"type": "select", **HEADER, "currentValue": "a", "options": list(options)}


def test_a_select_and_a_switch() -> None:
    assert_shape(v2.SessionConfigOption, select(VALUE), OPTIONAL)
    assert_shape(v2.SessionConfigOption, {"type": "boolean", **HEADER, "currentValue": True}, OPTIONAL)


@pytest.mark.parametrize(("options", "grouped"), [([VALUE, VALUE], False), ([GROUP, GROUP], True)])
def test_a_select_holds_values_or_groups(options: list[dict[str, Any]], grouped: bool) -> None:
    option = read(v2.SessionConfigOption, select(*options))
    assert [choice.is_group for choice in option.options] == [grouped, grouped]
    assert write(option) == select(*options)


@pytest.mark.parametrize(
    "options",
    [
        [],
        [VALUE, GROUP],
        [{"name": "neither"}],
        [{"name": "no group", "options": [VALUE]}],
    ],
)
def test_a_select_of_anything_else_is_refused(options: list[dict[str, Any]]) -> None:
    assert refuses(v2.SessionConfigOption, select(*options))


@pytest.mark.parametrize(
    ("group", "reason"),
    [
        ({"groupId": "g", "name": "G"}, "required"),
        ({"groupId": "g", "name": "G", "options": []}, "expected a length >= 1"),
        ({"groupId": "g", "name": "G", "options": [5]}, "expected `object`, got `int`"),
    ],
    ids=["missing", "empty", "malformed"],
)
def test_a_group_without_choices_leaves_the_others_and_is_refused_in_strict_mode(
    group: dict[str, Any], reason: str
) -> None:
    option = Reader(v2.SessionConfigOption).convert(select(group, GROUP))
    assert isinstance(option, v2.SessionConfigSelect)
    assert option.options[0].options in (UNSET, [])
    with pytest.raises(Malformed) as refused:
        Reader(v2.SessionConfigOption, strict=True).convert(select(group, GROUP))
    assert refused.value.path.startswith("$.options[0].options")
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("kind", "value", "taken"),
    [
        ("id", "v", True),
        ("id", True, False),
        ("boolean", False, True),
        ("boolean", "true", False),
        ("boolean", 0, False),
        ("_range", {"from": 1}, True),
        ("_range", None, True),
    ],
)
def test_the_value_to_set_fits_its_type(kind: str, value: Any, taken: bool) -> None:
    request = {"sessionId": "s", "configId": "c", "type": kind, "value": value}
    assert refuses(v2.SetSessionConfigOptionRequest, request) is not taken
    for key in request:
        assert refuses(v2.SetSessionConfigOptionRequest, {name: each for name, each in request.items() if name != key})


def test_all_options_are_told_at_once() -> None:
    assert_shape(v2.SetSessionConfigOptionResponse, {"configOptions": [select(VALUE)]}, forgiven=("configOptions",))
    assert_shape(v2.SessionUpdate, {"sessionUpdate": "config_option_update", "configOptions": [select(VALUE)]})


def test_the_known_categories() -> None:
    assert set(known(v2.SessionConfigOptionCategory).values) == {"mode", "model", "model_config", "thought_level"}


def test_a_command_has_a_type_a_name_and_a_description() -> None:
    required = {"type": "command", "name": "dig", "description": "Dig a bed"}
    assert_shape(v2.AvailableCommand, required, {"input": {"type": "text", "hint": "which bed"}})


def test_input_as_text_has_a_hint() -> None:
    assert_shape(v2.AvailableCommandInput, {"type": "text", "hint": "which bed"})


def test_all_commands_are_told_at_once() -> None:
    assert_shape(v2.SessionUpdate, {"sessionUpdate": "available_commands_update", "availableCommands": []})
