"""Removes or escapes terminal escape sequences and control characters in text from peers and programs.

The patterns are compiled when they are first used: few agents do, and all import this module.
"""

from __future__ import annotations

import re

SEQUENCES = (
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*(?:[@-~]|\\Z)"  # CSI: colours, cursor
    "|(?:\x1b\\]|\x9d)[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\\\|\x9c)"  # OSC: titles, links; they end in their line
    "|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x00-\x07\x0e-\x1f\x7f-\x9f]*(?:\x07|\x1b\\\\|\x9c)"  # DCS and similar
    "|\x1b[ -/]*(?:[0-~]|\\Z)"  # the short ones
)
"""Terminal escape sequences, including one that is cut off by the end of the text."""

_COLOURS = "(?:\x1b\\[|\x9b)[0-9;:]*m"
_CONTROLS = "[\x00-\x08\x0b-\x1f\x7f-\x9f]"


def strip_colours(text: str) -> str:
    """Remove colour sequences; other control characters stay."""
    return re.sub(_COLOURS, "", text)


def clean_output(text: str) -> str:
    """A program's output without sequences and control characters; of an overwritten line, the last version."""
    lines = re.sub(SEQUENCES, "", text).split("\n")
    return re.sub(_CONTROLS, "", "\n".join(map(_last_version, lines)))


def escape_controls(text: str) -> str:
    r"""Replace each control character except line ends and tabs by an escape such as `\x1b`."""
    return re.sub(_CONTROLS, lambda found: f"\\x{ord(found[0]):02x}", text)


def _last_version(line: str) -> str:
    """A progress bar overwrites its line again and again."""
    return next((version for version in reversed(line.split("\r")) if version.strip()), "")
