"""A true language model, on this machine, through the agent's program and a client."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from accord import Client, Command, MessageChunk
from tests.apps.coder.models.test_local_model import model_file

pytestmark = [pytest.mark.local_model, pytest.mark.timeout(300)]


async def test_tokens_stream_through_agent_and_client_and_a_cancel_stops_them(tmp_path: Path) -> None:
    model = ["--model", f"local:{model_file()}", "--temperature", "0"]  # the same story each time
    flags = [*model, "--mode", "architect"]
    command = Command([sys.executable, "-m", "accord", "agent", *flags], env={"ACCORD_HOME": str(tmp_path / "home")})
    async with Client(command) as client:
        session = await client.new_session(cwd=tmp_path)
        reply = session.prompt("Tell me a long story about a fox and a bear.")
        pieces = 0
        async for update in reply:
            if isinstance(update, MessageChunk) and update.message.role == "agent":
                pieces += 1
                if pieces == 3:
                    break
        await reply.cancel()
        assert (await reply).stop_reason == "cancelled"
        again = session.prompt("Say hello.")
        await again.cancel()
        assert (await again).stop_reason == "cancelled"
        assert pieces == 3
        assert next(message.text for message in session.transcript.messages.values() if message.role == "agent")
