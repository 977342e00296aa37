"""Writes and commands of v1 agents that are put to the permission policy first."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord import Client
from accord.client.workspace import Workspace
from accord.session.entities import Diff
from accord.session.requests import CommandSubject, PermissionAnswer, RequestPermission, ToolCallSubject
from accord.testing import ScriptedAgent

YES = PermissionAnswer(outcome="selected", option_id="allow")
ALWAYS = PermissionAnswer(outcome="selected", option_id="allow_always")
NO = PermissionAnswer(outcome="selected", option_id="reject")


class Asked:
    """A policy that gives these answers in turn, and keeps the questions."""

    def __init__(self, *answers: PermissionAnswer) -> None:
        self.questions: list[RequestPermission] = []
        self._answers = list(answers)

    async def __call__(self, asked: RequestPermission) -> PermissionAnswer:
        self.questions.append(asked)
        return self._answers.pop(0)


class Working:
    """An agent in the middle of a turn."""

    def __init__(self, agent: ScriptedAgent) -> None:
        self.agent = agent

    async def write(self, path: object, text: str = "new\n") -> Any:
        about = {"sessionId": self.agent.session_id, "path": str(path), "content": text}
        return await self.agent.ask("fs/write_text_file", about)

    async def run(self, command: str, *args: str, **more: Any) -> Any:
        about = {"sessionId": self.agent.session_id, "command": command, "args": list(args), **more}
        return await self.agent.ask("terminal/create", about)

    async def may(self, **call: Any) -> Any:
        options = [{"optionId": "allow", "name": "Yes", "kind": "allow_once"}]
        about = {"sessionId": self.agent.session_id, "toolCall": {"toolCallId": "c", **call}, "options": options}
        return await self.agent.ask("session/request_permission", about)


async def in_turns(policy: Asked, directory: Any, *turns: Any, **options: Any) -> list[Any]:
    """What these turns return."""
    agent, results = ScriptedAgent(1), []
    waiting = list(turns)

    async def answer(asked: Any) -> None:
        results.append(await waiting.pop(0)(Working(agent)))
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with (
        Workspace(asks_first=True, **options) as workspace,
        Client(agent, version=1, on_permission=policy, workspace=workspace) as client,
    ):
        session = await client.new_session(directory)
        for _ in turns:
            await (await session.prompt("Hi")).finished()
    return results


async def test_a_write_is_asked_for_with_its_diff(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("old\n")
    policy = Asked(YES)
    written: list[str] = []
    await in_turns(policy, tmp_path, lambda agent: agent.write(file), on_write=lambda asked: written.append(asked.path))
    assert (file.read_text(), written) == ("new\n", [str(file)])
    subject = policy.questions[0].subject
    assert isinstance(subject, ToolCallSubject)
    assert subject.call.kind == "edit"
    item = (subject.call.content or [None])[0]
    assert isinstance(item, Diff)
    assert (item.changes[0].old_text, item.changes[0].new_text) == (
        "old\n",
        "new\n",
    )


@pytest.mark.parametrize("answer", [NO, PermissionAnswer(outcome="cancelled")])
async def test_a_no_means_that_nothing_is_written_or_run(tmp_path, answer):
    async def turn(agent: Working) -> Any:
        return await agent.write(tmp_path / "a"), await agent.run("touch", "b")

    written: list[str] = []
    policy = Asked(answer, answer)
    [(write, run)] = await in_turns(policy, tmp_path, turn, on_write=lambda asked: written.append(asked.path))
    assert (write.error["code"], run.error["code"]) == (-32003, -32003)
    assert (list(tmp_path.iterdir()), written) == ([], [])


async def test_a_command_is_asked_for_with_its_place_and_what_is_set(tmp_path):
    policy = Asked(NO)
    env = [{"name": "PATH", "value": "/evil bin"}]
    await in_turns(policy, tmp_path, lambda agent: agent.run("echo", "a b", env=env))
    asked = policy.questions[0]
    assert asked.subject == CommandSubject(command="echo 'a b'", cwd=str(tmp_path.resolve()))
    assert asked.description == "with PATH='/evil bin'"


async def test_what_would_be_refused_anyway_is_not_asked_for(tmp_path):
    (tmp_path / "inside").mkdir()
    policy = Asked()
    [refused] = await in_turns(policy, tmp_path / "inside", lambda agent: agent.write(tmp_path / "outside"))
    assert (refused.error["code"], policy.questions) == (-32003, [])


async def test_what_was_allowed_in_this_turn_needs_no_second_question(tmp_path):
    file = tmp_path / "a"

    async def turn(agent: Working) -> Any:
        await agent.may(kind="edit", locations=[{"path": str(file)}])
        await agent.may(kind="execute", rawInput={"command": "echo a | cat"})
        return [
            await agent.write(file),
            await agent.run("echo a | cat"),
            await agent.run("/bin/sh", "-c", "echo a | cat"),
        ]

    policy = Asked(YES, YES)
    [done] = await in_turns(policy, tmp_path, turn)
    assert (len(policy.questions), [each.error for each in done]) == (2, [None, None, None])


@pytest.mark.parametrize(
    "call",
    [
        {"kind": "read", "locations": [{"path": "{file}"}]},
        {"kind": "edit", "locations": [{"path": "{file}.other"}]},
        {"kind": "execute", "rawInput": {"command": "touch {file}"}},
    ],
)
async def test_what_was_allowed_for_something_else_is_no_permission(tmp_path, call):
    file = tmp_path / "a"
    filled = {**call}
    if "locations" in call:
        filled["locations"] = [{"path": call["locations"][0]["path"].format(file=file)}]

    async def turn(agent: Working) -> Any:
        await agent.may(**filled)
        return await agent.write(file)

    policy = Asked(YES, NO)
    [refused] = await in_turns(policy, tmp_path, turn)
    assert (len(policy.questions), refused.error["code"]) == (2, -32003)


async def test_a_permission_ends_with_its_turn_but_all_writes_stay_allowed(tmp_path):
    file = tmp_path / "a"

    async def allowed(agent: Working) -> Any:
        await agent.may(kind="edit", locations=[{"path": str(file)}])
        return await agent.write(file)

    policy = Asked(YES, ALWAYS)
    results = await in_turns(
        policy, tmp_path, allowed, lambda agent: agent.write(file), lambda agent: agent.write(tmp_path / "b")
    )
    assert (len(policy.questions), [each.error for each in results]) == (2, [None, None, None])


async def test_a_cancelled_turn_withdraws_the_question(tmp_path):
    begun = asyncio.Event()

    async def never(asked: RequestPermission) -> PermissionAnswer:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    agent = ScriptedAgent(1)
    got: list[Any] = []

    async def answer(asked: Any) -> None:
        got.append(await Working(agent).write(tmp_path / "a"))
        agent.finish(asked, "cancelled")

    agent.on("session/prompt", answer)
    async with (
        Workspace(asks_first=True) as workspace,
        Client(agent, version=1, on_permission=never, workspace=workspace) as client,
    ):
        session = await client.new_session(tmp_path)
        reply = await session.prompt("Hi")
        await begun.wait()
        await reply.cancel()
        await reply.finished()
    assert (got[0].error["code"], list(tmp_path.iterdir())) == (-32003, [])


async def test_a_method_that_is_not_offered_is_refused_by_its_own_name(tmp_path):
    agent = ScriptedAgent(1)
    async with Workspace(write=False) as workspace, Client(agent, version=1, workspace=workspace) as client:
        await client.new_session(tmp_path)
        refused = await Working(agent).write(tmp_path / "a")
    assert refused.error["message"].endswith("fs/write_text_file")
