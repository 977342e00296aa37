"""The open call that a permission request means which has an id of its own and no kind: deepagents-code."""

from __future__ import annotations

from typing import Any

import pytest

from accord import Client, permissions
from accord.client.dispatch import open_call_for
from accord.session.entities import Diff, FileChange, Location, ToolCall
from accord.session.requests import PermissionRequest
from accord.session.updates import ToolCallPatch
from accord.testing import ScriptedAgent
from tests.apps.console.real_peers import deepagents_edit, deepagents_shell, does

CWD = "/work"
TEXT = {"file_path": "/work/a.py", "content": "x"}
DIFF = Diff(changes=[FileChange(operation="modify", path="/work/a.py", old_text="a", new_text="b")])


def call(id: str = "call", title: str | None = "Write `a.py`", kind: str = "edit", **fields: Any) -> ToolCall:
    return ToolCall(id=id, title=title, kind=kind, **fields)


def asked(title: str = "Write `a.py`", **fields: Any) -> ToolCallPatch:
    return ToolCallPatch(id="interrupt", title=title, **fields)


def meant(request: ToolCallPatch, *calls: ToolCall) -> str | None:
    found = open_call_for(request, calls, CWD)
    return None if found is None else found.id


@pytest.mark.parametrize(
    ("request_", "known"),
    [
        (asked(), call()),
        (asked(raw_input=TEXT), call(raw_input=TEXT)),
        (asked(raw_input=TEXT), call(locations=[Location(path="/work/a.py")])),
        (asked(raw_input=TEXT), call(raw_input={"path": "/work/a.py"})),
        (asked("write_file", raw_input=TEXT), call(raw_input=TEXT)),
        (asked("write_file", raw_input=TEXT), call(locations=[Location(path="a.py")])),
        (asked("Change it", content=[DIFF]), call(content=[DIFF])),
        (asked("Execute: `ls`", raw_input={"command": "ls"}), call(kind="execute", raw_input={"command": "ls"})),
        (asked("Execute: `ls`", raw_input={"command": "ls"}), call(title="ls", kind="execute", raw_input={"command": "ls"})),
        (asked("ls", raw_input={"command": "ls"}), call(title="ls", kind="execute")),
        (asked("read", raw_input={"path": "a"}), call(title="read", kind="read", raw_input={"path": "a"})),
        (asked("task"), call(title="task", kind="other")),
        (asked("task", raw_input="x"), call(title="task", kind="other", raw_input="x")),
    ],
)  # fmt: skip
def test_what_tells_the_same_is_the_same(request_: ToolCallPatch, known: ToolCall):
    assert meant(request_, call("other", "Something else", "execute"), known) == "call"


@pytest.mark.parametrize(
    ("request_", "known"),
    [
        (asked(kind="execute"), call()),
        (asked(), call(status="completed")),
        (asked(), call(ended_without_result=True)),
        (asked("Write `b.py`"), call()),
        (asked(raw_input=TEXT), call(raw_input={**TEXT, "content": "y"})),
        (asked(raw_input=TEXT), call(locations=[Location(path="/work/b.py")])),
        (asked(raw_input="x"), call(raw_input="y")),
        (asked("task", raw_input={"command": "rm"}), call(title="task", kind="edit")),
        (asked("task", raw_input={"command": "rm"}), call(title="task", kind="execute", raw_input={"command": "ls"})),
        (asked("task", raw_input={"command": "rm"}), call(title="task", kind="execute")),
        (asked("Delete a.py", raw_input={"path": "a.py"}), call(title="Read a.py", kind="read", raw_input={"path": "a.py"})),
        (asked("Delete a.py", raw_input={"path": "a.py"}), call(title="Edit a.py", raw_input={"path": "a.py"})),
        (asked("Delete a.py", locations=[Location(path="a.py")]), call(title="Edit", locations=[Location(path="a.py")])),
        (asked("fs", raw_input={"action": "delete"}), call(title="fs", kind="edit")),
        (asked("fs", raw_input={"action": "delete"}), call(title="fs", kind="read")),
        (asked("fs", content=[DIFF]), call(title="fs", kind="read")),
        (asked(""), call(title="")),
        (asked(""), call(title=None)),
    ],
)  # fmt: skip
def test_what_tells_something_else_or_too_little_is_not(request_: ToolCallPatch, known: ToolCall):
    """What would be allowed by its kind must not be something else under a familiar name."""
    assert meant(request_, known) is None


def test_of_two_that_are_alike_neither_is_taken():
    assert meant(asked(), call("one"), call("two")) is None
    assert meant(asked(raw_input=TEXT), call("one"), call("two", raw_input=TEXT)) == "two"


async def test_the_call_is_told_once_and_the_policy_sees_its_kind_and_diff(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("old\n")
    agent, seen = ScriptedAgent(1), list[PermissionRequest]()

    async def policy(request: PermissionRequest) -> Any:
        seen.append(request)
        return await permissions.allow_kinds("edit")(request)

    does(agent, deepagents_edit(path, "old", "new"), deepagents_shell("ls"))
    async with Client(agent, version=1, on_permission=policy) as client:
        session = await client.new_session(tmp_path)
        await session.prompt("Go")
        calls = session.transcript.tool_calls
    assert [(call.id, call.kind, call.status) for call in calls.values()] == [
        ("call_1", "edit", "completed"),
        ("call_2", "execute", "failed"),
    ]
    first: Any = seen[0].subject
    assert (first.call.id, first.call.kind, first.call.raw_input["new_string"]) == ("call_1", "edit", "new")
    assert isinstance(first.call.content[0], Diff)
    assert path.read_text() == "new\n"
