"""Whatever an agent reports is seen on the screen, in every version; what nobody knows yet as well."""

from __future__ import annotations

import pytest

from accord.schema import v1, v2
from accord.testing import ScriptedAgent
from tests.apps.console.every_update import (
    SESSION_UPDATES,
    Told,
    elicitations,
    every_teller,
    named_by,
    said_by,
    states,
    unknown_to,
    used_in,
)
from tests.apps.console.screen.stage import Stage, opened


async def test_the_list_has_every_variant_and_every_word_of_the_protocol(version):
    said = [told.update for told in said_by(version)] + ([] if version == 1 else states())
    assert named_by(SESSION_UPDATES[version]) - set(used_in(said)) == set()


async def everything_seen(stage: Stage) -> str:
    """All of the conversation unfolded, what stands around it, the commands and the options."""
    for block in stage.tab.conversation.blocks:
        block.fold(False)
    seen = [stage.conversation, stage.text, *stage.titles]
    await stage.type("/rev")
    seen.append(stage.text)
    await stage.press("ctrl+c", "f2")
    await stage.pilot.pause()
    seen.append(stage.text)
    await stage.press("escape")
    return "\n".join(seen)


async def tell(agent: ScriptedAgent, stage: Stage, told: list[Told]) -> str:
    await stage.send("Go")
    asked = await agent.next("session/prompt")
    agent.begin(asked)
    for each in told:
        agent.update(each.update)
    agent.say("That is all")
    await stage.until(lambda: "That is all" in stage.conversation)
    at_work = stage.conversation  # what is open is closed when the turn ends
    agent.finish(asked)
    await stage.idle()
    return f"{at_work}\n{await everything_seen(stage)}"


@pytest.mark.requirement("UPDATE-12")
async def test_each_update_leaves_something_to_see(tmp_path, version):
    agent = every_teller(version)
    async with opened(agent, tmp_path, version=version, size=(120, 60)) as stage:
        told = said_by(version)
        seen = await tell(agent, stage, told)
        assert [f"{part!r} of {each.update}" for each in told for part in each.seen if part not in seen] == []


@pytest.mark.requirement("COMPAT-10")
@pytest.mark.bad_frames
async def test_what_nobody_knows_yet_is_seen_as_well(tmp_path, version, monkeypatch):
    monkeypatch.delenv("ACCORD_STRICT")
    agent = every_teller(version)
    async with opened(agent, tmp_path, version=version, size=(120, 60)) as stage:
        told = unknown_to(version)
        seen = await tell(agent, stage, told)
        assert [f"{part!r} of {each.update}" for each in told for part in each.seen if part not in seen] == []


@pytest.mark.parametrize("version", [1, "2-draft"], ids=["v1", "v2-draft"])
async def test_a_mode_that_the_agent_changes_is_seen_where_no_option_takes_its_place(tmp_path, version):
    agent = every_teller(version)
    async with opened(agent, tmp_path, version=version) as stage:
        assert "Quick" in stage.lines[-1]
        agent.update("current_mode_update", currentModeId="careful")
        await stage.until(lambda: "Careful" in stage.lines[-1])


@pytest.mark.parametrize("state", states(), ids=str)
async def test_what_v2_says_of_its_work_is_seen(tmp_path, state):
    agent = every_teller(2)
    async with opened(agent, tmp_path, version=2) as stage:
        agent.update("state_update", state="running")
        await stage.until(lambda: "working" in stage.lines[-1])
        agent.update(state)
        agent.update("session_info_update", title="on we go")
        await stage.until(lambda: "on we go" in stage.titles[-1])
        assert ("ready" if state["state"] == "idle" else "working") in stage.lines[-1]
        assert ("2 in the background" in stage.lines[-1]) == ("background" in state)


@pytest.mark.parametrize("kinds", [v1.CreateElicitationRequest, v2.CreateElicitationRequest], ids=["v1", "v2"])
async def test_the_forms_have_every_kind_of_field(kinds):
    assert named_by(kinds) - set(used_in(elicitations())) == set()


async def test_each_kind_of_field_is_seen(tmp_path, version):
    form, page = elicitations()
    agent = every_teller(version)
    async with opened(agent, tmp_path, version=version, size=(100, 60)) as stage:
        scope = {"sessionId": agent.session_id}
        asked = agent.ask("elicitation/create", {**form, **scope})
        titles = [field["title"] for field in form["requestedSchema"]["properties"].values()]
        await stage.shows("Tell me all", *titles, "Select", "ham", "eggs")
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.press("escape")
        assert (await asked).result == {"action": "cancel"}
        asked = agent.ask("elicitation/create", {**page, **scope})
        await stage.shows("Look there", "https://example.org/there")
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.press("escape")
        assert (await asked).result == {"action": "cancel"}
