"""What people write or paste where a path could stand, and what is none."""

from __future__ import annotations

ODD_NAMES = [
    "~~struck~~",
    "~5 minutes",
    "~nobody-of-this-name",
    "~nobody-of-this-name/notes.md",
    "~nobody\0/notes.md",
    "~\ud800/notes.md",
    "/tmp\0/notes.md",
    "/\ud800",
    "/" + "x" * 256,
    "/command " + "with many words " * 20,
    "~/" + "x" * 256,
    "/x" * 2000,
]
