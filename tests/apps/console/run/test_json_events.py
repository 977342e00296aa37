"""What the events of `accord run --json` say of each change."""

from __future__ import annotations

from typing import Any

import msgspec

from accord.apps.console.run.json_events import EventBuilder
from accord.session.transcript import Transcript
from accord.session.updates import TerminalAppend, TerminalPatch


def events_of(*reports: Any) -> list[dict[str, Any]]:
    transcript, maker = Transcript(), EventBuilder()
    return [msgspec.to_builtins(event) for report in reports for event in maker.events_of(transcript.apply(report))]


class TestATerminal:
    def test_whose_output_is_told_whole_has_it_told(self):
        """Claude's adapter tells the output of a command with the terminal, not in pieces."""
        events = events_of(TerminalPatch(id="t", command="echo hi"), TerminalPatch(id="t", output=b"hi\n"))
        assert [event["type"] for event in events] == ["terminal", "terminal", "terminal_output"]
        assert (events[-1]["text"], events[-1]["replaces"]) == ("hi\n", False)

    def test_whose_output_is_told_anew_says_so(self):
        *_, first, _, second = events_of(
            TerminalAppend(id="t", data=b"\xc3"),
            TerminalAppend(id="t", data=b"\xbc"),
            TerminalPatch(id="t", output=b"o\xc3\xb6"),
        )
        assert (first["text"], first["replaces"]) == ("ü", False)
        assert (second["text"], second["replaces"]) == ("oö", True)
