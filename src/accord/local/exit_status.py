"""How a command of ours ended, as a word."""

from __future__ import annotations

import signal

from accord.session.entities import Exit

__all__ = ["exit_of"]


def exit_of(code: int | None) -> Exit:
    """AMB-65: a signal, which is a negative code, by its name, and then no code."""
    if code is None or code >= 0:
        return Exit(code=code)
    try:
        return Exit(signal=signal.Signals(-code).name)
    except ValueError:
        return Exit(signal=str(-code))
