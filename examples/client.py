"""A small, complete client: it starts an agent, sends a prompt, answers questions, and shows what changes.

python examples/client.py "Buy milk"                          talk with examples/agent.py
python examples/client.py --allow "Buy milk" some agent       with another one, and allow what it asks for
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from accord import MessageChunk, MethodNotFound, Peer, StateChanged, Text, ToolCallChanged, Transcript
from accord.dialects.dialect import Dialect
from accord.dialects.negotiation import Offered, accepted, offer
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.peer.loop import run
from accord.session import Change, requests
from accord.session.capabilities import Implementation
from accord.session.updates import MessagePatch, Report
from accord.transports.process import Process

INFO = Implementation(name="example", version="1.0")
OnChange = Callable[[Change], None]
Choose = Callable[[requests.RequestPermission], str | None]
AGENT = [sys.executable, str(Path(__file__).resolve().with_name("agent.py"))]


class ExampleClient:
    """`on_change` is called with every change of a transcript; `choose` picks an option of a question, or None for no."""

    dialect: Dialect  # from the handshake on

    def __init__(
        self, command: list[str], on_change: OnChange, choose: Choose, version: Offered = "auto", **peer: Any
    ) -> None:
        self.peer = Peer(Process(command), self.receive, **peer)
        self.on_change, self.choose = on_change, choose
        self.version: Offered = version
        self.transcripts: defaultdict[str, Transcript] = defaultdict(Transcript)
        self.idle: asyncio.Future[str] | None = None

    async def initialize(self) -> None:
        result = await self.peer.request("initialize", offer(self.version, INFO))
        self.dialect, self.agent = accepted(result, self.version)

    async def ask(self, asked: requests.Asked) -> Any:
        method, params = self.dialect.request_to_wire(asked)
        return self.dialect.answer_from_wire(asked, await self.peer.request(method, params))

    async def new_session(self, cwd: str) -> str:
        return (await self.ask(requests.NewSession(cwd=cwd))).session_id

    async def prompt(self, session_id: str, text: str) -> str:
        """The stop reason, once all of the turn is in the transcript."""
        self.idle = asyncio.get_running_loop().create_future()
        asked = requests.Prompt(session_id=session_id, content=[Text(text)])
        if not self.dialect.echoes_prompt:
            self.apply(session_id, MessagePatch(role="user", id=None, content=asked.content))
        answer = await self.ask(asked)
        return answer.stop_reason or await self.idle

    async def cancel(self, session_id: str) -> None:
        await self.peer.notify(*self.dialect.notification_to_wire(requests.Cancel(session_id=session_id)))

    def receive(self, event: RequestReceived | NotificationReceived) -> Coroutine[Any, Any, Any] | None:
        """Called with every message, in wire order. It never waits: what takes time is the coroutine it returns."""
        if isinstance(event, RequestReceived):
            asked = self.dialect.request_from_wire(event.incoming.method, event.incoming.params, "agent")
            return self.answer(asked)
        if event.method == "session/update":
            session_id, reports = self.dialect.update_from_wire(event.params)
            for report in reports:
                self.apply(session_id, report)
        return None

    def apply(self, session_id: str, report: Report) -> None:
        change = self.transcripts[session_id].apply(report)
        self.on_change(change)
        if isinstance(change, StateChanged) and change.state.state == "idle" and self.idle and not self.idle.done():
            self.idle.set_result(change.state.stop_reason or "end_turn")

    async def answer(self, asked: requests.Asked) -> Any:
        if not isinstance(asked, requests.RequestPermission):
            raise MethodNotFound(type(asked).__name__)
        if isinstance(asked.subject, requests.ToolCallSubject):
            self.apply(asked.session_id, asked.subject.call)  # it may be the first we hear of this call
        chosen = self.choose(asked)
        answer = requests.PermissionAnswer(outcome="cancelled" if chosen is None else "selected", option_id=chosen)
        return self.dialect.answer_to_wire(asked, answer)


def show(change: Change) -> None:
    match change:
        case MessageChunk(text=text):
            print(text, end="", flush=True)
        case ToolCallChanged(call=call):
            print(f"[{call.status}] {call.title}")


def allow(asked: requests.RequestPermission) -> str | None:
    return next((option.id for option in asked.options if option.kind == "allow_once"), None)


async def main(text: str, command: list[str], choose: Choose) -> None:
    client = ExampleClient(command or AGENT, show, choose)
    async with client.peer:
        await client.initialize()
        reason = await client.prompt(await client.new_session(str(Path.cwd())), text)
    print(f"\n({reason})")


if __name__ == "__main__":
    allowed = sys.argv[1] == "--allow"
    text, *command = sys.argv[2 if allowed else 1 :]
    run(main(text, command, allow if allowed else lambda asked: None))
