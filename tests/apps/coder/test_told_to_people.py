"""What is meant for the model stays with the model: people are told facts, not what a model should do next."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from accord import permissions
from accord.apps.coder.models.model import ToolOutcome
from tests.apps.coder.scripted import raw_tool, tool

ADVICE = [
    (lambda: tool("run", command="make"), "Don't try it again", "Permission denied."),
    (lambda: tool("edit", path="main.py", old_text="zzzz", new_text="x"), "read the file again", "is not in main.py"),
    (lambda: tool("edit", path="main.py", old_text="", new_text="x"), "use write", "the text to replace is empty"),
    (
        lambda: tool("edit", path="main.py", old_text="n", new_text="m"),
        "set replace_all",
        "times in main.py, on lines 1, 2",
    ),
    (lambda: tool("write", path="main.py", content="x"), "read it first", "main.py already exists"),
    (lambda: tool("read", path="."), "use the list tool", "is a directory"),
    (lambda: tool("list", path="main.py"), "use the read tool", "main.py is not a directory"),
    (lambda: tool("write", path=".git/config", content="x"), "with the run tool", ".git/config belongs to git itself"),
    (lambda: tool("raed", path="main.py"), "did you mean read?", "unknown tool 'raed'"),
    (lambda: raw_tool("read", "{"), "Input data was truncated", "the arguments of read are not a JSON object"),
    (lambda: tool("read", path=7), "Expected `str`", "invalid arguments for read"),
    (lambda: tool("ask", question="Which?"), "ask in your answer", "this client has no forms"),
]


def without_meta(value: Any) -> Any:
    """A message without what only programs read."""
    if isinstance(value, dict):
        return {name: without_meta(each) for name, each in value.items() if name != "_meta"}
    return [without_meta(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("request_of", "advice", "fact"), ADVICE, ids=[advice for _, advice, _ in ADVICE])
async def test_advice_to_a_model_is_in_nothing_that_a_client_shows(
    sit: Any, request_of: Callable[[], Any], advice: str, fact: str
) -> None:
    frames: list[str] = []

    def note(direction: str, frame: bytes) -> None:
        frames.append(json.dumps(without_meta(json.loads(frame)), ensure_ascii=False))

    async with sit(on_permission=permissions.reject_all, on_frame=note) as desk:
        (outcome,) = await desk.use(request_of())
        assert isinstance(outcome, ToolOutcome)
        assert outcome.is_error
        assert advice in outcome.text
        assert not [frame for frame in frames if advice in frame]
        assert [frame for frame in frames if fact in frame]
        assert fact in desk.calls[-1].raw_output["output"]


async def test_an_architect_is_told_of_the_tool_and_the_user_of_the_command(sit: Any) -> None:
    async with sit(on_permission=permissions.allow_all) as desk:
        await desk.session.set_option("mode", "architect")
        (outcome,) = await desk.use(tool("run", command="make"))
        assert "switch_mode" in outcome.text
        shown = str(desk.calls[-1])
        assert "/mode leaves it" in shown
        assert "switch_mode" not in shown.replace(outcome.text, "")


@pytest.mark.parametrize(
    ("request_of", "title"),
    [
        (lambda: tool("run", command="echo **hi** `date`"), "echo **hi** `date`"),
        (lambda: tool("run", command="echo one\necho two"), "echo one\\necho two"),
        (lambda: tool("edit", path="main.py", old_text="zzzz", new_text="x"), "Edit main.py"),
        (lambda: tool("read", path="nothing.py"), "Read nothing.py"),
        (lambda: tool("ask", question="**Which** `name` of snake_case?"), "Which name of snake_case?"),
        (
            lambda: tool("switch_mode", mode="code", reason="to _edit_ `main.py`"),
            "Switch to the mode code: to _edit_ main.py",
        ),
    ],
)
async def test_a_title_is_plain_text(sit: Any, request_of: Callable[[], Any], title: str) -> None:
    async with sit(on_permission=permissions.reject_all) as desk:
        await desk.use(request_of())
        assert desk.calls[-1].title == title
