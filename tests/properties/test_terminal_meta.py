"""Whatever happens in terminals, a client of v1 that shows them has their output as the agent has it."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from accord.dialects.v1 import V1
from accord.session import Transcript
from accord.session.capabilities import ClientCapabilities
from accord.session.entities import Exit, TerminalItem
from accord.session.replay import replay
from accord.session.updates import TerminalAppend, TerminalPatch, ToolCallAppend, ToolCallPatch, Update
from accord.session.value import UNSET
from tests.dialects.json_values import plain, raw

SESSION = "s"
IDS = st.sampled_from(["a", "b"])
OUTPUT = st.text(max_size=5).map(lambda text: text.encode())
SHOWING = st.builds(TerminalItem, terminal_id=IDS)
REPORTS: Any = st.one_of(
    st.builds(ToolCallPatch, id=IDS, title=st.just("Run"), content=st.lists(SHOWING, max_size=2) | st.just(UNSET)),
    st.builds(ToolCallAppend, id=IDS, item=SHOWING),
    st.builds(TerminalPatch, id=IDS, cwd=st.just("/work"), exit=st.just(UNSET) | st.builds(Exit, st.integers(0, 3))),
    st.builds(TerminalAppend, id=IDS, data=OUTPUT),
)


def heard(changes: list[Update], listener: Transcript, agent: V1, client: V1) -> None:
    announced: set[str] = set()
    for change in changes:
        for params in agent.update_to_wire(SESSION, change):
            update = plain(params)["update"]
            announced.update(
                told["terminal_id"] for key, told in update.get("_meta", {}).items() if key == "terminal_info"
            )
            named = {item["terminalId"] for item in update.get("content") or [] if item["type"] == "terminal"}
            assert named <= announced
            for report in client.update_from_wire(raw(plain(params)))[1]:
                listener.apply(report)


@given(reports=st.lists(REPORTS, max_size=30))
@settings(deadline=None)
def test_output_is_the_same_at_both_ends_live_and_when_it_is_told_again(reports: list[Any]):
    transcript, listener = Transcript(), Transcript()
    agent, client = V1(client=ClientCapabilities(display_terminals=True)), V1()
    changes = [transcript.apply(report) for report in reports]
    heard(changes, listener, agent, client)
    late = Transcript()
    heard(list(replay(transcript)), late, V1(client=agent.client), client)
    for call in transcript.tool_calls.values():
        for item in call.content:
            if isinstance(item, TerminalItem) and item.terminal_id in transcript.terminals:
                there = transcript.terminals[item.terminal_id]
                for here in (listener.terminals[there.id], late.terminals[there.id]):
                    assert (here.text, here.exit) == (there.text, there.exit)
