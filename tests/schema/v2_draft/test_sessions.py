from __future__ import annotations

from typing import Any

import pytest

from accord.schema import v2_draft
from tests.schema.v1.shape import read, refuses, write


@pytest.mark.requirement("PROMPT-11")
@pytest.mark.parametrize(
    ("answer", "taken"),
    [
        ({"stopReason": "end_turn"}, True),
        ({"stopReason": "_rested", "messageId": "m"}, True),
        ({"messageId": "m"}, True),
        ({}, False),
        ({"stopReason": None}, False),
        ({"stopReason": 1, "messageId": "m"}, False),
    ],
)
def test_a_prompt_is_answered_with_a_stop_reason_or_as_in_v2_with_an_id(answer: dict[str, Any], taken: bool) -> None:
    if taken:
        assert write(read(v2_draft.PromptResponse, answer)) == answer
    else:
        assert refuses(v2_draft.PromptResponse, answer)
