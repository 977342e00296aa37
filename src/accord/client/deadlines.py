"""How long a client waits, and for what."""

from __future__ import annotations

import msgspec


class Deadlines(msgspec.Struct, frozen=True, kw_only=True):
    """In seconds; None waits for ever. A turn may take hours, so it has no deadline unless it is given one.

    A turn that passes `turn`, or during which nothing comes for `silence` seconds while nobody on our side is being
    asked anything, is cancelled. A turn that is not over `cancel_grace` seconds after it was cancelled ends together
    with the connection and whatever process is behind it (FN-17).
    """

    handshake: float | None = 60.0
    request: float | None = 120.0
    login: float | None = 600.0
    turn: float | None = None
    silence: float | None = None
    cancel_grace: float | None = 30.0
