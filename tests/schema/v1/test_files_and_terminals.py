from __future__ import annotations

import pytest

from accord.schema import v1
from accord.schema.wire_values import UNSET
from tests.schema.v1.shape import assert_shape, read, refuses, write

FILE = {"sessionId": "sess_1", "path": "/home/user/a.py"}


@pytest.mark.requirement("FS-04", "FS-05", "FS-06", "FS-07", "FS-08", "RPC-20")
def test_reading_takes_a_path_and_maybe_a_range_of_lines():
    assert_shape(v1.ReadTextFileRequest, FILE, {"line": 10, "limit": 50})
    assert_shape(v1.ReadTextFileResponse, {"content": ""})


@pytest.mark.requirement("FS-10", "FS-11", "FS-12", "FS-14", "AMB-01")
def test_writing_takes_a_path_and_the_text():
    assert_shape(v1.WriteTextFileRequest, FILE | {"content": "print()\n"})
    assert write(v1.WriteTextFileResponse()) == {}


@pytest.mark.parametrize("key", ["line", "limit"])
@pytest.mark.parametrize("value", [-1, 2**32, "1", True])
def test_lines_are_counted_in_32_bits(key: str, value: object):
    assert refuses(v1.ReadTextFileRequest, FILE | {key: value})


@pytest.mark.requirement("AMB-48")
def test_a_range_is_absent_null_or_there():
    assert read(v1.ReadTextFileRequest, FILE).line is UNSET
    assert read(v1.ReadTextFileRequest, FILE | {"line": None}).line is None
    assert read(v1.ReadTextFileRequest, FILE | {"line": 2**32 - 1}).line == 2**32 - 1
