"""Git, asked about a working tree that a stranger may have made. These calls block.

Law: looking runs no program that the repository names, and reads no repository that has not this working tree. What can't
be switched off, and what can't be shown to belong here, is refused. A repository can name programs in its settings:
monitors, hooks, filters, drivers of diffs and of merges, verifiers of signatures, and commands that fetch what is missing.
It can lead elsewhere by links, by `.git` files, by the work tree in its settings, by the objects it borrows and by the names in
its index, which git takes as they are. Git also repeats the lines that it can't make sense of, so a file of its own, or of a
submodule, that is a link to another one shows that one. Any directory with the right names in it is a repository for git, also
one that a tool or a checkout has put there.

So what git will read is looked at first: the directories of the repository (`working_tree`), then all that its index names, and the
repositories of submodules (`check_index`). Files that name a path are read as git does, byte by byte.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from accord.errors import UnusableRepository

__all__ = [
    "DIFF_OPTIONS",
    "FILTERS_COMMAND",
    "GIT",
    "INDEX_COMMAND",
    "check_index",
    "filters_off",
    "git_environment",
    "is_bare_layout",
    "is_git_name",
    "leads_out",
    "repository_below",
    "working_tree",
]

GIT = ("git", "--no-pager", "--no-optional-locks")
"""How each command begins."""

DIFF_OPTIONS = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "--submodule=short")
"""For each command that shows differences. In a submodule git would go by the settings of that, not by ours."""

FILTERS_COMMAND = (*GIT, "config", "--null", "--name-only", "--get-regexp", r"^filter\.")
"""Lists the settings of filters, for `filters_off`."""

INDEX_COMMAND = (*GIT, "ls-files", "-z", "--full-name", "--stage")
"""Lists what is in the index, for `check_index`, from the root of the working tree. It looks at no other file there."""

_SETTINGS = {
    "blame.ignoreRevsFile": "",
    "color.diff": "false",
    "color.status": "false",
    "color.ui": "false",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.untrackedCache": "false",  # else names of directories are taken from the index that were never checked
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
    "GIT_TRACE2": "0",  # stronger than the settings by which git writes to any file, from the user's own file of settings
    "GIT_TRACE2_EVENT": "0",
    "GIT_TRACE2_PERF": "0",
}
_USERS_OWN = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH")
_FILTER = re.compile(r"(filter\.[^\n\ufffd]*)\.[a-z][a-z0-9-]*")
_MOST_FILTERS = 100
_MOST_FILES = 200_000
_NOT_READ = ("annex", "hooks", "lfs", "modules")  # submodules are looked at where the index names them
_LONGEST_FILE = 64 * 1024
_ENTRY = re.compile(r"(\d{6}) [0-9a-f]{40,64} [0-3]\t([^\n]+)")
_SUBMODULE = "160000"
_UNPRINTABLE = re.compile(rb"[\x00-\x1f\x7f]")
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


def repository_below(directory: Path) -> Path | None:
    """What git may take for a repository in a directory, however deep; no links are followed.

    UnusableRepository for one that has more files than can be looked through.
    """
    seen, unvisited = 0, [directory]
    while unvisited:
        here = unvisited.pop()
        if is_bare_layout(here):
            return here
        entries = _entries(here)
        named = next((each for each in entries if is_git_name(each.name)), None)
        if named is not None:
            return Path(named)
        unvisited += [Path(each) for each in entries if each.is_dir(follow_symlinks=False)]
        seen += len(entries)
        if seen > _MOST_FILES:
            raise UnusableRepository(f"{directory} has more files than can be looked through")
    return None


def leads_out(name: str) -> bool:
    """Whether a name in an index, which git joins to the working tree as it is, may be a file elsewhere or git's own."""
    return any(part in ("", ".", "..") or is_git_name(part) for part in name.replace(os.sep, "/").split("/"))


def working_tree(directory: str | os.PathLike[str]) -> Path:
    """The root of the working tree that a directory is in, whose repository is its own."""
    real = Path(os.path.realpath(directory))
    for each in (real, *real.parents):
        if is_bare_layout(each):
            raise UnusableRepository(
                f"{each} is laid out like a bare git repository, in which settings may name programs"
            )
        if os.path.lexists(each / ".git"):
            _check([each])
            return each
    raise UnusableRepository(f"not a git repository: there is no .git in {real}, nor above it")


