"""Options, modes as one of them, and commands, between v2 and words."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from accord.dialects.v2 import V2
from accord.errors import InvalidParams
from accord.session.entities import Mode, Modes, Option, OptionChoice, SlashCommand
from accord.session.requests import NewSession, SessionSetup, SetOption
from accord.session.transcript import Transcript
from accord.session.updates import CommandsPatch, ModePatch, ModesPatch, OptionsPatch
from tests.dialects.json_values import plain, raw
from tests.dialects.v2.speaking import SESSION, asked_of, reports_of, rows_lost, speaker, updates_of

MODEL = Option(id="model", name="Model", value="small", choices=[OptionChoice(value="small", name="Small")])
WAYS = [OptionChoice(value="ask", name="Ask"), OptionChoice(value="code", name="Code")]
WAY = Option(id="way", name="Way", category="mode", value="ask", choices=WAYS)
MODES = Modes(current="ask", available=[Mode(id="ask", name="Ask"), Mode(id="code", name="Code", description="Writes")])


def values(update: dict[str, Any]) -> dict[str, Any]:
    assert update["sessionUpdate"] == "config_option_update"
    return {option["configId"]: option["currentValue"] for option in update["configOptions"]}


def test_a_change_of_mode_is_told_as_all_options_with_the_new_mode() -> None:
    updates = updates_of(speaker(), OptionsPatch(options=[MODEL, WAY]), ModePatch(mode_id="code", meta={"a": 1}))
    assert [values(update) for update in updates] == [
        {"model": "small", "way": "ask"},
        {"model": "small", "way": "code"},
    ]
    assert updates[-1]["_meta"] == {"a": 1}


def test_a_mode_that_was_told_already_is_not_told_again() -> None:
    dialect = speaker()
    updates_of(dialect, OptionsPatch(options=[WAY]))
    assert updates_of(dialect, ModePatch(mode_id="ask")) == []
    assert rows_lost(dialect) == []


def test_modes_without_an_option_become_one() -> None:
    dialect, transcript = speaker(), Transcript()
    first, second = updates_of(dialect, OptionsPatch(options=[MODEL]), ModesPatch(modes=MODES), transcript=transcript)
    assert values(first) == {"model": "small"}
    assert second["configOptions"][1] == {
        "type": "select",
        "configId": "mode",
        "name": "Mode",
        "category": "mode",
        "currentValue": "ask",
        "options": [
            {"value": "ask", "name": "Ask"},
            {"value": "code", "name": "Code", "description": "Writes"},
        ],
    }
    changed, replaced = updates_of(dialect, ModePatch(mode_id="code"), OptionsPatch(options=[]), transcript=transcript)
    assert values(changed) == {"model": "small", "mode": "code"}
    assert values(replaced) == {"mode": "code"}


def test_modes_in_the_answer_that_opens_a_session_become_an_option() -> None:
    dialect, asked = speaker(), NewSession(cwd="/srv")
    answer = SessionSetup(session_id=SESSION, modes=MODES)
    assert [option["configId"] for option in plain(dialect.result_to_wire(asked, answer))["configOptions"]] == ["mode"]
    answer = SessionSetup(session_id=SESSION, modes=MODES, options=[WAY])
    assert [option["configId"] for option in plain(dialect.result_to_wire(asked, answer))["configOptions"]] == ["way"]
    assert [values(update) for update in updates_of(dialect, ModePatch(mode_id="code"))] == [{"way": "code"}]


def test_the_answer_to_a_choice_has_the_modes_too() -> None:
    dialect = speaker()
    updates_of(dialect, OptionsPatch(options=[MODEL]), ModesPatch(modes=MODES))
    asked = SetOption(session_id=SESSION, option_id="model", value="small")
    result = plain(dialect.result_to_wire(asked, SessionSetup(options=[MODEL])))
    assert [option["configId"] for option in result["configOptions"]] == ["model", "mode"]


def test_a_session_that_is_forgotten_has_no_options_left() -> None:
    dialect = speaker()
    updates_of(dialect, OptionsPatch(options=[WAY]))
    dialect.forget_session(SESSION)
    assert updates_of(dialect, ModePatch(mode_id="code")) == []
    assert rows_lost(dialect) == ["mode"]


def test_choices_keep_their_groups_in_order() -> None:
    choices = [
        OptionChoice(value="a", name="A", group="quick", group_name="Quick", group_meta={"g": 1}),
        OptionChoice(value="b", name="B", group="slow"),
        OptionChoice(value="c", name="C", group="quick", group_name="Quick"),
    ]
    [update] = updates_of(
        speaker(), OptionsPatch(options=[Option(id="model", name="Model", value="a", choices=choices)])
    )
    assert update["configOptions"][0]["options"] == [
        {
            "groupId": "quick",
            "name": "Quick",
            "options": [{"value": "a", "name": "A"}, {"value": "c", "name": "C"}],
            "_meta": {"g": 1},
        },
        {"groupId": "slow", "name": "slow", "options": [{"value": "b", "name": "B"}]},
    ]


def test_a_switch_needs_no_capability() -> None:
    [update] = updates_of(speaker(), OptionsPatch(options=[Option(id="fast", name="Fast", kind="boolean", value=True)]))
    assert update["configOptions"] == [
        {"type": "boolean", "configId": "fast", "name": "Fast", "currentValue": True},
    ]


def test_an_option_of_an_unknown_type_is_kept_whole_if_it_says_what_it_is() -> None:
    dialect = V2()
    slider = {"type": "_slider", "configId": "heat", "name": "Heat", "currentValue": 3}
    [report] = reports_of(
        dialect, sessionUpdate="config_option_update", configOptions=[slider, {"type": "_slider", "name": "?"}]
    )
    assert report == OptionsPatch(options=[Option(id="heat", name="Heat", kind="_slider", raw=slider)])
    assert len(dialect.notes) == 1
    assert updates_of(speaker(), report)[0]["configOptions"] == [slider]


def test_an_option_of_an_unknown_type_that_came_with_an_id_is_told_with_v2s_key() -> None:
    slider = {"type": "_slider", "id": "heat", "name": "Heat"}
    report = OptionsPatch(options=[Option(id="heat", name="Heat", kind="_slider", raw=slider)])
    assert updates_of(speaker(), report)[0]["configOptions"] == [{**slider, "configId": "heat"}]


def test_a_command_of_an_unknown_type_is_kept_whole_if_it_says_what_it_is() -> None:
    dialect = V2()
    wand = {"type": "_wand", "name": "rain", "description": "Makes it rain", "mm": 3}
    [report] = reports_of(
        dialect, sessionUpdate="available_commands_update", availableCommands=[wand, {"type": "_wand", "name": "?"}]
    )
    assert report == CommandsPatch(commands=[SlashCommand(name="rain", description="Makes it rain", raw=wand)])
    assert len(dialect.notes) == 1
    assert updates_of(speaker(), report)[0]["availableCommands"] == [wand]


def test_a_command_with_an_input_of_an_unknown_type_is_kept_whole() -> None:
    dig = {"type": "command", "name": "dig", "description": "Dig", "input": {"type": "_map", "zoom": 3}}
    [report] = reports_of(V2(), sessionUpdate="available_commands_update", availableCommands=[dig])
    assert report == CommandsPatch(commands=[SlashCommand(name="dig", description="Dig", raw=dig)])
    assert updates_of(speaker(), report)[0]["availableCommands"] == [dig]


def test_a_slash_before_the_name_of_a_command_is_stripped() -> None:
    dig = {"type": "command", "name": "/dig", "description": "Dig"}
    [report] = reports_of(V2(), sessionUpdate="available_commands_update", availableCommands=[dig])
    assert report == CommandsPatch(commands=[SlashCommand(name="dig", description="Dig")])


def test_commands_and_their_inputs_are_told_with_their_types() -> None:
    [update] = updates_of(
        speaker(), CommandsPatch(commands=[SlashCommand(name="dig", description="Dig", hint="where")])
    )
    assert update["availableCommands"] == [
        {"type": "command", "name": "dig", "description": "Dig", "input": {"type": "text", "hint": "where"}},
    ]


@pytest.mark.parametrize(("value", "kind"), [("small", "id"), (True, "boolean"), (False, "boolean")])
def test_a_choice_is_told_with_its_type(value: str | bool, kind: str) -> None:
    asked = SetOption(session_id=SESSION, option_id="model", value=value)
    method, params = speaker().request_to_wire(asked)
    assert (method, plain(params)["type"], plain(params)["value"]) == ("session/set_config_option", kind, value)


@pytest.mark.parametrize(
    "members",
    [
        {"type": "_colour", "value": "green"},
        {"type": "number", "value": 3},
        {"type": "id", "value": True},
        {"type": "boolean", "value": "yes"},
        {"value": "small"},
    ],
)
def test_a_choice_of_a_type_the_agent_does_not_have_is_refused(members: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        asked_of(V2(), "session/set_config_option", {"sessionId": SESSION, "configId": "model", **members})


def test_an_answer_without_lists_tells_none() -> None:
    dialect, asked = speaker(), NewSession(cwd="/srv")
    assert plain(dialect.result_to_wire(asked, SessionSetup(session_id=SESSION))) == {"sessionId": SESSION}
    read = dialect.result_from_wire(asked, raw({"sessionId": SESSION, "configOptions": None}))
    assert (read.options, read.commands) == (UNSET, UNSET)
