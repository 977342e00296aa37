"""The model that needs no network and no key, because it is none: it does what is asked for in so many words.

It turns what `sentences` understands into the same plans and tool calls that a language model would ask for; reading,
searching, editing and running are really done, with the same permissions. It never invents anything.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncGenerator, Iterator, Sequence, Sized
from typing import Any

import msgspec

from accord.apps.coder.models.model import (
    Asked,
    Event,
    Requested,
    Said,
    Stopped,
    Takes,
    ToolMessage,
    ToolOutcome,
    ToolRequest,
    UserMessage,
)
from accord.apps.coder.models.sentences import (
    Changes,
    Create,
    Delete,
    Edit,
    Explain,
    Intent,
    Listing,
    Move,
    Plan,
    Read,
    Run,
    Search,
    Tests,
    understood,
)
from accord.apps.coder.project_tests import TELLING, failures_in, how_to_test, without_pytest
from accord.apps.coder.tools.tool import SAID_NO
from accord.session.content import Text

__all__ = ["OfflineModel"]

_UNKNOWN = """\
I am accord's offline model: not a language model, so I understand only a few requests, and do exactly what they say. Try:

- `/explain`: what this repository is
- `/search TEXT [in PATH]`, `/read FILE`
- `/edit FILE OLD => NEW`: shown as a diff, and done when you allow it
- `/run COMMAND`, `/test`, `/review`

