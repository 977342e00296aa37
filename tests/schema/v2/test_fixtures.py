"""Every message of v2, as short as it may be and with all it may have, is read and written back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec import UNSET

from accord.schema import v2
from accord.schema.v2 import METHODS
from tests.schema.exports import exports

FIXTURES = Path(__file__).parents[2] / "fixtures" / "v2"
NAMES = sorted(path.stem for path in FIXTURES.glob("*.json"))
BY_FILE_NAME = {name.removeprefix("$/").replace("/", "_"): method for name, method in METHODS.items()}

# Only their subclasses are on the wire, or they travel in error responses.
NOT_IN_FIXTURES = {
    "ContentChunk",
    "DiffPathChange",
    "DiffPathPairChange",
    "ElicitationScope",
    "ConfigOption",
    "SessionNotFoundErrorData",
    "UnsupportedProtocolVersionErrorData",
}


def wire_type(name: str) -> Any:
    method, part, *_ = name.split(".")
    return BY_FILE_NAME[method].result if part == "response" else BY_FILE_NAME[method].params


def read(name: str) -> Any:
    return msgspec.json.decode((FIXTURES / f"{name}.json").read_bytes(), type=wire_type(name))


def members_set(value: Any) -> set[tuple[str, str]]:
    if isinstance(value, dict):
        return set().union(*map(members_set, value.values()))
    if isinstance(value, list):
        return set().union(*map(members_set, value))
    if not isinstance(value, msgspec.Struct):
        return set()
    inside = {field: getattr(value, field) for field in value.__struct_fields__ if getattr(value, field) is not UNSET}
    return {(type(value).__name__, field) for field in inside} | members_set(list(inside.values()))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_is_written_back(name: str) -> None:
    assert json.loads(msgspec.json.encode(read(name))) == json.loads((FIXTURES / f"{name}.json").read_bytes())


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
def test_each_method_has_a_minimal_and_a_full_fixture_for_both_ways(method: Any) -> None:
    parts = ["notification"] if method.kind == "notification" else ["request", "response"]
    stem = method.name.removeprefix("$/").replace("/", "_")
    for part in parts:
        for size in ("minimal", "full"):
            assert [name for name in NAMES if name.startswith(f"{stem}.{part}.") and name.endswith(size)]


def test_each_session_update_has_a_minimal_and_a_full_fixture() -> None:
    union = get_args(v2.SessionUpdate)[0]
    variants = {variant.__struct_config__.tag for variant in get_args(union)}
    for size in ("minimal", "full"):
        covered = {name.split(".")[2] for name in NAMES if name.startswith("session_update.") and name.endswith(size)}
        assert covered == variants


def test_the_full_fixtures_set_every_member_of_every_type() -> None:
    types = [kind for name, kind in exports(v2).items() if name not in NOT_IN_FIXTURES]
    structs = [kind for kind in types if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    exercised = members_set([read(name) for name in NAMES if name.endswith(".full")])
    expected = {(kind.__name__, field) for kind in structs for field in kind.__struct_fields__}
    assert expected - exercised == set()
