"""The model that needs no network and no API key: a rule-based stand-in that does exactly what the prompt says.

It turns what `offline_requests` parses into the same plans and tool calls that a language model would request. Reading,
searching, editing and running are real, with the same permissions. It never invents anything.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec.structs import replace

from accord.apps.coder.models.model import (
    ChatMessage,
    Event,
    InputKinds,
    ModelMessage,
    ModelRequest,
    Stop,
    TextDelta,
    ToolMessage,
    ToolOutcome,
    ToolRequest,
    UserMessage,
)
from accord.apps.coder.models.offline_answers import (
    answer_to,
    answer_to_tests,
    explanation,
    failure,
    files_answer,
    plan_answer,
    readme_among,
    was_run,
)
from accord.apps.coder.models.offline_remarks import answer_without_tools
from accord.apps.coder.models.offline_requests import (
    Changes,
    Count,
    Create,
    Delete,
    Edit,
    EditWhere,
    Explain,
    Intent,
    Listing,
    Move,
    Plan,
    Read,
    Run,
    Search,
    Tests,
    is_usual_name,
    parse_request,
)
from accord.apps.coder.test_command import FILES_TO_READ, find_test_command, without_pytest
from accord.apps.coder.tools.tool import in_code
from accord.session.content import Text

Call = tuple[str, dict[str, Any]]

_TOOLS: dict[type[Intent], str] = {
    Search: "search",
    Read: "read",
    Listing: "list",
    Create: "write",
    Delete: "delete",
    Move: "move",
    Run: "run",
    Changes: "changes",
}
"""The tool of each intent that takes one call; its arguments are the fields of the intent."""


class Step(msgspec.Struct):
    """The text of the next answer, and the tools to call; a step without tools ends the turn."""

    text: str = ""
    calls: list[Call] = []


class OfflineModel:
    """`test_command` is the setting of that name."""

    name = "offline"
    input_kinds = InputKinds()
    context_size = None
    is_language_model = False

    def __init__(self, test_command: str | None = None) -> None:
        self._test_command = test_command

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        """One step of the request."""
        intent, outcomes, is_answered = _since_prompt(request)
        step = self._step(intent, outcomes) if isinstance(intent, Intent) else _remark(intent, request)
        if is_answered:  # the calls that came with the answer are done
            step = Step()
        for line in step.text.splitlines(keepends=True):
            yield TextDelta(line)
        for name, arguments in step.calls:
            id = f"offline-{os.urandom(6).hex()}"
            yield ToolRequest(id=id, name=name, arguments=msgspec.json.encode(arguments).decode())
        yield Stop("tools" if step.calls else "end")

    async def aclose(self) -> None:
        """Nothing to close."""

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
            case Count(path):
                return Step(files_answer(outcomes[-1])) if outcomes else Step(calls=[("search", {"path": path})])
            case Read(path) if is_usual_name(path):
                return _read_usual(intent, outcomes)
            case _:
                return _one_call(intent, outcomes)

    def _tests(self, intent: Tests, outcomes: list[ToolOutcome]) -> Step:
        steps = ["Find out how the tests are run", "Run them", "Report what failed"]
        runs, listings, reads = (_of(outcomes, name) for name in ("run", "list", "read"))
        names = listings[-1].output.splitlines() if listings else []
        to_read = [name for name in FILES_TO_READ if name in names]
        contents = {name: read.output for name, read in zip(to_read, reads, strict=False) if not read.is_error}
        command = find_test_command(names, contents, intent.arguments)
        if self._test_command is not None:
            command = f"{self._test_command} {intent.arguments}".strip()
        elif not listings:
            return Step(calls=[_plan_call(steps, 0), ("list", {"path": "."})])
        elif to_read and not reads:
            return Step(calls=[("read", {"path": name}) for name in to_read])
        if command is None:
            return Step(
                "I can't find out how the tests are run here. Run them with `/run COMMAND`, or set `test_command` in the "
                "settings.\n",
                [_plan_call(steps, 0, is_paused=True)],
            )
        if not runs:
            return Step(calls=[_plan_call(steps, 1), ("run", {"command": command})])
        if "No module named pytest" in runs[0].text and without_pytest(command) != command:
            command = without_pytest(command)
            if len(runs) == 1:
                return Step(calls=[("run", {"command": command})])
        is_run = was_run(runs[-1])
        return Step(answer_to_tests(command, runs[-1]), [_plan_call(steps, 3 if is_run else 1, is_paused=not is_run)])


def _since_prompt(request: ModelRequest) -> tuple[Intent | str, list[ToolOutcome], bool]:
    """The intent of the last prompt, or its text; the tool outcomes since then, and whether it was answered."""
    outcomes: list[ToolOutcome] = []
    is_answered = False
    for place in range(len(request.history) - 1, -1, -1):
        message = request.history[place]
        if isinstance(message, UserMessage):
            intent = _intent(message)
            if isinstance(intent, EditWhere):
                edit = _ambiguous_edit(request.history[:place])
                intent = _text(message) if edit is None else replace(edit, where=intent.where)
            return _text(message) if intent is None else intent, outcomes, is_answered
        if isinstance(message, ToolMessage):
            outcomes[:0] = message.outcomes
        elif message.text:
            is_answered = True
    return "", outcomes, is_answered


def _remark(text: str, request: ModelRequest) -> Step:
    said = [message.text for message in request.history if isinstance(message, ModelMessage)]
    return Step(answer_without_tools(text, said))


def _intent(message: UserMessage) -> Intent | None:
    """If several texts of the prompt can be parsed, the last one counts."""
    texts = [block.text for block in reversed(message.content) if isinstance(block, Text)]
    return next((intent for text in texts if (intent := parse_request(text)) is not None), None)


def _text(message: UserMessage) -> str:
    return next((block.text for block in reversed(message.content) if isinstance(block, Text)), "")


def _ambiguous_edit(history: Sequence[ChatMessage]) -> Edit | None:
    """The edit of the prompt before this one, if its text occurs several times."""
    outcomes: list[ToolOutcome] = []
    for message in reversed(history):
        if isinstance(message, ToolMessage):
            outcomes[:0] = message.outcomes
        elif isinstance(message, UserMessage):
            intent = _intent(message)
            if isinstance(intent, EditWhere):
                continue  # that one was asked about before, and asked again
            is_open = [outcome.failure for outcome in _of(outcomes, "edit")][-1:] == ["ambiguous"]
            return intent if isinstance(intent, Edit) and is_open else None
    return None


def _of(outcomes: Sequence[ToolOutcome], name: str) -> list[ToolOutcome]:
    return [outcome for outcome in outcomes if outcome.name == name]


def _plan_call(steps: Sequence[str], done: int, *, is_paused: bool = False) -> Call:
    """The plan with the first `done` steps completed, and the next one in progress unless the work has stopped."""
    states = ["completed"] * done + ["pending" if is_paused else "in_progress"] + ["pending"] * len(steps)
    return "plan", {"steps": [{"content": step, "status": state} for step, state in zip(steps, states, strict=False)]}


def _one_call(intent: Intent, outcomes: list[ToolOutcome]) -> Step:
    if isinstance(intent, Search) and outcomes and outcomes[0].failure == "not_found":
        whole = Search(f"{intent.pattern} in {intent.path}")  # "for x in range": not a path
        if outcomes[1:] and outcomes[1].details.get("hits") == 0:
            return Step(f"{in_code(whole.pattern)} was not found, and there is no file {in_code(intent.path)}.\n")
        intent, outcomes = whole, outcomes[1:]
    if outcomes:
        return Step(answer_to(intent, outcomes[-1]))
    arguments = msgspec.to_builtins(intent)
    arguments.pop("purpose", None)
    if isinstance(intent, Search):
        arguments["is_plain"] = True
    elif isinstance(intent, Create):
        arguments["content"] += "\n"
    return Step(calls=[(_TOOLS[type(intent)], arguments)])


def _read_usual(intent: Read, outcomes: list[ToolOutcome]) -> Step:
    """Read a file that is there under this name, or that is called so: "the readme" is README.md."""
    reads, listings = _of(outcomes, "read"), _of(outcomes, "list")
    if not reads or reads[0].failure != "not_found":
        return _one_call(intent, reads)
    if not listings:
        return Step(calls=[("list", {"path": "."})])
    names = listings[0].output.splitlines()
    called = [name for name in names if PurePath(name).stem.lower() == intent.path.lower() and not name.endswith("/")]
    return _one_call(replace(intent, path=called[0]), reads[1:]) if called else Step(failure(reads[0]))


def _edit(intent: Edit, outcomes: list[ToolOutcome]) -> Step:
    steps = [f"Read {intent.path}", f"Replace the text in {intent.path}"]
    edits, reads = _of(outcomes, "edit"), _of(outcomes, "read")
    if edits:
        if edits[-1].is_error:
            return Step(failure(edits[-1]), [_plan_call(steps, 1, is_paused=True)])
        is_one = isinstance(intent.where, int)
        told = f"Edited {intent.path} at line {intent.where}." if is_one else edits[-1].text
        return Step(f"{told}\n", [_plan_call(steps, 2)])
    if not reads:
        return Step(calls=[_plan_call(steps, 0), ("read", {"path": intent.path})])
    if reads[-1].is_error:
        return Step(failure(reads[-1]), [_plan_call(steps, 0, is_paused=True)])
    old, new = intent.old, intent.new
    if isinstance(intent.where, int):
        pair = _on_line(reads[-1].output, intent.where, old, new)
        if pair is None:
            answer = f"{in_code(old)} is not on line {intent.where} of {intent.path}, or I can't tell that line from others.\n"
            return Step(answer, [_plan_call(steps, 1, is_paused=True)])
        old, new = pair
    arguments: dict[str, Any] = {"path": intent.path, "old_text": old, "new_text": new}
    if intent.where == "everywhere":
        arguments["replace_all"] = True
    return Step(calls=[_plan_call(steps, 1), ("edit", arguments)])


def _on_line(text: str, number: int, old: str, new: str) -> tuple[str, str] | None:
    """The line with as many before it as make it the only such place, as it is and as it should be."""
    lines = text.splitlines(keepends=True)
    if not 0 < number <= len(lines) or old not in lines[number - 1]:
        return None
    for first in range(number - 1, -1, -1):
        before = "".join(lines[first : number - 1])
        piece = before + lines[number - 1]
        if text.count(piece) == 1:
            return piece, before + lines[number - 1].replace(old, new)
    return None


def _explain(intent: Explain, outcomes: list[ToolOutcome]) -> Step:
    listings = _of(outcomes, "list")
    if not listings:
        return Step(calls=[("list", {"path": intent.path})])
    if listings[-1].is_error:
        return Step(failure(listings[-1]))
    names = listings[-1].output.splitlines()
    if len(outcomes) == 1:
        directory = "" if intent.path == "." else f"{intent.path.rstrip('/')}/"
        calls: list[Call] = []
        if (readme := readme_among(names)) is not None:
            calls.append(("read", {"path": f"{directory}{readme}", "limit": 60}))
        calls.append(("search", {"path": intent.path}))
        if {".git", ".git/"} & set(names):
            calls.append(("changes", {}))
        return Step(calls=calls)
    has_tests = intent.path == "."
    found = [_of(outcomes, name) for name in ("read", "search", "changes")]
    return Step(explanation(names, *found, has_tests=has_tests))


def _plan(intent: Plan, outcomes: list[ToolOutcome]) -> Step:
    steps = [
        f"Understand the goal: {intent.goal}",
        "Search for the code it affects (/search)",
        "Read those files (/read)",
        "Make the change (/edit)",
        "Run the tests (/test)",
        "Review the result (/review)",
    ]
    return Step(plan_answer(steps)) if outcomes else Step(calls=[_plan_call(steps, 0, is_paused=True)])
