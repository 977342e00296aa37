from __future__ import annotations

import json
from typing import Any

import pytest

from accord.errors import Malformed
from accord.schema import v1, v2
from accord.schema.reader import Reader
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


TERMINAL = {"sessionId": "sess_1", "terminalId": "term_xyz789"}


@pytest.mark.requirement("TERM-04", "TERM-05", "TERM-06", "TERM-07", "TERM-08", "TERM-09", "TERM-31")
def test_a_command_needs_only_its_name():
    more = {"args": ["test"], "env": [{"name": "A", "value": "1"}], "cwd": "/home/user", "outputByteLimit": 1024}
    assert_shape(v1.CreateTerminalRequest, {"sessionId": "sess_1", "command": "npm"}, more)
    assert_shape(v1.CreateTerminalResponse, {"terminalId": "term_xyz789"})


@pytest.mark.parametrize("limit", [0, 2**53 + 1, 2**64 - 1])
def test_a_byte_limit_is_exact_up_to_64_bits(limit: int):
    request = {"sessionId": "sess_1", "command": "npm", "outputByteLimit": limit}
    assert write(read(v1.CreateTerminalRequest, request)) == request


def test_a_byte_limit_is_not_negative():
    assert refuses(v1.CreateTerminalRequest, {"sessionId": "sess_1", "command": "npm", "outputByteLimit": -1})


@pytest.mark.parametrize("limit", [2**64, 2**70, 10**40])
@pytest.mark.parametrize("strict", [False, True])
def test_a_byte_limit_beyond_64_bits_is_refused_and_named(limit: int, strict: bool):
    request = json.dumps({"sessionId": "sess_1", "command": "npm", "outputByteLimit": limit}).encode()
    with pytest.raises(Malformed) as refused:
        Reader(v1.CreateTerminalRequest, strict).decode(request)
    assert refused.value.path in ("$.outputByteLimit", "$")
    if limit < 10**30:
        assert str(refused.value) == "Malformed at $.outputByteLimit: expected `int` <= 18446744073709551615"


@pytest.mark.parametrize(
    ("expected", "members"),
    [
        (v1.UsageUpdate, {"sessionUpdate": "usage_update", "used": 2**64, "size": 1}),
        (v2.UsageUpdate, {"sessionUpdate": "usage_update", "used": 1, "size": 2**64}),
        (
            v1.MultiSelectPropertySchema,
            {"type": "array", "items": {"type": "string", "enum": ["a"]}, "minItems": 2**64},
        ),
        (
            v2.MultiSelectPropertySchema,
            {"type": "array", "items": {"type": "string", "enum": ["a"]}, "maxItems": 2**64},
        ),
    ],
)
def test_no_other_number_of_64_bits_is_larger_either(expected: Any, members: dict[str, Any]):
    with pytest.raises(Malformed, match="18446744073709551615"):
        Reader(expected).decode(json.dumps(members).encode())


def test_a_size_beyond_64_bits_that_may_be_left_out_is():
    link = {"type": "resource_link", "name": "a", "uri": "file:///a", "size": 2**64}
    assert Reader(v2.ResourceLink).decode(json.dumps(link).encode()).size is UNSET


@pytest.mark.requirement("TERM-18")
@pytest.mark.parametrize(
    "request_type",
    [
        v1.TerminalOutputRequest,
        v1.WaitForTerminalExitRequest,
        v1.KillTerminalRequest,
        v1.ReleaseTerminalRequest,
    ],
)
def test_a_terminal_is_named_with_its_session(request_type: type):
    assert_shape(request_type, TERMINAL)


@pytest.mark.requirement("TERM-20", "TERM-21", "TERM-22", "AMB-64")
def test_output_tells_whether_it_was_cut_and_whether_the_command_ended():
    running = {"output": "ok\n", "truncated": False}
    assert_shape(v1.TerminalOutputResponse, running, {"exitStatus": {"exitCode": 0}})
    assert read(v1.TerminalOutputResponse, running).exit_status is UNSET
    assert read(v1.TerminalOutputResponse, running | {"exitStatus": None}).exit_status is None


@pytest.mark.parametrize("status_type", [v1.TerminalExitStatus, v1.WaitForTerminalExitResponse])
@pytest.mark.requirement("TERM-23", "TERM-24", "TERM-26", "AMB-48")
def test_an_end_is_a_code_or_a_signal_and_the_other_is_null(status_type: type):
    assert_shape(status_type, {}, {"exitCode": 1, "signal": "SIGTERM"})
    for status in ({"exitCode": 0, "signal": None}, {"exitCode": None, "signal": "SIGKILL"}):
        assert write(read(status_type, status)) == status


@pytest.mark.requirement("TERM-32", "AMB-05")
def test_ending_a_terminal_is_answered_with_an_empty_object():
    assert write(v1.KillTerminalResponse()) == {}
    assert write(v1.ReleaseTerminalResponse()) == {}
