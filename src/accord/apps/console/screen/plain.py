"""The conversation line by line, for screen readers and for terminals that can do no more.

Law: what is written stays where it was written. Nothing is drawn, moved or coloured.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

from accord.apps.console.exits import exit_of_stop_reason
from accord.apps.console.forms import asked_of
from accord.apps.console.history import Prompts
from accord.apps.console.link import Answers, Link
from accord.apps.console.logins import chooser
from accord.apps.console.output import Outputs
from accord.apps.console.permitting import policy_of
from accord.apps.console.person import Person
from accord.apps.console.printing import Printer
from accord.apps.console.reporting import Outcome
from accord.apps.console.running import Run
from accord.apps.console.screen.mentions import content_of
from accord.client.login import run_in_terminal
from accord.client.reply import Reply
from accord.client.session import Session
from accord.client.workspace import Workspace
from accord.errors import AccordError, ConnectionClosed

__all__ = ["main"]

_HELP = "Type a prompt and press Enter. Ctrl-C stops the agent, again ends it; Ctrl-D or /quit leaves.\n"


def main(asked: Run, resume: str | None) -> int:
    """The exit status."""
    return asyncio.run(_talk(asked, resume))


async def _talk(asked: Run, resume: str | None) -> int:
    return await _Plain(asked, resume).talk()


class _Plain:
    def __init__(self, asked: Run, resume: str | None) -> None:
        self._asked = asked
        self._resume = resume
        self._prompts = Prompts(asked.around.state)
        self._outputs = Outputs()
        self._printer = Printer(self._outputs, is_transcript=True)
        self._person = Person(self._outputs.out)
        self._reply: Reply | None = None
        self._link: Link | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def talk(self) -> int:
        person, asked = self._person, self._asked
        answers = Answers(
            permission=policy_of("ask", person, self._printer.decided),
            elicitation=asked_of(person),
            choose_login=chooser(asked.login, person),
            run_login=run_in_terminal,
            workspace=Workspace(),
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
        async with link:
            servers = self._asked.servers
            session = await (link.new_session(servers) if self._resume is None else link.take_up(self._resume, servers))
            name = self._asked.agent.title or self._asked.agent.name
            self._outputs.out.write(f"{name}, in {self._asked.cwd}. {_HELP}")
            while (text := await self._person.ask("\nYou: ")) is not None:
                if text.strip() == "/quit":
                    return
                if text.strip():
                    await self._turn(link, session, text)

    async def _turn(self, link: Link, session: Session, text: str) -> None:
        asked = self._asked
        await asyncio.to_thread(self._prompts.add, asked.agent.name, asked.cwd, session.id, text)
        self._outputs.out.write("\nAgent:\n")
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
