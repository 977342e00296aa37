"""What an always-choice about a command covers."""

from __future__ import annotations

import pytest

from accord.apps.coder.tools.covering import covered

LOOKS, TESTS = "whatever it looks at", "whatever it tests"


def is_inside(word: str) -> bool:
    return not word.startswith("/") and ".." not in word.split("/")


@pytest.mark.parametrize(
    ("command", "scope"),
    [
        ("git log", f"run `git log`, {LOOKS}"),
        ("git log --oneline -5 src", f"run `git log`, {LOOKS}"),
        ("cat src/main.py", f"run `cat`, {LOOKS}"),
        ("grep -rn double .", f"run `grep`, {LOOKS}"),
        ("pytest -q tests -k double", f"run `pytest`, {TESTS}"),
        ("python3 -m pytest -x", f"run `python3 -m pytest`, {TESTS}"),
        ("cargo test --lib", f"run `cargo test`, {TESTS}"),
    ],
)
def test_a_program_that_only_looks_or_tests_is_covered_with_other_arguments(command: str, scope: str) -> None:
    assert covered(command, None, is_inside) == scope
    assert covered(command, "sub", is_inside) == f"{scope}, in sub"


@pytest.mark.parametrize(
    "command",
    [
        "make",
        "git push origin main",
        "git branch -D main",
        "git -C /x log",
        "git log --output=main.py",
        "git log --outp main.py",
        "git diff --no-index /etc/passwd x",
        "git diff --ext-diff",
        "cat /etc/passwd",
        "cat ../secret",
        "head -n 5 /etc/passwd",
        "grep -f../secret x",
        "rg --pre=sh x",
        "tree -o main.py",
        "pytest --basetemp=src",
        "pytest --pastebin=all",
        "pytest -p evil",
        "pytest /elsewhere",
        "pytest --rootdir=/elsewhere",
        "go test -exec=reboot ./...",
        "cargo test --config x.toml",
        "npm test",
        "ruff check --fix",
        "rm -rf build",
        "cat x; rm -rf build",
        "cat x && make",
        "cat x\nmake",
        "cat $(make)",
        "cat `make`",
        "cat ~/.netrc",
        "cat <<x",
        "cat x > main.py",
        "FOO=1 pytest",
        "ls FOO=1",
        "'unbalanced",
        "python3 -c pass",
    ],
)
def test_anything_else_is_covered_only_as_it_is_written_where_it_was_to_run(command: str) -> None:
    assert covered(command, None, is_inside) == f"run `{command}`"
    assert covered(command, "sub", is_inside) == f"run `{command}` in sub"
