from __future__ import annotations

import pytest

from accord.schema import v1
from tests.schema.v1.shape import assert_shape, known, read, refuses

OPTION = {"optionId": "yes", "name": "Allow", "kind": "allow_once"}


@pytest.mark.requirement("PERM-02", "PERM-03", "PERM-04", "PERM-05", "PERM-06", "PERM-07")
def test_a_question_has_a_tool_call_and_options():
    assert_shape(v1.PermissionOption, OPTION)
    question = {"sessionId": "sess_1", "toolCall": {"toolCallId": "call_001"}, "options": [OPTION]}
    assert_shape(v1.RequestPermissionRequest, question)


def test_a_question_with_one_bad_option_is_refused():
    question = {"sessionId": "sess_1", "toolCall": {"toolCallId": "call_001"}, "options": [OPTION, {"name": "?"}]}
    assert refuses(v1.RequestPermissionRequest, question)


@pytest.mark.requirement("PERM-08", "PERM-09", "PERM-10", "PERM-11")
def test_the_four_kinds_of_options_are_a_closed_list():
    kinds = known(v1.PermissionOptionKind)
    assert kinds.closed
    assert kinds.values == ("allow_once", "allow_always", "reject_once", "reject_always")


@pytest.mark.requirement("PERM-13", "PERM-14", "PERM-15")
def test_the_outcome_is_a_chosen_option_or_cancelled():
    assert_shape(v1.RequestPermissionResponse, {"outcome": {"outcome": "cancelled"}})
    assert_shape(v1.RequestPermissionOutcome, {"outcome": "selected", "optionId": "yes"})
    assert read(v1.RequestPermissionOutcome, {"outcome": "cancelled"}) == v1.CancelledPermissionOutcome()
    assert "optionId" not in v1.CancelledPermissionOutcome.__struct_encode_fields__


@pytest.mark.requirement("PERM-13")
def test_an_outcome_without_its_tag_is_no_approval():
    """FN-44: anything but a known outcome is a no."""
    assert refuses(v1.RequestPermissionOutcome, {"optionId": "yes"})
