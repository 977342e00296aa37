from __future__ import annotations

import pytest
from msgspec import UNSET

from accord.schema import v2
from tests.schema.v1.shape import assert_shape, known, read, refuses

TEXT = {"type": "text", "text": "hi"}


@pytest.mark.requirement("PROMPT-03", "PROMPT-04")
def test_a_prompt_has_a_session_and_something_to_say() -> None:
    assert_shape(v2.PromptRequest, {"sessionId": "s", "prompt": [TEXT]})
    assert refuses(v2.PromptRequest, {"sessionId": "s", "prompt": []})
    assert refuses(v2.PromptRequest, {"sessionId": "s", "prompt": TEXT})


def test_the_answer_to_a_prompt_is_the_id_of_the_message() -> None:
    assert_shape(v2.PromptResponse, {"messageId": "m"})


def test_a_state_is_one_object_whatever_the_state() -> None:
    work = [{"type": "terminal", "terminalId": "t"}, {"type": "tool_call", "toolCallId": "c"}]
    optional = {"stopReason": "error", "error": {"code": 1, "message": "m"}, "background": work}
    assert_shape(v2.SessionUpdate, {"sessionUpdate": "state_update", "state": "idle"}, optional)


def test_no_background_list_is_not_an_empty_one() -> None:
    assert read(v2.StateUpdate, {"state": "idle"}).background is UNSET
    assert read(v2.StateUpdate, {"state": "idle", "background": []}).background == []


@pytest.mark.requirement("PROMPT-21", "PROMPT-22", "PROMPT-23", "PROMPT-24", "PROMPT-25")
def test_the_known_stop_reasons_and_states() -> None:
    reasons = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"}
    assert set(known(v2.StopReason).values) == reasons
    assert set(known(v2.SessionState).values) == {"running", "idle", "requires_action"}
