from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from accord.schema import v1, v2
from tests.parity.official import load
from tests.parity.parity import Difference, differences, entries, unexplained, unused

HERE = Path(__file__).parent
VERSIONS = [pytest.param(1, v1, id="v1"), pytest.param(2, v2, id="v2")]


def found(version: int, package: ModuleType) -> list[Difference]:
    exports = {name: getattr(package, name) for name in package.__all__ if name != "METHODS"}
    return differences(load(version), exports, package.METHODS)


@pytest.mark.interop
@pytest.mark.parametrize(("version", "package"), VERSIONS)
def test_our_types_differ_from_the_official_schema_only_where_it_is_intended(version: int, package: ModuleType):
    listed = entries(HERE / f"differences_v{version}.toml")
    assert unexplained(found(version, package), listed) == []


@pytest.mark.interop
@pytest.mark.parametrize(("version", "package"), VERSIONS)
def test_every_difference_listed_is_there(version: int, package: ModuleType):
    listed = entries(HERE / f"differences_v{version}.toml")
    assert unused(found(version, package), listed) == []
