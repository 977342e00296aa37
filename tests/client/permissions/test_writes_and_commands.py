"""Writes and commands of v1 agents that are put to the permission policy first."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from accord import Client
from accord.client.permissions.writes_and_commands import Grant, GrantRegistry, actions_of
from accord.client.workspace.workspace import Workspace
from accord.session.entities import Diff
from accord.session.requests import (
    CommandSubject,
    CreateTerminal,
    PermissionAnswer,
    PermissionRequest,
    ToolCallSubject,
)
from accord.testing import ScriptedAgent

YES = PermissionAnswer(outcome="selected", option_id="allow")
ALWAYS = PermissionAnswer(outcome="selected", option_id="allow_always")
NO = PermissionAnswer(outcome="selected", option_id="reject")


class Asked:
    """A policy that gives these answers in turn, and keeps the questions."""

    def __init__(self, *answers: PermissionAnswer) -> None:
        self.questions: list[PermissionRequest] = []
        self._answers = list(answers)

    async def __call__(self, asked: PermissionRequest) -> PermissionAnswer:
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
            await session.prompt("Hi")
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
    line = "PATH='/evil bin' echo 'a b'"
    assert (asked.title, asked.subject) == (f"Run {line}", CommandSubject(command=line, cwd=str(tmp_path.resolve())))


async def test_what_would_be_refused_anyway_is_not_asked_for(tmp_path):
    (tmp_path / "inside").mkdir()
    policy = Asked()
    [refused] = await in_turns(policy, tmp_path / "inside", lambda agent: agent.write(tmp_path / "outside"))
    assert (refused.error["code"], policy.questions) == (-32003, [])


@pytest.mark.parametrize(
    "call",
    [
        {"kind": "edit", "locations": [{"path": "{file}"}]},
        {"kind": "edit", "rawInput": {"file_path": "a"}},
        {"kind": "other", "rawInput": {"path": "a", "content": "new\n"}},
        {"rawInput": {"path": "./sub/../a", "before": "old", "after": "new"}},
        {"content": [{"type": "diff", "path": "{file}", "newText": "new\n"}]},
    ],
    ids=["place", "input", "goose", "goose edit", "diff"],
)
async def test_a_file_that_the_agent_has_asked_for_is_not_asked_for_again(tmp_path, call):
    file = tmp_path / "a"
    told = msgspec.json.decode(msgspec.json.encode(call).replace(b"{file}", str(file).encode()))

    async def turn(agent: Working) -> Any:
        await agent.may(**told)
        return await agent.write(file)

    policy = Asked(YES)
    [done] = await in_turns(policy, tmp_path, turn)
    assert (len(policy.questions), done.error, file.read_text()) == (1, None, "new\n")


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ({"rawInput": {"command": "echo a | cat"}}, ("echo a | cat",)),
        ({"rawInput": {"command": "echo a | cat"}}, ("/bin/sh", "-c", "echo a | cat")),
        ({"rawInput": {"command": "echo a | cat"}}, ("bash", "-lc", "echo a | cat")),
        ({"rawInput": {"command": "echo a | cat"}}, ("bash -lc 'echo a | cat'",)),
        ({"rawInput": {"command": ["bash", "-lc", "echo a | cat"]}}, ("echo a | cat",)),
        ({"rawInput": {"cmd": 'bash -lc "echo a | cat"'}}, ("echo a | cat",)),
        ({"rawInput": {"command": ["echo", "a b"]}}, ("echo", "a b")),
        ({"rawInput": {"command": "echo", "args": ["a b"]}}, ("echo", "a b")),
        ({"rawInput": {"command": "echo $HOME"}}, ("sh", "-c", "echo $HOME")),
        ({"title": "echo a"}, ("echo", "a")),
        ({"title": "`echo a`"}, ("echo", "a")),
    ],
)
async def test_a_command_that_the_agent_has_asked_for_is_not_asked_for_again(tmp_path, told, asked):
    async def turn(agent: Working) -> Any:
        await agent.may(kind="execute", **told)
        return await agent.run(*asked)

    policy = Asked(YES)
    [done] = await in_turns(policy, tmp_path, turn)
    assert (len(policy.questions), done.error) == (1, None)


async def test_each_file_of_a_permission_may_be_written_once(tmp_path):
    files = [tmp_path / name for name in ("a", "b")]

    async def turn(agent: Working) -> Any:
        await agent.may(content=[{"type": "diff", "path": str(file), "newText": "new\n"} for file in files])
        return [await agent.write(file) for file in (*files, *files)]

    policy = Asked(YES, NO, NO)
    [done] = await in_turns(policy, tmp_path, turn)
    assert [each.error and each.error["code"] for each in done] == [None, None, -32003, -32003]


async def test_a_write_that_was_sent_before_its_call_ended_is_covered(tmp_path):
    """opencode does not wait for the answer to its write before it goes on."""
    file = tmp_path / "a"

    async def turn(agent: Working) -> Any:
        await agent.may(kind="edit", locations=[{"path": str(file)}])
        writing = asyncio.ensure_future(agent.write(file))
        await asyncio.sleep(0)
        agent.agent.update("tool_call_update", toolCallId="c", status="completed")
        return await writing

    policy = Asked(YES)
    [done] = await in_turns(policy, tmp_path, turn)
    assert (len(policy.questions), done.error) == (1, None)


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


def variables(**values: str) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values.items()]


QUIET = {"NO_COLOR": "1", "TERM": "dumb", "GIT_TERMINAL_PROMPT": "0", "SHELL": "/bin/bash"}


@pytest.mark.parametrize("name", ["plain", "two words", "it's"])
async def test_a_command_may_go_to_where_it_runs_and_want_no_colours(tmp_path, name):
    """kimi-code writes `cd` and the directory of the terminal before each command, and sets variables for it."""
    place = tmp_path / name
    place.mkdir()
    quoted = "'" + str(place).replace("'", "'\\''") + "'"

    async def turn(agent: Working) -> Any:
        await agent.may(kind="execute", rawInput={"command": "true; true", "cwd": str(place)})
        line = f"cd {quoted} && true; true"
        return await agent.run("/bin/bash", "-c", line, cwd=str(place), env=variables(**QUIET))

    policy = Asked(YES)
    [done] = await in_turns(policy, tmp_path, turn)
    assert (len(policy.questions), done.error) == (1, None)


@pytest.mark.parametrize(
    ("line", "env"),
    [
        ("cd {root}/sub && true", {}),
        ("cd '{root}/sub' && true", {}),
        ("cd '{root}/../x' && true", {}),
        ("cd '{root}' && true; false", {}),
        ("cd '{root}' && false; true", {}),
        ("cd '{root}' ; true", {}),
        ("cd '{root}' && cd '{root}' && true", {}),
        ("cd '{root}'$(false) && true", {}),
        ("true", {"TERM": "../evil"}),
        ("true", {"SHELL": "{root}/bash"}),
        ("true", {"GIT_TERMINAL_PROMPT": "1"}),
        ("true", {**QUIET, "LD_PRELOAD": "./evil.so"}),
    ],
)
async def test_a_command_that_does_more_before_it_is_asked_for(tmp_path, line, env):
    (tmp_path / "sub").mkdir()
    values = {name: value.format(root=tmp_path) for name, value in env.items()}

    async def turn(agent: Working) -> Any:
        await agent.may(kind="execute", rawInput={"command": "true"})
        return await agent.run(
            "/bin/bash", "-c", line.format(root=tmp_path), cwd=str(tmp_path), env=variables(**values)
        )

    policy = Asked(YES, NO)
    [refused] = await in_turns(policy, tmp_path, turn)
    assert (len(policy.questions), refused.error["code"]) == (2, -32003)


async def test_where_a_terminal_names_no_directory_a_command_that_goes_to_one_is_asked_for(tmp_path):
    async def turn(agent: Working) -> Any:
        await agent.may(kind="execute", rawInput={"command": "true"})
        return await agent.run("/bin/bash", "-c", f"cd '{tmp_path}' && true")

    policy = Asked(YES, NO)
    [refused] = await in_turns(policy, tmp_path, turn)
    assert (len(policy.questions), refused.error["code"]) == (2, -32003)


@pytest.mark.parametrize(
    "more",
    [
        {"env": variables(LD_PRELOAD="./evil.so")},
        {"env": variables(PATH="./evil")},
        {"cwd": "{root}/sub"},
        {"cwd": "{root}/link/.."},
    ],
)
async def test_a_command_that_was_allowed_is_asked_for_with_other_variables_and_in_another_directory(tmp_path, more):
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "sub" / "deep")
    told = {name: value.format(root=tmp_path) if name == "cwd" else value for name, value in more.items()}

    async def turn(agent: Working) -> Any:
        await agent.may(kind="execute", rawInput={"command": "true"})
        return [await agent.run("true", **told), await agent.run("/bin/sh", "-c", "true", **told)]

    policy = Asked(YES, NO, NO)
    [refused] = await in_turns(policy, tmp_path, turn)
    assert [each.error["code"] for each in refused] == [-32003, -32003]
    subjects = [each.subject for each in policy.questions[1:]]
    assert all(isinstance(each, CommandSubject) for each in subjects)
    assert len(subjects) == 2


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ({}, {"cwd": "{root}"}),
        ({}, {"cwd": "{root}/sub/.."}),
        ({"cwd": "sub"}, {"cwd": "{root}/sub"}),
        ({"cwd": "{root}/way"}, {"cwd": "{root}/sub"}),
        ({"workdir": "{root}/sub"}, {"cwd": "{root}/sub"}),
        ({"cwd": "{root}"}, {}),
        ({"cwd": None}, {}),
    ],
)
async def test_a_command_may_run_in_the_directory_that_was_told_with_it_however_it_is_written(tmp_path, told, asked):
    (tmp_path / "sub").mkdir()
    (tmp_path / "way").symlink_to(tmp_path / "sub")

    def filled(values: dict[str, Any]) -> dict[str, Any]:
        return {name: value and value.format(root=tmp_path) for name, value in values.items()}

    async def turn(agent: Working) -> Any:
        await agent.may(kind="execute", rawInput={"command": ["true"], **filled(told)})
        return await agent.run("true", **filled(asked))

    policy = Asked(YES)
    [done] = await in_turns(policy, tmp_path, turn)
    assert (len(policy.questions), done.error) == (1, None)


async def test_a_told_directory_is_the_one_that_a_reader_takes_it_for(tmp_path):
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "sub" / "deep")

    async def turn(agent: Working) -> Any:
        await agent.may(kind="execute", rawInput={"command": "true", "cwd": "link/.."})
        return [await agent.run("true"), await agent.run("true", cwd=str(tmp_path / "sub"))]

    policy = Asked(YES, NO)
    [(here, below)] = await in_turns(policy, tmp_path, turn)
    assert (len(policy.questions), here.error, below.error["code"]) == (2, None, -32003)


@pytest.mark.parametrize("told", ["sub", "\0", 1, ["sub"], "missing"])
async def test_a_command_that_was_allowed_elsewhere_is_asked_for_where_the_session_works(tmp_path, told):
    (tmp_path / "sub").mkdir()

    async def turn(agent: Working) -> Any:
        await agent.may(kind="execute", rawInput={"command": "true", "cwd": told})
        return await agent.run("true")

    policy = Asked(YES, NO)
    [refused] = await in_turns(policy, tmp_path, turn)
    assert (len(policy.questions), refused.error["code"]) == (2, -32003)


async def test_variables_that_were_allowed_with_a_command_are_allowed_with_no_other(tmp_path):
    debug = variables(DEBUG="1")

    async def turn(agent: Working) -> Any:
        await agent.may(kind="execute", rawInput={"command": "DEBUG=1 true && true"})
        return [
            await agent.run("true", env=debug),
            await agent.run("true", env=debug),
            await agent.run("true"),
            await agent.run("true", env=variables(DEBUG="1", PATH="./evil")),
            await agent.run("true && true", env=debug),  # there it is set for both of them
        ]

    policy = Asked(YES, YES, NO, NO, NO, NO)
    [done] = await in_turns(policy, tmp_path, turn)
    assert [each.error and each.error["code"] for each in done] == [None, -32003, -32003, -32003, -32003]


@pytest.mark.parametrize("told", [{"DEBUG": "1"}, variables(DEBUG="1")])
async def test_variables_that_were_told_with_a_command_are_part_of_it(tmp_path, told):
    async def turn(agent: Working) -> Any:
        results: list[Any] = []
        for env in ({"DEBUG": "1"}, {}, {"DEBUG": "2"}, {"DEBUG": "1", "PATH": "./evil"}):
            await agent.may(kind="execute", rawInput={"command": "true && true", "env": told})
            results.append(await agent.run("true && true", env=variables(**env)))
        return results

    policy = Asked(YES, YES, NO, YES, NO, YES, NO)
    [done] = await in_turns(policy, tmp_path, turn)
    assert [each.error and each.error["code"] for each in done] == [None, -32003, -32003, -32003]


async def test_a_program_that_is_only_called_like_a_shell_is_asked_for(tmp_path):
    evil = tmp_path / "bash"
    evil.write_text("#!/bin/sh\n")
    evil.chmod(0o755)

    async def turn(agent: Working) -> Any:
        await agent.may(kind="execute", rawInput={"command": "true"})
        return [await agent.run(str(evil), "-c", "true"), await agent.run("./bash", "-c", "true")]

    policy = Asked(YES, NO, NO)
    [refused] = await in_turns(policy, tmp_path, turn)
    assert [each.error["code"] for each in refused] == [-32003, -32003]


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

    async def never(asked: PermissionRequest) -> PermissionAnswer:
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
        reply = session.prompt("Hi")
        await begun.wait()
        await reply.cancel()
        await reply
    assert (got[0].error["code"], list(tmp_path.iterdir())) == (-32003, [])


async def test_a_method_that_is_not_offered_is_refused_by_its_own_name(tmp_path):
    agent = ScriptedAgent(1)
    async with Workspace(write=False) as workspace, Client(agent, version=1, workspace=workspace) as client:
        await client.new_session(tmp_path)
        refused = await Working(agent).write(tmp_path / "a")
    assert refused.error["message"].endswith("fs/write_text_file")


def test_a_permission_without_a_call_ends_with_its_turn():
    asked = CreateTerminal(session_id="s", command="true")
    permission = PermissionRequest(session_id="s", options=[], subject=CommandSubject(command="true", cwd="/"))
    registry = GrantRegistry()
    registry.add("s", [Grant(action, "/", lambda: True) for action in actions_of(permission)])
    assert [grant.real_path for grant in registry.find(asked)] == ["/"]
    registry.turn_ended("s")
    assert registry.find(asked) == []
