"""Updates that come before the prompt, or after its answer, are in every output of `accord run`."""

from __future__ import annotations

from typing import Any

import pytest

from accord.session.content import Text
from accord.session.entities import Plan, PlanEntry, SlashCommand
from accord.session.updates import CommandsPatch, MessageAppend, PlanPatch, ToolCallPatch
from accord.testing import ScriptedAgent, program

GOES = CommandsPatch(commands=[SlashCommand("go", "Goes")])
RUNNING = PlanPatch(plan=Plan(id="main", entries=[PlanEntry(content="Read it", status="in_progress")]))


def answering_first(agent: ScriptedAgent, *before: str) -> Any:
    def answer(asked: Any) -> None:
        for text in before:
            agent.say(text)
        agent.finish(asked)
        agent.tell(MessageAppend(role="thought", id=None, content=Text("Hm")))
        agent.say("Too ")
        agent.say("late")
        agent.tell(ToolCallPatch(id="c", title="Look", status="completed", creates=True))

    return answer


def telling_at_once(agent: ScriptedAgent) -> Any:
    def opened(asked: Any) -> None:
        agent.session_id = "s"
        agent.tell(GOES)
        agent.say("Welcome")
        asked.answer({"sessionId": "s"})  # last: what follows it may arrive after the prompt was sent

    return opened


class TestLate:
    @pytest.mark.parametrize("version", [1, "2-draft"])
    async def test_an_answer_that_follows_the_end_of_its_turn_is_printed(self, typed, version):
        """FN-02: updates arrive after the prompt's answer."""
        agent = ScriptedAgent(version)
        agent.on("session/prompt", answering_first(agent))
        async with program(agent) as command:
            finished = await typed("run", "Hi", "--", *command.args)
        assert (finished.status, finished.out) == (0, "Too late\n")
        assert finished.notes[1:] == ["Hm", "✓ Look"]

    async def test_so_is_the_rest_of_one_that_had_begun(self, typed):
        agent = ScriptedAgent(1)
        agent.on("session/prompt", answering_first(agent, "Never "))
        async with program(agent) as command:
            finished = await typed("run", "-q", "Hi", "--", *command.args)
        assert (finished.status, finished.out.split()) == (0, ["Never", "Too", "late"])

    async def test_it_is_told_as_events_before_the_end(self, typed):
        agent = ScriptedAgent(1)
        agent.on("session/prompt", answering_first(agent))
        async with program(agent) as command:
            finished = await typed("run", "--json", "Hi", "--", *command.args)
        assert "".join(event["text"] for event in finished.events if event["type"] == "text") == "Too late"
        assert finished.events[-1]["type"] == "end"

    async def test_it_is_kept_with_the_conversation(self, typed):
        agent = ScriptedAgent(1, agentCapabilities={})
        agent.on("session/prompt", answering_first(agent))
        async with program(agent) as command:
            await typed("run", "Hi", "--", *command.args)
            shown = await typed("sessions", "--show", agent.session_id, "--", *command.args)
        assert "Too late" in shown.out


class TestEarly:
    async def test_what_a_session_begins_with_is_told_as_events(self, typed, version):
        agent = ScriptedAgent(version)
        agent.on("session/new", telling_at_once(agent))
        agent.on("session/prompt", agent.reply("ok"))
        async with program(agent) as command:
            finished = await typed("run", "--json", "Hi", "--", *command.args)
        assert [event["type"] for event in finished.events][:2] == ["start", "commands"]
        assert finished.event("commands")["commands"][0]["name"] == "go"

    async def test_the_built_in_agent_tells_its_options_and_commands(self, typed):
        finished = await typed("run", "--json", "Hi")
        kinds = {event["type"] for event in finished.events}
        assert {"options", "commands"} <= kinds

    @pytest.mark.parametrize("asked", ["v1", "v2"])
    async def test_it_is_among_the_updates_of_the_protocol(self, typed, version, asked):
        agent = ScriptedAgent(version)
        agent.on("session/new", telling_at_once(agent))
        agent.on("session/prompt", agent.reply("ok"))
        async with program(agent) as command:
            finished = await typed("run", "--format", asked, "Hi", "--", *command.args)
        tags = [event["params"]["update"]["sessionUpdate"] for event in finished.events]
        assert tags[0] == "available_commands_update"
        assert "Welcome" in finished.out

    async def test_what_is_said_before_the_prompt_is_no_answer_to_it(self, typed):
        agent = ScriptedAgent(1)
        agent.on("session/new", telling_at_once(agent))
        agent.on("session/prompt", agent.reply("ok"))
        async with program(agent) as command:
            finished = await typed("run", "Hi", "--", *command.args)
        assert finished.out == "ok\n"
        assert "Welcome" in finished.err

    @pytest.mark.parametrize("asked", ["v1", "v2"])
    async def test_history_is_not_told_again_but_what_holds_now_is(self, typed, asked):
        agent = ScriptedAgent(1, agentCapabilities={"loadSession": True})

        def loaded(heard: Any) -> None:
            agent.session_id = "s"
            agent.say("Said long ago")
            agent.tell(GOES)
            heard.answer({})

        agent.on("session/load", loaded)
        agent.on("session/prompt", agent.reply("ok"))
        async with program(agent) as command:
            told = await typed("run", "--session", "s", "--json", "Hi", "--", *command.args)
            raw = await typed("run", "--session", "s", "--format", asked, "Hi", "--", *command.args)
        assert told.event("commands")
        assert "Said long ago" not in told.out + raw.out
        assert "available_commands_update" in raw.out

    @pytest.mark.parametrize("method", ["session/resume", "session/load"])
    async def test_a_plan_of_the_history_is_not_told_when_the_agent_is_ended(self, typed, method):
        """FN-60: hermes tells the history with a resume, too."""
        resumes = {"sessionCapabilities": {"resume": {}}}
        agent = ScriptedAgent(1, agentCapabilities={"loadSession": True} if method == "session/load" else resumes)

        def taken_up(heard: Any) -> None:
            agent.session_id = "s"
            agent.tell(RUNNING)
            heard.answer({})

        agent.on(method, taken_up)
        agent.on("session/prompt", agent.reply("ok"))
        async with program(agent) as command:
            printed = await typed("run", "--session", "s", "Hi", "--", *command.args)
            told = await typed("run", "--session", "s", "--json", "Hi", "--", *command.args)
        assert "plan" not in printed.err
        assert [event for event in told.events if event["type"] == "plan"] == []


@pytest.mark.parametrize("version", [1, 2])
async def test_a_plan_that_a_turn_leaves_running_and_ends_as_it_should_is_not_called_broken_off(typed, version):
    agent = ScriptedAgent(version)

    def answer(asked: Any) -> None:
        agent.begin(asked)
        agent.tell(RUNNING)
        agent.say("Done")
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with program(agent) as command:
        printed = await typed("run", "Hi", "--", *command.args)
        told = await typed("run", "--json", "Hi", "--", *command.args)
    assert [note for note in printed.notes if note.startswith("plan")] == ["plan: 0 of 1 done, now: Read it"]
    assert [event["ended_without_result"] for event in told.events if event["type"] == "plan"] == [False]
