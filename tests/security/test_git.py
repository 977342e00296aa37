"""A repository that a stranger made: looking at it with git runs nothing that it names, and shows nothing of others.

Each trap is first sprung by git itself, started as anybody would start it: so the attacks stay real.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accord import permissions
from accord.apps.console.screen.mentions import list_files
from accord.errors import UnusableRepository
from accord.local.git import DIFF_OPTIONS, GIT, filter_overrides, find_working_tree, git_environment
from tests.apps.coder.scripted import git


def plain(root: Path, *arguments: str) -> bytes:
    """Git as anybody would start it; it may fail, because of what its programs do."""
    return subprocess.run(["git", *arguments], cwd=root, check=False, capture_output=True).stdout


def configure(root: Path, text: str, file: str = ".git/config") -> None:
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as config:
        config.write(text.encode("utf-8", "surrogateescape"))


def monitor(root: Path, mark: Path) -> list[str]:
    configure(root, f'[core]\n\tfsmonitor = "touch {mark}; false"\n\tuntrackedCache = true\n')
    return ["status"]


def hooks(root: Path, mark: Path) -> list[str]:
    (root.parent / "hooks").mkdir()
    hook = root.parent / "hooks" / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    configure(root, f"[core]\n\thooksPath = {hook.parent}\n")
    os.utime(root / "README.md", (1, 1))
    return ["status"]


def external_diff(root: Path, mark: Path) -> list[str]:
    configure(root, f'[diff]\n\texternal = "touch {mark}; true"\n')
    return ["diff"]


def text_conversion(root: Path, mark: Path) -> list[str]:
    configure(root, "*.py diff=evil\n", ".gitattributes")
    configure(root, f'[diff "evil"]\n\ttextconv = "touch {mark}; cat"\n')
    return ["diff"]


def diff_command(root: Path, mark: Path) -> list[str]:
    configure(root, "*.py diff=evil\n", ".git/info/attributes")
    configure(root, f'[diff "evil"]\n\tcommand = "touch {mark}; true"\n')
    return ["diff"]


def clean_filter(name: str, file: str = ".git/config") -> Callable[[Path, Path], list[str]]:
    def lay(root: Path, mark: Path) -> list[str]:
        configure(root, f"*.py filter={name}\n", ".git/info/attributes")
        configure(root, f'[filter "{name}"]\n\tclean = "touch {mark}; cat"\n\trequired = true\n', file)
        return ["diff"]

    return lay


def filter_process(root: Path, mark: Path) -> list[str]:
    configure(root, "*.py filter=evil\n", ".gitattributes")
    configure(root, f'[filter "evil"]\n\tprocess = "touch {mark}; false"\n')
    return ["diff"]


def included_filter(root: Path, mark: Path) -> list[str]:
    configure(root, "[include]\n\tpath = ../more\n")
    return clean_filter("evil", "more")(root, mark)


def filter_of_a_branch(root: Path, mark: Path) -> list[str]:
    plain(root, "checkout", "-q", "-b", "evil")
    configure(root, '[includeIf "onbranch:evil"]\n\tpath = ../more\n')
    return clean_filter("evil", "more")(root, mark)


def filter_of_a_worktree(root: Path, mark: Path) -> list[str]:
    configure(root, "[extensions]\n\tworktreeConfig = true\n")
    return clean_filter("evil", ".git/config.worktree")(root, mark)


def pager(root: Path, mark: Path) -> list[str]:
    configure(root, f'[core]\n\tpager = "touch {mark}"\n[pager]\n\tdiff = "touch {mark}"\n')
    return ["--paginate", "diff"]


def signed(root: Path) -> None:
    head = plain(root, "cat-file", "commit", "HEAD").decode()
    header, body = head.split("\n\n", 1)
    forged = f"{header}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n{body}"
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=root,
        input=forged.encode(),
        check=True,
        capture_output=True,
    )
    git(root, "update-ref", "HEAD", made.stdout.decode().strip())


def signature(setting: str) -> Callable[[Path, Path], list[str]]:
    def lay(root: Path, mark: Path) -> list[str]:
        signed(root)
        program = root.parent / "gpg"
        program.write_text(f"#!/bin/sh\ntouch {mark}\n")
        program.chmod(0o755)
        configure(root, f"{setting}\n[gpg]\n\tprogram = {program}\n")
        return ["log"]

    return lay


def submodule(root: Path, *, settings: str, inner: str) -> None:
    other = root.parent / "other"
    other.mkdir()
    git(other, "init", "-q")
    (other / "a.py").write_text("a = 1\n")
    git(other, "add", ".")
    git(other, "commit", "-qm", "one")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    git(root, "commit", "-qm", "with a submodule")
    (root / "sub" / "a.py").write_text("a = 2\n")
    git(root / "sub", "commit", "-qam", "two")
    (root / "sub" / "a.py").write_text("a = 3\n")
    configure(root, settings)
    configure(root, inner, ".git/modules/sub/config")


def differences_of_a_submodule(root: Path, mark: Path) -> list[str]:
    submodule(root, settings="[diff]\n\tsubmodule = diff\n", inner=f'[diff]\n\texternal = "touch {mark}; true"\n')
    return ["diff", "--no-ext-diff"]


def text_conversion_in_a_submodule(root: Path, mark: Path) -> list[str]:
    evil = f'[diff "evil"]\n\ttextconv = "touch {mark}; cat"\n'
    submodule(root, settings="[diff]\n\tsubmodule = diff\n", inner=evil)
    configure(root, "*.py diff=evil\n", ".git/modules/sub/info/attributes")
    return ["diff"]


def monitor_of_a_submodule(root: Path, mark: Path) -> list[str]:
    submodule(root, settings="", inner=f'[core]\n\tfsmonitor = "touch {mark}; false"\n')
    return ["status"]


def filter_of_a_submodule_that_is_never_ignored(root: Path, mark: Path) -> list[str]:
    """The setting of one submodule is stronger than those of all, which we give; only options are stronger."""
    inner = f'[filter "evil"]\n\tclean = "touch {mark}; cat"\n'
    submodule(root, settings='[submodule "sub"]\n\tignore = none\n', inner=inner)
    configure(root, "*.py filter=evil\n", ".git/modules/sub/info/attributes")
    git(root, "add", "sub")  # what differs already is not looked into
    return ["-c", "diff.ignoreSubmodules=dirty", "diff"]


def summary_of_submodules(root: Path, mark: Path) -> list[str]:
    submodule(
        root,
        settings='[status]\n\tsubmoduleSummary = true\n[submodule "sub"]\n\tignore = dirty\n[diff]\n\tsubmodule = log\n',
        inner=f'[core]\n\tfsmonitor = "touch {mark}; false"\n[pager]\n\tlog = "touch {mark}"\n',
    )
    return ["status", "--ignore-submodules=none"]


def filter_of_a_submodule(root: Path, mark: Path) -> list[str]:
    submodule(root, settings="", inner=f'[filter "evil"]\n\tclean = "touch {mark}; cat"\n')
    configure(root, "*.py filter=evil\n", ".git/modules/sub/info/attributes")
    return ["status"]


def missing_objects(root: Path, mark: Path) -> list[str]:
    program = root.parent / "upload-pack"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    configure(
        root,
        f'[remote "origin"]\n\turl = {root}\n\tpromisor = true\n\tpartialclonefilter = blob:none\n'
        f"\tuploadpack = {program}\n[extensions]\n\tpartialClone = origin\n[core]\n\trepositoryformatversion = 1\n",
    )
    blob = plain(root, "rev-parse", "HEAD:main.py").decode().strip()
    (root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    return ["diff"]


def merge_driver(root: Path, mark: Path) -> list[str]:
    (root / "main.py").write_text("base\n")
    git(root, "commit", "-qam", "base")
    git(root, "checkout", "-q", "-b", "theirs")
    (root / "main.py").write_text("theirs\n")
    git(root, "commit", "-qam", "theirs")
    git(root, "checkout", "-q", "-")
    (root / "main.py").write_text("ours\n")
    git(root, "commit", "-qam", "ours")
    git(root, "merge", "-q", "-s", "ours", "-m", "both", "theirs")
    configure(root, "*.py merge=evil\n", ".git/info/attributes")
    configure(root, f'[merge "evil"]\n\tdriver = "touch {mark}; true"\n[log]\n\tdiffMerges = remerge\n')
    return ["show", "--diff-merges=on"]


TRAPS = [
    monitor,
    hooks,
    external_diff,
    text_conversion,
    diff_command,
    clean_filter("evil"),
    clean_filter("a=b.c"),
    clean_filter("\udcff"),
    filter_process,
    included_filter,
    filter_of_a_branch,
    filter_of_a_worktree,
    pager,
    signature("[log]\n\tshowSignature = true"),
    signature('[format]\n\tpretty = "%G?"'),
    differences_of_a_submodule,
    text_conversion_in_a_submodule,
    monitor_of_a_submodule,
    summary_of_submodules,
    filter_of_a_submodule,
    filter_of_a_submodule_that_is_never_ignored,
    missing_objects,
    merge_driver,
]
COMMANDS = [
    "git status -s",
    "git diff",
    "git log -p",
    "git show --stat",
    "git blame main.py",
]


def ids(trap: Callable[..., Any]) -> str:
    return trap.__qualname__


@pytest.mark.parametrize("trap", TRAPS, ids=ids)
async def test_looking_runs_no_program_that_the_repository_names(
    sit: Any, project: Path, tmp_path: Path, trap: Callable[[Path, Path], list[str]]
) -> None:
    mark = tmp_path / "mark"
    spring = trap(project, mark)
    (project / "main.py").write_text("def double(n):\n    return 2 * n\n")
    plain(project, *spring)
    if spring[0] != "--paginate":  # which needs a terminal
        assert mark.exists(), "the trap is none"
        mark.unlink()
    async with sit(on_permission=permissions.allow_all) as desk:
        await desk.use_one("changes")
        assert not mark.exists()
        await list_files(str(project))
        assert not mark.exists()
        for command in COMMANDS:
            await desk.use_one("run", command=command)
            assert not mark.exists(), command


@pytest.mark.parametrize("kept", ["options", "settings"])
@pytest.mark.parametrize("trap", [differences_of_a_submodule, text_conversion_in_a_submodule], ids=ids)
def test_options_and_settings_each_keep_git_from_the_differences_in_a_submodule(
    project: Path, tmp_path: Path, trap: Callable[[Path, Path], list[str]], kept: str
) -> None:
    """Git has changed before what it goes by: none of them is left out because there is the other."""
    mark = tmp_path / "mark"
    plain(project, *trap(project, mark))
    assert mark.exists(), "the trap is none"
    mark.unlink()
    environment = git_environment(project, os.environ) if kept == "settings" else dict(os.environ)
    options = DIFF_OPTIONS if kept == "options" else ("--no-ext-diff",)
    shown = subprocess.run([*GIT, "diff", *options], cwd=project, env=environment, check=True, capture_output=True)
    assert b"Subproject commit" in shown.stdout
    assert not mark.exists()


async def test_a_filter_of_the_users_own_is_not_run_either(
    sit: Any, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes by settings in which the repository may name programs."""
    (tmp_path / "gitconfig").write_text(f'[filter "lfs"]\n\tclean = "touch {tmp_path / "mark"}; cat"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    configure(project, "*.py filter=lfs\n", ".gitattributes")
    (project / "main.py").write_text("x = 1\n")
    async with sit() as desk:
        assert "+x = 1" in (await desk.use_one("changes")).text
    assert not (tmp_path / "mark").exists()


async def test_more_filters_than_can_be_switched_off_are_refused_at_once(
    sit: Any, project: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    clean_filter("evil")(project, mark)
    configure(project, "".join(f'[filter "{"x" * 50}{number}"]\n\tclean = cat\n' for number in range(70_000)))
    (project / "main.py").write_text("x = 1\n")
    async with sit() as desk:
        outcome = await desk.use_one("changes")
    assert outcome.is_error
    assert "filters that can't all be switched off" in outcome.text
    assert not mark.exists()


@pytest.mark.parametrize(
    ("listed", "is_whole"),
    [
        ("filter.a.clean\0", False),
        ("filter.a.clean", True),
        ("warning: x\nfilter.a.clean\0", True),
        ("filter.a.clean\0warning: x\nfilter.b.clean\0", True),
        ("filter.\ufffd.clean\0", True),
        ("".join(f"filter.{number}.clean\0" for number in range(101)), True),
    ],
)
def test_a_list_of_filters_that_may_not_be_the_list_is_refused(listed: str, is_whole: bool) -> None:
    with pytest.raises(UnusableRepository, match="can't all be switched off"):
        filter_overrides(listed, is_whole=is_whole)


def test_a_list_of_filters_switches_off_each_of_them() -> None:
    assert filter_overrides("", is_whole=True) == {}
    off = filter_overrides("filter.a.b.clean\0filter..process\0filter.set\0", is_whole=True)
    assert {name for name, value in off.items() if not value} == {
        *("filter.a.b.clean", "filter.a.b.smudge", "filter.a.b.process"),
        *("filter..clean", "filter..smudge", "filter..process"),
    }


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """Another repository of the user's."""
    other = tmp_path / "private"
    other.mkdir()
    git(other, "init", "-q")
    (other / "main.py").write_text("the secret\n")
    git(other, "add", ".")
    git(other, "commit", "-qm", "the secret plan")
    return other


def work_tree_elsewhere(project: Path, private: Path) -> None:
    configure(project, f"[core]\n\tworktree = {private}\n")


def git_file(project: Path, private: Path) -> None:
    (project / ".git").rename(project / "old")
    (project / ".git").write_text(f"gitdir: {private / '.git'}\n")


def git_link(project: Path, private: Path) -> None:
    (project / ".git").rename(project / "old")
    (project / ".git").symlink_to(private / ".git")


def shared_directory(project: Path, private: Path) -> None:
    (project / ".git" / "commondir").write_text(f"{private / '.git'}\n")
    head = plain(private, "symbolic-ref", "HEAD").decode()
    (project / ".git" / "HEAD").write_text(f"ref: {head}")


def shared_directory_of_a_file(project: Path, private: Path) -> None:
    shared_directory(project, private)
    (project / ".git").rename(project / "old")
    (project / ".git").write_text("gitdir: old\n")


def linked_directories(project: Path, private: Path) -> None:
    for name in ("objects", "refs"):
        (project / ".git" / name).rename(project / f"old-{name}")
        (project / ".git" / name).symlink_to(private / ".git" / name)


def linked_branches(project: Path, private: Path) -> None:
    (project / ".git" / "refs" / "heads").rename(project / "old-heads")
    (project / ".git" / "refs" / "heads").symlink_to(private / ".git" / "refs" / "heads")
    _borrow(project, private)


def borrowed_objects(project: Path, private: Path) -> None:
    _borrow(project, private)
    commit = plain(private, "rev-parse", "HEAD").decode()
    (project / ".git" / "HEAD").write_text(commit)


def _borrow(project: Path, private: Path) -> None:
    alternates = project / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f'"{private}/.git/objects"\n')


@pytest.mark.parametrize(
    "lead",
    [
        work_tree_elsewhere,
        git_file,
        git_link,
        shared_directory,
        shared_directory_of_a_file,
        linked_directories,
        linked_branches,
        borrowed_objects,
    ],
    ids=ids,
)
async def test_looking_shows_nothing_of_another_repository(
    sit: Any, project: Path, private: Path, lead: Callable[[Path, Path], None]
) -> None:
    lead(project, private)
    assert b"secret" in plain(project, "diff", "-R", "HEAD") + plain(project, "diff"), "it leads nowhere"
    async with sit(on_permission=permissions.reject_all) as desk:
        for command in COMMANDS:
            desk.agent_side.saved_answers[f"run `{' '.join(command.split()[:2])}`, whatever it looks at"] = True
            assert "the secret" not in (await desk.use_one("run", command=command)).text
        assert "the secret" not in (await desk.use_one("changes")).text


async def test_worktrees_and_submodules_are_looked_at_as_ever(sit: Any, project: Path, tmp_path: Path) -> None:
    submodule(project, settings="", inner="")
    git(project, "worktree", "add", "-q", str(tmp_path / "tree"))
    (tmp_path / "tree" / "main.py").write_text("x = 1\n")
    for root, change in [(tmp_path / "tree", "+x = 1"), (project / "sub", "+a = 3"), (project, "+Subproject commit")]:
        async with sit(root=root) as desk:
            assert change in (await desk.use_one("changes")).text
        assert await list_files(str(root)) != []


async def test_variables_lead_git_nowhere(
    sit: Any, project: Path, private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    for name, value in {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": f"touch {mark}; false",
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor=touch {mark}; false'",
        "GIT_DIR": str(private / ".git"),
        "GIT_EXTERNAL_DIFF": f"touch {mark}",
        "GIT_PAGER": f"touch {mark}",
        "GIT_TRACE": str(mark),
        "GIT_WORK_TREE": str(private),
    }.items():
        monkeypatch.setenv(name, value)
    (project / "main.py").write_text("x = 1\n")
    async with sit(on_permission=permissions.allow_all) as desk:
        assert "+x = 1" in (await desk.use_one("changes")).text
        assert "+x = 1" in (await desk.use_one("run", command="git diff")).text
    assert "test_main.py" in await list_files(str(project))
    assert not mark.exists()


@pytest.mark.parametrize("entry", ["{project}/bin", "bin", "", "."])
async def test_no_program_of_the_session_directories_is_taken_for_git_or_another(
    sit: Any, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    (project / "bin").mkdir()
    for path in (project, project / "bin"):
        for name in ("git", "cat", "grep"):
            (path / name).write_text(f"#!/bin/sh\ntouch {tmp_path / 'mark'}\n")
            (path / name).chmod(0o755)
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", f"{entry.format(project=project)}{os.pathsep}{os.environ['PATH']}")
    async with sit(on_permission=permissions.allow_all) as desk:
        assert "bin/" in (await desk.use_one("changes")).text
        assert "double" in (await desk.use_one("run", command="cat main.py")).text
        assert "double" in (await desk.use_one("run", command="grep double main.py")).text
    await list_files(str(project))
    assert not (tmp_path / "mark").exists()


async def test_a_bare_repository_in_the_project_is_not_asked(sit: Any, project: Path, tmp_path: Path) -> None:
    mark, inner = tmp_path / "mark", project / "inner"
    git(project, "init", "-q", "--bare", str(inner))
    configure(inner, f'[core]\n\tbare = false\n\tworktree = {inner}\n\tfsmonitor = "touch {mark}; false"\n', "config")
    plain(inner, "status")
    assert mark.exists(), "the trap is none"
    mark.unlink()
    async with sit(on_permission=permissions.reject_all) as desk:
        desk.agent_side.saved_answers["run `git status`, whatever it looks at, in inner"] = True
        assert (await desk.use_one("run", command="git status", directory="inner")).is_error
        assert not mark.exists()
    async with sit(root=inner) as desk:
        assert "bare git repository" in (await desk.use_one("changes")).text
    await list_files(str(inner))
    assert not mark.exists()


def test_git_itself_is_told_to_use_no_bare_repository(project: Path) -> None:
    """One that comes into the way after the check."""
    inner = project / "inner"
    git(project, "init", "-q", "--bare", str(inner))
    environment = git_environment(project, os.environ)
    del environment["GIT_CEILING_DIRECTORIES"]
    ended = subprocess.run([*GIT, "log"], cwd=inner, env=environment, check=False, capture_output=True)
    if [int(part) for part in plain(project, "version").split()[2].split(b".")[:2]] < [2, 38]:
        pytest.skip("git 2.38 is the first that can be told")
    assert ended.returncode == 128
    assert b"safe.bareRepository" in ended.stderr


async def test_the_changes_hide_accords_own_files(sit: Any, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text("[environment]\n")
    (tmp_path / "seen.txt").write_text("before\n")
    git(tmp_path, "add", "home", "seen.txt")
    git(tmp_path, "commit", "-qm", "begin")
    (tmp_path / "home" / "config.toml").write_text("[environment]\nACME_KEY = 'sesame'\n")
    (tmp_path / "seen.txt").write_text("after\n")
    async with sit(root=tmp_path, on_permission=permissions.reject_all) as desk:
        desk.agent_side.saved_answers["run `git diff`, whatever it looks at"] = True
        changes = (await desk.use_one("changes")).text
        assert "+after" in changes
        assert "sesame" not in changes
        assert "sesame" not in (await desk.use_one("run", command="git diff")).text


def test_git_is_told_the_working_tree_and_never_the_users_variables(project: Path) -> None:
    assert find_working_tree(project / "sub" / "missing") == project.resolve()
    environment = git_environment(project, {"GIT_DIR": "/x", "GIT_EXEC_PATH": "/y", "HOME": "/z"})
    assert environment["GIT_WORK_TREE"] == str(project)
    assert "GIT_DIR" not in environment
    assert (environment["GIT_EXEC_PATH"], environment["HOME"]) == ("/y", "/z")
