"""Every message that the v2 draft has of its own, short and with all it may have, is read and written back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec import UNSET

from accord.schema import v1, v2, v2_draft
from accord.schema.v2_draft import METHODS
from tests.schema.exports import exports

FIXTURES = Path(__file__).parents[2] / "fixtures" / "v2_draft"
NAMES = sorted(path.stem for path in FIXTURES.glob("*.json"))
BY_FILE_NAME = {name.removeprefix("$/").replace("/", "_"): method for name, method in METHODS.items()}
ONLY_SUBCLASSES_ON_THE_WIRE = {"ConfigOption", "ContentChunk", "Message", "SessionSetup"}


def wire_type(name: str) -> Any:
    method, part, *_ = name.split(".")
    return BY_FILE_NAME[method].result if part == "response" else BY_FILE_NAME[method].params


def read(name: str) -> Any:
    return msgspec.json.decode((FIXTURES / f"{name}.json").read_bytes(), type=wire_type(name))


def members_set(value: Any) -> set[tuple[Any, str]]:
    if isinstance(value, dict):
        return set().union(*map(members_set, value.values()))
    if isinstance(value, list):
        return set().union(*map(members_set, value))
    if not isinstance(value, msgspec.Struct):
        return set()
    inside = {field: getattr(value, field) for field in value.__struct_fields__ if getattr(value, field) is not UNSET}
    return {(type(value), field) for field in inside} | members_set(list(inside.values()))


@pytest.mark.requirement("UPDATE-13")
@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_is_written_back(name: str) -> None:
    assert json.loads(msgspec.json.encode(read(name))) == json.loads((FIXTURES / f"{name}.json").read_bytes())


@pytest.mark.parametrize("size", ["minimal", "full"])
def test_each_type_of_params_and_results_that_differs_has_a_fixture(size: str) -> None:
    covered = {tuple(name.split(".")[:2]) for name in NAMES if name.endswith(size)}
    for stem, method in BY_FILE_NAME.items():
        others = [table[method.name] for table in (v1.METHODS, v2.METHODS) if method.name in table]
        if method.params not in [other.params for other in others]:
            assert (stem, "notification" if method.kind == "notification" else "request") in covered
        if method.result not in [other.result for other in others]:
            assert (stem, "response") in covered


def test_each_session_update_has_a_minimal_and_a_full_fixture() -> None:
    union = get_args(v2_draft.SessionUpdate)[0]
    variants = {variant.__struct_config__.tag for variant in get_args(union)}
    for size in ("minimal", "full"):
        covered = {name.split(".")[2] for name in NAMES if name.startswith("session_update.") and name.endswith(size)}
        assert covered == variants


def test_the_full_fixtures_set_every_member_of_every_type() -> None:
    types = [kind for name, kind in exports(v2_draft).items() if name not in ONLY_SUBCLASSES_ON_THE_WIRE]
    structs = [kind for kind in types if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    exercised = members_set([read(name) for name in NAMES if name.endswith(".full")])
    expected = {(kind, field) for kind in structs for field in kind.__struct_fields__}
    assert expected - exercised == set()


# Elicitation is v1's altogether; there the values of a form are not any JSON.
NOT_READ = {("v2", "elicitation_create.response.accept.full")}


def lost(before: Any, after: Any, place: str = "$") -> list[str]:
    if isinstance(before, dict):
        missing = [f"{place}.{key}" for key in before.keys() - after.keys()]
        return missing + [
            each for key in before.keys() & after.keys() for each in lost(before[key], after[key], f"{place}.{key}")
        ]
    if isinstance(before, list) and len(before) == len(after):
        return [each for index, item in enumerate(before) for each in lost(item, after[index], f"{place}[{index}]")]
    return [] if before == after else [place]


@pytest.mark.parametrize(
    "path",
    [
        path
        for version in ("v1", "v2")
        for path in sorted((FIXTURES.parent / version).glob("*.json"))
        if path.name.split(".")[0] in BY_FILE_NAME and (version, path.stem) not in NOT_READ
    ],
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_what_v1_and_v2_say_is_read_without_loss(path: Path) -> None:
    message = msgspec.json.decode(path.read_bytes(), type=wire_type(path.stem))
    assert lost(json.loads(path.read_bytes()), json.loads(msgspec.json.encode(message))) == []
