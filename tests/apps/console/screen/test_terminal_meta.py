"""Commands of agents that tell their output in `_meta` alone, as the screen shows them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord.testing import ScriptedAgent
from tests.apps.console.real_peers import Turn, claude_shell, codex_shell, does, pi_shell
from tests.apps.console.screen.stage import opened

PEERS = [
    pytest.param(pi_shell("make all", "one\n", "\x1b[31mtwo\x1b[0m\n", code=2), "✗ $ make all  exit 2", id="pi-acp"),
    pytest.param(codex_shell("make all", "one\n", "two\n"), "✓ $ make all  exit 0", id="codex-acp"),
    pytest.param(claude_shell("make all", "one\ntwo\n"), "✓ $ make all  exit 0", id="claude-agent-acp"),
]


@pytest.mark.parametrize(("turn", "head"), PEERS)
async def test_the_output_is_shown_in_its_tool_call(tmp_path, turn: Turn, head: str):
    """FN-104: command output only in `_meta`."""
    async with opened(does(ScriptedAgent(1), turn), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        assert [line.strip() for line in stage.conversation.splitlines()].count(head) == 1
        [block] = stage.tab.conversation.calls
        block.is_folded = False
        block.invalidate()
        lines = [line.strip() for line in stage.conversation.splitlines()]
        start = lines.index(head)
        assert lines.index("│ one") == lines.index("│ two") - 1 > start


async def test_the_output_is_shown_while_the_command_runs(tmp_path):
    agent, may_go_on = ScriptedAgent(1), asyncio.Event()
    begun = {"toolCallId": "t", "title": "make", "content": [{"type": "terminal", "terminalId": "t"}]}

    @agent.on("session/prompt")
    async def answer(asked: Any) -> None:
        agent.update("tool_call", status="in_progress", _meta={"terminal_info": {"terminal_id": "t"}}, **begun)
        output = {"terminal_output": {"terminal_id": "t", "data": "compiling…\n"}}
        agent.update("tool_call_update", toolCallId="t", _meta=output)
        await may_go_on.wait()
        agent.finish(asked)

    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.shows("◐ • make", "│ compiling…")
        may_go_on.set()
        await stage.idle()
