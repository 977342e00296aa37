"""`accord help`: the commands, and the pages of the documentation, which the wheel carries."""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Any

from accord.apps.console.errors import InvalidUsage
from accord.cli.commands import COMMANDS, TALK, Subcommand, help_page
from accord.cli.markdown_text import render_page, sections
from accord.cli.parser import new_parser
from accord.errors import AccordError

TOPICS: dict[str, dict[str, str]] = {
    "Programs": {
        "run": "run.md",
        "screen": "screen.md",
        "coder": "coder.md",
        "models": "models.md",
        "settings": "settings.md",
        "remote": "remote.md",
        "deployment": "deployment.md",
        "security": "security.md",
        "troubleshooting": "troubleshooting.md",
        "commands": "commands.md",
    },
    "Guide to the library": {
        "first-agent": "guide/first-agent.md",
        "first-client": "guide/first-client.md",
        "testing": "guide/testing.md",
        "adapters": "guide/adapters.md",
        "versions": "guide/versions.md",
        "migrating": "guide/migrating.md",
        "examples": "guide/examples.md",
    },
    "Parts of the library": {
        "api": "api.md",
        "agent-api": "agent.md",
        "client-api": "client.md",
        "permissions-api": "permissions.md",
        "testing-api": "testing.md",
        "workspace": "workspace.md",
        "store": "store.md",
        "mcp": "mcp.md",
        "session": "session.md",
        "dialects": "dialects.md",
        "losses": "losses.md",
        "peer": "peer.md",
        "transports": "transports.md",
        "jsonrpc": "jsonrpc.md",
        "wire": "wire.md",
        "errors": "errors.md",
        "glossary": "glossary.md",
    },
}
"""By group and name, the page."""

PAGES = {name: page for group in TOPICS.values() for name, page in group.items()}

_RELATED = {
    "": "screen",
    "sessions": "run",
    "agents": "run",
    "agent": "coder",
    "connect": "remote",
    "serve": "remote",
    "token": "remote",
    "config": "settings",
    "trust": "settings",
    "permissions": "coder",
    "completion": "commands",
}
"""By the name of a command, the topic that tells more, where it has another name."""

_PACKED = Path(__file__).parents[1] / "help"
_CHECKOUT = Path(__file__).parents[3] / "docs"
_WIDEST = 100


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "Shows the page of a TOPIC, or what a command takes and its page; with more words only the section that has them in "
        "its heading, or one of the examples. Without a TOPIC it lists the commands and all topics."
    )
    parser.add_argument("topic", metavar="TOPIC", nargs="*", help="a topic or a command, and words of a heading")
    parser.add_argument("--man", metavar="DIR", help="write the man pages of all commands into this directory")


def main(args: Mapping[str, Any]) -> int:
    if "man" in args:
        from accord.cli.man_pages import write_man_pages  # noqa: PLC0415  # only here

        for path in write_man_pages(args["man"]):
            sys.stdout.write(f"{path}\n")
        return 0
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    topic, *words = args.get("topic") or [""]
    if words:
        show(section_text(topic, words, width))
    else:
        show(topic_text(topic, width) if topic else overview())
    return 0


def overview() -> str:
    """The commands, and the topics with their titles."""
    lines = [help_page()]
    for group, pages in TOPICS.items():
        lines.append(f"{group}, with `accord help TOPIC`:")
        lines += [f"  {name:<17}{_title(read_page(name))}" for name in pages]
        lines.append("")
    return "\n".join(lines)


def topic_text(name: str, width: int) -> str:
    """What a command takes, and the page of the topic; InvalidUsage names the nearest."""
    command = COMMANDS.get(name)
    if command is None and name not in PAGES:
        if _is_agent(name):
            return _command_text(TALK)
        raise _unknown(f"no topic {name!r}", name, [*COMMANDS, *PAGES], "`accord help` lists them")
    parts = [] if command is None else [_command_text(command)]
    if name in PAGES:
        parts.append(render_page(read_page(name), width, _link_text))
    return "\n\n".join(parts)


def section_text(topic: str, words: list[str], width: int) -> str:
    """The sections of a page whose headings have all these words, or one of the examples."""
    name = topic if topic in PAGES else _RELATED.get(topic, topic)
    if name not in PAGES:
        raise _unknown(f"no topic {topic!r}", topic, [*COMMANDS, *PAGES], "`accord help` lists them")
    if name == "examples" and (program := _example(words[0])) is not None:
        return program.read_text(encoding="utf-8")
    known = sections(read_page(name))
    found = [text for title, text in known.items() if all(word.lower() in title.lower() for word in words)]
    if not found:
        headings, wanted = list(known)[1:], " ".join(words)
        problem = f"no section {wanted!r} in the page {name!r}"
        raise _unknown(problem, wanted, headings, f"It has: {'; '.join(headings)}")
    return "\n".join(render_page(text, width, _link_text) for text in found)


def show(text: str) -> None:
    """Print it, through the user's pager where it is longer than the terminal."""
    size = shutil.get_terminal_size()
    is_interactive = all(stream is not None and stream.isatty() for stream in (sys.__stdin__, sys.__stdout__))
    if is_interactive and text.count("\n") >= size.lines:
        from pydoc import pager  # noqa: PLC0415  # only here

        pager(text)
    else:
        sys.stdout.write(text)


def read_page(name: str) -> str:
    """The page in Markdown."""
    path = _find(PAGES[name], PAGES[name])
    if path is None:
        raise AccordError(f"the page {PAGES[name]} is missing: install accord again")
    return path.read_text(encoding="utf-8")


def _example(name: str) -> Path | None:
    return _find(f"examples/{name}", f"../examples/{name}") if PurePosixPath(name).name == name else None


def _find(packed: str, in_docs: str) -> Path | None:
    """In the package, or in the checkout that the package is used in."""
    return next((path for path in (_PACKED / packed, _CHECKOUT / in_docs) if path.is_file()), None)


def _command_text(command: Subcommand) -> str:
    text = new_parser(command).format_help()
    more = _RELATED.get(command.name)
    return f"{text}\n`accord help {more}` tells more.\n" if more else text


def _title(page: str) -> str:
    return page.partition("\n")[0].lstrip("# ")


def _link_text(text: str, target: str) -> str:
    """An address is written out, a page is named as a topic; what the wheel does not carry is not named."""
    if "://" in target:
        return text if text in target else f"{text} ({target})"
    page = PurePosixPath(target.partition("#")[0])
    topic = next((name for name, file in PAGES.items() if page.name and PurePosixPath(file).name == page.name), None)
    if topic is not None and page.name == "testing.md":
        topic = "testing" if page.parent.name == "guide" else "testing-api"
    return text if topic is None else f"{text} (`accord help {topic}`)"


def _is_agent(name: str) -> bool:
    from accord.apps.console.known_agents import known_agents  # noqa: PLC0415  # only here
    from accord.cli.environment import load_environment  # noqa: PLC0415

    return any(agent.name == name for agent in known_agents(load_environment(Path.cwd())))


def _unknown(problem: str, name: str, known: list[str], advice: str) -> InvalidUsage:
    by_lower = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), by_lower, n=1)
    hint = f"; did you mean {by_lower[close[0]]!r}?" if close else ""
    return InvalidUsage(f"there is {problem}{hint}", advice)
