"""Programs that are started where a stranger's files lie: nothing from there is run, and nothing is imported."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from accord import permissions
from accord.apps.coder.errors import ModelFailed
from accord.apps.coder.models.local_model import _Process  # the only way to it without a language model
from accord.apps.coder.tools import search
from accord.apps.console.errors import ConsoleFailed
from accord.apps.console.screen.mentions import list_files
from accord.apps.console.screen.pasted_pictures import read_clipboard_picture
from accord.local.paths import Roots
from accord.local.processes import program_environment


async def test_the_local_model_imports_nothing_that_lies_beside_its_file(tmp_path: Path) -> None:
    for name in ("accord", "json", "socket", "xllamacpp"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\nraise SystemExit(1)\n")
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    process = _Process()
    with pytest.raises(ModelFailed, match="can't be loaded"):
        await process.start(tmp_path / "model.gguf", 0)
    await process.end()
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("entry", ["{project}/bin", "bin", ".", ""])
async def test_who_pastes_runs_no_program_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    project = tmp_path / "project"
    (project / "bin").mkdir(parents=True)
    for directory in (project, project / "bin"):
        for name in ("xclip", "wl-paste", "pngpaste", "osascript"):
            (directory / name).write_text(f"#!/bin/sh\ntouch {tmp_path / 'mark'}\n")
            (directory / name).chmod(0o755)
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", os.pathsep.join([entry.format(project=project), str(tmp_path / "nothing")]))
    for variable in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.setenv(variable, ":0")
    with pytest.raises(ConsoleFailed, match="can't be pasted without"):
        await read_clipboard_picture(str(project))
    assert not (tmp_path / "mark").exists()


VARIABLES = {
    "LD_PRELOAD": "./x.so",
    "LD_AUDIT": "./x.so",
    "DYLD_INSERT_LIBRARIES": "./x.dylib",
    "PYTHONPATH": ".",
    "PYTHONSTARTUP": "x.py",
    "BASH_ENV": "x.sh",
    "PERL5OPT": "-Mx",
    "NODE_OPTIONS": "--require ./x.js",
    "GCONV_PATH": ".",
    "GREP_OPTIONS": "-f x",
    "GREP_COLOR": "1;31",
    "GREP_COLORS": "ms=01;31",
    "POSIXLY_CORRECT": "1",
    "RIPGREP_CONFIG_PATH": "x",
    "GIT_DIR": "x",
    "GIT_EXTERNAL_DIFF": "x",
    "GIT_SSH_COMMAND": "x",
    "ACME_KEY": "sesame",
}


def test_no_variable_that_makes_a_program_run_or_do_more_is_passed_on() -> None:
    kept = {"PATH": "/usr/bin", "HOME": "/home/me", "LANG": "C", "LC_ALL": "C"}
    assert program_environment(Roots(), {**VARIABLES, **kept}) == kept


@pytest.mark.parametrize("name", ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"])
def test_libraries_are_searched_outside_of_the_project_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "project")
    roots = Roots([tmp_path / "project"])
    entries = ["", ".", "lib", "/opt/a", f"{tmp_path}/project", f"{tmp_path}/project/lib", f"{tmp_path}/link/lib"]
    entries += ["$ORIGIN/../lib", "/opt/$LIB;lib;/opt/b", f"/opt/../{tmp_path}/project"]
    assert program_environment(roots, {name: ":".join(entries), "PATH": "/bin"})[name] == "/opt/a:/opt/b"
    assert program_environment(roots, {name: ":.", "PATH": "/bin"}) == {"PATH": "/bin"}


def test_settings_and_programs_of_git_are_not_taken_from_the_project(tmp_path: Path) -> None:
    inside = {"GIT_EXEC_PATH": f"{tmp_path}/bin", "GIT_CONFIG_GLOBAL": ".gitconfig", "GIT_CONFIG_SYSTEM": "x/y"}
    assert program_environment(Roots([tmp_path]), {**inside, "PATH": ""}) == {"PATH": ""}
    outside = {
        "GIT_EXEC_PATH": "/opt/git",
        "GIT_CONFIG_GLOBAL": "/etc/a",
        "GIT_CONFIG_SYSTEM": "/etc/b",
        "PATH": "/bin",
    }
    assert program_environment(Roots([tmp_path]), outside) == outside


def told_variables(directory: Path, *names: str) -> None:
    """Programs that say in which environment they were started, and fail: of a search that fails, all of it is told."""
    directory.mkdir()
    for name in names:
        (directory / name).write_text("#!/bin/sh\n/usr/bin/env\nexit 2\n")
        (directory / name).chmod(0o755)


async def test_a_program_that_looks_is_told_no_more(
    sit: Any, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told_variables(tmp_path / "bin", "cat", "grep", "rg")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / "nothing"))
    searched = os.pathsep.join([str(tmp_path / "bin"), "/usr/bin", "/bin"])
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", "bin", str(project / "bin"), searched]))
    names = ("GREP_OPTIONS", "GREP_COLOR", "GREP_COLORS", "RIPGREP_CONFIG_PATH", "POSIXLY_CORRECT", "LD_PRELOAD")
    for name in names[:-1]:
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("LD_PRELOAD", "")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/none:")
    async with sit(on_permission=permissions.allow_all) as desk:
        for tool, arguments in [
            ("run", {"command": "cat main.py"}),
            ("run", {"command": "grep x main.py"}),
            ("search", {"pattern": "x"}),
        ]:
            told = (await desk.use_one(tool, **arguments)).text
            assert [name for name in names if name in told] == [], tool
            assert f"\nPATH={searched}\n" in f"\n{told}", tool
            assert "LD_LIBRARY_PATH=/opt/none\n" in told, tool


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A library that leaves a mark when it is loaded."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("there is no compiler, or libraries are loaded otherwise")
    source = tmp_path / "library.c"
    mark = f'unsetenv("LD_LIBRARY_PATH"); system("touch {tmp_path / "mark"}");'  # beside the project
    source.write_text(f"#include <stdlib.h>\n__attribute__((constructor)) static void load(void) {{ {mark} }}\n")
    made = tmp_path / "library.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
    return made


def loaded_by(*programs: str) -> set[str]:
    paths = [shutil.which(each) or each for each in programs]
    told = [subprocess.run(["ldd", path], check=False, capture_output=True).stdout for path in paths]
    return set(re.findall(r"(lib[\w.+-]+) =>", b"".join(told).decode())) - {"libc.so.6", "libpthread.so.0"}


@pytest.mark.parametrize("entry", ["", ".", "lib", "{project}", "{project}/lib"])
async def test_no_library_of_the_project_is_loaded(
    sit: Any, project: Path, monkeypatch: pytest.MonkeyPatch, library: Path, entry: str
) -> None:
    mark = library.with_name("mark")
    (project / "lib").mkdir()
    names = loaded_by("git", "ls", "grep")
    if entry in ("", "."):  # the guard in front of each command is a Python
        names |= loaded_by(importlib.util.find_spec("_ctypes").origin)  # type: ignore[union-attr, arg-type]
    for name in names:
        for directory in (project, project / "lib"):
            shutil.copy(library, directory / name)
    monkeypatch.chdir(project)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/opt/none:{entry.format(project=project)}")
    subprocess.run(["git", "status"], check=False, capture_output=True)  # noqa: ASYNC221
    assert mark.exists(), "the trap is none"
    mark.unlink()
    async with sit(on_permission=permissions.allow_all) as desk:
        assert "lib/" in (await desk.use_one("changes")).text
        for command in ("ls", "git status", "grep -c double main.py"):
            assert "exit code 0" in (await desk.use_one("run", command=command)).text
        await desk.use_one("search", pattern="double")
    assert "main.py" in await list_files(str(project))
    assert not mark.exists()


@pytest.mark.parametrize("kind", ["normalTarget", "eventTarget", "perfTarget"])
async def test_settings_of_the_users_make_git_write_nothing(
    sit: Any, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """They may lie in the session's directories, if those are the user's home."""
    (tmp_path / "gitconfig").write_text(f"[trace2]\n\t{kind} = {tmp_path / 'mark'}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    subprocess.run(["git", "status"], cwd=project, check=True, capture_output=True)  # noqa: ASYNC221
    assert (tmp_path / "mark").exists(), "the trap is none"
    (tmp_path / "mark").unlink()
    async with sit(on_permission=permissions.allow_all) as desk:
        await desk.use_one("changes")
        await desk.use_one("run", command="git status")
    assert not (tmp_path / "mark").exists()


def listing(directory: Path) -> list[str]:
    return sorted(map(str, directory.rglob("*")))


@pytest.fixture
def installed(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An accord that is installed in the project's own virtual environment."""
    usual = sysconfig.get_path
    for name in ("bin", "lib/python3/site-packages"):
        (project / "tools" / ".venv" / name).mkdir(parents=True)
    places = {"data": "tools/.venv", "scripts": "tools/.venv/bin", "purelib": "tools/.venv/lib/python3/site-packages"}
    monkeypatch.setattr(
        sysconfig, "get_path", lambda name: str(project / places[name]) if name in places else usual(name)
    )
    shutil.copy(Path(usual("scripts")) / "rg", project / "tools" / ".venv" / "bin" / "rg")
    return project / "tools" / ".venv"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("move", {"source": "tools/.venv/bin/rg", "destination": "x"}),
        ("move", {"source": "evil", "destination": "tools/.venv/bin/rg2"}),
        ("move", {"source": "evil", "destination": "scripts/rg2"}),
        ("move", {"source": "tools/.venv", "destination": "x"}),
        ("move", {"source": "tools", "destination": "x"}),
        ("move", {"source": "tools/.venv/bin", "destination": "x"}),
        ("write", {"path": "tools/.venv/lib/python3/site-packages/x.pth", "content": "import evil\n"}),
        ("write", {"path": "scripts/x", "content": "x"}),
        ("edit", {"path": "notes", "old_text": "home", "new_text": "x"}),
    ],
)
async def test_what_accord_is_installed_in_is_not_changed_without_a_question(
    sit: Any, project: Path, installed: Path, name: str, arguments: dict[str, Any]
) -> None:
    (project / "evil").write_text("#!/bin/sh\n")
    (installed / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (project / "scripts").symlink_to("tools/.venv/bin")
    (project / "notes").symlink_to("tools/.venv/pyvenv.cfg")
    before = listing(project)
    async with sit(on_permission=permissions.reject_all) as desk:
        await desk.session.set_option("mode", "code")
        desk.agent_side.saved_answers["edit files"] = True
        assert "rejected this call" in (await desk.use_one(name, **arguments)).text
        assert "main.py" in (await desk.use_one("search", pattern="double")).text
    assert listing(project) == before


async def test_ripgrep_is_not_taken_from_the_project_by_the_search_path(
    sit: Any, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Path(sysconfig.get_path("scripts"))
    for directory in (project, project / "bin"):
        directory.mkdir(exist_ok=True)
        (directory / "rg").write_text(f"#!/bin/sh\ntouch {tmp_path / 'mark'}\n")
        (directory / "rg").chmod(0o755)
    monkeypatch.chdir(project)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / "nothing"))
    monkeypatch.setenv("PATH", os.pathsep.join([f"{project}/bin", "bin", ".", "", str(found), os.environ["PATH"]]))
    async with sit() as desk:
        assert "main.py" in (await desk.use_one("search", pattern="double")).text
    assert not (tmp_path / "mark").exists()


async def test_no_settings_of_ripgreps_count_even_if_a_variable_names_them(
    sit: Any, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ripgreprc").write_text(f"--pre={tmp_path / 'evil'}\n")
    (tmp_path / "evil").write_text(f"#!/bin/sh\ntouch {tmp_path / 'mark'}\n")
    (tmp_path / "evil").chmod(0o755)
    usual = search.environment
    more = {"RIPGREP_CONFIG_PATH": str(tmp_path / "ripgreprc")}
    monkeypatch.setattr(search, "environment", lambda roots: {**usual(roots), **more})
    async with sit() as desk:
        assert "main.py" in (await desk.use_one("search", pattern="double")).text
    assert not (tmp_path / "mark").exists()