or the same in words: "replace foo with bar in main.py", "run the tests", "run `make lint`". `/help` lists everything. For a
language model, set a key and start with `--model provider:name`, name a local file with `--model local:FILE.gguf`, or put it
into `config.toml`.
"""


class Step(msgspec.Struct):
    """What is said next, and which tools are asked for; no tools end the turn."""

    says: str = ""
    calls: list[tuple[str, dict[str, Any]]] = []


class OfflineModel:
    """`test_command` is what the settings say the tests are run with."""

    name = "offline"
    takes = Takes(image=False, audio=False)
    context_size = None
    is_language_model = False

    def __init__(self, test_command: str | None = None) -> None:
        self._test_command = test_command

    async def stream(self, asked: Asked) -> AsyncGenerator[Event, None]:
        """One step of what was asked for."""
        intent, outcomes = _since_prompt(asked)
        step = Step(_UNKNOWN) if intent is None else self._step(intent, outcomes)
        for piece in _pieces(step.says):
            yield Said(piece)
        for name, arguments in step.calls:
            id = f"offline-{os.urandom(6).hex()}"
            yield Requested(ToolRequest(id=id, name=name, arguments=msgspec.json.encode(arguments).decode()))
        yield Stopped("tools" if step.calls else "end")

    async def aclose(self) -> None:
        """Nothing is held."""

    def _step(self, intent: Intent, outcomes: list[ToolOutcome]) -> Step:
        match intent:
            case Edit():
                return _edit(intent, outcomes)
            case Tests():
                return self._tests(intent, outcomes)
            case Explain():
                return _explain(intent, outcomes)
            case Plan():
                return _plan(intent, outcomes)
            case _:
                return _one_call(intent, outcomes)

    def _tests(self, intent: Tests, outcomes: list[ToolOutcome]) -> Step:
        steps = ["Find out how the tests are run", "Run them", "Tell what failed"]
        ran, listed, read = _of(outcomes, "run"), _of(outcomes, "list"), _of(outcomes, "read")
        if ran and len(_of(outcomes, "plan")) > 2:
            return Step()
        names = listed[-1].text.splitlines() if listed else []
        telling = [name for name in TELLING if name in names]
        contents = {name: outcome.text for name, outcome in zip(telling, read, strict=False) if not outcome.is_error}
        command = how_to_test(names, contents, intent.arguments)
        if self._test_command is not None:
            command = f"{self._test_command} {intent.arguments}".strip()
        elif not listed:
            return Step(calls=[_planned(steps, 0), ("list", {"path": "."})])
        elif telling and not read:
            return Step(calls=[("read", {"path": name}) for name in telling])
        if command is None:
            return Step(
                "Nothing here tells how the tests are run. Say it with `/run COMMAND`, or set `test_command` in the "
                "settings.\n"
            )
        if not ran:
            return Step(calls=[_planned(steps, 1), ("run", {"command": command})])
        if len(ran) == 1 and "No module named pytest" in ran[0].text and without_pytest(command) != command:
            return Step(calls=[("run", {"command": without_pytest(command)})])
        return Step(_tests_told(ran[-1]), [_planned(steps, 3)])


def _since_prompt(asked: Asked) -> tuple[Intent | None, list[ToolOutcome]]:
    """What the last prompt asks for, and what came of the tools since. The last text that is understood is the newest."""
    outcomes: list[ToolOutcome] = []
    for past in reversed(asked.history):
        if isinstance(past, UserMessage):
            texts = [block.text for block in reversed(past.content) if isinstance(block, Text)]
            return next((intent for text in texts if (intent := understood(text)) is not None), None), outcomes
        if isinstance(past, ToolMessage):
            outcomes[:0] = past.outcomes
    return None, outcomes


def _pieces(text: str) -> Iterator[str]:
    """Line by line, as it would stream."""
    yield from text.splitlines(keepends=True)


def _of(outcomes: Sequence[ToolOutcome], name: str) -> list[ToolOutcome]:
    return [outcome for outcome in outcomes if outcome.name == name]


def _planned(steps: Sequence[str], done: int) -> tuple[str, dict[str, Any]]:
    """The plan with so many steps done."""
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(steps)
    return "plan", {"steps": [{"content": step, "status": state} for step, state in zip(steps, states, strict=False)]}


def _one_call(intent: Intent, outcomes: list[ToolOutcome]) -> Step:
    if isinstance(intent, Search) and outcomes and outcomes[0].text.startswith("there is no "):
        intent, outcomes = Search(f"{intent.pattern} in {intent.path}"), outcomes[1:]  # "for x in range" names no place
    if outcomes:
        return Step(_told(intent, outcomes[-1]))
    match intent:
        case Search(pattern, path):
            return Step(calls=[("search", {"pattern": pattern, "path": path, "is_plain": True})])
        case Read(path, line, limit):
            return Step(calls=[("read", {"path": path, "line": line, "limit": limit})])
        case Listing(path):
            return Step(calls=[("list", {"path": path})])
        case Create(path, content):
            return Step(calls=[("write", {"path": path, "content": f"{content}\n"})])
        case Delete(path):
            return Step(calls=[("delete", {"path": path})])
        case Move(source, destination):
            return Step(calls=[("move", {"source": source, "destination": destination})])
        case Run(command):
            return Step(calls=[("run", {"command": command})])
        case Changes(path):
            return Step(calls=[("changes", {"path": path})])
        case _:
            return Step(_UNKNOWN)


def _told(intent: Intent, outcome: ToolOutcome) -> str:
    """What came of it, in a sentence; the call itself shows the rest."""
    lines = outcome.text.splitlines()
    if outcome.is_error:
        return _failed(outcome)
    match intent:
        case Search(pattern, _):
            files = {line.partition(":")[0] for line in lines}
            if not outcome.text or lines[0] == "Nothing was found.":
                return f"`{pattern}` was not found.\n"
            return f"`{pattern}` is on {_counted(lines, 'line')} of {_counted(files, 'file')}:\n\n" + _listed(lines)
        case Read(path, _, _):
            return f"`{path}` is shown above.\n"
        case Listing(path):
            return f"`{path}` has {len(lines)} {'entry' if len(lines) == 1 else 'entries'}.\n"
        case Run(command):
            return f"`{command}` is done: {lines[0].strip('[]') if lines else ''}.\n"
        case Changes():
            return _changes_told(lines)
        case _:
            return f"{outcome.text}\n"


def _failed(outcome: ToolOutcome) -> str:
    """What is said to a model is not always what a user should read."""
    if outcome.text.startswith(SAID_NO):
        return "Nothing was done: it was not allowed.\n"
    lines = outcome.text.strip().splitlines()
    return f"That did not work: {' '.join(lines) if len(lines) < 5 else lines[0]}\n"


def _counted(things: Sized, name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _listed(lines: list[str], most: int = 20) -> str:
    shown = "".join(f"- `{line[:200]}`\n" for line in lines[:most])
    return shown + (f"- and {len(lines) - most} more\n" if len(lines) > most else "")


def _changes_told(lines: list[str]) -> str:
    if not lines or lines[0].startswith("Nothing has changed"):
        return "Nothing has changed since the last commit.\n"
    files = list(itertools.takewhile(str.strip, lines))
    added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    marks = [line for line in lines if line.startswith("+") and any(mark in line for mark in ("TODO", "FIXME", "XXX"))]
    have = "has" if len(files) == 1 else "have"
    told = f"{_counted(files, 'file')} {have} changed, +{added} −{removed}:\n\n" + _listed(files)  # noqa: RUF001  # a minus
    if marks:
        told += f"\nNew lines that are marked as unfinished:\n\n{_listed([mark[1:].strip() for mark in marks])}"
    return told


def _edit(intent: Edit, outcomes: list[ToolOutcome]) -> Step:
    steps = [f"Read {intent.path}", f"Replace the text in {intent.path}"]
    edited = _of(outcomes, "edit")
    if edited:
        if edited[-1].is_error:
            return Step(_failed(edited[-1]))
        if len(_of(outcomes, "plan")) > 2:
            return Step()
        return Step(f"{edited[-1].text}\n", [_planned(steps, 2)])
    read = _of(outcomes, "read")
    if not read:
        return Step(calls=[_planned(steps, 0), ("read", {"path": intent.path})])
    if read[-1].is_error:
        return Step(_failed(read[-1]))
    arguments = {"path": intent.path, "old_text": intent.old, "new_text": intent.new}
    return Step(calls=[_planned(steps, 1), ("edit", arguments)])


def _tests_told(ran: ToolOutcome) -> str:
    if not ran.text.startswith("["):  # a command's own output begins with how it ended
        return f"The tests were not run. {_failed(ran)}"
    failures = failures_in(ran.text)
    last = next((line for line in reversed(ran.text.splitlines()) if line.strip()), "")
    if not ran.is_error:
        return f"The tests pass: {last.strip('= ')}\n"
    if not failures:
        return f"The tests fail, in a way that I can't read: {last}\n"
    fail = "fails" if len(failures) == 1 else "fail"
    return f"{_counted(failures, 'test')} {fail}:\n\n" + "".join(f"- {failure}\n" for failure in failures)


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


def _explain(intent: Explain, outcomes: list[ToolOutcome]) -> Step:
    listed = _of(outcomes, "list")
    if not listed:
        return Step(calls=[("list", {"path": intent.path})])
    if listed[-1].is_error:
        return Step(_failed(listed[-1]))
    names = listed[-1].text.splitlines()
    readme = next((name for name in names if name.lower() in _READABLE), None)
    if len(outcomes) == 1:
        directory = "" if intent.path == "." else f"{intent.path.rstrip('/')}/"
        looks: list[tuple[str, dict[str, Any]]] = []
        if readme is not None:
            looks.append(("read", {"path": f"{directory}{readme}", "limit": 60}))
        if {".git", ".git/"} & set(names):
            looks.append(("changes", {}))
        if looks:
            return Step(calls=looks)
    return Step(_explained(names, _of(outcomes, "read"), _of(outcomes, "changes")))


def _explained(names: list[str], read: list[ToolOutcome], changes: list[ToolOutcome]) -> str:
    kinds = [about for name, about in _KNOWN.items() if name in names]
    spoken = sorted({_SPOKEN[ending] for name in names for ending in _SPOKEN if name.endswith(ending)})
    directories = [name for name in names if name.endswith("/") and not name.startswith(".")]
    kinds = kinds or ["a git repository" if {".git", ".git/"} & set(names) else "a directory"]
    told = f"This is {', '.join(kinds)}"
    told += f", with files in {', '.join(spoken)}.\n" if spoken else ".\n"
    if directories:
        told += f"\nDirectories: {', '.join(f'`{name}`' for name in directories[:20])}\n"
    command = how_to_test(names, {})
    told += f"\nIts tests are probably run with `{command}`; `/test` finds out and does it.\n" if command else ""
    if read and not read[-1].is_error:
        told += f"\nIts README begins:\n\n{_opening(read[-1].text)}\n"
    if changes and not changes[-1].is_error:
        told += f"\n{_changes_told(changes[-1].text.splitlines())}"
    return told + "\nThis is what the files say; I am not a language model. `/help` shows what I can do.\n"


def _opening(text: str) -> str:
    """The first paragraphs, quoted."""
    lines = [line for line in text.splitlines() if not line.startswith(("[lines ", "```", "!["))]
    return "\n".join(f"> {line}" for line in lines[:12]).rstrip("> \n")


def _plan(intent: Plan, outcomes: list[ToolOutcome]) -> Step:
    if outcomes:
        return Step("This is the usual order of work; a language model would fit it to the goal.\n")
    steps = [
        f"Understand the goal: {intent.goal}",
        "Search for what is concerned (/search)",
        "Read those files (/read)",
        "Make the change (/edit)",
        "Run the tests (/test)",
        "Look at the result (/review)",
    ]
    return Step(calls=[_planned(steps, 0)])
