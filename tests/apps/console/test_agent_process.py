"""MCP servers of the settings that the agent can't connect to are told, line by line as well."""

from __future__ import annotations

import sys

import pytest

from accord.testing import ScriptedAgent, program

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.apps.console.terminal import at_terminal


async def test_the_plain_mode_tells_which_servers_the_agent_does_not_take(home, project):
    (home / "config.toml").write_text(
        '[servers.files]\ncommand = "files-server"\n\n[servers.own]\ncommand = "tools/server"\n\n'
        '[servers.web]\nurl = "https://example.org/mcp"\n'
    )
    agent = ScriptedAgent(1)
    async with program(agent) as command, at_terminal("--plain", "--", *command.args, cwd=project) as (terminal, run):
        await terminal.sees("MCP server 'web' is left out: the agent takes none of type http")
        await terminal.sees("You: ")
        terminal.type("/quit\n")
        assert await run.wait() == 0
    named = agent.calls("session/new")[0].params["mcpServers"]
    assert [(server["name"], server["command"]) for server in named] == [
        ("files", "files-server"),
        ("own", str(project / "tools/server")),
    ]
