"""The coding agent with MCP servers from npm: a model of a provider asks for their tools."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from accord import Client, Command, permissions
from accord.session.mcp_servers import StdioServer
from tests.model_server.script import Script
from tests.model_server.server import ModelServer

NODE_MODULES = Path(__file__).parent / "mcp" / "node_modules" / "@modelcontextprotocol"

pytestmark = pytest.mark.interop


async def test_the_tools_of_servers_from_npm_are_called_by_the_model(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("remember the milk\n")
    servers = [
        StdioServer(
            name="everything", command="node", args=[str(NODE_MODULES / "server-everything/dist/index.js"), "stdio"]
        ),
        StdioServer(
            name="files", command="node", args=[str(NODE_MODULES / "server-filesystem/dist/index.js"), str(tmp_path)]
        ),
    ]
    replies = [
        {"parts": [{"tool": "everything__echo", "arguments": {"message": "hello"}}]},
        {"parts": [{"tool": "files__read_text_file", "arguments": {"path": str(tmp_path / "note.txt")}}]},
        {"parts": [{"text": "Done."}]},
    ]
    async with ModelServer(Script(replies)) as server:
        environment = {
            "ACCORD_HOME": str(tmp_path / "home"),
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": f"{server.url}/v1",
        }
        command = Command([sys.executable, "-m", "accord", "agent", "--model", "openai:scripted"], env=environment)
        async with Client(command, on_permission=permissions.allow_all) as client:
            session = await client.new_session(cwd=tmp_path, servers=servers)
            assert (await session.prompt("Use them")).text == "Done."
            calls = [call for call in session.transcript.tool_calls.values() if call.name]  # not that of the waiting
            assert [call.status for call in calls] == ["completed", "completed"]
            assert "hello" in calls[0].raw_output["output"]
            assert "remember the milk" in calls[1].raw_output["output"]
