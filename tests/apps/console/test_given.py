"""What is told of a tool's input and names: all that nothing beside it tells."""

from __future__ import annotations

from typing import Any

import pytest

from accord.apps.console.given import command_of, tells, untold_input, untold_names, value_text
from accord.session.requests import CommandSubject, RequestPermission, ToolCallSubject
from accord.session.updates import ToolCallPatch


def untold(raw: Any, **beside: Any) -> Any:
    return untold_input(raw, "/repo", **{"paths": (), "texts": (), "is_in_diffs": lambda text: False, **beside})


@pytest.mark.parametrize(
    ("raw", "command"),
    [
        ({"command": "ls"}, "ls"),
        ({"cmd": ["echo", "a b", 1]}, "echo 'a b' 1"),
        ({"command": {"not": "one"}, "cmd": "ls"}, "ls"),
        ({"path": "a"}, None),
        ("ls", None),
        (None, None),
    ],
)
def test_a_command_is_found_where_agents_put_it(raw, command):
    assert command_of(raw) == command


@pytest.mark.parametrize(
    ("raw", "left"),
    [
        ({"command": "ls", "cmd": "rm"}, {"cmd": "rm"}),
        ({"command": {"not": "one"}}, {"command": {"not": "one"}}),
        ({"command": "ls", "cwd": "/repo/."}, None),
        ({"command": "ls", "cwd": ".."}, {"cwd": ".."}),
        ({"path": "a.py"}, {"path": "a.py"}),
        ({"content": "text", "description": "why"}, {"content": "text", "description": "why"}),
        ("anything", "anything"),
        ([1], [1]),
        ({}, None),
    ],
)
def test_what_is_told_nowhere_else_is_left(raw, left):
    assert untold(raw) == left


def test_what_is_told_beside_it_is_not_left():
    raw = {"path": "a.py", "content": "text", "description": "why"}
    assert untold(raw, paths={"/repo/a.py"}, texts=["why"], is_in_diffs="text".__eq__) is None


@pytest.mark.parametrize(
    ("olds", "news", "text", "is_told"),
    [
        (["a\nb"], ["a\nc"], "b\r\n", True),
        (["a\nb"], ["a\nc"], "before\na\nc\nafter", True),
        (["a"], ["b"], "c", False),
        (["a"], [""], "c", False),
        ([], [], "c", False),
    ],
)
def test_a_diff_tells_its_pieces_and_the_outcome(olds, news, text, is_told):
    assert tells(olds, news, text) == is_told


@pytest.mark.parametrize(
    ("subject", "title", "head", "names"),
    [
        (ToolCallSubject(call=ToolCallPatch(id="c", title="Do it")), "Do it", "Do it", []),
        (ToolCallSubject(call=ToolCallPatch(id="c", title="a\nb")), "a\nb", "a b", [("title", "a\nb")]),
        (ToolCallSubject(call=ToolCallPatch(id="c", title="a\nb")), None, "a b", [("tool call", "a\nb")]),
        (ToolCallSubject(call=ToolCallPatch(id="c", title="a\nb", raw_input={"cmd": "a\nb"})), "a\nb", "a b", []),
        (
            ToolCallSubject(call=ToolCallPatch(id="c", title="Two", name="one\x1b")),
            "Not one, not Two",
            "Not one, not Two",
            [("tool call", "Two"), ("tool", "one␛")],
        ),
        (CommandSubject(command="ls", cwd="/"), "Run ls", "run ls in /", []),
        (CommandSubject(command="ls", cwd="/"), "Look", "run ls in /", [("title", "Look")]),
        (None, None, "something", []),
    ],
)
def test_a_name_is_told_unless_it_is_shown_as_it_is(subject, title, head, names):
    asked = RequestPermission(session_id="s", options=[], title=title, subject=subject)
    assert list(untold_names(asked, head)) == names


def test_a_value_is_told_whole_and_controls_no_terminal():
    long = "x" * 100_000
    assert value_text({"a": "\u202e", "b": long}) == f'"a": "<U+202E>"\n"b": "{long}"'
    assert (value_text("\x1b[2J\n"), value_text([1, None])) == ("␛[2J\n", "[1,null]")
