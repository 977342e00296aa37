"""`accord completion`: a script that completes commands and options, made from the same parsers that read them."""

from __future__ import annotations

import os
import re
import sys
from argparse import Action, ArgumentParser
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from accord.apps.coder.settings.files import home_directory
from accord.apps.console.known_agents import Environment, known_agents
from accord.cli.commands import COMMANDS, TALK
from accord.cli.environment import load_environment
from accord.cli.parser import new_parser
from accord.errors import AccordError


class CompletedArgument(NamedTuple):
    """An option or a positional argument; `values` are words, or FILE or DIR."""

    names: list[str]
    meaning: str
    takes_value: bool
    values: list[str]


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        'Prints a script for your shell. bash: add `eval "$(accord completion bash)"` to ~/.bashrc. zsh: save it as '
        "_accord in a directory of $fpath. fish: save it as ~/.config/fish/completions/accord.fish."
    )
    parser.add_argument("shell", metavar="SHELL", nargs="?", choices=tuple(_SHELLS), help="bash, zsh or fish")


def main(args: Mapping[str, Any]) -> int:
    shell = args.get("shell") or PurePath(os.environ.get("SHELL", "")).name
    if shell not in _SHELLS:
        raise AccordError(f"say for which shell: `accord completion {'`, `accord completion '.join(_SHELLS)}`")
    sys.stdout.write(script(shell))
    return 0


def script(shell: str) -> str:
    """The script for one of bash, zsh and fish; `accord [AGENT]` is the command without a name."""
    names = _agents()
    arguments = {
        command.name: [_completed(action, names) for action in new_parser(command)._actions]  # noqa: SLF001  # argparse has no other way
        for command in (TALK, *COMMANDS.values())
    }
    arguments[TALK.name].append(CompletedArgument(["--version"], "which accord this is", takes_value=False, values=[]))
    return _SHELLS[shell](arguments, names)


def _agents() -> list[str]:
    """The agents that the user can name now; those of the settings only where no shell could take them for more."""
    try:
        environment = load_environment(home_directory())
    except AccordError:  # whatever is wrong there, it is told elsewhere
        environment = Environment(builtin=[], state=Path())
    return [agent.name for agent in known_agents(environment) if re.fullmatch(r"[\w.+@-]+", agent.name)]


def _completed(action: Action, agents: list[str]) -> CompletedArgument:
    if action.choices is not None:
        values = [str(choice) for choice in action.choices]
    elif action.dest == "agent":
        values = agents
    else:
        values = [action.metavar] if isinstance(action.metavar, str) and action.metavar in ("FILE", "DIR") else []
    return CompletedArgument(list(action.option_strings), action.help or "", action.nargs != 0, values)


def _bash(arguments: Mapping[str, list[CompletedArgument]], agents: list[str]) -> str:
    lines = [
        "# completion of accord for bash",
        "_accord() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}"',
        "    COMPREPLY=()",
        f'    case "$command" in {" | ".join([*COMMANDS, "help"])}) ;; *) command= ;; esac',
        '    case "$COMP_CWORD $word" in',
        f'        "1 -"*) COMPREPLY=($(compgen -W "{_words(_options(arguments[""]))}" -- "$word")); return ;;',
        f'        "1 "*) COMPREPLY=($(compgen -W "{_words([*COMMANDS, "help", *agents])}" -- "$word")); return ;;',
        "    esac",
        '    case "$command $before" in',
    ]
    for command, completed in arguments.items():
        for each in completed:
            if each.names and each.takes_value:
                pattern = " | ".join(f"'{command} {name}'" for name in each.names)
                lines.append(f"        {pattern}) {_bash_values(each.values)}; return ;;")
    lines += ["    esac", '    case "$command" in']
    for command, completed in arguments.items():
        lines += [
            f"        '{command}')",
            '            case "$word" in',
            f'                -*) COMPREPLY=($(compgen -W "{_words(_options(completed))}" -- "$word")) ;;',
            f"                *) {_bash_values([value for each in completed if not each.names for value in each.values])} ;;",
            "            esac ;;",
        ]
    lines.append(f'        help) COMPREPLY=($(compgen -W "{_words([*COMMANDS])}" -- "$word")) ;;')
    return "\n".join([*lines, "    esac", "}", "complete -F _accord accord", ""])


def _bash_values(values: list[str]) -> str:
    if values in (["FILE"], ["DIR"]):
        kind = "f" if values == ["FILE"] else "d"
        return f"local IFS=$'\\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -{kind} -- \"$word\"))"
    return f'COMPREPLY=($(compgen -W "{_words(values)}" -- "$word"))'


def _zsh(arguments: Mapping[str, list[CompletedArgument]], agents: list[str]) -> str:
    lines = ["#compdef accord", "# completion of accord for zsh", "_accord() {", "    local -a commands=("]
    lines += [f"        {_quoted(f'{name}:{command.summary}')}" for name, command in COMMANDS.items()]
    lines += [
        "    )",
        "    local command=",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "    else",
        f"        case $words[2] in {' | '.join([*COMMANDS, 'help'])})",
        "            command=$words[2]",
        "            shift words",
        "            (( CURRENT-- ))",
        "        esac",
        "    fi",
        "    case $command in",
        "        help) _describe command commands ;;",
    ]
    for command, completed in arguments.items():
        lines.append(f"        '{command}') _arguments \\")
        lines += [f"            {_quoted(spec)} \\" for each in completed for spec in _zsh_specs(each)]
        lines.append("            ;;")
    return "\n".join([*lines, "    esac", "}", '_accord "$@"', ""])


def _zsh_specs(each: CompletedArgument) -> list[str]:
    values = {"FILE": "_files", "DIR": "_files -/"}.get(" ".join(each.values), f"({' '.join(each.values)})")
    meaning = each.meaning.translate({ord(letter): f"\\{letter}" for letter in "[]:\\"})
    if not each.names:
        return [f"1:{meaning}:{values}"]
    value = f":value:{values if each.values else ''}" if each.takes_value else ""
    return [f"{name}[{meaning}]{value}" for name in each.names]


def _fish(arguments: Mapping[str, list[CompletedArgument]], agents: list[str]) -> str:
    lines = ["# completion of accord for fish", "complete -c accord -f"]
    lines += [
        f"complete -c accord -n __fish_use_subcommand -a {name} -d {_quoted(command.summary)}"
        for name, command in COMMANDS.items()
    ]
    for command, completed in arguments.items():
        seen = f"__fish_seen_subcommand_from {command or _words([*COMMANDS, 'help'])}"
        for each in completed:
            lines.append(f"complete -c accord -n '{'' if command else 'not '}{seen}'{_fish_argument(each)}")
    return "\n".join([*lines, ""])


def _fish_argument(each: CompletedArgument) -> str:
    names = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in each.names)
    if not each.values:
        values = " -x" if each.takes_value and each.names else ""
    elif each.values == ["FILE"]:
        values = " -r -F"
    else:
        words = "(__fish_complete_directories)" if each.values == ["DIR"] else _words(each.values)
        values = f"{' -x' if each.names else ''} -a {_quoted(words)}"
    return f"{names}{values} -d {_quoted(each.meaning)}"


def _options(completed: list[CompletedArgument]) -> list[str]:
    return [name for each in completed for name in each.names]


def _words(words: list[str]) -> str:
    return " ".join(words)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_SHELLS: dict[str, Callable[[Mapping[str, list[CompletedArgument]], list[str]], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
