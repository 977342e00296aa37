"""`accord completion`: a script that completes commands and options, made from the same parsers that read them.

Agents, models, modes, sessions and themes change: the script asks `accord completion --values` for them.
"""

from __future__ import annotations

import os
import sys
from argparse import REMAINDER, Action, ArgumentParser
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from accord.cli.commands import COMMANDS, TALK
from accord.cli.completion_values import KINDS, offers
from accord.cli.help_topics import PAGES
from accord.cli.parser import new_parser
from accord.errors import AccordError

_SOURCES = {"agent": "agents", "model": "models", "mode": "modes", "theme": "themes"} | dict.fromkeys(
    ("session", "show", "delete", "take_over"), "sessions"
)
"""By the name of an argument, what `accord completion --values` is asked for."""


class CompletedArgument(NamedTuple):
    """An option or a positional argument, and its values: `words`, or what comes from a `source`.

    The source is FILE, DIR or something that changes.
    """

    names: list[str]
    meaning: str
    takes_value: bool
    words: list[str]
    source: str = ""


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        'Prints a script for your shell. bash: add `eval "$(accord completion bash)"` to ~/.bashrc. zsh: save it as '
        "_accord in a directory of $fpath. fish: save it as ~/.config/fish/completions/accord.fish."
    )
    parser.add_argument("shell", metavar="SHELL", nargs="?", help="bash, zsh or fish")
    parser.add_argument(
        "--values",
        metavar="KIND",
        nargs=REMAINDER,
        help=f"for the scripts: print what is offered for {', '.join(KINDS)}, each with a tab and what it is; after KIND the "
        "words of the command line",
    )


def main(args: Mapping[str, Any]) -> int:
    if "values" in args:
        return _print_values(args["values"])
    shell = args.get("shell") or PurePath(os.environ.get("SHELL", "")).name
    if shell not in _SHELLS:
        raise AccordError(f"say for which shell: `accord completion {'`, `accord completion '.join(_SHELLS)}`")
    sys.stdout.write(script(shell))
    return 0


def _print_values(asked: list[str]) -> int:
    kind, *words = asked or [""]
    if kind not in KINDS:
        raise AccordError(f"no values of the kind {kind!r}: give one of {', '.join(KINDS)}")
    sys.stdout.writelines(f"{value}\t{about}\n" if about else f"{value}\n" for value, about in offers(kind, words))
    return 0


def script(shell: str) -> str:
    """The script for one of bash, zsh and fish; `accord [AGENT]` is the command without a name."""
    arguments = {
        command.name: [_completed(action) for action in new_parser(command)._actions]  # noqa: SLF001  # argparse has no other way
        for command in (TALK, *COMMANDS.values())
    }
    arguments[TALK.name].append(CompletedArgument(["--version"], "which accord this is", takes_value=False, words=[]))
    return _SHELLS[shell](arguments)


def _completed(action: Action) -> CompletedArgument:
    fixed = {"shell": [*_SHELLS], "topic": [*dict.fromkeys([*COMMANDS, *PAGES])]}
    words = [str(choice) for choice in action.choices or fixed.get(action.dest, [])]
    source = "" if words else _SOURCES.get(action.dest, "")
    if not source and isinstance(action.metavar, str) and action.metavar in ("FILE", "DIR"):
        source = action.metavar
    return CompletedArgument(list(action.option_strings), action.help or "", action.nargs != 0, words, source)


_BASH_HEAD = r"""# completion of accord for bash

# Bash cuts words at : and =, which names of models have.
_accord_words() {
    local i part
    words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        part=${COMP_WORDS[i]}
        if ((i > 1)) && [[ $part == [:=]* || ${words[${#words[@]}-1]} == *[:=] ]]; then
            words[${#words[@]}-1]+=$part
        else
            words+=("$part")
        fi
    done
    word=${words[${#words[@]}-1]} before=${words[${#words[@]}-2]}
    if [[ $word == --*=* ]]; then
        before=${word%%=*} word=${word#*=}
    fi
}

# What accord itself knows. What each value is stands beside it only where it can't get onto the line.
_accord_values() {
    local value about
    local -a values=() shown=()
    while IFS=$'\t' read -r value about; do
        [[ $value == "$word"* ]] || continue
        values+=("$(printf %q "$value")") shown+=("$value${about:+  ($about)}")
    done < <(command accord completion --values "$1" "${words[@]}" 2>/dev/null)
    compopt -o nosort 2>/dev/null
    if [[ ${#values[@]} -gt 1 && $COMP_TYPE != 37 && $COMP_TYPE != 42 ]]; then
        COMPREPLY+=("${shown[@]}")
    elif [[ ${#values[@]} -gt 0 ]]; then
        COMPREPLY+=("${values[@]}")
        [[ ${values[0]} != *: ]] || compopt -o nospace 2>/dev/null
    fi
    if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*:}"}"}")
    fi
}

_accord_list() {
    COMPREPLY+=($(compgen -W "$1" -- "$word"))
}

_accord_paths() {
    local IFS=$'\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen "$1" -- "$word"))
}
"""


