"""What `accord run` prints for people."""

from __future__ import annotations

import pytest

from accord.session.content import Text
from accord.session.entities import ContentItem
from accord.session.updates import ToolCallPatch
from accord.testing import ScriptedAgent, program
from tests.apps.console.test_run import working

pytestmark = pytest.mark.timeout(40)


async def test_why_a_call_failed_is_told_without_its_fences(typed, version):
    """Claude's adapter puts the words of a tool into a block of code."""
    words = ContentItem(content=Text("```console\nUser refused `permission`\n```"))
    agent = ScriptedAgent(version)
    failed = ToolCallPatch(id="c", title="Edit", kind="edit", status="failed", content=[words])
    agent.on("session/prompt", working(agent, failed))
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert "✗ Edit: User refused `permission`" in finished.err.splitlines()
