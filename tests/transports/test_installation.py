"""Commands that a message tells its reader to type have to work in the reader's shell."""

from __future__ import annotations

import re
import sys
import sysconfig
from pathlib import Path

import pytest

import accord
from accord.transports import installation
from accord.transports.installation import install_command, program_command


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The programs of a virtual environment that is not active, with nothing else on the PATH."""
    directory = tmp_path / ".venv" / "bin"
    directory.mkdir(parents=True)
    for name in ("accord", "pip", "python"):
        _add_program(directory / name)
    monkeypatch.setattr(sysconfig, "get_path", {"scripts": str(directory)}.__getitem__)
    monkeypatch.setattr(sys, "executable", str(directory / "python"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setenv("PATH", str(tmp_path / "other"))
    monkeypatch.chdir(tmp_path)
    return directory


def _add_program(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.touch(mode=0o755)


def test_the_programs_of_an_active_environment_have_their_bare_names(scripts: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(scripts))
    assert program_command() == "accord"
    assert install_command("http") == "pip install 'accord[http]'"


def test_a_link_to_the_program_is_found_by_its_bare_name(scripts: Path, tmp_path: Path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "accord").symlink_to(scripts / "accord")  # as pipx and uv make it
    assert program_command() == "accord"


@pytest.mark.parametrize("has_another", [False, True], ids=["nothing on the PATH", "those of another Python"])
def test_the_programs_of_another_environment_are_not_meant(scripts: Path, tmp_path: Path, has_another: bool):
    if has_another:
        _add_program(tmp_path / "other" / "accord")
        _add_program(tmp_path / "other" / "pip")
    assert program_command() == ".venv/bin/accord"
    assert install_command("coder,local") == ".venv/bin/python -m pip install 'accord[coder,local]'"


def test_from_elsewhere_the_paths_are_whole_and_quoted(scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a b").mkdir()
    scripts.parent.rename(tmp_path / "a b" / ".venv")
    moved = tmp_path / "a b" / ".venv" / "bin"
    monkeypatch.setattr(sysconfig, "get_path", {"scripts": str(moved)}.__getitem__)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert program_command() == f"'{moved / 'accord'}'"


def test_without_the_script_the_module_is_run(scripts: Path):
    (scripts / "accord").unlink()
    assert program_command() == ".venv/bin/python -m accord"


def test_an_environment_without_pip_is_left_to_uv(scripts: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    assert install_command("http") == "uv pip install --python .venv/bin/python 'accord[http]'"


def test_outside_a_virtual_environment_what_the_shell_finds_is_used(
    scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "base_prefix", sys.prefix)
    _add_program(tmp_path / "other" / "accord")  # as a shim of pyenv
    assert program_command() == "accord"
    assert install_command("http") == ".venv/bin/python -m pip install 'accord[http]'"


def test_no_message_spells_the_command_itself() -> None:
    """It would be that of another installation."""
    package = Path(accord.__file__).parent
    spelled = [
        path.name for path in package.rglob("*.py") if re.search(r"pip install", path.read_text(encoding="utf-8"))
    ]
    assert spelled == ["installation.py"]
