"""Permission requests, between v2 and words."""

from __future__ import annotations

from typing import Any

import pytest

from accord.dialects.v2 import V2
from accord.errors import InvalidParams, Malformed
from accord.session.requests import (
    CommandSubject,
    PermissionAnswer,
    PermissionOption,
    PermissionRequest,
    ToolCallSubject,
)
from accord.session.updates import ToolCallPatch
from accord.session.value import Unknown
from tests.dialects.json_values import plain, raw
from tests.dialects.v2.speaking import SESSION, asked_of, speaker

METHOD = "session/request_permission"
OPTIONS = [
    PermissionOption(id="y", name="Yes", kind="allow_once"),
    PermissionOption(id="n", name="No", kind="reject_once"),
]
WIRE_OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]
DIG = ToolCallPatch(id="c1", title="Dig a bed", kind="execute")
WIRE_DIG = {"toolCallId": "c1", "title": "Dig a bed", "kind": "execute"}


def question(**members: Any) -> dict[str, Any]:
    return {"sessionId": SESSION, "options": WIRE_OPTIONS, **members}


def written(**fields: Any) -> dict[str, Any]:
    return plain(speaker().request_to_wire(PermissionRequest(session_id=SESSION, options=OPTIONS, **fields))[1])


@pytest.mark.requirement("PERM-02", "PERM-03", "PERM-04", "PERM-05", "PERM-06", "PERM-07")
def test_a_question_about_a_tool_call_has_the_call_as_its_subject() -> None:
    params = question(title="May I?", description="Deep", subject={"type": "tool_call", "toolCall": WIRE_DIG})
    assert written(title="May I?", description="Deep", subject=ToolCallSubject(call=DIG)) == params
    assert asked_of(V2(strict=True), METHOD, params) == PermissionRequest(
        session_id=SESSION, title="May I?", description="Deep", subject=ToolCallSubject(call=DIG), options=OPTIONS
    )


def test_a_question_about_a_command_says_what_would_be_run() -> None:
    subject = CommandSubject(command="pump", cwd="/srv", tool_call_id="c1", terminal_id="t1")
    assert written(title="Run it?", subject=subject)["subject"] == {
        "type": "command",
        "command": "pump",
        "cwd": "/srv",
        "toolCallId": "c1",
        "terminalId": "t1",
    }


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        (ToolCallSubject(call=DIG), "Dig a bed"),
        (ToolCallSubject(call=ToolCallPatch(id="c1")), "Permission required"),
        (ToolCallSubject(call=ToolCallPatch(id="c1", title=None)), "Permission required"),
        (CommandSubject(command="pump", cwd="/srv"), "Permission required"),
        (None, "Permission required"),
    ],
)
def test_a_question_without_a_title_gets_the_tool_calls_or_a_plain_one(subject: Any, title: str) -> None:
    assert written(subject=subject)["title"] == title


def test_a_subject_of_an_unknown_type_is_kept_whole() -> None:
    subject = {"type": "_harvest", "kilos": 3}
    word = asked_of(V2(), METHOD, question(title="May I?", subject=subject))
    assert word.subject == Unknown(tag="_harvest", raw=subject)
    assert plain(speaker().request_to_wire(word)[1])["subject"] == subject


@pytest.mark.requirement("COMPAT-05", "COMPAT-06")
def test_an_option_of_an_unknown_kind_is_kept_as_it_is() -> None:
    options = [{"optionId": "m", "name": "Maybe", "kind": "_ask_the_gardener"}]
    word = asked_of(V2(), METHOD, {**question(title="May I?"), "options": options})
    assert word.options == [PermissionOption(id="m", name="Maybe", kind="_ask_the_gardener")]
    assert plain(speaker().request_to_wire(word)[1])["options"] == options


@pytest.mark.parametrize("kind", ["allow_once", "allow_always", "reject_once", "reject_always"])
@pytest.mark.requirement("PERM-08", "PERM-09", "PERM-10", "PERM-11")
def test_the_four_kinds_of_options_pass(kind: str) -> None:
    word = asked_of(
        V2(strict=True), METHOD, {**question(title="?"), "options": [{"optionId": "o", "name": "O", "kind": kind}]}
    )
    assert word.options[0].kind == kind


@pytest.mark.parametrize(
    "params",
    [
        question(),
        {**question(title="May I?"), "options": []},
        {**question(title="May I?"), "options": [{"optionId": "y", "kind": "allow_once"}]},
        question(title="May I?", subject={"type": "tool_call"}),
        question(title="May I?", subject="everything"),
    ],
    ids=["no title", "no options", "option without name", "subject without call", "subject no object"],
)
def test_a_question_that_cannot_be_shown_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        asked_of(V2(), METHOD, params)


@pytest.mark.parametrize("tool_call", [WIRE_DIG, {"toolCallId": "c1"}])
@pytest.mark.requirement("PERM-03")
def test_a_question_with_only_a_tool_call_is_read_unless_strict(tool_call: dict[str, Any]) -> None:
    params = question(toolCall=tool_call)
    word = asked_of(V2(), METHOD, params)
    assert isinstance(word.subject, ToolCallSubject)
    assert word.subject.call.id == "c1"
    assert word.title == tool_call.get("title", "Permission required")
    with pytest.raises(InvalidParams):
        asked_of(V2(strict=True), METHOD, params)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (PermissionAnswer(outcome="selected", option_id="y"), {"outcome": "selected", "optionId": "y"}),
        (PermissionAnswer(outcome="cancelled"), {"outcome": "cancelled"}),
        (PermissionAnswer(outcome="selected"), {"outcome": "cancelled"}),
        (PermissionAnswer(outcome="_later"), {"outcome": "cancelled"}),
    ],
)
@pytest.mark.requirement("PERM-13", "PERM-14", "PERM-15")
def test_an_answer_is_an_offered_option_or_a_no(answer: PermissionAnswer, outcome: dict[str, Any]) -> None:
    asked = PermissionRequest(session_id=SESSION, options=OPTIONS)
    assert plain(speaker().result_to_wire(asked, answer)) == {"outcome": outcome}


def test_an_outcome_that_is_not_known_is_kept_and_chooses_nothing() -> None:
    """FN-44: an unknown outcome is no approval."""
    asked = PermissionRequest(session_id=SESSION, options=OPTIONS)
    outcome = {"outcome": "_later", "optionId": "y"}
    answer = V2().result_from_wire(asked, raw({"outcome": outcome}))
    assert answer == PermissionAnswer(outcome="_later", raw=outcome)
    assert V2(strict=True).result_from_wire(asked, raw({"outcome": outcome})) == answer
    with pytest.raises(Malformed):
        V2(strict=True).result_from_wire(asked, raw({"outcome": {"outcome": "later"}}))


def test_an_outcome_that_is_not_known_is_passed_on_as_it_came() -> None:
    asked = PermissionRequest(session_id=SESSION, options=OPTIONS)
    outcome = {"outcome": "_later", "optionId": "y", "when": ["tomorrow"], "_meta": {"a": 1}}
    answer = V2().result_from_wire(asked, raw({"outcome": outcome}))
    assert plain(V2().result_to_wire(asked, answer)) == {"outcome": outcome}
