"""One prompt, or several in one session: the agent is started, asked and ended.

Law: however a run ends, it says how, the agent and all that it started are gone, and the status tells which way it was.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

from msgspec import Struct

from accord.apps.console.agent_process import NEW_INSTEAD, AgentCallbacks, AgentProcess, agent_command
from accord.apps.console.attachments import Attachment, read_stdin
from accord.apps.console.conversation_records import ConversationRecorder
from accord.apps.console.error_messages import LONG_FRAME_MESSAGE, start_timed_out
from accord.apps.console.errors import ConsoleFailed, ExitStatus, InvalidUsage
from accord.apps.console.known_agents import Environment, KnownAgent
from accord.apps.console.permission_flags import Permissions, ask_policy, new_workspace, permission_policy
from accord.apps.console.prompt_history import PromptHistory
from accord.apps.console.run.batch import BatchInput, BatchLine, BatchPrinter, run_batch
from accord.apps.console.run.interrupts import Interrupts
from accord.apps.console.run.output_format import LATE_SECONDS, Outcome, Reporter, TurnSummary, terminal_reporter
from accord.apps.console.run.output_stream import StandardStreams
from accord.apps.console.run.text_printer import TextPrinter
from accord.apps.console.session_choice import NO_EARLIER_SESSION
from accord.apps.console.session_settings import SessionSettings
from accord.apps.console.tty import TerminalDialog, elicitation_handler, is_terminal_attached, login_chooser
from accord.client.deadlines import Deadlines
from accord.client.login import run_in_terminal
from accord.client.reply import Reply
from accord.client.session import Session, SessionUpdate
from accord.errors import AuthRequired
from accord.session.content import Content, Text
from accord.session.entities import AGENT
from accord.session.mcp_servers import McpServer
from accord.session.requests import PermissionAnswer, PermissionRequest
from accord.session.updates import MessageChanged, MessageChunk, NoticeShown, Update

_SLOW_STDIN_SECONDS = 1.5
_STDIN_PATIENCE_SECONDS = 2.0
_MOMENT_SECONDS = 0.02
_LATE_SECONDS = 2.0
_KEPT_BYTES = 8 * 1024 * 1024
"""What is kept of a conversation that is printed as it comes: about twice what its record holds."""

OutputFormat = Literal["text", "json", "v1", "v2", "batch"]


class RunOptions(Struct, frozen=True, kw_only=True):
    """What was asked for. `prompt` is None for stdin, and then `default_prompt` stands in for a stdin that says nothing.

    With a `batch` there is no prompt, and `timeout` is for each of its prompts.
    """

    agent: KnownAgent
    environment: Environment
    cwd: Path
    prompt: str | None
    default_prompt: str | None = None
    batch: BatchInput | None = None
    attachments: list[Attachment] = []
    model: str | None = None
    mode: str | None = None
    session_id: str | None = None
    continues: bool = False
    permissions: Permissions | None = None
    timeout: float | None = None
    start_timeout: float | None = None
    login: str | None = None
    output_format: OutputFormat = "text"
    output: Path | None = None
    is_quiet: bool = False
    is_transcript: bool = False

    @property
    def servers(self) -> list[McpServer]:
        """The MCP servers to name to the agent; the built-in one knows those of the settings itself."""
        return [] if self.agent.is_builtin else self.environment.servers

    @property
    def args(self) -> list[str]:
        """For the built-in agent: a model of a provider need not be on its list, so it is told at its start."""
        return ["--model", self.model] if self.agent.is_builtin and self.model and ":" in self.model else []

    @property
    def deadlines(self) -> Deadlines:
        return Deadlines(handshake=self.start_timeout or Deadlines().handshake, cancel_grace=10.0)


class _Talk(Struct):
    """What a prompt is sent to; a login may put another session in its place."""

    process: AgentProcess
    session: Session
    settings: SessionSettings
    recorder: ConversationRecorder | None


class PromptRun:
    """The work itself; cancelled, it ends in order."""

    stopping: Interrupts

    def __init__(self, options: RunOptions, outputs: StandardStreams, reporter: Reporter) -> None:
        self.session_id: str | None = None
        self._options = options
        self._outputs = outputs
        self._reporter = reporter
        self._prompts = PromptHistory(options.environment.state)
        self._process: AgentProcess | None = None
        self._in_order = asyncio.Lock()
        self._unprompted = 0
        self._tally = TurnSummary()
        self._is_late = False

    @property
    def agent(self) -> KnownAgent:
        """As far as it has said who it is."""
        return self._options.agent if self._process is None else self._process.known

    def as_stopped(self, outcome: Outcome, status: ExitStatus) -> Outcome:
        """Whoever stopped the run decides on its status, whatever the agent made of it."""
        failure = None
        if status is ExitStatus.TIMEOUT:
            failure = self._timed_out(self._options.timeout or 0)
        return Outcome(exit=status, stop_reason=outcome.stop_reason, session_id=outcome.session_id, failure=failure)

    def _timed_out(self, seconds: float) -> ConsoleFailed:
        process = self._process
        if process is not None and process.output.messages == 0:
            return start_timed_out(process.known, process.output, seconds, "--timeout")
        words = "" if process is None else process.output.tail
        return ConsoleFailed(f"the time is up: {seconds:g} s", "--timeout gives it more", ExitStatus.TIMEOUT, words)

    async def work(self) -> Outcome:
        options = self._options
        for notice in (
            [] if options.agent.is_builtin else options.environment.notices
        ):  # the built-in agent tells them itself
            self._reporter.noted(notice, "warning")
        text = await self._text() if options.batch is None else ""
        # A stdin that was read for the prompt answers no questions.
        is_stdin_free = options.prompt is not None if options.batch is None else not options.batch.is_stdin
        dialog = TerminalDialog(self._outputs.err) if is_stdin_free and is_terminal_attached() else None
        process = self._process = AgentProcess(
            options.agent,
            agent_command(options.agent, options.cwd, options.args),
            self._callbacks(dialog),
            servers=options.servers,
            records=options.environment.records,
            deadlines=options.deadlines,
            transcript_bytes=_KEPT_BYTES,
        )
        async with process:
            return await self._converse(process, text)

    async def _text(self) -> str:
        options = self._options
        text = options.prompt
        if text is None:
            patience = None if options.default_prompt is None else _STDIN_PATIENCE_SECONDS
            slow = asyncio.get_running_loop().call_later(
                _SLOW_STDIN_SECONDS, self._reporter.noted, "the prompt is read from stdin, to its end…"
            )
            try:
                text = "" if patience is not None and is_terminal_attached() else await read_stdin(patience)
            finally:
                slow.cancel()
        text = text if text.strip() else options.default_prompt or ""
        if not text.strip() and not options.attachments:
            raise InvalidUsage("there is no prompt", "Give one as an argument, with --prompt-file or on stdin")
        return text

    def _callbacks(self, dialog: TerminalDialog | None) -> AgentCallbacks:
        options = self._options
        chosen = options.permissions
        if chosen is None:
            chosen = "ask" if dialog is not None else "reject"
            if dialog is None:
                self._reporter.noted(
                    "no terminal is attached, so whatever needs a permission is rejected (--permissions changes that)"
                )
        elif chosen == "ask" and dialog is None:
            raise InvalidUsage("--permissions ask needs a terminal, and a prompt that does not come from stdin")
        is_builtin = options.agent.is_builtin
        asks = None if dialog is None else ask_policy(dialog, str(options.cwd), is_builtin=is_builtin)
        return AgentCallbacks(
            on_permission=permission_policy(chosen, asks, self._decided),
            on_elicitation=None if dialog is None else elicitation_handler(dialog, self._elicited),
            choose_login=login_chooser(options.login, dialog),
            run_login=None if dialog is None else run_in_terminal,
            new_workspace=lambda agent: new_workspace(
                chosen,
                agent,
                on_write=lambda write: self._reporter.wrote(write.path, len(write.content.encode())),
                on_terminal=terminal_reporter(self._reporter.changed),
            ),
            on_update=self._heard_before,
            on_progress=self._reporter.noted,
            on_frame=self._reporter.frame,
            on_long_frame=lambda: self._reporter.noted(LONG_FRAME_MESSAGE, "warning"),
        )

    async def _converse(self, process: AgentProcess, text: str) -> Outcome:
        options, reporter = self._options, self._reporter
        self._tell_servers(process)
        session = await self._session(process)
        self.session_id = session.id
        settings = SessionSettings(options.mode, options.model)
        with process.explaining("choosing the model and the mode"):
            await settings.restore(session)
        can = process.agent.capabilities
        blocks: list[Content] = [Text(text=text)] if text.strip() else []
        blocks += [attachment.block(can) for attachment in options.attachments]
        await asyncio.to_thread(self._prompts.add, options.agent.key, options.cwd, session.id, text)
        reporter.started(process.agent, session, resumed=session.is_resumed)
        talk = _Talk(process, session, settings, process.record(session))
        if isinstance(reporter, BatchPrinter) and options.batch is not None:

            async def send(line: BatchLine) -> Outcome:
                reporter.begin(line, talk.session)
                return await self._send(talk, [Text(text=line.prompt)], options.timeout)

            return await run_batch(options.batch, reporter, send, self.stopping)
        if isinstance(reporter, TextPrinter) and options.is_transcript:
            reporter.prompted(text)
        return await self._send(talk, blocks)

    async def _send(self, talk: _Talk, blocks: list[Content], seconds: float | None = None) -> Outcome:
        """One prompt, after a login if it needs one."""
        with talk.process.explaining("answering the prompt"):
            try:
                stop_reason = await self._prompt(talk, blocks, seconds)
            except AuthRequired as refused:  # some agents open sessions for anybody
                talk.settings.hold()
                talk.session = await talk.process.log_in(refused, talk.session)
                talk.recorder = talk.process.record(talk.session)
                if talk.session.id != self.session_id:
                    self._reporter.noted(f"after the login {NEW_INSTEAD}", "warning")
                self.session_id = talk.session.id
                await talk.settings.restore(talk.session)
                stop_reason = await self._prompt(talk, blocks, seconds)
        if self._is_late:
            failure = self._timed_out(seconds or 0)
            return Outcome(exit=failure.status, stop_reason=stop_reason, session_id=self.session_id, failure=failure)
        return Outcome(exit=self._tally.exit_of(stop_reason), stop_reason=stop_reason, session_id=self.session_id)

    async def _prompt(self, talk: _Talk, blocks: list[Content], seconds: float | None) -> str | None:
        session = talk.session
        session.on_update = self._heard
        reply = self.stopping.turn = session.prompt(blocks)
        has_answer = False
        tally = self._tally = TurnSummary()
        self._is_late = False
        timer = None if seconds is None else asyncio.get_running_loop().call_later(seconds, self._time_is_up, reply)
        try:
            await session.wait_delivered()  # what came before the prompt is told before its answer
            async with self._in_order:
                async for change in reply:
                    has_answer = has_answer or _is_answer(change)
                    tally.changed(change)
                    self._reporter.changed(change)
                    await self._outputs.room()
            if reply.updates_may_follow:
                await self._quiet(session, is_expected=not has_answer)
        finally:
            if timer is not None:
                timer.cancel()
            if talk.recorder is not None:
                await asyncio.shield(talk.recorder.save())
        return reply.stop_reason

    def _time_is_up(self, reply: Reply) -> None:
        """Cancel one prompt; what is waited for afterwards has its own limit."""
        if not reply.is_over:
            self._is_late = True
            self._cancelling = asyncio.create_task(reply.cancel(), name="accord cancel")

    async def _heard_before(self, update: SessionUpdate) -> None:
        """What is told before the prompt is sent: in a session that is taken up, it is history (FN-60, FN-62)."""
        if update.replayed or (update.session.is_resumed and type(update.update) is not NoticeShown):
            self._unprompted += 1
        else:
            await self._heard(update)

    async def _heard(self, update: SessionUpdate) -> None:
        """What is told after the prompt's answer."""
        self._unprompted += 1
        async with self._in_order:
            self._tally.changed(update.update)
            self._reporter.changed(update.update)
            await self._outputs.room()

    def _elicited(self) -> None:
        self._tally.elicited()

    def _decided(self, request: PermissionRequest, answer: PermissionAnswer, by: Literal["rule", "person"]) -> None:
        self._tally.decided(request, answer)
        self._reporter.decided(request, answer, by)

    async def _quiet(self, session: Session, *, is_expected: bool) -> None:
        """Wait for what belongs before the prompt or follows its answer, for a moment; longer where it `is_expected`. FN-02"""
        loop = asyncio.get_running_loop()
        end, before, heard = loop.time() + _LATE_SECONDS, self._unprompted, -1
        while heard != self._unprompted and loop.time() < end and not session.is_closed:
            heard = self._unprompted
            await asyncio.sleep(LATE_SECONDS if is_expected or heard != before else _MOMENT_SECONDS)

    async def _session(self, process: AgentProcess) -> Session:
        options = self._options
        session_id = await self._last_session(process) if options.continues else options.session_id
        session = await process.open_session(session_id, options.cwd, self._reporter.noted)
        if session.is_resumed:
            await self._quiet(session, is_expected=False)
        return session

    async def _last_session(self, process: AgentProcess) -> str | None:
        options = self._options
        with process.explaining("listing the sessions"):
            last = await process.sessions.last(options.environment.state, options.cwd)
        if last is None and options.is_transcript:  # a talk begins in any case
            self._reporter.noted(NO_EARLIER_SESSION)
        elif last is None:
            raise ConsoleFailed(
                f"the agent {self.agent.name!r} has no earlier session in {options.cwd}", "Leave --continue out"
            )
        return last

    def _tell_servers(self, process: AgentProcess) -> None:
        if names := process.server_names:
            self._reporter.noted(f"MCP servers for the agent to connect: {', '.join(names)}")
        for warning in process.server_warnings:
            self._reporter.noted(warning, "warning")


def _is_answer(change: Update) -> bool:
    """Whether the agent says something to the user."""
    match change:
        case MessageChunk():
            return change.role == AGENT and bool(change.text)
        case MessageChanged(message=message):
            return message.role == AGENT and bool(message.text)
        case _:
            return False
