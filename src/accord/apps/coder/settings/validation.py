"""Validates settings: a value of the right type, or an error that says where it is written and what is expected.

Law: no message quotes a value that may be secret, and none is displayed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast, get_args, get_origin

import msgspec

from accord.apps.coder.errors import InvalidSettings
from accord.apps.coder.settings.settings import (
    BUILT_IN,
    KEY_ACTIONS,
    RESERVED,
    Settings,
    choices_of,
    types_of,
    without_bounds,
)
from accord.local.redaction import HIDDEN, redact, url_error
from accord.local.text import printable

_SECRET_NAME = re.compile(r"(?i)key|token|secret|password|credential|authorization")


SettingSource: TypeAlias = Callable[[tuple[str, ...]], str]
"""Where a file, variable or flag sets a key, for a message."""


def validate(table: Mapping[str, Any], source: SettingSource) -> dict[str, Any]:
    """The settings in a table, each converted to its type."""
    return _fields((), Settings, table, source)


def parse_setting(name: str, text: str, source: SettingSource) -> Any:
    """A setting written as text: a list with commas, a table as JSON."""
    kind = types_of(Settings)[name]
    value: Any = text
    outer = get_origin(without_bounds(kind))
    if outer is list:
        value = [part.strip() for part in text.split(",") if part.strip()]
    elif outer is dict:
        try:
            value = msgspec.json.decode(text)
        except msgspec.DecodeError:
            raise InvalidSettings(source((name,)), 'must be a table as JSON, such as {"name": "value"}') from None
    return _value((name,), kind, value, source, is_text=True)


def suggestion(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: similar words."""
    from difflib import get_close_matches  # noqa: PLC0415  # only for messages

    close = get_close_matches(word, list(known), n=2, cutoff=0.75)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def _value(path: tuple[str, ...], kind: Any, value: Any, source: SettingSource, *, is_text: bool = False) -> Any:
    plain = without_bounds(kind)
    if get_origin(plain) is dict:
        entry_type = get_args(plain)[1]
        result: Any = {
            key: _value((*path, key), entry_type, entry, source) for key, entry in _table(path, value, source).items()
        }
    elif isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        values = _fields(path, plain, _table(path, value, source), source)
        missing = [field.name for field in msgspec.structs.fields(plain) if field.required and field.name not in values]
        if missing:
            raise InvalidSettings(source(path), f"{missing[0]!r} is required")
        result = plain(**values)
    else:
        try:
            result = msgspec.convert(value, kind, strict=not is_text)
        except msgspec.ValidationError as error:
            raise InvalidSettings(source(path), _reason(error, plain, value)) from None
    problem = _problem(path, result)
    if problem:
        raise InvalidSettings(source(path), problem)
    return result


def _fields(
    path: tuple[str, ...], struct: type[msgspec.Struct], table: Mapping[str, Any], source: SettingSource
) -> Any:
    types = types_of(struct)
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in types:
            advice = suggestion(key, types) or f"; known settings are {', '.join(types)}"
            raise InvalidSettings(source((*path, key)), f"unknown setting{advice}")
        values[key] = _value((*path, key), types[key], value, source)
    return values


def _table(path: tuple[str, ...], value: Any, source: SettingSource) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidSettings(source(path), "must be a table")
    return cast("dict[str, Any]", value)


_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}


def _word(name: str) -> str:
    return _WORDS.get(name, name)


def _reason(error: msgspec.ValidationError, kind: Any, value: Any) -> str:
    choices = choices_of(kind)
    if choices and "enum" in str(error):
        values = cast("list[Any]", value) if isinstance(value, list) else [value]
        invalid = next((str(each) for each in values if each not in choices), "")
        return f"must be one of {', '.join(choices)}{suggestion(invalid, choices)}"
    text = re.sub(r" - at `\$.*", "", str(error)).replace(" | null", "")
    text = re.sub(r"`([a-z]+(?: \| [a-z]+)*)`", lambda match: " or ".join(map(_word, match[1].split(" | "))), text)
    return text.replace("Expected", "must be").replace(", got", ", not")


def _problem(path: tuple[str, ...], value: Any) -> str | None:
    """Rules that the types can't express."""
    match path:
        case ("model",):
            return _model_problem(value)
        case ("models",):
            return next((problem for each in value if (problem := _model_problem(each))), None)
        case ("base_urls", _) | ("servers", _, "url") if value is not None and (error := url_error(value)):
            return f"must be a URL, such as https://host/v1: {error}"
        case ("environment", name) | (_, _, "env", name) if not name or "=" in name or "\0" in name:
            return "invalid name of an environment variable"
        case ("servers", _):
            return _server_problem(value)
        case ("agents", name) if name in RESERVED:
            return f"`accord {name}` is a command; choose another name for the agent"
        case ("agents", name) if name == BUILT_IN:
            return "the built-in agent has this name; choose another"
        case ("agents", name) if not re.fullmatch(r"[^\s/\\-][^\s/\\]*", name) or not name.isprintable():
            return "invalid agent name: no white space, slashes or invisible characters, and no leading hyphen"
        case (_, _, "command") if not value:
            return "must not be empty"
        case ("keys", action):
            return _action_problem(action, [value] if isinstance(value, str) else value or [])
        case ("keys",):
            return _shared_key(value or {})
        case _:
            return None


