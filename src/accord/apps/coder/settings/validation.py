"""What was written becomes a value of the right kind, or an error that names the place and the remedy.

No message quotes a value that may be secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, cast, get_args, get_origin

import msgspec

from accord.apps.coder.errors import InvalidSettings
from accord.apps.coder.settings.descriptions import choices_of, types_of, without_bounds
from accord.apps.coder.settings.settings import BUILT_IN, RESERVED, Settings
from accord.local.redaction import url_error

__all__ = ["SettingSource", "parse_setting", "suggestion", "validate"]


class SettingSource(Protocol):
    """Whoever can say where a key was written."""

    def where(self, path: tuple[str, ...]) -> str:
        """Its place, for a message."""
        ...


def validate(table: Mapping[str, Any], place: SettingSource) -> dict[str, Any]:
    """The settings in a table, each of its own type."""
    return _fields((), Settings, table, place)


def parse_setting(name: str, text: str, place: SettingSource) -> Any:
    """A setting written as one text: a list with commas, a table as JSON, everything else as it stands."""
    kind = types_of(Settings)[name]
    value: Any = text
    outer = get_origin(without_bounds(kind))
    if outer is list:
        value = [part.strip() for part in text.split(",") if part.strip()]
    elif outer is dict:
        try:
            value = msgspec.json.decode(text)
        except msgspec.DecodeError:
            raise InvalidSettings(place.where((name,)), 'expects a table as JSON, such as {"name": "value"}') from None
    return _value((name,), kind, value, place, is_text=True)


def suggestion(word: str, known: Iterable[str]) -> str:
    """What to add to a message about a word that is not known."""
    from difflib import get_close_matches  # noqa: PLC0415  # only for messages

    close = get_close_matches(word, list(known), n=2, cutoff=0.75)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def _value(path: tuple[str, ...], kind: Any, value: Any, place: SettingSource, *, is_text: bool = False) -> Any:
    plain = without_bounds(kind)
    if get_origin(plain) is dict:
        of_entry = get_args(plain)[1]
        result: Any = {
            key: _value((*path, key), of_entry, entry, place) for key, entry in _table(path, value, place).items()
        }
    elif isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        made = _fields(path, plain, _table(path, value, place), place)
        missing = [field.name for field in msgspec.structs.fields(plain) if field.required and field.name not in made]
        if missing:
            raise InvalidSettings(place.where(path), f"needs {missing[0]!r}")
        result = plain(**made)
    else:
        try:
            result = msgspec.convert(value, kind, strict=not is_text)
        except msgspec.ValidationError as error:
            raise InvalidSettings(place.where(path), _reason(error, plain, value)) from None
    problem = _problem(path, result)
    if problem:
        raise InvalidSettings(place.where(path), problem)
    return result


def _fields(path: tuple[str, ...], struct: type[msgspec.Struct], table: Mapping[str, Any], place: SettingSource) -> Any:
    types = types_of(struct)
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in types:
            advice = suggestion(key, types) or f"; known are {', '.join(types)}"
            raise InvalidSettings(place.where((*path, key)), f"there is no such setting{advice}")
        values[key] = _value((*path, key), types[key], value, place)
    return values


def _table(path: tuple[str, ...], value: Any, place: SettingSource) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidSettings(place.where(path), "expects a table")
    return cast("dict[str, Any]", value)


_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}


def _reason(error: msgspec.ValidationError, kind: Any, value: Any) -> str:
    choices = choices_of(kind)
    if choices and "enum" in str(error):
        written = cast("list[Any]", value) if isinstance(value, list) else [value]
        wrong = next((str(each) for each in written if each not in choices), "")
        return f"expects one of {', '.join(choices)}{suggestion(wrong, choices)}"
    text = re.sub(r" - at `\$.*", "", str(error)).replace(" | null", "")
    text = re.sub(r"`([a-z]+)`", lambda match: _WORDS.get(match[1], match[1]), text)
    return text.replace("Expected", "expects").replace(", got", ", not")


def _problem(path: tuple[str, ...], value: Any) -> str | None:
    """What the types can't say."""
    match path:
        case ("model",):
            return _model_problem(value)
        case ("models",):
            return next((problem for each in value if (problem := _model_problem(each))), None)
        case ("base_urls", _) | ("servers", _, "url") if value is not None and (fault := url_error(value)):
            return f"expects an address, such as https://host/v1: {fault}"
        case ("environment", name) | (_, _, "env", name) if not name or "=" in name or "\0" in name:
            return "is no name for a variable"
        case ("servers", _):
            return _server_problem(value)
        case ("agents", name) if name in RESERVED:
            return f"`accord {name}` is a command, so no agent can have this name; choose another"
        case ("agents", name) if name == BUILT_IN:
            return "is what the built-in agent is called; choose another name"
        case ("agents", name) if not re.fullmatch(r"[^\s/\\-][^\s/\\]*", name) or not name.isprintable():
            return (
                "is no name for an agent: it has no blanks, slashes or signs that can't be seen, and no hyphen in front"
            )
        case (_, _, "command") if not value:
            return "is empty"
        case _:
            return None


def _model_problem(name: str) -> str | None:
    if name == "offline" or re.fullmatch(r"[^:\s]+:\S.*", name):
        return None
    return f"{name!r} names no model: expects 'provider:name', 'local:FILE.gguf' or 'offline'"


def _server_problem(server: Any) -> str | None:
    if (server.command is None) == (server.url is None):
        return "needs either 'command' (a program to start) or 'url' (where a server runs)"
    if server.type is not None and (server.type == "stdio") != (server.url is None):
        return "has a 'type' that does not fit: stdio goes with 'command', http and sse with 'url'"
    return None
