"""Addresses and their secrets: which ones are taken at all, and texts without what is secret in them.

Law: what is shown, sent or kept goes through here. An address that could be read in two ways is refused where it is set, so
that no part of a password can pass for something else, and no refusal quotes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote, unquote_plus, urlsplit

from accord.local.text import told_apart

__all__ = ["HIDDEN", "fault_of_address", "redacted"]

HIDDEN = "********"

_SHORT = 4  # letters; what is shorter is in many words
_UNSAFE = re.compile(r"""[\x00-\x20\x7f"<>\\^`{|}]""")
_ENCODE = "percent-encode what is special in its name, password or path, such as %2F for a slash"
# Each stops at what begins the next one, so that a text is looked through once.
_NAME_AND_PASSWORD = re.compile(r"(?<=//)[^/?#]*@")
_NO_PORT = re.compile(r"(?<=//)[^/?#@:\[]*:(?!\d*(?:[/?#]|$))")
_QUERY_VALUE = re.compile(r"(?<=[?&])([^?=&#]*=)[^?&#]+")
_PATH_VALUE = re.compile(r"(;[^;/?#&=]*=)[^;?#&]+")
_CLOSING = "\"'`<>)]},.;:"  # what may follow an address in a sentence, or in a piece of code
_WORD = re.compile(r"\S+")


def fault_of_address(url: str) -> str | None:
    """Why this is no address of a server, in words that quote nothing of it; None if it is one."""
    if not re.match(r"https?://[^/?#]", url):
        return "it has to begin with http:// or https:// and a host"
    if _UNSAFE.search(url) or any(
        letter > "\x7f" and not (is_seen and letter.isalnum()) for letter, is_seen in told_apart(url)
    ):
        return f"it has a blank, a quote or another character that no address can have; {_ENCODE}"
    if "#" in url:
        return "it has a '#', and what follows that is never sent; leave it out, or write %23"
    if re.search(r"//.*?[/?].*@", url):  # or before it: what is left of the '@' may be a password with a slash in it
        return f"it has an '@' after its host; write %40, or {_ENCODE}"
    try:
        parts = urlsplit(url)
        if not parts.hostname or parts.port == 0:
            return "it has no host, or a port that is none"
    except ValueError:  # a password with a slash in it looks like a port
        return f"its host or port can't be read; {_ENCODE}"
    return None


def redacted(text: str, url: str | None = None) -> str:
    """The text, without the names, passwords, values and fragments of the addresses in it.

    What is secret in `url` is left out wherever it stands, also without the address around it.
    """
    for secret in () if url is None else _secrets_of(url):
        text = text.replace(secret, HIDDEN)
    return _WORD.sub(_without_secrets, text) if "//" in text else text


def _without_secrets(found: re.Match[str]) -> str:
    before, slashes, rest = found[0].partition("//")
    if not slashes:
        return before
    address = rest.rstrip(_CLOSING)
    closing = rest[len(address) :]
    address = _NAME_AND_PASSWORD.sub(f"{HIDDEN}@", _without_odd_password(f"//{address}"))
    address = _PATH_VALUE.sub(rf"\1{HIDDEN}", _QUERY_VALUE.sub(rf"\1{HIDDEN}", address))
    address, mark, fragment = address.partition("#")
    return before + address + (f"#{HIDDEN}" if fragment else mark) + closing


def _without_odd_password(address: str) -> str:
    """What follows a host's colon is a port. If it is none, it is a password, which may have a slash in it."""
    secret, at, rest = address.rpartition("@")
    begin = _NO_PORT.search(secret) if at else None
    return address if begin is None else f"{secret[: begin.start()]}{HIDDEN}@{rest}"


def _secrets_of(url: str) -> Iterator[str]:
    """The longest first, so that none is left in part."""
    authority = re.split(r"[/?#]", url.partition("//")[2], maxsplit=1)[0]
    user, _, password = authority.rpartition("@")[0].partition(":")
    query = url.partition("?")[2].partition("#")[0]
    values = [found.partition("=")[2] for found in [*query.split("&"), *re.findall(r";[^;/?#&=]*=[^;?#&]+", url)]]
    known = {user, password, *values, url.partition("#")[2]}
    known |= {unquote(secret) for secret in known} | {unquote_plus(secret) for secret in known}
    yield from sorted((secret for secret in known if len(secret) >= _SHORT), key=len, reverse=True)
