"""`accord connect URL`: an agent of another machine, as a program that an editor starts."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from accord.errors import AccordError, ConnectionClosed
from accord.local.files import read_file
from accord.local.paths import expand_path
from accord.local.text import printable
from accord.peer.event_loop import run
from accord.relay.relay import Relay
from accord.transports.remote import RemoteTransport
from accord.transports.stdio import StdioTransport

if TYPE_CHECKING:
    from argparse import ArgumentParser

TOKEN_VARIABLE = "ACCORD_TOKEN"  # noqa: S105  # its name
_TOKEN_SIZE = 4096  # bytes


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "Makes an agent of another machine a local one: an editor starts this and speaks the Agent Client Protocol with it "
        "over stdin and stdout. After a cut the connection is resumed. The token is never a word of the command, where other "
        f"users of this machine could see it: it is in a file, or in the variable {TOKEN_VARIABLE}."
    )
    parser.add_argument("url", metavar="URL", nargs="?", help="such as https://agents.example.org or wss://...")
    parser.add_argument("--token-file", metavar="FILE", help=f"has the token (default: the variable {TOKEN_VARIABLE})")
    parser.add_argument(
        "--profile", choices=("auto", "http", "websocket"), help="how to connect (default: WebSocket where offered)"
    )
    parser.add_argument(
        "--resume-seconds", metavar="N", help="how long to try to come back after a cut (default: 60; 0: not at all)"
    )


def main(arguments: Mapping[str, Any]) -> int:
    url = arguments.get("url")
    if url is None:
        raise AccordError("which agent? `accord connect URL`, such as `accord connect https://agents.example.org`")
    options: dict[str, Any] = {}
    if "profile" in arguments:
        options["profile"] = arguments["profile"]
    if "resume_seconds" in arguments:
        options["resume_seconds"] = _seconds(arguments["resume_seconds"])
    try:
        agent = RemoteTransport(url, headers=_headers(arguments), **options)
    except ValueError as error:
        raise AccordError(printable(str(error))) from None
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(
            "This connects an editor with an agent of another machine. There is nothing to type here: configure your\n"
            "editor to run this command. To talk to the agent yourself, run `accord -- accord connect URL`.\n"
        )
        return 0
    return run(_relay(agent, _without_query(url)))


async def _relay(agent: RemoteTransport, name: str) -> int:
    relay = Relay(StdioTransport(), agent)
    try:
        await relay.run()
    except ConnectionClosed as error:
        sys.stderr.write(f"accord connect: {printable(name)} can't be reached: {printable(error.reason)}\n")
        return 1
    except asyncio.CancelledError:
        return 130
    if relay.lost is not None:
        sys.stderr.write(
            f"accord connect: the connection to {printable(name)} is lost: {printable(relay.lost.reason)}\n"
        )
        return 1
    return 0


def _headers(arguments: Mapping[str, Any]) -> dict[str, str]:
    token = os.environ.get(TOKEN_VARIABLE, "")
    if "token_file" in arguments:
        path = expand_path(arguments["token_file"])
        try:
            token = read_file(path, _TOKEN_SIZE).decode()
        except (OSError, ValueError) as error:
            raise AccordError(f"the token in {path} can't be read: {error}") from None
    token = token.strip()
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise AccordError("the token is not one line of letters, digits and signs: was another file meant?")
    return {"authorization": f"Bearer {token}"} if token else {}


def _seconds(word: str) -> float:
    try:
        seconds = float(word)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise AccordError(f"--resume-seconds takes a number of seconds, not {printable(word)!r}")
    return seconds


def _without_query(url: str) -> str:
    return urlunsplit(urlsplit(url)._replace(query="", fragment=""))
