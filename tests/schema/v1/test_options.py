from __future__ import annotations

from typing import Any

import pytest

from accord.errors import Malformed
from accord.schema import v1, v2
from accord.schema.reader import Reader
from accord.schema.wire_values import UNSET
from tests.schema.v1.shape import assert_shape, known, read, refuses, write

VALUE = {"value": "small", "name": "Small"}
GROUP = {"group": "usual", "name": "Usual", "options": [VALUE]}
SELECT: dict[str, Any] = {"type": "select", "id": "model", "name": "Model", "currentValue": "small", "options": [VALUE]}
SET = {"sessionId": "sess_1", "configId": "model"}


def test_an_option_says_what_it_is_and_what_is_set():
    shown = {"description": "Which model answers", "category": "model"}
    assert_shape(v1.SessionConfigOption, SELECT, shown)
    assert_shape(v1.SessionConfigOption, {"type": "boolean", "id": "web", "name": "Web", "currentValue": True}, shown)


@pytest.mark.parametrize(("kind", "value"), [("boolean", "on"), ("select", True)])
def test_the_type_of_an_option_decides_the_type_of_its_value(kind: str, value: object):
    assert refuses(v1.SessionConfigOption, SELECT | {"type": kind, "currentValue": value})


def test_categories_are_an_open_list():
    assert not known(v1.SessionConfigOptionCategory).closed
    assert read(v1.SessionConfigOption, SELECT | {"category": "_acme"}).category == "_acme"


@pytest.mark.parametrize("choices", [[], [VALUE], [VALUE | {"description": "Quick"}], [GROUP], [GROUP, GROUP]])
def test_a_select_lists_values_or_groups(choices: list[dict[str, Any]]):
    select = SELECT | {"options": choices}
    assert write(read(v1.SessionConfigOption, select)) == select


def test_a_select_that_mixes_values_and_groups_is_refused():
    assert refuses(v1.SessionConfigOption, SELECT | {"options": [VALUE, GROUP]})


@pytest.mark.parametrize("choice", [{"name": "?"}, {"name": "?", "options": [VALUE]}])
def test_a_choice_that_is_neither_value_nor_group_is_refused(choice: dict[str, Any]):
    assert refuses(v1.SessionConfigSelectChoice, choice)
    with pytest.raises(ValueError, match="`value` or `group`"):
        v1.SessionConfigSelectChoice(**choice)


def test_a_group_always_has_options():
    assert write(v1.SessionConfigSelectChoice("Rare", group="rare")) == {"group": "rare", "name": "Rare", "options": []}
    assert "options" not in write(v1.SessionConfigSelectChoice("Small", value="small"))


def test_a_group_of_which_nothing_is_told_is_refused_in_strict_mode():
    with pytest.raises(Malformed, match=r"\$\.options: required"):
        Reader(v1.SessionConfigSelectChoice, strict=True).convert({"group": "rare", "name": "Rare"})
    empty = {"group": "rare", "name": "Rare", "options": []}
    assert write(Reader(v1.SessionConfigSelectChoice, strict=True).convert(empty)) == empty


@pytest.mark.parametrize("version", [v1, v2])
def test_any_category_is_taken_in_strict_mode(version: Any):
    option = {"name": "n", "type": "boolean", "currentValue": True, "category": "permissions"}
    read = Reader(version.SessionConfigOption, strict=True).convert(
        {"id" if version is v1 else "configId": "c", **option}
    )
    assert read.category == "permissions"


def test_a_choice_knows_whether_it_is_a_group():
    assert read(v1.SessionConfigSelectChoice, GROUP).is_group
    assert not read(v1.SessionConfigSelectChoice, VALUE).is_group
    assert not read(v1.SessionConfigSelectChoice, GROUP | VALUE).is_group


@pytest.mark.parametrize("more", [{"value": "large"}, {"type": "select", "value": "large"}])
def test_setting_takes_a_string_whatever_the_type_says(more: dict[str, Any]):
    assert_shape(v1.SetSessionConfigOptionRequest, SET | {"value": "large"})
    assert read(v1.SetSessionConfigOptionRequest, SET | more).value == "large"


def test_setting_takes_a_bool_with_the_type_boolean():
    request = SET | {"type": "boolean", "value": False}
    assert write(read(v1.SetSessionConfigOptionRequest, request)) == request
    assert read(v1.SetSessionConfigOptionRequest, request).value is False


@pytest.mark.parametrize(
    "more",
    [{"value": True}, {"type": "select", "value": True}, {"type": "boolean", "value": "true"}, {"type": "boolean"}],
)
def test_setting_refuses_a_value_that_does_not_fit_its_type(more: dict[str, Any]):
    assert refuses(v1.SetSessionConfigOptionRequest, SET | more)


def test_setting_is_answered_with_all_options():
    assert_shape(v1.SetSessionConfigOptionResponse, {"configOptions": [SELECT]}, forgiven=("configOptions",))


@pytest.mark.requirement("MODE-03", "MODE-04", "MODE-05", "MODE-06", "MODE-07", "MODE-10", "MODE-11", "MODE-12")
def test_modes_are_listed_and_set_by_id():
    assert_shape(v1.SessionMode, {"id": "ask", "name": "Ask"}, {"description": "Asks first"})
    assert_shape(v1.SessionModeState, {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}]})
    assert_shape(v1.SetSessionModeRequest, {"sessionId": "sess_1", "modeId": "ask"})
    assert write(v1.SetSessionModeResponse()) == {}


@pytest.mark.requirement("SESS-40", "AMB-06")
def test_a_model_is_set_by_id():
    assert_shape(v1.SetSessionModelRequest, {"sessionId": "sess_1", "modelId": "m1"})
    assert write(v1.SetSessionModelResponse()) == {}


def test_an_option_left_undescribed_stays_so():
    option = read(v1.SessionConfigOption, SELECT)
    assert option.description is UNSET
    assert option.category is UNSET


@pytest.mark.requirement("CMD-02", "CMD-03", "CMD-04", "CMD-05", "CMD-06", "UPDATE-09")
def test_commands_are_listed_with_a_name_a_description_and_maybe_a_hint():
    command = {"name": "web", "description": "Search the web"}
    assert_shape(v1.AvailableCommand, command, {"input": {"hint": "what to look for"}})
    assert_shape(v1.AvailableCommandInput, {"hint": "what to look for"})
    update = {"sessionUpdate": "available_commands_update", "availableCommands": [command]}
    assert_shape(v1.SessionUpdate, update)
