"""Each setting as it is called in files, variables and on the command line."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Meta, Struct
from msgspec.structs import fields

from accord.apps.coder.settings.settings import OF_SCREEN, Settings

__all__ = ["Setting", "choices_of", "settings", "types_of", "without_bounds"]


class Setting(Struct, frozen=True, kw_only=True):
    """One of them; `kind` is one of text, list, number, switch and table."""

    name: str
    kind: str
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        return f"ACCORD_{self.name.upper()}"

    @property
    def is_of_screen(self) -> bool:
        """Whether its flag is one of `accord` itself, and none of `accord agent`."""
        return self.name in OF_SCREEN

    @property
    def flag(self) -> str | None:
        """Tables have none: they are written in a file."""
        return None if self.kind == "table" or self.name == "conversations" else f"--{self.name.replace('_', '-')}"


@cache
def settings() -> list[Setting]:
    """All of them, in the order of the documentation."""
    types = types_of(Settings)
    return [
        Setting(
            name=field.name,
            kind=_kind_of(types[field.name]),
            default=field.default if field.default is not NODEFAULT else field.default_factory(),
            meaning=_meaning_of(types[field.name]),
            choices=choices_of(types[field.name]),
        )
        for field in fields(Settings)
    ]


@cache
def types_of(struct: type[Struct]) -> dict[str, Any]:
    """The types of its fields, with their bounds."""
    return get_type_hints(struct, include_extras=True)


def without_bounds(kind: Any) -> Any:
    """A type without what is said about it, and without the None that means that it is left out."""
    if get_origin(kind) is Annotated:
        return without_bounds(get_args(kind)[0])
    others = [each for each in get_args(kind) if each is not type(None)]
    if type(None) in get_args(kind) and len(others) == 1:
        return without_bounds(others[0])
    return kind


def choices_of(kind: Any) -> tuple[str, ...]:
    """The only values that a type, or each item of a list, may have."""
    plain = without_bounds(kind)
    if get_origin(plain) is list:
        return choices_of(get_args(plain)[0])
    return get_args(plain) if get_origin(plain) is Literal else ()


def _kind_of(kind: Any) -> str:
    plain = without_bounds(kind)
    if plain is bool:
        return "switch"
    if plain in (int, float):
        return "number"
    return {list: "list", dict: "table"}.get(get_origin(plain), "text")


def _meaning_of(kind: Any) -> str:
    for each in (kind, *get_args(kind)):
        for meta in getattr(each, "__metadata__", ()):
            if isinstance(meta, Meta) and meta.description:
                return meta.description
    return ""
