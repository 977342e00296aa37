"""A change of a file is shown with its tool call, before the user is asked about it: created, changed and deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord import (
    Agent,
    Client,
    Diff,
    FileChange,
    PermissionAnswer,
    PermissionRequest,
    SyncTurn,
    ToolCallSubject,
    Turn,
)
from accord.dialects.negotiation import ProtocolVersion

CHANGES = {"created": (None, "new\n"), "changed": ("old\n", "new\n"), "deleted": ("old\n", None)}


def editor(path: Any, texts: tuple[str | None, str | None], *, is_plain: bool = False) -> Agent:
    """An agent that asks before it changes the file, and changes nothing."""
    agent = Agent("editor")

    async def edit(turn: Turn) -> None:
        async with turn.tool_call("Edit", kind="edit", content="Before the diff", diff=(path, *texts), id="c") as call:
            await turn.allowed(call)

    def edit_in_thread(turn: SyncTurn) -> None:
        with turn.tool_call("Edit", kind="edit", content="Before the diff", diff=(path, *texts), id="c") as call:
            turn.allowed(call)

    agent.prompt(edit_in_thread if is_plain else edit)
    return agent


@pytest.mark.parametrize("is_plain", [False, True], ids=["async", "plain"])
@pytest.mark.parametrize("name", CHANGES)
async def test_a_diff_is_shown_before_permission(version: ProtocolVersion, name: str, is_plain: bool, tmp_path: Path):
    old_text, new_text = CHANGES[name]
    requests: list[PermissionRequest] = []

    async def answer(request: PermissionRequest) -> PermissionAnswer:
        requests.append(request)
        return PermissionAnswer(outcome="cancelled")

    agent = editor("notes.md", CHANGES[name], is_plain=is_plain)
    async with Client(agent, version=version, on_permission=answer) as client:
        session = await client.new_session(cwd=tmp_path)
        await session.prompt("Go")
        path = str(tmp_path / "notes.md")
        operation = {"created": "add", "changed": "modify", "deleted": "delete"}[name]
        if version != 2 and name == "deleted":  # the loss `diff-delete`
            operation, new_text = "modify", ""
        call = session.transcript.tool_calls["c"]
        (request,) = requests
        assert isinstance(request.subject, ToolCallSubject)
        for shown in (call, request.subject.call):
            _, diff = list(shown.content)  # type: ignore[arg-type]
            assert isinstance(diff, Diff)
            (change,) = diff.changes
            assert (change.operation, change.path) == (operation, path)
            if version == 2:  # the loss `diff-texts`: a patch has them
                assert diff.patch is not None
                assert ("\n-old\n" in diff.patch.text, "\n+new\n" in diff.patch.text) == (
                    bool(old_text),
                    bool(new_text),
                )
            else:
                assert (change.old_text, change.new_text) == (old_text, new_text)
            assert [location.path for location in shown.locations] == [path]  # type: ignore[union-attr]
        assert call.status == "failed"


async def test_a_diff_may_have_several_files_and_locations_of_its_own(version: ProtocolVersion, tmp_path: Path):
    agent = Agent("editor")
    changes = [FileChange("add", "a.py", new_text="a\n"), FileChange("modify", "b.py", old_text="b", new_text="B")]

    @agent.prompt
    async def edit(turn: Turn) -> None:
        async with turn.tool_call("Edit", diff=Diff(changes), id="default"):
            pass
        async with turn.tool_call("Edit", diff=Diff(changes), locations=["b.py"], id="own"):
            pass

    async with Client(agent, version=version) as client:
        session = await client.new_session(cwd=tmp_path)
        await session.prompt("Go")
        calls = session.transcript.tool_calls
        diffs = [item for item in calls["default"].content if isinstance(item, Diff)]
        files = [change for diff in diffs for change in diff.changes]
        assert [change.path for change in files] == [str(tmp_path / "a.py"), str(tmp_path / "b.py")]
        assert [location.path for location in calls["default"].locations] == [change.path for change in files]
        assert [location.path for location in calls["own"].locations] == [str(tmp_path / "b.py")]


async def test_a_diff_of_nothing_is_refused_at_the_call(version: ProtocolVersion, tmp_path: Path):
    refused: list[str] = []
    agent = Agent("editor")

    @agent.prompt
    async def edit(turn: Turn) -> None:
        try:
            turn.tool_call("Edit", diff=("a.py", None, None))
        except ValueError as error:
            refused.append(str(error))

    async with Client(agent, version=version) as client:
        await (await client.new_session(cwd=tmp_path)).prompt("Go")
    assert refused == ["a diff needs an old text, a new text, or both"]
