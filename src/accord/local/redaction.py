"""Texts without the secrets that addresses carry: what is shown, sent or kept goes through here."""

from __future__ import annotations

import re

__all__ = ["HIDDEN", "redacted"]

HIDDEN = "********"

# Each stops at what begins the next one, so that a text is looked through once.
_NAME_AND_PASSWORD = re.compile(r"""(?<=//)[^/?#\s<>"`]*@""")
_QUERY_VALUE = re.compile(r"(?<=[?&])([^?=&#\s]*=)[^?&#\s]+")


def redacted(text: str) -> str:
    """The text, without the names, passwords and query values of the addresses in it."""
    return _QUERY_VALUE.sub(rf"\1{HIDDEN}", _NAME_AND_PASSWORD.sub(f"{HIDDEN}@", text))
