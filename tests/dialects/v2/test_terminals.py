"""Display terminals: bytes that travel as base64."""

from __future__ import annotations

from typing import Any

import pytest

from accord.dialects.v2 import V2
from accord.errors import Malformed
from accord.session.entities import Exit, TerminalSize
from accord.session.transcript import Transcript
from accord.session.updates import TerminalAppend, TerminalPatch
from tests.dialects.v2.speaking import reports_of, speaker, transcript_of, updates_of

NOT_BASE64 = ["@", "b24", "b24K\n", "YQ==YQ==", "ü"]


def chunk(data: str) -> dict[str, Any]:
    return {"sessionUpdate": "terminal_output_chunk", "terminalId": "t1", "data": data}


def test_each_piece_is_decoded_by_itself_and_may_end_inside_a_character() -> None:
    euro = "€".encode()
    pieces = updates_of(speaker(), TerminalAppend(id="t1", data=euro[:1]), TerminalAppend(id="t1", data=euro[1:]))
    assert pieces == [chunk("4g=="), chunk("gqw=")]
    assert transcript_of(pieces[0]).terminals["t1"].text == ""
    assert transcript_of(*pieces).terminals["t1"].text == "€"


def test_a_snapshot_replaces_all_bytes_and_null_clears_them() -> None:
    snapshot = {"sessionUpdate": "terminal_update", "terminalId": "t1", "output": {"data": "b24K"}}
    assert bytes(transcript_of(chunk("YQ=="), snapshot, chunk("YQ==")).terminals["t1"].output) == b"on\na"
    assert bytes(transcript_of(snapshot, {**snapshot, "output": None}).terminals["t1"].output) == b""


def test_a_terminal_is_told_by_what_changed() -> None:
    assert updates_of(
        speaker(),
        TerminalPatch(id="t1", command="pump", cwd="/srv", size=TerminalSize(columns=80, rows=24), cancellable=True),
        TerminalPatch(id="t1", exit=Exit(code=-1), cancellable=None),
        TerminalPatch(id="t1", exit=Exit()),
    ) == [
        {
            "sessionUpdate": "terminal_update",
            "terminalId": "t1",
            "command": "pump",
            "cwd": "/srv",
            "size": {"cols": 80, "rows": 24},
            "capabilities": {"cancel": {}},
        },
        {"sessionUpdate": "terminal_update", "terminalId": "t1", "exitStatus": {"exitCode": -1}, "capabilities": None},
        {"sessionUpdate": "terminal_update", "terminalId": "t1", "exitStatus": {}},
    ]


def test_an_empty_exit_status_says_that_it_ended() -> None:
    ended: dict[str, Any] = {"sessionUpdate": "terminal_update", "terminalId": "t1", "exitStatus": {}}
    assert transcript_of(ended).terminals["t1"].exit == Exit()


@pytest.mark.parametrize("data", NOT_BASE64)
def test_a_piece_that_is_not_base64_is_dropped_with_a_note(data: str) -> None:
    dialect, transcript = V2(), Transcript()
    for update in (chunk("b24K"), chunk(data), chunk("b24K")):
        for report in reports_of(dialect, **update):
            transcript.apply(report)
    assert bytes(transcript.terminals["t1"].output) == b"on\non\n"
    assert dialect.notes == ["$.update.data: ignored, not base64"]


@pytest.mark.parametrize("data", NOT_BASE64)
def test_a_snapshot_that_is_not_base64_counts_as_absent(data: str) -> None:
    dialect = V2()
    [report] = reports_of(dialect, sessionUpdate="terminal_update", terminalId="t1", cwd="/srv", output={"data": data})
    assert report == TerminalPatch(id="t1", cwd="/srv")
    assert dialect.notes == ["$.update.output.data: ignored, not base64"]


@pytest.mark.parametrize(
    "update",
    [chunk("@"), {"sessionUpdate": "terminal_update", "terminalId": "t1", "output": {"data": "@"}}],
    ids=["piece", "snapshot"],
)
def test_strict_mode_refuses_what_is_not_base64(update: dict[str, Any]) -> None:
    with pytest.raises(Malformed, match="not base64"):
        reports_of(V2(strict=True), **update)
