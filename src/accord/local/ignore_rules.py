"""The files that git ignores in a directory, by all rules that apply there: at this moment, or when it was saved. These calls block.

Rules are in `.gitignore` files from the top of the user's repository down, in the repository's `info/exclude` and in a file
that the user's settings name. Files that the repository tracks count as not ignored.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from accord.errors import UnusableRepository
from accord.local.files import write_private_file
from accord.local.git import GIT, escapes_tree, find_working_tree, git_environment
from accord.local.git_processes import GitProcesses

_MAX_SIZE = 256 * 1024


def find_top(directory: Path) -> Path:
    """Where ignore files begin: the root of the repository that a directory is in, otherwise the directory itself."""
    return next((each for each in (directory, *directory.parents) if os.path.lexists(each / ".git")), directory)


def user_rules(git: GitProcesses, git_dir: Path, deadline: float) -> str:
    """The content of the ignore file that the user's own settings name, or of the default one."""
    ours = {name: value for name, value in git.ours.items() if name != "GIT_EXEC_PATH"}
    options = ("config", "--type=path", "--get", "core.excludesFile")  # not a setting of the user's repository
    result = git.run(options, git_dir, {**ours, "GIT_DIR": str(git_dir)}, deadline=deadline)
    configured = os.fsdecode(result.output.removesuffix(b"\n")) if result.code == 0 else ""
    home = ours.get("XDG_CONFIG_HOME") or (f"{ours['HOME']}/.config" if ours.get("HOME") else "")
    path = configured or (f"{home}/git/ignore" if home else "")
    return read_small_file(Path(path)) if path else ""


class IgnoreRules:
    """The rules that apply in `directory`, except those in `.gitignore` files below it, which are saved with the files.

    Git finds the files from `top` on by itself; the rest is put into `info/exclude` of our repository.
    """

    def __init__(self, git: GitProcesses, git_dir: Path, directory: Path, top: Path) -> None:
        self._git = git
        self._git_dir = git_dir
        self._top = top
        self._parts = directory.relative_to(top).parts

    def update(self, own: str, excluded: Path) -> dict[str, str]:
        """Pass the rules of this moment to git. `own`: those of the user; `excluded`: a directory that is never saved.

        Returns them by the name of their file; an empty name stands for rules that apply everywhere.
        """
        everywhere = f"{own}\n{read_small_file(_exclude_file(self._top))}\n"
        if excluded.is_relative_to(self._top):
            everywhere += f"/{_escaped(excluded.relative_to(self._top).as_posix())}/\n"
        path = self._git_dir / "info" / "exclude"
        if read_small_file(path) != everywhere:
            write_private_file(path, everywhere.encode(errors="surrogateescape"), is_durable=False)
        names = ["/".join((*self._parts[:depth], ".gitignore")) for depth in range(len(self._parts))]
        texts = {name: read_small_file(self._top / name) for name in names}
        return {"": everywhere, **{name: text for name, text in texts.items() if text}}

    def ignores_directory(self, deadline: float) -> bool:
        """Whether the directory as a whole is ignored."""
        name = "/".join(self._parts)
        return bool(name and self._check(self._top, [f"{name}/"], deadline))

    def ignored(self, names: Sequence[str], rules: Mapping[str, str], deadline: float) -> set[str]:
        """The names that are ignored by the rules that `update` passed to git, or by these, by the name of their file."""
        with tempfile.TemporaryDirectory(prefix="rules-", dir=self._git_dir.parent) as directory:
            tree, excludes = Path(directory, "tree"), Path(directory, "excludes")
            tree.mkdir()
            for name, text in rules.items():
                path = tree / name if name else excludes
                with suppress(OSError):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(text.encode(errors="surrogateescape"))
            return self._check(tree, names, deadline, "-c", f"core.excludesFile={excludes}")

    def _check(self, tree: Path, names: Sequence[str], deadline: float, *options: str) -> set[str]:
        result = self._git.run(
            (*options, "check-ignore", "--no-index", "-z", "--stdin"),
            tree,
            {**self._git.environment(self._git_dir, tree), "GIT_LITERAL_PATHSPECS": "0"},  # else it refuses to run
            deadline=deadline,
            stdin=b"".join(b"./%s\0" % os.fsencode(name) for name in names),  # so that no name begins with a colon
        ).check(0, 1)
        return {os.fsdecode(each[2:]) for each in result.output.split(b"\0") if each}

    def tracked_but_ignored(self, deadline: float) -> list[str]:
        """The files that the user's repository tracks although rules exclude them; none if it is not safe to read."""
        try:
            if find_working_tree(self._top) != self._top:
                return []
            variables = git_environment(self._top, self._git.ours)
        except UnusableRepository:
            return []
        options = (*GIT[2:], "ls-files", "-z", "--cached", "--ignored", "--exclude-standard", "--", *self._parts[:1])
        result = self._git.run(options, self._top, variables, deadline=deadline)
        names = [os.fsdecode(each) for each in result.output.split(b"\0") if each]
        below = "".join(f"{part}/" for part in self._parts)
        return [name for name in names if name.startswith(below) and not escapes_tree(name)]

    def index_state(self) -> list[int]:
        """Changes whenever the list of tracked files does."""
        try:
            status = (self._top / ".git" / "index").stat()
        except OSError:
            return []
        return [status.st_mtime_ns, status.st_size, status.st_ino]


def read_small_file(path: Path) -> str:
    """Empty if it is missing, too large or not a regular file."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_SIZE:
            return ""
        return path.read_bytes().decode(errors="surrogateescape")
    except (OSError, ValueError):
        return ""


def _exclude_file(top: Path) -> Path:
    """Where the user's repository has its own rules: for a linked working tree, in the repository that it belongs to."""
    directory = top / ".git"
    linked = read_small_file(directory).rstrip("\r\n")
    if linked.startswith("gitdir: "):
        directory = top / linked.removeprefix("gitdir: ")
    return directory / (read_small_file(directory / "commondir").rstrip("\r\n") or ".") / "info" / "exclude"


def _escaped(name: str) -> str:
    """As a pattern that matches nothing else."""
    return "".join(f"\\{each}" if each in "\\*?[ #!" else each for each in name)
