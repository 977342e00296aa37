"""What is allowed for always covers nothing else: not by letters that look like blanks, not by links, not by options."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from accord import permissions
from accord.client.workspace.workspace import Workspace
from accord.session.requests import PermissionAnswer, PermissionRequest
from tests.client.permissions.test_writes_and_commands import NO, YES, Asked, Working, in_turns
from tests.client.words import create, output, wait


class Person:
    """Allows the first question for always, and says no to all that are asked after it."""

    def __init__(self) -> None:
        self.asked: list[PermissionRequest] = []

    async def __call__(self, asked: PermissionRequest) -> PermissionAnswer:
        self.asked.append(asked)
        if len(self.asked) > 1:
            return await permissions.reject_all(asked)
        (always,) = [option for option in asked.options if option.kind == "allow_always"]
        return PermissionAnswer(outcome="selected", option_id=always.id)


def executable(path: Path, mark: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ntouch {mark}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    "blank",
    [
        *"\x0b\x0c\x1c\x85\xa0\u1680\u2003\u2028\u202f\u3000\u3164\u200b",
        *"\xad\u115f\u11a8\u180e\u2800\ufe0f\ufffc\U00016fe4\U0001d159\U000e0020\u0338",
    ],
)
async def test_a_letter_that_is_no_blank_of_the_shell_separates_no_words(
    sit: Any, project: Path, tmp_path: Path, blank: str
) -> None:
    mark, person = tmp_path / "mark", Person()
    executable(project / f"cat{blank}x" / "evil", mark)
    async with sit(on_permission=person) as desk:
        await desk.use_one("run", command="cat main.py")
        for command in (f"cat{blank}x/evil", f"cat {blank}x/evil", f"{blank}cat main.py"):
            assert "rejected this call" in (await desk.use_one("run", command=command)).text
    assert len(person.asked) == 4
    assert not mark.exists()
    assert [[option.kind for option in asked.options] for asked in person.asked[1:]] == [
        ["allow_once", "reject_once"]
    ] * 3


async def test_a_line_is_covered_letter_by_letter(sit: Any, project: Path, tmp_path: Path) -> None:
    person = Person()
    (project / "Makefile").write_text("test:\n\t@echo tested\n")
    async with sit(on_permission=person) as desk:
        assert "tested" in (await desk.use_one("run", command="make test")).text
        assert "tested" in (await desk.use_one("run", command="make test")).text
        for command in ("\u2003make test", "make test\u2003", "make\u2003test", "make  test", "make test "):
            assert "rejected this call" in (await desk.use_one("run", command=command)).text


@pytest.mark.parametrize(
    ("allowed", "tried"),
    [
        ("diff main.py README.md", "diff -r d1 d2"),
        ("diff main.py README.md", "diff d1 d2"),
        ("diff main.py README.md", "diff main.py d1"),
        ("grep double main.py", "grep -R secret d1"),
        ("grep double main.py", "grep secret d1/out"),
        ("grep double main.py", "grep -fd1/out main.py"),
        ("cat main.py", "cat d1/out"),
        ("cat main.py", "cat up/secret.txt"),
        ("head main.py", "head -n 3 d1/out"),
        ("tail main.py", "tail -n 3 d1/out"),
        ("tail main.py", "tail +1f main.py"),
        ("tail main.py", "tail +f main.py"),
        ("wc main.py", "wc --files0-from=d1/out"),
        ("ls", "ls -RL"),
        ("ls", "ls -L up"),
        ("ls", "ls up"),
        ("ls", "ls up/"),
    ],
)
async def test_a_program_that_only_looks_is_not_led_out_of_the_directories(
    sit: Any, project: Path, tmp_path: Path, allowed: str, tried: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("the secret\n")
    for name in ("d1", "d2"):
        (project / name).mkdir()
        (project / name / "plain").write_text(f"{name}\n")
    (project / "d1" / "out").symlink_to(outside / "secret.txt")
    (project / "d1" / "main.py").symlink_to(outside / "secret.txt")
    (project / "d2" / "out").write_text("d2\n")
    (project / "up").symlink_to(outside)
    async with sit(on_permission=Person()) as desk:
        assert "rejected this call" not in (await desk.use_one("run", command=allowed)).text
        outcome = await desk.use_one("run", command=tried)
        assert "rejected this call" in outcome.text
        assert "secret" not in outcome.text.replace("secret.txt", "")


async def test_what_a_program_finds_below_a_directory_is_looked_at_without_following_links(
    sit: Any, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "name").write_text("the secret\n")
    (project / "sub").mkdir()
    (project / "sub" / "out").symlink_to(tmp_path / "outside")
    (project / "sub" / "file").symlink_to(tmp_path / "outside" / "name")
    async with sit(on_permission=permissions.allow_all) as desk:
        for command in ("grep -rn secret .", "grep -rn secret sub", "ls -R", "ls -laR sub"):
            outcome = await desk.use_one("run", command=command)
            assert "the secret" not in outcome.text
            assert "name\n" not in outcome.text.replace("outside/name\n", "")


async def test_a_program_that_looks_runs_without_a_shell_and_ends_in_time(sit: Any, project: Path) -> None:
    os.mkfifo(project / "pipe")
    async with sit(on_permission=permissions.allow_all) as desk:
        outcome = await desk.use_one("run", command="cat pipe", seconds=0.2)
        assert outcome.is_error
        assert "timed out after 0.2 s" in outcome.text
        assert (await desk.use_one("run", command="cat")).text == "[exit code 0, no output]"


async def test_accords_own_files_are_not_looked_at_from_a_directory_above(sit: Any, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text("[environment]\nACME_KEY = 'sesame'\n")
    async with sit(root=tmp_path, on_permission=permissions.reject_all) as desk:
        desk.agent_side.saved_answers["run `grep`, whatever it looks at"] = True
        for command in ("grep -r sesame", "grep -r sesame .", "grep sesame home/config.toml"):
            assert "rejected this call" in (await desk.use_one("run", command=command)).text


async def test_what_was_allowed_is_what_runs_also_when_the_files_change_meanwhile(
    sit: Any, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("the secret\n")

    async def swap(asked: PermissionRequest) -> Any:
        (project / "main.py").unlink()
        (project / "main.py").symlink_to(tmp_path / "secret")
        return await permissions.allow_all(asked)

    async with sit(on_permission=swap) as desk:
        outcome = await desk.use_one("run", command="cat main.py")
        assert outcome.is_error
        assert "have changed since this was allowed" in outcome.text


@pytest.mark.parametrize("command", ["cat x/evil", "cat x/evil ", "cat -n x/evil"])
async def test_a_directory_with_a_blank_in_its_name_does_not_make_a_line_a_program(
    tmp_path: Path, command: str
) -> None:
    """Many agents send whole lines to the client's terminals, which also know programs with blanks in their names."""
    executable(tmp_path / command, tmp_path / "mark")
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "evil").write_text("harmless\n")
    async with Workspace(tmp_path) as workspace:
        id = await create(workspace, command)
        await wait(workspace, id)
        assert "harmless" in (await output(workspace, id)).output
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("entry", ["{project}/bin", "bin", ""])
async def test_a_program_of_the_project_is_not_taken_for_a_line_by_the_search_path_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    """Tools like direnv put directories of a project there."""
    for directory in (tmp_path, tmp_path / "bin"):
        executable(directory / "echo harmless", tmp_path / "mark")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{entry.format(project=tmp_path)}{os.pathsep}{os.environ['PATH']}")
    async with Workspace(tmp_path) as workspace:
        id = await create(workspace, "echo harmless")
        await wait(workspace, id)
        assert "harmless" in (await output(workspace, id)).output
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("path", ["notes.txt", "./notes.txt", "sub/../notes.txt"])
async def test_a_yes_to_a_file_is_none_to_another_that_a_link_makes_of_its_name(tmp_path: Path, path: str) -> None:
    """The person has read `sub/../notes.txt` as `notes.txt`; the system goes where the link leads first."""
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "sub").symlink_to(".git/hooks")
    policy = Asked(YES, NO)

    async def turn(agent: Working) -> Any:
        await agent.may(kind="edit", locations=[{"path": f"{tmp_path}/{path}"}])
        return [await agent.write(tmp_path / "notes.txt"), await agent.write(f"{tmp_path}/sub/../notes.txt")]

    [[named, led]] = await in_turns(policy, tmp_path, turn)
    assert (named.error, led.error["code"], len(policy.questions)) == (None, -32003, 2)
    assert (tmp_path / "notes.txt").exists()
    assert not (tmp_path / ".git" / "notes.txt").exists()
