"""Whatever an agent reports is printed by `accord run`: as text, as events, and as updates of either version."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from accord.schema import v1, v2
from accord.testing import ScriptedAgent, program
from tests.apps.console.every_update import Told, every_teller, said_by, unknown_to


def telling(agent: ScriptedAgent, told: list[Told]) -> ScriptedAgent:
    def answer(asked: Any) -> None:
        agent.begin(asked)
        for each in told:
            agent.update(each.update)
        agent.finish(asked)

    agent.on("session/prompt", answer)
    return agent


@pytest.mark.requirement("UPDATE-12")
async def test_as_text(typed, version):
    told = said_by(version)
    async with program(telling(every_teller(version), told)) as command:
        finished = await typed("run", "Go", "--", *command.args)
    assert finished.status == 0, finished.err
    printed = finished.out + finished.err
    assert [f"{each.printed!r} of {each.update}" for each in told if each.printed and each.printed not in printed] == []


async def test_as_events(typed, version):
    told = said_by(version)
    async with program(telling(every_teller(version), told)) as command:
        finished = await typed("run", "--json", "Go", "--", *command.args)
    assert finished.status == 0, finished.err
    happened = {event["type"] for event in finished.events}
    assert [each.update for each in told if each.event is not None and each.event not in happened] == []
    assert "update" not in happened


@pytest.mark.parametrize("form", ["v1", "v2"])
async def test_as_updates(typed, version, form):
    told = said_by(version)
    async with program(telling(every_teller(version), told)) as command:
        finished = await typed("run", "--format", form, "Go", "--", *command.args)
    assert finished.status == 0, finished.err
    sent = [line["params"]["update"] for line in finished.events]
    if form == f"v{version}":
        assert [each.update for each in told if each.update not in sent] == []
        return
    kinds = v1.SessionUpdate if form == "v1" else v2.SessionUpdate
    assert sent == [msgspec.to_builtins(msgspec.convert(update, kinds)) for update in sent]
    said = str(sent)
    for part in ("Plain words", "Hmm, well", "Tool of kind fetch", "Step 1", "Look again", "A fine talk", "In short"):
        assert part in said


@pytest.mark.requirement("COMPAT-10")
@pytest.mark.bad_frames
async def test_what_nobody_knows_yet(typed, version, monkeypatch):
    monkeypatch.delenv("ACCORD_STRICT")
    told = unknown_to(version)
    async with program(telling(every_teller(version), told)) as command:
        text = await typed("run", "Go", "--", *command.args)
    async with program(telling(every_teller(version), told)) as command:
        events = await typed("run", "--json", "Go", "--", *command.args)
    assert (text.status, events.status) == (0, 0)
    for each in told:
        assert each.printed is None or each.printed in text.out + text.err
        assert each.event in [event["type"] for event in events.events]
