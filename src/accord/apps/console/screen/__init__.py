"""The screen of the terminal client: talk to an agent and see what it does. Needs the extra `console`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from accord.apps.console.errors import ConsoleFailed
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.permission_flags import Permissions
from accord.apps.console.screen.shutdown import keep_collector_calm
from accord.apps.console.session_records import Records
from accord.client.deadlines import Deadlines
from accord.client.target import AnyTarget
from accord.peer.event_loop import run
from accord.session.mcp_servers import McpServer

__all__ = ["main"]


def main(
    target: AnyTarget,
    *,
    name: str,
    cwd: Path,
    known: KnownAgent | None = None,
    title: str | None = None,
    servers: Sequence[McpServer] = (),
    resume: str | None = None,
    continues: bool = False,
    state: Path | None = None,
    records: Records | None = None,
    theme: str | None = None,
    mode: str | None = None,
    model: str | None = None,
    login: str | None = None,
    permissions: Permissions | None = None,
    start_timeout: float | None = None,
    notices: Sequence[str] = (),
) -> int:
    """Open the screen and stay until the user leaves; the exit status.

    `name` is what the agent is called in the history of prompts, `title` what is shown.
    """
    try:
        app = import_module("accord.apps.console.screen.app")
        opening = import_module("accord.apps.console.screen.startup_options")
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] not in ("textual", "rich"):
            raise
        raise ConsoleFailed(
            "the screen needs Textual, which is not installed", "Install it with `pip install 'accord[console]'`"
        ) from None
    console = app.Console(
        opening.Opening(
            target=target,
            name=name,
            known=known,
            title=title or name,
            cwd=cwd,
            servers=list(servers),
            resume=resume,
            continues=continues,
            state=state,
            records=records,
            theme=theme,
            mode=mode,
            model=model,
            login=login,
            permissions=permissions,
            deadlines=None if start_timeout is None else Deadlines(handshake=start_timeout),
            notices=list(notices),
        )
    )
    keep_collector_calm()
    status = run(console.run_async(), is_fast=False)
    sys.stdout.flush()
    return console.return_code or status or 0
