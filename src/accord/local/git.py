"""Git, asked about a working tree that a stranger may have made. These calls block.

Law: looking runs no program that the repository names, and reads no repository that has not this working tree. What can't
be switched off, and what can't be shown to belong here, is refused. A repository can name programs in its settings:
monitors, hooks, filters, drivers of diffs and of merges, verifiers of signatures, and commands that fetch what is missing.
It can lead elsewhere by links, by `.git` files, by the work tree in its settings and by the objects it borrows. Git also
repeats the lines that it can't make sense of, so a file of its own that is a link to another one shows that one. Any
directory with the right names in it is a repository for git, also one that a tool or a checkout has put there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

from accord.errors import UnusableRepository

__all__ = [
    "DIFF_OPTIONS",
    "FILTERS_COMMAND",
    "GIT",
    "filters_off",
    "git_environment",
    "is_bare_layout",
    "is_git_name",
    "working_tree",
]

GIT = ("git", "--no-pager", "--no-optional-locks")
"""How each command begins."""

DIFF_OPTIONS = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "--submodule=short")
"""For each command that shows differences. In a submodule git would go by the settings of that, not by ours."""

FILTERS_COMMAND = (*GIT, "config", "--null", "--name-only", "--get-regexp", r"^filter\.")
"""Lists the settings of filters, for `filters_off`."""

_SETTINGS = {
    "blame.ignoreRevsFile": "",
    "color.diff": "false",
    "color.status": "false",
    "color.ui": "false",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "diff.ignoreSubmodules": "dirty",
    "diff.orderFile": os.devnull,
    "diff.submodule": "short",
    "fetch.bundleURI": "",
    "gpg.openpgp.program": os.devnull,
    "gpg.program": os.devnull,
    "gpg.ssh.program": os.devnull,
    "gpg.x509.program": os.devnull,
    "log.diffMerges": "separate",  # another choice merges again, by drivers that the repository names
    "log.showSignature": "false",
    "mailmap.file": "",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",  # git 2.38 or newer; `working_tree` refuses them for the others
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
}
_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": os.urandom(16).hex(),  # there is none; of one that can be guessed an alias may be the helper
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_USERS_OWN = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH")
_FILTER = re.compile(r"(filter\.[^\n\ufffd]*)\.[a-z][a-z0-9-]*")
_MOST_FILTERS = 100
_MOST_FILES = 200_000
_READ_BELOW = ("info", "logs", "objects", "rebase-apply", "rebase-merge", "refs", "reftable", "sequencer", "worktrees")
_NOT_READ = ("annex", "hooks", "lfs")
_LONGEST_FILE = 64 * 1024
_IGNORED_BY_HFS = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


def git_environment(tree: Path, ours: Mapping[str, str], settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """The whole environment for commands in a working tree: ours, without what leads git elsewhere.

    Settings are given here and not as arguments: they are stronger than those of any file, and a name may hold any
    letter.
    """
    kept = {name: value for name, value in ours.items() if not name.startswith("GIT_") or name in _USERS_OWN}
    configured = {**_SETTINGS, "core.attributesFile": _users_attributes(ours), **(settings or {})}
    environment = {
        **kept,
        **_VARIABLES,
        "GIT_WORK_TREE": str(tree),
        "GIT_CEILING_DIRECTORIES": str(tree.parent),
        "GIT_CONFIG_COUNT": str(len(configured)),
    }
    for number, (key, value) in enumerate(configured.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return environment


def _users_attributes(ours: Mapping[str, str]) -> str:
    """Where they are unless settings say something else: a repository's could name any file."""
    home = ours.get("XDG_CONFIG_HOME") or (f"{ours['HOME']}/.config" if ours.get("HOME") else "")
    return f"{home}/git/attributes" if home else os.devnull


def filters_off(listed: str, *, is_whole: bool) -> dict[str, str]:
    """Settings that switch off every filter which `FILTERS_COMMAND` has listed, also the user's own.

    Those go by settings, too, in which a repository may name programs.
    """
    *keys, rest = listed.split("\0")
    found = [_FILTER.fullmatch(key) for key in keys if key.count(".") > 1]
    names = {match[1] for match in found if match is not None}
    if not is_whole or rest or None in found or len(names) > _MOST_FILTERS:
        raise UnusableRepository("its settings name filters that can't all be switched off, or git does not list them")
    return {
        f"{name}.{key}": value
        for name in names
        for key, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    }


