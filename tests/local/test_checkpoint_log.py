"""The turns of a session are known after a restart, edits of the user are told apart, and old checkpoints are removed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from accord.errors import CheckpointFailed
from accord.local import checkpoint_log
from accord.local.checkpoint_log import CheckpointLog, conflicts, remove_old_checkpoints
from accord.local.files import file_lock
from tests.local.checkpoint_tree import Tree, write

LONG_AGO = time.time() - 100 * 24 * 3600


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@pytest.fixture
def log(tree: Tree) -> CheckpointLog:
    return CheckpointLog(tree.state, "agent session")


def turn(tree: Tree, log: CheckpointLog, name: str, *, has_end: bool = True) -> None:
    """The agent writes a file."""
    added = log.add(f"write {name}", tree.save())
    write(tree / name, f"by the agent: {len(log.turns)}\n")
    added.after = tree.save() if has_end else None
    log.save()


def edited(tree: Tree, log: CheckpointLog, index: int) -> set[str]:
    found = log.edited_since(log.turns[index], tree.save(), tree.checkpoints)
    return {os.path.relpath(path, tree.root) for path in found}


def test_turns_are_known_after_a_restart(tree: Tree, log: CheckpointLog):
    write(tree / os.fsdecode(b"\xe9"))
    turn(tree, log, "file")
    again = CheckpointLog(tree.state, "agent session")
    assert again.turns == log.turns
    target = again.turns[0].before
    assert target is not None
    assert tree.undo(target) == {}
    assert not (tree / "file").exists()
    assert CheckpointLog(tree.state, "another").turns == []


def test_a_damaged_log_is_an_empty_one(tree: Tree, log: CheckpointLog):
    turn(tree, log, "file")
    (path,) = tree.state.glob("checkpoints/sessions/*.json")
    path.write_text("[{")
    assert CheckpointLog(tree.state, "agent session").turns == []


def test_only_the_last_turns_are_kept(log: CheckpointLog):
    for number in range(checkpoint_log.MOST_TURNS + 3):
        log.add(str(number), None)
    assert [each.text for each in log.turns] == [str(number + 3) for number in range(checkpoint_log.MOST_TURNS)]


def test_changes_by_turns_are_not_edits_of_the_user(tree: Tree, log: CheckpointLog):
    turn(tree, log, "one")
    turn(tree, log, "two")
    assert edited(tree, log, 0) == set()


def test_edits_after_and_between_turns_are_those_of_the_user(tree: Tree, log: CheckpointLog):
    turn(tree, log, "one")
    write(tree / "between", "by the user\n")
    turn(tree, log, "two")
    write(tree / "two", "by the user\n")
    assert edited(tree, log, 0) == {"between", "two"}
    assert edited(tree, log, 1) == {"two"}


def test_without_a_checkpoint_at_the_end_nobody_knows_who_changed_a_file(tree: Tree, log: CheckpointLog):
    turn(tree, log, "one", has_end=False)
    turn(tree, log, "two")
    assert edited(tree, log, 0) == {"one"}
    assert edited(tree, log, 1) == set()


def test_a_turn_without_a_checkpoint_counts_as_unknown(tree: Tree, log: CheckpointLog):
    turn(tree, log, "one")
    added = log.add("without", None)
    write(tree / "unknown")
    added.after = tree.save()
    assert edited(tree, log, 0) == {"unknown"}


def test_edited_and_unsaved_files_are_conflicts(tree: Tree, log: CheckpointLog):
    turn(tree, log, "one")
    turn(tree, log, "two")
    write(tree / "one", "by the user\n")
    target = log.turns[0].before
    assert target is not None
    changes = tree.changes(target)
    found = conflicts(changes, log.edited_since(log.turns[0], tree.save(), tree.checkpoints))
    assert [each.path for each in found] == [str(tree / "one")]
    assert conflicts([changes[1]._replace(warning="it is larger than 10 MiB")], set()) != []


# removal


def repositories(tree: Tree) -> list[Path]:
    return sorted(tree.state.glob("checkpoints/*.git"))


def make_old(path: Path) -> None:
    os.utime(path, (LONG_AGO, LONG_AGO))


def test_checkpoints_that_are_too_old_are_removed_with_their_contents(tree: Tree):
    write(tree / "file", "first\n")
    old = tree.save()
    write(tree / "file", "second\n")
    now = tree.save()
    (git_dir,) = repositories(tree)
    for path in git_dir.glob(f"refs/checkpoints/{old.name}*"):
        make_old(path)
    for path in git_dir.glob("objects/*/*"):
        make_old(path)
    remove_old_checkpoints(tree.state, tree.checkpoints.repositories(now))
    assert tree.undo(now) == {}
    with pytest.raises(CheckpointFailed, match="not saved any more"):
        tree.changes(old)


def test_contents_are_packed_and_still_there(tree: Tree, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checkpoint_log, "_MANY_LOOSE", 0)
    for number in range(600):
        write(tree / str(number), str(number))
    saved = tree.save()
    (git_dir,) = repositories(tree)
    remove_old_checkpoints(tree.state, tree.checkpoints.repositories(saved))
    assert list(git_dir.glob("objects/pack/*.pack"))
    write(tree / "0", "new\n")
    assert tree.undo(saved) == {}
    assert (tree / "0").read_text() == "0"


def test_repositories_of_others_are_removed_when_nobody_used_them_for_long(tree: Tree, tmp_path: Path):
    other = tmp_path / "other"
    other.mkdir()
    unused = Tree(other)
    unused.checkpoints = type(tree.checkpoints)(tree.state, [unused.root])
    unused.save()
    saved = tree.save()
    own = tree.checkpoints.repositories(saved)
    remove_old_checkpoints(tree.state, own)
    assert len(repositories(tree)) == 2
    (path,) = set(repositories(tree)) - {own[0].git_dir}
    make_old(path / "state.json")
    make_old(own[0].git_dir / "state.json")
    with file_lock(path.with_suffix(".lock")):
        remove_old_checkpoints(tree.state, own)
        assert path.exists()
    remove_old_checkpoints(tree.state, own)
    assert repositories(tree) == [own[0].git_dir]
    unused.save()
    assert len(repositories(tree)) == 2


def test_too_much_is_removed_the_least_recently_used_first(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checkpoint_log, "MAX_SIZE", 1)
    write(tree / "file")
    first = tree.save()
    write(tree / "file", os.urandom(3000).hex())
    second = tree.save()
    write(tree / "file", "third\n")
    third = tree.save()
    other = repositories(tree)[0].with_name("0123.git")
    other.mkdir()
    remove_old_checkpoints(tree.state, tree.checkpoints.repositories(third))
    assert not other.exists()
    assert tree.names(third) == []
    with pytest.raises(CheckpointFailed, match="not saved any more"):
        tree.changes(first)
    assert tree.names(second) == ["file"]


def test_what_a_killed_process_left_is_removed_after_a_while(tree: Tree):
    saved = tree.save()
    directory = tree.state / "checkpoints"
    for name in ("rules-x", "0123.removed"):
        write(directory / name / "file")
        make_old(directory / name)
    (directory / "rules-now").mkdir()
    remove_old_checkpoints(tree.state, tree.checkpoints.repositories(saved))
    assert {path.name for path in directory.iterdir() if path.is_dir()} == {"rules-now", repositories(tree)[0].name}


def test_logs_of_old_sessions_are_removed(tree: Tree, log: CheckpointLog):
    turn(tree, log, "file")
    (path,) = tree.state.glob("checkpoints/sessions/*.json")
    make_old(path)
    remove_old_checkpoints(tree.state, [])
    assert not path.exists()
