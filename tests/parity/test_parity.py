from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from accord.schema import v1, v2
from tests.parity.official import load
from tests.parity.parity import Difference, differences, entries, unexplained, unused
from tests.schema.exports import exports

HERE = Path(__file__).parent
VERSIONS = [pytest.param(1, v1, id="v1"), pytest.param(2, v2, id="v2")]


def found(version: int, package: ModuleType) -> list[Difference]:
    types = {name: kind for name, kind in exports(package).items() if name != "METHODS"}
    return differences(load(version), types, package.METHODS)


def fail_with(heading: str, lines: list[str]) -> None:
    if lines:
        pytest.fail("\n  ".join([f"{heading}:", *lines]), pytrace=False)


@pytest.mark.interop
@pytest.mark.parametrize(("version", "package"), VERSIONS)
def test_our_types_differ_from_the_official_schema_only_where_it_is_intended(version: int, package: ModuleType):
    listing = HERE / f"differences_v{version}.toml"
    fail_with(f"not in {listing.name}", unexplained(found(version, package), entries(listing)))


@pytest.mark.interop
@pytest.mark.parametrize(("version", "package"), VERSIONS)
def test_every_difference_that_is_listed_is_there(version: int, package: ModuleType):
    listing = HERE / f"differences_v{version}.toml"
    fail_with(f"in {listing.name}, but there is no such difference", unused(found(version, package), entries(listing)))


@pytest.mark.parametrize(("version", "package"), VERSIONS)
def test_every_difference_has_a_reason_and_a_place(version: int, package: ModuleType):
    for entry in entries(HERE / f"differences_v{version}.toml"):
        assert entry.reason
        assert bool(entry.into) is (entry.what in {"merged", "joined"}), entry
        assert not entry.into or entry.into in exports(package), entry
