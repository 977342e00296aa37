"""The agents that `accord` knows by name, how each is started, and which one was meant.

Where each row was looked up is told in docs/run.md. A name in the user's config.toml wins over one from here.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from hashlib import sha256
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from accord.apps.console.conversation_records import ConversationRecords
from accord.apps.console.errors import ConsoleFailed, ExitStatus, InvalidUsage
from accord.apps.console.sanitizer import one_line, visible
from accord.local.paths import expand_path, file_kind
from accord.session.capabilities import Implementation
from accord.session.mcp_servers import McpServer

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
        preset = find_preset(self.command, self.identity)
        return preset is not None and preset.reads_itself

    @property
    def runs_unasked(self) -> bool:
        """Whether it runs commands itself, and asks nobody, if it is offered no terminals here."""
        preset = find_preset(self.command, self.identity)
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
        kind = file_kind(Path(name)) if has_directory else None
        status, reason = ExitStatus.NOT_FOUND, f"its program {name!r} is not {'there' if has_directory else 'on PATH'}"
        if kind is not None:
            is_directory, status = kind == "directory", ExitStatus.NOT_EXECUTABLE
            reason = f"{name} is {'a directory' if is_directory else 'not executable'}"
            chmod = f"Run `chmod +x {shlex.quote(name)}`, or put its interpreter in front of it"
            advice = "Name the program in it" if is_directory else chmod
        elif self.install:
            way = self.install if self.install.startswith("see ") else f"install it with `{self.install}`"
            advice = f"{way[0].upper()}{way[1:]}"
        elif self.source == "config":
            advice = f"Install it, or mend [agents.{self.name}] in config.toml (`accord config --path` tells where)"
        elif not has_directory and file_kind(Path(name)) == "file":
            advice = f"The file {name} is here: put its interpreter in front of it (`python {name}`), or write ./{name}"
        else:
            advice = "Install it, or check how it is spelt"
        raise ConsoleFailed(f"the agent {self.name!r} can't be started: {reason}", advice, status)


def known_agents(environment: Environment) -> list[KnownAgent]:
    """The built-in agent, then those of the user, then the presets that the user has not replaced."""
    builtin = KnownAgent(
        name=BUILTIN, command=environment.builtin, source="built-in", title="the built-in coding agent"
    )
    own = [
        KnownAgent(name=name, command=given.command, env=given.env, source="config")
        for name, given in environment.agents.items()
    ]
    presets = [_of_preset(name, preset) for name, preset in PRESETS.items() if name not in environment.agents]
    return [builtin, *own, *presets]


def find_agent(
    name: str | None, command: Sequence[str] | None, environment: Environment, *, may_be_command: bool = False
) -> KnownAgent:
    """The agent of a command line: a command, a name, or nothing for the built-in one.

    `may_be_command` is for a name that stands where a command of accord could.
    """
    if command is not None:
        return _of_command(name, list(command))
    if name is None:
        name = BUILTIN
    known = {agent.name: agent for agent in known_agents(environment)}
    if name in known:
        return known[name]
    raise _unknown(name, list(known), environment, may_be_command=may_be_command)


def _unknown(name: str, names: list[str], environment: Environment, *, may_be_command: bool) -> InvalidUsage:
    close: list[str] = []
    if re.match(r"(?:https?|wss?)://", name):
        what = "no agent with the name"
        advice = f"An agent over the network is given as a command, at the end: `-- accord connect {shlex.quote(name)}`"
    elif " " in name.strip():
        what, advice = "no agent with the name", f"A command is given at the end, after two dashes: `-- {name.strip()}`"
    elif may_be_command:
        close = [f"`accord {each}`" for each in get_close_matches(name, [*environment.commands, *names[1:]], n=1)]
        what, advice = "no command and no agent", "`accord --help` and `accord agents` list them"
    else:
        close = [repr(each) for each in get_close_matches(name, names, n=2)]
        what = "no agent"
        advice = (
            f"Known are {', '.join(names)}. Others are named in config.toml ([agents.NAME]) or given as `-- COMMAND`"
        )
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    # What was left out of the settings may be the very thing that was meant.
    return InvalidUsage(f"there is {what} {name!r}{hint}", "\n  ".join([advice, *environment.notices]))


def _of_command(name: str | None, command: list[str]) -> KnownAgent:
    if name is not None:
        raise InvalidUsage(f"both the agent {name!r} and a command were given", "Give one of them")
    if not command:
        raise InvalidUsage("there is no command after `--`")
    here, program = Path.cwd(), command[0]  # FileNotFoundError where that is gone: it would be started there
    if Path(program).name != program:
        program = str(here / expand_path(program))
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


class Preset(Struct, frozen=True, kw_only=True):
    """One of them; `programs` are the names it is started by, the most telling first.

    `names` are what it calls itself in `initialize`, and what its packages are called: in lower case, without the scope,
    with hyphens. With `reads_itself` it reads files from the disk, because it takes a client's answer that there is none
    for a failure. With `runs_unasked` it runs commands itself, and asks nobody, where its client offers no terminals; in those
    it asks.
    """

    title: str
    programs: tuple[str, ...]
    args: tuple[str, ...] = ()
    install: str
    names: tuple[str, ...]
    reads_itself: bool = False
    runs_unasked: bool = False


def _preset(title: str, command: str, install: str, names: str, **flags: bool) -> Preset:
    """`command` begins with the names of its program, separated by `|`."""
    programs, *args = command.split()
    return Preset(
        title=title,
        programs=tuple(programs.split("|")),
        args=tuple(args),
        install=install,
        names=tuple(names.split()),
        **flags,
    )


PRESETS: dict[str, Preset] = {
    "auggie": _preset("Auggie", "auggie --acp", "npm install -g @augmentcode/auggie", "auggie auggie-cli"),
    "claude": _preset(
        "Claude Code, by its ACP adapter",
        "claude-agent-acp",
        "npm install -g @agentclientprotocol/claude-agent-acp",
        "claude-agent-acp claude-code-acp",
    ),
    "codex": _preset(
        "Codex, by its ACP adapter", "codex-acp", "npm install -g @agentclientprotocol/codex-acp", "codex-acp"
    ),
    "copilot": _preset(
        "GitHub Copilot CLI",
        "copilot --acp --stdio",
        "npm install -g @github/copilot",
        "copilot github-copilot github-copilot-cli copilot-cli",
    ),
    "cursor": _preset(
        "Cursor CLI",
        "cursor-agent|agent acp",
        "see https://cursor.com/docs/cli/installation",
        "cursor cursor-agent cursor-cli",
    ),
    "fast-agent": _preset(
        "fast-agent",
        "fast-agent-acp",
        "uv tool install fast-agent-mcp",
        "fast-agent fast-agent-acp fast-agent-mcp",
        runs_unasked=True,
    ),
    "gemini": _preset(
        "Gemini CLI", "gemini --acp", "npm install -g @google/gemini-cli", "gemini gemini-cli", reads_itself=True
    ),
    "goose": _preset(
        "goose", "goose acp", "see https://block.github.io/goose/docs/getting-started/installation", "goose goose-cli"
    ),
    "kimi": _preset(
        "Kimi CLI",
        "kimi acp",
        "see https://github.com/MoonshotAI/kimi-cli",
        "kimi kimi-cli kimi-code kimi-code-cli",
        reads_itself=True,
    ),
    "opencode": _preset("OpenCode", "opencode acp", "see https://opencode.ai/docs", "opencode opencode-ai"),
    "qoder": _preset("Qoder CLI", "qodercli --acp", "npm install -g @qoder-ai/qodercli", "qoder qodercli qoder-cli"),
    "qwen": _preset("Qwen Code", "qwen --acp", "npm install -g @qwen-code/qwen-code", "qwen qwen-code"),
    "vibe": _preset(
        "Mistral Vibe", "vibe-acp", "see https://github.com/mistralai/mistral-vibe", "vibe vibe-acp mistral-vibe"
    ),
}

_LAUNCHER = re.compile(
    r"(?:node|npx|npm|bun|bunx|deno|pnpm|yarn|tsx|python|pypy|uv|uvx|pipx|ruby|java|dotnet|sh|bash|dash|zsh|env)[\d.]*(?:js)?"
)
_STEPS = frozenset(["exec", "dlx", "x", "run", "tool"])


def is_launcher(program: str) -> bool:
    """Whether it only starts another program, so that its name says nothing."""
    return _LAUNCHER.fullmatch(PurePath(program).name.lower().removesuffix(".exe").removesuffix(".cmd")) is not None


def find_preset(command: Sequence[str], name: str = "") -> Preset | None:
    """By the name that an agent has given in `initialize`, else by the program or package of its command."""
    by_name = {each: preset for preset in PRESETS.values() for each in preset.names}
    if (found := by_name.get(_plain(name))) is not None:
        return found
    if is_launcher(command[0]):
        return by_name.get(_plain(_package_in(command[1:])))
    by_program = {each: preset for preset in PRESETS.values() for each in preset.programs}
    program = PurePath(command[0]).stem
    return by_program.get(program) or by_name.get(program)


def _plain(name: str) -> str:
    without_scope = name.rpartition("/")[2] if name.startswith("@") else name
    return re.sub(r"[^a-z0-9]+", "-", without_scope.casefold()).strip("-")


def _package_in(words: Sequence[str]) -> str:
    """What a launcher starts: a package without its version, or the one that a script belongs to."""
    word = next((each for each in words if not each.startswith("-") and each not in _STEPS), "").replace("\\", "/")
    _, inside, place = word.rpartition("node_modules/")
    if not inside and "/" in word and not word.startswith("@"):
        return PurePath(word).name
    found = re.match(r"(?:@[^/]*/|\.bin/)?([^/@=]+)", place)
    return found[1] if found else ""


class AgentCommand(Struct, frozen=True, kw_only=True):
    """How a configured agent is started; `env` is added to our environment."""

    command: list[str]
    env: dict[str, str] = {}


class Environment(Struct, frozen=True, kw_only=True):
    """The settings of a directory: agents and MCP servers by name, the state directory, and the built-in agent.

    `commands` are the words after `accord` that are not agents. `notices` are for the user, a sentence each.
    """

    builtin: list[str]
    state: Path
    agents: dict[str, AgentCommand] = {}
    servers: list[McpServer] = []
    commands: list[str] = []
    notices: list[str] = []
    theme: str | None = None
    plain: bool = False
    vim: bool = False
    keys: dict[str, list[str]] = {}
    start_timeout: float = 60.0
    keeps_conversations: bool = True
    saves_checkpoints: bool = True

    def print_notices(self) -> None:
        """On stderr, for commands without a conversation."""
        for notice in self.notices:
            write_stderr_line(notice)

    @property
    def records(self) -> ConversationRecords | None:
        """The records of conversations; None if they are not to be recorded."""
        return ConversationRecords(self.state) if self.keeps_conversations else None


LoadEnvironment: TypeAlias = Callable[[Path], Environment]
"""Loads the settings of a directory; raises an AccordError that names the file when a setting is invalid."""


def write_stderr_line(text: str) -> None:
    """For commands without a conversation."""
    sys.stderr.write(f"{visible(text)}\n")
