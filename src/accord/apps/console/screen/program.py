"""`accord` at a terminal: the screen, with the agent, the directory and the session that were asked for."""

from __future__ import annotations

import os

from accord.apps.console.running import Run
from accord.apps.console.screen import main as open_screen
from accord.apps.console.screen.plain import main as talk_plainly
from accord.apps.console.screen.themes import check_theme
from accord.client.commands import Command

__all__ = ["main"]


def main(asked: Run, theme: str | None = None, *, is_plain: bool = False) -> int:
    """The exit status. Where the terminal can do no more, it is as with `is_plain`."""
    known, around = asked.agent, asked.around
    if theme is not None:
        check_theme(theme)
    known.check()
    if is_plain or os.environ.get("TERM") == "dumb":
        return talk_plainly(asked)
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
        known=known,
        title=known.title or known.name,
        cwd=asked.cwd,
        servers=asked.servers,
        resume=asked.session_id,
        continues=asked.continues,
        state=around.state,
        records=around.records,
        theme=theme,
        mode=asked.mode,
        model=None if known.is_builtin else asked.model,
        login=asked.login,
        permissions=asked.permissions,
        start_timeout=asked.start_timeout,
        notices=[] if known.is_builtin else around.notices,
    )
