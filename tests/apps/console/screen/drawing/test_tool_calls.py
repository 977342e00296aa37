from __future__ import annotations

import pytest

from accord.apps.console.screen.blocks.tool_calls import ToolCallBlock
from accord.session.entities import ToolCall
from tests.apps.console.screen.drawing.palettes import canvas, texts


def header(call: ToolCall) -> str:
    return texts(ToolCallBlock(call, "/w", lambda id: None).draw(canvas(80)))[0].strip()


@pytest.mark.requirement("COMPAT-21", "COMPAT-22")
@pytest.mark.parametrize(("kind", "status"), [("_draw", "_waiting"), ("of_a_later_version", "hovering")])
def test_a_kind_and_a_status_that_nobody_knows_have_general_signs_and_the_status_is_written_out(kind, status):
    assert header(ToolCall(id="c", title="Draw", kind=kind, status=status)) == f"○ • Draw  {status}"
    assert header(ToolCall(id="c", title="Draw", kind=kind, status="completed")) == "✓ • Draw"
    assert header(ToolCall(id="c", title="Draw", kind="read", status=status)) == f"○ ≡ Draw  {status}"


@pytest.mark.requirement("COMPAT-22")
def test_a_status_from_an_agent_is_shown_without_control_characters():
    assert "\x1b" not in header(ToolCall(id="c", title="Draw", status="_\x1b[31mred"))
