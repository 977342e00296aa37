from __future__ import annotations

import pytest

from accord.schema import v1
from accord.schema.values import UNSET
from tests.schema.v1.shape import assert_shape, read, refuses, write

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
