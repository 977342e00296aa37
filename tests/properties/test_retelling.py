"""A session is told in the same order whoever loads it: a connection that has it open, and one that has never seen it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from accord.agent import Agent, Turn
from accord.dialects.negotiation import ProtocolVersion
from accord.session.capabilities import ClientCapabilities
from accord.session.entities import Exit, Plan, PlanEntry, TerminalItem
from accord.session.updates import PlanPatch, TerminalAppend, TerminalPatch, ToolCallPatch
from accord.store import MemoryStore
from accord.testing import ScriptedClient
from tests.agent.user import CWD, EVERYTHING
from tests.properties.test_transcript import (
    CALL_PIECES,
    CALLS,
    COMPACTIONS,
    IDS,
    PATCHES,
    PIECES,
    PLANS,
    TERMINAL_PIECES,
    TERMINALS,
)
from tests.virtual_clock import run

SHOWS_TERMINALS = replace(EVERYTHING, display_terminals=True)
CAPABILITIES = st.sampled_from([EVERYTHING, SHOWS_TERMINALS, ClientCapabilities()])
SHOWING = st.builds(
    ToolCallPatch,
    id=IDS,
    title=st.just("Run"),
    creates=st.booleans(),
    content=st.lists(st.builds(TerminalItem, terminal_id=IDS), min_size=1, max_size=2),
)
REPORTS: Any = st.one_of(PIECES, PATCHES, CALLS, SHOWING, CALL_PIECES, TERMINALS, TERMINAL_PIECES, PLANS, COMPACTIONS)
HISTORIES = st.lists(REPORTS, max_size=20)
COMMAND = [
    TerminalPatch(id="t", command="make"),
    ToolCallPatch(id="c", title="make", kind="execute", creates=True, content=[TerminalItem(terminal_id="t")]),
    TerminalAppend(id="t", data=b"all good\n"),
    TerminalPatch(id="t", exit=Exit(code=0)),
    PlanPatch(plan=Plan(id="p", entries=[PlanEntry("build")])),
    ToolCallPatch(id="c", status="completed"),
]


def teller(store: MemoryStore, history: list[Any]) -> Agent:
    agent = Agent("teller", "1", store=store, merge_seconds=0.0)
    agent.option("mode", choices=["ask", "code"])

    @agent.prompt
    async def tell(turn: Turn) -> None:
        for report in deepcopy(history):
            turn._publisher.post(report)

    return agent


async def load(client: ScriptedClient, session_id: str) -> list[Any]:
    """What a load tells until it is answered, and its answer; an idle may repeat the last stop reason, and need not."""
    already = len(client.received)
    if client.version == 2:
        asked = client.ask("session/resume", {"sessionId": session_id, "cwd": CWD, "replayFrom": {"type": "start"}})
    else:
        asked = client.ask("session/load", {"sessionId": session_id, "cwd": CWD, "mcpServers": []})
    answer = await asked
    assert answer.error is None
    told = client.received[already : client.received.index(answer)]
    for heard in told:
        heard.params["update"].pop("stopReason", None)
    return [*(heard.params for heard in told), answer.result]


@pytest.mark.requirement("SESS-14")
@pytest.mark.parametrize("version", [1, 2, "2-draft"], ids=["v1", "v2", "v2-draft"])
@given(history=HISTORIES, capabilities=CAPABILITIES)
@example(history=COMMAND, capabilities=EVERYTHING)
@example(history=COMMAND, capabilities=SHOWS_TERMINALS)
@example(history=COMMAND, capabilities=ClientCapabilities())
@settings(max_examples=60, deadline=None)
def test_a_session_that_is_open_is_told_as_after_a_restart(
    version: ProtocolVersion, history: list[Any], capabilities: ClientCapabilities
):
    async def main() -> None:
        store = MemoryStore()
        async with ScriptedClient(teller(store, history), version, capabilities=capabilities) as client:
            session_id = await client.new_session(CWD)
            await client.stop_reason(client.prompt("Tell it"))
            here = await load(client, session_id)
            again = await load(client, session_id)
            await client.ask("session/close", {"sessionId": session_id})
        async with ScriptedClient(teller(store, []), version, capabilities=capabilities) as client:
            await client.initialize()
            restarted = await load(client, session_id)
        assert here == again == restarted
        assert_begun_before_refreshed(here, version)

    run(main())


def assert_begun_before_refreshed(told: list[Any], version: ProtocolVersion) -> None:
    begun: set[str] = set()
    for params in told:
        update = params.get("update", {})
        if update.get("sessionUpdate") == "tool_call":
            begun.add(update["toolCallId"])
        elif version == 1 and update.get("sessionUpdate") == "tool_call_update":
            assert update["toolCallId"] in begun, update


@pytest.mark.parametrize("version", [1, 2, "2-draft"], ids=["v1", "v2", "v2-draft"])
@given(history=HISTORIES)
@example(history=COMMAND)
@settings(max_examples=40, deadline=None)
def test_a_session_is_told_alike_in_the_middle_of_a_turn_where_it_is_open_and_where_it_is_not(
    version: ProtocolVersion, history: list[Any]
):
    async def main() -> None:
        agent = teller(MemoryStore(), history)

        @agent.command("wait", "Tells it, and asks")
        async def wait(turn: Turn) -> None:
            for report in deepcopy(history):
                turn._publisher.post(report)
            await turn.allowed(await turn.tool_call("Go on").__aenter__())

        async with ScriptedClient(agent, version) as client, ScriptedClient(agent, version) as other:
            session_id = await client.new_session(CWD)
            await other.initialize()
            client.prompt("/wait")
            question = await client.next("session/request_permission")
            told = [await load(client, session_id), await load(other, session_id)]
            question.answer({"outcome": {"outcome": "cancelled"}})
        assert told[0] == told[1]

    run(main())
