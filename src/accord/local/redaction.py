"""URLs of servers: which ones are valid, and removing their secrets from text.

Law: text that is displayed, sent or stored goes through `redact`. A URL that could be read in two ways is refused where it is
set, so that no part of a password passes for something else. No refusal quotes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote, unquote_plus, urlsplit

from accord.local.text import character_visibility

HIDDEN = "********"

_SHORT = 4  # letters; shorter secrets occur in many words
_UNSAFE = re.compile(r"""[\x00-\x20\x7f"<>\\^`{|}]""")
_ENCODE = "percent-encode special characters in its user name, password or path, such as %2F for a slash"
# Each stops where the next one begins, so that a text is scanned once.
_NAME_AND_PASSWORD = re.compile(r"(?<=//)[^/?#]*@")
_NO_PORT = re.compile(r"(?<=//)[^/?#@:\[]*:(?!\d*(?:[/?#]|$))")
_QUERY_VALUE = re.compile(r"(?<=[?&])([^?=&#]*=)[^?&#]+")
_PATH_VALUE = re.compile(r"(;[^;/?#&=]*=)[^;?#&]+")
_CLOSING = "\"'`<>)]},.;:"  # may follow a URL in a sentence or in code
_WORD = re.compile(r"\S+")


def url_error(url: str) -> str | None:
    """Why this is not the URL of a server, without quoting it; None if it is one."""
    if not re.match(r"https?://[^/?#]", url):
        return "it must begin with http:// or https:// and a host"
    if _UNSAFE.search(url) or any(
        letter > "\x7f" and not (is_visible and letter.isalnum()) for letter, is_visible in character_visibility(url)
    ):
        return f"it has a space, a quote or another character that is not allowed in a URL; {_ENCODE}"
    if "#" in url:
        return "it has a '#', and what follows it is never sent; remove it, or write %23"
    if re.search(r"//.*?[/?].*@", url):  # what precedes the '@' may be a password with a slash in it
        return f"it has an '@' after the host; write %40, or {_ENCODE}"
    try:
        parts = urlsplit(url)
        if not parts.hostname or parts.port == 0:
            return "it has no host, or an invalid port"
    except ValueError:  # a password with a slash in it looks like a port
        return f"its host or port is invalid; {_ENCODE}"
    return None


def redact(text: str, url: str | None = None) -> str:
    """The text without the user names, passwords, query values and fragments of the URLs in it.

    The secrets of `url` are removed wherever they occur, also without the URL around them.
    """
    for secret in () if url is None else _secrets_of(url):
        text = text.replace(secret, HIDDEN)
    return _WORD.sub(_redact_url, text) if "//" in text else text


def _redact_url(match: re.Match[str]) -> str:
    before, slashes, rest = match[0].partition("//")
    if not slashes:
        return before
    address = rest.rstrip(_CLOSING)
    closing = rest[len(address) :]
    address = _NAME_AND_PASSWORD.sub(f"{HIDDEN}@", _redact_odd_password(f"//{address}"))
    address = _PATH_VALUE.sub(rf"\1{HIDDEN}", _QUERY_VALUE.sub(rf"\1{HIDDEN}", address))
    address, mark, fragment = address.partition("#")
    return before + address + (f"#{HIDDEN}" if fragment else mark) + closing


def _redact_odd_password(address: str) -> str:
    """A host's colon is followed by a port; anything else is a password, which may have a slash in it."""
    secret, at, rest = address.rpartition("@")
    begin = _NO_PORT.search(secret) if at else None
    return address if begin is None else f"{secret[: begin.start()]}{HIDDEN}@{rest}"


def _secrets_of(url: str) -> Iterator[str]:
    """The longest first, so that no part of one is left."""
    authority = re.split(r"[/?#]", url.partition("//")[2], maxsplit=1)[0]
    user, _, password = authority.rpartition("@")[0].partition(":")
    query = url.partition("?")[2].partition("#")[0]
    values = [found.partition("=")[2] for found in [*query.split("&"), *re.findall(r";[^;/?#&=]*=[^;?#&]+", url)]]
    known = {user, password, *values, url.partition("#")[2]}
    known |= {unquote(secret) for secret in known} | {unquote_plus(secret) for secret in known}
    yield from sorted((secret for secret in known if len(secret) >= _SHORT), key=len, reverse=True)
