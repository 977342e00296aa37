from __future__ import annotations

from typing import Any

import pytest

from accord.schema import v2_draft
from tests.schema.v1.shape import read, refuses, write

OPTION = {"optionId": "o", "name": "Yes", "kind": "allow_once"}


@pytest.mark.requirement("PERM-03")
@pytest.mark.parametrize(
    ("members", "taken"),
    [
        ({"toolCall": {"toolCallId": "c"}}, True),
        ({"title": "t"}, True),
        ({"title": "t", "toolCall": None, "subject": None}, True),
        (
            {"toolCall": {"toolCallId": "c"}, "title": "t", "subject": {"type": "command", "command": "x", "cwd": "/"}},
            True,
        ),
        ({}, False),
        ({"toolCall": {}}, False),
        ({"subject": {"type": "command", "command": "x", "cwd": "/"}}, False),
    ],
)
def test_permission_is_asked_about_a_tool_call_or_with_a_title(members: dict[str, Any], taken: bool) -> None:
    request = {"sessionId": "s", "options": [OPTION], **members}
    if taken:
        assert write(read(v2_draft.RequestPermissionRequest, request)) == request
    else:
        assert refuses(v2_draft.RequestPermissionRequest, request)
