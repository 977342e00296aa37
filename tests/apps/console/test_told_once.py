"""Prompts, messages and histories appear once, whole and in their places: on the screen, in `accord run`, in records."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from accord.apps.console.conversation_records import ConversationRecords
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.screen.export import as_json, as_markdown
from accord.session import Transcript
from accord.session.content import render_text
from accord.session.entities import Message, Notice
from accord.session.updates import NoticePatch
from accord.testing import ScriptedAgent, program
from tests.apps.console.screen.stage import opened

if sys.platform != "win32":
    from tests.apps.console.terminal import at_terminal


TESTER = KnownAgent(name="tester", command=["tester"], source="command").key  # as the stage opens it


def said(parts: list[Transcript]) -> list[str]:
    return [render_text(place.content) for part in parts for place in part.timeline if isinstance(place, Message)]


def refreshing(agent: ScriptedAgent) -> Any:
    """A turn in which the status of a call changes in the middle of a sentence, without message ids."""

    def answer(asked: Any) -> None:
        agent.update("tool_call", toolCallId="c", title="shell", kind="execute", status="pending")
        agent.say("execute ")
        agent.update("tool_call_update", toolCallId="c", status="in_progress")
        agent.say("it ")
        agent.update("tool_call_update", toolCallId="c", status="completed")
        agent.say("now.")
        asked.answer({"stopReason": "end_turn"})

    return answer


class TestAMessageAroundTheRefreshOfAToolCall:
    @pytest.mark.parametrize("version", [1, "2-draft"])
    async def test_is_one_line_of_accord_run(self, typed, version):
        agent = ScriptedAgent(version)
        agent.on("session/prompt", refreshing(agent))
        async with program(agent) as command:
            finished = await typed("run", "go", "--", *command.args)
            told = await typed("run", "--json", "go", "--", *command.args)
        assert (finished.status, finished.out) == (0, "execute it now.\n")
        texts = [event for event in told.events if event["type"] == "text"]
        assert "".join(event["text"] for event in texts) == "execute it now."
        assert len({event["message_id"] for event in texts}) == 1

    @pytest.mark.parametrize("version", [1, "2-draft"])
    async def test_is_one_paragraph_on_the_screen(self, tmp_path: Path, version):
        agent = ScriptedAgent(version)
        agent.on("session/prompt", refreshing(agent))
        async with opened(agent, tmp_path, version=version) as stage:
            await stage.send("go")
            await stage.shows("execute it now.")


def replaying(when: str, **can: Any) -> ScriptedAgent:
    """An agent that tells the history also with a resume, before its answer or right after it."""
    agent = ScriptedAgent(1, agentCapabilities={"sessionCapabilities": {"resume": {}}, **can})

    def resume(asked: Any) -> None:
        if when == "after":
            asked.answer({})
        for number in ("one", "two"):
            agent.update("user_message_chunk", content={"type": "text", "text": f"Question {number}"})
            agent.update("agent_thought_chunk", content={"type": "text", "text": f"Thought {number}"})
            agent.update("tool_call", toolCallId=number, title=f"Call {number}", kind="read", status="completed")
            agent.say(f"Answer {number}")
        agent.update("plan", entries=[{"content": "Old step", "priority": "high", "status": "completed"}])
        agent.update("available_commands_update", availableCommands=[{"name": "go", "description": "Goes"}])
        if when == "before":
            asked.answer({})

    agent.on("session/new", {"sessionId": "first"})
    agent.on("session/resume", resume)
    agent.on("session/prompt", agent.reply("Done."))
    return agent


OLD = ("Question", "Thought", "Call", "Answer", "step")
EARLIER = ["Question one", "Thought one", "Answer one", "Question two", "Thought two", "Answer two"]


class TestAHistoryThatAnAgentTellsWithAResume:
    """FN-60: resume replays."""

    @pytest.mark.parametrize("when", ["before", "after"])
    @pytest.mark.parametrize("form", [[], ["--json"], ["--format", "v1"], ["--format", "v2"]], ids=str)
    async def test_is_not_printed_as_new(self, typed, when, form):
        agent = replaying(when)
        async with program(agent) as command:
            finished = await typed("run", "--session", "first", *form, "go on", "--", *command.args)
        assert finished.status == 0, finished
        assert not [word for word in OLD if word in finished.out + finished.err]
        assert "Done." in finished.out
        if form == ["--json"]:
            assert finished.event("commands")["commands"][0]["name"] == "go"

    async def test_is_kept_once_with_what_follows(self, typed):
        agent = replaying("before")
        async with program(agent) as command:
            await typed("run", "Question one", "--", *command.args)
            await typed("run", "--continue", "go on", "--", *command.args)
            shown = await typed("sessions", "--show", "first", "--", *command.args)
        assert [shown.out.count(word) for word in ("Answer one", "Question two", "go on", "Done.")] == [1, 1, 1, 1]

    async def test_does_not_hide_a_notice(self, typed):
        agent = ScriptedAgent(2)

        def resume(asked: Any) -> None:
            agent.tell(NoticePatch(notice=Notice(severity="warning", title="No servers")))
            asked.answer({})

        agent.on("session/resume", resume)
        agent.on("session/prompt", agent.reply("Done."))
        async with program(agent) as command:
            finished = await typed("run", "--session", "first", "go on", "--", *command.args)
        assert finished.out == "Done.\n"
        assert "No servers" in finished.err

    @pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
    @pytest.mark.parametrize("when", ["before", "after"])
    async def test_is_told_line_by_line_with_what_the_user_said(self, project: Path, when):
        agent = replaying(when)
        async with program(agent) as command:
            words = ("--plain", "--resume", "first", "--", *command.args)
            async with at_terminal(*words, cwd=project) as (terminal, accord):
                told = [f"{who} {number}" for number in ("one", "two") for who in ("You: Question", "Answer: Answer")]
                shown = await terminal.sees_all("Ready, in ", "\r\n\r\nYou: ", *told)  # some of it may follow "Ready"
                assert [shown.count(text) for text in told] == [1, 1, 1, 1]
                assert [shown.index(text) for text in told] == sorted(shown.index(text) for text in told)
                terminal.type("go on\n")
                assert "Question" not in await terminal.sees("Answer: Done.")
                await terminal.sees("You: ")
                terminal.type("/quit\n")
                assert await accord.wait() == 0

    @pytest.mark.parametrize("is_kept", [False, True], ids=["", "kept here"])
    async def test_is_on_the_screen_once(self, tmp_path: Path, is_kept):
        agent, records = replaying("before"), ConversationRecords(tmp_path / "state")
        if is_kept:
            async with opened(agent, tmp_path, version=1, records=records) as stage:
                await stage.send("Question one")
                await stage.idle()
        async with opened(agent, tmp_path, version=1, records=records, resume="first") as stage:
            await stage.shows("Answer one", "Answer two", "▌ Question one", "▌ Question two")
            await stage.send("go on")
            await stage.idle()
            assert [stage.conversation.count(each) for each in ("Question one", "Answer one", "Answer two")] == [
                1,
                1,
                1,
            ]
        assert said(records.transcripts(TESTER, "first")) == [*EARLIER, "go on", "Done."]

    async def test_takes_the_place_of_what_the_screen_had_when_the_agent_is_started_again(self, tmp_path: Path):
        agent = replaying("before")
        async with opened(agent, tmp_path, version=1) as stage:
            await stage.send("Question one")
            await stage.idle()
            agent.die(1)
            await stage.shows("F5 restarts the agent")
            await stage.press("f5")
            await stage.shows("● ready", "▌ Question two", "Answer two")
            assert stage.conversation.count("Question one") == 1


def fails(agent: ScriptedAgent, asked: Any) -> None:
    agent.begin(asked)
    if agent.version == 2:
        agent.update("state_update", state="idle", stopReason="error", error={"code": -32603, "message": "No model"})
    else:
        asked.fail(-32603, "No model")


def is_cancelled(agent: ScriptedAgent, asked: Any) -> None:
    agent.finish(asked, "cancelled")


def stays_empty(agent: ScriptedAgent, asked: Any) -> None:
    agent.finish(asked)


def dies(agent: ScriptedAgent, asked: Any) -> None:
    agent.die(1, "out of memory")


ENDS = [fails, is_cancelled, stays_empty, dies]


def echoing(agent: ScriptedAgent, *pieces: str, is_late: bool = False) -> Any:
    """A turn in which the prompt is told back, before the answer or after its beginning."""

    def answer(asked: Any) -> None:
        named = {"messageId": "u1"} if agent.version == 2 else {}
        if agent.version == 2:
            asked.answer({"messageId": "u1"})
            agent.update("state_update", state="running")
        if is_late:
            agent.say("Yes, ")
        for piece in pieces:
            agent.update("user_message_chunk", content={"type": "text", "text": piece}, **named)
        agent.say("sir")
        if agent.version == 2:
            agent.update("state_update", state="idle", stopReason="end_turn")
        else:
            asked.answer({"stopReason": "end_turn"})

    return answer


class TestAPrompt:
    @pytest.mark.parametrize("ends", ENDS)
    async def test_of_a_turn_without_output_is_on_the_screen_and_kept(self, tmp_path: Path, version, ends):
        agent, records = ScriptedAgent(version), ConversationRecords(tmp_path / "state")
        async with opened(agent, tmp_path, version=version, records=records) as stage:
            await stage.send("Buy milk")
            asked = await agent.next("session/prompt")
            await stage.shows("▌ Buy milk")
            ends(agent, asked)
            await stage.shows("F5 restarts the agent" if ends is dies else "● ready")
            assert stage.conversation.count("Buy milk") == 1
            assert "not accepted" not in stage.conversation
            assert as_markdown(stage.tab.session.transcript).count("Buy milk") == 1
            await stage.until(lambda: records.transcripts(TESTER, agent.session_id))
        assert said(records.transcripts(TESTER, agent.session_id)) == ["Buy milk"]

    @pytest.mark.parametrize("ends", ENDS)
    async def test_of_a_turn_without_output_is_kept_by_accord_run(self, typed, version, ends):
        agent = ScriptedAgent(version) if version == 2 else ScriptedAgent(version, agentCapabilities={})
        agent.on("session/prompt", lambda asked: ends(agent, asked))
        for method in ("session/list", "session/resume"):
            agent.on(method, lambda asked: asked.fail(-32603, "Not today"))
        async with program(agent) as command:
            finished = await typed("run", "--json", "Buy milk", "--", *command.args)
            shown = await typed("sessions", "--show", agent.session_id, "--", *command.args)
        assert finished.events[-1]["type"] == "end"
        assert not [event for event in finished.events if event["type"] in ("text", "message", "content")]
        assert shown.out.count("Buy milk") == 1, shown

    @pytest.mark.parametrize("is_late", [False, True], ids=["", "after output"])
    @pytest.mark.parametrize("pieces", [["Buy milk"], ["Buy ", "milk"]], ids=["whole", "in pieces"])
    async def test_that_is_told_back_is_on_the_screen_once(self, tmp_path: Path, version, pieces, is_late):
        agent, records = ScriptedAgent(version), ConversationRecords(tmp_path / "state")
        agent.on("session/prompt", echoing(agent, *pieces, is_late=is_late))
        async with opened(agent, tmp_path, version=version, records=records) as stage:
            await stage.send("Buy milk")
            await stage.idle()
            answer = "Yes, sir" if is_late else "sir"
            await stage.shows("▌ Buy milk", answer)
            assert stage.conversation.count("Buy milk") == 1
            is_below = stage.conversation.index("Buy milk") > stage.conversation.index(answer)
            assert is_below == (version == 2 and is_late), "in v2 it stands where it is told back"
            await stage.until(lambda: records.transcripts(TESTER, agent.session_id))
        assert sorted(said(records.transcripts(TESTER, agent.session_id))) == sorted(["Buy milk", answer])

    @pytest.mark.parametrize("pieces", [["Buy milk"], ["Buy ", "milk"]], ids=["whole", "in pieces"])
    async def test_that_is_told_back_is_not_among_the_events_and_the_answer_is_whole(self, typed, version, pieces):
        agent = ScriptedAgent(version)
        agent.on("session/prompt", echoing(agent, *pieces, is_late=True))
        async with program(agent) as command:
            finished = await typed("run", "Buy milk", "--", *command.args)
            told = await typed("run", "--json", "Buy milk", "--", *command.args)
        assert finished.out == "Yes, sir\n"
        assert "".join(event["text"] for event in told.events if event["type"] == "text") == "Yes, sir"
        assert "Buy milk" not in told.out

    async def test_stays_in_its_place_on_the_screen_while_another_turn_goes_on(self, tmp_path: Path):
        agent = ScriptedAgent(2)
        async with opened(agent, tmp_path, version=2) as stage:
            await stage.send("Buy milk")
            asked = await agent.next("session/prompt")
            await stage.shows("▌ Buy milk")
            agent.update("user_message", messageId="u0", content=[{"type": "text", "text": "Sell bread"}])
            agent.update("state_update", state="running")
            agent.say("Sold.", messageId="a0")
            agent.update("state_update", state="idle", stopReason="end_turn")
            await stage.shows("▌ Sell bread", "Sold.")
            asked.answer({"messageId": "u1"})
            agent.update("user_message", messageId="u1", content=[{"type": "text", "text": "Buy milk"}])
            agent.update("state_update", state="running")
            agent.say("Bought.", messageId="a1")
            agent.update("state_update", state="idle", stopReason="end_turn")
            await stage.shows("Bought.", "● ready")
            places = [stage.conversation.index(text) for text in ("Sell bread", "Sold.", "Buy milk", "Bought.")]
            assert places == sorted(places)
            assert stage.conversation.count("Buy milk") == 1


class TestAPromptThatIsNotAccepted:
    """In v2 an error in place of an answer says that the prompt has no place in the conversation."""

    async def test_stays_on_the_screen_marked_so_and_is_not_kept(self, tmp_path: Path):
        agent, records = ScriptedAgent(2), ConversationRecords(tmp_path / "state")
        async with opened(agent, tmp_path, version=2, records=records) as stage:
            await stage.send("Buy milk")
            (await agent.next("session/prompt")).fail(-32602, "Too expensive")
            await stage.shows("▌ Buy milk", "▌ not accepted", "Too expensive")
            await stage.send("Buy bread")
            agent.finish(await agent.next("session/prompt"))
            await stage.shows("▌ Buy bread", "● ready")
            assert stage.conversation.count("not accepted") == 1
            assert "## User (not accepted)\n\nBuy milk" in as_markdown(stage.tab.session.transcript)
            assert "Buy milk" not in as_json(stage.tab.session.transcript)
            await stage.until(lambda: said(records.transcripts(TESTER, agent.session_id)))
        assert said(records.transcripts(TESTER, agent.session_id)) == ["Buy bread"]
        assert records.summaries(TESTER)[0].title == "Buy bread"

    async def test_is_told_by_accord_run(self, typed):
        agent = ScriptedAgent(2)
        agent.on("session/prompt", lambda asked: asked.fail(-32602, "Too expensive"))
        async with program(agent) as command:
            finished = await typed("run", "Buy milk", "--", *command.args)
            told = await typed("run", "--json", "Buy milk", "--", *command.args)
        assert (finished.status, finished.out) == (1, "")
        assert "the prompt was not accepted" in finished.err
        assert "Too expensive" in finished.err
        notice = {
            "severity": "warning",
            "title": "the prompt was not accepted",
            "description": None,
            "source": "accord",
        }
        assert {"type": "notice", **notice} in told.events
        assert told.events[-1]["exit"] == 1
