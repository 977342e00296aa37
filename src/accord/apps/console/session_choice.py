"""Chooses a session, model or mode by the name that the user gave."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, TypeVar

from msgspec.structs import asdict

from accord.apps.console.conversation_records import ConversationRecords
from accord.apps.console.error_messages import error_text
from accord.apps.console.errors import ConsoleFailed, InvalidUsage
from accord.apps.console.prompt_history import PromptHistory
from accord.apps.console.sanitizer import one_line
from accord.client.client import Client
from accord.client.session import Session
from accord.errors import AccordError, AuthRequired, MethodNotFound, RequestFailed
from accord.session import Transcript
from accord.session.entities import Option
from accord.session.requests import SessionSummary

_TRIES = 2
"""Something that the agent had told before it heard of the first may look as if it had not heeded it."""


async def choose_model(session: Session, wanted: str, *, anew: bool = False) -> Option:
    """Put a model in force; the option that it is a value of. InvalidUsage names those that there are."""
    option = next((each for each in session.options if "model" in (each.category, each.id)), None)
    if option is None:
        raise InvalidUsage("the agent offers no choice of models", "Leave --model out, or give its own flag after `--`")
    value = _meant("model", wanted, {choice.value: choice.name for choice in option.choices})
    return await choose_option(session, option.id, value, anew=anew)


async def choose_option(session: Session, option_id: str, wanted: str | bool, *, anew: bool = False) -> Option:
    """Give an option a value, unless it has it, or `anew` in any case; ConsoleFailed if the agent does not do that."""
    for _ in range(_TRIES):
        option = next((each for each in session.options if each.id == option_id), None)
        if option is None:
            raise ConsoleFailed(f"the agent has no option {one_line(option_id, 80)!r} here")
        if option.value == wanted and not anew:
            return option
        anew = False
        with _naming(f"{one_line(str(wanted), 80)!r} for the option {one_line(option_id, 80)!r}"):
            await session.set_option(option_id, wanted)
    option = next((each for each in session.options if each.id == option_id), None)
    if option is not None and option.value == wanted:
        return option
    raise ConsoleFailed(
        f"the agent did not take {one_line(str(wanted), 80)!r} for the option {one_line(option_id, 80)!r}"
    )


async def choose_mode(session: Session, wanted: str, *, anew: bool = False) -> str:
    """Put a mode in force, unless it is, or `anew` in any case; its id.

    InvalidUsage names those that there are, ConsoleFailed if it stays away.
    """
    option = _mode_option(session)
    if session.modes is not None:
        known = {mode.id: mode.name for mode in session.modes.available}
    elif option is not None:
        known = {choice.value: choice.name for choice in option.choices}
    else:
        raise InvalidUsage(f"the agent has no modes, and so no mode {wanted!r}", "Leave --mode out")
    value = _meant("mode", wanted, known)
    for _ in range(_TRIES):
        if current_mode(session) == value and not anew:
            return value
        anew = False
        with _naming(f"the mode {value!r}"):
            if session.modes is None and option is not None:
                await session.set_option(option.id, value)
            else:
                await session.set_mode(value)
    if current_mode(session) == value:
        return value
    raise ConsoleFailed(f"the agent stays in the mode {current_mode(session)!r}; {value!r} was asked for")


def current_mode(session: Session) -> str | None:
    """The id of the mode that the agent says it works in."""
    if session.modes is not None:
        return session.modes.current
    option = _mode_option(session)
    return option.value if option is not None and isinstance(option.value, str) else None


@contextmanager
def _naming(what: str) -> Generator[None]:
    """Say what it was that the agent has refused."""
    try:
        yield
    except AuthRequired:
        raise
    except RequestFailed as error:
        raise ConsoleFailed(f"the agent refuses {what}: {error_text(error)} (error {error.code})") from error


def _mode_option(session: Session) -> Option | None:
    return next((each for each in session.options if "mode" in (each.category, each.id)), None)


def _meant(what: str, wanted: str, known: dict[str, str]) -> str:
    if wanted in known:
        return wanted
    for value, name in known.items():
        if wanted.casefold() in (value.casefold(), name.casefold()):
            return value
    close = get_close_matches(wanted, known, n=2)
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
    there = ", ".join(one_line(value, 80) for value in known) or "none"
    raise InvalidUsage(f"the agent has no {what} {wanted!r}{hint}", f"There are: {there}")


S = TypeVar("S", bound=SessionSummary)

SESSION_LIMIT = 1000
"""How many sessions of an agent are looked at; nobody reads more, and an agent may list for ever."""

NO_EARLIER_SESSION = "the agent has no earlier session in this directory, so this is a new one"
_PLACE_SECONDS = 5.0


class KnownSession(SessionSummary, kw_only=True):
    """A session and where it is known from: the agent lists it, or it was only kept `here`."""

    source: Literal["agent", "here"] = "agent"


class KnownSessions:
    """The sessions of an agent that is connected, at the agent and as they were kept here."""

    def __init__(self, client: Client, records: ConversationRecords | None, agent: str) -> None:
        self._client = client
        self._records = records
        self._agent = agent

    async def all(self) -> list[KnownSession]:
        """Those that the agent has kept, of all directories, as many as anybody would look through, and those kept here."""
        told: list[SessionSummary] = []
        if self._client.agent.capabilities.list:
            with suppress(MethodNotFound):  # it offers that, and has no method for it
                told = await list_sessions(self._client)
        kept = [] if self._records is None else await asyncio.to_thread(self._records.summaries, self._agent)
        return merge_sessions(told, kept)

    async def directory_of(self, session_id: str) -> str | None:
        """The directory that a session belongs to, where that is known."""
        known: list[KnownSession] = []
        with suppress(AccordError, TimeoutError):
            async with asyncio.timeout(_PLACE_SECONDS):
                known = await self.all()
        return next((each.cwd for each in known if each.session_id == session_id and each.cwd), None)

    async def transcripts(self, session_id: str) -> list[Transcript]:
        """What was kept here of a session, in place of what the agent does not tell."""
        return (
            [] if self._records is None else await asyncio.to_thread(self._records.transcripts, self._agent, session_id)
        )

    async def delete(self, session_id: str, *, is_listed: bool = True) -> bool:
        """At the agent, where it can, and then here; whether the agent could. What it does not list it may refuse."""
        with suppress(MethodNotFound if is_listed else RequestFailed):
            await self._client.delete_session(session_id)
        if self._records is not None:
            await asyncio.to_thread(self._records.delete, self._agent, session_id)
        return self._client.agent.capabilities.delete

    async def last(self, state: Path | None, cwd: Path) -> str | None:
        """The one that `--continue` means."""
        prompts = None if state is None else PromptHistory(state)
        return await last_session(self._client, prompts, self._records, self._agent, cwd)


async def last_session(
    client: Client, prompts: PromptHistory | None, records: ConversationRecords | None, agent: str, cwd: Path
) -> str | None:
    """By what the agent lists; where it does not list any, the one that was last prompted from here.

    Some agents list nothing although they keep it (FN-103). One that was deleted is not kept here either.
    """
    prompted = None if prompts is None else await asyncio.to_thread(prompts.last_session, agent, cwd)
    try:
        told = await list_sessions(client, cwd)
    except MethodNotFound:
        return prompted
    here = [each for each in newest_first(told) if is_in_directory(each, cwd)]
    if not here and prompted is not None:
        kept = None if records is None else await asyncio.to_thread(records.summaries, agent)
        return prompted if kept is None or any(each.session_id == prompted for each in kept) else None
    # One that nobody has said anything in has no title, and is not what anybody wants back.
    used = [each for each in here if each.title or each.session_id == prompted]
    return next((each.session_id for each in used or here), None)


async def list_sessions(client: Client, cwd: Path | None = None) -> list[SessionSummary]:
    """Those that the agent has kept, in its order: as many as anybody would look through."""
    found: list[SessionSummary] = []
    async for summary in client.list_sessions(cwd):
        found.append(summary)
        if len(found) >= SESSION_LIMIT:
            break
    return found


def merge_sessions(told: Iterable[SessionSummary], kept: Iterable[SessionSummary]) -> list[KnownSession]:
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


def newest_first(summaries: Iterable[S]) -> list[S]:
    """The newest first; those that don't say when stay behind, in the agent's order."""
    return sorted(summaries, key=lambda summary: summary.updated_at or "", reverse=True)


def used_first(summaries: Iterable[S]) -> list[S]:
    """The newest first, then those without a title: nobody has said anything in them."""
    return sorted(newest_first(summaries), key=lambda summary: not summary.title)


def local_time(told: str | None) -> str:
    """A time of an agent's, here and now as the user's clock has it; what is no time stays as it is."""
    try:
        moment = datetime.fromisoformat(told or "")
    except ValueError:
        return one_line((told or "")[:16].replace("T", " "), 16)
    return f"{moment.astimezone() if moment.tzinfo is not None else moment:%Y-%m-%d %H:%M}"


def is_in_directory(summary: SessionSummary, cwd: Path) -> bool:
    """Whether it belongs to the directory: not every agent heeds the one that it was asked about."""
    return not summary.cwd or os.path.normpath(summary.cwd) == os.path.normpath(cwd)
