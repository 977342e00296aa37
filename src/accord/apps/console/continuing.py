"""The sessions of an agent: what it lists, what was kept of them here, and which one `--continue` means."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeVar

from msgspec.structs import asdict

from accord.apps.console.history import Prompts
from accord.apps.console.records import Records
from accord.apps.console.sanitising import one_line
from accord.client.client import Client
from accord.errors import AccordError, MethodNotFound, RequestFailed
from accord.session import Transcript
from accord.session.requests import SessionSummary

__all__ = [
    "MOST",
    "NOTHING_EARLIER",
    "KnownSession",
    "KnownSessions",
    "is_in",
    "joined",
    "last_session",
    "listed",
    "newest",
    "when_of",
]

S = TypeVar("S", bound=SessionSummary)

MOST = 1000
"""How many sessions of an agent are looked at; nobody reads more, and an agent may list for ever."""

NOTHING_EARLIER = "the agent has no earlier session in this directory, so this is a new one"
_PLACE_SECONDS = 5.0


class KnownSession(SessionSummary, kw_only=True):
    """A session and where it is known from: the agent lists it, or it was only kept `here`."""

    source: Literal["agent", "here"] = "agent"


class KnownSessions:
    """The sessions of an agent that is connected, at the agent and as they were kept here."""

    def __init__(self, client: Client, records: Records | None, agent: str) -> None:
        self._client = client
        self._records = records
        self._agent = agent

    async def listed(self) -> list[KnownSession]:
        """Those that the agent has kept, of all directories, as many as anybody would look through, and those kept here."""
        told: list[SessionSummary] = []
        if self._client.agent.capabilities.list:
            with suppress(MethodNotFound):  # it offers that, and has no method for it
                told = await listed(self._client)
        kept = [] if self._records is None else await asyncio.to_thread(self._records.listed, self._agent)
        return joined(told, kept)

    async def place_of(self, session_id: str) -> str | None:
        """The directory that a session belongs to, where that is known."""
        known: list[KnownSession] = []
        with suppress(AccordError, TimeoutError):
            async with asyncio.timeout(_PLACE_SECONDS):
                known = await self.listed()
        return next((each.cwd for each in known if each.session_id == session_id and each.cwd), None)

    async def recorded(self, session_id: str) -> list[Transcript]:
        """What was kept here of a session, in place of what the agent does not tell."""
        return [] if self._records is None else await asyncio.to_thread(self._records.find, self._agent, session_id)

    async def delete(self, session_id: str, *, is_listed: bool = True) -> bool:
        """At the agent, where it can, and then here; whether the agent could. What it does not list it may refuse."""
        with suppress(MethodNotFound if is_listed else RequestFailed):
            await self._client.delete_session(session_id)
        if self._records is not None:
            await asyncio.to_thread(self._records.forget, self._agent, session_id)
        return self._client.agent.capabilities.delete

    async def last(self, state: Path | None, cwd: Path) -> str | None:
        """The one that `--continue` means."""
        prompts = None if state is None else Prompts(state)
        return await last_session(self._client, prompts, self._records, self._agent, cwd)


async def last_session(
    client: Client, prompts: Prompts | None, records: Records | None, agent: str, cwd: Path
) -> str | None:
    """By what the agent lists; where it does not list any, the one that was last prompted from here.

    Some agents list nothing although they keep it (FN-103). One that was deleted is not kept here either.
    """
    prompted = None if prompts is None else await asyncio.to_thread(prompts.last_session, agent, cwd)
    try:
        told = await listed(client, cwd)
    except MethodNotFound:
        return prompted
    here = [each for each in newest(told) if is_in(each, cwd)]
    if not here and prompted is not None:
        kept = None if records is None else await asyncio.to_thread(records.listed, agent)
        return prompted if kept is None or any(each.session_id == prompted for each in kept) else None
    # One that nobody has said anything in has no title, and is not what anybody wants back.
    used = [each for each in here if each.title or each.session_id == prompted]
    return next((each.session_id for each in used or here), None)


async def listed(client: Client, cwd: Path | None = None) -> list[SessionSummary]:
    """Those that the agent has kept, in its order: as many as anybody would look through."""
    found: list[SessionSummary] = []
    async for summary in client.list_sessions(cwd):
        found.append(summary)
        if len(found) >= MOST:
            break
    return found


def joined(told: Iterable[SessionSummary], kept: Iterable[SessionSummary]) -> list[KnownSession]:
    """What the agent lists, and behind it what was kept here and is not on its list; a title that it lacks is ours."""
    ours = {each.session_id: each for each in kept}
    theirs = [KnownSession(**asdict(each)) for each in told]
    for each in theirs:
        known = ours.pop(each.session_id, None)
        each.title = each.title or (known and known.title)
    alone = [KnownSession(**asdict(each)) for each in ours.values()]
    for each in alone:
        each.source = "here"
    return [*theirs, *alone]


def newest(summaries: Iterable[S]) -> list[S]:
    """The newest first; those that don't say when stay behind, in the agent's order."""
    return sorted(summaries, key=lambda summary: summary.updated_at or "", reverse=True)


def when_of(told: str | None) -> str:
    """A time of an agent's, here and now as the user's clock has it; what is no time stays as it is."""
    try:
        moment = datetime.fromisoformat(told or "")
    except ValueError:
        return one_line((told or "")[:16].replace("T", " "), 16)
    return f"{moment.astimezone() if moment.tzinfo is not None else moment:%Y-%m-%d %H:%M}"


def is_in(summary: SessionSummary, cwd: Path) -> bool:
    """Whether it belongs to the directory: not every agent heeds the one that it was asked about."""
    return not summary.cwd or os.path.normpath(summary.cwd) == os.path.normpath(cwd)
