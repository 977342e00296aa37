"""A small, complete agent: it plans, asks before it changes a file, and tells what it did, in v1, v2 and the v2 draft."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import Any

from accord import MethodNotFound, NotFound, Peer, Text, Transcript
from accord.dialects.dialect import Dialect
from accord.dialects.negotiation import negotiate
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.peer.loop import run
from accord.session import Change, Diff, FileChange, Plan, PlanEntry, State, replay, requests
from accord.session.capabilities import AgentCapabilities, Implementation
from accord.session.content import text_of
from accord.session.updates import MessagePatch, MessagePiece, PlanReport, Report, StateReport, ToolCallPatch
from accord.transports.stdio import Stdio

INFO = Implementation(name="notebook", version="1.0")
STEP = "Write down the note"
CAN = AgentCapabilities(load=True, resume=True, list=True, close=True)
YES = requests.PermissionOption(id="yes", name="Write it down", kind="allow_once")
NO = requests.PermissionOption(id="no", name="Leave it", kind="reject_once")


class Session:
    def __init__(self, id: str, cwd: str) -> None:
        self.id, self.cwd, self.notes = id, cwd, ""
        self.transcript = Transcript()
        self.turn: asyncio.Future[str] | None = None


class NotebookAgent:
    dialect: Dialect  # from the handshake on

    def __init__(self) -> None:
        self.peer = Peer(Stdio(), self.receive)
        self.sessions: dict[str, Session] = {}

    def receive(self, event: RequestReceived | NotificationReceived) -> Coroutine[Any, Any, Any] | None:
        """Called with every message, in wire order. It never waits: what takes time is the coroutine it returns."""
        if isinstance(event, NotificationReceived):
            heard = self.dialect.notification_from_wire(event.method, event.params, "client")
            if isinstance(heard, requests.Cancel) and (turn := self.session(heard.session_id).turn):
                turn.cancel()
            return None
        if event.incoming.method == "initialize":
            self.dialect, asked = negotiate(event.incoming.params)
        else:
            asked = self.dialect.request_from_wire(event.incoming.method, event.incoming.params, "client")
        return self.answer(asked)

    async def answer(self, asked: Any) -> Any:
        answer: Any = requests.SessionOpened()
        match asked:
            case requests.Initialize():
                answer = requests.Initialized(version=self.dialect.version, info=INFO, capabilities=CAN)
            case requests.NewSession(cwd=cwd):
                answer.session_id = f"session-{len(self.sessions)}"
                self.sessions[answer.session_id] = Session(answer.session_id, cwd)
            case requests.LoadSession() | requests.ResumeSession():
                session = self.session(asked.session_id)
                told = list(replay(session.transcript))  # the state comes last, and is all that resuming tells
                for change in told if isinstance(asked, requests.LoadSession) else told[-1:]:
                    await self.tell(session, change)
            case requests.ListSessions():
                summaries = [requests.SessionSummary(session_id=it.id, cwd=it.cwd) for it in self.sessions.values()]
                answer = requests.SessionPage(sessions=summaries)
            case requests.CloseSession():
                answer = requests.Done()
            case requests.Prompt():
                answer = await self.prompt(self.session(asked.session_id), asked)
            case _:
                raise MethodNotFound(type(asked).__name__)
        return self.dialect.answer_to_wire(asked, answer)

    def session(self, session_id: str) -> Session:
        if session_id not in self.sessions:
            raise NotFound(session_id=session_id)
        return self.sessions[session_id]

    async def tell(self, session: Session, news: Report | Change) -> None:
        """A report changes our own transcript first; the client is told what came of it."""
        change = session.transcript.apply(news) if isinstance(news, Report) else news
        for params in self.dialect.update_to_wire(session.id, change):
            await self.peer.notify("session/update", params)

    async def prompt(self, session: Session, asked: requests.Prompt) -> requests.PromptAnswer:
        """Up to the v2 draft the answer ends the turn; in v2 it names the user's message, and a state ends the turn."""
        id = f"prompt-{len(session.transcript.messages)}"
        message = session.transcript.apply(MessagePatch(role="user", id=id, content=asked.content))
        session.turn = asyncio.ensure_future(self.take_turn(session, message, text_of(asked.content)))
        reason = await session.turn if self.dialect.answer_ends_turn else None
        return requests.PromptAnswer(stop_reason=reason, message_id=id)

    async def take_turn(self, session: Session, message: Change, note: str) -> str:
        tell, reason = partial(self.tell, session), "end_turn"
        if self.dialect.echoes_prompt:
            await tell(message)
        await tell(StateReport(state=State(state="running")))
        try:
            await tell(PlanReport(plan=Plan(id="main", entries=[PlanEntry(content=STEP, status="in_progress")])))
            written = await self.write_down(session, note)
            await tell(PlanReport(plan=Plan(id="main", entries=[PlanEntry(content=STEP, status="completed")])))
            for piece in ("I wrote down: ", note) if written else ("As you like.",):
                await tell(MessagePiece(role="agent", id=None, content=Text(piece)))
        except asyncio.CancelledError:
            reason = "cancelled"
        await tell(StateReport(state=State(state="idle", stop_reason=reason)))
        return reason

    async def write_down(self, session: Session, note: str) -> bool:
        id, after = f"call-{len(session.transcript.tool_calls)}", f"{session.notes}- {note}\n"
        change = FileChange(operation="modify", path=f"{session.cwd}/notes.md", old_text=session.notes, new_text=after)
        call = ToolCallPatch(id=id, title="Write into notes.md", kind="edit", content=[Diff(changes=[change])])
        await self.tell(session, call)
        about = requests.ToolCallSubject(call=call)
        asked = requests.RequestPermission(session_id=session.id, subject=about, options=[YES, NO])
        method, params = self.dialect.request_to_wire(asked)
        try:
            answer = self.dialect.answer_from_wire(asked, await self.peer.request(method, params))
            if answer.option_id == YES.id:
                session.notes = after
        finally:  # also when the turn is cancelled: no call stays open
            await self.tell(session, ToolCallPatch(id=id, status="completed" if session.notes == after else "failed"))
        return session.notes == after

    async def serve(self) -> None:
        async with self.peer:
            await self.peer.wait_closed()


if __name__ == "__main__":
    run(NotebookAgent().serve())
