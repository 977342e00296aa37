"""Checkpoints of a directory for undo, compared with `git status` of the same directory.

Before each lap the same three files change. Both run from this process, one lap after the other.
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import mkdtemp

from accord.local.checkpoints import Checkpoints
from benchmarks.contenders import Contender
from benchmarks.experiments.experiment import Experiment, Readings, Scale

__all__ = ["EXPERIMENTS"]

_SAVE = Contender("checkpoint", label="accord")
_STATUS = Contender("git status")
_LAPS = 15
_FILES_EACH = 20
_lap = count()


@cache
def _tree(files: int) -> Path:
    """A repository with so many files, all of them committed."""
    parent = Path(mkdtemp(prefix="accord-checkpoints-"))
    atexit.register(shutil.rmtree, parent, ignore_errors=True)
    tree = parent / "tree"
    for number in range(files):
        path = tree / f"package{number // _FILES_EACH // 20}" / f"module{number // _FILES_EACH}" / f"{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"value_{number}_{line} = {line}\n" for line in range(number % 200)))
    identity = ("-c", "user.name=accord", "-c", "user.email=accord@localhost", "-c", "gc.auto=0")
    for command in (("init", "--quiet"), ("add", "--all"), (*identity, "commit", "--quiet", "--message=first")):
        subprocess.run(["git", *command], cwd=tree, check=True, capture_output=True)
    return tree


@cache
def _checkpoints(files: int) -> Checkpoints:
    """After the first checkpoint, which reads all files."""
    tree = _tree(files)
    checkpoints = Checkpoints(tree.parent / "state", [tree])
    atexit.register(checkpoints.close)
    checkpoints.save()
    return checkpoints


def _change(tree: Path) -> None:
    for path in sorted(tree.glob("package0/*/*.py"))[::7][:3]:
        path.write_text(f"changed = {next(_lap)}\n")


def _status_seconds(files: int) -> float:
    begin = time.perf_counter()
    subprocess.run(["git", "status"], cwd=_tree(files), check=True, capture_output=True)
    return time.perf_counter() - begin


def _save_seconds(files: int) -> float:
    """Until the prompt may be sent. The rest of the work is done while the agent reads it."""
    checkpoints, stored = _checkpoints(files), list[float]()
    begin = time.perf_counter()
    checkpoints.save(lambda: stored.append(time.perf_counter() - begin))
    return stored[0]


def _run(contender: Contender, scale: Scale) -> Readings:
    lap: Callable[[int], float] = _save_seconds if contender is _SAVE else _status_seconds
    tree = _tree(scale.files)
    _checkpoints(scale.files)
    changed: list[float] = []
    unchanged: list[float] = []
    for _ in range(_LAPS):
        _change(tree)
        changed.append(lap(scale.files))
        unchanged.append(lap(scale.files))
    return {"changed": median(changed) * 1e3, "unchanged": median(unchanged) * 1e3}


EXPERIMENTS = {"checkpoint": Experiment((_SAVE, _STATUS), _run)}
