"""Which agents there are, and which one was meant."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from accord.apps.console.exits import Exit
from accord.apps.console.failures import ConsoleFailed, UsageWrong
from accord.apps.console.presets import PRESETS, Preset, is_launcher, preset_of
from accord.apps.console.sanitising import one_line
from accord.apps.console.surroundings import Surroundings
from accord.local.written_paths import kind_of, path_of
from accord.session.capabilities import Implementation

__all__ = ["BUILTIN", "KnownAgent", "agent_meant", "known_agents"]

BUILTIN = "accord"

_HIDDEN = "********"
_TELLING = re.compile(r"(?i)key|token|secret|password|credential|authorization")


class KnownAgent(Struct, frozen=True, kw_only=True):
    """An agent that can be started. `source` says who named it; `install` is empty where that is the user's affair.

    `identity` is the name that it has given in `initialize`, empty until then.
    """

    name: str
    command: list[str]
    source: Literal["built-in", "config", "preset", "command"]
    title: str = ""
    env: dict[str, str] = {}
    install: str = ""
    identity: str = ""

    @property
    def is_builtin(self) -> bool:
        return self.source == "built-in"

    def introduced(self, info: Implementation | None) -> KnownAgent:
        """The same agent after its `initialize`; one that a launcher such as `node` started is called by its own name."""
        if info is None or not (name := one_line(info.name, 60)):
            return self
        known = replace(self, identity=info.name)
        if self.source != "command" or not is_launcher(self.command[0]):
            return known
        return replace(known, name=name, title=one_line(info.title or "", 60))

    @property
    def reads_itself(self) -> bool:
        """Whether it reads files from the disk, and is not offered to read them here, whoever named it. FN-95"""
        preset = preset_of(self.command, self.identity)
        return preset is not None and preset.reads_itself

    @property
    def runs_unasked(self) -> bool:
        """Whether it runs commands itself, and asks nobody, if it is offered no terminals here."""
        preset = preset_of(self.command, self.identity)
        return preset is not None and preset.runs_unasked

    @property
    def key(self) -> str:
        """What is kept here of its sessions is kept under this: two commands of one interpreter are two agents."""
        if self.source != "command":
            return self.name
        whole = "\0".join(self.command).encode("utf-8", "surrogateescape")
        # not the command itself, which may have a key in it
        return f"{Path(self.command[0]).name} {sha256(whole).hexdigest()[:16]}"

    @property
    def shown_command(self) -> list[str]:
        """Its command without what looks like a secret."""
        shown = self.command[:1]
        for before, argument in pairwise(self.command):
            name, equals, _ = argument.partition("=")
            if equals and _TELLING.search(name):
                shown.append(f"{name}={_HIDDEN}")
            else:
                hides = before.startswith("-") and "=" not in before and _TELLING.search(before)
                shown.append(_HIDDEN if hides and not argument.startswith("-") else argument)
        return shown

    @property
    def line(self) -> str:
        """Its command as a user would type it, without secrets."""
        return shlex.join(self.shown_command)

    def program(self, environment: Mapping[str, str] = os.environ) -> str | None:
        """Where its program is; None if it is not there, or can't be run."""
        return shutil.which(self.command[0], path={**environment, **self.env}.get("PATH", os.defpath))

    def check(self) -> None:
        """ConsoleFailed, with what to do, when it can't be started."""
        if self.program() is not None:
            return
        name = self.command[0]
        has_directory = Path(name).name != name
        kind = kind_of(Path(name)) if has_directory else None
        if kind == "directory":
            raise ConsoleFailed(
                f"the agent {self.name!r} can't be started: {name} is a directory",
                "Name the program in it",
                Exit.NOT_EXECUTABLE,
            )
        if kind is not None:
            raise ConsoleFailed(
                f"the agent {self.name!r} can't be started: {name} is not executable",
                f"Run `chmod +x {shlex.quote(name)}`, or put its interpreter in front of it",
                Exit.NOT_EXECUTABLE,
            )
        where = "is not there" if has_directory else "is not on PATH"
        if self.install:
            way = self.install if self.install.startswith("see ") else f"install it with `{self.install}`"
            advice = f"{way[0].upper()}{way[1:]}"
        elif self.source == "config":
            advice = f"Install it, or mend [agents.{self.name}] in config.toml (`accord config --path` tells where)"
        else:
            advice = "Install it, or check how it is spelt"
        raise ConsoleFailed(
            f"the agent {self.name!r} can't be started: its program {name!r} {where}", advice, Exit.NOT_FOUND
        )


def known_agents(around: Surroundings) -> list[KnownAgent]:
    """The built-in agent, then those of the user, then the presets that the user has not replaced."""
    builtin = KnownAgent(name=BUILTIN, command=around.builtin, source="built-in", title="the built-in coding agent")
    own = [
        KnownAgent(name=name, command=given.command, env=given.env, source="config")
        for name, given in around.agents.items()
    ]
    presets = [_of_preset(name, preset) for name, preset in PRESETS.items() if name not in around.agents]
    return [builtin, *own, *presets]


def agent_meant(
    name: str | None, command: Sequence[str] | None, around: Surroundings, *, may_be_command: bool = False
) -> KnownAgent:
    """The agent of a command line: a command, a name, or nothing for the built-in one.

    `may_be_command` is for a name that stands where a command of accord could.
    """
    if command is not None:
        return _of_command(name, list(command))
    if name is None:
        name = BUILTIN
    known = {agent.name: agent for agent in known_agents(around)}
    if name in known:
        return known[name]
    raise _unknown(name, list(known), around, may_be_command=may_be_command)


def _unknown(name: str, names: list[str], around: Surroundings, *, may_be_command: bool) -> UsageWrong:
    if may_be_command:
        close = [f"`accord {each}`" for each in get_close_matches(name, [*around.commands, *names[1:]], n=1)]
        what, advice = "no command and no agent", "`accord --help` and `accord agents` list them"
    else:
        close = [repr(each) for each in get_close_matches(name, names, n=2)]
        what = "no agent"
        advice = (
            f"Known are {', '.join(names)}. Others are named in config.toml ([agents.NAME]) or given as `-- COMMAND`"
        )
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    # What was left out of the settings may be the very thing that was meant.
    return UsageWrong(f"there is {what} {name!r}{hint}", "\n  ".join([advice, *around.notices]))


def _of_command(name: str | None, command: list[str]) -> KnownAgent:
    if name is not None:
        raise UsageWrong(f"both the agent {name!r} and a command were given", "Give one of them")
    if not command:
        raise UsageWrong("there is no command after `--`")
    here, program = Path.cwd(), command[0]  # FileNotFoundError where that is gone: it would be started there
    if Path(program).name != program:
        program = str(here / path_of(program))
    return KnownAgent(name=Path(program).name, command=[program, *command[1:]], source="command")


def _of_preset(name: str, preset: Preset) -> KnownAgent:
    program = next((each for each in preset.programs if shutil.which(each)), preset.programs[0])
    return KnownAgent(
        name=name,
        command=[program, *preset.args],
        source="preset",
        title=preset.title,
        install=preset.install,
    )
