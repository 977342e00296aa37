"""The resumption of a session that the agent has kept, in a talk: loaded with its history, or resumed without."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from accord.apps.console.screen.blocks.block import Block
from accord.apps.console.screen.blocks.notices import Failure
from accord.apps.console.screen.conversation import Part, Story
from accord.apps.console.screen.errors import not_taken_up
from accord.apps.console.screen.session import Talk
from accord.apps.console.session_choice import KnownSessions
from accord.client.client import Client
from accord.client.session import Session
from accord.errors import MethodNotFound
from accord.session import replay as retold
from accord.session.mcp_servers import McpServer

__all__ = ["Fill", "Resumption"]


class Fill(Protocol):
    """Fills a talk with the session that `work` opens; what goes wrong is shown in it, but for `letting`, as False."""

    def __call__(
        self,
        talk: Talk,
        work: Callable[[], Awaitable[Session]],
        failed: Callable[[Exception], Failure] = ...,
        letting: type[Exception] | tuple[type[Exception], ...] = ...,
    ) -> Awaitable[bool]: ...


class Resumption:
    """Of one session in one talk."""

    def __init__(
        self,
        talk: Talk,
        session_id: str,
        *,
        client: Client,
        known: KnownSessions,
        servers: list[McpServer],
        fill: Fill,
    ) -> None:
        self._talk = talk
        self._session_id = session_id
        self._client = client
        self._known = known
        self._servers = servers
        self._fill = fill

    async def attempt(self, *, with_history: bool) -> bool | None:
        """Whether it is taken up; None if the agent can't do that, and all that is known of it is told.

        An agent that offers a way and then has no method for it (-32601) is asked for the other one.
        """
        can, is_told = self._client.agent.capabilities, False
        for loads in (True, False) if with_history else (False, True):
            if not (can.load if loads else can.resume):
                continue
            if not loads:
                await self._tell_what_is_known()
                is_told = True
            with suppress(MethodNotFound):
                return await (self._load() if loads else self._resume())
        if not is_told:
            await self._tell_what_is_known()
        return None

    async def _load(self) -> bool:
        talk = self._talk
        known, is_new_here = list(talk.story.blocks), talk.session is None
        talk.story.clear()
        talk.session_id = self._session_id
        talk.taken_up(with_history=True)
        done = is_told = False
        try:
            done = await self._filled(self._client.load_session)
            is_told = done and talk.session is not None and bool(talk.session.transcript.timeline)
        finally:
            if not is_told:
                talk.story.begin_with(known)  # better than nothing, which is what the agent has told
        if done and not is_told and is_new_here:
            await self._tell_record()
        return done

    async def _resume(self) -> bool:
        self._talk.session_id = self._session_id
        self._talk.taken_up(with_history=False)
        return await self._filled(self._client.resume_session)

    async def _filled(self, take_up: Callable[..., Awaitable[Session]]) -> bool:
        talk = self._talk
        work = lambda: take_up(self._session_id, talk.cwd, self._servers)  # noqa: E731  # done again after a login
        return await self._fill(talk, work, not_taken_up, MethodNotFound)

    async def _tell_what_is_known(self) -> None:
        """What comes next is told below it, in a part of its own."""
        if self._talk.session is None:
            await self._tell_record()
        self._talk.story.begin_part()

    async def _tell_record(self) -> None:
        """What we have kept of a session, in place of what the agent does not tell."""
        talk = self._talk
        for part in await self._known.recorded(self._session_id):
            story = Story(talk.cwd, _unheard)
            for change in retold(part):
                story.tell(change)
            for block in story.blocks:
                talk.story.add(block)


def _unheard(part: Part, block: Block | None) -> None: ...