def check_index(tree: Path, listed: str, *, is_whole: bool) -> None:
    """Refuse an index, as `INDEX_COMMAND` has listed it, that leads out of the working tree, or to a submodule that does."""
    *entries, rest = listed.split("\0")
    found = [match for match in map(_ENTRY.fullmatch, entries) if match is not None]
    if not is_whole or rest or len(found) < len(entries):
        raise UnusableRepository("its index names more files than can be checked, or git does not list them")
    names = {match[2] for match in found}
    wrong = next(filter(leads_out, names), None)
    if wrong is not None:
        raise UnusableRepository(f"its index names {wrong!r}, which git itself would never put there")
    directories, submodules = _directories(names), {match[2] for match in found if match[1] == _SUBMODULE}
    if any("\ufffd" in name for name in (*directories, *submodules)):
        raise UnusableRepository("its index names directories in letters that can't be told")
    links = (
        path for each in directories for path in (tree / each, tree / each / ".gitattributes") if path.is_symlink()
    )
    link = next(links, None)  # git 2.31 and older read attributes through a link
    if link is not None:
        raise UnusableRepository(f"{link} is a link")
    _check(tree / name for name in submodules if os.path.lexists(tree / name / ".git"))


def _directories(names: Iterable[str]) -> set[str]:
    """Those that the names are in, with the root, which is empty."""
    found = {""}
    for name in names:
        while (name := name.rpartition("/")[0]) not in found:
            found.add(name)
    return found


def _check(trees: Iterable[Path]) -> None:
    """Refuse working trees whose repositories are not their own, or hold links."""
    try:
        link = next(_links_below({directory for tree in trees for directory in _repository(tree)}), None)
    except (OSError, ValueError) as error:  # a NUL in a path
        raise UnusableRepository(f"its files can't be read: {error}") from None
    if link is not None:  # it would show another repository, or a file that is none of git's
        raise UnusableRepository(f"{link} is a link")


def _repository(tree: Path) -> tuple[Path, Path]:
    """The directories from which git reads what it shows of a working tree."""
    named = tree / ".git"
    if named.is_symlink():
        raise UnusableRepository(f"{named} is a link")
    directory = named if named.is_dir() else _leading_to(named)
    common = _common(directory)
    if _content(common / "objects" / "info" / "alternates").strip():
        raise UnusableRepository(f"{common} borrows objects from another repository")
    return directory, common


def _leading_to(named: Path) -> Path:
    """The repository that a `.git` file names: in the same tree, or one that knows this tree as its own."""
    line = _line(named)
    if not line.startswith("gitdir: "):
        raise UnusableRepository(f"{named} is neither a directory nor names one")
    tree = named.parent
    directory = Path(os.path.realpath(tree / line.removeprefix("gitdir: ")))
    linked = _line(directory / "gitdir")  # of a linked worktree
    if linked and os.path.realpath(directory / linked) == str(named):
        return directory
    told = re.findall(rb'(?m)^\s*worktree\s*=\s*"?(.*?)"?\s*$', _content(directory / "config"))  # of a submodule
    trees = (os.path.realpath(directory / os.fsdecode(each)) for each in told)
    if directory.is_relative_to(tree) or str(tree) in trees:
        return directory
    raise UnusableRepository(f"{named} leads to {directory}, a repository that does not know this directory")


def _common(directory: Path) -> Path:
    """Where a repository has its objects and settings; elsewhere only for a worktree that is linked there."""
    told = _line(directory / "commondir")
    common = Path(os.path.realpath(directory / told)) if told else directory
    above = directory.parent.parent if directory.parent.name == "worktrees" else directory
    if common not in (directory, above):
        raise UnusableRepository(f"{directory} leads to another repository, {common}")
    return common


def _links_below(directories: Iterable[Path]) -> Iterator[Path]:
    """Each link in these directories of git's, but for those in what it does not read for us."""
    unvisited: list[tuple[Path, tuple[str, ...]]] = [(directory, _NOT_READ) for directory in directories]
    seen = 0
    while unvisited:
        directory, skipped = unvisited.pop()
        for each in _entries(directory):
            seen += 1
            if each.name in skipped:
                continue
            if each.is_symlink():
                yield Path(each)
            elif each.is_dir():
                unvisited.append((Path(each), ()))
        if seen > _MOST_FILES:
            raise UnusableRepository("git keeps more files there than can be checked; `git gc` packs them")


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _line(path: Path) -> str:
    """The path that a file of git's holds, byte by byte; empty when there is none."""
    content = _content(path).rstrip(b"\r\n")  # as git does
    if _UNPRINTABLE.search(content):
        raise UnusableRepository(f"{path} holds control characters")
    return os.fsdecode(content)


def _content(path: Path) -> bytes:
    """A small file; empty when there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (FileNotFoundError, NotADirectoryError):
        return b""
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(_LONGEST_FILE + 1)
    if len(content) > _LONGEST_FILE:
        raise UnusableRepository(f"{path} is larger than any that git writes")
    return content
