"""The conversation line by line, for screen readers and for terminals that can do no more.

Law: what is written stays where it was written. Nothing is drawn, moved or coloured.
"""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import suppress
from typing import Literal

from accord.apps.console.agent_process import NEW_INSTEAD, AgentCallbacks, AgentProcess, agent_command
from accord.apps.console.conversation_records import ConversationRecorder
from accord.apps.console.errors import ConsoleFailed, exit_status_of
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.line_commands import LineCommands
from accord.apps.console.line_undo import LineUndo
from accord.apps.console.permission_flags import ask_policy, new_workspace, permission_policy
from accord.apps.console.prompt_history import PromptHistory
from accord.apps.console.run.one_prompt import RunOptions
from accord.apps.console.run.output_format import LATE_SECONDS, Outcome, TurnSummary, terminal_reporter
from accord.apps.console.run.output_stream import StandardStreams
from accord.apps.console.run.text_printer import TextPrinter
from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.mentions import prompt_content
from accord.apps.console.screen.shutdown import ExitSignals
from accord.apps.console.session_choice import NO_EARLIER_SESSION
from accord.apps.console.session_settings import SessionSettings
from accord.apps.console.slash_commands import agent_text
from accord.apps.console.tty import TerminalDialog, elicitation_handler, login_chooser
from accord.client.login import run_in_terminal
from accord.client.reply import Reply
from accord.client.session import Session, SessionUpdate
from accord.client.workspace.workspace import FileWrite
from accord.errors import AccordError, AuthRequired, ConnectionClosed
from accord.peer.event_loop import run
from accord.session.replay import replay
from accord.session.requests import PermissionAnswer, PermissionRequest
from accord.session.updates import NoticeShown

_HELP = (
    "Type a prompt and press Enter; /help lists the commands. Ctrl-C stops the agent, again ends it; Ctrl-D, Ctrl-C twice or "
    "/quit leaves.\n"
)
_PROMPT = "\nYou: "
_UNREAD_SECONDS = 1.0
_AGAIN_SECONDS = 3.0


def main(options: RunOptions) -> int:
    """The exit status."""
    return run(_talk(options), is_fast=False)


async def _talk(options: RunOptions) -> int:
    return await LineMode(options).talk()


