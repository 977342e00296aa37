"""Tool calls and plans as they stand on the wire at their end, told by the frames of real turns."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from itertools import pairwise
from typing import Any

import pytest

from accord import permissions
from accord.agent.mcp.content import McpResult
from accord.apps.coder.errors import ModelFailed
from accord.apps.coder.models.model import Event, ModelRequest, Stop, TextDelta
from accord.errors import RequestFailed
from accord.session.content import Text
from tests.apps.coder.scripted import ScriptedModel, raw_tool, tool
from tests.apps.coder.test_server_tools import Servers

FINAL = ("completed", "failed", "cancelled")
BY_COMMAND = [
    "/read main.py",
    "/read nothing.py",
    "/search double",
    "/run echo hi; echo there",
    "/run exit 3",
    "/edit main.py n + n => 2 * n",
    "/edit main.py nowhere => 2 * n",
    "/test",
    "/review",
    "/explain",
    "/plan a better world",
    "delete README.md",
]


class Wire:
    """The updates that a client got, in the order in which they came."""

    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []

    def __call__(self, direction: str, frame: bytes) -> None:
        message = json.loads(frame)
        if direction == "received" and message.get("method") == "session/update":
            self.updates.append(message["params"]["update"])

    def calls(self) -> dict[str, list[dict[str, Any]]]:
        """What was told of each tool call, the pieces of its content included."""
        told: dict[str, list[dict[str, Any]]] = {}
        for update in self.updates:
            if update["sessionUpdate"].startswith("tool_call"):
                told.setdefault(update["toolCallId"], []).append(update)
        return told

    def plans(self) -> list[list[dict[str, Any]]]:
        """The entries of each plan update."""
        found = [each for each in self.updates if each["sessionUpdate"].startswith("plan")]
        return [each["entries"] if "entries" in each else each["plan"]["entries"] for each in found]


def check_ends(wire: Wire) -> None:
    """Each call has one final update, its last, which tells all that was ever told of its outcome."""
    assert wire.calls()
    for updates in wire.calls().values():
        *before, last = updates
        assert last["status"] in FINAL, updates
        assert not [each for each in before if each.get("status") in FINAL], updates
        assert not [each for each in before if "rawOutput" in each], updates
        if any(each.get("content") for each in updates):
            assert last["content"], updates


def shown_before_end(updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The updates of a call between its announcement and its end that tell what it shows."""
    return [each for each in updates[1:-1] if "content" in each]


@pytest.mark.parametrize("prompt", BY_COMMAND)
@pytest.mark.parametrize("policy", [permissions.allow_all, permissions.reject_all], ids=["allowed", "rejected"])
async def test_a_call_of_a_command_has_one_final_update(sit: Any, prompt: str, policy: Any) -> None:
    """FN-114: some editors redraw a call from each update alone, so what came last has to tell all of it."""
    wire = Wire()
    async with sit(flags={}, on_permission=policy, on_frame=wire) as desk:
        await desk.ask(prompt)
        if not prompt.startswith("/plan"):
            check_ends(wire)
        for updates in wire.calls().values():
            if updates[0].get("kind") not in ("execute", "search"):
                assert not shown_before_end(updates)
        await check_same(wire, desk)


async def check_same(wire: Wire, desk: Any) -> None:
    """What the final update shows is what the agent has."""
    calls = desk.agent_side.transcript.tool_calls
    assert set(wire.calls()) == set(calls)
    for call_id, updates in wire.calls().items():
        assert updates[-1].get("rawOutput") == calls[call_id].raw_output
        assert bool(updates[-1].get("content")) == bool(calls[call_id].content)


async def _answers(*_: Any, **__: Any) -> McpResult:
    return McpResult(content=[Text("a picture")], structured={"size": 1})


@pytest.mark.parametrize(
    "requests",
    [
        lambda: [tool("read", path="main.py"), tool("read", path="README.md"), tool("list", path=".")],
        lambda: [tool("cam_era__shoot", at="you")],
        lambda: [tool("no_such_tool"), raw_tool("read", "{"), tool("edit", path="main.py", old_text="", new_text="x")],
        lambda: [tool("write", path="new.txt", content="x\n"), tool("move", source="new.txt", destination="n.txt")],
        lambda: [tool("run", command="git log --oneline"), tool("run", command="cat main.py | wc -l")],
        lambda: [tool("ask", question="Which?"), tool("switch_mode", mode="code")],
    ],
    ids=["looks", "server", "mistakes", "writes", "runs", "questions"],
)
async def test_a_call_that_a_model_asks_for_has_one_final_update(sit: Any, requests: Callable[[], list[Any]]) -> None:
    """FN-114: the same for a language model's calls, and for those of MCP servers."""
    wire = Wire()
    async with sit(on_permission=permissions.allow_all, on_frame=wire) as desk:
        desk.servers.connections = Servers(_answers)
        await desk.use(*requests())
        desk.servers.connections = None
        check_ends(wire)
        await check_same(wire, desk)


