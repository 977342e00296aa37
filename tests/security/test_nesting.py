"""Values nested so deeply that reading, storing or writing them exhausts the stack.

How deep an interpreter follows differs from version to version: a few hundred levels, or a hundred thousand. At every depth the
value is refused or taken, and what follows is answered.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord import Agent, Client, Turn
from accord.store import SqliteStore
from accord.testing import ScriptedAgent, ScriptedClient

pytestmark = pytest.mark.bad_frames

DEPTHS = [200, 450, 900, 5_000, 9_000, 50_000, 100_000, 1_000_000]


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def send(peer: Any, frame: str) -> None:
    peer._transport.send(frame.encode())


def echo(path: Path) -> Agent:
    agent = Agent("echo", store=SqliteStore(path))

    @agent.prompt
    async def answer(turn: Turn) -> None:
        await turn.say(turn.text)

    return agent


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("version", [1, 2], ids=["v1", "v2"])
async def test_an_agent_survives_it_anywhere_in_a_prompt(tmp_path: Path, version: Any, depth: int):
    async with ScriptedClient(echo(tmp_path / "sessions.db"), version) as client:
        await client.initialize()
        session_id = await client.new_session(str(tmp_path))
        for number, (meta, block_meta) in enumerate([(nested(depth), "0"), ("0", nested(depth))]):
            block = f'{{"type":"text","text":"hi","_meta":{{"deep":{block_meta}}}}}'
            params = f'{{"sessionId":"{session_id}","_meta":{{"deep":{meta}}},"prompt":[{block}]}}'
            send(client, f'{{"jsonrpc":"2.0","id":"deep {number}","method":"session/prompt","params":{params}}}')
        client.prompt("go on")
        await client.wait_until(lambda: client.said().endswith("go on") or None, "the answer to the last prompt")
    async with ScriptedClient(echo(tmp_path / "sessions.db"), version) as client:
        await client.initialize()
        resume = {"sessionId": session_id, "cwd": str(tmp_path), "mcpServers": []}
        assert (await client.ask("session/resume", resume)).error is None


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("version", [1, 2], ids=["v1", "v2"])
async def test_a_client_survives_it_anywhere_in_an_update(tmp_path: Path, version: Any, depth: int):
    agent = ScriptedAgent(version)

    async def answer(request: Any) -> None:
        agent.begin(request)
        tag = "tool_call" if version == 1 else "tool_call_update"
        for place in ("rawInput", "rawOutput", "_meta", "content", "locations", "unknown"):
            value = f'{{"deep":{nested(depth)}}}' if place == "_meta" else nested(depth)
            update = f'{{"sessionUpdate":"{tag}","toolCallId":"{place}","title":"Deep","{place}":{value}}}'
            params = f'{{"sessionId":"{agent.session_id}","update":{update}}}'
            send(agent, f'{{"jsonrpc":"2.0","method":"session/update","params":{params}}}')
        agent.say("still here")
        agent.finish(request)

    agent.on("session/prompt", answer)
    async with Client(agent, version=version) as client:
        session = await client.new_session(tmp_path)
        reply = await session.prompt("Go")
        assert reply.text == "still here"
        assert (await reply).stop_reason == "end_turn"
