"""What the terminal client is told of the user's settings: it does not know the coding agent, so this does."""

from __future__ import annotations

import sys
from pathlib import Path

from accord.apps.coder.settings.files import state_directory
from accord.apps.coder.settings.precedence import load_settings
from accord.apps.console.known_agents import AgentCommand, Environment
from accord.cli.commands import COMMANDS
from accord.local.paths import expand_path


def load_environment(cwd: Path) -> Environment:
    """Those of a directory."""
    loaded = load_settings(cwd)
    settings = loaded.settings
    return Environment(
        builtin=[sys.executable, "-P", "-m", "accord", "agent"],  # -P: a project's own modules are not ours
        state=state_directory(),
        agents={
            name: AgentCommand(command=[_program(given.command, cwd), *given.args], env=given.env)
            for name, given in settings.agents.items()
        },
        servers=settings.mcp_servers,
        commands=list(COMMANDS),
        notices=loaded.notices,
        theme=settings.theme,
        plain=settings.plain,
        vim=settings.vim,
        keys={name: [keys] if isinstance(keys, str) else keys for name, keys in settings.keys.items()},
        start_timeout=settings.start_timeout,
        keeps_conversations=settings.conversations,
        saves_checkpoints=settings.checkpoints,
    )


def _program(written: str, cwd: Path) -> str:
    """With a directory in it, it is one file, in whatever directory the agent is looked for and started."""
    return written if Path(written).name == written else str(cwd / expand_path(written))
