"""A tree that a stranger filled, or that an agent turned against its user: a checkpoint runs nothing and changes nothing else.

Each trap is first sprung by git itself, started as anybody would start it: so the attacks stay real.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.local.checkpoint_tree import Tree, contents, git, repository, write
from tests.security.test_git import configure, plain


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def monitor(root: Path, mark: Path) -> None:
    configure(root, f'[core]\n\tfsmonitor = "touch {mark}; false"\n')


def hooks(root: Path, mark: Path) -> None:
    for name in ("post-index-change", "pre-commit", "reference-transaction", "pre-auto-gc", "post-checkout"):
        write(root / ".git/hooks" / name, f"#!/bin/sh\ntouch {mark}\n", 0o755)


def clean_filter(root: Path, mark: Path) -> None:
    write(root / ".gitattributes", "* filter=evil\n")
    configure(root, f'[filter "evil"]\n\tclean = "touch {mark}; cat"\n\tsmudge = "touch {mark}; cat"\n')


def filter_of_the_user(root: Path, mark: Path) -> None:
    write(root / ".gitattributes", "* filter=evil\n")
    write(
        root.parent / "settings", f'[filter "evil"]\n\tprocess = "touch {mark}; cat"\n\tclean = "touch {mark}; cat"\n'
    )


@pytest.mark.parametrize("lay", [monitor, hooks, clean_filter, filter_of_the_user])
def test_nothing_that_a_repository_names_is_run(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lay: Callable[[Path, Path], None]
):
    mark = tmp_path / "mark"
    repository(tree.root)
    write(tree / "file")
    git(tree.root, "add", ".")
    git(tree.root, "commit", "-qm", "first")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(write(tmp_path / "settings", "")))
    for root in (tree.root, repository(tree / "nested")):
        lay(root, mark)
    write(tree / "file", "sprung\n")
    plain(tree.root, "add", "-A", "file")
    assert mark.exists()
    mark.unlink()
    saved = tree.save()
    write(tree / "file", "new\n")
    write(tree / "nested/file", "new\n")
    assert tree.undo(saved) == {}
    assert not mark.exists()


def test_variables_of_git_lead_nowhere(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    other = repository(tmp_path / "other")
    write(other / "file")
    git(other, "add", ".")
    before = contents(other / ".git")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other / ".git/objects"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"touch {tmp_path / 'mark'}")
    write(tree / "file")
    saved = tree.save()
    write(tree / "file", "new\n")
    assert tree.undo(saved) == {}
    assert (tree / "file").read_text() == "old\n"
    assert contents(other / ".git") == before
    assert not (tmp_path / "mark").exists()


def test_git_is_not_taken_from_the_tree(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(tree / "bin/git", f"#!/bin/sh\ntouch {tmp_path / 'mark'}\n", 0o755)
    monkeypatch.setenv("PATH", f"{tree / 'bin'}:.:{os.environ['PATH']}")
    monkeypatch.chdir(tree / "bin")
    tree.save()
    assert not (tmp_path / "mark").exists()


def test_a_directory_that_became_a_link_leads_nowhere(tree: Tree, tmp_path: Path):
    outside = tmp_path / "outside"
    write(outside / "file", "of the user\n")
    write(tree / "directory/file")
    write(tree / "directory/other")
    saved = tree.save()
    shutil.rmtree(tree / "directory")
    (tree / "directory").symlink_to(outside)
    write(tree / "made")
    assert tree.undo(saved) == {}
    assert contents(tree.root) == {"directory/file": (0o644, "old\n"), "directory/other": (0o644, "old\n")}
    assert contents(outside) == {"file": (0o644, "of the user\n")}


def test_a_link_that_is_put_in_place_of_a_directory_meanwhile_is_not_followed(tree: Tree, tmp_path: Path):
    outside = tmp_path / "outside"
    write(outside / "made", "of the user\n")
    write(tree / "directory/file")
    saved = tree.save()
    write(tree / "directory/file", "new\n")
    write(tree / "directory/made")
    changes = tree.changes(saved)
    shutil.rmtree(tree / "directory")
    (tree / "directory").symlink_to(outside)
    failures = tree.checkpoints.restore(changes)
    assert failures.keys() == {str(tree / "directory/file"), str(tree / "directory/made")}
    assert contents(outside) == {"made": (0o644, "of the user\n")}


def test_a_working_directory_that_became_a_link_is_refused(tree: Tree, tmp_path: Path):
    outside = tmp_path / "outside"
    write(outside / "file", "of the user\n")
    write(tree / "file")
    saved = tree.save()
    write(tree / "file", "new\n")
    changes = tree.changes(saved)
    tree.root.rename(tmp_path / "moved")
    tree.root.symlink_to(outside)
    assert list(tree.checkpoints.restore(changes)) == [str(tree / "file")]
    assert (outside / "file").read_text() == "of the user\n"


@pytest.mark.parametrize("name", [".git/hooks/post-checkout", "sub/.git/config", "../outside", "."])
def test_nothing_is_restored_into_git_or_outside(tree: Tree, tmp_path: Path, name: str):
    write(tree / "file")
    saved = tree.save()
    write(tree / "file", "new\n")
    (change,) = tree.changes(saved)
    path = os.path.normpath(tree / name)
    for each in (change._replace(path=path), change._replace(path=path, old=None)):
        assert list(tree.checkpoints.restore([each])) == [path]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state", "tree"]
    assert contents(tree.root).keys() == {"file"}


def test_names_that_some_system_takes_for_gits_own_are_left_alone(tree: Tree):
    saved = tree.save()
    for name in ("git~1", ".GIT/config", ".git "):
        write(tree / name)
    write(tree / "file")
    assert tree.names(saved) == ["file"]
    assert tree.undo(saved) == {}
    assert contents(tree.root).keys() == {"git~1", ".GIT/config", ".git "}


def test_what_is_saved_is_for_the_user_alone(tree: Tree):
    write(tree / "file")
    tree.save()
    directory = tree.state / "checkpoints"
    assert directory.stat().st_mode & 0o077 == 0
    assert all(each.stat().st_mode & 0o077 == 0 for each in directory.iterdir())
