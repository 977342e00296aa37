"""`accord --plain`: what is asked for on the command line counts, nothing is lost, and nothing obeys the agent."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.apps.console.errors import ExitStatus
from accord.testing import ScriptedAgent, program

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.apps.console.terminal import at_terminal, left, plainly, prompted
from tests.apps.console.test_habits import REASONS
from tests.apps.console.test_late_logins import AGENT, locked

YES_OR_NO = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def asking(agent: ScriptedAgent, kind: str) -> list[Any]:
    """It asks for a call of this kind in its turn; what it is answered."""
    answers: list[Any] = []

    async def answer(asked: Any) -> None:
        call = {"toolCallId": "c", "title": "Do it", "kind": kind}
        about = {"sessionId": agent.session_id, "toolCall": call, "options": YES_OR_NO}
        answers.append((await agent.ask("session/request_permission", about)).result["outcome"]["optionId"])
        agent.say("Over.")
        agent.finish(asked)

    agent.on("session/prompt", answer)
    return answers


async def test_what_an_agent_says_in_an_error_controls_no_terminal(project, version):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", lambda asked: asked.fail(-32603, "\x1b]2;owned\x07\x1b[2J"))
    async with program(agent) as command, plainly(command, cwd=project) as (terminal, accord):
        await prompted(terminal)
        await terminal.sees("␛]2;owned␇␛[2J")
        assert "\x1b" not in terminal.shown
        await left(terminal, accord)


@pytest.mark.parametrize("data", REASONS, ids=str)
async def test_the_reason_in_the_data_of_an_error_is_told_whatever_its_shape(project, data):
    """FN-107: line by line."""
    agent = ScriptedAgent(1)
    agent.on("session/prompt", lambda asked: asked.fail(-32603, "Internal error", data))
    async with program(agent) as command, plainly(command, cwd=project) as (terminal, accord):
        await prompted(terminal)
        await terminal.sees("failed while answering the prompt: Internal error: ")
        await terminal.sees("No key for xai")
        await left(terminal, accord)


class TestPermissions:
    @pytest.mark.parametrize(
        ("chosen", "kind", "told", "answer"),
        [
            ("reject", "read", "rejected: Do it (read) (by --permissions reject; --permissions allow-reads", "no"),
            ("allow-reads", "read", "allowed: Do it (read)", "yes"),
            ("allow-edits", "edit", "allowed: Do it (edit)", "yes"),
            ("allow-all", "execute", "allowed: Do it (execute)", "yes"),
        ],
    )
    async def test_what_the_choice_decides_is_told_and_not_asked(self, project, chosen, kind, told, answer):
        agent = ScriptedAgent(1)
        answers = asking(agent, kind)
        async with (
            program(agent) as command,
            plainly(command, "--permissions", chosen, cwd=project) as (terminal, accord),
        ):
            await prompted(terminal)
            await terminal.sees(told)
            await terminal.sees("Over.")
            await left(terminal, accord)
        assert answers == [answer]

    @pytest.mark.parametrize(("chosen", "kind"), [("ask", "read"), ("allow-reads", "edit"), ("allow-edits", "delete")])
    async def test_what_the_choice_leaves_open_is_asked(self, project, chosen, kind):
        agent = ScriptedAgent(1)
        answers = asking(agent, kind)
        async with (
            program(agent) as command,
            plainly(command, "--permissions", chosen, cwd=project) as (terminal, accord),
        ):
            await prompted(terminal)
            await terminal.sees("1-2, or Enter for no: ")
            terminal.type("1\n")
            await terminal.sees("Over.")
            await left(terminal, accord)
        assert answers == ["yes"]

    @pytest.mark.parametrize(
        ("words", "writes", "runs"),
        [
            ([], True, True),
            (["--permissions", "ask"], True, True),
            (["--permissions", "reject"], False, False),
            (["--permissions", "allow-reads"], False, True),
            (["--permissions", "allow-edits"], True, True),
            (["--permissions", "allow-all"], True, True),
        ],
    )
    async def test_only_what_the_choice_allows_is_offered(self, project, words, writes, runs):
        agent = ScriptedAgent(1)
        async with program(agent) as command, plainly(command, *words, cwd=project) as (terminal, accord):
            await left(terminal, accord)
        can = agent.calls("initialize")[0].params["clientCapabilities"]
        assert (can["fs"].get("writeTextFile", False), can.get("terminal", False)) == (writes, runs)

    async def test_who_wants_to_be_asked_is_asked_for_each_write_and_told_what_was_written(self, project):
        agent = ScriptedAgent(1)

        async def answer(asked: Any) -> None:
            about = {"sessionId": agent.session_id, "path": str(project / "new.txt"), "content": "abc"}
            await agent.ask("fs/write_text_file", about)
            agent.say("Over.")
            agent.finish(asked)

        agent.on("session/prompt", answer)
        async with (
            program(agent) as command,
            plainly(command, "--permissions", "ask", cwd=project) as (terminal, accord),
        ):
            await prompted(terminal)
            await terminal.sees("Enter for no: ")
            assert not (project / "new.txt").exists()
            terminal.type("1\n")
            await terminal.sees("new.txt: 3 bytes")
            await terminal.sees("Over.")
            await left(terminal, accord)
        assert (project / "new.txt").read_text() == "abc"


class TestLateLogins:
    async def test_the_way_that_was_named_is_gone(self, project, version):
        agent = locked(version)
        async with (
            program(agent) as command,
            plainly(command, "--login", "key", cwd=project) as (terminal, accord),
        ):
            await prompted(terminal)
            await terminal.sees("Answer: In")
            await left(terminal, accord)
        assert len(agent.calls("session/new")) == 1

    async def test_who_does_not_log_in_is_told_which_ways_there_are_and_asked_with_the_next_prompt(self, project):
        agent = locked(1)
        async with program(agent) as command, plainly(command, cwd=project) as (terminal, accord):
            await prompted(terminal)
            await terminal.sees("Enter for none: ")
            terminal.type("\n")
            await terminal.sees("wants a login first")
            await terminal.sees("A key (key)")
            await prompted(terminal)
            await terminal.sees("Enter for none: ")
            terminal.type("1\n")
            await terminal.sees("Answer: In")
            await left(terminal, accord)

    async def test_a_way_that_there_is_not_is_told(self, project):
        agent = locked(1)
        async with (
            program(agent) as command,
            plainly(command, "--login", "kee", cwd=project) as (terminal, accord),
        ):
            await prompted(terminal)
            await terminal.sees("the agent has no login 'kee', only 'key'")
            await left(terminal, accord)

    @pytest.mark.parametrize(("takes_up", "session"), [("yes", "before"), ("no", "after")])
    async def test_after_a_login_in_the_terminal_the_session_goes_on(self, project, tmp_path, takes_up, session):
        (tmp_path / "agent.py").write_text(AGENT)
        words = ("--plain", "--", sys.executable, tmp_path / "agent.py", tmp_path / "key", takes_up)
        async with at_terminal(*words, cwd=project) as (terminal, accord):
            await prompted(terminal)
            await terminal.sees("Enter for none: ")
            terminal.type("1\n")
            await terminal.sees("password? ")
            terminal.type("sesame\n")
            await left(terminal, accord)
        assert (tmp_path / "key").read_text() == f"sesame\n{session}"


def remembering() -> ScriptedAgent:
    """It can resume and load, and tells a history when it loads."""
    agent = ScriptedAgent(1, agentCapabilities={"loadSession": True, "sessionCapabilities": {"resume": {}}})

    def load(asked: Any) -> Any:
        for update, text in (
            ("user_message_chunk", "What is 1+1? \x1b[2J"),
            ("agent_message_chunk", "It is "),
            ("agent_message_chunk", "two."),
        ):
            agent.update(update, session_id="given", content={"type": "text", "text": text})
        agent.update("tool_call", session_id="given", toolCallId="c", title="Count", kind="other", status="completed")
        return {}

    agent.on("session/load", load)
    agent.on("session/resume", {})
    agent.on("session/prompt", agent.reply("Done."))
    return agent


async def test_a_session_that_is_taken_up_is_told_with_what_the_user_said(project):
    agent = remembering()
    async with (
        program(agent) as command,
        plainly(command, "--resume", "given", cwd=project) as (terminal, accord),
    ):
        await terminal.sees("You: What is 1+1? ␛[2J\r\nAnswer: It is two.\r\nDone: Count\r\nReady, in ")
        await prompted(terminal)
        await terminal.sees("Answer: Done.")
        await left(terminal, accord)
    assert not agent.calls("session/resume")
    assert agent.calls("session/prompt")[0].params["sessionId"] == "given"


async def test_what_the_user_says_now_is_not_told_to_them_again(project):
    agent = ScriptedAgent(2)
    agent.on("session/prompt", agent.reply("Done."))
    async with program(agent) as command, plainly(command, cwd=project) as (terminal, accord):
        await prompted(terminal, "Once")
        await terminal.sees("Once\r\n")
        await terminal.sees("Answer: Done.")
        assert "Once" not in terminal.shown
        await left(terminal, accord)


def kept(home: Path) -> str:
    return "\n".join(path.read_text() for path in home.rglob("conversations/*.jsonl"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_it_and_keeps_a_turn_as_far_as_it_had_come(home, project, number):
    agent = ScriptedAgent(1)
    async with program(agent) as command, plainly(command, cwd=project) as (terminal, accord):
        await prompted(terminal)
        await agent.next("session/prompt")
        agent.say("Half an answer")
        await terminal.sees("Half an answer")
        os.kill(accord.pid, number)
        assert await accord.wait() == 128 + number
    assert "Half an answer" in kept(home)


async def test_a_terminal_that_is_closed_takes_nothing_along(home, project):
    agent = ScriptedAgent(1)
    async with program(agent) as command, plainly(command, cwd=project) as (terminal, accord):
        await prompted(terminal)
        await agent.next("session/prompt")
        agent.say("Half an answer")
        await terminal.sees("Half an answer")
        terminal.close()
        assert await accord.wait() == ExitStatus.HANGUP
        terminal.close = lambda: None
    assert "Half an answer" in kept(home)


async def test_a_signal_ends_it_also_while_it_waits_for_a_prompt(project):
    agent = ScriptedAgent(1)
    async with program(agent) as command, plainly(command, cwd=project) as (terminal, accord):
        await terminal.sees("You: ")
        os.kill(accord.pid, signal.SIGTERM)
        assert await accord.wait() == ExitStatus.TERMINATED


async def test_a_terminal_that_is_closed_ends_it_also_while_it_waits_for_a_prompt(project):
    agent = ScriptedAgent(1)
    async with program(agent) as command, plainly(command, cwd=project) as (terminal, accord):
        await terminal.sees("You: ")
        terminal.close()
        assert await accord.wait() == ExitStatus.HANGUP
        terminal.close = lambda: None


@pytest.mark.parametrize("can_go_on", [True, False])
async def test_an_agent_that_dies_ends_it_and_it_says_how_to_go_on(project, can_go_on):
    agent = remembering() if can_go_on else ScriptedAgent(1)
    agent.on("session/prompt", lambda asked: agent.die(9, "boom"))
    async with program(agent) as command, plainly(command, cwd=project) as (terminal, accord):
        await prompted(terminal)
        await terminal.sees("is gone while answering the prompt")
        if can_go_on:
            await terminal.sees("`accord --plain --continue -- ")
        await terminal.sees("boom")
        assert await accord.wait() == ExitStatus.AGENT_GONE
        assert "accord --plain" not in terminal.shown


async def test_a_mode_is_put_in_force(project):
    agent = ScriptedAgent(1)
    modes = [{"id": mode, "name": mode.title()} for mode in ("code", "plan")]
    agent.on("session/new", {"sessionId": "s", "modes": {"currentModeId": "code", "availableModes": modes}})
    agent.on("session/set_mode", {})
    async with program(agent) as command, plainly(command, "--mode", "plan", cwd=project) as (terminal, accord):
        await left(terminal, accord)
    assert agent.calls("session/set_mode")[0].params["modeId"] == "plan"
