"""What a prompt can be completed with: `/` commands at its beginning, `@` files anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.mentions import best_matches, match_score, quoted
from accord.session.entities import SlashCommand

__all__ = ["OWN_COMMANDS", "Completion", "completions", "own_command"]

OWN_COMMANDS = {
    "log": "what was said on the wire, and the agent's stderr",
    "sessions": "take up, fork or delete a session",
    "new": "another session beside this one",
    "review": "all files that were changed in this session",
    "options": "modes, models and all other options",
    "export": "write the conversation to a file, as Markdown or JSON",
    "theme": "another look",
    "login": "log in at the agent",
    "keys": "what each key does",
    "restart": "start the agent again, with this session",
    "quit": "leave",
}
"""What the screen does itself. Where a command of the agent's has the same name, `/accord:NAME` is the screen's."""

_OURS = "accord:"
_LONGEST_NAME = 60

_FILE = re.compile(r'(?:(?<=\s)|^)@(?:"([^"]*)|([^\s"]*))$')
_COMMAND = re.compile(r"^/([\w.:-]*)$")


class Completion(msgspec.Struct, frozen=True):
    """Something to offer: what is shown, what it means, and what takes the place of `length` typed characters."""

    shown: str
    meaning: str
    text: str
    length: int


def completions(
    before: str, is_first_line: bool, commands: Sequence[SlashCommand], files: Sequence[str]
) -> list[Completion]:
    """What fits the text before the cursor; nothing where there is nothing to complete."""
    if found := _FILE.search(before):
        typed = found[1] if found[1] is not None else found[2]
        length = len(found[0])
        return [Completion(one_line(path, 120), "", f"{quoted(path)} ", length) for path in best_matches(typed, files)]
    if is_first_line and (found := _COMMAND.match(before)):
        return _commands(found[1], commands)
    return []


def own_command(text: str, commands: Sequence[SlashCommand]) -> tuple[str, str] | None:
    """The name of the screen's own command that was written, and what follows it; None for anything else."""
    word, *rest = text.split(maxsplit=1) or [""]
    name = word.removeprefix("/").removeprefix(_OURS)
    if not word.startswith("/") or name not in OWN_COMMANDS:
        return None
    is_of_agent = any(command.name == word.removeprefix("/") for command in commands)
    return None if is_of_agent else (name, "".join(rest).strip())


def _commands(typed: str, commands: Sequence[SlashCommand]) -> list[Completion]:
    known = {
        command.name: f"{one_line(command.description)}{f'  <{one_line(command.hint)}>' if command.hint else ''}"
        for command in commands
        if one_line(command.name, _LONGEST_NAME)
        == command.name  # what takes the place of what was typed was seen whole
    }
    own = {
        f"{_OURS}{name}" if name in known else name: f"{meaning}  (accord)" for name, meaning in OWN_COMMANDS.items()
    }
    known |= {name: f"{known[name]}  (the agent's)" for name in OWN_COMMANDS if name in known}
    everything = {**known, **own}
    wanted = typed.casefold()
    fitting = [
        (name, score) for name in everything if (score := match_score(wanted, name) if wanted else 0) is not None
    ]
    fitting.sort(key=lambda each: -each[1])
    return [Completion(f"/{name}", everything[name], f"/{name} ", len(typed) + 1) for name, _ in fitting]
