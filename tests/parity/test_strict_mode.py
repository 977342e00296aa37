"""Strict mode takes what the official schema allows and refuses what it refuses; `EXCEPTIONS` says where not, and why."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from types import ModuleType
from typing import NamedTuple

import pytest

from accord.errors import Malformed
from accord.schema import v1, v2
from accord.schema.reader import Reader
from tests.parity.frames import validator
from tests.parity.mutants import Mutant, mutants
from tests.parity.official import load
from tests.parity.samples import Samples
from tests.parity.test_samples import object_definitions

pytestmark = pytest.mark.interop

PACKAGES: dict[int, ModuleType] = {1: v1, 2: v2}
PARTS = 8
"""All of a version takes longer than a test should."""


class Allowed(NamedTuple):
    """What the schema allows and strict mode refuses: known by the error, `place: reason`."""

    error: str
    reason: str
    versions: tuple[int, ...] = (1, 2)


EXCEPTIONS = [
    Allowed(r".*: unknown member", "strict mode is there to find what the protocol does not have"),
    Allowed(
        r".*: expected .*, or a name that begins with `_`|.*: `type` is empty",
        "a JSON schema can't say that names without the underscore are reserved for the protocol",
    ),
    Allowed(
        r".*\._meta: expected `object`, got .*", "it is an object wherever it stands, also where nothing is said of it"
    ),
    Allowed(
        r".*\.(type|args(\[\d+\])?|env(\.\w+)?): expected .*",
        "a login that does not fit its `type` fits the agent's, which has no members of these names: unknown members",
        versions=(1,),
    ),
    Allowed(
        r"\$: `value` must be a bool with the type boolean, and a string otherwise",
        "a string with the type boolean fits the choice of an id, which has no `type`: an unknown member",
        versions=(1,),
    ),
]


def differences(version: int, definition: str) -> Iterator[tuple[Mutant, Malformed | None]]:
    """The mutants that strict mode and the schema do not agree on, with what strict mode says."""
    reader = Reader(getattr(PACKAGES[version], definition), strict=True)
    seen: set[str] = set()
    for mutant in mutants_of(version, definition):
        text = json.dumps(mutant.value, sort_keys=True)
        if text in seen:
            continue
        seen.add(text)
        error: Malformed | None = None
        try:
            reader.decode(text.encode())
        except Malformed as refused:
            error = refused
        if (error is None) is not validator(version, definition).is_valid(mutant.value):
            yield mutant, error


def mutants_of(version: int, definition: str) -> Iterator[Mutant]:
    samples = Samples(load(version).definitions)
    for sample in samples.of(definition):
        yield from mutants(sample)
    for sample, member in samples.alternatives(definition):
        yield from mutants(sample, member)


def exception(version: int, error: Malformed) -> Allowed | None:
    told = f"{error.path}: {error.reason}"
    return next((each for each in EXCEPTIONS if version in each.versions and re.fullmatch(each.error, told)), None)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("version", [1, 2], ids=["v1", "v2"])
def test_strict_mode_and_the_schema_agree_on_every_mutant(version: int, part: int):
    wrong = [
        f"{definition}, {mutant.what} at {mutant.place}: " + ("accepted" if error is None else f"refused, {error}")
        for definition in object_definitions(version, PACKAGES[version])[part::PARTS]
        for mutant, error in differences(version, definition)
        if error is None or exception(version, error) is None
    ]
    assert wrong == []


def test_every_exception_is_needed():
    chosen = [(1, "AuthMethod"), (1, "SetSessionConfigOptionRequest"), (1, "CompactionCapabilities"), (2, "ReplayFrom")]
    needed = {
        exception(version, error)
        for version, definition in chosen
        for _, error in differences(version, definition)
        if error is not None
    }
    assert needed == set(EXCEPTIONS)
