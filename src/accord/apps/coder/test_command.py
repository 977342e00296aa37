"""Guesses the command that runs a project's tests from its files, and reads the failed tests from the output."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

FILES_TO_READ = ("Makefile", "package.json")
"""Files whose content says whether they define tests."""

_MAX_TESTS = 20
_COMMANDS: list[tuple[set[str], str]] = [
    ({"Cargo.toml"}, "cargo test"),
    ({"go.mod"}, "go test ./..."),
    ({"pom.xml"}, "mvn -q test"),
    ({"gradlew"}, "./gradlew test"),
    ({"build.gradle", "build.gradle.kts"}, "gradle test"),
]
_PYTHON = {"pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "pytest.ini", "conftest.py"}


class FailedTest(msgspec.Struct, frozen=True):
    """A test that failed, and where, as far as the output says."""

    name: str
    path: str | None = None
    line: int | None = None
    message: str = ""

    def __str__(self) -> str:
        place = "" if self.path is None else f" ({self.path}{'' if self.line is None else f':{self.line}'})"
        return f"{self.name}{place}" + (f": {self.message}" if self.message else "")


def find_test_command(names: Iterable[str], contents: Mapping[str, str], arguments: str = "") -> str | None:
    """The command for a project with these files in its directory; None if nothing says.

    `contents` has the content of the `FILES_TO_READ` that exist. The project's own test target comes first, unless there
    are arguments, which make can't pass on.
    """
    files = set(names)
    if not arguments and (target := _make_target(contents.get("Makefile", ""))):
        return f"make {target}"
    if _has_npm_test(contents.get("package.json", "")):
        return "npm test --silent" + (f" -- {arguments}" if arguments else "")
    for marks, command in _COMMANDS:
        if files & marks:
            return f"{command} {arguments}".strip()
    if files & _PYTHON or any(name.endswith(".py") for name in files):
        return f"{_pytest(files)} {arguments}".strip()
    return None


def without_pytest(command: str) -> str:
    """The same tests with unittest, which every Python has."""
    return re.sub(r"^(.*) -m pytest -q", r"\1 -m unittest", command).replace("uv run pytest -q", "uv run -m unittest")


def _make_target(makefile: str) -> str | None:
    targets = set(re.findall(r"^(test|check)\s*:(?!=)", makefile, re.MULTILINE))
    return next((name for name in ("test", "check") if name in targets), None)


def _has_npm_test(package: str) -> bool:
    try:
        members: Any = msgspec.json.decode(package or "{}")
        script = members.get("scripts", {}).get("test", "")
    except (msgspec.DecodeError, AttributeError):
        return False
    return isinstance(script, str) and bool(script) and "no test specified" not in script  # what `npm init` writes


def _pytest(files: set[str]) -> str:
    for directory in (".venv", "venv"):
        if f"{directory}/" in files:
            python = f"{directory}\\Scripts\\python" if sys.platform == "win32" else f"{directory}/bin/python"
            return f"{python} -m pytest -q"
    if "uv.lock" in files:
        return "uv run pytest -q"
    return f"{'python' if sys.platform == 'win32' else 'python3'} -m pytest -q"


def failed_tests(output: str) -> list[FailedTest]:
    """The tests that failed, by the output of the test runner; empty if none did, or if the format is unknown."""
    runners = (_pytest_failures, _unittest_failures, _go_failures, _cargo_failures, _tap_failures, _node_failures)
    return next(filter(None, ([*islice(read(output), _MAX_TESTS)] for read in runners)), list[FailedTest]())


def summary(lines: Sequence[str]) -> str:
    """What the test runner says at the end: the line with the counts if there is one, else the last line."""
    told = [line.strip().strip("= ") for line in lines if line.strip()]
    ends = [match for line in told if (match := re.fullmatch(r"[#ℹ] (pass|fail) (\d+)", line))]  # noqa: RUF001  # node's
    counts = {match[1]: match[2] for match in ends}
    if len(counts) == 2:
        return f"{counts['pass']} passed, {counts['fail']} failed"
    counted = [line for line in told if re.search(r"\b\d+ (?:passed|passing|tests?)\b", line)]
    return [*told[-1:], *counted][-1] if told else ""


def _blocks(output: str, pattern: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each heading, and the text below it up to the next."""
    headings = list(re.finditer(pattern, output, re.MULTILINE))
    ends = [heading.start() for heading in headings[1:]] + [len(output)]
    for match, end in zip(headings, ends, strict=False):
        yield match, output[match.end() : end]