def _model_problem(name: str) -> str | None:
    if name == "offline" or re.fullmatch(r"[^:\s]+:\S.*", name):
        return None
    return f"invalid model name {name!r}: must be 'provider:name', 'local:FILE.gguf' or 'offline'"


_KEY_NAMES = (
    *("enter", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown"),
    *("up", "down", "left", "right", *(f"f{number}" for number in range(1, 25))),
)
_MODIFIERS = ("alt", "ctrl", "shift", "super")
_SAME_KEYS = {"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+[": "escape"}


def normal_key(key: str) -> str:
    """A key as the screen names it: in small letters, with its modifiers in alphabetical order."""
    *modifiers, name = key.lower().replace(" ", "").split("+")
    return "+".join([*sorted(modifiers), name])


def _action_problem(action: str, keys: list[str]) -> str | None:
    if action not in KEY_ACTIONS:
        advice = suggestion(action, KEY_ACTIONS) or f"; known actions are {', '.join(KEY_ACTIONS)}"
        return f"unknown action{advice}"
    return next((problem for key in keys if (problem := _key_problem(normal_key(key)))), None)


def _key_problem(key: str) -> str | None:
    *modifiers, name = key.split("+")
    wrong = next((each for each in modifiers if each not in _MODIFIERS), None)
    if wrong is not None:
        return (
            f"unknown modifier {wrong!r} in {key!r}{suggestion(wrong, _MODIFIERS) or '; use alt, ctrl, shift or super'}"
        )
    if key in ("escape", "ctrl+c"):
        return f"{key!r} stops the agent and can't be given to another action; choose another key"
    if key in _SAME_KEYS:
        return f"terminals send {key!r} as {_SAME_KEYS[key]!r}; choose another key"
    is_character = len(name) == 1 and name.isascii() and name.isalnum()
    if not is_character and name not in _KEY_NAMES:
        return f"unknown key {name!r}{suggestion(name, _KEY_NAMES) or '; such as ctrl+x, alt+enter, f6 or pageup'}"
    if (is_character or name in ("space", "backspace")) and not {"alt", "ctrl", "super"} & set(modifiers):
        return f"{key!r} is needed to type text; add ctrl or alt, or use a function key"
    return None


def _shared_key(table: Mapping[str, str | list[str]]) -> str | None:
    owners: dict[str, str] = {}
    for action, keys in table.items():
        for key in {normal_key(each) for each in ([keys] if isinstance(keys, str) else keys)}:
            if owners.setdefault(key, action) != action:
                return f"{key!r} is given to both {owners[key]!r} and {action!r}; choose one"
    return None


def _server_problem(server: Any) -> str | None:
    if (server.command is None) == (server.url is None):
        return "either 'command' (a program to start) or 'url' (of a running server) is required"
    if server.type is not None and (server.type == "stdio") != (server.url is None):
        return "'type' does not match: use stdio with 'command', http or sse with 'url'"
    return None


def without_secrets(path: tuple[str, ...], value: Any) -> Any:
    """The value of a setting with its secrets replaced."""
    match path, value:
        case ("environment", _) | (_, _, "env" | "headers", _), _:
            return HIDDEN
        case (_, _, "args"), list():
            return _without_secret_arguments(value)  # pyright: ignore[reportUnknownArgumentType]
        case _, msgspec.Struct():
            return {
                name: without_secrets((*path, name), getattr(value, name))
                for name in value.__struct_fields__
                if getattr(value, name) not in (None, [], {})
            }
        case _, dict():
            return {key: without_secrets((*path, key), each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case ("base_urls", _) | (_, _, "url"), str():
            return redact(value)
        case _:
            return value


def display_value(value: Any) -> str:
    """A value on one line, with invisible and control characters escaped."""
    if value is None:
        return "not set"
    return printable(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def _without_secret_arguments(args: list[str]) -> list[str]:
    result: list[str] = []
    for previous, argument in zip(["", *args], args, strict=False):
        name, equals, _ = argument.partition("=")
        if equals and _SECRET_NAME.search(name):
            result.append(f"{name}={HIDDEN}")
        elif _is_secret_flag(previous) and not argument.startswith("-"):
            result.append(HIDDEN)
        else:
            result.append(argument)
    return result


def _is_secret_flag(argument: str) -> bool:
    return argument.startswith("-") and "=" not in argument and _SECRET_NAME.search(argument) is not None
