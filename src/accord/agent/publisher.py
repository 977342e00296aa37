"""Publishes the updates of a session.

Law: a patch is applied to the transcript, then journaled, then sent to every subscriber; in that order, and no update
overtakes another.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from accord.agent.background import BackgroundTasks
from accord.agent.connection import AgentEndpoint
from accord.agent.journal import Journal
from accord.agent.update_stream import UpdateStream
from accord.session.entities import State, TokenUsage, ToolCall
from accord.session.transcript import Transcript
from accord.session.updates import (
    CommandsPatch,
    MessageChanged,
    MessageChunk,
    NoticePatch,
    Patch,
    PlanPatch,
    StatePatch,
    Update,
)
from accord.session.validation import Validator, is_absolute

if TYPE_CHECKING:
    from accord.store.store import Store

__all__ = ["Publisher"]

_YIELD_INTERVAL = 64  # updates between two yields, so that a handler which only sends can be cancelled
_TRANSIENT = (StatePatch, NoticePatch, CommandsPatch)  # not journaled: they are true only while they are sent


class Publisher:
    """Holds the transcript, the journal and the subscribers of one session."""

    def __init__(self, session_id: str, cwd: Path, store: Store | None = None, merge_seconds: float = 0.0) -> None:
        self.session_id = session_id
        self.cwd = cwd
        self.is_open = False
        """False while the session is being prepared."""
        self.is_closed = False
        self.transcript = Transcript()
        self.transcript.new_id = partial(_new_id, "message")
        self.stream = UpdateStream(session_id, merge_seconds)
        self.journal = Journal(session_id, store)
        self.background = BackgroundTasks(self._repeat_state)
        self.validator = Validator(self._absolute, self._check_terminal, self._mode_ids, self._tool_calls)
        self.prompter: AgentEndpoint | None = None
        """The connection whose prompt is running."""
        self._since_yield = 0

    async def send(self, patch: Patch) -> None:
        """Publish a patch; returns when there is room for the next one. ValueError for one that is not valid."""
        if not self.post(self.validator.patch(patch)):
            await self.drain()

    def send_nowait(self, patch: Patch, *, silent: bool = False) -> Update:
        """As `send`, without waiting for room. With `silent` no subscriber gets it."""
        update = self.apply(self.validator.patch(patch))
        if not silent:
            self.stream.send(update)
        return update

    def post(self, patch: Patch) -> bool:
        """As `send` for a valid patch, without waiting: if it returns False, call `drain` before the next one."""
        update = self.apply(patch)
        self.journal.check()
        has_room = self.stream.send(update)
        self._since_yield += 1
        return has_room and self._since_yield < _YIELD_INTERVAL

    async def drain(self) -> None:
        """Let other tasks run, and wait until there is room for the next update."""
        if self._since_yield >= _YIELD_INTERVAL:
            self._since_yield = 0
            await asyncio.sleep(0)
        await self.stream.drain(self.prompter)

    def apply(self, patch: Patch) -> Update:
        """Apply and journal a valid patch without sending it."""
        update = self.transcript.apply(patch)
        if (type(update) is MessageChunk or type(update) is MessageChanged) and update.patch.id is None:
            update.patch.id = update.message.id  # a journal must not depend on where turns began
        if type(patch) not in _TRANSIENT:
            self.journal.append(patch)
        return update

    async def commit(self) -> None:
        """Return when every update is on disk; called before a response or a request to the user leaves."""
        self.stream.flush()
        await self.journal.commit()

    def set_state(
        self,
        state: str,
        stop_reason: str | None = None,
        error: dict[str, Any] | None = None,
        usage: TokenUsage | None = None,
    ) -> None:
        """Publish what the session does now, with its background work."""
        work = self.background.work
        now = State(state=state, stop_reason=stop_reason, error=error, background=work, token_usage=usage)
        self.send_nowait(StatePatch(state=now))

    def pause_plans(self, plan_ids: Iterable[str]) -> None:
        """Publish entries in progress of these plans as pending: nobody works on them any more."""
        for plan in [self.transcript.plans[id] for id in plan_ids if id in self.transcript.plans]:
            if plan.raw is None and any(entry.status == "in_progress" for entry in plan.entries):
                entries = [
                    replace(entry, status="pending") if entry.status == "in_progress" else entry
                    for entry in plan.entries
                ]
                self.send_nowait(PlanPatch(plan=replace(plan, entries=entries)))

    def new_tool_call_id(self) -> str:
        """An id that no tool call of the session has."""
        while (id := _new_id("call")) in self.transcript.tool_calls:
            pass
        return id

    def _repeat_state(self) -> None:
        self.set_state(self.transcript.state.state)  # without the stop reason: it did not stop again

    def _absolute(self, path: str) -> str:
        """Relative paths are relative to the session's directory."""
        return path if is_absolute(path) else str(self.cwd / path)

    def _check_terminal(self, terminal_id: str) -> None:
        endpoints = [each.endpoint for each in self.stream.subscriptions]
        if self.prompter is not None:
            endpoints = [self.prompter]
        if terminal_id in self.transcript.terminals or not endpoints:
            return
        if not any(endpoint.capabilities.terminals for endpoint in endpoints):  # AMB-18
            raise ValueError(
                f"unknown terminal {terminal_id!r}: the client has none; report one of your own with TerminalPatch first"
            )

    def _mode_ids(self) -> list[str]:
        modes = self.transcript.modes
        options = [option for option in self.transcript.options if option.category == "mode"]
        return [
            *([] if modes is None else [mode.id for mode in modes.available]),
            *(choice.value for option in options for choice in option.choices),
        ]

    def _tool_calls(self) -> dict[str, ToolCall]:
        return self.transcript.tool_calls


def _new_id(kind: str) -> str:
    """Random, so that ids of several processes that own the session one after the other do not collide in its journal."""
    return f"{kind}-{os.urandom(8).hex()}"
