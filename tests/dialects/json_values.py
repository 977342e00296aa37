"""Between Python values and the JSON that a dialect reads and writes."""

from __future__ import annotations

import json
from typing import Any

import msgspec


def raw(value: Any) -> msgspec.Raw:
    """A value as it arrives: undecoded."""
    return msgspec.Raw(json.dumps(value).encode())


def plain(value: Any) -> Any:
    """What is written, as a JSON reader sees it."""
    return json.loads(msgspec.json.encode(value, enc_hook=lambda unknown: unknown.__wire__()))


def without_nulls(value: Any) -> Any:
    """The same, with every member that is null left out."""
    if isinstance(value, dict):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [without_nulls(element) for element in value]
    return value


def differences(before: Any, after: Any, place: str = "") -> dict[str, tuple[Any, Any]]:
    """By place, what was read and what was written instead; `...` where one of them is missing."""
    if isinstance(before, dict) and isinstance(after, dict):
        found: dict[str, tuple[Any, Any]] = {}
        for key in {**before, **after}:
            found |= differences(before.get(key, ...), after.get(key, ...), f"{place}.{key}".removeprefix("."))
        return found
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        found = {}
        for index, element in enumerate(before):
            found |= differences(element, after[index], f"{place}[{index}]")
        return found
    return {} if before == after else {place: (before, after)}
