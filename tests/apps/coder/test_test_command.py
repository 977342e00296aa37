"""How a project's tests are found, and what is read from what they write."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from accord.apps.coder.test_command import FailedTest, failed_tests, find_test_command, summary, without_pytest

PYTHON = "python3 -m pytest -q"


@pytest.mark.parametrize(
    ("names", "contents", "command"),
    [
        (["Cargo.toml", "src/"], {}, "cargo test"),
        (["go.mod"], {}, "go test ./..."),
        (["pom.xml"], {}, "mvn -q test"),
        (["build.gradle", "gradlew"], {}, "./gradlew test"),
        (["build.gradle.kts"], {}, "gradle test"),
        (["package.json"], {"package.json": '{"scripts": {"test": "jest"}}'}, "npm test --silent"),
        (["package.json"], {"package.json": '{"scripts": {"build": "tsc"}}'}, None),
        (["package.json"], {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\""}}'}, None),
        (["package.json"], {"package.json": "[]"}, None),
        (["package.json"], {"package.json": "{"}, None),
        (["Makefile", "pyproject.toml"], {"Makefile": "all:\n\ntest: all\n\tpytest\n"}, "make test"),
        (["Makefile", "pyproject.toml"], {"Makefile": "check:\n\tpytest\n"}, "make check"),
        (["Makefile", "main.py"], {"Makefile": "test := 1\nretest:\n"}, PYTHON),
        (["Makefile"], {"Makefile": "all:\n"}, None),
        (["pyproject.toml", "uv.lock"], {}, "uv run pytest -q"),
        (["pyproject.toml", "uv.lock", ".venv/"], {}, ".venv/bin/python -m pytest -q"),
        (["setup.py", "venv/"], {}, "venv/bin/python -m pytest -q"),
        (["tox.ini"], {}, PYTHON),
        (["noxfile.py"], {}, PYTHON),
        (["main.py"], {}, PYTHON),
        (["README.md", "tests/"], {}, None),
    ],
)
def test_the_command_is_guessed_from_the_files(names: list[str], contents: dict[str, str], command: str | None) -> None:
    assert find_test_command(names, contents) == command


def test_arguments_go_to_those_who_take_them() -> None:
    makefile = {"Makefile": "test:\n"}
    assert find_test_command(["Makefile", "main.py"], makefile, "-k one") == f"{PYTHON} -k one"
    package = {"package.json": '{"scripts": {"test": "jest"}}'}
    assert find_test_command(["package.json"], package, "one") == "npm test --silent -- one"
    assert find_test_command(["Cargo.toml"], {}, "one") == "cargo test one"


def test_without_pytest_the_tests_are_run_by_unittest() -> None:
    assert without_pytest(f"{PYTHON} test_main.py") == "python3 -m unittest test_main.py"
    assert without_pytest("make test") == "make test"


PYTEST = """\
==================================== ERRORS ====================================
________________________ ERROR at setup of test_fixture ________________________

    @pytest.fixture
    def broken():
>       raise RuntimeError("fixture")
E       RuntimeError: fixture

test_a.py:20: RuntimeError
=================================== FAILURES ===================================
_________________________________ Case.test_m __________________________________

>       self.assertEqual(1, 2)
E       AssertionError: 1 != 2

test_a.py:14: AssertionError
_______________________________ test_param[a b] ________________________________

>       helper(x)

test_a.py:11:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

>       assert x == "c"
E       AssertionError: assert 'a b' == 'c'

elsewhere.py:3: AssertionError
=========================== short test summary info ============================
FAILED test_a.py::Case::test_m - AssertionError: 1 != 2
FAILED test_a.py::test_param[a b] - AssertionError: assert 'a b' == 'c'
ERROR test_a.py::test_fixture - RuntimeError: fixture
2 failed, 1 error in 0.29s
"""
COLLECTING = """\
__________________________ ERROR collecting test_b.py __________________________
test_b.py:1: in <module>
    import nothing_there
E   ModuleNotFoundError: No module named 'nothing_there'
=========================== short test summary info ============================
ERROR test_b.py
"""
UNITTEST = """\
======================================================================
ERROR: test_b (unittest.loader._FailedTest.test_b)
----------------------------------------------------------------------
ImportError: Failed to import test module: test_b
Traceback (most recent call last):
  File "/usr/lib/python3/unittest/loader.py", line 362, in _get_module_from_name
    __import__(name)
  File "/x/test_b.py", line 1, in <module>
    import nothing_there
ModuleNotFoundError: No module named 'nothing_there'


======================================================================
FAIL: test_sub (test_a.Case.test_sub) (i=1)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/x/test_a.py", line 17, in test_sub
    self.assertEqual([1], [2])
AssertionError: Lists differ: [1] != [2]

First differing element 0:
1
2

----------------------------------------------------------------------
Ran 3 tests in 0.001s
"""
GO = """\
--- FAIL: TestAdd (0.00s)
    add_test.go:6: got 3
    add_test.go:7: and more
--- FAIL: TestTable (0.00s)
    --- FAIL: TestTable/one (0.00s)
        add_test.go:15: want 1
