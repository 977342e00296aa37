"""The example agents, each started as a program and talked to in every version."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from accord import PlanChanged, ResourceLink, Text, permissions
from accord.client.session import Session
from accord.dialects.negotiation import ProtocolVersion
from accord.session import ContentItem, Diff, ToolCall
from accord.session.diffs import git_patch
from tests.examples.programs import talking


async def said(session: Session, prompt: str) -> str:
    return (await session.prompt(prompt)).text


def texts(call: ToolCall) -> list[str]:
    return [
        item.content.text for item in call.content if isinstance(item, ContentItem) and isinstance(item.content, Text)
    ]


def patch_of(call: ToolCall) -> str:
    [diff] = call.content
    assert isinstance(diff, Diff)
    if diff.patch is not None:
        return diff.patch.text
    [change] = diff.changes
    return git_patch(change.path, change.old_text, change.new_text)


@pytest.mark.requirement("CHECK-01", "CHECK-04", "CHECK-16", "CHECK-17", "CHECK-18")
async def test_the_echo_agent_says_what_it_is_told(version: ProtocolVersion, tmp_path: Path):
    async with talking("echo_agent.py", version) as client:
        assert client.agent.version == (1 if version == 1 else 2)
        session = await client.new_session(tmp_path)
        link = ResourceLink(uri="file:///notes.md", name="notes.md")
        reply = await session.prompt([Text("Hello"), link])
        assert reply.text == "Hello"
        assert reply.stop_reason == "end_turn"


@pytest.mark.requirement("CHECK-02", "CHECK-20", "CHECK-24", "CHECK-25", "CHECK-28")
@pytest.mark.parametrize("offers_files", [True, False])
async def test_the_notebook_shows_its_change_and_writes_when_it_may(
    version: ProtocolVersion, tmp_path: Path, offers_files: bool
):
    asked = []

    async def allow(question):
        asked.append((question.title, patch_of(next(iter(session.transcript.tool_calls.values())))))
        return await permissions.allow_all(question)

    workspace = tmp_path if offers_files else None
    async with talking("permission_and_diff.py", version, on_permission=allow, workspace=workspace) as client:
        session = await client.new_session(tmp_path)
        assert await said(session, "Buy milk") == "I wrote down: Buy milk"
        assert await said(session, "Buy bread") == "I wrote down: Buy bread"
        first, second = session.transcript.tool_calls.values()
    title, patch = asked[0]
    assert title == "Write into notes.md"
    assert "new file mode" in patch
    assert "+- Buy milk\n" in patch
    assert "+- Buy bread\n" in patch_of(second)
    assert "- Buy milk\n" in patch_of(second)
    assert (first.status, first.kind) == ("completed", "edit")
    assert first.locations[0].path == str(tmp_path / "notes.md")
    assert (tmp_path / "notes.md").read_text() == "- Buy milk\n- Buy bread\n"


@pytest.mark.requirement("CHECK-03", "CHECK-24")
async def test_the_notebook_writes_nothing_when_it_may_not(version: ProtocolVersion, tmp_path: Path):
    async with talking("permission_and_diff.py", version, on_permission=permissions.reject_all) as client:
        session = await client.new_session(tmp_path)
        assert await said(session, "Buy milk") == "As you like."
        assert next(iter(session.transcript.tool_calls.values())).status == "failed"
    assert not (tmp_path / "notes.md").exists()


@pytest.mark.requirement("CHECK-06", "CHECK-14", "CHECK-23")
async def test_the_notebook_can_be_cancelled_while_it_asks(version: ProtocolVersion, tmp_path: Path):
    is_asked = asyncio.Event()

    async def wait(question):
        is_asked.set()
        await asyncio.Event().wait()

    async with talking("permission_and_diff.py", version, on_permission=wait) as client:
        session = await client.new_session(tmp_path)
        reply = session.prompt("Buy milk")
        await is_asked.wait()
        await reply.cancel()
        assert (await reply).stop_reason == "cancelled"
        assert next(iter(session.transcript.tool_calls.values())).finished
    assert not (tmp_path / "notes.md").exists()


@pytest.mark.requirement("CHECK-08", "CHECK-29", "CHECK-30", "CHECK-39")
async def test_the_planner_has_modes_a_command_and_plans(version: ProtocolVersion, tmp_path: Path):
    async with talking("modes_and_commands.py", version) as client:
        session = await client.new_session(tmp_path)
        plans = [
            [(step.content, step.status) for step in update.plan.entries]
            async for update in session.prompt("tidy up, run the tests")
            if isinstance(update, PlanChanged)
        ]
        assert plans == [[("tidy up", "pending"), ("run the tests", "pending")]]
        assert [command.name for command in session.commands] == ["go"]
        assert await said(session, "/go") == "Did 2 steps."
        [plan] = session.transcript.plans.values()
        assert [step.status for step in plan.entries] == ["completed", "completed"]
        assert mode_of(session) == "work"
        await session.set_mode("plan")
        assert await said(session, "rest") == ""
        await session.set_mode("work")
        assert await said(session, "rest") == "Did 1 steps."


def mode_of(session: Session) -> str | bool | None:
    if session.modes is not None:
        return session.modes.current
    return next(option.value for option in session.options if option.category == "mode")


@pytest.mark.requirement("CHECK-21", "CHECK-32")
async def test_the_counter_counts_in_a_thread(version: ProtocolVersion, tmp_path: Path):
    (tmp_path / "a.txt").write_text("1\n2\n")
    (tmp_path / "b.txt").write_text("1\n")
    async with talking("sync_agent.py", version) as client:
        session = await client.new_session(tmp_path)
        assert await said(session, "*.txt") == "3 lines."
        [call] = session.transcript.tool_calls.values()
        assert [place.path for place in call.locations] == [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
        assert texts(call) == ["a.txt: 2", "b.txt: 1"]


TASK = """cat notes.md
put notes.md Buy bread
mv notes.md list.md
grep bread
sh echo hi
think about it
get {url}
count list.md
cat nothing.md
mode bold
rm list.md"""

EXPECTED = [
    ("read", "completed", "Buy milk"),
    ("edit", "completed", "9"),
    ("move", "completed", "list.md"),
    ("search", "completed", "['list.md']"),
    ("execute", "completed", "hi\n"),
    ("think", "completed", "about it"),
    ("fetch", "completed", "from far away"),
    ("other", "completed", "9"),
    ("read", "failed", "[Errno 2] No such file or directory: 'nothing.md'"),
    ("switch_mode", "completed", "None"),
    ("delete", "completed", "None"),
]


@pytest.mark.requirement("CHECK-31")
async def test_the_adapter_maps_every_kind_and_how_a_tool_ended(version: ProtocolVersion, tmp_path: Path):
    (tmp_path / "notes.md").write_text("Buy milk")
    far = tmp_path / "elsewhere"
    far.mkdir()
    (far / "page").write_text("from far away")
    asked = []

    async def allow(question):
        asked.append(question.title)
        return await permissions.allow_all(question)

    async with talking("adapter.py", version, on_permission=allow) as client:
        session = await client.new_session(tmp_path)
        reply = await session.prompt(TASK.format(url=(far / "page").as_uri()))
        assert reply.stop_reason == "end_turn"
        calls = session.transcript.tool_calls.values()
        assert [(call.kind, call.status, texts(call)[-1]) for call in calls] == EXPECTED
    assert asked == ["put notes.md Buy bread", "mv notes.md list.md", "sh echo hi"]
    assert not (tmp_path / "list.md").exists()


@pytest.mark.requirement("CHECK-22")
async def test_the_adapter_maps_why_the_robot_stops(version: ProtocolVersion, tmp_path: Path):
    reasons = {
        "think": "end_turn",
        "\n".join(["think"] * 21): "max_turn_requests",
        "cat ../secret": "refusal",
        "format the disk": "refusal",
    }
    async with talking("adapter.py", version) as client:
        session = await client.new_session(tmp_path)
        assert {task: (await session.prompt(task)).stop_reason for task in reasons} == reasons


async def test_the_adapter_hands_a_no_to_the_robot(version: ProtocolVersion, tmp_path: Path):
    async with talking("adapter.py", version, on_permission=permissions.reject_all) as client:
        session = await client.new_session(tmp_path)
        assert (await session.prompt("put notes.md x\nthink on")).stop_reason == "end_turn"
        put, think = session.transcript.tool_calls.values()
        assert (put.status, texts(put)[-1]) == ("failed", "not allowed")
        assert think.status == "completed"
    assert not (tmp_path / "notes.md").exists()


@pytest.mark.requirement("CHECK-06", "CHECK-23")
async def test_the_adapter_ends_the_robot_and_all_it_started_when_the_turn_is_cancelled(
    version: ProtocolVersion, tmp_path: Path
):
    fifo = tmp_path / "life"
    os.mkfifo(fifo)
    async with talking("adapter.py", version, on_permission=permissions.allow_all) as client:
        session = await client.new_session(tmp_path)
        # `sleep` holds the pipe open as long as it lives; opening it waits until it is there.
        reply = session.prompt(f"mode bold\nsh sh -c exec${{IFS}}sleep${{IFS}}1000>{fifo}")
        with await asyncio.to_thread(fifo.open, "rb") as life:
            await reply.cancel()
            assert (await reply).stop_reason == "cancelled"
            assert await asyncio.to_thread(life.read) == b""
        assert all(call.finished for call in session.transcript.tool_calls.values())
