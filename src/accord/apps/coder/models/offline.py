"""The model that needs no network and no key, because it is none: it does what is asked for in so many words.

It turns what `sentences` understands into the same plans and tool calls that a language model would ask for; reading,
searching, editing and running are really done, with the same permissions. It never invents anything.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any

import msgspec

from accord.apps.coder.models.model import (
    Event,
    InputKinds,
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
    plan_answer,
    readme_among,
    was_run,
)
from accord.apps.coder.models.offline_requests import (
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
    parse_request,
)
from accord.apps.coder.test_command import FILES_TO_READ, how_to_test, without_pytest
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
    input_kinds = InputKinds(image=False, audio=False)
    context_size = None
    is_language_model = False

    def __init__(self, test_command: str | None = None) -> None:
        self._test_command = test_command

    async def stream(self, asked: ModelRequest) -> AsyncGenerator[Event, None]:
        """One step of what was asked for."""
        intent, outcomes, is_answered = _since_prompt(asked)
        step = Step(_UNKNOWN) if intent is None else self._step(intent, outcomes)
        if is_answered:  # and what was left to do beside the answer is done
            step = Step()
        for piece in _pieces(step.says):
            yield TextDelta(piece)
        for name, arguments in step.calls:
            id = f"offline-{os.urandom(6).hex()}"
            yield ToolRequest(id=id, name=name, arguments=msgspec.json.encode(arguments).decode())
        yield Stop("tools" if step.calls else "end")

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
        names = listed[-1].text.splitlines() if listed else []
        telling = [name for name in FILES_TO_READ if name in names]
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
                "settings.\n",
                [_planned(steps, 0, is_paused=True)],
            )
        if not ran:
            return Step(calls=[_planned(steps, 1), ("run", {"command": command})])
        if "No module named pytest" in ran[0].text and without_pytest(command) != command:
            command = without_pytest(command)
            if len(ran) == 1:
                return Step(calls=[("run", {"command": command})])
        is_run = was_run(ran[-1])
        return Step(answer_to_tests(command, ran[-1]), [_planned(steps, 3 if is_run else 1, is_paused=not is_run)])


def _since_prompt(asked: ModelRequest) -> tuple[Intent | None, list[ToolOutcome], bool]:
    """What the last prompt asks for, what came of the tools since, and whether it has its answer.

    The last text that is understood is the newest.
    """
    outcomes: list[ToolOutcome] = []
    is_answered = False
    for message in reversed(asked.history):
        if isinstance(message, UserMessage):
            texts = [block.text for block in reversed(message.content) if isinstance(block, Text)]
            intent = next((intent for text in texts if (intent := parse_request(text)) is not None), None)
            return intent, outcomes, is_answered
        if isinstance(message, ToolMessage):
            outcomes[:0] = message.outcomes
        elif message.text:
            is_answered = True
    return None, outcomes, is_answered


def _pieces(text: str) -> Iterator[str]:
    """Line by line, as it would stream."""
    yield from text.splitlines(keepends=True)


def _of(outcomes: Sequence[ToolOutcome], name: str) -> list[ToolOutcome]:
    return [outcome for outcome in outcomes if outcome.name == name]


def _planned(steps: Sequence[str], done: int, *, is_paused: bool = False) -> tuple[str, dict[str, Any]]:
    """The plan with so many steps done, and the next one begun unless nobody goes on with it."""
    states = ["completed"] * done + ["pending" if is_paused else "in_progress"] + ["pending"] * len(steps)
    return "plan", {"steps": [{"content": step, "status": state} for step, state in zip(steps, states, strict=False)]}


def _one_call(intent: Intent, outcomes: list[ToolOutcome]) -> Step:
    if isinstance(intent, Search) and outcomes and outcomes[0].text.startswith("there is no "):
        intent, outcomes = Search(f"{intent.pattern} in {intent.path}"), outcomes[1:]  # "for x in range" names no place
    if outcomes:
        return Step(answer_to(intent, outcomes[-1]))
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


def _edit(intent: Edit, outcomes: list[ToolOutcome]) -> Step:
    steps = [f"Read {intent.path}", f"Replace the text in {intent.path}"]
    edited = _of(outcomes, "edit")
    if edited:
        if edited[-1].is_error:
            return Step(failure(edited[-1]), [_planned(steps, 1, is_paused=True)])
        return Step(f"{edited[-1].text}\n", [_planned(steps, 2)])
    read = _of(outcomes, "read")
    if not read:
        return Step(calls=[_planned(steps, 0), ("read", {"path": intent.path})])
    if read[-1].is_error:
        return Step(failure(read[-1]), [_planned(steps, 0, is_paused=True)])
    arguments = {"path": intent.path, "old_text": intent.old, "new_text": intent.new}
    return Step(calls=[_planned(steps, 1), ("edit", arguments)])


def _explain(intent: Explain, outcomes: list[ToolOutcome]) -> Step:
    listed = _of(outcomes, "list")
    if not listed:
        return Step(calls=[("list", {"path": intent.path})])
    if listed[-1].is_error:
        return Step(failure(listed[-1]))
    names = listed[-1].text.splitlines()
    readme = readme_among(names)
    if len(outcomes) == 1:
        directory = "" if intent.path == "." else f"{intent.path.rstrip('/')}/"
        looks: list[tuple[str, dict[str, Any]]] = []
        if readme is not None:
            looks.append(("read", {"path": f"{directory}{readme}", "limit": 60}))
        if {".git", ".git/"} & set(names):
            looks.append(("changes", {}))
        if looks:
            return Step(calls=looks)
    return Step(explanation(names, _of(outcomes, "read"), _of(outcomes, "changes")))


def _plan(intent: Plan, outcomes: list[ToolOutcome]) -> Step:
    steps = [
        f"Understand the goal: {intent.goal}",
        "Search for what is concerned (/search)",
        "Read those files (/read)",
        "Make the change (/edit)",
        "Run the tests (/test)",
        "Look at the result (/review)",
    ]
    if outcomes:
        return Step(plan_answer(steps))
    return Step(calls=[_planned(steps, 0, is_paused=True)])
