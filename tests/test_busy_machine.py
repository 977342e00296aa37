"""The busy processes of `make test-busy` are there while the command runs, and gone afterwards, whatever happens."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
ROOT = Path(__file__).resolve().parents[1]


def start(*command: str) -> tuple[subprocess.Popen[str], list[int]]:
    """With two busy processes; their ids."""
    words = [sys.executable, "-m", "tests.busy_machine", "2", *command]
    process = subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    return process, [int(word) for word in line.partition(": ")[2].split()]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_end(pid: int) -> None:
    """Of a process that is not a child of this one."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        select.select([descriptor], [], [])
    finally:
        os.close(descriptor)


def test_they_run_while_the_command_does_and_its_status_is_theirs():
    process, ids = start("sh", "-c", "read line; exit 7")
    assert len(ids) == 2
    assert all(map(is_alive, ids))
    out, _ = process.communicate("go\n")
    assert (process.returncode, out) == (7, "")
    assert not any(map(is_alive, ids))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_they_end_with_what_started_them(number: signal.Signals):
    process, ids = start("sh", "-c", "read line")
    process.send_signal(number)
    process.communicate()
    assert process.returncode in (128 + number, -number)
    for pid in ids:  # after a kill they notice it themselves
        wait_for_end(pid)


def test_they_have_the_usual_priority():
    process, ids = start("sh", "-c", "read line")
    assert {os.getpriority(os.PRIO_PROCESS, pid) for pid in ids} == {os.getpriority(os.PRIO_PROCESS, 0)}
    process.communicate("go\n")