def is_git_name(name: str) -> bool:
    """Whether a file system may take the name for `.git`."""
    plain = _IGNORED_BY_HFS.sub("", name).split(":")[0].rstrip(". ").lower()
    return plain in (".git", "git~1")


def is_bare_layout(directory: Path, *more: str) -> bool:
    """Whether git may take a directory, with these names put into it, for a repository."""

    def has(name: str) -> bool:
        return name in lowered or os.path.lexists(directory / name)

    lowered = {each.lower() for each in more}
    has_head = "head" in lowered or has("HEAD")
    return has_head and (has("commondir") or (has("objects") and has("refs")))


def working_tree(directory: str | os.PathLike[str]) -> Path:
    """The root of the working tree that a directory is in, whose repository is its own."""
    real = Path(os.path.realpath(directory))
    for each in (real, *real.parents):
        if is_bare_layout(each):
            raise UnusableRepository(
                f"{each} is laid out like a bare git repository, in which settings may name programs"
            )
        if os.path.lexists(each / ".git"):
            try:
                _check(each)
            except (OSError, ValueError) as error:  # no UTF-8, or a NUL in a path
                raise UnusableRepository(f"{each / '.git'} can't be read: {error}") from None
            return each
    raise UnusableRepository(f"not a git repository: there is no .git in {real}, nor above it")


def _check(tree: Path) -> None:
    named = tree / ".git"
    if named.is_symlink():
        raise UnusableRepository(f"{named} is a link")
    directory = named if named.is_dir() else _leading_to(named)
    common = _common(directory)
    for each in {directory, common}:
        _check_links(each)
    if _text(common / "objects" / "info" / "alternates").strip():
        raise UnusableRepository(f"{common} borrows objects from another repository")


def _leading_to(named: Path) -> Path:
    """The repository that a `.git` file names: in the same tree, or one that knows this tree as its own."""
    text = _text(named)
    if not text.startswith("gitdir: "):
        raise UnusableRepository(f"{named} is neither a directory nor names one")
    tree = named.parent
    directory = Path(os.path.realpath(tree / text.removeprefix("gitdir: ").rstrip("\r\n")))
    linked = _text(directory / "gitdir").rstrip("\n")  # of a linked worktree
    if linked and os.path.realpath(directory / linked) == str(named):
        return directory
    told = re.findall(r'(?m)^\s*worktree\s*=\s*"?(.*?)"?\s*$', _text(directory / "config"))  # of a submodule
    if directory.is_relative_to(tree) or any(os.path.realpath(directory / each) == str(tree) for each in told):
        return directory
    raise UnusableRepository(f"{named} leads to {directory}, a repository that does not know this directory")


def _common(directory: Path) -> Path:
    """Where a repository has its objects and settings; elsewhere only for a worktree that is linked there."""
    told = _text(directory / "commondir").rstrip("\r\n")
    common = Path(os.path.realpath(directory / told)) if told else directory
    if common not in (directory, directory.parent.parent):
        raise UnusableRepository(f"{directory} leads to another repository, {common}")
    return common


def _check_links(directory: Path) -> None:
    """What is shown comes from these; a link in them would show another repository, or a file that is none of git's."""
    below = (path for name in _READ_BELOW for path in _links_below(directory / name))
    beside = (Path(each) for each in _entries(directory) if each.name not in _NOT_READ and each.is_symlink())
    link = next(chain(beside, below), None)
    if link is not None:
        raise UnusableRepository(f"{link} is a link")


def _links_below(directory: Path) -> Iterator[Path]:
    seen, unvisited = 0, [directory]
    while unvisited:
        for each in _entries(unvisited.pop()):
            seen += 1
            if each.is_symlink():
                yield Path(each)
            elif each.is_dir():
                unvisited.append(Path(each))
        if seen > _MOST_FILES:
            raise UnusableRepository(f"it has more files in {directory} than can be checked; `git gc` packs them")


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _text(path: Path) -> str:
    """The content of a small file; empty when there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (FileNotFoundError, NotADirectoryError):
        return ""
    with os.fdopen(descriptor, encoding="utf-8") as file:
        text = file.read(_LONGEST_FILE + 1)
    if len(text) > _LONGEST_FILE:
        raise UnusableRepository(f"{path} is larger than any that git writes")
    return text