def _bash(arguments: Mapping[str, list[CompletedArgument]]) -> str:
    lines = [
        _BASH_HEAD,
        "_accord() {",
        "    local word before",
        "    local -a words",
        "    _accord_words",
        '    local command="${words[1]}"',
        "    COMPREPLY=()",
        f'    case "$command" in {" | ".join([*COMMANDS])}) ;; *) command= ;; esac',
        '    case "${#words[@]} $word" in',
        f'        "2 -"*) _accord_list "{_words(_options(arguments[""]))}"; return ;;',
        f'        "2 "*) _accord_list "{_words([*COMMANDS])}"; _accord_values agents; return ;;',
        "    esac",
        '    case "$command $before" in',
    ]
    for command, completed in arguments.items():
        for each in completed:
            if each.names and each.takes_value:
                pattern = " | ".join(f"'{command} {name}'" for name in each.names)
                lines.append(f"        {pattern}) {_bash_values(each)}; return ;;")
    lines += ["    esac", '    case "$command" in']
    for command, completed in arguments.items():
        positional = next((each for each in completed if not each.names), None)
        lines += [
            f"        '{command}')",
            '            case "$word" in',
            f'                -*) _accord_list "{_words(_options(completed))}" ;;',
            f"                *) {':' if positional is None else _bash_values(positional)} ;;",
            "            esac ;;",
        ]
    return "\n".join([*lines, "    esac", "}", "complete -F _accord accord", ""])


def _bash_values(each: CompletedArgument) -> str:
    match each.source:
        case "FILE":
            return "_accord_paths -f"
        case "DIR":
            return "_accord_paths -d"
        case "":
            return f'_accord_list "{_words(each.words)}"' if each.words else ":"
        case source:
            return f"_accord_values {source}"


_ZSH_HEAD = r"""#compdef accord
# completion of accord for zsh

_accord_values() {
    local value about
    local -a values shown prefixes
    while IFS=$'\t' read -r value about; do
        if [[ $value == *: ]]; then
            prefixes+=("$value")
        else
            values+=("$value") shown+=("$value${about:+  -- $about}")
        fi
    done < <(command accord completion --values "$1" "${accord_words[@]}" 2>/dev/null)
    compadd -V values -l -d shown -a values
    compadd -V prefixes -S '' -a prefixes
}
"""


def _zsh(arguments: Mapping[str, list[CompletedArgument]]) -> str:
    lines = [_ZSH_HEAD, "_accord() {", '    local -a accord_words=("${words[@]}") commands=(']
    lines += [f"        {_quoted(f'{name}:{command.summary}')}" for name, command in COMMANDS.items()]
    lines += [
        "    )",
        "    local command=",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "    else",
        f"        case $words[2] in {' | '.join([*COMMANDS])})",
        "            command=$words[2]",
        "            shift words",
        "            (( CURRENT-- ))",
        "        esac",
        "    fi",
        "    case $command in",
    ]
    for command, completed in arguments.items():
        lines.append(f"        '{command}') _arguments \\")
        lines += [f"            {_quoted(spec)} \\" for each in completed for spec in _zsh_specs(each)]
        lines.append("            ;;")
    return "\n".join([*lines, "    esac", "}", '_accord "$@"', ""])


def _zsh_specs(each: CompletedArgument) -> list[str]:
    sources = {"FILE": "_files", "DIR": "_files -/", "": f"({' '.join(each.words)})" if each.words else ""}
    values = sources.get(each.source, f" _accord_values {each.source}")
    meaning = each.meaning.translate({ord(letter): f"\\{letter}" for letter in "[]:\\"})
    if not each.names:
        return [f"1:{meaning}:{values}"]
    value = f":value:{values}" if each.takes_value else ""
    return [f"{name}{'=' if value and name.startswith('--') else ''}[{meaning}]{value}" for name in each.names]


_FISH_HEAD = r"""# completion of accord for fish
function __accord_values
    command accord completion --values $argv[1] (commandline -opc) (commandline -ct) 2>/dev/null
end
complete -c accord -f"""


def _fish(arguments: Mapping[str, list[CompletedArgument]]) -> str:
    lines = [_FISH_HEAD]
    lines += [
        f"complete -c accord -n __fish_use_subcommand -a {name} -d {_quoted(command.summary)}"
        for name, command in COMMANDS.items()
    ]
    for command, completed in arguments.items():
        seen = f"__fish_seen_subcommand_from {command or _words([*COMMANDS])}"
        for each in completed:
            lines.append(f"complete -c accord -n '{'' if command else 'not '}{seen}'{_fish_argument(each)}")
    return "\n".join([*lines, ""])


def _fish_argument(each: CompletedArgument) -> str:
    names = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in each.names)
    meaning = f" -d {_quoted(each.meaning)}"
    if each.source == "FILE":
        return f"{names} -r -F{meaning}"
    if not each.words and not each.source:
        return f"{names}{' -x' if each.takes_value and each.names else ''}{meaning}"
    words = {"DIR": "(__fish_complete_directories)", "": _words(each.words)}
    values = words.get(each.source, f"(__accord_values {each.source})")
    meaning = "" if each.source and not each.names else meaning  # each value has its own
    order = " -k" if each.source not in ("", "DIR") else ""
    return f"{names}{order}{' -x' if each.names else ''} -a {_quoted(values)}{meaning}"


def _options(completed: list[CompletedArgument]) -> list[str]:
    return [name for each in completed for name in each.names]


def _words(words: list[str]) -> str:
    return " ".join(words)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_SHELLS: dict[str, Callable[[Mapping[str, list[CompletedArgument]]], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
