"""What a client of v2 has been offered to choose from: needed because v2 has modes only as an option, told with all others."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from accord.dialects.dialect import Dialect
from accord.dialects.options import MODE, is_mode_option
from accord.session.entities import Choice, Modes, Option

__all__ = ["Offered", "OfferingDialect"]


class Offered:
    """One session's part of it."""

    __slots__ = ("modes", "options")

    def __init__(self) -> None:
        self.options: list[Option] = []
        self.modes: Modes | None = None

    @property
    def has_mode_option(self) -> bool:
        """Whether a mode can be told."""
        return any(map(is_mode_option, self.complete()))

    def complete(self) -> list[Option]:
        """The options, with one for the modes if none of them is, and the id is free."""
        if self.modes is None or any(is_mode_option(option) or option.id == MODE for option in self.options):
            return self.options
        choices = [
            Choice(value=mode.id, name=mode.name, description=mode.description, meta=mode.meta)
            for mode in self.modes.available
        ]
        made = Option(id=MODE, name="Mode", category=MODE, value=self.modes.current, choices=choices)
        return [*self.options, made]

    def put_mode(self, mode_id: str) -> None:
        """Put a mode in force."""
        if self.modes is not None:
            self.modes = replace(self.modes, current=mode_id)
        self.options = [replace(option, value=mode_id) if is_mode_option(option) else option for option in self.options]


class OfferingDialect(Dialect):
    """A dialect that remembers what it offered."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._offered: dict[str, Offered] = {}

    def offered(self, session_id: str) -> Offered:
        """What the client can choose from in a session."""
        offered = self._offered.get(session_id)
        if offered is None:
            offered = self._offered[session_id] = Offered()
        return offered

    def forget_session(self, session_id: str) -> None:
        self._offered.pop(session_id, None)
