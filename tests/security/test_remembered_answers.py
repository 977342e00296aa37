"""What was decided for always: said as it is, and gone when the user takes it back, whoever keeps it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from accord import Agent, Client, Turn
from accord.apps.coder.coder import Coder
from accord.apps.coder.settings.precedence import load_settings
from accord.apps.console.errors import ExitStatus
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.permission_flags import always_scope, forget_choices
from accord.client.permissions import policies
from accord.client.permissions.writes_and_commands import write_permission_request
from accord.errors import AccordError, RequestFailed
from accord.local.saved_choices import SavedChoices, project_root
from accord.session.entities import Diff, FileChange, Location
from accord.session.requests import CommandSubject, PermissionOption, PermissionRequest, ToolCallSubject, WriteFile
from accord.session.updates import ToolCallPatch
from accord.testing import ScriptedAgent, program
from tests.apps.console.screen.stage import Stage, opened

OURS = KnownAgent(name="accord", command=["accord", "agent"], source="built-in")
ALWAYS = [
    PermissionOption(id="a", name="Always", kind="allow_always"),
    PermissionOption(id="n", name="No", kind="reject_once"),
]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACCORD_HOME", str(tmp_path / "home"))
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
def choices(tmp_path: Path) -> SavedChoices:
    return SavedChoices(tmp_path / "home" / "choices.json")


@pytest.fixture
def coder(project: Path, choices: SavedChoices) -> Coder:
    return Coder(load_settings(project, {"mode": "ask", "model": "offline"}), choices_file=choices.path)


async def answer(stage: Stage, prompt: str, key: str | None) -> None:
    """Send a prompt, and answer the question that it leads to; with None, there is none."""
    await stage.send(prompt)
    if key is not None:
        await stage.asked()
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.press("end")
        await stage.until(lambda: stage.app.main.questions._bar.is_read)  # type: ignore[union-attr]
        await stage.press(key)
    await stage.idle()


@pytest.mark.parametrize("by", ["Forget", "accord permissions"])
async def test_what_the_built_in_agent_keeps_is_asked_again_once_it_is_taken_back(project, coder, choices, by):
    async with opened(coder.agent, project, known=OURS) as stage:
        await answer(stage, 'create a.txt with "A"', "a")
        await answer(stage, 'create b.txt with "B"', None)
        assert [choice.scope for choice in choices.read()] == ["edit files"]
        if by == "Forget":
            stage.app.commands.forget_choices()
            await stage.shows("1 choice for always revoked: accord asks you again")
        else:
            choices.revoke(project_root(project))
        assert choices.read() == []
        await answer(stage, 'create a.txt with "A"', "n")  # the very same as before: the screen has not kept it either
        await answer(stage, 'create c.txt with "C"', "n")
    assert sorted(path.name for path in project.iterdir()) == ["a.txt", "b.txt"]


async def test_forgetting_takes_nothing_back_of_other_projects(project, tmp_path, coder, choices):
    choices.set("/elsewhere", "edit files", True)
    choices.set(project_root(project), "delete files", False)
    async with opened(coder.agent, project, known=OURS) as stage:
        stage.app.commands.forget_choices()
        await stage.shows("1 choice for always revoked")
    assert [choice.project for choice in choices.read()] == ["/elsewhere"]


async def test_what_can_not_be_taken_back_is_said(project, coder, choices):
    choices.path.parent.mkdir(exist_ok=True)
    choices.path.write_text("{")
    async with opened(coder.agent, project, known=OURS) as stage:
        stage.app.commands.forget_choices()
        told = ("nothing was revoked", "`accord permissions --revoke-all`")
        await stage.until(lambda: all(each in " ".join(stage.text.split()) for each in told))


async def test_the_screen_says_what_it_can_not_undo_of_another_agent(project):
    agent, asked = Agent("asker", version="1"), []

    @agent.prompt
    async def ask(turn: Turn) -> None:
        async with turn.tool_call("Do it", raw_input={"what": turn.text}) as call:
            asked.append(await turn.allowed(call, options=ALWAYS))

    async with opened(agent, project) as stage:
        await answer(stage, "it", "a")
        stage.app.commands.forget_choices()
        await stage.shows("accord asks you again; it cannot revoke what tester has saved itself")
        await stage.until(lambda: stage.app.agent.choices.answers == [])


@pytest.mark.parametrize("prompts", [["first", "second"]])
async def test_who_has_allowed_all_writes_is_asked_again_after_forget(project, prompts):
    agent = ScriptedAgent(1)

    async def write(asked: Any) -> None:
        name = asked.params["prompt"][0]["text"]
        await agent.ask(
            "fs/write_text_file", {"sessionId": agent.session_id, "path": f"{project}/{name}", "content": "x"}
        )
        agent.finish(asked)

    agent.on("session/prompt", write)
    async with opened(agent, project, permissions="ask") as stage:
        await stage.send("first")
        await stage.asked()
        await stage.shows("Always covers every file that the agent writes in this session, until Forget")
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.press("a")
        await stage.idle()
        await answer(stage, "second", None)
        stage.app.commands.forget_choices()
        await answer(stage, "third", "n")
    assert sorted(path.name for path in project.iterdir()) == ["first", "second"]


async def test_only_an_open_session_tells_whose_choices_are_forgotten(project, coder, choices):
    choices.set(project_root(project), "edit files", True)
    async with Client(coder.agent, on_permission=policies.deny) as client:
        for params in ({"sessionId": "another"}, {}, [1]):
            with pytest.raises(RequestFailed):
                await client.request("_accord/forget_choices", params)
        assert len(choices.read()) == 1
        session = await client.new_session(project)
        assert await forget_choices(client, [session.id]) == 1
        assert await forget_choices(client, [session.id]) == 0
    assert choices.read() == []


async def test_an_agent_that_does_not_say_what_it_forgot_has_not(project):
    agent = Agent("liar", version="1")

    @agent.method("_accord/forget_choices")
    async def forget(params: Any, client: Any) -> Any:
        return ["all", "of", "it"]

    async with Client(agent, on_permission=policies.deny) as client:
        with pytest.raises(AccordError, match="did not say"):
            await forget_choices(client, ["s"])


def asked(**about: Any) -> PermissionRequest:
    return PermissionRequest(session_id="s", options=ALWAYS, **about)


CALL = asked(title="Edit", subject=ToolCallSubject(call=ToolCallPatch(id="c", title="Edit")))
COMMAND = asked(subject=CommandSubject(command="ls", cwd="/"))
NOTHING = asked()
WRITE = write_permission_request(WriteFile(session_id="s", path="/a", content="x"), None)


KEPT_HERE = "in this session, until Forget (Ctrl+P) or exit; accord cannot undo what the agent saves."
NOT_KEPT = "what the agent takes it to cover; accord saves nothing and cannot undo it."


@pytest.mark.parametrize(
    ("question", "keeper", "forgets", "said"),
    [
        (
            CALL,
            "built-in agent",
            True,
            "what the answer says, in this project, until Forget (Ctrl+P) or `accord permissions` revokes it.",
        ),
        (
            CALL,
            "built-in agent",
            False,
            "what the answer says, in this project, until `accord permissions` revokes it.",
        ),
        (CALL, "screen", True, f"the same kind, title, input and files, {KEPT_HERE}"),
        (COMMAND, "screen", True, f"exactly this command in this directory, {KEPT_HERE}"),
        (NOTHING, "screen", True, NOT_KEPT),
        (COMMAND, "other agent", False, NOT_KEPT),
        (
            WRITE,
            "screen",
            True,
            "every file that the agent writes in this session, until Forget (Ctrl+P) or the agent ends.",
        ),
        (WRITE, "other agent", False, "every file that the agent writes in this session, until the agent ends."),
    ],
)
def test_one_true_sentence_says_what_always_covers(question, keeper, forgets, said):
    assert always_scope(question, keeper, "Forget (Ctrl+P)" if forgets else "") == f"Always covers {said}"


def test_the_sentence_names_the_answers_that_there_are():
    def words(*kinds: str) -> str:
        options = [PermissionOption(id=kind, name=kind, kind=kind) for kind in kinds]
        request = PermissionRequest(session_id="s", options=options, subject=COMMAND.subject)
        return always_scope(request, "screen", "Forget (Ctrl+P)").partition(" exactly")[0]

    assert words("allow_once", "reject_always") == "Never covers"
    assert words("reject_always", "allow_always") == "Always and never cover"


CHANGES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "the kind": {"kind": "delete"},
    "the title": {"title": "Do that"},
    "the input": {"raw_input": {"what": "that"}},
    "the files": {"locations": [Location(path="/b")]},
    "the text of the change": {"content": [Diff(changes=[FileChange("modify", "/a", old_text="a", new_text="c")])]},
}


@pytest.mark.parametrize("change", CHANGES)
async def test_the_screen_saves_for_always_exactly_what_its_sentence_says(project, change):
    """Calls of the same kind, title, input and files, in this session."""
    agent = Agent("asker", version="1")
    usual: dict[str, Any] = {
        "title": "Do it",
        "kind": "edit",
        "raw_input": {"what": "it"},
        "locations": [Location(path="/a")],
        "content": [Diff(changes=[FileChange("modify", "/a", old_text="a", new_text="b")])],
    }

    @agent.prompt
    async def ask(turn: Turn) -> None:
        about = usual | (CHANGES[change] if turn.text == "again" else {})
        async with turn.tool_call(about.pop("title"), **about) as call:
            await turn.allowed(call, options=ALWAYS, scope=f"call {call.id}")  # the agent itself saves nothing

    covered = change in ("nothing", "the text of the change")
    async with opened(agent, project) as stage:
        await answer(stage, "first", "a")
        await answer(stage, "again", None if covered else "n")
        await stage.send("/new")
        await stage.until(lambda: len(stage.app.tabs) == 2 and stage.tab.is_open)
        await answer(stage, "first", "n")


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
async def test_it_is_said_in_lines_too(project):
    from tests.apps.console.terminal import at_terminal

    agent = ScriptedAgent(1)

    async def ask(prompted: Any) -> None:
        options = [{"optionId": "a", "name": "Always", "kind": "allow_always"}]
        call = {"toolCallId": "c", "title": "Do it"}
        await agent.ask(
            "session/request_permission", {"sessionId": agent.session_id, "options": options, "toolCall": call}
        )
        agent.finish(prompted)

    agent.on("session/prompt", ask)
    async with program(agent) as command, at_terminal("run", "Hi", "--", *command.args, cwd=project) as (terminal, run):
        await terminal.sees(f"  1  Always\r\n  Always covers {NOT_KEPT}\r\n")
        await terminal.sees("Enter for no: ")
        terminal.type("\n")
        assert await run.wait() == ExitStatus.ALL_REJECTED
