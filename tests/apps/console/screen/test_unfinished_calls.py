"""Calls and plans that nobody will finish: nothing looks busy beside `ready`, nor when the agent is gone."""

from __future__ import annotations

import asyncio

import pytest

from accord import permissions
from accord.apps.console.conversation_records import ConversationRecords
from accord.apps.console.screen.export import as_markdown
from accord.client.client import Client
from accord.session.entities import Plan, PlanEntry
from accord.session.updates import CompactionPatch, PlanPatch, ToolCallPatch
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened

CALL = ToolCallPatch(id="c", title="Exit plan mode", kind="switch_mode", status="in_progress")
PLAN = PlanPatch(plan=Plan(id="p", entries=[PlanEntry(content="Read the code", status="in_progress")]))


async def test_a_call_that_the_turn_left_open_is_not_at_work_beside_ready(tmp_path, version):
    agent = ScriptedAgent(version)
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Plan it")
        asked = await agent.next("session/prompt")
        agent.begin(asked)
        agent.tell(CALL)
        await stage.shows("◐ ⇥ Exit plan mode")
        agent.finish(asked)
        await stage.shows("● ready", "∅ ⇥ Exit plan mode", "ended without a result")
        assert "◐" not in stage.conversation
        agent.tell(ToolCallPatch(id="c", status="completed"))
        await stage.shows("✓ ⇥ Exit plan mode")
        assert "ended without a result" not in stage.conversation


async def test_an_agent_that_dies_leaves_neither_call_nor_plan_at_work(tmp_path, version):
    agent = ScriptedAgent(version)
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Plan it")
        asked = await agent.next("session/prompt")
        agent.begin(asked)
        agent.tell(CALL)
        agent.tell(PLAN)
        await stage.shows("◐ ⇥ Exit plan mode", "▸ Read the code")
        agent.die(3, "out of memory")
        await stage.shows("agent ended, F5 restarts it", "∅ ⇥ Exit plan mode", "○ Read the code", "interrupted")
        assert "▸" not in stage.text


async def test_an_agent_that_is_killed_leaves_nothing_at_work(tmp_path, version):
    agent = ScriptedAgent(version)
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Plan it")
        asked = await agent.next("session/prompt")
        agent.begin(asked)
        agent.tell(CALL)
        await stage.shows("◐ ⇥ Exit plan mode")
        await stage.press("escape")
        await agent.next("session/cancel")
        agent.tell(ToolCallPatch(id="c", status="in_progress"))
        await stage.shows("stopping…", "◐ ⇥ Exit plan mode")
        await stage.press("escape")
        await stage.shows("agent ended, F5 restarts it", "∅ ⇥ Exit plan mode")


async def test_esc_does_not_mark_a_call_that_an_earlier_turn_left_open(tmp_path, version):
    agent = ScriptedAgent(version)
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Plan it")
        asked = await agent.next("session/prompt")
        agent.begin(asked)
        agent.tell(CALL)
        agent.finish(asked)
        await stage.shows("● ready", "∅ ⇥ Exit plan mode")
        await stage.send("Do it")
        asked = await agent.next("session/prompt")
        agent.begin(asked)
        agent.tell(ToolCallPatch(id="c", status="in_progress"))
        agent.tell(ToolCallPatch(id="d", title="Build", kind="execute", status="in_progress"))
        await stage.shows("◐ $ Build")
        await stage.press("escape")
        await stage.shows("⊘ $ Build", "◐ ⇥ Exit plan mode")
        agent.finish(asked, "cancelled")
        await stage.shows("● ready", "∅ ⇥ Exit plan mode")


async def test_a_plan_of_a_turn_that_was_refused_says_that_it_is_broken_off(tmp_path, version):
    agent = ScriptedAgent(version)
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Plan it")
        asked = await agent.next("session/prompt")
        agent.begin(asked)
        agent.tell(PLAN)
        agent.finish(asked, "refusal")
        await stage.shows("● ready", "interrupted", "○ Read the code")
        assert "▸" not in stage.text


async def test_a_plan_that_a_turn_leaves_in_progress_is_paused_beside_ready(tmp_path, version):
    agent = ScriptedAgent(version)
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Plan it")
        asked = await agent.next("session/prompt")
        agent.begin(asked)
        agent.tell(PLAN)
        await stage.shows("▸ Read the code")
        agent.finish(asked)
        await stage.shows("● ready", "paused", "○ Read the code")
        assert "▸" not in stage.text
        await stage.send("Go on")
        asked = await agent.next("session/prompt")
        agent.begin(asked)
        await stage.shows("▸ Read the code")  # it may continue
        agent.finish(asked, "cancelled")
        await stage.shows("● ready", "○ Read the code")
        assert "▸" not in stage.text


async def test_a_turn_that_fails_leaves_neither_call_nor_plan_at_work(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Plan it")
        asked = await agent.next("session/prompt")
        agent.tell(CALL)
        agent.tell(PLAN)
        await stage.shows("◐ ⇥ Exit plan mode", "▸ Read the code")
        asked.fail(-32603, "the model is gone")
        await stage.shows("● ready", "∅ ⇥ Exit plan mode", "interrupted", "○ Read the code")
        assert "▸" not in stage.text


@pytest.mark.parametrize("end", ["end_turn", "cancelled", "death"])
async def test_a_compaction_that_nobody_finishes_is_not_at_work_beside_ready(tmp_path, end):
    agent = ScriptedAgent(2)
    async with opened(agent, tmp_path, version=2) as stage:
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        agent.begin(asked)
        agent.tell(CompactionPatch(id="k", status="in_progress"))
        await stage.shows("compacting the context…")
        if end == "death":
            agent.die(3)
        else:
            agent.finish(asked, end)
        await stage.shows("agent ended" if end == "death" else "● ready", "compaction of the context: no result")
        assert "compacting the context…" not in stage.text


async def test_what_is_kept_and_exported_of_such_a_call_says_so(tmp_path):
    agent = ScriptedAgent(1)
    records = ConversationRecords(tmp_path)
    async with opened(agent, tmp_path, version=1, records=records) as stage:
        await stage.send("Plan it")
        asked = await agent.next("session/prompt")
        agent.tell(CALL)
        agent.finish(asked)
        await stage.shows("∅ ⇥ Exit plan mode")
        assert "(switch_mode, ended without a result)" in as_markdown(stage.tab.session.transcript)
        key = stage.app.options.agent.key
        await stage.until(lambda: records.transcripts(key, stage.tab.session_id))
        (part,) = await asyncio.to_thread(records.transcripts, key, stage.tab.session_id)
        assert part.tool_calls["c"].ended_without_result


async def test_a_relay_tells_such_a_call_as_failed():
    """No version has a word for it; the loss is noted."""
    agent = ScriptedAgent(1)
    async with Client(agent, version=1, on_permission=permissions.deny) as client:
        session = await client.new_session("/")
        reply = session.prompt("go")
        asked = await agent.next("session/prompt")
        agent.tell(CALL)
        agent.finish(asked)
        changes = [change async for change in reply]
        dialect = client._connection.dialect
        told = [params.update for change in changes for params in dialect.update_to_wire("s", change)]
        assert [update.status for update in told if hasattr(update, "tool_call_id")] == ["in_progress", "failed"]
        assert dialect.loss_counts["ended-without-result"] == 1
