"""`--continue` and `--resume`: the same session for `accord run`, for the screen and line by line."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from accord.apps.coder.settings.files import state_directory
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.session_choice import SESSION_LIMIT, list_sessions
from accord.client.client import Client
from accord.testing import ScriptedAgent, program
from tests.apps.console.screen.stage import opened

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.apps.console.terminal import Terminal, at_terminal

Outcome = tuple[str | None, str]
Way = Callable[..., Awaitable[Outcome]]


def an_agent(sessions: list[dict[str, Any]] | None = None, **can: Any) -> ScriptedAgent:
    abilities: dict[str, Any] = {name: {} for name in can if name != "load"}
    if sessions is not None:
        abilities["list"] = {}
    agent = ScriptedAgent(
        1, agentCapabilities={"loadSession": can.get("load", False), "sessionCapabilities": abilities}
    )
    agent.on("session/list", {"sessions": sessions or []})
    agent.on("session/resume", {})
    agent.on("session/load", {})
    agent.on("session/new", {"sessionId": "fresh"})
    agent.on("session/prompt", agent.reply("Done."))
    return agent


def kept(session_id: str, cwd: Path, when: str, title: str | None = "A talk") -> dict[str, Any]:
    return {"sessionId": session_id, "cwd": str(cwd), "updatedAt": f"2026-01-{when}T00:00:00Z", "title": title}


@pytest.fixture(params=["run", "screen", "plain"])
def way(request: pytest.FixtureRequest, typed: Any, project: Path) -> Way:
    """Prompt once; in which session that was, and all that was said about it. `command` is one that was used before."""

    async def by_run(agent: ScriptedAgent, *words: str, command: list[str] | None = None) -> Outcome:
        async with program(agent) as other:
            finished = await typed("run", *words, "Hi", "--", *(command or other.args))
        return _prompted(agent), finished.err

    async def by_screen(agent: ScriptedAgent, *words: str, command: list[str] | None = None) -> Outcome:
        resume = words[1] if words[0] == "--resume" else None
        args = command or [sys.executable]
        known = KnownAgent(name=Path(sys.executable).name, command=args, source="command")
        asked = {"resume": resume, "continues": resume is None, "known": known, "state": state_directory()}
        async with opened(agent, project, ready=False, **asked) as stage:
            await stage.until(lambda: stage.app.conversation._canvas is not None)
            await stage.until(lambda: stage.tab.is_open or "cannot be reopened" in stage.conversation)
            if stage.tab.is_open:
                await stage.send("Hi")
                await stage.idle()
            return _prompted(agent), " ".join(stage.conversation.split())

    async def by_plain(agent: ScriptedAgent, *words: str, command: list[str] | None = None) -> Outcome:
        async with program(agent) as other, _plainly(command or other.args, words, project) as terminal:
            try:
                await terminal.sees("You: ")
                terminal.type("Hi\n")
                await terminal.sees("Done.")
            except AssertionError:
                pass
            return _prompted(agent), terminal.all

    return {"run": by_run, "screen": by_screen, "plain": by_plain}[request.param]


def _prompted(agent: ScriptedAgent) -> str | None:
    prompts = agent.calls("session/prompt")
    return prompts[-1].params["sessionId"] if prompts else None


class _Remembering(Terminal):
    all = ""

    def _heard(self, text: str) -> None:
        super()._heard(text)
        self.all += text


@asynccontextmanager
async def _plainly(command: list[str], words: tuple[str, ...], cwd: Path) -> AsyncGenerator[_Remembering]:
    async with at_terminal("--plain", *words, "--", *command, cwd=cwd, kind=_Remembering) as (terminal, _):
        yield terminal


async def test_the_newest_of_this_directory_is_continued(way: Way, project: Path):
    sessions = [
        kept("old", project, "01"),
        kept("empty", project, "03", title=None),
        kept("new", project, "02"),
        kept("elsewhere", project.parent, "04"),
    ]
    session_id, _ = await way(an_agent(sessions, resume=True), "--continue")
    assert session_id == "new"


async def test_where_nothing_is_to_be_continued_that_is_said(way: Way, request: pytest.FixtureRequest):
    session_id, told = await way(an_agent([], resume=True), "--continue")
    assert "no earlier session" in told
    assert session_id == (None if "run" in request.node.callspec.id else "fresh")


async def test_an_agent_that_lists_nothing_is_remembered(way: Way, typed: Any):
    agent = an_agent(resume=True)
    agent.on("session/new", {"sessionId": "first"})
    async with program(agent) as command:
        await typed("run", "Hi", "--", *command.args)
        agent.on("session/new", {"sessionId": "second"})
        session_id, _ = await way(agent, "--continue", command=command.args)
    assert session_id == "first"


async def test_another_command_of_the_same_program_is_another_agent(way: Way, typed: Any):
    first, second = an_agent(resume=True), an_agent(resume=True)
    async with program(first) as one, program(second) as other:
        await typed("run", "Hi", "--", *one.args)
        assert (await typed("sessions", "--json", "--", *other.args)).out == "[]\n"
        _, told = await way(second, "--continue", command=other.args)
    assert "no earlier session" in told
    assert not second.calls("session/resume")


async def test_without_a_terminal_a_talk_begins_anew_where_there_is_none_to_continue(typed: Any):
    finished = await typed("--continue", stdin=b"/help")
    assert (finished.status, "no earlier session" in finished.out) == (0, True)
    assert "/search" in finished.out


async def test_without_a_terminal_nothing_is_said_of_a_prompt_that_there_was_not(typed: Any):
    finished = await typed("--", sys.executable, "-c", "")
    assert finished.status == 2
    assert "This was one prompt" not in finished.err
    assert "In a terminal it opens a screen" in finished.err


@pytest.mark.parametrize("can", ["load", "resume"])
async def test_a_given_session_is_taken_up_as_the_agent_can(way: Way, can: str):
    agent = an_agent(None, **{can: True})
    session_id, _ = await way(agent, "--resume", "given")
    assert session_id == "given"
    assert len(agent.calls(f"session/{can}")) == 1


async def test_an_agent_that_takes_up_nothing_says_so(way: Way, request: pytest.FixtureRequest):
    session_id, told = await way(an_agent(), "--resume", "given")
    if "screen" in request.node.callspec.id:
        assert (session_id, "this agent cannot reopen sessions" in told) == ("fresh", True)
    else:
        assert (session_id, "can't take up a session again" in told) == (None, True)


def refuses(agent: ScriptedAgent, *methods: str) -> ScriptedAgent:
    """code-puppy: it offers them all the same."""
    for method in methods:
        agent.on(f"session/{method}", lambda asked: asked.fail(-32601, "Method not found", {"method": asked.method}))
    return agent


@pytest.mark.parametrize(("refused", "left"), [("resume", "load"), ("load", "resume")])
async def test_a_way_that_is_offered_and_then_refused_leaves_the_other(way: Way, refused: str, left: str):
    agent = refuses(an_agent(None, load=True, resume=True), refused)
    session_id, told = await way(agent, "--resume", "given")
    assert session_id == "given"
    assert len(agent.calls(f"session/{left}")) == 1
    assert "-32601" not in told


@pytest.mark.parametrize("offered", [("load",), ("resume",), ("load", "resume")], ids=" and ".join)
async def test_where_all_that_is_offered_is_refused_a_new_session_begins_and_that_is_said(
    way: Way, offered: tuple[str, ...], request: pytest.FixtureRequest
):
    agent = refuses(an_agent(None, **dict.fromkeys(offered, True)), *offered)
    session_id, told = await way(agent, "--resume", "given")
    assert session_id == "fresh"
    if "screen" in request.node.callspec.id:
        assert "this agent cannot reopen sessions: a new session begins, which does not know the messages above" in told
    else:
        assert "can't take up a session, although it offers that (error -32601): a new session begins" in told
    for method in offered:
        assert len(agent.calls(f"session/{method}")) == 1


async def test_the_events_say_that_the_session_is_another_one(typed: Any):
    agent = refuses(an_agent(None, resume=True), "resume")
    async with program(agent) as command:
        finished = await typed(
            "run", "--json", "--permissions", "reject", "--session", "given", "Hi", "--", *command.args
        )
    assert (finished.status, finished.event("start")["session_id"]) == (0, "fresh")
    assert finished.event("start")["resumed"] is False
    assert "does not know what was said before" in finished.event("notice")["title"]


async def test_a_list_that_is_offered_and_then_refused_is_as_none(way: Way, typed: Any):
    agent = refuses(an_agent([], resume=True), "list")
    agent.on("session/new", {"sessionId": "first"})
    async with program(agent) as command:
        await typed("run", "Hi", "--", *command.args)
        agent.on("session/new", {"sessionId": "second"})
        session_id, told = await way(agent, "--continue", command=command.args)
    assert session_id == "first"
    assert "no earlier session" not in told


async def test_a_list_without_any_session_is_as_none(way: Way, typed: Any):
    """FN-103: as the one of deepagents-acp; `accord sessions` lists what was kept here."""
    agent = an_agent([], resume=True)
    agent.on("session/new", {"sessionId": "first"})
    async with program(agent) as command:
        await typed("run", "Hi", "--", *command.args)
        agent.on("session/new", {"sessionId": "second"})
        session_id, told = await way(agent, "--continue", command=command.args)
    assert session_id == "first"
    assert "no earlier session" not in told


async def test_a_session_that_was_deleted_is_not_continued(typed: Any):
    agent = an_agent([], resume=True, delete=True)
    agent.on("session/new", {"sessionId": "first"})
    agent.on("session/delete", {})
    async with program(agent) as command:
        await typed("run", "Hi", "--", *command.args)
        await typed("sessions", "--delete", "first", "--", *command.args)
        finished = await typed("run", "--continue", "Hi", "--", *command.args)
    assert finished.status == 1
    assert "no earlier session" in finished.err


async def test_a_session_that_there_is_not_is_an_error_that_says_where_to_look(way: Way):
    agent = an_agent(resume=True)
    agent.on("session/resume", lambda asked: asked.fail(-32002, "Session not found: given"))
    session_id, told = await way(agent, "--resume", "given")
    assert session_id is None
    assert "Session not found: given" in told
    assert "accord sessions" in told or "F3 lists" in told


async def test_an_agent_that_lists_for_ever_is_not_listened_to_for_ever(tmp_path: Path):
    agent = ScriptedAgent(1)
    pages = 0

    def page(asked: Any) -> Any:
        nonlocal pages
        pages += 1
        sessions = [kept(f"s{pages}-{number}", tmp_path, "01") for number in range(100)]
        return {"sessions": sessions, "nextCursor": str(pages)}

    agent.on("session/list", page)
    async with Client(agent) as client:
        assert len(await list_sessions(client)) == SESSION_LIMIT
    assert pages == SESSION_LIMIT // 100
