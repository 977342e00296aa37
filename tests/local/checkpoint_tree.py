"""A directory tree with checkpoints, for tests."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

from accord.local.checkpoints import Change, Checkpoint, Checkpoints

GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")


def git(directory: Path, *arguments: str) -> str:
    """Git as the user runs it."""
    run = subprocess.run([*GIT, *arguments], cwd=directory, check=True, capture_output=True, text=True)
    return run.stdout


def repository(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "-q", "-b", "main", ".")
    return directory


def write(path: Path, text: str = "old\n", mode: int | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if mode is not None:
        path.chmod(mode)
    return path


def contents(directory: Path) -> dict[str, tuple[int, str]]:
    """Permissions and text of each file, and what each link says, but not of git's own."""
    found: dict[str, tuple[int, str]] = {}
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory)
        if ".git" in name.parts:
            continue
        if path.is_symlink():
            found[str(name)] = (0, str(path.readlink()))
        elif path.is_file():
            found[str(name)] = (stat.S_IMODE(path.stat().st_mode), path.read_bytes().decode("latin-1"))
    return found


class Tree:
    """A directory `tree` with checkpoints in `state`, beside each other."""

    def __init__(self, parent: Path, *more: Path) -> None:
        self.root = parent / "tree"
        self.root.mkdir(exist_ok=True)
        self.state = parent / "state"
        self.checkpoints = Checkpoints(self.state, [self.root, *more])

    def __truediv__(self, name: str) -> Path:
        return self.root / name

    def save(self) -> Checkpoint:
        return self.checkpoints.save()

    def changes(self, target: Checkpoint) -> list[Change]:
        return self.checkpoints.changes_to_undo(target, self.save())

    def names(self, target: Checkpoint) -> list[str]:
        """The names of the files that going back would change."""
        return [os.path.relpath(each.path, self.root) for each in self.changes(target)]

    def undo(self, target: Checkpoint) -> dict[str, str]:
        failures = self.checkpoints.restore(self.changes(target))
        return {os.path.relpath(path, self.root): reason for path, reason in failures.items()}
