"""`accord sessions`: the sessions that an agent has kept, and what was said in them."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from accord.apps.console.agent_process import AgentCallbacks, AgentProcess, agent_command
from accord.apps.console.conversation_records import ConversationRecords
from accord.apps.console.errors import ConsoleFailed, InvalidUsage
from accord.apps.console.known_agents import KnownAgent, LoadEnvironment, find_agent, write_stderr_line
from accord.apps.console.run_command import add_agent_arguments, start_timeout, working_directory
from accord.apps.console.sanitizer import escape_json, one_line, visible
from accord.apps.console.session_choice import (
    SESSION_LIMIT,
    KnownSession,
    is_in_directory,
    local_time,
    merge_sessions,
    newest_first,
)
from accord.client.deadlines import Deadlines
from accord.client.session import Session
from accord.errors import MethodNotFound, RequestFailed
from accord.peer.event_loop import run
from accord.session import Transcript
from accord.session.requests import SessionSummary

_PATIENCE_SECONDS = 10
_LISTED = "`accord sessions` lists those that there are"


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "Lists the sessions that an agent has kept and those that were kept here, the newest first; `accord --resume ID` "
        "goes on with one. With WORDs only those that have them all in their title or directory, with --cwd only those "
        "of that directory."
    )
    parser.add_argument("words", metavar="WORD", nargs="*", help="what to look for")
    add_agent_arguments(parser, "only those of this directory (default: of all)")
    parser.add_argument("--show", metavar="ID", help="print what was said in a session, as Markdown")
    parser.add_argument("--delete", metavar="ID", help="delete a session, at the agent and here")
    parser.add_argument(
        "--take-over", metavar="ID", help="take a session away from the process that has it, which keeps nothing more"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def main(args: Mapping[str, Any], load_environment: LoadEnvironment) -> int:
    cwd = working_directory(args)
    environment = load_environment(cwd)
    agent = find_agent(args.get("agent"), args.get("command"), environment)
    environment.print_notices()
    looking = _SessionsCommand(agent, cwd, ConversationRecords(environment.state), start_timeout(args, environment))
    show, delete, take_over = args.get("show"), args.get("delete"), args.get("take_over")
    words: list[str] = args.get("words") or []
    if sum([show is not None, delete is not None, take_over is not None, bool(words)]) > 1:
        raise InvalidUsage(
            "--show, --delete, --take-over and words to look for are mutually exclusive", "Give one of them"
        )
    if show is not None:
        sys.stdout.write(_shown(run(looking.told(show)), as_json=args.get("json", False)))
    elif delete is not None:
        sys.stderr.write(f"{run(looking.delete(delete))}\n")
    elif take_over is not None:
        sys.stderr.write(f"{run(looking.take_over(take_over))}\n")
    else:
        listed = _fitting(run(looking.listed(is_limited="cwd" in args)), words)
        if args.get("json"):
            sys.stdout.write(escape_json(msgspec.json.format(msgspec.json.encode(listed))).decode() + "\n")
        else:
            sys.stdout.write(_as_text(listed, looking.agent, words))
    return 0


class _SessionsCommand:
    """What can be found out about the sessions of one agent."""

    def __init__(self, agent: KnownAgent, cwd: Path, records: ConversationRecords, start_timeout: float) -> None:
        self.agent = agent
        self._start_timeout = start_timeout
        self._cwd = cwd
        self._records = records

    async def listed(self, *, is_limited: bool) -> list[KnownSession]:
        """What the agent lists, and what was kept here."""
        async with self._process() as process:
            listed = await self._listed(process, self._cwd if is_limited else None)
        if listed is None:
            sys.stderr.write(f"The agent {self.agent.name!r} does not list its sessions; these were held here.\n")
        own = self._records.summaries(self.agent.key)
        return newest_first(
            merge_sessions(listed or [], [each for each in own if not is_limited or is_in_directory(each, self._cwd)])
        )

    async def told(self, session_id: str) -> list[Transcript]:
        """What the agent tells of it; else what was kept here."""
        kept = self._records.transcripts(self.agent.key, session_id)
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS if kept else None):
                told = await self._loaded(session_id)
        except (ConsoleFailed, TimeoutError) as failed:
            if not kept:
                raise
            late = f"the agent {self.agent.name!r} has not told it within {_PATIENCE_SECONDS} s"
            why = failed.reason if isinstance(failed, ConsoleFailed) else late
            sys.stderr.write(f"{visible(why)}; this was kept here.\n")
            return kept
        if told is None and not kept:
            raise ConsoleFailed(
                f"nothing was kept here of the session {session_id!r}, and the agent {self.agent.name!r} can't tell "
                "what was said in it",
                _LISTED,
            )
        return kept if told is None or (kept and not told.timeline) else [told]

    async def _loaded(self, session_id: str) -> Transcript | None:
        async with self._process() as process:
            if not process.agent.capabilities.load:
                return None
            session = await self._taken_up(process, session_id, "none")
            return session.transcript if process.agent.capabilities.load else None  # it may have refused to

    async def take_over(self, session_id: str) -> str:
        """Away from another process; what was done, as a sentence."""
        async with self._process() as process:
            await self._taken_up(process, session_id, "take_over")
        return "Taken over: a process that had it keeps nothing more of it. `accord --resume ID` goes on with it."

    async def _taken_up(self, process: AgentProcess, session_id: str, claim: str) -> Session:
        with_history = claim == "none"
        cwd = _place(session_id, self._records.summaries(self.agent.key)) or self._cwd
        try:
            return await process.reopen_session(session_id, cwd, with_history=with_history, claim=claim)
        except ConsoleFailed:  # many agents load a session where it was held, and nowhere else
            place = _place(session_id, await self._listed(process) or [])
            if place in (None, cwd):
                raise
            return await process.reopen_session(session_id, place, with_history=with_history, claim=claim)

    async def delete(self, session_id: str) -> str:
        """At the agent, where it can, and then here; what was done, as a sentence."""
        is_here = any(each.session_id == session_id for each in self._records.summaries(self.agent.key))
        async with self._process() as process:
            agent = self.agent
            can_delete = process.agent.capabilities.delete
            listed = await self._listed(process) if can_delete else []
            is_told_of = (
                listed is None or len(listed) >= SESSION_LIMIT or any(each.session_id == session_id for each in listed)
            )
            if not is_here and not is_told_of:
                what = f"has no session {session_id!r}" if can_delete else "can't delete sessions"
                raise ConsoleFailed(f"the agent {agent.name!r} {what}, and none {session_id!r} was kept here", _LISTED)
            refusal = await _refusal_to_delete(process, session_id, is_told_of) if can_delete else None
            can_delete = process.agent.capabilities.delete  # it may have refused to
        self._records.delete(agent.key, session_id)
        if refusal is not None:
            return f"Deleted here; the agent {agent.name!r} does not list it and answers: {visible(str(refusal))}"
        return "Deleted." if can_delete else f"Deleted here; the agent {agent.name!r} can't delete what it has kept."

    @asynccontextmanager
    async def _process(self) -> AsyncGenerator[AgentProcess]:
        callbacks, deadlines = AgentCallbacks(on_progress=write_stderr_line), Deadlines(handshake=self._start_timeout)
        command = agent_command(self.agent, self._cwd)
        async with AgentProcess(self.agent, command, callbacks, deadlines=deadlines) as process:
            self.agent = process.known
            yield process

    async def _listed(self, process: AgentProcess, cwd: Path | None = None) -> list[SessionSummary] | None:
        """Those that the agent tells of; None if it does not list them."""
        try:
            return await process.list_sessions(cwd)
        except MethodNotFound:
            return None


async def _refusal_to_delete(process: AgentProcess, session_id: str, is_told_of: bool) -> RequestFailed | None:
    """What the agent says against it, if it does not tell of the session anyway; None where nothing is left to say."""
    with process.explaining("deleting the session"):
        try:
            await process.client.delete_session(session_id)
        except MethodNotFound:  # what it can do says so from now on
            return None
        except RequestFailed as error:
            if is_told_of:
                raise
            return error
    return None


def _place(session_id: str, listed: Sequence[SessionSummary]) -> Path | None:
    return next((Path(each.cwd) for each in listed if each.session_id == session_id and each.cwd), None)


def _shown(parts: Sequence[Transcript], *, as_json: bool) -> str:
    from accord.apps.console.screen.export import as_markdown, json_of  # noqa: PLC0415  # only here

    if as_json:
        return escape_json(json_of(parts).encode()).decode() + "\n"
    return visible("\n".join(as_markdown(part) for part in parts))


def _fitting(listed: list[KnownSession], words: Sequence[str]) -> list[KnownSession]:
    wanted = [word.casefold() for word in words]
    texts = [(each, f"{each.title or ''} {each.cwd} {each.session_id}".casefold()) for each in listed]
    return [each for each, text in texts if all(word in text for word in wanted)]


def _as_text(listed: list[KnownSession], agent: KnownAgent, words: Sequence[str]) -> str:
    if not listed:
        return f"The agent {agent.name!r} has kept no session{' with these words' if words else ''}.\n"
    rows = [(one_line(each.session_id, 80), local_time(each.updated_at), each) for each in listed]
    width = max(len(row[0]) for row in rows)
    lines = [
        f"{id:<{width}}  {when:<16}  {one_line(each.title or 'without a title', 60)}  {one_line(each.cwd)}{_mark(each)}"
        for id, when, each in rows
    ]
    is_cut = sum(each.source == "agent" for each in listed) == SESSION_LIMIT
    more = [f"These are the first {SESSION_LIMIT} that it has told."] if is_cut else []
    return "\n".join([*lines, *more, ""])


def _mark(session: KnownSession) -> str:
    return "  (kept here)" if session.source == "here" else ""
