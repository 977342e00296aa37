"""The addresses of a host on the web, and whether they belong to the public internet.

Law: what is not known to be an address of the public internet is none. An address that carries another one, for a
translator or a tunnel, is judged by the one that it carries.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.request import getproxies, proxy_bypass

from msgspec import Struct

from accord.apps.coder.errors import ToolFailed

__all__ = ["ResolvedHost", "kind_of_address", "known_host", "resolve_host"]

_SECONDS = 10.0
_MOST = 8
_THIS_MACHINE, _PRIVATE = "this machine itself", "a private network"
_OF_IPV4 = [
    (IPv4Network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", _THIS_MACHINE),
        ("10.0.0.0/8", _PRIVATE),
        ("100.64.0.0/10", "a provider's own network"),
        ("127.0.0.0/8", _THIS_MACHINE),
        ("168.63.129.16/32", "a cloud machine's own services"),
        ("169.254.0.0/16", "the local link, where clouds have their machines' keys"),
        ("172.16.0.0/12", _PRIVATE),
        ("192.0.0.0/24", "a reserved range"),
        ("192.0.2.0/24", "a range for examples"),
        ("192.88.99.0/24", "a reserved range"),
        ("192.168.0.0/16", _PRIVATE),
        ("198.18.0.0/15", "a range for tests"),
        ("198.51.100.0/24", "a range for examples"),
        ("203.0.113.0/24", "a range for examples"),
        ("224.0.0.0/4", "a multicast group"),
        ("240.0.0.0/4", "a reserved range"),
    )
]
_OF_IPV6 = [
    (IPv6Network(network), kind)
    for network, kind in (
        ("::/127", _THIS_MACHINE),
        ("fc00::/7", _PRIVATE),
        ("fe80::/10", "the local link"),
        ("fec0::/10", _PRIVATE),
        ("ff00::/8", "a multicast group"),
        ("64:ff9b:1::/48", _PRIVATE),
        ("2001::/23", "a reserved range"),  # with Teredo, which carries an address that nobody answers for
        ("2001:db8::/32", "a range for examples"),
        ("3fff::/20", "a range for examples"),
    )
]
_PUBLIC = IPv6Network("2000::/3")
# Networks whose addresses carry one of IPv4, and how many bits stand behind it: as a whole (mapped, compatible,
# translated), for a translator (NAT64), for a tunnel (6to4).
_CARRIERS = [
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("::/96"), 0),
    (IPv6Network("::ffff:0:0:0/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
]


class ResolvedHost(Struct, frozen=True):
    """A host as it was looked up once: what is connected to are these addresses, and no others.

    A proxy is given the host, and looks it up itself; there are addresses then only if the host is one.
    """

    host: str
    addresses: tuple[str, ...] = ()
    proxy: str | None = None

    @property
    def danger(self) -> str | None:
        """Why the user should think twice, in words for them."""
        kinds = [(each, kind_of_address(each)) for each in self.addresses]
        address, kind = next((found for found in kinds if found[1] is not None), ("", None))
        if self.proxy is not None:
            return (
                f"This goes through the proxy `{_without_password(self.proxy)}`, which looks the host up itself: "
                "where it leads can't be checked here, so you are asked each time."
            ) + ("" if kind is None else f" Seen from here, `{self.host}` is {kind}.")
        if kind is None:
            return None
        return (
            f"Careful: `{self.host}` leads to `{address}`, which is {kind}. What answers there is not public, "
            "so you are asked each time."
        )


def known_host(scheme: str, host: str, port: int | None) -> ResolvedHost | None:
    """What is known of a host without asking anybody about it: numbers, this machine's own name, that a proxy is used."""
    proxy = _proxy_for(scheme, host, port)
    try:
        flags = 0 if host.lower().rstrip(".") == "localhost" else socket.AI_NUMERICHOST
        return ResolvedHost(host, _look_up(host, flags), proxy)
    except (OSError, UnicodeError):
        return None if proxy is None else ResolvedHost(host, proxy=proxy)


async def resolve_host(host: str) -> ResolvedHost:
    """Ask the network for the host, which tells its owner that somebody wants it; ToolFailed when it has no address."""
    try:
        async with asyncio.timeout(_SECONDS):
            # Not `in_thread`: nothing is overtaken by a name that is looked up for nobody.
            found = await asyncio.to_thread(_look_up, host)
    except TimeoutError:
        raise ToolFailed(f"{host} can't be looked up: no answer within {_SECONDS:g} seconds") from None
    except (OSError, UnicodeError) as error:
        raise ToolFailed(f"{host} can't be looked up: {getattr(error, 'strerror', None) or error}") from None
    if not found:
        raise ToolFailed(f"{host} has no address")
    return ResolvedHost(host, found)


def kind_of_address(address: str) -> str | None:
    """What an address belongs to, if not to the public internet."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return "no address that could be judged"
    kind = _kind_of_ipv4(parsed) if isinstance(parsed, IPv4Address) else _kind_of_ipv6(parsed)
    return kind or (_THIS_MACHINE if _is_own(address) else None)


def _kind_of_ipv4(address: IPv4Address) -> str | None:
    return next((kind for network, kind in _OF_IPV4 if address in network), None)


def _kind_of_ipv6(address: IPv6Address) -> str | None:
    for network, kind in _OF_IPV6:
        if address in network:
            return kind
    for network, behind in _CARRIERS:
        if address in network:
            return _kind_of_ipv4(IPv4Address(int(address) >> behind & 0xFFFFFFFF))
    return None if address in _PUBLIC else "a reserved range"


def _is_own(address: str) -> bool:
    """Whether this machine has it: what listens there may be closed to everybody else. Nothing is sent."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            return probe.getsockname()[0] == address
    except OSError:
        return False


def _look_up(host: str, flags: int = 0) -> tuple[str, ...]:
    """As the system does it for everybody, with all the spellings of numbers that it knows."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    return tuple(dict.fromkeys(str(place[0]) for *_, place in found))[:_MOST]


def _proxy_for(scheme: str, host: str, port: int | None) -> str | None:
    """The proxy that the user's environment names for it."""
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    if not proxy or proxy_bypass(host if port is None else f"{host}:{port}"):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
