"""Attacks with what stands in the place of a file: a FIFO that nobody writes to, a socket, a directory, an odd name.

Each of these calls would last for ever, or show a traceback, if the file were simply opened.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accord import Agent, Client
from accord.apps.coder.coder import build
from accord.apps.coder.errors import ModelFailed
from accord.apps.coder.settings.files import SettingsFile
from accord.apps.coder.settings.precedence import load_settings
from accord.apps.coder.settings.trust import Trust
from accord.apps.console.attachments import read_attachment, read_text_file
from accord.apps.console.conversation_records import ConversationRecords, RecordHeader
from accord.apps.console.errors import InvalidUsage
from accord.apps.console.prompt_history import PromptHistory
from accord.apps.console.screen.drafts import Drafts
from accord.client.workspace.workspace import Workspace
from accord.errors import InvalidParams, StoreFailed
from accord.local.files import file_lock, open_file, read_file, write_private_file
from accord.local.paths import Roots
from accord.local.saved_choices import SavedChoices
from accord.session.requests import ReadFile, SessionSummary, WriteFile
from accord.store import SqliteStore
from accord.store.store import SessionRecord


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as made:
        os.chdir(path.parent)  # the name of a socket has to be short
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _directory(path: Path) -> None:
    path.mkdir()


KINDS = [(_fifo, "a FIFO"), (_socket, "a socket"), (_device, "a device"), (_directory, "a directory")]
every_kind = pytest.mark.parametrize(("make", "kind"), KINDS, ids=[kind[2:] for _, kind in KINDS])
Make = Callable[[Path], None]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("ACCORD_") and name != "ACCORD_STRICT"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ACCORD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "project" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home"


def accord(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "accord", *words]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False, **options
    )


@every_kind
def test_what_is_no_file_is_neither_read_nor_replaced_nor_waited_for(tmp_path: Path, make: Make, kind: str) -> None:
    path = tmp_path / "kept"
    make(path)
    with pytest.raises(OSError, match=kind):
        read_file(path)
    with pytest.raises(OSError, match=kind), open_file(path):
        raise AssertionError("opened")
    with pytest.raises(OSError, match=kind):
        write_private_file(path, b"new")
    with pytest.raises(OSError, match=kind), file_lock(path):
        raise AssertionError("file_lock")
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(OSError, match="larger than 1 MiB"):
        read_file(path, 2**20)


@every_kind
def test_settings_that_are_no_file_end_every_command_at_once_with_the_reason(home: Path, make: Make, kind: str) -> None:
    home.mkdir()
    make(home / "config.toml")
    for words in (["config"], ["agent"], ["run", "--json", "hello"], ["config", "--config", str(home / "config.toml")]):
        ended = accord(*words)
        assert ended.returncode == 1
        assert "can't be read: " in ended.stderr
        assert kind in ended.stderr
        assert ended.stderr.count("\n") == 1


@every_kind
@pytest.mark.parametrize("below", ["", "src"])
def test_project_settings_that_are_no_file_are_refused_with_the_reason(
    home: Path, make: Make, kind: str, below: str
) -> None:
    """They can't be trusted, and like all that is not trusted they are ignored and shown."""
    project = home.parent / "project"
    (project / "src").mkdir()
    make(project / ".accord.toml")
    what = "Is" if kind == "a directory" else "it is not a regular file, but"
    reason = f"~/project/.accord.toml: can't be read: {what} {kind}"
    for words, status in ((["trust"], 1), (["config"], 0), (["run", "/help"], 0), (["run", "--json", "/help"], 0)):
        ended = accord(*words, cwd=project / below)
        assert ended.returncode == status, words
        assert reason in ended.stdout + ended.stderr, words
        assert status or f"{reason}; it is ignored" in ended.stdout + ended.stderr
        assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("version", [1, 2, "2-draft"])
async def test_a_session_under_project_settings_that_are_no_file_says_so(home: Path, version: Any) -> None:
    coder = build(load_settings(home.parent))
    _fifo(home.parent / "project" / ".accord.toml")
    async with Client(coder.agent, version=version) as client:
        session = await client.new_session(cwd=home.parent / "project")
        changes = [repr(change) async for change in session.prompt("/help")]
        assert "can't be read: it is not a regular file, but a FIFO; it is ignored" in "".join(changes)


def test_a_link_to_project_settings_that_are_gone_is_none(home: Path) -> None:
    (home.parent / "project" / ".accord.toml").symlink_to("gone.toml")
    assert accord("config").returncode == 0


@every_kind
def test_a_history_that_is_no_file_costs_no_run(home: Path, make: Make, kind: str) -> None:
    (home / "state").mkdir(parents=True)
    for name in ("prompts.jsonl", "sessions.db", "drafts.json", "conversations"):
        make(home / "state" / name)
    before = set((home / "state").iterdir())
    ended = accord("run", "hello")
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), ended.stderr
    assert before <= set((home / "state").iterdir())


