"""Runs the screen as a program, or the line mode where the terminal cannot show a screen."""

from __future__ import annotations

import gc
import os
import sys

from accord.apps.console.agent_process import agent_command
from accord.apps.console.line_mode import main as run_line_mode
from accord.apps.console.run.one_prompt import RunOptions
from accord.apps.console.screen.themes import check_theme
from accord.client.deadlines import Deadlines
from accord.peer.event_loop import run as run_loop

__all__ = ["main", "open_screen", "tune_garbage_collector"]


def main(run: RunOptions, theme: str | None = None, *, is_plain: bool = False) -> int:
    """RunOptions the screen, or the line mode if asked for or in a dumb terminal; returns the exit status."""
    if theme is not None:
        check_theme(theme)
    run.agent.check()
    if is_plain or os.environ.get("TERM") == "dumb":
        return run_line_mode(run)
    return open_screen(run, theme)


def open_screen(run: RunOptions, theme: str | None) -> int:
    """Open the screen until the user quits."""
    # Imported here: the line mode starts faster without the widgets.
    from accord.apps.console.screen.app import ScreenApp  # noqa: PLC0415
    from accord.apps.console.screen.context import ScreenOptions  # noqa: PLC0415

    agent, environment = run.agent, run.environment
    model_arguments = ["--model", run.model] if agent.is_builtin and run.model else []
    options = ScreenOptions(
        target=agent_command(agent, run.cwd, model_arguments),
        name=agent.name,
        known=agent,
        title=agent.title or agent.name,
        cwd=run.cwd,
        servers=list(run.servers),
        resume=run.session_id,
        continues=run.continues,
        state=environment.state,
        records=environment.records,
        theme=theme,
        mode=run.mode,
        model=None if agent.is_builtin else run.model,
        login=run.login,
        permissions=run.permissions,
        notices=[] if agent.is_builtin else list(environment.notices),
        deadlines=None if run.start_timeout is None else Deadlines(handshake=run.start_timeout),
    )
    app = ScreenApp(options)
    tune_garbage_collector()
    status = run_loop(app.run_async(), is_fast=False)
    sys.stdout.flush()
    return app.return_code or status or 0


def tune_garbage_collector() -> None:
    """Avoid long pauses with many small objects. Call it when all modules are loaded."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 10, 50)
