"""A session of an agent: its transcript, its journal, and the connections that subscribe to it.

Law: an update is applied to the transcript, then written down, then sent to every subscriber; in that order, and nothing
overtakes it. A session belongs to no connection.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, MutableMapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from accord.agent.background import BackgroundTasks
from accord.agent.connection import AgentConnection
from accord.agent.journal import Journal
from accord.agent.session_servers import SessionServers
from accord.agent.update_stream import UpdateStream
from accord.local.paths import Roots
from accord.session.content import Content
from accord.session.entities import Notice, Option, State, TokenUsage, ToolCall
from accord.session.requests import SessionSummary
from accord.session.transcript import Transcript
from accord.session.updates import (
    CommandsPatch,
    InfoPatch,
    MessageChanged,
    MessageChunk,
    NoticePatch,
    OptionsPatch,
    Patch,
    PlanPatch,
    StatePatch,
    Update,
)
from accord.session.validation import Validator, is_absolute

if TYPE_CHECKING:
    from accord.store.store import Store

__all__ = ["AgentSession"]

_BREATH = 64  # updates between two yields, so that a handler which only talks can be cancelled
_PASSING = (StatePatch, NoticePatch, CommandsPatch)  # true only while it is told


class AgentSession:
    """`state` is the author's own place for what belongs to the session; it lives as long as the session is open."""

    def __init__(self, summary: SessionSummary, store: Store | None = None, merge_seconds: float = 0.0) -> None:
        self.id = summary.session_id
        self.cwd = Path(summary.cwd)
        self.additional_directories = [Path(directory) for directory in summary.additional_directories]
        directories = (summary.cwd, *summary.additional_directories)
        self.roots = Roots(path for path in directories if os.path.isabs(path))  # noqa: PTH117  # on this system
        self.transcript = Transcript()
        self.transcript.new_id = partial(_new_id, "message")
        self.state: dict[str, Any] = {}
        self.is_new = False
        """Whether it was just made, by session/new or as a fork; one that is loaded or resumed is not new."""
        self.is_closed = False
        self.remembered: MutableMapping[str, bool] = {}
        """The user's always-choices, by what they are about."""
        self.previous_options: dict[str, str | bool | None] = {}
        """What was chosen when the session was last open, by option; also what the agent does not offer any more."""
        self.prompter: AgentConnection | None = None
        """Whose prompt is answered now."""
        self.cancelled_content: list[Content] = []
        """The blocks of the prompts that the last cancel ended, until another turn has ended."""
        self.stream = UpdateStream(self.id, merge_seconds)
        self.journal = Journal(self.id, store)
        self.mcp_servers = SessionServers(self.id, self.cwd, self._notify)
        self.background = BackgroundTasks(self._repeat_state)
        self.validator = Validator(self.absolute, self._check_terminal, self._mode_ids, self._tool_calls)
        """Checks what the author tells and asks."""
        self._unyielded = 0

    @property
    def options(self) -> dict[str, str | bool | None]:
        """The value of each option, the mode's included."""
        return {option.id: option.value for option in self.transcript.options}

    def option(self, option_id: str) -> Option | None:
        """An option as it is now."""
        return next((option for option in self.transcript.options if option.id == option_id), None)

    def absolute(self, path: str | os.PathLike[str]) -> str:
        """The path as the protocol wants it: one that is not absolute counts from the session's directory."""
        text = os.fspath(path)
        return text if is_absolute(text) else str(self.cwd / text)

    async def send(self, update: Patch) -> None:
        """Tell an update; returns when there is room for the next one. ValueError for what must not be told."""
        if not self.post(self.validator.patch(update)):
            await self.drain()

    def send_nowait(self, update: Patch, *, silent: bool = False) -> Update:
        """As `send`, without waiting for room; for callbacks and for the end of things. `silent` tells nobody."""
        change = self.apply(self.validator.patch(update))
        if not silent:
            self.stream.send(change)
        return change

    def post(self, update: Patch) -> bool:
        """As `send` for what is known to be valid, but False in place of waiting: `drain` comes before the next one."""
        change = self.apply(update)
        self.journal.check()
        has_room = self.stream.send(change)
        self._unyielded += 1
        return has_room and self._unyielded < _BREATH

    async def drain(self) -> None:
        """Let others go on, and wait until there is room for the next update."""
        if self._unyielded >= _BREATH:
            self._unyielded = 0
            await asyncio.sleep(0)
        await self.stream.drain(self.prompter)

    def apply(self, update: Patch) -> Update:
        """Apply what a client has said, or what is known to be valid, and write it down; it is told to nobody."""
        change = self.transcript.apply(update)
        if (type(change) is MessageChunk or type(change) is MessageChanged) and change.patch.id is None:
            change.patch.id = change.message.id  # a journal must not depend on where turns began
        if type(update) not in _PASSING:
            self.journal.append(update)
        return change

    async def commit(self) -> None:
        """Return when all that was told is safe; before any answer or question leaves."""
        self.stream.flush()
        await self.journal.commit()

    async def set_title(self, title: str | None) -> None:
        """Name the session."""
        await self.send(InfoPatch(title=title))
        await self.journal.rename(title)

    async def set_options(self, options: list[Option]) -> None:
        """Replace the list of options."""
        await self.send(OptionsPatch(options=options))

    def set_state(
        self,
        state: str,
        stop_reason: str | None = None,
        error: dict[str, Any] | None = None,
        usage: TokenUsage | None = None,
    ) -> None:
        """Tell what the session does now, with what goes on beside that."""
        now = State(
            state=state, stop_reason=stop_reason, error=error, background=self.background.listed, token_usage=usage
        )
        self.send_nowait(StatePatch(state=now))

    def pause_plans(self, plan_ids: Iterable[str]) -> None:
        """Tell what is in progress in these plans as pending: nobody works on it any more."""
        for plan in [self.transcript.plans[id] for id in plan_ids if id in self.transcript.plans]:
            if plan.raw is None and any(entry.status == "in_progress" for entry in plan.entries):
                entries = [
                    replace(entry, status="pending") if entry.status == "in_progress" else entry
                    for entry in plan.entries
                ]
                self.send_nowait(PlanPatch(plan=replace(plan, entries=entries)))

    def _repeat_state(self) -> None:
        self.set_state(self.transcript.state.state)  # without the reason for which it stopped: it did not stop again

    def _notify(self, notice: Notice) -> None:
        self.send_nowait(NoticePatch(notice=notice))

    def _check_terminal(self, terminal_id: str) -> None:
        connections = [each.connection for each in self.stream.subscriptions]
        if self.prompter is not None:
            connections = [self.prompter]
        if terminal_id in self.transcript.terminals or not connections:
            return
        if not any(connection.has_terminals for connection in connections):  # AMB-18
            raise ValueError(
                f"there is no terminal {terminal_id!r}, and the client offers none: report one of your own with TerminalPatch"
            )

    def _mode_ids(self) -> list[str]:
        modes = self.transcript.modes
        offered = [option for option in self.transcript.options if option.category == "mode"]
        return [
            *([] if modes is None else [mode.id for mode in modes.available]),
            *(choice.value for option in offered for choice in option.choices),
        ]

    def _tool_calls(self) -> dict[str, ToolCall]:
        return self.transcript.tool_calls

    def unused_call_id(self) -> str:
        """An id for the next tool call."""
        while (id := _new_id("call")) in self.transcript.tool_calls:
            pass
        return id

    def summary(self) -> SessionSummary:
        """The session as a line of a list."""
        info = self.transcript.info
        return SessionSummary(
            session_id=self.id,
            cwd=str(self.cwd),
            additional_directories=[str(directory) for directory in self.additional_directories],
            title=info.title,
            updated_at=info.updated_at,
        )

    async def close(self) -> None:
        """Free what the session holds; what was told of it stays in the store, for whoever claims it next."""
        self.is_closed = True
        await self.background.stop()
        self.stream.flush()
        self.stream.close()
        await self.mcp_servers.close()
        await self.journal.close()


def _new_id(kind: str) -> str:
    """An id that no process gives again, whoever else has this session: ids that count would meet in its journal."""
    return f"{kind}-{os.urandom(8).hex()}"
