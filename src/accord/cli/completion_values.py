"""The words that a completion offers for agents, models, modes, sessions and themes, looked up when Tab is pressed.

Law: no agent is started and nothing is written. What an agent offers is known from the newest conversation with it that was
kept here. Whatever is wrong, less is offered and nothing is said: a shell is in the middle of a line.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from accord.apps.coder.models.catalog import PROVIDERS, ModelEndpoint
from accord.apps.coder.session_options import MODES, model_names
from accord.apps.coder.settings.files import state_directory
from accord.apps.coder.settings.precedence import load_settings
from accord.apps.console.conversation_records import ConversationRecords
from accord.apps.console.known_agents import Environment, KnownAgent, find_agent, known_agents
from accord.apps.console.sanitizer import one_line
from accord.cli.commands import COMMANDS, TALK
from accord.cli.environment import load_environment
from accord.cli.parser import new_parser
from accord.errors import AccordError
from accord.local.paths import expand_path
from accord.session.entities import Modes, Option
from accord.session.requests import SessionSummary

_LONGEST_ABOUT = 60
_MOST_SESSIONS = 50


class Offer(NamedTuple):
    """A value, and what it is, where that helps to choose."""

    value: str
    about: str = ""


class CommandLine(NamedTuple):
    """What the words before the one that is typed say of the agent and the directory that are meant."""

    agent: str | None
    cwd: Path

    @classmethod
    def read(cls, words: Sequence[str]) -> CommandLine:
        """From the program on; the last word is the one that is typed."""
        before = list(words[1:-1])
        command = COMMANDS.get(before[0]) if before else None
        rest = iter(before[1:] if command else before)
        takes_value = {
            name: action.nargs != 0
            for action in new_parser(command or TALK)._actions  # noqa: SLF001  # argparse has no other way
            for name in action.option_strings
        }
        agent, cwd = None, "."
        for word in rest:
            name, is_joined, value = word.partition("=")
            if takes_value.get(name) and not is_joined:
                value = next(rest, "")
            if name == "--agent":
                agent = value or None
            elif name == "--cwd":
                cwd = value
            elif command is None and agent is None and not word.startswith("-"):
                agent = word
        return cls(agent, expand_path(cwd).absolute())


def offers(kind: str, words: Sequence[str]) -> list[Offer]:
    """What a shell may put on its line, the likely first; nothing with signs that can't be printed."""
    with suppress(AccordError, OSError):
        found: dict[str, str] = {}
        for value, about in KINDS[kind](CommandLine.read(words)):
            found.setdefault(value, one_line(about, _LONGEST_ABOUT))
        return [Offer(*each) for each in found.items() if each[0].isprintable() and not each[0].startswith("-")]
    return []


def _environment(line: CommandLine) -> Environment:
    try:
        return load_environment(line.cwd)
    except (AccordError, OSError):  # whatever is wrong there, it is told elsewhere
        return Environment(builtin=[], state=state_directory())


def _agent(line: CommandLine) -> KnownAgent:
    return find_agent(line.agent, None, _environment(line))


def _agents(line: CommandLine) -> Iterator[Offer]:
    for agent in known_agents(_environment(line)):
        yield Offer(agent.name)


def _models(line: CommandLine) -> Iterator[Offer]:
    agent = _agent(line)
    if agent.is_builtin:
        settings = load_settings(line.cwd).settings
        yield from map(Offer, model_names(settings))
        for provider in PROVIDERS:
            endpoint = ModelEndpoint(f"{provider}:", settings.model_settings)
            if endpoint.key is not None:
                yield Offer(f"{provider}:", "its key is set; the name of a model follows")
        return
    for option in _seen(agent, line)[1]:
        if "model" in (option.category, option.id):
            yield from (Offer(choice.value, choice.name) for choice in option.choices)


def _modes(line: CommandLine) -> Iterator[Offer]:
    agent = _agent(line)
    if agent.is_builtin:
        yield from (Offer(id, about) for id, (_, about) in MODES.items())
        return
    modes, options = _seen(agent, line)
    if modes is not None:
        yield from (Offer(mode.id, mode.description or mode.name) for mode in modes.available)
    for option in options:
        if "mode" in (option.category, option.id):
            yield from (Offer(choice.value, choice.description or choice.name) for choice in option.choices)


class _SeenSettings(msgspec.Struct):
    """A line of a record that tells what the agent offers; others have neither member."""

    modes: Modes | None = None
    options: list[Option] = []


def _seen(agent: KnownAgent, line: CommandLine) -> tuple[Modes | None, list[Option]]:
    """The modes and the options that the agent offered in the newest conversation with it."""
    records = ConversationRecords(_environment(line).state)
    for session in records.summaries(agent.key):
        seen: list[_SeenSettings] = []
        for told in records.lines(agent.key, session.session_id):
            if told.startswith((b'{"report":"OptionsReport"', b'{"report":"ModesReport"')):
                with suppress(msgspec.DecodeError, UnicodeDecodeError):
                    seen.append(msgspec.json.decode(told, type=_SeenSettings))
        if seen:
            modes = [each.modes for each in seen if each.modes is not None]
            options = [each.options for each in seen if each.options]
            return (modes or [None])[-1], (options or [[]])[-1]
    return None, []


def _sessions(line: CommandLine) -> Iterator[Offer]:
    """Those of the directory first, each time the newest first."""
    agent = _agent(line)
    known = ConversationRecords(_environment(line).state).summaries(agent.key)
    if agent.is_builtin:
        known = [*_stored_sessions(state_directory() / "sessions.db"), *known]
    known.sort(key=lambda each: each.updated_at or "", reverse=True)
    known.sort(key=lambda each: each.cwd != os.fspath(line.cwd))
    titles = {each.session_id: each.title for each in known if each.title}
    for session in known[: 2 * _MOST_SESSIONS]:
        yield Offer(session.session_id, titles.get(session.session_id) or session.cwd)


def _stored_sessions(path: Path) -> list[SessionSummary]:
    if not path.exists():
        return []
    from accord.store.sqlite import SqliteStore  # noqa: PLC0415  # only here

    async def read() -> list[SessionSummary]:
        async with SqliteStore(path, patience=0.2) as store:
            return (await store.list(limit=_MOST_SESSIONS)).sessions

    return asyncio.run(read())


def _themes(line: CommandLine) -> Iterable[Offer]:
    try:
        from accord.apps.console.screen.themes import theme_names  # noqa: PLC0415  # an extra
    except ModuleNotFoundError:
        return []
    return [Offer(name) for name in theme_names()]


KINDS: dict[str, Callable[[CommandLine], Iterable[Offer]]] = {
    "agents": _agents,
    "models": _models,
    "modes": _modes,
    "sessions": _sessions,
    "themes": _themes,
}
"""By the name that the scripts give."""
