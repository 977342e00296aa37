from __future__ import annotations

import pytest
from msgspec import UNSET

from accord.schema import v2
from tests.schema.v1.shape import assert_shape, known, read, refuses

OPTION = {"optionId": "o", "name": "Yes", "kind": "allow_once"}


@pytest.mark.requirement("PERM-02", "PERM-04")
def test_a_question_has_a_title_and_at_least_one_option() -> None:
    required = {"sessionId": "s", "title": "t", "options": [OPTION]}
    subject = {"type": "tool_call", "toolCall": {"toolCallId": "c"}}
    assert_shape(v2.RequestPermissionRequest, required, {"description": "d", "subject": subject})
    assert refuses(v2.RequestPermissionRequest, {**required, "options": []})


@pytest.mark.requirement("PERM-05", "PERM-06", "PERM-07")
def test_an_option_has_an_id_a_name_and_a_kind() -> None:
    assert_shape(v2.PermissionOption, OPTION)


@pytest.mark.requirement("PERM-08", "PERM-09", "PERM-10", "PERM-11")
def test_the_known_kinds_of_options() -> None:
    kinds = {"allow_once", "allow_always", "reject_once", "reject_always"}
    assert set(known(v2.PermissionOptionKind).values) == kinds


def test_a_question_is_about_a_tool_call_a_command_or_nothing_named() -> None:
    assert_shape(v2.RequestPermissionSubject, {"type": "tool_call", "toolCall": {"toolCallId": "c"}})
    command = {"type": "command", "command": "pump --on", "cwd": "/srv"}
    assert_shape(v2.RequestPermissionSubject, command, {"toolCallId": "c", "terminalId": "t"})
    assert read(v2.RequestPermissionRequest, {"sessionId": "s", "title": "t", "options": [OPTION]}).subject is UNSET


@pytest.mark.requirement("PERM-13", "PERM-14", "PERM-15")
def test_an_outcome_is_a_choice_or_none() -> None:
    assert_shape(v2.RequestPermissionResponse, {"outcome": {"outcome": "cancelled"}})
    assert_shape(v2.RequestPermissionOutcome, {"outcome": "selected", "optionId": "o"})
    assert_shape(v2.RequestPermissionOutcome, {"outcome": "cancelled"})
