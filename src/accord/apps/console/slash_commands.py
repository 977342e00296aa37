"""Slash commands: those of the program itself, beside those of the agent.

Law: a `/word` that is nobody's command goes to the model only if the user sends it twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

import msgspec

from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.mentions import Completion, match_score
from accord.session.entities import SlashCommand


class OwnCommand(msgspec.Struct, frozen=True):
    """A command of the program. `action` is the action of the screen's app, by default the command's name.

    With a `hint`, the command takes the text after it, and the action gets it. A reserved name is the program's even if
    the agent has a command of that name.
    """

    name: str
    meaning: str
    action: str = ""
    hint: str = ""
    is_reserved: bool = False


OWN_COMMANDS = {
    command.name: command
    for command in (
        OwnCommand("help", "all keys and commands", "keys", is_reserved=True),
        OwnCommand("new", "a new session in a tab", "new_session"),
        OwnCommand("clear", "a new session in this tab; `/resume` reopens the old one"),
        OwnCommand("resume", "open, fork or delete an earlier session", "sessions"),
        OwnCommand("undo", "go back to the files before a turn, after a preview"),
        OwnCommand("diff", "all files changed in this session", "review"),
        OwnCommand("find", "search in the conversation", hint="text"),
        OwnCommand("export", "write the conversation to a file, as Markdown or JSON", hint="path, md or json"),
        OwnCommand("options", "modes, models and all other options"),
        OwnCommand("theme", "choose a colour theme, also for the next start"),
        OwnCommand("login", "log in to the agent"),
        OwnCommand("restart", "restart the agent and reopen its sessions"),
        OwnCommand("log", "the wire log: messages and the agent's stderr"),
        OwnCommand("quit", "quit accord", "exit", is_reserved=True),
        OwnCommand("exit", "the same as `/quit`", is_reserved=True),
        OwnCommand("keys", "the same as `/help`"),
        OwnCommand("review", "the same as `/diff`"),
        OwnCommand("sessions", "the same as `/resume`"),
    )
}
"""If the agent has a command of the same name, the program's is `/accord:NAME`; the agent's is `/agent:NAME` if the name is
reserved."""

_OWN, _AGENT = "accord:", "agent:"
_LONGEST_NAME = 60
_COMMAND = re.compile(r"/([\w.:-]+)")


def parse_own_command(text: str, commands: Sequence[SlashCommand]) -> tuple[OwnCommand, str] | None:
    """A command of the program and the text after it; None if the text is anything else."""
    word, *rest = text.split(maxsplit=1) or [""]
    name = word.removeprefix("/")
    command = OWN_COMMANDS.get(name.removeprefix(_OWN))
    if not word.startswith("/") or command is None:
        return None
    is_of_agent = name in _names(commands) and not (command.is_reserved and name == command.name)
    return None if is_of_agent else (command, "".join(rest).strip())


def agent_text(text: str, commands: Sequence[SlashCommand]) -> str:
    """The text as the agent expects it: `/agent:help` is its own `/help`."""
    match = _COMMAND.match(text)
    is_of_agent = match is not None and match[1].removeprefix(_AGENT) in _names(commands)
    return text.replace(f"/{_AGENT}", "/", 1) if is_of_agent and text.startswith(f"/{_AGENT}") else text


def unknown_command(
    text: str,
    commands: Sequence[SlashCommand],
    advice: str,
    own: Iterable[str] = OWN_COMMANDS,
) -> str | None:
    """The sentence about a `/word` that is nobody's command; None for any other text, also for a path.

    `own` are the commands of the program that are suggested; `advice` says how to send the text nevertheless.
    """
    word = (text.split(maxsplit=1) or [""])[0]
    match = _COMMAND.fullmatch(word)
    known = {*OWN_COMMANDS, *_names(commands)}
    if match is None or match[1].removeprefix(_OWN) in OWN_COMMANDS or match[1].removeprefix(_AGENT) in known:
        return None
    suggestion = _suggestion(match[1], {*own, *_names(commands)})
    return f"No such command: {one_line(word, _LONGEST_NAME)}{suggestion} {advice}"


def _suggestion(name: str, known: Iterable[str]) -> str:
    close = [f"/{each}" for each in get_close_matches(name.casefold(), sorted(known), n=2, cutoff=0.7)]
    return f"; did you mean {' or '.join(close)}?" if close else "."


def _names(commands: Sequence[SlashCommand]) -> set[str]:
    return {command.name for command in commands}


def command_completions(typed: str, commands: Sequence[SlashCommand]) -> list[Completion]:
    """The commands that match the letters after the slash, the best first."""
    meanings = command_meanings(commands)
    characters = typed.casefold()
    scores = {name: match_score(characters, name) if characters else 0 for name in meanings}
    found = (name for name in meanings if scores[name] is not None)
    matches = sorted(found, key=lambda name: (name != characters, -(scores[name] or 0)))  # `/log` before `/login`
    return [Completion(f"/{name}", meanings[name], f"/{name} ", len(typed) + 1) for name in matches]


def command_meanings(commands: Sequence[SlashCommand], own: Mapping[str, str] | None = None) -> dict[str, str]:
    """All commands and their meanings, those of the agent first; where both have one, it is said whose each is.

    `own` are the commands of the program, by default those of the screen.
    """
    own = {name: command.meaning for name, command in OWN_COMMANDS.items()} if own is None else own
    meanings: dict[str, str] = {}
    for command in commands:
        if one_line(command.name, _LONGEST_NAME) != command.name:
            continue  # only a name that is shown exactly may be inserted
        meaning = f"{one_line(command.description)}{f'  <{one_line(command.hint)}>' if command.hint else ''}"
        name = f"{_AGENT}{command.name}" if command.name in own and _is_reserved(command.name) else command.name
        meanings[name] = f"{meaning}  (agent)" if command.name in own else meaning
    mark = "  (accord)" if meanings else ""  # nothing to tell apart without commands of the agent
    ours = {
        f"{_OWN}{name}" if name in meanings else name: f"{meaning.replace('`', '')}{mark}"
        for name, meaning in own.items()
    }
    return meanings | ours


def _is_reserved(name: str) -> bool:
    return name in OWN_COMMANDS and OWN_COMMANDS[name].is_reserved
