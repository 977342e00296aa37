"""Read-only git commands in a working tree that a stranger may have made. These calls block.

Law: they run no program that the repository names, and read no repository but that of this working tree. What can't be
switched off, or can't be proved to belong here, is refused.

A repository can name programs in its settings: monitors, hooks, filters, diff and merge drivers, signature verifiers, and
commands that fetch missing objects. It can lead elsewhere by links, by `.git` files, by the work tree in its settings, by
borrowed objects and by the names in its index, which git uses as they are. Git also prints lines that it can't parse, so a
link in place of one of its files, or of a submodule's, shows the file that it leads to. Git takes any directory with the
right names in it for a repository, also one that a tool or a checkout has put there.

So everything that git will read is checked first: the directories of the repository (`find_working_tree`), then the names in
its index and the repositories of its submodules (`check_index`). Files that name a path are read as git does, byte by byte.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from accord.errors import RepositoryMissing, UnusableRepository

GIT = ("git", "--no-pager", "--no-optional-locks")
"""The beginning of each command."""

DIFF_OPTIONS = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "--submodule=short")
"""For each command that prints diffs. In a submodule git would use the submodule's settings, not ours."""

FILTERS_COMMAND = (*GIT, "config", "--null", "--name-only", "--get-regexp", r"^filter\.")
"""Lists filter settings, for `filter_overrides`."""

INDEX_COMMAND = (*GIT, "ls-files", "-z", "--full-name", "--stage")
"""Lists the index, for `check_index`; run it in the root of the working tree. It reads no other file there."""

_SETTINGS = {
    **dict.fromkeys(("blame.ignoreRevsFile", "fetch.bundleURI", "mailmap.file"), ""),
    **dict.fromkeys(("color.diff", "color.status", "color.ui", "core.fsmonitor", "log.showSignature"), "false"),
    **dict.fromkeys(("status.submoduleSummary", "submodule.recurse"), "false"),
    **dict.fromkeys(("gpg.openpgp.program", "gpg.program", "gpg.ssh.program", "gpg.x509.program"), os.devnull),
    **dict.fromkeys(("core.hooksPath", "diff.orderFile"), os.devnull),
    "core.untrackedCache": "false",  # else git uses names of directories in the index that were never checked
    "diff.ignoreSubmodules": "dirty",
    "diff.submodule": "short",
    "log.diffMerges": "separate",  # other values merge again, by drivers that the repository names
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",  # git 2.38 or newer; for older ones `find_working_tree` refuses them
}
_VARIABLES = {
    # No such protocol; for one that can be guessed the helper may be an alias.
    "GIT_ALLOW_PROTOCOL": os.urandom(16).hex(),
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_TRACE2": "0",  # overrides settings of the user that make git write to a file
    "GIT_TRACE2_EVENT": "0",
    "GIT_TRACE2_PERF": "0",
}
_USER_VARIABLES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH")
_FILTER = re.compile(r"(filter\.[^\n\ufffd]*)\.[a-z][a-z0-9-]*")
_MAX_FILTERS = 100
_MAX_FILES = 200_000
_NOT_READ = ("annex", "hooks", "lfs", "modules")  # submodules are checked where the index names them
_MAX_SIZE = 64 * 1024
_ENTRY = re.compile(r"(\d{6}) [0-9a-f]{40,64} [0-3]\t([^\n]+)")
_SUBMODULE = "160000"
_UNPRINTABLE = re.compile(rb"[\x00-\x1f\x7f]")
_IGNORED_BY_HFS = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