FAIL
exit status 1
FAIL\texample.org/add\t0.002s
"""
GO_BUILD = "# example.org/add\n./add.go:3:9: undefined: y\nFAIL\texample.org/add [build failed]\n"
CARGO = """\
test tests::breaks ... FAILED
test tests::adds ... FAILED

failures:

---- tests::adds stdout ----

thread 'tests::adds' (21072) panicked at src/lib.rs:5:24:
assertion `left == right` failed
  left: -1

---- tests::breaks stdout ----
thread 'tests::breaks' panicked at 'boom', src/lib.rs:6:26


failures:
    tests::adds
    tests::breaks
"""
CARGO_BUILD = "error[E0425]: cannot find value `c` in this scope\n --> src/lib.rs:1:32\n  |\n"
JEST = """\
  ● sums adds up

    expect(received).toBe(expected)

      at Object.toBe (sums.test.js:4:15)
"""


@pytest.mark.parametrize(
    ("output", "failures"),
    [
        (
            PYTEST,
            [
                FailedTest("Case::test_m", "test_a.py", 14, "AssertionError: 1 != 2"),
                FailedTest("test_param[a b]", "test_a.py", None, "AssertionError: assert 'a b' == 'c'"),
                FailedTest("test_fixture", "test_a.py", 20, "RuntimeError: fixture"),
            ],
        ),
        (
            COLLECTING,
            [FailedTest("test_b.py", "test_b.py", 1, "ModuleNotFoundError: No module named 'nothing_there'")],
        ),
        (
            UNITTEST,
            [
                FailedTest("test_b", "/x/test_b.py", 1, "ModuleNotFoundError: No module named 'nothing_there'"),
                FailedTest("test_sub", "/x/test_a.py", 17, "AssertionError: Lists differ: [1] != [2]"),
            ],
        ),
        (
            GO,
            [
                FailedTest("TestAdd", "add_test.go", 6, "got 3"),
                FailedTest("TestTable/one", "add_test.go", 15, "want 1"),
            ],
        ),
        (GO_BUILD, [FailedTest("build", "./add.go", 3, "undefined: y")]),
        (
            CARGO,
            [
                FailedTest("tests::adds", "src/lib.rs", 5, "assertion `left == right` failed"),
                FailedTest("tests::breaks", "src/lib.rs", 6, ""),
            ],
        ),
        (CARGO_BUILD, [FailedTest("build", "src/lib.rs", 1, "error[E0425]: cannot find value `c` in this scope")]),
        (JEST, [FailedTest("sums adds up", "sums.test.js", 4)]),
        ("3 passed in 0.1s", []),
        ("", []),
    ],
)
def test_failures_are_read_with_their_places(output: str, failures: list[FailedTest]) -> None:
    assert failed_tests(output) == failures


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("..\n==== 2 passed in 0.01s ====\n", "2 passed in 0.01s"),
        ("TAP version 13\n1..2\n# tests 2\n# pass 2\n# fail 0\n# duration_ms 4.97\n", "2 passed, 0 failed"),
        ("ℹ tests 0\nℹ pass 0\nℹ fail 0\nℹ duration_ms 4.97\n", "0 passed, 0 failed"),  # noqa: RUF001  # node's
        (
            "Tests:       3 passed, 3 total\nTime:        0.4 s\nRan all test suites.\n",
            "Tests:       3 passed, 3 total",
        ),
        (".\n------\nRan 1 test in 0.000s\n\nOK\n", "Ran 1 test in 0.000s"),
        ("test result: ok. 3 passed; 0 failed\n\n   Doc-tests x\n", "test result: ok. 3 passed; 0 failed"),
        ("all good\n\n", "all good"),
        ("", ""),
    ],
)
def test_the_end_of_the_output_is_told_by_its_counts(output: str, told: str) -> None:
    assert summary(output.splitlines()) == told


def test_a_failure_is_told_in_a_line() -> None:
    assert str(FailedTest("adds", "a.py", 3, "boom")) == "adds (a.py:3): boom"
    assert str(FailedTest("adds", "a.py")) == "adds (a.py)"
    assert str(FailedTest("adds")) == "adds"


CASE = "import unittest\n\n\nclass Case(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(1, 2)\n"
NODE = "require('node:test')('adds up', () => {\n  require('node:assert').strictEqual(1, 2);\n});\n"


@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_what_the_runners_of_python_really_write_is_read(tmp_path: Path, runner: str) -> None:
    (tmp_path / "test_case.py").write_text(CASE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    run = subprocess.run(
        [sys.executable, "-m", runner, "-q"], cwd=tmp_path, capture_output=True, check=False, env=environment
    )
    (failure,) = failed_tests((run.stdout + run.stderr).decode())
    assert (Path(failure.path or "").name, failure.line) == ("test_case.py", 6)
    assert failure.message == "AssertionError: 1 != 2"


@pytest.mark.parametrize("reporter", ["tap", "spec"])
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_what_node_really_writes_is_read(tmp_path: Path, reporter: str) -> None:
    (tmp_path / "sums.test.js").write_text(NODE)
    run = subprocess.run(
        ["node", "--test", f"--test-reporter={reporter}"], cwd=tmp_path, capture_output=True, check=False
    )
    (failure,) = failed_tests(run.stdout.decode())
    assert (failure.name, Path(failure.path or "").name, failure.line) == ("adds up", "sums.test.js", 1)
