"""The help page of `accord`: all commands at a glance."""

from __future__ import annotations

from accord.cli.commands import COMMANDS

__all__ = ["help_page"]


def help_page() -> str:
    """The help of `accord` itself."""
    lines = [
        "accord: agents and clients of the Agent Client Protocol",
        "",
        "usage: accord [AGENT] [options]     talk to an agent on the screen; the built-in one if none is named",
        "       accord COMMAND [options]",
    ]
    for group in dict.fromkeys(command.group for command in COMMANDS.values()):
        lines += ["", f"{group}:"]
        lines += [f"  {each.name:<12} {each.summary}" for each in COMMANDS.values() if each.group == group]
    lines += [
        "",
        "`accord [AGENT]` takes --continue, --resume ID, --cwd DIR, --model, --mode, --permissions, --login, --theme,",
        "--plain and, in the place of AGENT, a command after `--`.",
    ]
    lines += ["", "`accord COMMAND --help` tells more about one, `accord --version` which accord this is.", ""]
    return "\n".join(lines)
