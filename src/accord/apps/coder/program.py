"""`accord agent`: the coding agent as a program that an editor starts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord.agent.http_settings import add_http_arguments, http_arguments, read_http_settings
from accord.apps.coder.settings.precedence import LoadedSettings, load_settings
from accord.errors import AccordError
from accord.local.paths import expand_path

if TYPE_CHECKING:
    from argparse import ArgumentParser

_NOT_SETTINGS = ("config", "framing")


def add_arguments(parser: ArgumentParser) -> None:
    from argparse import BooleanOptionalAction  # noqa: PLC0415  # only needed to parse arguments

    from accord.apps.coder.settings.settings import describe_settings  # noqa: PLC0415  # as above

    parser.description = (
        "The built-in coding agent. An editor starts it and speaks the Agent Client Protocol with it over stdin and "
        "stdout. Every option below is also a setting; `accord config` shows the settings in force."
    )
    for setting in describe_settings():
        if setting.flag is None or setting.is_of_screen:
            continue
        default = "" if setting.default in (None, []) else f" (default: {setting.default})"
        meaning = setting.meaning.replace("`", "") + ("" if setting.kind == "switch" else default)
        if setting.kind == "switch":
            parser.add_argument(setting.flag, action=BooleanOptionalAction, help=meaning)
        elif setting.choices:
            parser.add_argument(setting.flag, choices=setting.choices, help=meaning)
        else:
            metavar = {"number": "N", "list": "A,B"}.get(setting.kind, setting.name.rpartition("_")[2].upper())
            parser.add_argument(setting.flag, metavar=metavar, help=meaning)
    parser.add_argument("--config", metavar="FILE", help="read this instead of the user's config.toml")
    parser.add_argument(
        "--framing",
        choices=("newline", "content-length"),
        help="how to write messages before the first one of the client (default: newline)",
    )
    add_http_arguments(
        parser,
        "serve HTTP and WebSocket on this address instead of stdin and stdout; other machines need --tokens and TLS",
        "with --http: ",
    )


def main(arguments: Mapping[str, Any]) -> int:
    given = http_arguments(arguments)
    flags = {name: value for name, value in arguments.items() if name not in (*_NOT_SETTINGS, *given)}
    config = expand_path(arguments["config"]) if "config" in arguments else None
    loaded = load_settings(Path.cwd(), flags, config=config)
    if "http" in given:
        return _serve_http(loaded, arguments)
    if given:
        raise AccordError(f"--{given[0].replace('_', '-')} is for --http HOST:PORT")
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(_explanation(loaded))
        return 0
    from accord.apps.coder.coder import build  # noqa: PLC0415  # the explanation does not need it

    build(loaded).run(arguments.get("framing"))
    return 0


def _serve_http(loaded: LoadedSettings, arguments: Mapping[str, Any]) -> int:
    from accord.apps.coder.coder import build  # noqa: PLC0415  # as in `main`

    settings = read_http_settings(arguments)
    try:
        build(loaded).run_http(settings)
    except (ValueError, OSError, ImportError) as error:
        sys.stderr.write(f"accord agent: {error}\n")
        return 1
    return 0


def _explanation(loaded: LoadedSettings) -> str:
    import shlex  # noqa: PLC0415  # only here

    from accord.local.text import printable  # noqa: PLC0415  # as above

    program = Path(sys.argv[0])
    own = [sys.executable, "-P", "-m", "accord"] if program.name == "__main__.py" else [str(program.absolute())]
    notices = "".join(f"{printable(notice)}\n" for notice in loaded.notices)
    return (
        "This is an agent: an editor starts it and speaks the Agent Client Protocol with it over stdin and stdout.\n"
        "There is nothing to type here. Configure your editor to run this command:\n\n"
        f"    {shlex.join([*own, 'agent', *sys.argv[2:]])}\n\n"
        f"Its model is {loaded.settings.model}, its mode {loaded.settings.mode}; `accord config` shows all settings.\n"
        f"{notices}"
    )
