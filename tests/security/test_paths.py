"""Attacks with paths that no file can have, wherever a peer, a model or an author may name one.

The system's own calls answer them with exceptions of several kinds. Here each is the peer's fault: invalid params, with
the name of the field, and no traceback in the log.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest

from accord import Client, permissions
from accord.apps.coder.coder import build
from accord.apps.coder.settings.precedence import load_settings
from accord.client.workspace.workspace import Workspace
from accord.errors import InvalidParams, RequestFailed, StoreFailed
from accord.local.files import read_file
from accord.local.paths import Roots
from accord.local.saved_choices import SavedChoices
from accord.session.content import ResourceLink, Text
from accord.session.mcp_servers import StdioServer
from accord.session.requests import CreateTerminal, ReadFile, WriteFile
from accord.store import SessionRecord, SqliteStore
from accord.testing import ScriptedAgent

NAMES = {
    "long name": "x" * 300,
    "long path": "/".join(["x"] * 5000),
    "below a long name": "x" * 300 + "/y",
    "missing, then long": "missing/" + "x" * 300,
    "nul": "a\0b",
    "surrogate": "\ud800",
}
every_name = pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
every_version = pytest.mark.parametrize("version", [1, 2, "2-draft"])


@pytest.fixture(autouse=True)
def no_traceback(caplog: pytest.LogCaptureFixture) -> Any:
    yield
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
    assert "Task exception was never retrieved" not in caplog.text


@every_name
async def test_a_workspace_refuses_them_in_every_call(tmp_path: Path, name: str):
    path = f"{tmp_path}/{name}"
    async with Workspace(tmp_path) as workspace:
        with pytest.raises(InvalidParams, match="cwd"):
            await workspace.answer(CreateTerminal(session_id="s", command="true", cwd=path))
        with pytest.raises(InvalidParams, match="path"):
            await workspace.answer(WriteFile(session_id="s", path=path, content="text"))
        with pytest.raises(RequestFailed) as refused:
            await workspace.answer(ReadFile(session_id="s", path=path))
        assert refused.value.code in (-32602, -32002)  # a path whose directory is missing is just not there
        with pytest.raises(InvalidParams, match="command"):
            await workspace.answer(CreateTerminal(session_id="s", command=path, args=["a"]))
    assert len(list(tmp_path.rglob("*"))) <= 1  # noqa: ASYNC240  # nothing else runs


@every_name
@every_version
async def test_an_agent_refuses_a_session_there_or_goes_on(tmp_path: Path, monkeypatch: Any, name: str, version: Any):
    """A second directory that is missing may be the client's alone; one that no directory can be is refused."""
    monkeypatch.setenv("ACCORD_HOME", str(tmp_path / "home"))
    path = f"{tmp_path}/{name}"
    coder = build(load_settings(tmp_path))
    async with Client(coder.agent, version=version) as client:
        wanted: tuple[dict[str, Any], ...] = ({"cwd": path}, {"cwd": tmp_path, "additional_directories": [path]})
        for directories in wanted:
            is_cwd = "additional_directories" not in directories
            if name in (NAMES["missing, then long"], NAMES["surrogate"]) and not is_cwd:  # that is mended on the wire
                session = await client.new_session(**directories)
                await session.prompt("/help")
                continue
            with pytest.raises(InvalidParams, match=r"absolute path|no such directory"):
                await client.new_session(**directories)
        session = await client.new_session(cwd=tmp_path)
        for call in (client.load_session(session.id, path), client.resume_session(session.id, path)):
            with pytest.raises(InvalidParams):
                await call
        listed = [each.cwd async for each in client.list_sessions(cwd=path)]
        assert listed == [] or name in (NAMES["missing, then long"], NAMES["surrogate"])
        server = StdioServer(name="odd", command=path, args=[], env={})
        other = await client.new_session(cwd=tmp_path, servers=[server])
        link = ResourceLink(uri=f"file://{path}", name="odd")
        for text in (f"/read {name}", f"/list {name}", f"/search x {name}", f"/run true {name}"):
            reply = other.prompt([Text(text), link])
            assert (await reply).stop_reason == "end_turn"


@pytest.mark.parametrize("name", [name for name in NAMES.values() if name != "\ud800"])  # which no frame can hold
async def test_a_client_shows_what_an_agent_says_of_them(tmp_path: Path, name: str):
    path = f"{tmp_path}/{name}"
    agent = ScriptedAgent(1)
    content = [{"type": "diff", "path": path, "oldText": "a", "newText": "b"}]
    call = {
        "toolCallId": "c",
        "title": "Read",
        "locations": [{"path": path}],
        "content": content,
        "rawInput": {"path": path},
    }

    @agent.on("session/prompt")
    async def turn(asked: Any) -> Any:
        session_id = asked.params["sessionId"]
        agent.update("tool_call", **call)
        option = {"optionId": "a", "name": "Allow", "kind": "allow_once"}
        question = {"sessionId": session_id, "toolCall": call, "options": [option]}
        await agent.ask("session/request_permission", question)
        await agent.ask("fs/read_text_file", {"sessionId": session_id, "path": path})
        return {"stopReason": "end_turn"}

    async with Client(agent, version=1, workspace=tmp_path, on_permission=permissions.allow_all) as client:
        session = await client.new_session(cwd=tmp_path)
        assert (await session.prompt("go")).stop_reason == "end_turn"
        assert session.transcript.tool_calls["c"].locations


@every_name
async def test_our_own_files_refuse_them_with_the_reason(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.ERROR)
    path = f"{tmp_path}/{name}"
    if name != NAMES["missing, then long"]:
        with pytest.raises(ValueError, match="must be an absolute path on this system: it "):
            Roots([path])
        with pytest.raises(OSError, match="invalid path: it "):
            read_file(Path(path))
    store = SqliteStore(path)
    for call in (store.list, lambda: store.create(SessionRecord("s", cwd="/")), store.commit):
        with pytest.raises(StoreFailed, match=r"invalid path: it |File name too long") as failed:
            await call()
        assert str(failed.value).isprintable()
    await store.aclose()
    with pytest.raises((OSError, ValueError), match=r"invalid path|File name too long") as refused:
        SavedChoices(path).set("p", "edit", True)
    assert not isinstance(refused.value, UnicodeError)
    assert not os.path.lexists(tmp_path / "x" / "x")  # noqa: ASYNC240  # nothing else runs
