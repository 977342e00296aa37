"""The answers of the offline model: what came of its tools, told in full sentences.

Law: an answer stands alone. Some clients show nothing of a tool call but its title, so the answer has the lines that a
person asked for, in a code block, and says what is left out.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence, Sized
from pathlib import PurePath

from accord.apps.coder.models.model import ToolOutcome
from accord.apps.coder.models.offline_requests import Changes, Intent, Listing, Read, Run, Search
from accord.apps.coder.test_command import failed_tests, how_to_test
from accord.apps.coder.tools.tool import fenced, in_code
from accord.errors.escape_sequences import clean_output

__all__ = ["answer_to", "answer_to_tests", "explanation", "failure", "plan_answer", "readme_among", "was_run"]

_MOST_LINES = 40
_MOST_CHARACTERS = 8000
_LONGEST_LINE = 500
_CUT = re.compile(r"^\[… \d+ characters left out …\]$", re.MULTILINE)

_READABLE = ("readme.md", "readme.rst", "readme.txt", "readme")
_SPOKEN = {
    ".py": "Python", ".js": "JavaScript", ".ts": "TypeScript", ".rs": "Rust", ".go": "Go", ".java": "Java",
    ".c": "C", ".cpp": "C++", ".rb": "Ruby", ".sh": "shell", ".md": "Markdown",
}  # fmt: skip
_KNOWN = {
    "pyproject.toml": "a Python project (pyproject.toml)",
    "setup.py": "a Python project (setup.py)",
    "package.json": "a Node.js project (package.json)",
    "Cargo.toml": "a Rust project (Cargo.toml)",
    "go.mod": "a Go project (go.mod)",
    "pom.xml": "a Java project (pom.xml)",
    "Makefile": "made with make (Makefile)",
}


def answer_to(intent: Intent, outcome: ToolOutcome) -> str:
    """What came of one request."""
    match intent:
        case Run(command):
            return _of_command(command, outcome)
        case _ if outcome.is_error:
            return failure(outcome)
        case Search(pattern, _):
            return _found(pattern, outcome.text.splitlines())
        case Read():
            return _read(intent, outcome.text)
        case Listing(path):
            return _listing(path, outcome.text.splitlines())
        case Changes():
            return _changes(outcome.text.splitlines(), has_diff=True)
        case _:
            return f"{outcome.text}\n"


def failure(outcome: ToolOutcome) -> str:
    """Why nothing came of it, in words for people."""
    if outcome.is_rejected:
        return "Nothing was done: it was not allowed.\n"
    lines = (outcome.text if outcome.display is None else outcome.display).strip().splitlines()
    return f"That did not work: {' '.join(lines) if len(lines) < 5 else lines[0]}\n"


def answer_to_tests(command: str, ran: ToolOutcome) -> str:
    """What the tests say."""
    if not was_run(ran):
        return f"The tests were not run. {failure(ran)}"
    lines = _output(ran)
    last = next((line for line in reversed(lines) if line.strip()), "").strip("= ")
    failures = failed_tests(ran.text)
    if not ran.is_error:
        told = f"The tests pass: {last}\n"
    elif failures:
        told = f"{_counted(failures, 'test')} {'fails' if len(failures) == 1 else 'fail'}:\n\n"
        told += "".join(f"- {failure}\n" for failure in failures)
    else:
        told = f"The tests fail, in a way that I can't read: {last}\n"
    return f"{told}\n{_last_lines(f'{in_code(command)} wrote', ran, lines)}" if lines else told


def was_run(outcome: ToolOutcome) -> bool:
    """Whether a command was run at all: what came of it begins with how it ended."""
    return _ending(outcome) is not None


def _of_command(command: str, ran: ToolOutcome) -> str:
    end = _ending(ran)
    if end is None:
        return failure(ran)
    lines, is_done = _output(ran), "failed" if ran.is_error else "is done"
    told = f"{in_code(command)} {is_done}: {end}.\n"
    return f"{told}\n{_last_lines('It wrote', ran, lines)}" if lines else told


def _ending(ran: ToolOutcome) -> str | None:
    """How a command ended, as its outcome begins; None when it was not run."""
    found = re.match(r"\[([^\]\n]*)\](?:\n|$)", ran.text)
    return None if found is None else found[1]


def _output(ran: ToolOutcome) -> list[str]:
    return clean_output(ran.text.partition("\n")[2]).splitlines()


def _last_lines(opening: str, ran: ToolOutcome, lines: list[str]) -> str:
    shown = _fitting(lines[::-1])[::-1]
    if len(shown) == len(lines):
        return f"{opening}:\n\n{fenced(_joined(shown))}\n"
    of_all = "" if _CUT.search(ran.text) else f" of {len(lines)}"
    return f"{opening}, in its last {_counted(shown, 'line', of_all)}:\n\n{fenced(_joined(shown))}\n"


def _read(intent: Read, text: str) -> str:
    if text == "(the file is empty)":
        return f"{in_code(intent.path)} is empty.\n"
    first, total = intent.line or 1, None if _CUT.search(text) else len(text.splitlines())
    header = re.match(r"\[(?:lines \d+ to \d+ of (\d+)|\d+ lines from line \d+ on; the file is large)\]\n", text)
    if header is not None and (intent.line or intent.limit):
        text, total = text[header.end() :], int(header[1]) if header[1] else None
    lines = text.splitlines()
    shown = _fitting(lines)
    last = first + len(shown) - 1
    of_all = "" if total is None else f" of {total}"
    where = f", lines {first} to {last}{of_all}" if len(shown) > 1 else f", line {first}{of_all}"
    is_whole = first == 1 and len(shown) == total
    told = f"{in_code(intent.path)}{'' if is_whole else where}:\n\n"
    told += f"{fenced(_joined(shown), PurePath(intent.path).suffix.removeprefix('.'))}\n"
    if len(shown) < len(lines):
        more = in_code(f"/read {intent.path}:{last + 1}-{last + _MOST_LINES}")
        told += f"\nThe rest is left out; {more} shows the lines that follow.\n"
    return told


def _found(pattern: str, lines: list[str]) -> str:
    if not lines or lines[0] == "Nothing was found.":
        return f"{in_code(pattern)} was not found.\n"
    files = {line.partition(":")[0] for line in lines}
    return f"{in_code(pattern)} is on {_counted(lines, 'line')} of {_counted(files, 'file')}:\n\n{_block(lines)}"


def _listing(path: str, lines: list[str]) -> str:
    if lines == ["(the directory is empty)"]:
        return f"{in_code(path)} is empty.\n"
    entries = f"{len(lines)} {'entry' if len(lines) == 1 else 'entries'}"
    return f"{in_code(path)} has {entries}:\n\n{_block(lines)}"


def _changes(lines: list[str], *, has_diff: bool) -> str:
    if not lines or lines[0].startswith("Nothing has changed"):
        return "Nothing has changed since the last commit.\n"
    files = list(itertools.takewhile(str.strip, lines))
    diff = lines[len(files) + 1 :]
    added = sum(line.startswith("+") and not line.startswith("+++") for line in diff)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in diff)
    marks = [line for line in diff if line.startswith("+") and any(mark in line for mark in ("TODO", "FIXME", "XXX"))]
    have = "has" if len(files) == 1 else "have"
    told = f"{_counted(files, 'file')} {have} changed, +{added} −{removed}:\n\n{_block(files)}"  # noqa: RUF001  # a minus
    if marks:
        told += f"\nNew lines that are marked as unfinished:\n\n{_block([mark[1:].strip() for mark in marks])}"
    if has_diff and diff:
        told += f"\nThe diff:\n\n{_block(diff, 'diff')}"
    return told


def plan_answer(steps: Sequence[str]) -> str:
    """A plan as a list."""
    listed = "".join(f"{number}. {step}\n" for number, step in enumerate(steps, 1))
    return f"This is the usual order of work; a language model would fit it to the goal.\n\n{listed}"


def readme_among(names: Sequence[str]) -> str | None:
    """The name of the file that says what a directory is."""
    return next((name for name in names if name.lower() in _READABLE), None)


def explanation(names: list[str], read: list[ToolOutcome], changes: list[ToolOutcome]) -> str:
    """What a directory is, as far as its files say."""
    kinds = [about for name, about in _KNOWN.items() if name in names]
    spoken = sorted({_SPOKEN[ending] for name in names for ending in _SPOKEN if name.endswith(ending)})
    directories = [name for name in names if name.endswith("/") and not name.startswith(".")]
    kinds = kinds or ["a git repository" if {".git", ".git/"} & set(names) else "a directory"]
    told = f"This is {', '.join(kinds)}"
    told += f", with files in {', '.join(spoken)}.\n" if spoken else ".\n"
    if directories:
        told += f"\nDirectories: {', '.join(map(in_code, directories[:20]))}\n"
    command = how_to_test(names, {})
    told += f"\nIts tests are probably run with {in_code(command)}; `/test` finds out and does it.\n" if command else ""
    if read and not read[-1].is_error:
        told += f"\nIts README begins:\n\n{_opening(read[-1].text)}\n"
    if changes and not changes[-1].is_error:
        told += f"\n{_changes(changes[-1].text.splitlines(), has_diff=False)}"
    return told + "\nThis is what the files say; I am not a language model. `/help` shows what I can do.\n"


def _opening(text: str) -> str:
    """The first paragraphs, quoted."""
    lines = [line for line in text.splitlines() if not line.startswith(("[lines ", "```", "!["))]
    return "\n".join(f"> {line}" for line in lines[:12]).rstrip("> \n")


def _block(lines: list[str], language: str = "") -> str:
    """The first of them as code, and how many are left out."""
    shown = _fitting(lines)
    left_out = f"\n{_counted(lines[len(shown) :], 'more line')} left out.\n" if len(shown) < len(lines) else ""
    return f"{fenced(_joined(shown), language)}\n{left_out}"


def _fitting(lines: list[str]) -> list[str]:
    """The first of them, as many as an answer has room for; at least one."""
    shown = [line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in lines[:_MOST_LINES]]
    sizes = itertools.accumulate(len(line) for line in shown)
    return [
        line
        for number, (line, size) in enumerate(zip(shown, sizes, strict=True))
        if not number or size <= _MOST_CHARACTERS
    ]


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _counted(things: Sized, name: str, of_all: str = "") -> str:
    return f"{len(things)}{of_all} {name}{'' if len(things) == 1 and not of_all else 's'}"
