"""The IP addresses of a web host, and whether they belong to the public internet.

Law: an address that is not known to be on the public internet is not. An address that embeds another one, for a
translator or a tunnel, is judged by the embedded one.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.request import getproxies, proxy_bypass

from msgspec import Struct

from accord.apps.coder.errors import ToolFailed

_TIMEOUT = 10.0
_MAX_ADDRESSES = 8
_THIS_MACHINE, _PRIVATE = "this machine itself", "a private network"
_RESERVED, _EXAMPLES, _MULTICAST = "a reserved range", "a range for examples", "a multicast group"
_IPV4_RANGES = [
    (IPv4Network(network), kind)
    for kind, networks in {
        _THIS_MACHINE: "0.0.0.0/8 127.0.0.0/8",
        _PRIVATE: "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16",
        "a provider's own network": "100.64.0.0/10",
        "a cloud machine's own services": "168.63.129.16/32",
        "the local link, where clouds have their machines' keys": "169.254.0.0/16",
        _RESERVED: "192.0.0.0/24 192.88.99.0/24 240.0.0.0/4",
        _EXAMPLES: "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24",
        "a range for tests": "198.18.0.0/15",
        _MULTICAST: "224.0.0.0/4",
    }.items()
    for network in networks.split()
]
_IPV6_RANGES = [
    (IPv6Network(network), kind)
    for kind, networks in {
        _THIS_MACHINE: "::/127",
        _PRIVATE: "fc00::/7 fec0::/10 64:ff9b:1::/48",
        "the local link": "fe80::/10",
        _MULTICAST: "ff00::/8",
        _RESERVED: "2001::/23",  # includes Teredo, whose embedded address proves nothing
        _EXAMPLES: "2001:db8::/32 3fff::/20",
    }.items()
    for network in networks.split()
]
_PUBLIC = IPv6Network("2000::/3")
# Networks whose addresses embed an IPv4 address, and how many bits follow it: mapped, compatible, translated, NAT64, 6to4.
_EMBEDDING_RANGES = [
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("::/96"), 0),
    (IPv6Network("::ffff:0:0:0/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
]


class ResolvedHost(Struct, frozen=True):
    """A host that was resolved once: only these addresses are connected to.

    A proxy resolves the host itself; then there are addresses only if the host is one.
    """

    host: str
    addresses: tuple[str, ...] = ()
    proxy: str | None = None

    @property
    def danger(self) -> str | None:
        """Why the user should be careful, in words for the user."""
        address, kind = next(
            ((each, kind) for each in self.addresses if (kind := kind_of_address(each)) is not None), ("", None)
        )
        if self.proxy is not None:
            proxy = f"This goes through the proxy `{_without_password(self.proxy)}`, which looks the host up itself"
            note = f" Seen from here, `{self.host}` is {kind}." if kind else ""
            return f"{proxy}: where it leads can't be checked here, so you are asked each time.{note}"
        if kind is None:
            return None
        return (
            f"Careful: `{self.host}` leads to `{address}`, which is {kind}. It is not a public server, so you are asked "
            "each time."
        )


def known_host(scheme: str, host: str, port: int | None) -> ResolvedHost | None:
    """What is known about a host without a DNS query: numeric addresses, localhost, that a proxy is used."""
    proxy = _proxy_for(scheme, host, port)
    try:
        flags = 0 if host.lower().rstrip(".") == "localhost" else socket.AI_NUMERICHOST
        return ResolvedHost(host, _look_up(host, flags), proxy)
    except (OSError, UnicodeError):
        return None if proxy is None else ResolvedHost(host, proxy=proxy)


async def resolve_host(host: str) -> ResolvedHost:
    """Query DNS for the host, which its owner may notice; ToolFailed if it has no address."""
    try:
        async with asyncio.timeout(_TIMEOUT):
            # Not `in_thread`: a query that nobody waits for does no harm.
            addresses = await asyncio.to_thread(_look_up, host)
    except TimeoutError:
        raise ToolFailed(f"{host} can't be resolved: timed out after {_TIMEOUT:g} s") from None
    except (OSError, UnicodeError) as error:
        raise ToolFailed(f"{host} can't be resolved: {getattr(error, 'strerror', None) or error}") from None
    if not addresses:
        raise ToolFailed(f"{host} has no address")
    return ResolvedHost(host, addresses)


def kind_of_address(address: str) -> str | None:
    """What an address belongs to; None if it is on the public internet."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return "an invalid address"
    kind = _kind_of_ipv4(parsed) if isinstance(parsed, IPv4Address) else _kind_of_ipv6(parsed)
    return kind or (_THIS_MACHINE if _is_own(address) else None)


def _kind_of_ipv4(address: IPv4Address) -> str | None:
    return next((kind for network, kind in _IPV4_RANGES if address in network), None)


def _kind_of_ipv6(address: IPv6Address) -> str | None:
    for network, kind in _IPV6_RANGES:
        if address in network:
            return kind
    for network, bits in _EMBEDDING_RANGES:
        if address in network:
            return _kind_of_ipv4(IPv4Address(int(address) >> bits & 0xFFFFFFFF))
    return None if address in _PUBLIC else _RESERVED


def _is_own(address: str) -> bool:
    """Whether it is an address of this machine, where services may listen for local users only. Nothing is sent."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            return probe.getsockname()[0] == address
    except OSError:
        return False


def _look_up(host: str, flags: int = 0) -> tuple[str, ...]:
    """The system's own resolver, which knows all spellings of numeric addresses."""
    results = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in results))[:_MAX_ADDRESSES]


def _proxy_for(scheme: str, host: str, port: int | None) -> str | None:
    """The proxy that the user's environment sets for it."""
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    if not proxy or proxy_bypass(host if port is None else f"{host}:{port}"):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
