"""`accord [AGENT]`: talk to an agent on the screen; without a terminal, one prompt and its answer."""

from __future__ import annotations

import gc
import os
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from accord.apps.console.agent_process import agent_command
from accord.apps.console.errors import ConsoleFailed, ExitStatus
from accord.apps.console.known_agents import LoadEnvironment, find_agent
from accord.apps.console.line_mode import main as run_line_mode
from accord.apps.console.run.one_prompt import RunOptions
from accord.apps.console.run.program import run
from accord.apps.console.run_command import (
    add_session_arguments,
    add_start_timeout,
    session_options,
    start_timeout,
    working_directory,
)
from accord.client.deadlines import Deadlines
from accord.peer.event_loop import run as run_loop
from accord.transports.installation import install_command

_CUT_SHORT = (ExitStatus.UNREAD, ExitStatus.INTERRUPTED, ExitStatus.TERMINATED, ExitStatus.HANGUP)


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "Talks to an agent on the screen: the built-in one, or AGENT, by its name or as a command after `--`. Without "
        "a terminal it reads one prompt from stdin and prints the conversation; for scripts there is `accord run`."
    )
    parser.add_argument("agent", metavar="AGENT", nargs="?", help="the agent, by its name; `accord agents` lists them")
    parser.add_argument("--cwd", metavar="DIR", help="the directory to work in (default: this one)")
    add_start_timeout(parser)
    add_session_arguments(parser)
    parser.add_argument(
        "--theme",
        metavar="NAME",
        help="how the screen looks this time; /theme there saves a choice (ACCORD_THEME, `theme` in config.toml)",
    )
    parser.add_argument(
        "--plain",
        action="store_true",
        help="line by line, with nothing drawn, for screen readers (ACCORD_PLAIN, `plain` in config.toml)",
    )


def main(args: Mapping[str, Any], load_environment: LoadEnvironment) -> int:
    cwd = working_directory(args)
    environment = load_environment(cwd)
    agent = find_agent(args.get("agent"), args.get("command"), environment, may_be_command=True)
    options = RunOptions(
        agent=agent,
        environment=environment,
        cwd=cwd,
        prompt=None,
        default_prompt="/explain" if agent.is_builtin else None,
        is_transcript=True,
        start_timeout=start_timeout(args, environment),
        **session_options(args),
    )
    if _has_terminal():
        return _screen(options, args.get("theme"), is_plain=args.get("plain") or environment.plain)
    status = run(options)
    if status in _CUT_SHORT:
        return status
    sys.stderr.write(
        "\nWithout a terminal, as here, `accord` takes one prompt. In a terminal it opens a screen to talk in; for scripts "
        "there is `accord run PROMPT`.\n"
    )
    return status


def _has_terminal() -> bool:
    streams = (sys.__stdin__, sys.__stdout__)
    return all(stream is not None and not stream.closed and stream.isatty() for stream in streams)


def _screen(run: RunOptions, theme: str | None, *, is_plain: bool) -> int:
    """Open the screen until the user quits, or the line mode if asked for or in a dumb terminal."""
    if find_spec("textual") is None:
        raise ConsoleFailed(
            "the screen needs Textual, which is not installed",
            f"Install it with `{install_command('console')}`, or use `accord run PROMPT`, which needs no screen",
        )
    from accord.apps.console.screen.themes import check_theme  # noqa: PLC0415  # Textual, which may not be there

    for name in (theme, run.environment.theme):
        if name is not None:
            check_theme(name)
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
        saves_checkpoints=environment.saves_checkpoints,
        theme=theme,
        theme_setting=environment.theme,
        vim=environment.vim,
        keys=environment.keys,
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
    sys.stdout.write(app.farewell)
    sys.stdout.flush()
    return app.return_code or status or 0


def tune_garbage_collector() -> None:
    """Avoid long pauses with many small objects. Call it when all modules are loaded."""
    gc.freeze()  # without a collection before: loading modules leaves no garbage, and looking for it delays the screen
    gc.set_threshold(5_000, 10, 50)
