"""The conversation line by line, for screen readers and for terminals that can do no more.

Law: what is written stays where it was written. Nothing is drawn, moved or coloured.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import Literal

from accord.apps.console.agent_process import NEW_INSTEAD, AgentCallbacks, AgentProcess, agent_command
from accord.apps.console.errors import ConsoleFailed, exit_of_stop_reason
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.permission_flags import asking, policy_of, workspace_of
from accord.apps.console.prompt_history import Prompts
from accord.apps.console.run.one_prompt import Run
from accord.apps.console.run.output_format import LATE_SECONDS, Outcome, Tally, terminals_told
from accord.apps.console.run.output_stream import Outputs
from accord.apps.console.run.text_printer import Printer
from accord.apps.console.screen.mentions import content_of
from accord.apps.console.screen.shutdown import Ending
from accord.apps.console.session_choice import NOTHING_EARLIER
from accord.apps.console.session_records import Recording
from accord.apps.console.session_settings import SessionSettings
from accord.apps.console.tty import Person, asked_of, chooser
from accord.client.callbacks import SessionUpdate
from accord.client.login import run_in_terminal
from accord.client.reply import Reply
from accord.client.session import Session
from accord.errors import AccordError, AuthRequired, ConnectionClosed
from accord.peer.event_loop import run
from accord.session import replay
from accord.session.requests import PermissionAnswer, PermissionRequest
from accord.session.updates import NoticeShown

__all__ = ["main"]

_HELP = "Type a prompt and press Enter. Ctrl-C stops the agent, again ends it; Ctrl-D or /quit leaves.\n"
_UNREAD_SECONDS = 1.0


def main(asked: Run) -> int:
    """The exit status."""
    return run(_talk(asked), is_fast=False)


async def _talk(asked: Run) -> int:
    return await _Plain(asked).talk()


class _Plain:
    def __init__(self, asked: Run) -> None:
        self._asked = asked
        self._prompts = Prompts(asked.around.state)
        self._outputs = Outputs()
        self._printer = Printer(self._outputs, is_transcript=True, is_spoken=True, cwd=str(asked.cwd))
        self._person = Person(self._outputs.out)
        self._settings = SessionSettings(asked.mode, asked.model)
        self._is_unsettled = False
        """The agent does not take the mode or an option that was chosen: nothing is sent."""
        self._reply: Reply | None = None
        self._tally = Tally()
        self._recording: Recording | None = None
        self._process: AgentProcess | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._status = 0
        self._can_go_on = False
        """Whether the agent could take up the session if it were started again."""

    async def talk(self) -> int:
        asked = self._asked
        process = AgentProcess(
            asked.agent,
            agent_command(asked.agent, asked.cwd, asked.args),
            self._callbacks(),
            servers=asked.servers,
            records=asked.around.records,
            deadlines=asked.deadlines,
            is_start_announced=True,
        )
        working = asyncio.create_task(self._work(process), name="accord plain")
        with suppress(NotImplementedError):  # Windows: there Ctrl-C ends the program
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupted, working)
        ending = Ending(lambda status: self._told_to_end(working, status))
        ending.heed()
        try:
            await working
        except asyncio.CancelledError:
            pass
        except AccordError:
            if not self._status:  # else it is only that the agent was told to end, too
                raise
        finally:
            self._outputs.out.write("\n")
            with suppress(TimeoutError):  # whoever ends it does not want to wait for a terminal that shows nothing
                await asyncio.wait_for(self._outputs.finish(), _UNREAD_SECONDS if self._status else None)
            ending.forget()
        return self._status

    def _callbacks(self) -> AgentCallbacks:
        asked, person, printer = self._asked, self._person, self._printer
        return AgentCallbacks(
            on_permission=policy_of(
                asked.permissions or "ask",
                asking(person, str(asked.cwd), is_builtin=asked.agent.is_builtin),
                self._decided,
            ),
            on_elicitation=asked_of(person, self._elicited),
            choose_login=chooser(asked.login, person),
            run_login=run_in_terminal,
            new_workspace=lambda agent: workspace_of(
                asked.permissions,
                agent,
                on_write=lambda asked: printer.wrote(asked.path, len(asked.content.encode())),
                on_terminal=terminals_told(printer.changed),
            ),
            on_update=self._heard_opening,
            on_progress=printer.noted,
        )

    def _heard_opening(self, update: SessionUpdate) -> None:
        """What is told until the session is there: the history of one that is taken up is told as a whole."""
        if not update.session.is_taken_up or type(update.update) is NoticeShown:
            self._printer.changed(update.update)

    def _heard_early(self, update: SessionUpdate) -> None:
        """What a session that was taken up tells before the first prompt: some agents go on with its history."""
        self._printer.retold(update.update)

    def _heard(self, update: SessionUpdate) -> None:
        self._tally.changed(update.update)
        self._printer.changed(update.update)

    def _elicited(self) -> None:
        self._tally.elicited()

    def _decided(self, asked: PermissionRequest, answer: PermissionAnswer, by: Literal["rule", "person"]) -> None:
        self._tally.decided(asked, answer)
        self._printer.decided(asked, answer, by)

    async def _work(self, process: AgentProcess) -> None:
        self._process = process
        name = self._asked.agent.title or self._asked.agent.name
        self._outputs.out.write(f"Starting {name}.\n")
        async with process:
            can = process.agent.capabilities
            self._can_go_on = can.load or can.resume
            for warning in process.server_warnings:
                self._printer.noted(warning, "warning")
            session = self._opened(process, await self._session(process))
            with process.explaining("choosing the model and the mode"):
                await self._restore(session)
            who = (
                ""
                if process.known.name == self._asked.agent.name
                else f"This is {process.known.title or process.known.name}. "
            )
            self._outputs.out.write(f"Ready, in {self._asked.cwd}. {who}{_HELP}")
            while (text := await self._person.prompted("\nYou: ")) is not None:
                if text.strip() == "/quit":
                    return
                if text.strip():
                    session = await self._turn(process, session, text)

    async def _session(self, process: AgentProcess) -> Session:
        asked = self._asked
        wanted = asked.session_id
        if wanted is None and asked.continues:
            with process.explaining("listing the sessions"):
                wanted = await process.sessions.last(asked.around.state, asked.cwd)
            if wanted is None:
                self._printer.noted(NOTHING_EARLIER)
        session = await process.open_session(wanted, asked.cwd, self._printer.noted, with_history=True)
        if not session.is_taken_up:
            return session
        session.on_update = self._heard_early
        for change in replay(session.transcript):
            self._printer.retold(change)
            await self._outputs.room()
        return session

    def _opened(self, process: AgentProcess, session: Session) -> Session:
        self._recording = process.record(session)
        return session

    async def _turn(self, process: AgentProcess, session: Session, text: str) -> Session:
        """The session to go on with: another one, where a login has ended this one and it can't be taken up."""
        asked = self._asked
        await asyncio.to_thread(self._prompts.add, asked.agent.key, asked.cwd, session.id, text)
        self._outputs.out.write("\n")
        try:
            try:
                await self._exchange(process, session, text)
            except AuthRequired as refused:  # some agents open sessions for anybody
                self._settings.hold()
                with process.explaining("logging in", but=ConnectionClosed):
                    before, session = session, self._opened(process, await process.log_in(refused, session))
                    if session.id != before.id:
                        self._printer.noted(f"after the login {NEW_INSTEAD}", "warning")
                    await self._restore(session)
                await self._exchange(process, session, text)
        except ConnectionClosed as error:
            raise self._gone(process, error) from error
        except AccordError as error:
            if self._is_unsettled:
                raise
            failed = error
            if not isinstance(error, ConsoleFailed):
                failed = process.explain(error, "answering the prompt")
            self._printer.noted(str(failed), "error")
        return session

    async def _restore(self, session: Session) -> None:
        self._is_unsettled = True
        await self._settings.restore(session)
        self._is_unsettled = False

    async def _exchange(self, process: AgentProcess, session: Session, text: str) -> None:
        asked = self._asked
        try:
            content = await asyncio.to_thread(content_of, text, asked.cwd, process.agent.capabilities)
            session.on_update = self._heard
            tally = self._tally = Tally()
            reply = self._reply = session.prompt(content)
            async for change in reply:
                tally.changed(change)
                self._printer.changed(change)
                await self._outputs.room()
            if tally.is_empty and session.connection.dialect.result_ends_turn:
                await asyncio.sleep(LATE_SECONDS)
            reason = reply.stop_reason
            status = exit_of_stop_reason(reason) if reply.cancel_requested else tally.exit_of(reason)
            self._printer.ended(Outcome(exit=status, stop_reason=reason))
        finally:
            self._reply = None
            if self._recording is not None:
                await asyncio.shield(self._recording.keep())

    def _gone(self, process: AgentProcess, error: ConnectionClosed) -> ConsoleFailed:
        failed = process.explain(error, "answering the prompt")
        way = f"`{_way_back(process.known)}` starts it again and goes on with this session" if self._can_go_on else ""
        advice = ". ".join(each for each in (failed.advice, way) if each)
        return ConsoleFailed(failed.reason, advice, failed.status, failed.last_words)

    def _told_to_end(self, working: asyncio.Task[None], status: int) -> None:
        if not self._status:
            self._status = status
            working.cancel()

    def _interrupted(self, working: asyncio.Task[None]) -> None:
        reply, process = self._reply, self._process
        if reply is None or process is None:
            working.cancel()
        elif reply.cancel_requested:
            process.client.connection.kill()
        else:
            self._printer.noted("stopping… (Ctrl-C again ends the agent)")
            task = asyncio.create_task(reply.cancel(), name="accord cancel")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


def _way_back(agent: KnownAgent) -> str:
    named = f" -- {agent.line}" if agent.source == "command" else "" if agent.is_builtin else f" {agent.name}"
    return f"accord --plain --continue{named}"
