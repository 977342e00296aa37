"""What a v1 agent reports, told to a v2 client: all of it is v2 by the strict reading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accord.dialects.v1 import V1
from accord.dialects.v2 import V2
from accord.session.entities import PENDING
from accord.session.replay import replay
from accord.session.transcript import Transcript
from tests.dialects.json_values import plain, raw

UPDATES = sorted((Path(__file__).parents[2] / "fixtures" / "v1").glob("session_update.*.json"))


def relayed(*updates: dict[str, Any]) -> list[dict[str, Any]]:
    from_agent, to_client, transcript = V1(), V2(), Transcript()
    return [
        plain(params)["update"]
        for update in updates
        for report in from_agent.update_from_wire(raw({"sessionId": "s1", "update": update}))[1]
        for params in to_client.update_to_wire("s1", transcript.apply(report))
    ]


def strictly_read(update: dict[str, Any]) -> list[Any]:
    return V2(strict=True).update_from_wire(raw({"sessionId": "s1", "update": update}))[1]


@pytest.mark.parametrize("file", UPDATES, ids=lambda file: file.stem)
def test_every_update_of_v1_becomes_one_of_v2(file: Path) -> None:
    for update in relayed(json.loads(file.read_bytes())["update"]):
        assert len(strictly_read(update)) == 1


def test_v1s_null_changes_nothing_and_is_not_told() -> None:
    first = {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Dig", "kind": "execute"}
    second = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "title": None, "status": "completed"}
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "c1"}
    assert relayed(first, second) == [
        {**update, "title": "Dig", "kind": "execute"},
        {**update, "status": "completed"},
    ]


def test_v1s_only_plan_has_an_id_in_v2() -> None:
    [update] = relayed({"sessionUpdate": "plan", "entries": []})
    assert update["plan"] == {"type": "items", "planId": "main", "entries": []}


def test_pieces_without_an_id_get_one_that_changes_with_the_message() -> None:
    def chunk(kind: str) -> dict[str, Any]:
        return {"sessionUpdate": f"{kind}_chunk", "content": {"type": "text", "text": "a"}}

    call = {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Dig", "status": PENDING}
    updates = relayed(chunk("agent_message"), chunk("agent_message"), call, chunk("agent_message"))
    ids = [update.get("messageId") for update in updates]
    assert ids[0] == ids[1] != ids[3]
    assert None not in (ids[0], ids[3])


def test_a_replayed_transcript_is_v2_by_the_strict_reading() -> None:
    from_agent, to_client, transcript = V1(), V2(), Transcript()
    for file in UPDATES:
        for report in from_agent.update_from_wire(raw(json.loads(file.read_bytes())))[1]:
            transcript.apply(report)
    told = [
        plain(params)["update"] for change in replay(transcript) for params in to_client.update_to_wire("s1", change)
    ]
    assert {update["sessionUpdate"] for update in told} >= {"user_message", "agent_message", "tool_call_update"}
    assert told[-1]["sessionUpdate"] == "state_update"
    for update in told:
        assert len(strictly_read(update)) == 1
