"""The modes of a session: how much the model may do before the user is asked."""

from __future__ import annotations

__all__ = ["MODES"]

MODES: dict[str, tuple[str, str]] = {
    "ask": ("Ask", "Asks before each change and each command"),
    "architect": ("Architect", "Reads and plans; changes nothing"),
    "code": ("Code", "Edits files without asking; asks before commands"),
}
"""The name of each, and what it means."""
