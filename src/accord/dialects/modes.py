"""The option that stands for the modes: in v2 there is nothing else, in v1 and the draft they are told beside it."""

from __future__ import annotations

from collections.abc import Iterable

from accord.session.entities import Option

__all__ = ["MODE", "current_mode", "is_mode_option", "mode_option"]

MODE = "mode"
"""The category of options that stand for the modes."""


def is_mode_option(option: Option) -> bool:
    """Whether an option stands for the modes."""
    return option.category == MODE and isinstance(option.value, str)


def mode_option(options: Iterable[Option]) -> Option | None:
    """The first option that stands for the modes."""
    return next(filter(is_mode_option, options), None)


def current_mode(options: Iterable[Option]) -> str | None:
    """The mode in force, if an option stands for the modes."""
    option = mode_option(options)
    return None if option is None else str(option.value)
