"""The conversation line by line, for screen readers and for terminals that can do no more.

Law: what is written stays where it was written. Nothing is drawn, moved or coloured.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

from accord.apps.console.continuing import NOTHING_EARLIER, last_session
from accord.apps.console.exits import exit_of_stop_reason
from accord.apps.console.forms import asked_of
from accord.apps.console.history import Prompts
from accord.apps.console.link import Answers, Link
from accord.apps.console.logins import chooser
from accord.apps.console.output import Outputs
from accord.apps.console.permitting import policy_of
from accord.apps.console.person import Person
from accord.apps.console.printing import Printer
from accord.apps.console.records import Recording
from accord.apps.console.reporting import Outcome, terminals_told
from accord.apps.console.running import Run
from accord.apps.console.screen.mentions import content_of
from accord.apps.console.servers import left_out
from accord.client.login import run_in_terminal
from accord.client.reply import Reply
from accord.client.session import Session
from accord.client.workspace import Workspace
from accord.errors import AccordError, ConnectionClosed

__all__ = ["main"]

_HELP = "Type a prompt and press Enter. Ctrl-C stops the agent, again ends it; Ctrl-D or /quit leaves.\n"


def main(asked: Run) -> int:
    """The exit status."""
    return asyncio.run(_talk(asked))


async def _talk(asked: Run) -> int:
    return await _Plain(asked).talk()


class _Plain:
    def __init__(self, asked: Run) -> None:
        self._asked = asked
        self._prompts = Prompts(asked.around.state)
        self._outputs = Outputs()
        self._printer = Printer(self._outputs, is_transcript=True, is_spoken=True)
        self._person = Person(self._outputs.out)
        self._reply: Reply | None = None
        self._recording: Recording | None = None
        self._link: Link | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def talk(self) -> int:
        person, asked = self._person, self._asked
        answers = Answers(
            permission=policy_of("ask", person, self._printer.decided),
            elicitation=asked_of(person),
            choose_login=chooser(asked.login, person),
            run_login=run_in_terminal,
            workspace=Workspace(read=not asked.agent.reads_itself, on_terminal=terminals_told(self._printer.changed)),
            update=lambda update: self._printer.changed(update.change),
        )
        working = asyncio.create_task(self._work(Link(asked.agent, asked.cwd, answers)), name="accord plain")
        with suppress(NotImplementedError):  # Windows: there Ctrl-C ends the program
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupted, working)
        try:
            await working
        except asyncio.CancelledError:
            pass
        finally:
            self._outputs.out.write("\n")
            await self._outputs.finish()
        return 0

    async def _work(self, link: Link) -> None:
        self._link = link
        name = self._asked.agent.title or self._asked.agent.name
        self._outputs.out.write(f"Starting {name}.\n")
        async with link:
            for told in left_out(self._asked.servers, link.agent.capabilities):
                self._printer.noted(told, "warning")
            session = await self._session(link)
            records = self._asked.around.records
            self._recording = None if records is None else Recording(records, self._asked.agent.key, session)
            self._outputs.out.write(f"Ready, in {self._asked.cwd}. {_HELP}")
            while (text := await self._person.prompted("\nYou: ")) is not None:
                if text.strip() == "/quit":
                    return
                if text.strip():
                    await self._turn(link, session, text)

    async def _session(self, link: Link) -> Session:
        asked = self._asked
        wanted = asked.session_id
        if wanted is None and asked.continues:
            with link.explaining("listing the sessions"):
                wanted = await last_session(link.client, self._prompts, asked.agent.key, asked.cwd)
            if wanted is None:
                self._printer.noted(NOTHING_EARLIER)
        if wanted is None:
            return await link.new_session(asked.servers)
        return await link.take_up(wanted, asked.servers)

    async def _turn(self, link: Link, session: Session, text: str) -> None:
        asked = self._asked
        await asyncio.to_thread(self._prompts.add, asked.agent.key, asked.cwd, session.id, text)
        self._outputs.out.write("\n")
        try:
            reply = self._reply = await session.prompt(content_of(text, asked.cwd, link.agent.capabilities))
            async for change in reply:
                self._printer.changed(change)
                await self._outputs.room()
            self._printer.ended(Outcome(exit=exit_of_stop_reason(reply.stop_reason), stop_reason=reply.stop_reason))
        except ConnectionClosed:
            with link.explaining("answering the prompt"):
                raise
        except AccordError as error:
            self._printer.noted(str(error), "error")
        finally:
            self._reply = None
            if self._recording is not None:
                await asyncio.shield(self._recording.keep())

    def _interrupted(self, working: asyncio.Task[None]) -> None:
        reply, link = self._reply, self._link
        if reply is None or link is None:
            working.cancel()
        elif reply.cancel_requested:
            link.client.connection.kill()
        else:
            self._printer.noted("stopping… (Ctrl-C again ends the agent)")
            task = asyncio.create_task(reply.cancel(), name="accord cancel")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
