from __future__ import annotations

import pytest

from accord.schema import v1
from tests.schema.v1.shape import assert_shape, known, read, refuses


@pytest.mark.requirement("PROMPT-03", "PROMPT-04", "PROMPT-11", "CANCEL-02")
def test_a_prompt_its_answer_and_its_cancellation():
    assert_shape(v1.PromptRequest, {"sessionId": "sess_1", "prompt": [{"type": "text", "text": "Hello"}]})
    assert_shape(v1.PromptResponse, {"stopReason": "end_turn"})
    assert_shape(v1.CancelNotification, {"sessionId": "sess_1"})


def test_a_prompt_with_one_bad_block_is_refused():
    good, bad = {"type": "text", "text": "Hello"}, {"type": "text"}
    assert refuses(v1.PromptRequest, {"sessionId": "sess_1", "prompt": [good, bad]})


@pytest.mark.requirement("PROMPT-21", "PROMPT-22", "PROMPT-23", "PROMPT-24", "PROMPT-25", "PROMPT-26", "CHECK-22")
def test_the_five_stop_reasons_are_a_closed_list():
    reasons = known(v1.StopReason)
    assert reasons.closed
    assert reasons.values == ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")


def test_a_stop_reason_that_is_not_listed_is_kept():
    """FN-51: it does not raise out of the prompt."""
    assert read(v1.PromptResponse, {"stopReason": "bored"}).stop_reason == "bored"