@every_kind
def test_no_list_of_ours_waits_for_what_is_no_file(tmp_path: Path, make: Make, kind: str) -> None:
    prompts, drafts = PromptHistory(tmp_path), Drafts(tmp_path)
    (tmp_path / "conversations").mkdir()
    (tmp_path / "trusted").mkdir()
    records, trust = ConversationRecords(tmp_path), Trust(tmp_path / "trusted")
    trusted = SettingsFile(tmp_path / ".accord.toml", b"")
    recorded = RecordHeader(agent="a", session_id="s", cwd="/")
    for path in (
        tmp_path / "prompts.jsonl",
        tmp_path / "drafts.json",
        records._path("a", "s"),
        trust._record_of(trusted.path),
        tmp_path / "choices.json",
        tmp_path / ".accord.toml",
    ):
        make(path)
    prompts.add("a", tmp_path, "s", "text")
    assert prompts.entries() == []
    drafts.save("s", "text")
    assert Drafts(tmp_path).of("s") == ""
    records.save(recorded, [b"{}"])
    assert (records.lines("a", "s"), records.summaries("a")) == ([], list[SessionSummary]())
    assert (trust.state_of(trusted), trust.records()) == ("untrusted", [])
    with pytest.raises(ValueError, match=kind):
        SavedChoices(tmp_path / "choices.json").read()
    with pytest.raises(Exception, match=kind):
        SettingsFile.read(trusted.path)
    for read in (read_text_file, lambda path: read_attachment("file", path)):
        with pytest.raises(InvalidUsage, match=kind):
            read(trusted.path)


@every_kind
@pytest.mark.parametrize("companion", ["", "-journal", "-wal", "-shm"])
async def test_a_store_that_is_no_file_fails_at_once(tmp_path: Path, make: Make, kind: str, companion: str) -> None:
    async with SqliteStore(tmp_path / "sessions.db") as store:
        await store.create(SessionRecord(session_id="one", cwd="/"))
    make(tmp_path / f"other.db{companion}")
    if companion:
        (tmp_path / "sessions.db").rename(tmp_path / "other.db")
    store = SqliteStore(tmp_path / "other.db")
    with pytest.raises(StoreFailed, match=kind):
        await store.find("one")
    await store.aclose()


@every_kind
def test_a_lock_that_is_no_file_is_not_waited_for(tmp_path: Path, make: Make, kind: str) -> None:
    for name in ("prompts.lock", "drafts.lock", "choices.json.lock"):
        make(tmp_path / name)
    PromptHistory(tmp_path).add("a", tmp_path, "s", "text")
    Drafts(tmp_path).save("s", "text")
    with pytest.raises(OSError, match=kind):
        SavedChoices(tmp_path / "choices.json").set("p", "edit", True)


def test_whoever_holds_a_lock_for_ever_costs_a_choice_and_no_more(tmp_path: Path) -> None:
    choices = SavedChoices(tmp_path / "choices.json")
    with file_lock(tmp_path / "choices.json.lock"), pytest.raises(TimeoutError, match="locked by another process"):
        choices.set("p", "edit", True)


@every_kind
async def test_a_model_that_is_no_file_is_refused_at_once(tmp_path: Path, make: Make, kind: str) -> None:
    from accord.apps.coder.models import local_model

    make(tmp_path / "model.gguf")
    with pytest.raises(ModelFailed, match=f"{kind}|not installed"):
        local_model._model_path(str(tmp_path / "model.gguf"))


def _open_to_others(home: Path) -> list[Path]:
    return [path for path in (home, *home.rglob("*")) if path.stat().st_mode & 0o077]


@pytest.mark.parametrize("first", ["trust", "run", "choices", "store", "drafts", "records"])
async def test_whoever_comes_first_makes_directories_for_the_user_alone(home: Path, first: str) -> None:
    before = os.umask(0o022)
    try:
        state = home / "state"
        match first:
            case "trust":
                (home.parent / "project" / ".accord.toml").write_text("retries = 1")
                assert accord("trust").returncode == 0
            case "run":
                assert accord("run", "hello").returncode == 0
            case "choices":
                SavedChoices(state / "choices.json").set("p", "edit", True)
            case "store":
                async with SqliteStore(state / "sessions.db") as store:
                    await store.create(SessionRecord(session_id="one", cwd="/"))
            case "drafts":
                Drafts(state).save("s", "text")
            case _:
                ConversationRecords(state).save(RecordHeader(agent="a", session_id="s", cwd="/"), [])
    finally:
        os.umask(before)
    assert _open_to_others(home) == []


@pytest.mark.parametrize("make", [SqliteStore, SavedChoices])
def test_a_path_with_the_home_of_nobody_is_a_path_as_in_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert make("~nobody-of-that-name/kept").path == tmp_path / "~nobody-of-that-name" / "kept"


@pytest.mark.parametrize("path", ["/tmp/\ud800", "/tmp/a\0b"], ids=["surrogate", "nul"])
async def test_a_path_that_no_file_can_have_is_refused_by_name(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match="must be an absolute path"):
        Workspace(path)
    with pytest.raises(InvalidParams, match="must be an absolute path on this system"):
        Roots([tmp_path]).resolve(path, "fs.read")
    workspace = Workspace(tmp_path)
    with pytest.raises(InvalidParams):
        await workspace.answer(ReadFile(session_id="s", path=path))
    with pytest.raises(InvalidParams):
        await workspace.answer(WriteFile(session_id="s", path=path, content=""))


@pytest.mark.parametrize("version", [1, 2, "2-draft"])
async def test_a_session_in_a_directory_that_none_can_be_is_refused(version: Any) -> None:
    agent = Agent("any")
    async with Client(agent, version=version) as client:
        with pytest.raises(InvalidParams, match="absolute path"):
            await client.new_session(cwd="/tmp/a\0b")