def _pytest_failures(output: str) -> Iterator[FailedTest]:
    sections = {heading[1]: text for heading, text in _blocks(output, r"^_{3,} (.+?) _{3,}$|^=+ .* =+$")}
    for path, name, message in re.findall(
        r"^(?:FAILED|ERROR) (.+?\.py)(?:::(.+?))?(?: - (.*))?$", output, re.MULTILINE
    ):
        title = name.replace("::", ".")
        titles = (title, f"ERROR at setup of {title}", f"ERROR at teardown of {title}", f"ERROR collecting {path}")
        text = next((sections[each] for each in titles if each in sections), "")
        lines = re.findall(rf"^{re.escape(path)}:(\d+): ", text, re.MULTILINE)
        messages = re.findall(r"^E   (\S.*)$", text, re.MULTILINE)
        yield FailedTest(name or path, path, int(lines[-1]) if lines else None, message or "".join(messages[-1:]))


def _unittest_failures(output: str) -> Iterator[FailedTest]:
    for heading, block in _blocks(output, r"^={20,}\n(?:FAIL|ERROR): (\S+) \((\S+?)\).*$|^-{20,}\nRan "):
        if heading[1] is None:
            continue
        places = re.findall(r'File "([^"]+)", line (\d+), in (\S+)', block)
        own = [place for place in places if place[2] == heading[1]] or places
        messages = re.findall(r"^[\w.]*(?:Error|Exception|Failure)\b.*$", block, re.MULTILINE)
        path, line = (own[-1][0], int(own[-1][1])) if own else (None, None)
        yield FailedTest(heading[1], path, line, messages[-1] if messages else "")


def _go_failures(output: str) -> Iterator[FailedTest]:
    blocks = list(_blocks(output, r"^\s*--- FAIL: (\S+)|^(?:FAIL|ok)\b.*$|^=== .*$"))
    names = [heading[1] for heading, _ in blocks if heading[1]]
    for heading, text in blocks:
        if heading[1] is None or any(name.startswith(f"{heading[1]}/") for name in names):
            continue  # it failed because a subtest did
        place = re.search(r"^\s+(\S+_test\.go):(\d+): (.*)$", text, re.MULTILINE)
        yield FailedTest(heading[1]) if place is None else FailedTest(heading[1], place[1], int(place[2]), place[3])
    if "[build failed]" in output:
        for path, line, message in re.findall(r"^(\S+\.go):(\d+):\d+: (.*)$", output, re.MULTILINE):
            yield FailedTest("build", path, int(line), message)


def _cargo_failures(output: str) -> Iterator[FailedTest]:
    panicked = re.compile(r"panicked at (?:'.*', )?([^:\s]+\.rs):(\d+):\d+:?\n?(.*)")
    for heading, text in _blocks(output, r"^---- (\S+) stdout ----$|^failures:$"):
        if heading[1] is not None:
            place = panicked.search(text)
            yield FailedTest(heading[1]) if place is None else FailedTest(heading[1], place[1], int(place[2]), place[3])
    for message, path, line in re.findall(r"^(error(?:\[\w+\])?: .*)\n\s*--> (\S+?):(\d+):", output, re.MULTILINE):
        yield FailedTest("build", path, int(line), message)


def _tap_failures(output: str) -> Iterator[FailedTest]:
    for heading, text in _blocks(output, r"^\s*not ok \d+ - (.+)$|^\s*ok \d+ .*$|^\s*# Subtest: .*$"):
        if heading[1] is None or "failureType: 'subtestsFailed'" in text:
            continue
        place = re.search(r"^\s*location: '(.+?):(\d+):\d+'$", text, re.MULTILINE)
        error = re.search(r"^\s*error: (?:'(.*)'|\|-\n\s*(.*))$", text, re.MULTILINE)
        message = "" if error is None else error[1] or error[2]
        yield FailedTest(heading[1].strip(), place and place[1], place and int(place[2]), message)


def _node_failures(output: str) -> Iterator[FailedTest]:
    """Of node's own runner, jest and vitest, in their format for people."""
    for path, line, name in re.findall(r"^test at (\S+?):(\d+):\d+\n✖ (.+?)(?: \(\d.*\))?$", output, re.MULTILINE):
        yield FailedTest(name, path, int(line))
    for heading, text in _blocks(output, r"^\s*(?:● | FAIL +\S+ > )(.+)$"):
        place = re.search(r"(?:\(| \u276f )([^\s()]+?\.[cm]?[jt]sx?):(\d+):\d+", text)
        yield FailedTest(heading[1].strip(), place and place[1], place and int(place[2]))
