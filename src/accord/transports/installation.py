"""The commands of this installation, as its user types them: `accord`, and pip for an extra.

The virtual environment that accord runs in need not be active: `make run` starts `.venv/bin/python`. Then the bare names
are not found, or are those of another Python.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path


def program_command() -> str:
    """`accord`, or the path of that program where the shell does not find it; quoted for the shell."""
    if _is_found("accord"):
        return "accord"
    script = Path(sysconfig.get_path("scripts")) / ("accord.exe" if os.name == "nt" else "accord")
    return _word(script) if script.is_file() else f"{_word(Path(sys.executable))} -m accord"


def install_command(extras: str) -> str:
    """The command that adds extras, such as `http` or `coder,local`. It needs no index that has accord, which is installed."""
    wanted = f"'accord[{extras}]'"
    if find_spec("pip") is None:  # as in an environment that uv has made
        return f"uv pip install --python {_word(Path(sys.executable))} {wanted}"
    return f"pip install {wanted}" if _is_found("pip") else f"{_word(Path(sys.executable))} -m pip install {wanted}"


def _is_found(name: str) -> bool:
    """Whether the shell finds this program; in a virtual environment, the one that belongs to it."""
    found = shutil.which(name)
    if found is None or sys.prefix == sys.base_prefix:
        return found is not None
    return Path(found).resolve().parent == Path(sysconfig.get_path("scripts")).resolve()


def _word(path: Path) -> str:
    """The path as a word of a command, relative where it is below the current directory."""
    with suppress(ValueError, OSError):  # elsewhere, or the directory is gone
        path = path.relative_to(Path.cwd())
    return shlex.quote(str(path))
