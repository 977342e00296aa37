"""The official SDK's agent."""

from __future__ import annotations

import os
import socket
import sys
from typing import Any, cast

import acp
from acp.http.asgi import create_asgi_app
from acp.schema import AgentCapabilities, Implementation, SetSessionModeResponse, TextContentBlock
from hypercorn.asyncio import serve
from hypercorn.config import Config

from benchmarks.programs.loops import run
from benchmarks.programs.payloads import (
    AGENT_NAME,
    PROTOCOL_VERSION,
    SESSION_ID,
    TOOL_CALL_ID,
    is_tool_update,
    read_order,
    text_of,
    tool_title,
)


class BenchAgent:
    """Answers, and sends as many updates as the prompt orders."""

    def on_connect(self, conn: acp.Client) -> None:
        self.connection = conn

    async def initialize(self, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(),
            agent_info=Implementation(name=AGENT_NAME, version=str(os.getpid())),
        )

    async def new_session(self, **_: Any) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id=SESSION_ID)

    async def set_session_mode(self, **_: Any) -> SetSessionModeResponse:
        return SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        block = prompt[0]
        assert isinstance(block, TextContentBlock)
        count, size, tool_every = read_order(block.text)
        text = text_of(size)
        for number in range(count):
            if is_tool_update(number, tool_every):
                update = acp.update_tool_call(TOOL_CALL_ID, title=tool_title(number), status="in_progress")
                await self.connection.session_update(session_id, update)
            else:
                await self.connection.session_update(session_id, acp.update_agent_message_text(text))
        return acp.PromptResponse(stop_reason="end_turn")


async def serve_http() -> None:
    """Over HTTP and WebSocket, with the server that the SDK recommends."""
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stderr.write(f"listens on http://127.0.0.1:{listener.getsockname()[1]}/acp\n")
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.errorlog = None
    config.keep_alive_max_requests = 2**31 - 1
    await serve(cast("Any", create_asgi_app(lambda _: cast("Any", BenchAgent()))), config)


if __name__ == "__main__":
    # The SDK looks methods up by name; its Protocol class would require all fifteen.
    main = serve_http() if "--http" in sys.argv else acp.run_agent(cast("Any", BenchAgent()))
    run(main, uvloop="--uvloop" in sys.argv)
