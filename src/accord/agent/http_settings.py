"""How an agent is served over HTTP: the options of `agent.run(http=...)`, `accord agent --http` and `accord serve`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from accord.errors import AccordError
from accord.local.paths import expand_path

if TYPE_CHECKING:
    from argparse import ArgumentParser

_FLAGS = ("http", "tokens", "tls_cert", "tls_key", "behind_proxy", "hosts", "origins", "audit", "log_json", "status")


class HttpSettings(msgspec.Struct, kw_only=True, frozen=True):
    """Where and for whom a server listens."""

    address: str
    tokens: str | None = None
    """A file of `accord token`."""
    tls: tuple[str, str] | None = None
    """The files of the certificate and of its key."""
    behind_proxy: bool = False
    """Whether a proxy with TLS is in front of it."""
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    """Web pages that may connect, beside those of the server itself."""
    audit: str | None = None
    """The file of the audit log."""
    log_json: bool = False
    """Whether the log on stderr is a JSON object per line."""
    status: str | None = None
    """Where the status page and the metrics are, an address of loopback."""


def add_http_arguments(parser: ArgumentParser, address_help: str, condition: str = "") -> None:
    """Add the flags; `condition` begins the help of those that need the address."""
    parser.add_argument("--http", metavar="HOST:PORT", help=address_help)
    parser.add_argument("--tokens", metavar="FILE", help=f"{condition}clients need a token of this file (accord token)")
    parser.add_argument(
        "--tls-cert", metavar="FILE", help=f"{condition}the certificate, and those that signed it, as PEM"
    )
    parser.add_argument("--tls-key", metavar="FILE", help=f"{condition}the private key of the certificate, as PEM")
    parser.add_argument("--behind-proxy", action="store_true", help=f"{condition}a proxy with TLS is in front of it")
    parser.add_argument("--hosts", metavar="A,B", help=f"{condition}names that clients may call this server by")
    parser.add_argument(
        "--origins", metavar="A,B", help=f"{condition}web pages that may connect, such as https://editor.example.org"
    )
    parser.add_argument(
        "--audit", metavar="FILE", help=f"{condition}append who prompted and who allowed what to this file"
    )
    parser.add_argument("--log-json", action="store_true", help=f"{condition}log to stderr, a JSON object per line")
    parser.add_argument(
        "--status",
        metavar="HOST:PORT",
        help=f"{condition}show a status page and /metrics there; only on a loopback address, such as 127.0.0.1:9100",
    )


def http_arguments(arguments: Mapping[str, Any]) -> list[str]:
    """The names of those flags that were given."""
    return [name for name in _FLAGS if name in arguments]


def read_http_settings(arguments: Mapping[str, Any], default_address: str | None = None) -> HttpSettings:
    """The settings of flags that were given."""
    tls = [str(expand_path(arguments[name])) for name in ("tls_cert", "tls_key") if name in arguments]
    if len(tls) == 1:
        raise AccordError("TLS needs both --tls-cert and --tls-key")
    files = {name: str(expand_path(arguments[name])) for name in ("tokens", "audit") if name in arguments}
    return HttpSettings(
        address=arguments.get("http", default_address),
        tls=(tls[0], tls[1]) if tls else None,
        behind_proxy=arguments.get("behind_proxy", False),
        hosts=tuple(arguments["hosts"].split(",")) if "hosts" in arguments else (),
        origins=tuple(arguments["origins"].split(",")) if "origins" in arguments else (),
        log_json=arguments.get("log_json", False),
        status=arguments.get("status"),
        **files,
    )
