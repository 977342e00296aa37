"""The options and modes of sessions of v2, by which the mode option is made where an agent has only modes."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from msgspec.structs import replace

from accord.dialects.all_versions.options import MODE, is_mode_option
from accord.dialects.dialect import Dialect
from accord.session.entities import Modes, Option, OptionChoice


class SessionOptions:
    """The options and modes of one session."""

    __slots__ = ("modes", "options")

    def __init__(self) -> None:
        self.options: list[Option] = []
        self.modes: Modes | None = None

    @property
    def has_mode_option(self) -> bool:
        """Whether the mode can be sent."""
        return any(map(is_mode_option, self.with_mode_option()))

    def with_mode_option(self) -> list[Option]:
        """The options, with one for the modes if they have none and the id is free."""
        if self.modes is None or any(is_mode_option(option) or option.id == MODE for option in self.options):
            return self.options
        choices = [
            OptionChoice(value=mode.id, name=mode.name, description=mode.description, meta=mode.meta)
            for mode in self.modes.available
        ]
        option = Option(id=MODE, name="Mode", category=MODE, value=self.modes.current, choices=choices)
        return [*self.options, option]

    def set_mode(self, mode_id: str) -> None:
        if self.modes is not None:
            self.modes = replace(self.modes, current=mode_id)
        self.options = [replace(option, value=mode_id) if is_mode_option(option) else option for option in self.options]


class OptionsDialect(Dialect):
    """A dialect that tracks the options of each session."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.session_options: defaultdict[str, SessionOptions] = defaultdict(SessionOptions)

    def forget_session(self, session_id: str) -> None:
        self.session_options.pop(session_id, None)
