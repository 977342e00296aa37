"""`accord` at a terminal: the screen, with the agent, the directory and the session that were asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from accord.apps.console.history import Prompts
from accord.apps.console.running import Run
from accord.apps.console.screen import main as open_screen
from accord.apps.console.screen.plain import main as talk_plainly
from accord.client.commands import Command

__all__ = ["main", "wants_plain"]


def wants_plain(environment: Mapping[str, str]) -> bool:
    """Line by line, with nothing drawn: for screen readers, and where the terminal can do no more."""
    return bool(environment.get("ACCORD_PLAIN")) or environment.get("TERM") == "dumb"


def main(asked: Run) -> int:
    """The exit status."""
    known, around = asked.agent, asked.around
    known.check()
    resume = asked.session_id
    if resume is None and asked.continues:
        resume = Prompts(around.state).last_session(known.name, asked.cwd)
        if resume is None:
            sys.stderr.write("accord: there is no session to continue here; this is a new one\n")
    if wants_plain(os.environ):
        return talk_plainly(asked, resume)
    extra = ["--model", asked.model] if known.is_builtin and asked.model else []
    command = Command(
        [*known.command, *extra],
        env=known.env,
        cwd=None if known.source == "command" else asked.cwd,
        close_grace=1.0,
        terminate_grace=1.0,
    )
    return open_screen(
        command,
        name=known.name,
        title=known.title or known.name,
        cwd=asked.cwd,
        servers=asked.servers,
        resume=resume,
        state=around.state,
        theme=os.environ.get("ACCORD_THEME"),
        mode=asked.mode,
        model=None if known.is_builtin else asked.model,
        login=asked.login,
        notices=[] if known.is_builtin else around.notices,
    )
