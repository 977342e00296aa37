"""The commands of `accord`. Each one's code lives in its app and is imported when the command is given.

The module of a command has `add_arguments(parser)`, which says what arguments it takes, without defaults; and `main(given)`,
which gets those that were given, only those, and returns the exit status. A command `for_talking` also takes a command
line after `--`, as `command`, and its `main` gets a function that tells the surroundings of a directory.
"""

from __future__ import annotations

from typing import NamedTuple


class Subcommand(NamedTuple):
    """A word after `accord`."""

    name: str
    group: str
    summary: str
    module: str
    for_talking: bool = False


_TALKING, _EDITORS, _SETTINGS, _THIS = "Talk to agents", "For editors", "Settings", "This program"

TALK = Subcommand("", _TALKING, "talk to an agent on the screen", "accord.apps.console.talk_command", for_talking=True)
"""`accord` without a command: what follows is an agent's name, options, or nothing at all."""

COMMANDS = {
    name: Subcommand(name, group, summary, f"accord.{module}", module.startswith("apps.console."))
    for name, group, summary, module in (
        ("run", _TALKING, "one prompt without a screen", "apps.console.run_command"),
        ("sessions", _TALKING, "the sessions that an agent has kept", "apps.console.sessions_command"),
        ("agents", _TALKING, "which agents there are, and what they can do", "apps.console.agents_command"),
        ("agent", _EDITORS, "the built-in coding agent, on stdin and stdout", "apps.coder.program"),
        ("connect", _EDITORS, "an agent of another machine, on stdin and stdout", "apps.remote.connect"),
        ("serve", _EDITORS, "any agent over the network, for other machines", "apps.remote.serve"),
        ("token", _EDITORS, "tokens of the users of an agent over the network", "apps.remote.tokens"),
        ("config", _SETTINGS, "what is set, and where each value came from", "apps.coder.settings.display"),
        ("trust", _SETTINGS, "let a project's .accord.toml count", "apps.coder.settings.trust"),
        ("permissions", _SETTINGS, "what you allowed or rejected for always", "apps.coder.permissions_command"),
        ("help", _THIS, "pages about a topic or a command", "cli.help_topics"),
        ("completion", _THIS, "commands and options on the Tab key", "cli.completion"),
    )
}


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
    lines += [
        "",
        "`accord COMMAND --help` tells more about one, `accord help` lists pages about topics, `accord --version` tells which",
        "accord this is.",
        "",
    ]
    return "\n".join(lines)
