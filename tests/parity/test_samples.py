"""Whatever the official schema describes is read in strict mode and written back as it was."""

from __future__ import annotations

import json
from types import ModuleType

import pytest

from accord.schema import v1, v2
from accord.schema.reader import Reader
from tests.dialects.json_values import plain
from tests.parity.frames import validate
from tests.parity.official import load
from tests.parity.samples import Samples
from tests.parity.shapes import OfficialShapes, is_struct
from tests.schema.exports import exports

pytestmark = pytest.mark.interop


def object_definitions(version: int, package: ModuleType) -> list[str]:
    """Those with a type of their own; a variant is read as part of its union, since only there it has its tag."""
    definitions = load(version).definitions
    official = OfficialShapes(definitions)
    return [
        name
        for name, definition in definitions.items()
        if name in exports(package) and not official.is_scalar(definition) and not official.arrays(definition)
        if not is_struct(expected := getattr(package, name)) or expected.__struct_config__.tag is None
    ]


@pytest.mark.parametrize(("version", "package"), [(1, v1), (2, v2)], ids=["v1", "v2"])
def test_what_the_schema_allows_is_read_strictly_and_written_back(version: int, package: ModuleType):
    checked = 0
    for name in object_definitions(version, package):
        expected = getattr(package, name)
        reader = Reader(expected, strict=True)
        for sample in Samples(load(version).definitions).of(name):
            assert list(validate(sample, version, name)) == [], "the sample itself is wrong"
            assert plain(reader.decode(json.dumps(sample).encode())) == sample, name
            checked += 1
    assert checked > 270
