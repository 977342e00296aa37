"""`accord token`: makes, lists and revokes the bearer tokens of a server's users."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from accord.errors import AccordError
from accord.local.paths import expand_path
from accord.local.text import printable
from accord.local.token_file import TokenFile, TokenRecord

if TYPE_CHECKING:
    from argparse import ArgumentParser

_DAY = 24 * 60 * 60
_MOST_DAYS = 36_500


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "Makes, lists and revokes the tokens that clients need for an agent over the network. The file has only hashes of "
        "them: a token is shown once, when it is made. A server sees changes at once, and ends the connections of a "
        "revoked token."
    )
    parser.add_argument("action", metavar="ACTION", choices=("create", "list", "revoke"), help="create, list or revoke")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the name of the token, such as that of a device")
    parser.add_argument("--file", metavar="FILE", help="the file with the tokens, as given to `accord agent --tokens`")
    parser.add_argument("--user", metavar="USER", help="whose token it is; sessions belong to users (default: NAME)")
    parser.add_argument("--days", metavar="N", help="how long it is valid (default: until it is revoked)")
    parser.add_argument("--json", action="store_true", help="list as JSON")


def main(arguments: Mapping[str, Any]) -> int:
    if "action" not in arguments or "file" not in arguments:
        raise AccordError(
            "expected `accord token create NAME --file FILE`, `list --file FILE` or `revoke NAME --file FILE`"
        )
    tokens = TokenFile(expand_path(arguments["file"]))
    try:
        if arguments["action"] == "list":
            _list(tokens, is_json=arguments.get("json", False))
        elif not arguments.get("name"):
            raise AccordError(f"which token? `accord token {arguments['action']} NAME --file FILE`")
        elif arguments["action"] == "create":
            _create(tokens, arguments)
        elif not tokens.revoke(arguments["name"]):
            raise AccordError(f"no token is named {printable(arguments['name'])!r}; `accord token list` shows them")
        else:
            sys.stdout.write("Revoked; its connections end.\n")
    except ValueError as error:
        raise AccordError(str(error)) from None
    return 0


def _create(tokens: TokenFile, arguments: Mapping[str, Any]) -> None:
    token = tokens.create(arguments["name"], arguments.get("user"), _seconds(arguments.get("days")))
    sys.stderr.write("This is the token. It can't be shown again:\n")
    sys.stderr.flush()
    sys.stdout.write(f"{token}\n")


def _seconds(days: str | None) -> float | None:
    if days is None:
        return None
    try:
        number = float(days)
    except ValueError:
        number = 0.0
    if not 0 < number <= _MOST_DAYS:
        raise AccordError(f"invalid number of days {days!r}: expected one up to {_MOST_DAYS}")
    return number * _DAY


def _list(tokens: TokenFile, *, is_json: bool) -> None:
    found = tokens.list()
    if is_json:
        facts = [_facts(each) for each in found]
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(facts)).decode() + "\n")
    else:
        sys.stdout.write(_as_text(found, tokens.path))


def _facts(record: TokenRecord) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(record).items() if name != "hash"}


def _as_text(found: list[TokenRecord], path: Path) -> str:
    if not found:
        return f"There are no tokens in {printable(str(path))}.\n"
    rows = [("NAME", "USER", "EXPIRES"), *((each.name, each.user, each.expiry) for each in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    lines = [f"{name:<{widths[0]}}  {user:<{widths[1]}}  {expiry}" for name, user, expiry in rows]
    return "\n".join([*map(printable, lines), ""])
