"""Attacks on the rule that one permission covers one use: whatever differs from what was allowed is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from accord import Client
from accord.client.workspace.workspace import Workspace
from accord.session.requests import CommandSubject, PermissionAnswer, PermissionRequest, ToolCallSubject
from accord.testing import ScriptedAgent

OPTIONS = [
    {"optionId": "once", "name": "Allow", "kind": "allow_once"},
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]
REFUSED = -32003


class Gate:
    """A user who allows what the agent asks for, by this option, and nothing that accord asks for."""

    def __init__(self, option_id: str = "once") -> None:
        self.option_id = option_id
        self.ours: list[PermissionRequest] = []

    async def __call__(self, asked: PermissionRequest) -> PermissionAnswer:
        subject = asked.subject
        if isinstance(subject, CommandSubject) or (isinstance(subject, ToolCallSubject) and not subject.call.id):
            self.ours.append(asked)
            return PermissionAnswer(outcome="selected", option_id="reject")
        return PermissionAnswer(outcome="selected", option_id=self.option_id)


class Attacker:
    """An agent in the middle of a turn; each attempt is None if it was done, or the code of the error."""

    def __init__(self, agent: ScriptedAgent) -> None:
        self.agent = agent

    async def may(self, id: str = "c", session_id: str | None = None, **call: Any) -> None:
        about = {"sessionId": session_id or self.agent.session_id, "toolCall": {"toolCallId": id, **call}}
        await self.agent.ask("session/request_permission", {**about, "options": OPTIONS})

    async def write(self, path: object, session_id: str | None = None) -> int | None:
        about = {"sessionId": session_id or self.agent.session_id, "path": str(path), "content": "new\n"}
        return _code(await self.agent.ask("fs/write_text_file", about))

    async def run(self, command: str, *args: str, session_id: str | None = None, **more: Any) -> int | None:
        about = {"sessionId": session_id or self.agent.session_id, "command": command, "args": list(args), **more}
        return _code(await self.agent.ask("terminal/create", about))

    async def ends(self, status: str, id: str = "c") -> None:
        self.agent.update("tool_call_update", toolCallId=id, status=status)


def _code(answered: Any) -> int | None:
    return None if answered.error is None else answered.error["code"]


Attack = Callable[[Attacker], Awaitable[Any]]


async def attacked(directory: Path, attack: Attack, gate: Gate | None = None, *, turns: int = 1) -> Any:
    """What the last of these turns returns."""
    agent, results = ScriptedAgent(1), []

    async def answer(asked: Any) -> None:
        results.append(await attack(Attacker(agent)))
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with (
        Workspace(asks_first=True) as workspace,
        Client(agent, version=1, on_permission=gate or Gate(), workspace=workspace) as client,
    ):
        other = await client.new_session(directory)
        assert other.id == "session-1"
        session = await client.new_session(directory)
        for _ in range(turns):
            await session.prompt("Hi")
    return results[-1]


def edit(path: object) -> dict[str, Any]:
    return {"kind": "edit", "locations": [{"path": str(path)}]}


def command(line: Any, **more: Any) -> dict[str, Any]:
    return {"kind": "execute", "rawInput": {"command": line, **more}}


@pytest.mark.parametrize("option_id", ["once", "always"])
async def test_the_second_use_is_asked_for_also_after_an_always(tmp_path, option_id):
    async def attack(agent: Attacker) -> Any:
        await agent.may(**edit(tmp_path / "a"))
        await agent.may("d", **command("true"))
        written = [await agent.write(tmp_path / "a") for _ in range(2)]
        return written + [await agent.run("true") for _ in range(2)]

    gate = Gate(option_id)
    assert await attacked(tmp_path, attack, gate) == [None, REFUSED, None, REFUSED]
    assert len(gate.ours) == 2


async def test_two_at_once_share_no_permission(tmp_path):
    async def attack(agent: Attacker) -> Any:
        await agent.may(**edit(tmp_path / "a"))
        await agent.may("d", **command("true"))
        writes = await asyncio.gather(*(agent.write(tmp_path / "a") for _ in range(5)))
        runs = await asyncio.gather(*(agent.run("true") for _ in range(5)))
        return writes.count(None), runs.count(None)

    assert await attacked(tmp_path, attack) == (1, 1)


@pytest.mark.parametrize("status", ["completed", "failed"])
async def test_what_was_allowed_for_a_call_that_has_ended_is_asked_for(tmp_path, status):
    async def attack(agent: Attacker) -> Any:
        await agent.may(**edit(tmp_path / "a"))
        await agent.may("d", **command("true"))
        await agent.ends(status)
        await agent.ends(status, "d")
        return await agent.write(tmp_path / "a"), await agent.run("true")

    assert await attacked(tmp_path, attack) == (REFUSED, REFUSED)


async def test_a_permission_of_another_session_covers_nothing(tmp_path):
    async def attack(agent: Attacker) -> Any:
        await agent.may(session_id="session-1", **edit(tmp_path / "a"))
        await agent.may("d", session_id="session-1", **command("true"))
        agent.agent.session_id = "session-2"
        return await agent.write(tmp_path / "a"), await agent.run("true")

    assert await attacked(tmp_path, attack) == (REFUSED, REFUSED)


async def test_a_permission_of_an_earlier_turn_covers_nothing(tmp_path):
    async def attack(agent: Attacker) -> Any:
        tried = await agent.write(tmp_path / "a"), await agent.run("true")
        await agent.may(**edit(tmp_path / "a"))
        await agent.may("d", **command("true"))
        return tried

    assert await attacked(tmp_path, attack, turns=2) == (REFUSED, REFUSED)


@pytest.mark.parametrize("option_id", ["no", "unheard of"])
async def test_what_was_rejected_is_no_permission(tmp_path, option_id):
    async def attack(agent: Attacker) -> Any:
        await agent.may(**edit(tmp_path / "a"))
        await agent.may("d", **command("true"))
        return await agent.write(tmp_path / "a"), await agent.run("true")

    assert await attacked(tmp_path, attack, Gate(option_id)) == (REFUSED, REFUSED)


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("echo a", ("sh", "-c", "sh -c 'echo a'")),
        ("echo a", ("sh -c \"sh -c 'echo a'\"",)),
        (["sh", "-c", "sh -c 'echo a'"], ("echo a",)),
        (["sh", "-c", "echo a"], ("bash", "-lc", "echo a")),
        (["bash", "-lc", "echo a"], ("sh", "-c", "echo a")),
        ("echo a", ("sh", "-c", "echo a", "x")),
        ("echo a", ("sh", "-ic", "echo a")),
        ("echo a", ("sh", "-c", " echo a")),
        ("echo a", ("sh", "-c", "echo a\n")),
        ("echo a", ("sh", "-c", "echo a; touch b")),
        ("echo a", ("sh -c 'echo a'; touch b",)),
        ("echo a", ("sh  -c 'echo a'",)),
        ("echo a", ("env", "sh", "-c", "echo a")),
        ("echo a", ("./sh", "-c", "echo a")),
        ("echo a", ("bin/sh", "-c", "echo a")),
        ("echo a", ("python3", "-c", "echo a")),
        ("echo a", ("echo", "b")),
        ("echo a", ("echo", "a", "")),
        ("echo a", ("ECHO a",)),
        ("sh", ("sh", "-c", "touch b")),
        ("-c", ("sh", "-c", "touch b")),
    ],
)
async def test_a_line_that_is_not_equal_after_removing_one_shell_is_asked_for(tmp_path, told, asked):
    async def attack(agent: Attacker) -> Any:
        await agent.may(**command(told))
        return await agent.run(*asked)

    gate = Gate()
    assert (await attacked(tmp_path, attack, gate), len(gate.ours)) == (REFUSED, 1)


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("echo $HOME", ("echo", "$HOME")),
        ("echo $HOME", ("echo {home}",)),
        ("echo {home}", ("echo $HOME",)),
        ("echo ~", ("echo {home}",)),
        ('sh -c "echo $HOME"', ("echo $HOME",)),
        ('sh -c "echo `touch b`"', ("echo `touch b`",)),
        ('sh -c "echo \\\\$HOME"', ("echo \\\\$HOME",)),
        ("$SHELL -c 'echo a'", ("echo a",)),
        ("echo *", ("echo", "*")),
        ("echo 'a b'", ('echo "a b"',)),
    ],
)
async def test_nothing_is_expanded_to_make_two_lines_equal(tmp_path, monkeypatch, told, asked):
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("SHELL", "/bin/sh")

    async def attack(agent: Attacker) -> Any:
        await agent.may(**command(told.replace("{home}", "/home/somebody")))
        return await agent.run(*(word.replace("{home}", "/home/somebody") for word in asked))

    assert await attacked(tmp_path, attack) == REFUSED


@pytest.mark.parametrize(
    "more",
    [
        {"env": [{"name": "BASH_ENV", "value": "./evil"}]},
        {"env": [{"name": "PATH", "value": "."}]},
        {"env": [{"name": "A", "value": ""}]},
        {"cwd": "{root}/sub"},
        {"cwd": "{root}/link"},
    ],
)
@pytest.mark.parametrize("asked", [("true",), ("sh", "-c", "true")], ids=["bare", "in a shell"])
async def test_other_variables_and_another_directory_are_asked_for(tmp_path, more, asked):
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "sub")
    told = {name: value.format(root=tmp_path) if name == "cwd" else value for name, value in more.items()}

    async def attack(agent: Attacker) -> Any:
        await agent.may(**command("true"))
        return await agent.run(*asked, **told)

    assert await attacked(tmp_path, attack) == REFUSED


@pytest.mark.parametrize(
    "told",
    [
        {"cwd": "sub", "workdir": "."},
        {"env": {"A": "b"}},
        {"env": {"A": 1}},
        {"env": "A=b"},
        {"env": [{"name": "A"}]},
        {"args": ["-rf"]},
    ],
)
async def test_what_was_told_beside_a_command_is_part_of_it(tmp_path, told):
    (tmp_path / "sub").mkdir()

    async def attack(agent: Attacker) -> Any:
        await agent.may(**command("true", **told))
        return await agent.run("true")

    assert await attacked(tmp_path, attack) == REFUSED


@pytest.mark.parametrize(
    "call",
    [
        {"kind": "read", "locations": [{"path": "a"}], "rawInput": {"path": "a"}},
        {"kind": "read", "rawInput": {"path": "a", "content": "new\n"}},
        {"kind": "delete", "locations": [{"path": "a"}]},
        {"kind": "other", "locations": [{"path": "a"}], "rawInput": {"path": "a", "line": 1}},
        {"kind": "execute", "rawInput": {"command": "cat a"}, "locations": [{"path": "a"}]},
        {"kind": "edit", "rawInput": {"path": "a", "file_path": "b"}},
        {"kind": "edit", "title": "Write a"},
        {"kind": "edit", "content": [{"type": "content", "content": {"type": "text", "text": "a"}}]},
        {"kind": "edit", "locations": [{"path": "sub/a"}]},
        {"kind": "edit", "locations": [{"path": "A"}]},
        {"kind": "edit", "locations": [{"path": "."}]},
    ],
)
async def test_a_call_that_does_not_say_that_it_writes_this_file_is_no_permission_for_it(tmp_path, call):
    (tmp_path / "sub").mkdir()

    async def attack(agent: Attacker) -> Any:
        await agent.may(**call)
        return await agent.write(tmp_path / "a")

    assert await attacked(tmp_path, attack) == REFUSED


async def test_what_a_call_says_of_itself_after_the_permission_is_not_allowed_by_it(tmp_path):
    async def attack(agent: Attacker) -> Any:
        await agent.may(kind="read", locations=[{"path": str(tmp_path / "a")}])
        agent.agent.update("tool_call_update", toolCallId="c", **edit(tmp_path / "a"))
        agent.agent.update("tool_call_update", toolCallId="c", rawInput={"command": "true"})
        return await agent.write(tmp_path / "a"), await agent.run("true")

    assert await attacked(tmp_path, attack) == (REFUSED, REFUSED)


async def test_a_path_that_only_reads_like_the_one_that_was_allowed_is_asked_for(tmp_path):
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "sub" / "deep")

    async def attack(agent: Attacker) -> Any:
        await agent.may(**edit(tmp_path / "a"))
        return await agent.write(f"{tmp_path}/link/../a")

    gate = Gate()
    assert (await attacked(tmp_path, attack, gate), len(gate.ours)) == (REFUSED, 1)


@pytest.mark.parametrize("is_there", [True, False])
async def test_a_link_that_was_put_there_after_the_permission_is_asked_for(tmp_path, is_there):
    precious = tmp_path / "precious"
    precious.write_text("old\n")
    if is_there:
        (tmp_path / "a").write_text("old\n")

    async def attack(agent: Attacker) -> Any:
        await agent.may(**edit(tmp_path / "a"))
        (tmp_path / "a").unlink(missing_ok=True)
        (tmp_path / "a").symlink_to(precious)
        return await agent.write(tmp_path / "a"), await agent.write(precious)

    assert await attacked(tmp_path, attack) == (REFUSED, REFUSED)
    assert precious.read_text() == "old\n"


async def test_a_file_outside_is_refused_whatever_was_allowed(tmp_path):
    (tmp_path / "inside").mkdir()

    async def attack(agent: Attacker) -> Any:
        await agent.may(**edit(tmp_path / "outside"))
        return await agent.write(tmp_path / "outside")

    assert await attacked(tmp_path / "inside", attack) == REFUSED
    assert not (tmp_path / "outside").exists()


async def test_a_yes_to_what_accord_asks_covers_that_alone(tmp_path):
    class Yes(Gate):
        async def __call__(self, asked: PermissionRequest) -> PermissionAnswer:
            await super().__call__(asked)
            return PermissionAnswer(outcome="selected", option_id="allow")

    async def attack(agent: Attacker) -> Any:
        return [
            await agent.write(tmp_path / "a"),
            await agent.write(tmp_path / "a"),
            await agent.run("true"),
            await agent.run("true"),
        ]

    gate = Yes()
    assert await attacked(tmp_path, attack, gate) == [None] * 4
    assert len(gate.ours) == 4
