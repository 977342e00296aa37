from __future__ import annotations

from typing import Any

import pytest

from accord.schema import v2
from tests.schema.v1.shape import assert_shape, read, refuses, write


def test_a_terminal_needs_nothing_but_its_id() -> None:
    optional = {
        "command": "pump --on",
        "cwd": "/srv",
        "output": {"data": "b24K"},
        "exitStatus": {"exitCode": -1, "signal": "SIGTERM"},
        "size": {"cols": 1, "rows": 65535},
        "capabilities": {"cancel": {}},
    }
    assert_shape(v2.SessionUpdate, {"sessionUpdate": "terminal_update", "terminalId": "t"}, optional)


def test_output_comes_in_chunks() -> None:
    chunk = {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "4oI="}
    assert_shape(v2.SessionUpdate, chunk)


def test_an_exit_status_without_members_still_says_that_the_process_ended() -> None:
    ended = read(v2.TerminalUpdate, {"terminalId": "t", "exitStatus": {}})
    assert ended.exit_status == v2.TerminalExitStatus()
    assert write(ended)["exitStatus"] == {}


@pytest.mark.parametrize("exit_code", [-(2**63), -1, 0, 2**32, 2**63 - 1])
def test_exit_codes_are_64_bit_and_may_be_negative(exit_code: int) -> None:
    assert read(v2.TerminalExitStatus, {"exitCode": exit_code}).exit_code == exit_code


@pytest.mark.parametrize("extent", [0, -1, 65536, 1.5, None])
def test_a_terminal_has_at_least_one_cell(extent: Any) -> None:
    assert refuses(v2.TerminalSize, {"cols": extent, "rows": 1})
    assert refuses(v2.TerminalSize, {"cols": 1, "rows": extent})


def test_a_terminal_is_cancelled_by_its_id() -> None:
    assert_shape(v2.CancelTerminalRequest, {"sessionId": "s", "terminalId": "t"})
