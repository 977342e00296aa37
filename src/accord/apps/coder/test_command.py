"""How a project is tested, guessed from its files, and what its tests say, read from their output."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

__all__ = ["FILES_TO_READ", "FailedTest", "failed_tests", "how_to_test", "without_pytest"]

FILES_TO_READ = ("Makefile", "package.json")
"""Files whose names alone don't tell whether they say how to test."""

_MOST = 20
_COMMANDS: list[tuple[set[str], str]] = [
    ({"Cargo.toml"}, "cargo test"),
    ({"go.mod"}, "go test ./..."),
    ({"pom.xml"}, "mvn -q test"),
    ({"gradlew"}, "./gradlew test"),
    ({"build.gradle", "build.gradle.kts"}, "gradle test"),
]
_PYTHON = {"pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "pytest.ini", "conftest.py"}


class FailedTest(msgspec.Struct, frozen=True):
    """A test that failed; where, as far as the output tells."""

    name: str
    path: str | None = None
    line: int | None = None
    message: str = ""

    def __str__(self) -> str:
        place = "" if self.path is None else f" ({self.path}{'' if self.line is None else f':{self.line}'})"
        return f"{self.name}{place}" + (f": {self.message}" if self.message else "")


def how_to_test(names: Iterable[str], contents: Mapping[str, str], arguments: str = "") -> str | None:
    """What runs the tests of a project with these files in its directory, None when nothing tells.

    `contents` has those of `FILES_TO_READ` that are there. What the project itself calls its tests comes first, but make takes
    no arguments for them.
    """
    there = set(names)
    if not arguments and (target := _make_target(contents.get("Makefile", ""))):
        return f"make {target}"
    if _has_npm_test(contents.get("package.json", "")):
        return "npm test --silent" + (f" -- {arguments}" if arguments else "")
    for marks, command in _COMMANDS:
        if there & marks:
            return f"{command} {arguments}".strip()
    if there & _PYTHON or any(name.endswith(".py") for name in there):
        return f"{_pytest(there)} {arguments}".strip()
    return None


def without_pytest(command: str) -> str:
    """The same tests by the library that every Python has."""
    return re.sub(r"^(.*) -m pytest -q", r"\1 -m unittest", command).replace("uv run pytest -q", "uv run -m unittest")


def _make_target(makefile: str) -> str | None:
    found = set(re.findall(r"^(test|check)\s*:(?!=)", makefile, re.MULTILINE))
    return next((name for name in ("test", "check") if name in found), None)


def _has_npm_test(package: str) -> bool:
    try:
        members: Any = msgspec.json.decode(package or "{}")
        script = members.get("scripts", {}).get("test", "")
    except (msgspec.DecodeError, AttributeError):
        return False
    return isinstance(script, str) and bool(script) and "no test specified" not in script  # what `npm init` writes


def _pytest(there: set[str]) -> str:
    for directory in (".venv", "venv"):
        if f"{directory}/" in there:
            beside = f"{directory}\\Scripts\\python" if sys.platform == "win32" else f"{directory}/bin/python"
            return f"{beside} -m pytest -q"
    if "uv.lock" in there:
        return "uv run pytest -q"
    return f"{'python' if sys.platform == 'win32' else 'python3'} -m pytest -q"


def failed_tests(output: str) -> list[FailedTest]:
    """The tests that failed, by what is written; empty when none did, or nobody here understands it."""
    for read in (_of_pytest, _of_unittest, _of_go, _of_cargo, _of_tap, _of_node):
        found = list(read(output))[:_MOST]
        if found:
            return found
    return []


def _blocks(output: str, heading: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each heading, and what stands below it up to the next."""
    headings = list(re.finditer(heading, output, re.MULTILINE))
    for number, found in enumerate(headings):
        end = headings[number + 1].start() if number + 1 < len(headings) else len(output)
        yield found, output[found.end() : end]


def _of_pytest(output: str) -> Iterator[FailedTest]:
    sections = {found[1]: text for found, text in _blocks(output, r"^_{3,} (.+?) _{3,}$|^=+ .* =+$")}
    for path, name, message in re.findall(
        r"^(?:FAILED|ERROR) (.+?\.py)(?:::(.+?))?(?: - (.*))?$", output, re.MULTILINE
    ):
        title = name.replace("::", ".")
        titles = (title, f"ERROR at setup of {title}", f"ERROR at teardown of {title}", f"ERROR collecting {path}")
        text = next((sections[each] for each in titles if each in sections), "")
        lines = re.findall(rf"^{re.escape(path)}:(\d+): ", text, re.MULTILINE)
        said = re.findall(r"^E   (\S.*)$", text, re.MULTILINE)
        yield FailedTest(name or path, path, int(lines[-1]) if lines else None, message or "".join(said[-1:]))


def _of_unittest(output: str) -> Iterator[FailedTest]:
    for named, block in _blocks(output, r"^={20,}\n(?:FAIL|ERROR): (\S+) \((\S+?)\).*$|^-{20,}\nRan "):
        if named[1] is None:
            continue
        places = re.findall(r'File "([^"]+)", line (\d+), in (\S+)', block)
        own = [place for place in places if place[2] == named[1]] or places
        said = re.findall(r"^[\w.]*(?:Error|Exception|Failure)\b.*$", block, re.MULTILINE)
        path, line = (own[-1][0], int(own[-1][1])) if own else (None, None)
        yield FailedTest(named[1], path, line, said[-1] if said else "")


def _of_go(output: str) -> Iterator[FailedTest]:
    blocks = list(_blocks(output, r"^\s*--- FAIL: (\S+)|^(?:FAIL|ok)\b.*$|^=== .*$"))
    names = [found[1] for found, _ in blocks if found[1]]
    for found, text in blocks:
        if found[1] is None or any(name.startswith(f"{found[1]}/") for name in names):
            continue  # a test that failed because a part of it did
        place = re.search(r"^\s+(\S+_test\.go):(\d+): (.*)$", text, re.MULTILINE)
        yield FailedTest(found[1]) if place is None else FailedTest(found[1], place[1], int(place[2]), place[3])
    if "[build failed]" in output:
        for path, line, message in re.findall(r"^(\S+\.go):(\d+):\d+: (.*)$", output, re.MULTILINE):
            yield FailedTest("build", path, int(line), message)


def _of_cargo(output: str) -> Iterator[FailedTest]:
    panicked = re.compile(r"panicked at (?:'.*', )?([^:\s]+\.rs):(\d+):\d+:?\n?(.*)")
    for found, text in _blocks(output, r"^---- (\S+) stdout ----$|^failures:$"):
        if found[1] is not None:
            place = panicked.search(text)
            yield FailedTest(found[1]) if place is None else FailedTest(found[1], place[1], int(place[2]), place[3])
    for message, path, line in re.findall(r"^(error(?:\[\w+\])?: .*)\n\s*--> (\S+?):(\d+):", output, re.MULTILINE):
        yield FailedTest("build", path, int(line), message)


def _of_tap(output: str) -> Iterator[FailedTest]:
    for found, text in _blocks(output, r"^\s*not ok \d+ - (.+)$|^\s*ok \d+ .*$|^\s*# Subtest: .*$"):
        if found[1] is None or "failureType: 'subtestsFailed'" in text:
            continue
        place = re.search(r"^\s*location: '(.+?):(\d+):\d+'$", text, re.MULTILINE)
        error = re.search(r"^\s*error: (?:'(.*)'|\|-\n\s*(.*))$", text, re.MULTILINE)
        message = "" if error is None else error[1] or error[2]
        yield FailedTest(found[1].strip(), place and place[1], place and int(place[2]), message)


def _of_node(output: str) -> Iterator[FailedTest]:
    """Of node's own runner, jest and vitest, as they write for people."""
    for path, line, name in re.findall(r"^test at (\S+?):(\d+):\d+\n✖ (.+?)(?: \(\d.*\))?$", output, re.MULTILINE):
        yield FailedTest(name, path, int(line))
    for found, text in _blocks(output, r"^\s*(?:● | FAIL +\S+ > )(.+)$"):
        place = re.search(r"(?:\(| \u276f )([^\s()]+?\.[cm]?[jt]sx?):(\d+):\d+", text)
        yield FailedTest(found[1].strip(), place and place[1], place and int(place[2]))
