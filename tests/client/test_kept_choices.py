"""Always-choices that outlive the program."""

from __future__ import annotations

import logging
from pathlib import Path

from accord import Agent, Client, Turn, permissions
from accord.local.saved_choices import SavedChoices, project_root
from accord.session.requests import CommandSubject
from tests.client.permissions.test_policies import ALL, choice, request


class Person:
    def __init__(self, option_id: str) -> None:
        self.option_id = option_id
        self.asked = 0

    async def __call__(self, asked):
        self.asked += 1
        return await permissions.ask(lambda _: self.option_id)(asked)


async def test_a_choice_counts_in_other_sessions_and_after_a_restart(tmp_path: Path):
    path = tmp_path / "choices.json"
    for session_id in ("one", "two"):
        person = Person("allow_always")
        policy = permissions.remember(person, path=path, project=tmp_path)
        for _ in range(2):
            assert await choice(policy, request(*ALL, session_id=session_id)) in ("allow_always", "allow_once")
        assert person.asked == (session_id == "one")


async def test_a_choice_counts_only_in_its_project_and_for_the_same_action(tmp_path: Path):
    path = tmp_path / "choices.json"
    person = Person("reject_always")
    here = permissions.remember(person, path=path, project=tmp_path)
    there = permissions.remember(person, path=path, project="/elsewhere")
    await choice(here, request(*ALL, raw_input={"command": "ls"}))
    await choice(there, request(*ALL, raw_input={"command": "ls"}))
    await choice(here, request(*ALL, raw_input={"command": "rm"}))
    await choice(here, request(*ALL, kind="delete", raw_input={"command": "ls"}))
    assert person.asked == 4
    assert await choice(here, request(*ALL, raw_input={"command": "ls"})) == "reject_once"
    await choice(here, request(*ALL, title=None))
    await choice(here, request(*ALL, title=None))
    assert person.asked == 6


async def test_what_is_kept_can_be_read_by_a_person_and_revoked(tmp_path: Path):
    path = tmp_path / "choices.json"
    person = Person("allow_always")
    policy = permissions.remember(person, path=path, project=tmp_path)
    await choice(policy, request(*ALL))
    await choice(policy, request(*ALL, subject=CommandSubject(command="make test", cwd="/repo")))
    shown = [str(kept.scope).rpartition(" [")[0] for kept in policy.answers]
    assert shown == ["edit: Write a.py", "execute: make test in /repo"]
    policy.forget(policy.answers[0])
    assert [kept.allows for kept in policy.answers] == [True]
    SavedChoices(path).revoke(project_root(tmp_path))  # by another program
    await choice(policy, request(*ALL, subject=CommandSubject(command="make test", cwd="/repo")))
    assert person.asked == 3


async def test_a_file_that_can_not_be_used_means_asking_each_time(tmp_path: Path, caplog):
    path = tmp_path / "choices.json"
    path.write_text("{")
    person = Person("allow_always")
    policy = permissions.remember(person, path=path, project=tmp_path)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert await choice(policy, request(*ALL)) == "allow_always"
    assert person.asked == 2
    assert "fix the file or delete it" in caplog.text


async def test_a_client_asks_once_for_all_its_lives(tmp_path: Path, version):
    agent = Agent("editor")

    @agent.prompt
    async def edit(turn: Turn) -> None:
        async with turn.tool_call("Write a.py", kind="edit") as call:
            await turn.allowed(call)

    person = Person("allow-always")
    for _ in range(2):
        policy = permissions.remember(person, path=tmp_path / "choices.json", project=tmp_path)
        async with Client(agent, version=version, on_permission=policy) as client:
            session = await client.new_session(tmp_path)
            await session.prompt("go")
            assert [call.status for call in session.transcript.tool_calls.values()] == ["completed"]
    assert person.asked == 1
