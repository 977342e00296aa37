"""Modes, which v1 and the draft tell beside the option that stands for them."""

from __future__ import annotations

from collections.abc import Iterable

from accord.dialects.absent import known, told
from accord.dialects.modes import mode_option
from accord.dialects.shown import ShowingDialect
from accord.schema import v1 as wire
from accord.schema.values import UNSET, UnsetType
from accord.session.entities import Mode, Modes, Option
from accord.session.requests import SessionOpened

__all__ = ["modes_from_wire", "modes_shown", "modes_to_wire"]


def modes_shown(dialect: ShowingDialect, session_id: str, answer: SessionOpened) -> Modes | None:
    """The modes to open a session with, made from the mode option if need be; they are kept in step from here on."""
    shown = dialect.shown(session_id)
    modes = answer.modes
    if answer.options is not UNSET:
        shown.options = answer.options
        modes = modes or _modes_of(answer.options)
    if modes is not None:
        shown.mode = modes.current
    return modes


def _modes_of(options: Iterable[Option]) -> Modes | None:
    option = mode_option(options)
    if option is None:
        return None
    available = [Mode(id=each.value, name=each.name, description=each.description) for each in option.choices]
    return Modes(current=str(option.value), available=available)


def modes_to_wire(modes: Modes | None) -> wire.SessionModeState | UnsetType:
    if modes is None:
        return UNSET
    available = [
        wire.SessionMode(id=mode.id, name=mode.name, description=told(mode.description), meta=told(mode.meta))
        for mode in modes.available
    ]
    return wire.SessionModeState(current_mode_id=modes.current, available_modes=available, meta=told(modes.meta))


def modes_from_wire(state: wire.SessionModeState | None | UnsetType) -> Modes | None:
    said = known(state)
    if said is None:
        return None
    available = [
        Mode(id=mode.id, name=mode.name, description=known(mode.description), meta=known(mode.meta))
        for mode in said.available_modes
    ]
    return Modes(current=said.current_mode_id, available=available, meta=known(said.meta))