@pytest.mark.parametrize("prompt", ["/edit main.py n + n => 2 * n", "/test"])
async def test_a_plan_is_told_once_for_each_change(sit: Any, prompt: str) -> None:
    wire = Wire()
    async with sit(flags={}, on_permission=permissions.allow_all, on_frame=wire) as desk:
        await desk.ask(prompt)
        plans = wire.plans()
        assert len(plans) > 2
        assert all(before != after for before, after in pairwise(plans))
        assert {entry["status"] for entry in plans[-1]} == {"completed"}


async def test_a_plan_that_a_model_repeats_is_told_once(sit: Any) -> None:
    wire = Wire()
    steps = [{"content": "Look", "status": "in_progress"}]
    async with sit(on_frame=wire) as desk:
        desk.model.steps = [[tool("plan", steps=steps)], [tool("plan", steps=steps)]]
        await desk.ask()
        assert len(wire.plans()) == 1
        desk.model.steps = [[tool("plan", steps=steps)]]
        await desk.ask("And again")
        assert len(wire.plans()) == 2


async def test_tests_by_a_command_of_the_settings_are_told_once(sit: Any) -> None:
    wire = Wire()
    flags = {"test_command": "echo 3 passed"}
    async with sit(flags=flags, model=None, on_permission=permissions.allow_all, on_frame=wire) as desk:
        await desk.session.set_option("model", "offline")
        said = await desk.ask("/test")
        assert said.count("The tests pass") == 1
        assert {entry["status"] for entry in wire.plans()[-1]} == {"completed"}


@pytest.mark.parametrize(
    "prompt", ["/edit main.py n + n => 2 * n", "/edit main.py nowhere => x", "/edit no.py a => b", "/test"]
)
async def test_nothing_of_a_plan_is_in_progress_after_a_no_or_a_failure(sit: Any, prompt: str) -> None:
    wire = Wire()
    async with sit(flags={}, on_permission=permissions.reject_all, on_frame=wire) as desk:
        await desk.ask(prompt)
        assert "in_progress" not in {entry["status"] for entry in wire.plans()[-1]}


async def test_nothing_of_a_models_plan_is_in_progress_after_a_no(sit: Any) -> None:
    wire = Wire()
    steps = [{"content": "Look", "status": "completed"}, {"content": "Run it", "status": "in_progress"}]
    async with sit(on_permission=permissions.reject_all, on_frame=wire) as desk:
        desk.model.steps = [[tool("plan", steps=steps), tool("run", command="make")]]
        await desk.ask()
        assert [entry["status"] for entry in wire.plans()[-1]] == ["completed", "pending"]


async def test_a_plan_under_way_stays_so_when_the_model_asks_something(sit: Any) -> None:
    wire = Wire()
    steps = [{"content": "Choose", "status": "in_progress"}]
    async with sit(on_permission=permissions.allow_all, on_frame=wire) as desk:
        desk.model.steps = [[tool("plan", steps=steps), tool("run", command="true")]]
        await desk.ask()
        assert [entry["status"] for entry in wire.plans()[-1]] == ["in_progress"]


@pytest.mark.parametrize("how", ["cancelled", "failed", "refused"])
async def test_nothing_of_a_plan_is_in_progress_after_a_turn_that_broke_off(sit: Any, how: str) -> None:
    class Model(ScriptedModel):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
            if self.requests and how == "failed":
                raise ModelFailed("it is gone")
            async for event in super().stream(request):
                yield event

    wire = Wire()
    model = Model([tool("plan", steps=[{"content": "Look", "status": "in_progress"}])])
    model.steps.append([Stop("refusal")] if how == "refused" else [TextDelta("…")])
    async with sit(model=model, on_frame=wire) as desk:
        reply = desk.session.prompt("Go")
        if how == "cancelled":
            await model.streaming.wait()
            await reply.cancel()
        if how == "failed":
            with pytest.raises(RequestFailed):
                await reply
        else:
            assert (await reply).stop_reason == {"cancelled": "cancelled", "refused": "refusal"}[how]
        assert [[entry["status"] for entry in plan] for plan in wire.plans()] == [["in_progress"], ["pending"]]
