"""A client made with the official Python SDK, which starts our agent and writes down what it is told and asked."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, cast

import acp
from acp import schema
from acp.core import ClientSideConnection
from acp.http.client import create_http_stream
from acp.ws.client import create_websocket_stream

from tests.conversations.story import MEBIBYTE

__all__ = [
    "CAPABILITIES",
    "PROGRAM",
    "SERVED",
    "TRANSPORTS",
    "OfficialClient",
    "Talk",
    "Transport",
    "connected",
    "reachable_agent",
]

Transport = Literal["stdio", "http", "websocket", "served-http", "served-websocket"]
TRANSPORTS: list[Transport] = ["stdio", "http", "websocket"]
SERVED: list[Transport] = ["served-http", "served-websocket"]
"""Over stdio behind `accord serve`, with a store that its processes share."""

PROGRAM = Path(__file__).resolve().parent / "peers" / "accord_agent.py"
CAPABILITIES = schema.ClientCapabilities(
    fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True),
    terminal=True,
    elicitation=schema.ElicitationCapabilities(
        form=schema.ElicitationFormCapabilities(), url=schema.ElicitationUrlCapabilities()
    ),
    session=schema.ClientSessionCapabilities(
        config_options=schema.SessionConfigOptionsCapabilities(boolean=schema.BooleanConfigOptionCapabilities())
    ),
)


class OfficialClient:
    """`chooses` is the id of the option it picks, None to leave questions open until a cancel."""

    def __init__(self) -> None:
        self.chooses: str | None = "allow"
        self.answers: Any = None
        self.files: dict[str, str] = {}
        self.seen: list[Any] = []
        self.traces: list[str | None] = []
        self.arrived = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.terminals: dict[str, asyncio.subprocess.Process] = {}
        self.outputs: dict[str, str] = {}

    def note(self, what: Any) -> None:
        self.seen.append(what)
        self.arrived.set()

    async def news(self) -> None:
        """Wait until there is something more to see."""
        self.arrived.clear()
        async with asyncio.timeout(120):
            await self.arrived.wait()

    async def until(self, kind: type[Any]) -> Any:
        """What was told of a kind; an update may be handled after the answer that came behind it."""
        while not (found := [each for each in self.seen if isinstance(each, kind)]):
            await self.news()
        return found[-1]

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.note(update)

    async def request_permission(
        self, options: list[Any], tool_call: Any, **meta: Any
    ) -> acp.RequestPermissionResponse:
        self.note((tool_call, options))
        self.traces.append(meta.get("traceparent"))
        if self.chooses is None:
            await self.cancelled.wait()
            return acp.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        chosen = schema.AllowedOutcome(outcome="selected", option_id=self.chooses)
        return acp.RequestPermissionResponse(outcome=chosen)

    async def read_text_file(self, path: str, line: Any, limit: Any, **_: Any) -> schema.ReadTextFileResponse:
        self.note(f"read {Path(path).name} {line} {limit}")
        if path not in self.files:
            raise acp.RequestError.resource_not_found(path)
        return schema.ReadTextFileResponse(content=self.files[path])

    async def write_text_file(self, path: str, content: str, **_: Any) -> schema.WriteTextFileResponse:
        self.note(f"write {Path(path).name}")
        self.files[path] = content
        return schema.WriteTextFileResponse()

    async def create_terminal(self, command: str, args: Any, env: Any, cwd: Any, **_: Any) -> Any:
        terminal_id = f"terminal-{len(self.terminals)}"
        self.note(f"create {terminal_id} in {Path(cwd).name} with {[each.name for each in env or []]}")
        variables = {each.name: each.value for each in env or []}
        self.terminals[terminal_id] = await asyncio.create_subprocess_exec(
            command, *args, cwd=cwd, env={**os.environ, **variables}, stdout=asyncio.subprocess.PIPE
        )
        return schema.CreateTerminalResponse(terminal_id=terminal_id)

    async def wait_for_terminal_exit(self, terminal_id: str, **_: Any) -> schema.WaitForTerminalExitResponse:
        self.note(f"wait {terminal_id}")
        process = self.terminals[terminal_id]
        self.outputs[terminal_id] = (await process.communicate())[0].decode()
        code = process.returncode or 0
        if code < 0:
            return schema.WaitForTerminalExitResponse(signal=signal.Signals(-code).name)
        return schema.WaitForTerminalExitResponse(exit_code=code)

    async def terminal_output(self, terminal_id: str, **_: Any) -> schema.TerminalOutputResponse:
        self.note(f"output {terminal_id}")
        return schema.TerminalOutputResponse(output=self.outputs[terminal_id], truncated=False)

    async def kill_terminal(self, terminal_id: str, **_: Any) -> schema.KillTerminalResponse:
        self.note(f"kill {terminal_id}")
        self.terminals[terminal_id].kill()
        return schema.KillTerminalResponse()

    async def release_terminal(self, terminal_id: str, **_: Any) -> schema.ReleaseTerminalResponse:
        self.note(f"release {terminal_id}")
        if self.terminals[terminal_id].returncode is None:
            self.terminals[terminal_id].kill()
        return schema.ReleaseTerminalResponse()

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        self.note(mode)
        return self.answers

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method != "accord/pick":
            raise acp.RequestError.method_not_found(f"_{method}")
        return {"picked": params["from"][-1]}

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        self.note((method, params))

    def kinds(self) -> list[str]:
        """All that it saw, in order."""
        return [each if isinstance(each, str) else type(each).__name__ for each in self.seen]

    def texts(self, kind: type[Any]) -> str:
        return "".join(each.content.text for each in self.seen if isinstance(each, kind))


class Talk:
    """The client, and the agent it has started."""

    def __init__(self, client: OfficialClient, agent: ClientSideConnection) -> None:
        self.client = client
        self.agent = agent

    async def log_in(self, capabilities: schema.ClientCapabilities = CAPABILITIES) -> schema.InitializeResponse:
        info = schema.Implementation(name="official", version="0.12.1")
        answer = await self.agent.initialize(acp.PROTOCOL_VERSION, capabilities, info)
        await self.agent.authenticate("key")
        return answer

    async def open(self, place: Path) -> str:
        """A new session, from which nothing has been seen yet."""
        opened = await self.agent.new_session(str(place))
        await self.client.until(schema.AvailableCommandsUpdate)
        self.client.seen.clear()
        return opened.session_id

    async def prompt(self, session_id: str, *blocks: Any) -> str:
        content = [acp.text_block(block) if isinstance(block, str) else block for block in blocks]
        return (await self.agent.prompt(session_id, cast("Any", content))).stop_reason

    async def text_of(self, session_id: str, *blocks: Any) -> str:
        """What the agent says to a prompt, in one piece."""
        self.client.seen.clear()
        await self.prompt(session_id, *blocks)
        return (await self.client.until(schema.AgentMessageChunk)).content.text

    async def json_of(self, session_id: str, *blocks: Any) -> Any:
        return json.loads(await self.text_of(session_id, *blocks))


@contextmanager
def reachable_agent(transport: Transport) -> Iterator[list[str]]:
    """The command that starts our agent, or its URL, where it is served as long as the context; it has to end well."""
    if transport == "stdio":
        yield [sys.executable, str(PROGRAM)]
        return
    with TemporaryDirectory() as directory:
        if transport in SERVED:
            agent = [sys.executable, str(PROGRAM), str(Path(directory, "sessions.db"))]
            program = _listen([sys.executable, "-m", "accord", "serve", "--http", "127.0.0.1:0", "--", *agent])
        else:
            program = _listen([sys.executable, str(PROGRAM)], ACCORD_HTTP="127.0.0.1:0")
        with program as url:
            yield [url if transport.endswith("http") else url.replace("http", "ws", 1)]


@contextmanager
def _listen(command: list[str], **variables: str) -> Iterator[str]:
    """The URL of a server; it has to end well."""
    program = subprocess.Popen(command, env={**os.environ, **variables}, stderr=subprocess.PIPE, text=True)
    assert program.stderr is not None
    try:
        yield program.stderr.readline().split()[-1]
        program.send_signal(signal.SIGTERM)
        program.stderr.read()
        assert program.wait(20) == 0
    finally:
        program.kill()
        program.wait()
        program.stderr.close()


@asynccontextmanager
async def connected_by_url(transport: Transport) -> AsyncIterator[Talk]:
    client = OfficialClient()
    with reachable_agent(transport) as (url,):
        stream = create_http_stream(url) if transport.endswith("http") else await create_websocket_stream(url)
        agent = acp.connect_to_agent(cast("Any", client), cast("Any", stream), use_unstable_protocol=True)
        async with asyncio.timeout(120):
            yield Talk(client, agent)
        await agent.close()


@asynccontextmanager
async def connected(*arguments: str, transport: Transport = "stdio") -> AsyncIterator[Talk]:
    """Starts the agent, which has to end well."""
    if transport != "stdio":
        async with connected_by_url(transport) as talk:
            yield talk
        return
    client = OfficialClient()
    async with acp.spawn_agent_process(
        cast("Any", client),
        sys.executable,
        str(PROGRAM),
        *arguments,
        env=dict(os.environ),
        transport_kwargs={"limit": 64 * MEBIBYTE, "stderr": None, "shutdown_timeout": 20.0},
        use_unstable_protocol=True,
    ) as (agent, process):
        async with asyncio.timeout(120):
            yield Talk(client, agent)
    assert process.returncode == 0
