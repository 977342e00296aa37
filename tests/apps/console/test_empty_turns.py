"""A turn that ends with nothing in it, and one in which everything that needed a permission was rejected."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.apps.console.errors import ExitStatus
from accord.session.content import Image, Text
from accord.session.entities import Plan, PlanEntry, SlashCommand
from accord.session.updates import CommandsPatch, MessageAppend, PlanPatch, ToolCallPatch, UsagePatch
from accord.testing import ScriptedAgent, program
from tests.apps.console.real_peers import GOOSE_OPTIONS, Turn, does, opencode_write, permitted
from tests.apps.console.screen.stage import opened

EMPTY = "the agent ended its turn without any text, thought or tool call"
REJECTED = "everything that needed a permission was rejected"
NOTHING: list[Any] = [
    CommandsPatch(commands=[SlashCommand("go", "Goes")]),
    UsagePatch(used=1, size=2),
    PlanPatch(plan=Plan(id="p", entries=[PlanEntry("Look")])),
    MessageAppend(role="agent", id="m", content=Text("")),
    MessageAppend(role="thought", id="t", content=Text(" \n")),
]
SOMETHING = {
    "text": MessageAppend(role="agent", id="m", content=Text("Hi")),
    "thought": MessageAppend(role="thought", id="t", content=Text("Hm")),
    "image": MessageAppend(role="agent", id="m", content=Image(data="aGk=", mime_type="image/png")),
    "tool call": ToolCallPatch(id="c", title="Look", status="completed", creates=True),
}


def telling(version: Any, *reports: Any, stop_reason: str = "end_turn", late: tuple[Any, ...] = ()) -> ScriptedAgent:
    agent = ScriptedAgent(version)

    def answer(asked: Any) -> None:
        agent.begin(asked)
        for report in reports:
            agent.tell(report)
        agent.finish(asked, stop_reason)
        for report in late:
            agent.tell(report)

    agent.on("session/prompt", answer)
    return agent


async def ran(typed: Any, agent: ScriptedAgent, *words: str) -> Any:
    async with program(agent) as command:
        return await typed("run", *words, "Hi", "--", *command.args)


class TestEmptyTurns:
    async def test_it_has_a_status_of_its_own_and_is_said(self, typed, version):
        """FN-106: kimi-code and pi-acp end turns with nothing in them."""
        finished = await ran(typed, telling(version, *NOTHING))
        assert (finished.status, finished.out.strip()) == (ExitStatus.EMPTY_TURN, "")
        assert finished.err.splitlines().count(EMPTY) == 1

    @pytest.mark.parametrize("words", [("--json",), ("--format", "v1"), ("--quiet",)])
    async def test_it_is_said_whatever_is_printed(self, typed, words):
        """FN-106"""
        finished = await ran(typed, telling(1), *words)
        assert (finished.status, EMPTY in finished.err.splitlines()) == (ExitStatus.EMPTY_TURN, True)
        if words == ("--json",):
            assert (finished.event("end")["exit"], finished.event("end")["stop_reason"]) == (10, "end_turn")

    @pytest.mark.parametrize("what", SOMETHING)
    async def test_it_is_none_with_anything_in_it(self, typed, version, what):
        finished = await ran(typed, telling(version, SOMETHING[what]))
        assert (finished.status, EMPTY in finished.err) == (0, False)

    async def test_what_comes_after_the_answer_is_in_it(self, typed):
        """FN-02: some agents of v1 send the text after the answer to the prompt."""
        finished = await ran(typed, telling(1, late=(SOMETHING["text"],)))
        assert (finished.status, finished.out) == (0, "Hi\n")

    @pytest.mark.parametrize(
        ("reason", "status"), [("refusal", ExitStatus.REFUSAL), ("max_tokens", ExitStatus.MAX_TOKENS)]
    )
    async def test_another_reason_counts_for_more(self, typed, version, reason, status):
        finished = await ran(typed, telling(version, stop_reason=reason))
        assert (finished.status, EMPTY in finished.err) == (status, False)

    async def test_on_the_screen_it_is_a_line(self, tmp_path, version):
        """FN-106"""
        async with opened(telling(version, *NOTHING), tmp_path, version=version) as stage:
            await stage.send("Go")
            await stage.idle()
            await stage.shows(EMPTY)
            await stage.send("Go")
            await stage.until(lambda: stage.conversation.count(EMPTY) == 2)

    async def test_on_the_screen_each_turn_counts_by_itself(self, tmp_path, version):
        """FN-106"""
        agent = ScriptedAgent(version)
        texts = ["Hi", ""]

        def answer(asked: Any) -> None:
            agent.reply(texts.pop(0))(asked)

        agent.on("session/prompt", answer)
        async with opened(agent, tmp_path, version=version) as stage:
            await stage.send("Go")
            await stage.idle()
            assert EMPTY not in stage.conversation
            await stage.send("Go on")
            await stage.shows(EMPTY)

    @pytest.mark.parametrize("what", SOMETHING)
    async def test_on_the_screen_nothing_is_said_of_a_turn_with_anything_in_it(self, tmp_path, version, what):
        async with opened(telling(version, SOMETHING[what]), tmp_path, version=version) as stage:
            await stage.send("Go")
            await stage.idle()
            assert EMPTY not in stage.conversation

    async def test_on_the_screen_what_comes_after_the_answer_is_in_it(self, tmp_path):
        """FN-02"""
        async with opened(telling(1, late=(SOMETHING["text"],)), tmp_path, version=1) as stage:
            await stage.send("Go")
            await stage.idle()
            await stage.shows("Hi")
            assert EMPTY not in stage.conversation

    async def test_on_the_screen_a_turn_that_was_stopped_says_so_alone(self, tmp_path):
        agent = ScriptedAgent(1)
        agent.on("session/prompt", lambda asked: None)
        agent.on("session/cancel", lambda asked: agent.calls("session/prompt")[0].answer({"stopReason": "end_turn"}))
        async with opened(agent, tmp_path, version=1) as stage:
            await stage.send("Go")
            await agent.seen("session/prompt")
            await stage.press("escape")
            await stage.idle()
            await stage.shows("stopped")
            assert EMPTY not in stage.conversation


def asking(*kinds: str) -> Turn:
    """One permission for each kind, one after the other."""

    async def turn(agent: ScriptedAgent) -> bool:
        done = [
            await permitted(agent, {"toolCallId": f"c{place}", "title": "Do it", "kind": kind}, GOOSE_OPTIONS)
            for place, kind in enumerate(kinds)
        ]
        return all(done)

    return turn


class TestRejections:
    @pytest.mark.parametrize(
        ("chosen", "kinds", "status"),
        [
            ("reject", ("edit",), ExitStatus.ALL_REJECTED),
            ("reject", ("read", "execute"), ExitStatus.ALL_REJECTED),
            ("allow-reads", ("edit", "execute"), ExitStatus.ALL_REJECTED),
            ("allow-reads", ("read", "edit"), ExitStatus.END_TURN),
            ("allow-all", ("edit",), ExitStatus.END_TURN),
            ("reject", (), ExitStatus.END_TURN),
        ],
    )
    async def test_a_run_in_which_all_was_rejected_has_a_status_of_its_own(self, typed, chosen, kinds, status):
        agent = does(ScriptedAgent(1), asking(*kinds))
        finished = await ran(typed, agent, "--permissions", chosen)
        assert finished.status == status
        assert (REJECTED in finished.err.splitlines()) is (status == ExitStatus.ALL_REJECTED)

    async def test_its_events_have_the_status(self, typed, project):
        agent = does(ScriptedAgent(1), opencode_write(project / "notes.md", "a\n", "b\n"))
        finished = await ran(typed, agent, "--json", "--permissions", "reject")
        assert (finished.event("end")["exit"], finished.status) == (11, 11)

    @pytest.mark.parametrize(
        ("chosen", "kinds", "reason", "status"),
        [
            ("reject", ("edit",), "refusal", ExitStatus.REFUSAL),
            ("reject", ("edit",), "cancelled", ExitStatus.ALL_REJECTED),
            ("allow-reads", ("read", "edit"), "cancelled", ExitStatus.CANCELLED),
            ("reject", (), "cancelled", ExitStatus.CANCELLED),
        ],
    )
    async def test_a_reason_of_the_agents_counts_for_more_unless_a_no_is_what_cancelled_its_turn(
        self, typed, chosen, kinds, reason, status
    ):
        """FN-93: codex ends its turn as cancelled with the first no."""
        agent = ScriptedAgent(1)

        async def answer(asked: Any) -> None:
            await asking(*kinds)(agent)
            agent.finish(asked, reason)

        agent.on("session/prompt", answer)
        finished = await ran(typed, agent, "--permissions", chosen)
        assert finished.status == status
        assert (REJECTED in finished.err.splitlines()) is (status == ExitStatus.ALL_REJECTED)


def test_both_are_documented():
    page = (Path(__file__).parents[3] / "docs" / "run.md").read_text(encoding="utf-8")
    assert re.search(rf"(?m)^\| {ExitStatus.EMPTY_TURN:d} \|.*nothing in it", page)
    assert re.search(rf"(?m)^\| {ExitStatus.ALL_REJECTED:d} \|.*rejected", page)


if sys.platform != "win32":
    from tests.apps.console.terminal import at_terminal

    async def test_line_by_line_an_empty_turn_is_said(project):
        """FN-106"""
        async with (
            program(telling(1)) as command,
            at_terminal("--plain", "--", *command.args, cwd=project) as (terminal, accord),
        ):
            await terminal.sees("You: ")
            terminal.type("Hi\n")
            await terminal.sees(EMPTY)
            await terminal.sees("You: ")
            terminal.type("/quit\n")
            assert await accord.wait() == 0

    async def test_a_person_who_rejects_everything_gets_the_status_too(project):
        async with (
            program(does(ScriptedAgent(1), asking("edit"))) as command,
            at_terminal("run", "Hi", "--", *command.args, cwd=project) as (terminal, accord),
        ):
            await terminal.sees("Enter for no: ")
            terminal.type("\n")
            await terminal.sees(REJECTED)
            assert await accord.wait() == ExitStatus.ALL_REJECTED
