"""What an always-choice about a command covers."""

from __future__ import annotations

import pytest

from accord.apps.coder.tools.always_scope import always_scope

LOOKS, TESTS = "whatever it looks at", "whatever it tests"


def is_inside(what: str, word: str) -> bool:
    return not word.startswith("/") and ".." not in word.split("/")


@pytest.mark.parametrize(
    ("command", "scope"),
    [
        ("git log", f"run `git log`, {LOOKS}"),
        ("git log --oneline -5 src", f"run `git log`, {LOOKS}"),
        ("cat src/main.py", f"run `cat`, {LOOKS}"),
        (" cat\t\tsrc/main.py  ", f"run `cat`, {LOOKS}"),
        ("ls -laR src", f"run `ls`, {LOOKS}"),
        ("grep -rn double .", f"run `grep`, {LOOKS}"),
        ("pytest -q tests -k double", f"run `pytest`, {TESTS}"),
        ("python3 -m pytest -x", f"run `python3 -m pytest`, {TESTS}"),
        ("cargo test --lib", f"run `cargo test`, {TESTS}"),
    ],
)
def test_a_program_that_only_looks_or_tests_is_covered_with_other_arguments(command: str, scope: str) -> None:
    assert always_scope(command, None, is_inside).scope == scope
    assert always_scope(command, "sub", is_inside).scope == f"{scope}, in sub"


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
        "grep -R secret .",
        "diff a b",
        "diff -r a b",
        "ls -L link",
        "ls -RL",
        "ls -H link",
        "wc --files0-from=names",
        "tail -f log",
        "cat @names",
        "pytest @arguments",
        " make",
        "make ",
        "make\ttest",
        "cat caf\u00e9.txt",
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
    assert always_scope(command, None, is_inside) == (f"run `{command}`", None)
    assert always_scope(command, "sub", is_inside) == (f"run `{command}` in sub", None)


@pytest.mark.parametrize(
    "letter", [*"\x00\x0b\x0c\r\x1b\x1c\x7f\x85\xa0\xad\u034f\u115f\u1680\u180e\u2000\u2003\u200b\u200d"]
)
def test_a_letter_that_cant_be_seen_or_looks_like_a_blank_makes_a_line_that_nothing_covers(letter: str) -> None:
    for command in (f"cat{letter}main.py", f"{letter}make test", f"make test{letter}", f"cat ma{letter}in.py"):
        assert always_scope(command, None, is_inside) == (None, None)


@pytest.mark.parametrize(
    "letter",
    [*"\u2028\u2029\u202e\u202f\u205f\u2060\u2066\u2800\u3000\u3164\ufe0f\ufeff\uffa0\ufff9\U000e0041\U000e0100\ue000"],
)
def test_nor_does_one_of_the_others(letter: str) -> None:
    assert always_scope(f"cat{letter}main.py", None, is_inside) == (None, None)


def test_a_directory_of_any_name_is_no_part_of_a_command() -> None:
    there = always_scope("make", "sub` in x", is_inside).scope
    assert there == "run `make` in sub\\x60 in x"
    assert there != always_scope("make` in sub", "x", is_inside).scope
    assert always_scope("make", "a\\x60", is_inside).scope != always_scope("make", "a`", is_inside).scope


def test_git_looks_with_options_that_keep_it_from_running_programs() -> None:
    words = always_scope("git log -3 src", None, is_inside).words
    assert words is not None
    assert words[0] == "git"
    assert words.index("log") < words.index("--no-textconv") < words.index("-3")
    assert always_scope("cat main.py", None, is_inside).words == ["cat", "main.py"]
    assert always_scope("pytest", None, is_inside).words is None
