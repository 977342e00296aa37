"""Each side reads what the other writes: our fixtures by the official Python models, and theirs by our types."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pydantic import TypeAdapter, ValidationError

from accord.schema import v1
from accord.schema.reader import Reader
from tests.interop.official_models import messages, model_of

HERE = Path(__file__).resolve().parent
FIXTURES = sorted((HERE.parent / "fixtures" / "v1").glob("*.json"))
DIFFERENCES = tomllib.loads((HERE / "python_differences.toml").read_text(encoding="utf-8"))
METHODS = {name.removeprefix("$/").replace("/", "_"): method for name, method in v1.METHODS.items()}
MESSAGES = {
    f"{name}.{part}": wire_type
    for name, method in v1.METHODS.items()
    for part, wire_type in (("request", method.params), ("response", method.result))
    if wire_type is not None and model_of(wire_type) is not None
}


def listed(table: str, key: str, name: str) -> list[dict[str, Any]]:
    return [entry for entry in DIFFERENCES[table] if fnmatchcase(name, entry[key])]


def allowed(entries: list[dict[str, Any]]) -> set[str]:
    return {member for entry in entries for member in entry.get("lost", ())}


def lost(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """The members that one value has and the other has not, or has differently; indices left out of the path."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() | after.keys():
            where = f"{path}.{key}" if path else key
            if key in before and key in after:
                yield from lost(before[key], after[key], where)
            else:
                yield where
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            yield from lost(one, other, f"{path}[]")
    elif before != after or type(before) is not type(after):
        yield path


def read_officially(file: Path) -> Any:
    slug, part, *_ = file.name.split(".")
    wire_type = METHODS[slug].result if part == "response" else METHODS[slug].params
    model = model_of(wire_type)
    if model is None:
        return None
    adapter: TypeAdapter[Any] = TypeAdapter(model)
    try:
        read = adapter.validate_python(json.loads(file.read_bytes()))
    except ValidationError:
        return None
    return adapter.dump_python(read, mode="json", by_alias=True, exclude_unset=True)


def losses_of_fixture(file: Path) -> set[str] | None:
    back = read_officially(file)
    return None if back is None else set(lost(json.loads(file.read_bytes()), back))


def losses_of_messages(name: str) -> set[str]:
    wire_type, found = MESSAGES[name], set[str]()
    for message in messages(model_of(wire_type)):
        read = Reader(wire_type).decode(json.dumps(message).encode())
        written = msgspec.json.encode(read, enc_hook=lambda unknown: unknown.__wire__())
        found.update(lost(message, json.loads(written)))
    return found


@pytest.mark.parametrize("file", FIXTURES, ids=lambda file: file.stem)
def test_the_official_models_read_our_fixtures(file: Path):
    entries = listed("fixture", "name", file.stem)
    losses = losses_of_fixture(file)
    if any(entry.get("refused") for entry in entries):
        assert losses is None
    else:
        assert losses is not None
        assert losses <= allowed(entries)


@pytest.mark.parametrize("name", MESSAGES)
def test_our_types_read_what_the_official_models_write(name: str):
    assert losses_of_messages(name) <= allowed(listed("model", "message", name))


def test_every_listed_difference_is_there():
    seen: dict[str, set[str]] = {"fixture": set(), "model": set()}
    for file in FIXTURES:
        losses = losses_of_fixture(file)
        for entry in listed("fixture", "name", file.stem):
            seen["fixture"].update({entry["name"]} if losses is None else losses)
    for name in MESSAGES:
        seen["model"].update(losses_of_messages(name))
    unused = [
        (entry, member)
        for table in ("fixture", "model")
        for entry in DIFFERENCES[table]
        for member in entry.get("lost", [entry.get("name")])
        if member not in seen[table]
    ]
    assert unused == []


def test_every_difference_gives_its_reason():
    assert all(re.search(r"\w", entry["reason"]) for table in DIFFERENCES.values() for entry in table)