def git_environment(tree: Path, ours: Mapping[str, str], settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """The whole environment for commands in a working tree: ours, without what leads git elsewhere.

    Settings are passed here and not as arguments: they override those of any file, and a name may hold any character.
    """
    inherited = {name: value for name, value in ours.items() if not name.startswith("GIT_") or name in _USER_VARIABLES}
    configured = {**_SETTINGS, "core.attributesFile": _attributes_file(ours), **(settings or {})}
    environment = {
        **inherited,
        **_VARIABLES,
        "GIT_WORK_TREE": str(tree),
        "GIT_CEILING_DIRECTORIES": str(tree.parent),
        "GIT_CONFIG_COUNT": str(len(configured)),
    }
    for number, (key, value) in enumerate(configured.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return environment


def _attributes_file(ours: Mapping[str, str]) -> str:
    """The user's default one; settings of the repository could name any file."""
    home = ours.get("XDG_CONFIG_HOME") or (f"{ours['HOME']}/.config" if ours.get("HOME") else "")
    return f"{home}/git/attributes" if home else os.devnull


def filter_overrides(output: str, *, is_whole: bool) -> dict[str, str]:
    """Settings that switch off every filter in the output of `FILTERS_COMMAND`, also the user's own.

    The user's filters read settings in which a repository may name programs.
    """
    *keys, rest = output.split("\0")
    matches = [_FILTER.fullmatch(key) for key in keys if key.count(".") > 1]
    names = {match[1] for match in matches if match is not None}
    if not is_whole or rest or None in matches or len(names) > _MAX_FILTERS:
        raise UnusableRepository("its settings name filters that can't all be switched off, or git did not list them")
    return {
        f"{name}.{key}": value
        for name in names
        for key, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    }


def is_git_name(name: str) -> bool:
    """Whether some file system takes the name for `.git`."""
    plain = _IGNORED_BY_HFS.sub("", name).split(":")[0].rstrip(". ").lower()
    return plain in (".git", "git~1")


def is_bare_layout(directory: Path, *more: str) -> bool:
    """Whether git may take a directory, with these names added to it, for a repository."""

    def has(name: str) -> bool:
        return name in lowered or os.path.lexists(directory / name)

    lowered = {each.lower() for each in more}
    has_head = "head" in lowered or has("HEAD")
    return has_head and (has("commondir") or (has("objects") and has("refs")))


def nested_repository(directory: Path) -> Path | None:
    """A repository below a directory, as git may see it, at any depth; links are not followed.

    UnusableRepository when there are more files than can be checked.
    """
    seen, unvisited = 0, [directory]
    while unvisited:
        here = unvisited.pop()
        if is_bare_layout(here):
            return here
        entries = _entries(here)
        entry = next((each for each in entries if is_git_name(each.name)), None)
        if entry is not None:
            return Path(entry)
        unvisited += [Path(each) for each in entries if each.is_dir(follow_symlinks=False)]
        seen += len(entries)
        if seen > _MAX_FILES:
            raise UnusableRepository(f"{directory} has more files than can be checked")
    return None


def escapes_tree(name: str) -> bool:
    """Whether a name in an index may be a file elsewhere or git's own; git joins it to the working tree as it is."""
    return any(part in ("", ".", "..") or is_git_name(part) for part in name.replace(os.sep, "/").split("/"))


def find_working_tree(directory: str | os.PathLike[str]) -> Path:
    """The root of the working tree that a directory is in; UnusableRepository unless its repository is its own."""
    real = Path(os.path.realpath(directory))
    for each in (real, *real.parents):
        if is_bare_layout(each):
            raise UnusableRepository(
                f"{each} is laid out like a bare git repository, in which settings may name programs"
            )
        if os.path.lexists(each / ".git"):
            _check([each])
            return each
    raise RepositoryMissing(f"not a git repository: there is no .git in {real}, nor above it")


def check_index(tree: Path, output: str, *, is_whole: bool) -> None:
    """Refuse an index, as printed by `INDEX_COMMAND`, that leads out of the working tree, or to a submodule that does."""
    *entries, rest = output.split("\0")
    matches = [match for match in map(_ENTRY.fullmatch, entries) if match is not None]
    if not is_whole or rest or len(matches) < len(entries):
        raise UnusableRepository("its index names more files than can be checked, or git did not list them")
    names = {match[2] for match in matches}
    wrong = next(filter(escapes_tree, names), None)
    if wrong is not None:
        raise UnusableRepository(f"its index names {wrong!r}, which git itself never writes")
    directories, submodules = _directories(names), {match[2] for match in matches if match[1] == _SUBMODULE}
    if any("\ufffd" in name for name in (*directories, *submodules)):
        raise UnusableRepository("its index names directories that are not valid UTF-8")
    links = (
        path for each in directories for path in (tree / each, tree / each / ".gitattributes") if path.is_symlink()
    )
    link = next(links, None)  # git 2.31 and older read attributes through a link
    if link is not None:
        raise UnusableRepository(f"{link} is a link")
    _check(tree / name for name in submodules if os.path.lexists(tree / name / ".git"))


def _directories(names: Iterable[str]) -> set[str]:
    """The directories that the names are in, with the root, which is empty."""
    directories = {""}
    for name in names:
        while (name := name.rpartition("/")[0]) not in directories:
            directories.add(name)
    return directories


def _check(trees: Iterable[Path]) -> None:
    """Refuse working trees whose repositories are not their own, or hold links."""
    try:
        link = next(_links_below({directory for tree in trees for directory in _repository(tree)}), None)
    except (OSError, ValueError) as error:  # a NUL in a path
        raise UnusableRepository(f"its files can't be read: {error}") from None
    if link is not None:  # it would show another repository, or a file that is not git's
        raise UnusableRepository(f"{link} is a link")


def _repository(tree: Path) -> tuple[Path, Path]:
    """The directories that git reads for a working tree."""
    named = tree / ".git"
    if named.is_symlink():
        raise UnusableRepository(f"{named} is a link")
    directory = named if named.is_dir() else _linked_repository(named)
    common = _common(directory)
    if _content(common / "objects" / "info" / "alternates").strip():
        raise UnusableRepository(f"{common} borrows objects from another repository")
    return directory, common


def _linked_repository(named: Path) -> Path:
    """The repository that a `.git` file names: in the same tree, or one that names this tree as its own."""
    line = _line(named)
    if not line.startswith("gitdir: "):
        raise UnusableRepository(f"{named} is neither a directory nor does it name one")
    tree = named.parent
    directory = Path(os.path.realpath(tree / line.removeprefix("gitdir: ")))
    linked = _line(directory / "gitdir")  # of a linked worktree
    if linked and os.path.realpath(directory / linked) == str(named):
        return directory
    settings = re.findall(rb'(?m)^\s*worktree\s*=\s*"?(.*?)"?\s*$', _content(directory / "config"))  # of a submodule
    trees = (os.path.realpath(directory / os.fsdecode(each)) for each in settings)
    if directory.is_relative_to(tree) or str(tree) in trees:
        return directory
    raise UnusableRepository(f"{named} leads to {directory}, a repository of another directory")


def _common(directory: Path) -> Path:
    """Where a repository has its objects and settings; elsewhere only for a worktree that is linked there."""
    name = _line(directory / "commondir")
    common = Path(os.path.realpath(directory / name)) if name else directory
    above = directory.parent.parent if directory.parent.name == "worktrees" else directory
    if common not in (directory, above):
        raise UnusableRepository(f"{directory} leads to another repository, {common}")
    return common


def _links_below(directories: Iterable[Path]) -> Iterator[Path]:
    """The links in these directories of git, except below what our commands do not read."""
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
        if seen > _MAX_FILES:
            raise UnusableRepository("it has more files than can be checked; run `git gc` to pack them")


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _line(path: Path) -> str:
    """The path in a file of git, byte by byte; empty when there is no file."""
    content = _content(path).rstrip(b"\r\n")  # as git does
    if _UNPRINTABLE.search(content):
        raise UnusableRepository(f"{path} holds control characters")
    return os.fsdecode(content)


def _content(path: Path) -> bytes:
    """A small file; empty when it does not exist."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (FileNotFoundError, NotADirectoryError):
        return b""
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(_MAX_SIZE + 1)
    if len(content) > _MAX_SIZE:
        raise UnusableRepository(f"{path} is larger than git ever writes it")
    return content
