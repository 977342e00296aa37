"""`accord agent`: the coding agent as a program that an editor starts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord.apps.coder.settings.precedence import LoadedSettings, load_settings
from accord.errors import AccordError
from accord.local.paths import expand_path

if TYPE_CHECKING:
    from argparse import ArgumentParser

_HTTP = ("http", "tokens", "tls_cert", "tls_key", "behind_proxy", "hosts", "audit")
_NOT_SETTINGS = ("config", "framing", *_HTTP)


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
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="serve HTTP and WebSocket on this address instead of stdin and stdout; other machines need --tokens and TLS",
    )
    parser.add_argument(
        "--tokens", metavar="FILE", help="with --http: clients need a token of this file (accord token)"
    )
    parser.add_argument(
        "--tls-cert", metavar="FILE", help="with --http: the certificate, and those that signed it, as PEM"
    )
    parser.add_argument("--tls-key", metavar="FILE", help="with --http: the private key of the certificate, as PEM")
    parser.add_argument("--behind-proxy", action="store_true", help="with --http: a proxy with TLS is in front of it")
    parser.add_argument("--hosts", metavar="A,B", help="with --http: names that clients may call this server by")
    parser.add_argument(
        "--audit", metavar="FILE", help="with --http: append who prompted and who allowed what to this file"
    )


def main(arguments: Mapping[str, Any]) -> int:
    flags = {name: value for name, value in arguments.items() if name not in _NOT_SETTINGS}
    config = expand_path(arguments["config"]) if "config" in arguments else None
    loaded = load_settings(Path.cwd(), flags, config=config)
    given = [name for name in _HTTP if name in arguments]
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
    from accord.agent.asgi import HttpSettings  # noqa: PLC0415  # only servers need it
    from accord.apps.coder.coder import build  # noqa: PLC0415  # as in `main`

    tls = [str(expand_path(arguments[name])) for name in ("tls_cert", "tls_key") if name in arguments]
    if len(tls) == 1:
        raise AccordError("TLS needs both --tls-cert and --tls-key")
    files = {name: str(expand_path(arguments[name])) for name in ("tokens", "audit") if name in arguments}
    settings = HttpSettings(
        address=arguments["http"],
        tls=(tls[0], tls[1]) if tls else None,
        behind_proxy=arguments.get("behind_proxy", False),
        hosts=tuple(arguments["hosts"].split(",")) if "hosts" in arguments else (),
        **files,
    )
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
