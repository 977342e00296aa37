"""Counting instructions per layer: callgrind's output, the correction for trampolines, and the table."""

from __future__ import annotations

import shutil
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from benchmarks import callgrind
from benchmarks.callgrind import Counts, read_counts, valgrind_command
from benchmarks.layers import LAYERS, REST, layer_of
from benchmarks.profile import PROFILES, Times, cost_table, function_table, without_trampolines

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the benchmarks read /proc")

PROGRAM = """
import json

def outer(count):
    return sum(inner(number) for number in range(count))

def inner(number):
    return len(json.dumps([number] * 100))

outer(50)
"""
OUTPUT = """\
version: 1
cmd:  python -m benchmarks.programs.accord_client round-trips
events: Ir

ob=(1) /usr/lib/libpython3.13.so.1.0
fn=(1) (below main)
1 100
cob=(2) ???
cfn=(2) 0x00000010
calls=1 0
2 900

ob=(2)
fn=(2)
0 200
cfn=(3) 0x00000020'2
calls=4 0
+1 600
cob=(1)
cfn=(4) memcpy
calls=2 0
+1 100

fn=(3)
0 500
cob=(1)
cfn=(6) gc_collect_main
calls=1 0
* 7000
cob=(3) /usr/lib/lib-dynload/_asyncio.cpython-313.so
cfn=(5) task_step_impl
calls=3 0
* 100

ob=(1)
fn=(4)
0 100

fn=(6)
0 7000

ob=(3)
fn=(5)
0 100
"""


def test_the_cost_of_a_c_function_belongs_to_the_python_function_that_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {0x10: "outer:/src/accord/peer/peer.py", 0x20: "inner:/src/accord/jsonrpc/codec.py"}
    monkeypatch.setattr(callgrind, "_read_perf_map", lambda _: names)
    path = tmp_path / "counts.1"
    path.write_text(OUTPUT)
    counts = read_counts(path)
    assert counts.command.endswith("accord_client round-trips")
    assert counts.instructions == {
        "(below main)": 100,
        "outer:/src/accord/peer/peer.py": 300,
        "inner:/src/accord/jsonrpc/codec.py": 500,
        "task_step_impl:_asyncio.cpython-313.so": 100,
    }
    assert counts.total == 1000
    assert counts.calls["inner:/src/accord/jsonrpc/codec.py"] == 4
    assert counts.calls["task_step_impl:_asyncio.cpython-313.so"] == 3


def test_the_skipped_functions_are_all_but_the_kept_ones(tmp_path: Path) -> None:
    skipped = [option.partition("=")[2] for option in valgrind_command(tmp_path) if option.startswith("--fn-skip=")]

    def is_skipped(name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in skipped)

    for name in ("_PyEval_EvalFrameDefault", "PyDict_GetItem", "r", "rea", "tas", "dict_get", "_", "memcpy@GLIBC_2"):
        assert is_skipped(name)
    for name in (
        "task_step",
        "read",
        "gc_collect_main",
        "gc_collect_full",
        "0x0000000004f20368",
        "(below main)",
        "_start",
    ):
        assert not is_skipped(name)


def test_two_runs_give_the_cost_of_one_operation() -> None:
    few, many = Counts("few"), Counts("many")
    few.instructions.update(start=500, work=100)
    many.instructions.update(start=500, work=300)
    assert many.per_unit(few, 10).instructions == {"start": 0, "work": 20}


def test_what_trampolines_cost_is_taken_off_by_calls() -> None:
    counts = Counts()
    counts.instructions.update(caller=400.0, callee=600.0)
    counts.callers["caller", "callee"] = 10
    counts.callers["", "callee"] = 20
    corrected = without_trampolines(counts, plain_total=800.0)
    assert corrected.instructions == {"caller": 350.0, "callee": 450.0}


def test_every_file_of_a_layer_is_there() -> None:
    for parts in LAYERS.values():
        for part in parts:
            if part.startswith("/accord/"):
                assert (ROOT / "src" / part.removeprefix("/")).exists(), part


def test_every_package_of_the_library_has_a_layer() -> None:
    packages = [path.parent.name for path in (ROOT / "src/accord").glob("*/__init__.py")]
    without = {name for name in packages if layer_of(f"f:/src/accord/{name}/module.py") == REST}
    assert without <= {"apps", "cli", "errors", "local", "testing"}


def test_a_layer_is_found_by_the_path_of_the_function() -> None:
    assert layer_of("join:/src/accord/transports/framing.py") == "framing"
    assert layer_of("open:/src/accord/transports/memory.py") == "transport"
    assert layer_of("task_step:_asyncio.cpython-313.so") == "tasks and wake-ups"
    assert layer_of("run:/lib/python3.13/asyncio/unix_events.py") == "the rest of asyncio"
    assert layer_of("loads:/lib/python3.13/json/__init__.py") == REST


def test_the_table_has_a_row_per_layer_and_says_where_the_rest_of_the_time_goes() -> None:
    client, agent = Counts(), Counts()
    client.instructions.update({"a:/accord/peer/peer.py": 300.0, "b:/lib/json.py": 100.0})
    client.calls.update({"read:libc.so.6": 2.0})
    agent.instructions.update({"c:/accord/peer/peer.py": 400.0})
    counts = {"client": client, "agent": agent}
    table = cost_table(PROFILES["round-trip"], counts, Times(wall=100.0, user=80.0, kernel=15.0), "3.13.0")
    assert "| peer | 300 | 400 | 700 | 87.5% | 70 |" in table
    assert "| all instructions | 400 | 400 | 800 | 100% | 80 |" in table
    assert "| the kernel: system calls and switches | | | | | 15 |" in table
    assert "| neither end runs | | | | | 5 |" in table
    assert "client: read 2; agent: " in table
    assert "| 400 | 0 | agent | /accord/peer/peer.py: c |" in function_table(counts)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="trampolines came with Python 3.12")
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_callgrind_counts_python_functions(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    subprocess.run([*valgrind_command(tmp_path), sys.executable, "-X", "perf", str(program)], check=True)
    (path,) = tmp_path.glob("counts.*")
    counts = read_counts(path)
    assert counts.calls[f"inner:{program}"] == 50
    assert counts.instructions[f"inner:{program}"] > 0
