"""One prompt, from the command line to the exit status.

Law: however a run ends, it says how, the agent and all that it started are gone, and the status tells which way it was.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

from msgspec import Struct

from accord.apps.console.attachments import Attachment, stdin_text
from accord.apps.console.choosing import choose_mode, choose_model
from accord.apps.console.event_lines import EventLines
from accord.apps.console.exits import Exit, exit_of_stop_reason
from accord.apps.console.explaining import explained
from accord.apps.console.failures import ConsoleFailed, UsageWrong
from accord.apps.console.forms import asked_of
from accord.apps.console.history import Prompts
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.link import Answers, Link
from accord.apps.console.logins import chooser
from accord.apps.console.output import Outputs
from accord.apps.console.permitting import Permissions, policy_of
from accord.apps.console.person import Person, is_attached
from accord.apps.console.printing import Printer
from accord.apps.console.reporting import Outcome, Reporter
from accord.apps.console.sanitising import one_line
from accord.apps.console.stopping import Stopping
from accord.apps.console.surroundings import Surroundings
from accord.client.deadlines import Deadlines
from accord.client.login import run_in_terminal
from accord.client.session import Session
from accord.client.terminal import TerminalEvent
from accord.client.workspace import Workspace
from accord.errors import DeadlineExceeded, MethodNotFound
from accord.peer.loop import run as in_loop
from accord.session import Transcript
from accord.session.content import Content, Text
from accord.session.servers import McpServer

__all__ = ["Answering", "Run", "run"]

_SLOW_START_SECONDS = 1.5
_STDIN_PATIENCE_SECONDS = 2.0
_UNREAD_SECONDS = 1.0

Answering = Literal["text", "json", "v1", "v2"]


class Run(Struct, frozen=True, kw_only=True):
    """What was asked for. `prompt` is None for stdin, and then `otherwise` stands in for a stdin that says nothing."""

    agent: KnownAgent
    around: Surroundings
    cwd: Path
    prompt: str | None
    otherwise: str | None = None
    attachments: list[Attachment] = []
    model: str | None = None
    mode: str | None = None
    session_id: str | None = None
    continues: bool = False
    permissions: Permissions | None = None
    timeout: float | None = None
    login: str | None = None
    answering: Answering = "text"
    is_quiet: bool = False
    is_transcript: bool = False

    @property
    def servers(self) -> list[McpServer]:
        """The MCP servers to name to the agent; the built-in one knows those of the settings itself."""
        return [] if self.agent.is_builtin else self.around.servers


def run(asked: Run) -> int:
    """The exit status."""
    return in_loop(_run(asked))


async def _run(asked: Run) -> int:
    outputs = Outputs()
    reporter = _reporter(asked, outputs)
    running = _Running(asked, outputs, reporter)
    work: asyncio.Task[Outcome] = asyncio.create_task(running.work(), name="accord run")
    stopping = running.stopping = Stopping(work, lambda _: reporter.noted("stopping… (Ctrl-C again ends it)"))
    outputs.out.broken.add_done_callback(lambda _: stopping.stop(Exit.UNREAD))
    with stopping.listening(asked.timeout):
        try:
            outcome = await work
        except asyncio.CancelledError:
            outcome = Outcome(exit=stopping.status or Exit.INTERRUPTED, session_id=running.session_id)
        except ConsoleFailed as failed:
            outcome = Outcome(exit=failed.status, session_id=running.session_id, failure=failed)
        if stopping.status is not None:
            outcome = running.as_stopped(outcome, stopping.status)
        reporter.ended(outcome)
        if not outputs.err.at_line_start:
            outputs.err.write("\n")
        if outcome.failure is not None:
            outputs.err.write(f"accord: {outcome.failure}\n")
    # Whoever ends a run does not want to wait for a reader that does not read.
    await _finish(outputs, None if stopping.status is None else _UNREAD_SECONDS)
    return outcome.exit


async def _finish(outputs: Outputs, grace: float | None) -> None:
    finishing = asyncio.create_task(outputs.finish(), name="accord finish")
    with Stopping(finishing, lambda _: None).listening(None):
        await asyncio.wait((finishing,), timeout=grace)
    outputs.close()


def _reporter(asked: Run, outputs: Outputs) -> Reporter:
    match asked.answering:
        case "json":
            return EventLines(outputs)
        case "v1" | "v2":
            from accord.apps.console.wire_lines import WireLines  # noqa: PLC0415  # loads both dialects

            return WireLines(outputs, asked.answering)
        case "text":
            return Printer(outputs, is_quiet=asked.is_quiet, is_transcript=asked.is_transcript)


class _Running:
    """The work itself; cancelled, it ends in order."""

    stopping: Stopping

    def __init__(self, asked: Run, outputs: Outputs, reporter: Reporter) -> None:
        self.session_id: str | None = None
        self._asked = asked
        self._outputs = outputs
        self._reporter = reporter
        self._prompts = Prompts(asked.around.state)
        self._terminals = Transcript()
        self._link: Link | None = None

    def as_stopped(self, outcome: Outcome, status: Exit) -> Outcome:
        """Whoever stopped the run decides on its status, whatever the agent made of it."""
        failure = None
        if status is Exit.TIMEOUT:
            failure = self._timed_out(self._asked.timeout or 0)
        return Outcome(exit=status, stop_reason=outcome.stop_reason, session_id=outcome.session_id, failure=failure)

    def _timed_out(self, seconds: float) -> ConsoleFailed:
        link = self._link
        if link is not None and link.heard.frames == 0:
            return explained(DeadlineExceeded("initialize", seconds), "starting", link.known, link.heard)
        words = "" if link is None else link.heard.last_words
        return ConsoleFailed(f"the time is up: {seconds:g} s", "--timeout gives it more", Exit.TIMEOUT, words)

    async def work(self) -> Outcome:
        asked = self._asked
        for notice in [] if asked.agent.is_builtin else asked.around.notices:  # the built-in agent tells them itself
            self._reporter.noted(notice, "warning")
        text = await self._text()
        # A stdin that was read for the prompt answers no questions.
        person = Person(self._outputs.err) if asked.prompt is not None and is_attached() else None
        extra = ["--model", asked.model] if asked.agent.is_builtin and asked.model else None
        slow = asyncio.get_running_loop().call_later(_SLOW_START_SECONDS, self._tell_slow_start)
        link = self._link = Link(
            asked.agent,
            asked.cwd,
            self._answers(person),
            deadlines=Deadlines(cancel_grace=10.0),
            on_received=self._reporter.received,
            extra=extra,
        )
        try:
            async with link:
                slow.cancel()
                return await self._converse(link, text)
        finally:
            slow.cancel()

    async def _text(self) -> str:
        asked = self._asked
        text = asked.prompt
        if text is None:
            patience = None if asked.otherwise is None else _STDIN_PATIENCE_SECONDS
            text = "" if patience is not None and is_attached() else await stdin_text(patience)
        text = text if text.strip() else asked.otherwise or ""
        if not text.strip() and not asked.attachments:
            raise UsageWrong("there is no prompt", "Give one as an argument, with --prompt-file or on stdin")
        return text

    def _answers(self, person: Person | None) -> Answers:
        asked = self._asked
        chosen = asked.permissions
        if chosen is None:
            chosen = "ask" if person is not None else "reject"
            if person is None:
                self._reporter.noted(
                    "no terminal is attached, so whatever needs a permission is rejected (--permissions changes that)"
                )
        elif chosen == "ask" and person is None:
            raise UsageWrong("--permissions ask needs a terminal, and a prompt that does not come from stdin")
        workspace = Workspace(
            write=chosen not in ("reject", "allow-reads"),
            run=chosen in ("ask", "allow-all"),
            on_terminal=self._on_terminal,
        )
        return Answers(
            permission=policy_of(chosen, person, self._reporter.decided),
            elicitation=None if person is None else asked_of(person),
            choose_login=chooser(asked.login, person),
            run_login=None if person is None else run_in_terminal,
            workspace=workspace,
        )

    async def _converse(self, link: Link, text: str) -> Outcome:
        asked, reporter = self._asked, self._reporter
        self._tell_servers(link)
        session, resumed = await self._session(link)
        self.session_id = session.id
        with link.explaining("choosing the model and the mode"):
            if asked.model and not asked.agent.is_builtin:
                await choose_model(session, asked.model)
            if asked.mode:
                await choose_mode(session, asked.mode)
        can = link.agent.capabilities
        blocks: list[Content] = [Text(text=text)] if text.strip() else []
        blocks += [attachment.block(can) for attachment in asked.attachments]
        await asyncio.to_thread(self._prompts.add, asked.agent.name, asked.cwd, session.id, text)
        reporter.started(link.agent, session, resumed=resumed)
        if isinstance(reporter, Printer) and asked.is_transcript:
            reporter.prompted(text)
        with link.explaining("answering the prompt"):
            reply = self.stopping.turn = await session.prompt(blocks)
            async for change in reply:
                reporter.changed(change)
                await self._outputs.room()
        return Outcome(
            exit=exit_of_stop_reason(reply.stop_reason), stop_reason=reply.stop_reason, session_id=session.id
        )

    async def _session(self, link: Link) -> tuple[Session, bool]:
        asked = self._asked
        session_id = asked.session_id or (await self._last_session(link) if asked.continues else None)
        if session_id is None:
            return await link.new_session(asked.servers), False
        return await link.take_up(session_id, asked.servers), True

    async def _last_session(self, link: Link) -> str:
        asked = self._asked
        try:
            listed = await link.sessions(asked.cwd)
            last = listed[0].session_id if listed else None
        except MethodNotFound:
            last = await asyncio.to_thread(self._prompts.last_session, asked.agent.name, asked.cwd)
        if last is None:
            raise ConsoleFailed(
                f"the agent {asked.agent.name!r} has no earlier session in {asked.cwd}", "Leave --continue out"
            )
        return last

    def _tell_servers(self, link: Link) -> None:
        taken, left_out = link.taken(self._asked.servers)
        names = [one_line(getattr(server, "name", "?"), 80) for server in taken]
        if names:
            self._reporter.noted(f"MCP servers for the agent to connect: {', '.join(names)}")
        for server in left_out:
            name = one_line(getattr(server, "name", "?"), 80)
            kind = type(server).__name__.removesuffix("Server").lower()
            self._reporter.noted(f"MCP server {name!r} is left out: the agent takes none of type {kind}", "warning")

    def _on_terminal(self, event: TerminalEvent) -> None:
        report = event.report
        if report is not None:
            self._reporter.changed(self._terminals.apply(report))

    def _tell_slow_start(self) -> None:
        self._reporter.noted(f"starting {self._asked.agent.name!r}…")