class LineMode:
    def __init__(self, options: RunOptions) -> None:
        self._options = options
        self._prompts = PromptHistory(options.environment.state)
        self._outputs = StandardStreams()
        self._printer = TextPrinter(self._outputs, is_transcript=True, is_spoken=True, cwd=str(options.cwd))
        self._person = TerminalDialog(self._outputs.out)
        self._settings = SessionSettings(options.mode, options.model)
        self._is_unsettled = False
        """The agent does not take the mode or an option that was chosen: nothing is sent."""
        self._reply: Reply | None = None
        self._tally = TurnSummary()
        self._recorder: ConversationRecorder | None = None
        self._process: AgentProcess | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        environment = options.environment
        state = environment.state if environment.saves_checkpoints else None
        self._undo = LineUndo(state, options.agent.key, self._person, self._printer.noted)
        self._commands = LineCommands(self._person, options.cwd, self._open_another, self._undo)
        self._is_prompting = False
        self._quit_asked_at = 0.0
        self._status = 0
        self._can_go_on = False
        """Whether the agent could take up the session if it were started again."""

    async def talk(self) -> int:
        options = self._options
        process = AgentProcess(
            options.agent,
            agent_command(options.agent, options.cwd, options.args),
            self._callbacks(),
            servers=options.servers,
            records=options.environment.records,
            deadlines=options.deadlines,
            is_start_announced=True,
        )
        working = asyncio.create_task(self._work(process), name="accord plain")
        with suppress(NotImplementedError):  # Windows: there Ctrl-C ends the program
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupted, working)
        signals = ExitSignals(lambda status: self._told_to_end(working, status))
        signals.install()
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
            signals.remove()
            self._undo.close()
        return self._status

    def _callbacks(self) -> AgentCallbacks:
        options, dialog, printer = self._options, self._person, self._printer
        return AgentCallbacks(
            on_permission=permission_policy(
                options.permissions or "ask",
                ask_policy(dialog, str(options.cwd), is_builtin=options.agent.is_builtin),
                self._decided,
            ),
            on_elicitation=elicitation_handler(dialog, self._elicited),
            choose_login=login_chooser(options.login, dialog),
            run_login=run_in_terminal,
            new_workspace=lambda agent: new_workspace(
                options.permissions,
                agent,
                on_write=self._wrote,
                on_terminal=terminal_reporter(printer.changed),
            ),
            on_update=self._heard_opening,
            on_progress=printer.noted,
        )

    def _heard_opening(self, update: SessionUpdate) -> None:
        """What is told until the session is there: the history of one that is taken up is told as a whole."""
        if not update.session.is_resumed or type(update.update) is NoticeShown:
            self._printer.changed(update.update)

    def _heard_early(self, update: SessionUpdate) -> None:
        """What a session that was taken up tells before the first prompt: some agents go on with its history."""
        self._printer.retold(update.update)

    def _wrote(self, write: FileWrite) -> None:
        self._commands.wrote(write.path)
        self._printer.wrote(write.path, len(write.content.encode()))

    def _heard(self, update: SessionUpdate) -> None:
        self._commands.tell(update.update)
        self._tally.changed(update.update)
        self._printer.changed(update.update)

    def _elicited(self) -> None:
        self._tally.elicited()

    def _decided(self, request: PermissionRequest, answer: PermissionAnswer, by: Literal["rule", "person"]) -> None:
        self._tally.decided(request, answer)
        self._printer.decided(request, answer, by)

    async def _work(self, process: AgentProcess) -> None:
        self._process = process
        name = self._options.agent.title or self._options.agent.name
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
                if process.known.name == self._options.agent.name
                else f"This is {process.known.title or process.known.name}. "
            )
            self._outputs.out.write(f"Ready, in {self._options.cwd}. {who}{_HELP}")
            while not self._commands.is_over and (text := await self._prompted()) is not None:
                if not text.strip():
                    continue
                opened = await self._commands.run(text, session, process.sessions)
                if opened is not None:
                    session = opened
                else:
                    session = await self._turn(process, session, agent_text(text, session.commands))

    async def _prompted(self) -> str | None:
        self._is_prompting = True
        try:
            return await self._person.prompted(_PROMPT)
        finally:
            self._is_prompting = False

    async def _session(self, process: AgentProcess) -> Session:
        options = self._options
        wanted = options.session_id
        if wanted is None and options.continues:
            with process.explaining("listing the sessions"):
                wanted = await process.sessions.last(options.environment.state, options.cwd)
            if wanted is None:
                self._printer.noted(NO_EARLIER_SESSION)
        return await self._open(process, wanted)

    async def _open(self, process: AgentProcess, session_id: str | None) -> Session:
        session = await process.open_session(session_id, self._options.cwd, self._printer.noted, with_history=True)
        if not session.is_resumed:
            return session
        session.on_update = self._heard_early
        for change in replay(session.transcript):
            self._printer.retold(change)
            await self._outputs.room()
        return session

    async def _open_another(self, session_id: str | None) -> Session | None:
        """For /new and /resume; None, and the reason is printed, if the agent refuses."""
        process = self._process
        assert process is not None
        try:
            session = await self._open(process, session_id)
            await self._restore(session)
        except ConnectionClosed as error:
            raise self._gone(process, error) from error
        except AccordError as error:
            if self._is_unsettled:
                raise
            self._printer.noted(str(error), "error")
            return None
        self._outputs.out.write(f"Session {one_line(session.id, 100)}.\n")
        return self._opened(process, session)

    def _opened(self, process: AgentProcess, session: Session) -> Session:
        self._recorder = process.record(session)
        self._undo.prepare(session)
        return session

    async def _turn(self, process: AgentProcess, session: Session, text: str) -> Session:
        """The session to go on with: another one, where a login has ended this one and it can't be taken up."""
        options = self._options
        await asyncio.to_thread(self._prompts.add, options.agent.key, options.cwd, session.id, text)
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
        options = self._options
        try:
            content = await asyncio.to_thread(prompt_content, text, options.cwd, process.agent.capabilities)
            await self._undo.begin_turn(session, text)
            session.on_update = self._heard
            tally = self._tally = TurnSummary()
            reply = self._reply = session.prompt(content)
            async for change in reply:
                self._commands.tell(change)
                tally.changed(change)
                self._printer.changed(change)
                await self._outputs.room()
            if tally.is_empty and reply.updates_may_follow:
                await asyncio.sleep(LATE_SECONDS)
            reason = reply.stop_reason
            status = exit_status_of(reason) if reply.cancel_requested else tally.exit_of(reason)
            self._printer.ended(Outcome(exit=status, stop_reason=reason))
        finally:
            self._reply = None
            self._undo.end_turn()
            if self._recorder is not None:
                await asyncio.shield(self._recorder.save())

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
        now = time.monotonic()
        if reply is None and self._is_prompting and now - self._quit_asked_at >= _AGAIN_SECONDS:
            self._quit_asked_at = now
            self._person.interrupt("Press Ctrl-C again to quit.", _PROMPT)
        elif reply is None or process is None:
            working.cancel()
        elif reply.cancel_requested:
            process.client.kill_agent()
        else:
            self._printer.noted("stopping… (Ctrl-C again ends the agent)")
            task = asyncio.create_task(reply.cancel(), name="accord cancel")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


def _way_back(agent: KnownAgent) -> str:
    named = f" -- {agent.line}" if agent.source == "command" else "" if agent.is_builtin else f" {agent.name}"
    return f"accord --plain --continue{named}"
