"""Terminals: the client's own are named, the agent's are shown as text in the tool calls that hold them."""

from __future__ import annotations

from typing import Any

from accord.dialects.display_fallback import TAIL, terminal_text
from accord.session.content import Text
from accord.session.entities import ContentItem, Exit, Terminal, TerminalItem
from accord.session.snapshots import SnapshotBytes
from accord.session.transcript import Transcript
from accord.session.updates import TerminalAppend, TerminalPatch, ToolCallPatch
from tests.dialects.telling import SESSION, reports_of, rows_lost, updates_of
from tests.dialects.v1.speaking import speaker

HOLDING = ToolCallPatch(id="c", title="Run", content=[TerminalItem(terminal_id="t")])


def shown_texts(updates: list[dict[str, Any]]) -> list[str]:
    return [update["content"][0]["content"]["text"] for update in updates if "content" in update]


def test_a_terminal_of_the_client_is_named_and_read_back():
    dialect = speaker()
    [update] = updates_of(dialect, HOLDING)
    assert update["content"] == [{"type": "terminal", "terminalId": "t"}]
    [report] = reports_of(dialect, **update)
    assert isinstance(report, ToolCallPatch)
    assert report.content == [TerminalItem(terminal_id="t")]
    assert dialect.losses == []


def test_a_terminal_of_the_agent_is_shown_whichever_comes_first():
    for reports in ((TerminalPatch(id="t", output=b"ok"), HOLDING), (HOLDING, TerminalPatch(id="t", output=b"ok"))):
        dialect = speaker()
        assert shown_texts(updates_of(dialect, *reports)[-1:]) == ["ok"]
        assert rows_lost(dialect) == ["display-terminal"]


def test_output_is_told_as_it_grows_and_the_ending_tells_all_of_it():
    transcript, dialect = Transcript(), speaker()
    updates_of(dialect, TerminalPatch(id="t", output=b""), HOLDING, transcript=transcript)
    pieces = [TerminalAppend(id="t", data=b"0123456789\n") for _ in range(2000)]
    updates = updates_of(dialect, *pieces, transcript=transcript)
    assert len(updates) < 100
    [ending] = updates_of(dialect, TerminalPatch(id="t", exit=Exit(code=0)), transcript=transcript)
    assert shown_texts([ending]) == ["0123456789\n" * 2000 + "[exit code 0]"]
    assert rows_lost(dialect) == ["display-terminal"]


def test_output_that_was_held_back_comes_with_the_next_patch_of_the_tool_call():
    transcript, dialect = Transcript(), speaker()
    updates_of(dialect, TerminalPatch(id="t", output=b"x" * 100), HOLDING, transcript=transcript)
    assert updates_of(dialect, TerminalAppend(id="t", data=b"y"), transcript=transcript) == []
    done, renamed = ToolCallPatch(id="c", status="completed"), ToolCallPatch(id="c", title="Ran")
    updates = updates_of(dialect, done, renamed, transcript=transcript)
    assert shown_texts(updates[:1]) == ["x" * 100 + "y"]
    assert "content" not in updates[1]


def test_a_new_snapshot_of_the_output_starts_the_counting_again():
    transcript, dialect = Transcript(), speaker()
    updates_of(dialect, TerminalPatch(id="t", output=b"x" * 1000), HOLDING, transcript=transcript)
    cleared = updates_of(dialect, TerminalPatch(id="t", output=b""), transcript=transcript)
    assert shown_texts(cleared) == [""]
    assert shown_texts(updates_of(dialect, TerminalAppend(id="t", data=b"y"), transcript=transcript)) == ["y"]


def test_that_a_terminal_can_be_cancelled_is_lost():
    dialect = speaker()
    updates_of(dialect, TerminalPatch(id="t", cancellable=True))
    assert rows_lost(dialect) == ["cancellable", "display-terminal"]


def test_a_tool_call_that_no_longer_holds_the_terminal_is_left_alone():
    gone = ToolCallPatch(id="c", content=[ContentItem(content=Text("done"))])
    assert len(updates_of(speaker(), HOLDING, gone, TerminalPatch(id="t", output=b"late"))) == 2


def test_a_closed_session_is_forgotten():
    dialect = speaker()
    updates_of(dialect, TerminalPatch(id="t", output=b"x" * 5))
    dialect.forget_session(SESSION)
    assert dialect.displays[SESSION].terminals == {}


def text(output: bytes, end: Exit | None = None) -> str:
    return terminal_text(Terminal(id="t", output=SnapshotBytes(output), exit=end))


def test_escape_sequences_and_control_characters_leave_the_text():
    assert (
        text(b"\x1b]0;title\x07\x1b[1;31mred\x1b[0m\x07 \x1b]8;;http://x\x1b\\link\x1b(B\ttab\x00") == "red link\ttab"
    )


def test_a_line_that_was_written_over_shows_its_last_form():
    assert text(b" 10%\r 50%\r100%\r\nnext\r\n") == "100%\nnext\n"


def test_a_character_that_is_not_complete_waits_for_the_rest():
    assert text("né".encode()[:-1]) == "n"
    assert text("né".encode()[:-1], Exit(code=0)) == "n\ufffd\n[exit code 0]"


def test_only_the_end_of_a_long_output_is_shown_from_a_whole_character_on():
    shown = text("é".encode() * TAIL + b"!")
    assert shown.startswith("[earlier output left out]\né")
    assert shown.endswith("é!")
    assert "\ufffd" not in shown


def test_the_way_it_ended_is_the_last_line():
    assert text(b"out\n", Exit(code=0)) == "out\n[exit code 0]"
    assert text(b"out", Exit(signal="SIGKILL")) == "out\n[signal SIGKILL]"
    assert text(b"", Exit()) == "[ended]"


def test_of_a_terminal_that_ended_no_more_is_kept_than_is_shown():
    dialect = speaker()
    updates_of(dialect, TerminalPatch(id="t", output=b"x" * 10 * TAIL, exit=Exit(code=0)))
    kept = dialect.displays[SESSION].terminals["t"]
    assert len(kept.output) == TAIL + 1
    assert terminal_text(kept).startswith("[earlier output left out]")
