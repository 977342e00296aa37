"""A session of an agent, as the author's code holds it, and the publisher of its updates. It belongs to no connection.

Law: a patch is applied to the transcript, then journaled, then sent to every subscriber; in that order, and no update
overtakes another.
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
from accord.agent.connection import AgentEndpoint
from accord.agent.journal import Journal
from accord.agent.update_stream import UpdateStream
from accord.agent.user_questions import OpenQuestions
from accord.local.paths import Roots
from accord.session.content import Text
from accord.session.entities import Option, State, TokenUsage, ToolCall
from accord.session.mcp_servers import McpServer
from accord.session.paths import is_absolute
from accord.session.requests import SessionSummary
from accord.session.transcript import Transcript
from accord.session.updates import (
    CommandsPatch,
    InfoPatch,
    MessageAppend,
    MessageChanged,
    MessageChunk,
    NoticePatch,
    OptionsPatch,
    Patch,
    PlanPatch,
    StatePatch,
    Update,
)
from accord.session.validation import Validator

if TYPE_CHECKING:
    from accord.store.store import Store

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
        self.questions = OpenQuestions()
        self.journal = Journal(session_id, store)
        self.background = BackgroundTasks(self._repeat_state)
        self.validator = Validator(self._absolute, self._check_terminal, self._mode_ids, self._tool_calls)
        self.user: str | None = None
        """Whose session it is; None for one that a local program opened."""
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

    def post_text(self, role: str, text: str) -> bool:
        """As `post` for a piece of plain text, without objects for the patch and the update."""
        message, journal = self.transcript.append_text(role, text), self.journal
        if journal.is_open:
            journal.append(MessageAppend(role=role, id=message.id, content=Text(text)))
        if journal.lost is not None:
            journal.check()
        has_room = self.stream.send_text(message, text)
        since_yield = self._since_yield = self._since_yield + 1
        return has_room and since_yield < _YIELD_INTERVAL

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


class AgentSession:
    """Attributes about the session, and updates that belong to no turn."""

    def __init__(self, summary: SessionSummary, publisher: Publisher) -> None:
        self.id = summary.session_id
        """The id by which clients load or resume it."""
        self.cwd = publisher.cwd
        """The working directory, absolute."""
        self.additional_directories = [Path(directory) for directory in summary.additional_directories]
        """Further directories of the session, absolute."""
        directories = (summary.cwd, *summary.additional_directories)
        self.roots = Roots(path for path in directories if os.path.isabs(path))  # noqa: PTH117  # on this system
        """All its directories, with links resolved when the session was opened."""
        self.transcript = publisher.transcript
        """The history: messages, tool calls, plans and the rest."""
        self.state: dict[str, Any] = {}
        """Yours: whatever belongs to the session. It lives as long as the session is open."""
        self.is_new = False
        """Whether it was just created, by session/new or session/fork; a loaded or resumed one is not new."""
        self.previous_options: dict[str, str | bool | None] = {}
        """The options' values when the session was last open, also of options that the agent no longer offers."""
        self.saved_answers: MutableMapping[str, bool] = {}
        """The user's answers to permission requests that hold for the session, by scope. May be replaced."""
        self.own_servers: list[McpServer] = []
        """MCP servers of the agent's own, beside those of the client; set them in the `new_session` handler."""
        self._publisher = publisher

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, by every client or for good."""
        return self._publisher.is_closed

    @property
    def options(self) -> dict[str, str | bool | None]:
        """The value of each option, the mode's included."""
        return {option.id: option.value for option in self.transcript.options}

    def option(self, option_id: str) -> Option | None:
        """An option with its choices and its value."""
        return next((option for option in self.transcript.options if option.id == option_id), None)

    async def send(self, patch: Patch) -> None:
        """Send an update to all clients of the session, whether a turn runs or not. ValueError if it is not valid."""
        await self._publisher.send(patch)

    def send_nowait(self, patch: Patch, *, silent: bool = False) -> None:
        """As `send`, without waiting for slow clients; for callbacks and for code that was cancelled.

        With `silent` it becomes part of the history, but no client gets it now.
        """
        self._publisher.send_nowait(patch, silent=silent)

    async def set_title(self, title: str | None) -> None:
        """Name the session."""
        await self.send(InfoPatch(title=title))
        await self._publisher.journal.rename(title)

    async def set_options(self, options: list[Option]) -> None:
        """Replace the options. While the session is prepared nothing is sent: the response that opens it has them."""
        if self._publisher.is_open:
            await self.send(OptionsPatch(options=options))
        else:
            self._publisher.send_nowait(OptionsPatch(options=options), silent=True)
