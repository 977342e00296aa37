"""Undo on the screen: checkpoints around each turn, the list of turns with its preview, and the way back."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from accord import Agent, Turn
from accord.apps.console import session_files
from accord.apps.console.screen.pages.undo_page import UndoPage
from accord.apps.console.slash_commands import parse_own_command
from accord.local import shadow_repository
from accord.local.checkpoints import Checkpoints
from accord.session.entities import SlashCommand
from accord.store.memory import MemoryStore
from tests.apps.console.screen.stage import Stage, is_there, opened
from tests.local.checkpoint_tree import contents, write


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    return directory


def writer() -> Agent:
    """Does itself what it is told: `write NAME TEXT` or `remove NAME`."""
    agent = Agent("writer", version="1", store=MemoryStore())

    @agent.prompt
    async def act(turn: Turn) -> None:
        for line in turn.text.splitlines():
            verb, name, *text = line.split(maxsplit=2)
            if verb == "write":
                write(turn.cwd / name, "".join(text))
            else:
                (turn.cwd / name).unlink()
        await turn.say("done")

    return agent


@asynccontextmanager
async def screen(cwd: Path, target: Any = None, **given: Any) -> AsyncIterator[Stage]:
    options = {"state": cwd.parent / "state", "saves_checkpoints": True, **given}
    async with opened(target or writer(), cwd, **options) as stage:
        yield stage


def turns(stage: Stage) -> list[Any]:
    files = stage.app.undo._files.get(stage.tab)
    return [] if files is None else files.log.turns


async def run(stage: Stage, prompt: str) -> None:
    """A whole turn, until its last checkpoint is there."""
    count = len(turns(stage))
    await stage.send(prompt)
    await stage.until(lambda: len(turns(stage)) > count and turns(stage)[-1].after is not None)
    await stage.idle()


async def go_back(stage: Stage, *keys: str) -> None:
    await stage.send("/undo")
    await stage.until(lambda: isinstance(stage.app.screen, UndoPage))
    await stage.shows("Enter go back")
    await stage.press(*keys, "enter")


async def test_undo_shows_what_would_change_and_brings_the_files_back(cwd: Path):
    write(cwd / "kept.txt", "kept\n")
    write(cwd / "changed.txt", "old\n")
    write(cwd / "removed.txt", "precious\n")
    async with screen(cwd) as stage:
        await run(stage, "write changed.txt new\nwrite made.txt made\nremove removed.txt")
        await stage.send("/undo")
        await stage.shows(
            *(
                "3 files: 1 changed back, 1 brought back, 1 removed",
                "changed.txt",
                "made.txt",
                "removed.txt",
                "precious",
            ),
            "The agent's memory does not change",
        )
        await stage.press("enter")
        await stage.shows("went back to before “write changed.txt new write made.txt", "agent's memory does not change")
    assert {name: text for name, (_, text) in contents(cwd).items()} == {
        "kept.txt": "kept\n",
        "changed.txt": "old\n",
        "removed.txt": "precious\n",
    }


async def test_any_turn_of_the_list_can_be_chosen(cwd: Path):
    async with screen(cwd) as stage:
        for number in range(3):
            await run(stage, f"write file{number} {number}")
        await stage.send("/undo")
        await stage.shows("write file0", "write file1", "write file2", "1 file: 1 removed")
        await stage.press("down")
        await stage.shows("2 files: 2 removed")
        await stage.press("enter")
        await stage.shows("went back to before “write file1 1”, 2 files: 2 removed")
    assert contents(cwd).keys() == {"file0"}


async def test_an_undo_can_be_undone(cwd: Path):
    async with screen(cwd) as stage:
        await run(stage, "write file new")
        await go_back(stage)
        await stage.until(lambda: not (cwd / "file").exists() and turns(stage)[-1].after is not None)
        await stage.send("/undo")
        await stage.shows("undo: write file new", "1 file: 1 brought back")
        await stage.press("enter")
        await stage.shows("went back to before “undo: write file new”")
    assert (cwd / "file").read_text() == "new"


async def test_escape_changes_nothing(cwd: Path):
    async with screen(cwd) as stage:
        await run(stage, "write file new")
        await stage.send("/undo")
        await stage.shows("1 file: 1 removed")
        await stage.press("escape")
        assert stage.app.screen is stage.app.main
    assert (cwd / "file").exists()


@pytest.mark.parametrize(("answer", "text"), [("keep", "mine\n"), ("overwrite", "old\n"), (None, "mine\n")])
async def test_what_the_user_has_edited_since_is_not_overwritten_without_a_question(
    cwd: Path, answer: str | None, text: str
):
    write(cwd / "edited", "old\n")
    write(cwd / "other", "old\n")
    async with screen(cwd) as stage:
        await run(stage, "write edited new\nwrite other new")
        write(cwd / "edited", "mine\n")
        await stage.send("/undo")
        await stage.shows("You are asked before these are overwritten:", "edited (edited since)")
        await stage.press("enter")
        await stage.shows("1 file was edited after the turn", "Keep these files", "Overwrite them")
        assert "search" not in stage.text  # in two lines
        await stage.press(*{"keep": ["enter"], "overwrite": ["down", "enter"], None: ["escape"]}[answer])
        if answer is None:
            await stage.pilot.pause()
        else:
            await stage.shows("went back to before")
    assert (cwd / "edited").read_text() == text
    assert (cwd / "other").read_text() == ("new" if answer is None else "old\n")


async def test_an_edit_while_the_question_is_open_is_asked_about_as_well(cwd: Path):
    for name in ("one", "two"):
        write(cwd / name, "old\n")
    async with screen(cwd) as stage:
        await run(stage, "write one new\nwrite two new")
        write(cwd / "one", "mine\n")
        await go_back(stage)
        await stage.shows("1 file was edited after the turn", "others  one")
        write(cwd / "two", "mine\n")
        await stage.press("down", "enter")
        await stage.shows("others  two")
        await stage.press("enter")
        await stage.shows("went back to before")
    assert ((cwd / "one").read_text(), (cwd / "two").read_text()) == ("old\n", "mine\n")


async def test_turns_of_an_earlier_screen_can_be_undone(cwd: Path):
    agent = writer()
    async with screen(cwd, agent) as stage:
        await run(stage, "write file new")
        session = stage.tab.session_id
    async with screen(cwd, agent, resume=session) as stage:
        await stage.until(lambda: stage.tab.is_open)
        await go_back(stage)
        await stage.shows("went back to before “write file new”")
    assert not (cwd / "file").exists()


async def test_files_that_could_not_be_restored_are_named(cwd: Path, monkeypatch: pytest.MonkeyPatch):
    def restore(self: Checkpoints, changes: Any) -> dict[str, str]:
        return {change.path: "Permission denied" for change in changes}

    async with screen(cwd) as stage:
        await run(stage, "write file new")
        monkeypatch.setattr(Checkpoints, "restore", restore)
        await go_back(stage)
        await stage.shows("not restored:", "file (Permission denied)")
        assert "went back" not in stage.text


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems allow only UTF-8")
async def test_odd_names_and_contents_are_shown(cwd: Path):
    name = os.fsdecode(b"latin-\xe9")
    write(cwd / name, "old\n")
    (cwd / "binary").write_bytes(b"\0\1\2")
    (cwd / "link").symlink_to("nowhere")
    async with screen(cwd) as stage:
        await run(stage, "remove link\nremove binary")
        (cwd / name).unlink()
        await stage.send("/undo")
        await stage.shows("3 files: 3 brought back", "latin-", "contents not shown", "link", "nowhere", "edited since")
        await stage.press("enter")
        await stage.shows("1 file was edited after the turn")
        await stage.press("down", "enter")
        await stage.shows("went back to before")
    assert contents(cwd) == {name: (0o644, "old\n"), "binary": (0o644, "\0\1\2"), "link": (0, "nowhere")}


async def test_a_deleted_session_takes_its_list_with_it(cwd: Path):
    agent = writer()
    async with screen(cwd, agent) as stage:
        await run(stage, "write file new")
        sessions = cwd.parent / "state/checkpoints/sessions"
        await stage.until(lambda: list(sessions.glob("*.json")))
        await stage.press("f3")
        await stage.shows("Ctrl+X delete")
        await stage.press("ctrl+x")
        await stage.shows("Delete it")
        await stage.press("down", "enter")
        await stage.until(lambda: not list(sessions.glob("*.json")))


# checkpoints


async def test_the_first_checkpoint_is_made_while_the_user_types(cwd: Path):
    write(cwd / "file")
    async with screen(cwd) as stage:
        assert not (cwd.parent / "state/checkpoints").exists()
        await stage.type("w")
        await stage.until(lambda: list((cwd.parent / "state").glob("checkpoints/*.git/state.json")))
        assert turns(stage) == []


async def test_a_prompt_goes_without_a_checkpoint_that_takes_too_long(cwd: Path, monkeypatch: pytest.MonkeyPatch):
    free = threading.Event()
    save = Checkpoints.save

    def slow(self: Checkpoints, *given: Any, **more: Any) -> Any:
        free.wait()
        return save(self, *given, **more)

    monkeypatch.setattr(session_files, "PATIENCE", 0.01)
    monkeypatch.setattr(Checkpoints, "save", slow)
    async with screen(cwd) as stage:
        try:
            await stage.send("write file new")
            await stage.shows("no checkpoint for /undo: saving the files takes longer than 0.01 s", "done")
        finally:
            free.set()
        monkeypatch.setattr(session_files, "PATIENCE", 60)
        await stage.until(lambda: turns(stage)[-1].after is not None)
        assert turns(stage)[0].before is None
        await run(stage, "write other new")
        assert turns(stage)[1].before is not None
        await stage.send("/undo")
        await stage.shows("write other new", "1 file: 1 removed")
        assert "write file new" not in "\n".join(stage.lines[:8])


async def test_a_stop_ends_the_wait_for_a_checkpoint(cwd: Path, monkeypatch: pytest.MonkeyPatch):
    free = threading.Event()
    monkeypatch.setattr(session_files, "PATIENCE", 60)
    monkeypatch.setattr(Checkpoints, "save", lambda *_: free.wait())
    async with screen(cwd) as stage:
        try:
            await stage.send("write file new")
            await stage.until(lambda: stage.tab._composing is not None)
            await stage.press("escape")
            await stage.until(lambda: stage.tab.queue.prompts == ["write file new"])
            assert turns(stage) == []
        finally:
            free.set()
    assert not (cwd / "file").exists()


async def test_large_files_are_named_once(cwd: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shadow_repository, "MAX_FILE", 100)
    write(cwd / "large.bin", "x" * 101)
    async with screen(cwd) as stage:
        await run(stage, "write file new")
        await stage.shows("not in the checkpoints for /undo: large.bin (it is larger than 0 MiB)")
        await run(stage, "write file newer")
        assert stage.conversation.count("large.bin") == 1
        await stage.send("/undo")
        await stage.shows("Not saved then, and left as they are:", "large.bin (it is larger than 0 MiB)")


async def test_a_directory_that_is_too_large_is_told_once(cwd: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shadow_repository, "MOST_FILES", 1)
    for name in ("a", "b"):
        write(cwd / name)
    async with screen(cwd) as stage:
        for _ in range(2):
            await stage.send("write a new")
            await stage.idle()
        await stage.shows("/undo is not available here: more than 1 files")
        assert stage.conversation.count("not available") == 1
        await stage.send("/undo")
        await stage.shows("/undo is not available here: more than 1 files")


async def test_without_git_one_line_says_so_once(cwd: Path, monkeypatch: pytest.MonkeyPatch):
    async with screen(cwd) as stage:
        monkeypatch.setenv("PATH", str(cwd))
        for _ in range(2):
            await stage.send("write a new")
            await stage.idle()
        await stage.shows("/undo is not available here: git is not installed")
        assert stage.conversation.count("git is not installed") == 1
        await stage.press("ctrl+n")
        await stage.until(lambda: stage.tab.is_open)
        await stage.send("write a newer")
        await stage.idle()
        assert "git is not installed" not in stage.conversation


async def test_one_setting_turns_it_off(cwd: Path):
    async with screen(cwd, saves_checkpoints=False) as stage:
        await stage.send("write file new")
        await stage.shows("done")
        await stage.idle()
        await stage.send("/undo")
        await stage.shows("Checkpoints are turned off")
    assert not (cwd.parent / "state/checkpoints").exists()


async def test_before_any_turn_there_is_nothing_to_go_back_to(cwd: Path):
    async with screen(cwd) as stage:
        await stage.send("/undo")
        await stage.shows("There is no turn to go back to yet.")


async def test_undo_waits_for_the_end_of_turns_in_the_same_directory(cwd: Path):
    gate = asyncio.Event()
    agent = Agent("waits", version="1")

    @agent.prompt
    async def wait(turn: Turn) -> None:
        if turn.text == "wait":
            await gate.wait()
        await turn.say("done")

    async with screen(cwd, agent) as stage:
        await run(stage, "hello")
        first = stage.tab
        await stage.press("ctrl+n")
        await stage.until(lambda: stage.tab.is_open)
        await stage.send("wait")
        await stage.until(lambda: stage.tab.is_busy and turns(stage))
        await stage.send("/undo")
        await stage.shows("The agent is working; Esc stops it.")
        stage.app.tabs.show(first)
        await stage.send("/undo")
        await stage.shows("The agent is working in another tab")
        gate.set()


async def test_git_is_ended_with_the_screen(cwd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = write(
        tmp_path / "bin/git",
        f"#!/bin/sh\necho $$ > {tmp_path}/pid.part\nmv {tmp_path}/pid.part {tmp_path}/pid\nexec sleep 600\n",
        0o755,
    )
    async with screen(cwd) as stage:
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        await stage.type("w")
        await stage.until((tmp_path / "pid").exists)
    pid = int((tmp_path / "pid").read_text())
    await asyncio.get_running_loop().shutdown_default_executor()  # the thread that waits for it
    assert not is_there(pid)


def test_an_agent_that_has_undo_itself_keeps_it():
    own = [SlashCommand(name="undo", description="its own")]
    assert parse_own_command("/undo", own) is None
    assert parse_own_command("/accord:undo", own) is not None
