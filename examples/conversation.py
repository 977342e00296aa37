"""A conversation with permission_and_diff.py, shown in full: python conversation.py [1 | 2 | 2-draft]"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from accord import Client, MessageChunk, ProtocolVersion, ToolCallChanged, permissions

AGENT = [sys.executable, str(Path(__file__).with_name("permission_and_diff.py"))]
VERSIONS: dict[str, ProtocolVersion] = {"1": 1, "2": 2, "2-draft": "2-draft"}


def show_frame(direction: str, frame: bytes) -> None:
    arrow, message = "->" if direction == "sent" else "<-", json.loads(frame)
    payload = message.get("params") or message.get("result") or {}
    shown = json.dumps(payload.get("update", payload))
    print(f"    client {arrow} agent  {message.get('method', 'answer')} {shown}"[:120])


async def main(folder: str, version: ProtocolVersion) -> None:
    async with Client(AGENT, version=version, on_permission=permissions.allow_all, on_frame=show_frame) as client:
        session = await client.new_session(folder)
        for prompt in ("Buy milk", "Call the plumber"):
            async for update in session.prompt(prompt):
                match update:
                    case MessageChunk(text=text):
                        print(text)
                    case ToolCallChanged(call=call):
                        print(f"[{call.status}] {call.title}")
    print("", *(f"{message.role}: {message.text}" for message in session.transcript.messages.values()), sep="\n")


with tempfile.TemporaryDirectory() as directory:
    asyncio.run(main(directory, VERSIONS.get(sys.argv[-1], "auto")))
