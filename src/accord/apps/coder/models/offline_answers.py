"""The answers of the offline model: the results of its tools in full sentences.

Law: an answer stands alone. Some clients show only the title of a tool call, so the answer has the lines that the user
asked for, in a code block, and says what is left out.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence, Sized
from pathlib import PurePath

from accord.apps.coder.models.model import ToolOutcome
from accord.apps.coder.models.offline_requests import Changes, Intent, Listing, Read, Run, Search
from accord.apps.coder.test_command import failed_tests, find_test_command, summary
from accord.apps.coder.tools.tool import fenced, in_code
from accord.errors.escape_sequences import clean_output

_MAX_LINES = 40
_MAX_CHARACTERS = 8000
_MAX_LINE = 500
_QUOTED_LINES = 16
_MAX_LANGUAGES = 5

_READMES = ("readme.md", "readme.rst", "readme.txt", "readme")
_LANGUAGES = {
    ".py": "Python", ".js": "JavaScript", ".ts": "TypeScript", ".rs": "Rust", ".go": "Go", ".java": "Java",
    ".c": "C", ".h": "C", ".cpp": "C++", ".hpp": "C++", ".cs": "C#", ".rb": "Ruby", ".php": "PHP", ".swift": "Swift",
    ".kt": "Kotlin", ".sh": "shell", ".tsx": "TypeScript", ".jsx": "JavaScript", ".html": "HTML", ".css": "CSS",
    ".md": "Markdown", ".rst": "reStructuredText",
}  # fmt: skip
_PROJECT_FILES = {
    "pyproject.toml": "a Python project (pyproject.toml)",
    "setup.py": "a Python project (setup.py)",
    "package.json": "a Node.js project (package.json)",
    "Cargo.toml": "a Rust project (Cargo.toml)",
    "go.mod": "a Go project (go.mod)",
    "pom.xml": "a Java project (pom.xml)",
    "Makefile": "built with make (Makefile)",
}


def answer_to(intent: Intent, outcome: ToolOutcome) -> str:
    """The answer to a request that takes one tool call."""
    match intent:
        case Run(command):
            return _run(command, outcome)
        case _ if outcome.is_error:
            return failure(outcome)
        case Search(pattern, path):
            return _search(pattern, path, outcome)
        case Read():
            return _read(intent, outcome)
        case Listing(path):
            return _listing(path, outcome)
        case Changes():
            return _changes(outcome, has_diff=True)
        case _:
            return f"{outcome.text}\n"


def failure(outcome: ToolOutcome) -> str:
    """Why a tool call failed, for people, and what they can say now."""
    if outcome.failure == "rejected":
        return "Nothing was done: permission denied.\n"
    lines = (outcome.text if outcome.display is None else outcome.display).strip().splitlines()
    reason = " ".join(lines) if len(lines) < 5 else lines[0]
    if outcome.failure == "ambiguous":
        lines = re.findall(r"\d+", reason.rpartition(", on line")[2])
        if len(lines) == 1:
            return f'{reason}. Say "everywhere" to replace them all.\n'
        return f'{reason}. Say which, as in "line {lines[:3][-1]}", or "everywhere".\n'
    return f"That did not work: {reason}\n"


def answer_to_tests(command: str, run: ToolOutcome) -> str:
    """The result of a test run."""
    if not was_run(run):
        return f"The tests were not run. {failure(run)}"
    lines, tests = _output_lines(run), failed_tests(run.output)
    told = summary(lines)
    if not run.is_error:
        answer = f"The tests pass: {told}\n" if told else "The tests pass.\n"
    elif tests:
        answer = f"{_counted(tests, 'test')} {'fails' if len(tests) == 1 else 'fail'}:\n\n"
        answer += "".join(f"- {test}\n" for test in tests)
    else:
        answer = f"The tests fail; I can't tell which from the output: {told}\n"
    return f"{answer}\n{_last_lines(f'Output of {in_code(command)}', run, lines)}" if lines else answer


def was_run(outcome: ToolOutcome) -> bool:
    """Whether the command was started at all."""
    return "exitCode" in outcome.details


def _run(command: str, run: ToolOutcome) -> str:
    if not was_run(run):
        return failure(run)
    lines = _output_lines(run)
    answer = f"{in_code(command)} {'failed' if run.is_error else 'finished'}: {run.header}.\n"
    return f"{answer}\n{_last_lines('Output', run, lines)}" if lines else answer


def _output_lines(run: ToolOutcome) -> list[str]:
    return clean_output(run.output).splitlines()


def _last_lines(opening: str, run: ToolOutcome, lines: list[str]) -> str:
    last = _fitting(lines[::-1])[::-1]
    if len(last) < len(lines):
        of_all = "" if run.is_shortened else f" of {len(lines)}"
        opening += f", last {_counted(last, 'line', of_all)}"
    return f"{opening}:\n\n{fenced(_joined(last))}\n"


def _read(intent: Read, outcome: ToolOutcome) -> str:
    if outcome.details.get("lines") == 0:
        return f"{in_code(intent.path)} is empty.\n"
    if intent.purpose == "count" and "lines" in outcome.details:
        count = outcome.details["lines"]
        return f"{in_code(intent.path)} has {count:,} line{'' if count == 1 else 's'}.\n"
    first, total = intent.line or 1, None if outcome.is_shortened else outcome.details.get("lines")
    lines = outcome.output.splitlines()
    fitting = _fitting(lines)
    last = first + len(fitting) - 1
    of_all = "" if total is None else f" of {total}"
    where = f", lines {first} to {last}{of_all}" if len(fitting) > 1 else f", line {first}{of_all}"
    is_whole = first == 1 and len(fitting) == total
    answer = f"{in_code(intent.path)}{'' if is_whole else where}:\n\n"
    answer += f"{fenced(_joined(fitting), PurePath(intent.path).suffix.removeprefix('.'))}\n"
    if len(fitting) < len(lines):
        more = in_code(f"/read {intent.path}:{last + 1}-{last + _MAX_LINES}")
        answer += f"\nThe rest is left out; {more} shows the lines that follow.\n"
    if intent.purpose == "explain":
        answer += "\nTo have it explained takes a language model, and I am not one; this is what it says.\n"
    return answer


def _search(pattern: str, path: str, outcome: ToolOutcome) -> str:
    if outcome.details.get("hits") == 0:
        where = "" if path == "." else f" in {in_code(path)}"
        return f"{in_code(pattern)} was not found{where}.\n"
    lines = outcome.output.splitlines()
    files = {line.partition(":")[0] for line in lines}
    where = in_code(files.pop()) if len(files) == 1 else _counted(files, "file")
    return f"{in_code(pattern)} is on {_counted(lines, 'line')} of {where}:\n\n{_block(lines)}"


def _listing(path: str, outcome: ToolOutcome) -> str:
    count = outcome.details.get("entries", 0)
    name = "This directory" if path == "." else in_code(path)
    if count == 0:
        return f"{name} is empty.\n"
    entries = f"{count} {'entry' if count == 1 else 'entries'}"
    return f"{name} has {entries}:\n\n{_block(outcome.output.splitlines())}"


def _changes(outcome: ToolOutcome, *, has_diff: bool) -> str:
    if outcome.details.get("files") == 0:
        return "Nothing has changed since the last commit.\n"
    lines = outcome.output.splitlines()
    files = list(itertools.takewhile(str.strip, lines))
    diff = lines[len(files) + 1 :]
    added = sum(line.startswith("+") and not line.startswith("+++") for line in diff)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in diff)
    marks = [line for line in diff if line.startswith("+") and any(mark in line for mark in ("TODO", "FIXME", "XXX"))]
    new = [line for line in files if line.startswith("??")]
    directories = [line for line in new if line.rstrip('"').endswith("/")]
    told = _changed_files(len(files) - len(new), len(new) - len(directories), len(directories), added, removed)
    answer = f"{told}:\n\n{_block(files)}"
    if marks:
        answer += f"\nNew lines marked as unfinished:\n\n{_block([mark[1:].strip() for mark in marks])}"
    if has_diff and diff:
        answer += f"\nThe diff:\n\n{_block(diff, 'diff')}"
    return answer


def _changed_files(changed: int, new: int, directories: int, added: int, removed: int) -> str:
    """Files that git does not know are not in the diff, nor in its counts; a directory of such files is named as one."""
    parts: list[str] = []
    if changed:
        have = "1 file has" if changed == 1 else f"{changed} files have"
        parts.append(f"{have} changed (+{added} −{removed})")  # noqa: RUF001  # a minus
    if new or directories:
        files = f"{new} more" if changed else f"{new} file{'' if new == 1 else 's'}"
        whole = "1 whole directory" if directories == 1 else f"{directories} whole directories"
        told = " and ".join([files] * bool(new) + [whole] * bool(directories))
        parts.append(f"{told} {'is' if new + directories == 1 else 'are'} new")
    return ", and ".join(parts)


def files_answer(outcome: ToolOutcome) -> str:
    """How many files there are, and of which kinds."""
    if outcome.is_error:
        return failure(outcome)
    return f"There {'is' if outcome.details.get('hits') == 1 else 'are'} {_kinds_of_files(outcome)}.\n"


def plan_answer(steps: Sequence[str]) -> str:
    """A plan as a numbered list."""
    items = "".join(f"{number}. {step}\n" for number, step in enumerate(steps, 1))
    return f"This is the usual order of work; a language model would adapt it to the goal.\n\n{items}"


def readme_among(names: Sequence[str]) -> str | None:
    """The name of the README file."""
    return next((name for name in names if name.lower() in _READMES), None)


def explanation(
    names: list[str],
    reads: list[ToolOutcome],
    files: list[ToolOutcome],
    changes: list[ToolOutcome],
    *,
    has_tests: bool,
) -> str:
    """What a directory contains, as far as its files say; `has_tests` if it is the one where tests are run."""
    if not names:
        return "This directory is empty. `create notes.txt with hello world` makes a file, `/help` shows what else I can do.\n"
    kinds = [about for name, about in _PROJECT_FILES.items() if name in names]
    directories = [name for name in names if name.endswith("/") and not name.startswith(".")]
    kinds = kinds or ["a git repository" if {".git", ".git/"} & set(names) else "a directory"]
    answer = f"This is {', '.join(kinds)}"
    answer += f", with {_kinds_of_files(files[-1])}.\n" if files and not files[-1].is_error else ".\n"
    if directories:
        left_out = f" and {len(directories) - 20} more" if len(directories) > 20 else ""
        answer += f"\nDirectories: {', '.join(map(in_code, directories[:20]))}{left_out}.\n"
    if has_tests and (command := find_test_command(names, {})):
        answer += f"\nIts tests are probably run with {in_code(command)}; `/test` finds out and runs them.\n"
    if reads and not reads[-1].is_error and (begin := readme_begin(reads[-1].output)):
        quotation = "".join(f"> {line}".rstrip() + "\n" for line in begin.splitlines())
        answer += f"\nIts README begins:\n\n{quotation}"
    if changes and not changes[-1].is_error:
        answer += f"\n{_changes(changes[-1], has_diff=False)}"
    return answer + "\nThis is what the files say; I am not a language model. `/help` shows what I can do.\n"


def _kinds_of_files(files: ToolOutcome) -> str:
    """As many files as there are, by their languages: "6 files: 3 Python, 1 Markdown, 2 others"."""
    count, endings = files.details.get("hits", 0), files.details.get("endings", {})
    at_least = "" if files.details.get("isWhole", True) else "more than "
    total = f"{at_least}{count:,} file{'' if count == 1 else 's'}" if count else "no files"
    languages: dict[str, int] = {}
    for ending, number in endings.items():
        if ending in _LANGUAGES:
            languages[_LANGUAGES[ending]] = languages.get(_LANGUAGES[ending], 0) + number
    named = sorted(languages.items(), key=lambda each: -each[1])[:_MAX_LANGUAGES]
    if at_least:
        return f"{total}, most of them {' and '.join(name for name, _ in named[:2])}" if named else total
    parts = [f"{number:,} {name}" for name, number in named]
    if (others := count - sum(number for _, number in named)) and named:
        parts.append(f"{others:,} other{'' if others == 1 else 's'}")
    if len(parts) == 1:
        return f"{total}, {'all of them ' if count > 1 else ''}{named[0][0]}"
    return f"{total}: {', '.join(parts)}" if parts else total


def readme_begin(text: str) -> str:
    """The first paragraphs and code blocks, whole; without headings, pictures and badges."""
    kept: list[str] = []
    for block in _paragraphs(text):
        if block[0].startswith("#") or set(block[-1]) <= {"=", "-"}:
            if any(not line.startswith("```") for line in kept) and len(kept) > _QUOTED_LINES // 2:
                break
            continue
        is_code = block[0].startswith("```")
        lines = block if is_code else [line for line in block if not line.lstrip().startswith(("![", "[![", "<"))]
        if kept and len(kept) + len(lines) > _QUOTED_LINES:
            break
        if lines:
            kept += ["", *(lines if is_code else _whole_sentences(lines))]
    return "\n".join(kept).strip("\n")


def _paragraphs(text: str) -> list[list[str]]:
    """The blocks between empty lines; a code block is one, and left out where its end is."""
    blocks: list[list[str]] = [[]]
    fence = ""
    for line in text.splitlines():
        ticks = line[: len(line) - len(line.lstrip("`"))]
        if fence:
            blocks[-1].append(line)
            if len(ticks) >= len(fence) and not line.strip("`"):
                fence = ""
                blocks.append([])
        elif len(ticks) >= 3:
            fence = ticks
            blocks.append([line])
        elif line.strip():
            blocks[-1].append(line)
        else:
            blocks.append([])
    return [block for block in (blocks[:-1] if fence else blocks) if block]


def _whole_sentences(lines: list[str]) -> list[str]:
    """All of it, unless it is long: then as far as its last sentence that fits."""
    if len(lines) <= _QUOTED_LINES:
        return lines
    text = "\n".join(lines[:_QUOTED_LINES])
    end = max((text.rfind(sign) for sign in (". ", ".\n", "! ", "? ")), default=-1)
    return text[: end + 1].splitlines() if end > 0 else lines[:_QUOTED_LINES]


def _block(lines: list[str], language: str = "") -> str:
    """The first lines as a code block, and how many are left out."""
    fitting = _fitting(lines)
    left_out = f"\n{_counted(lines[len(fitting) :], 'more line')} left out.\n" if len(fitting) < len(lines) else ""
    return f"{fenced(_joined(fitting), language)}\n{left_out}"


def _fitting(lines: list[str]) -> list[str]:
    """As many of the first lines as an answer has room for; at least one."""
    cut = [line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}…" for line in lines[:_MAX_LINES]]
    sizes = itertools.accumulate(len(line) for line in cut)
    return [
        line
        for number, (line, size) in enumerate(zip(cut, sizes, strict=True))
        if not number or size <= _MAX_CHARACTERS
    ]


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _counted(things: Sized, name: str, of_all: str = "") -> str:
    return f"{len(things)}{of_all} {name}{'' if len(things) == 1 and not of_all else 's'}"
