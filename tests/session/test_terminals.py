"""Display terminals in a transcript: bytes that are cut anywhere."""

from __future__ import annotations

import pytest

from accord.session import Terminal, TerminalChanged, TerminalOutput, Transcript
from accord.session.entities import Exit, TerminalSize
from accord.session.updates import TerminalAppend, TerminalPatch


@pytest.fixture
def transcript() -> Transcript:
    return Transcript()


def test_a_terminal_is_created_and_patched(transcript: Transcript):
    created = transcript.apply(
        TerminalPatch(id="t", command="pytest", cwd="/ws", size=TerminalSize(columns=80, rows=24))
    )
    patched = transcript.apply(TerminalPatch(id="t", exit=Exit(code=-1), cancellable=True, meta={"a": 1}))
    assert isinstance(patched, TerminalChanged)
    assert (created.created, patched.created) == (True, False)
    assert patched.terminal == Terminal(
        id="t",
        command="pytest",
        cwd="/ws",
        size=TerminalSize(columns=80, rows=24),
        exit=Exit(code=-1),
        cancellable=True,
        meta={"a": 1},
    )


def test_null_clears_each_field_of_a_terminal(transcript: Transcript):
    size = TerminalSize(columns=1, rows=1)
    told = TerminalPatch(id="t", command="x", cwd="/", output=b"o", exit=Exit(), size=size, cancellable=True, meta={})
    transcript.apply(told)
    transcript.apply(
        TerminalPatch(id="t", command=None, cwd=None, output=None, exit=None, size=None, cancellable=None, meta=None)
    )
    assert transcript.terminals == {"t": Terminal(id="t")}


def test_a_snapshot_replaces_the_bytes_and_pieces_append_to_it(transcript: Transcript):
    for report in (
        TerminalAppend(id="t", data=b"a"),
        TerminalAppend(id="t", data=b"b"),
        TerminalPatch(id="t", output=b"c"),
        TerminalAppend(id="t", data=b"d"),
        TerminalPatch(id="t", command="x"),
    ):
        transcript.apply(report)
    assert transcript.terminals["t"].output == b"cd"


def test_pieces_may_cut_a_character_anywhere(transcript: Transcript):
    text = "aé€😀z"
    seen: list[str] = []
    for byte in text.encode():
        transcript.apply(TerminalAppend(id="t", data=bytes([byte])))
        seen.append(transcript.terminals["t"].text)
    assert seen == ["a", "a", "aé", "aé", "aé", "aé€", "aé€", "aé€", "aé€", "aé€😀", text]


def test_bytes_that_are_no_text_are_shown_as_such_and_kept(transcript: Transcript):
    transcript.apply(TerminalAppend(id="t", data=b"a\xff\xf0\x9f"))
    assert transcript.terminals["t"].text == "a\ufffd"
    transcript.apply(TerminalPatch(id="t", exit=Exit(code=0)))
    assert transcript.terminals["t"].text == "a\ufffd\ufffd"  # nothing will complete it any more
    assert transcript.terminals["t"].output == b"a\xff\xf0\x9f"


def test_every_change_shows_the_terminal_as_it_was_then(transcript: Transcript):
    changes = [
        transcript.apply(report)
        for report in (
            TerminalAppend(id="t", data=b"a"),
            TerminalAppend(id="t", data=b"b"),
            TerminalPatch(id="t", exit=Exit(code=0)),
            TerminalPatch(id="t", output=b"z"),
        )
    ]
    first, second, third, fourth = changes
    assert isinstance(first, TerminalOutput)
    assert isinstance(second, TerminalOutput)
    assert isinstance(third, TerminalChanged)
    assert isinstance(fourth, TerminalChanged)
    assert [first.created, second.created] == [True, False]
    assert [first.data, second.data] == [b"a", b"b"]
    shown = [bytes(change.terminal.output) for change in (first, second, third, fourth)]
    assert shown == [b"a", b"ab", b"ab", b"z"]
    assert [change.terminal.exit for change in (second, third)] == [None, Exit(code=0)]


def test_terminals_have_no_place_of_their_own_in_the_timeline(transcript: Transcript):
    transcript.apply(TerminalPatch(id="t"))
    assert transcript.timeline == []


def test_pieces_share_one_storage_however_many_they_are(transcript: Transcript):
    """Every change shows its own bytes, and yet there is one copy of them: 100 MB in small pieces is 100 MB of work."""
    outputs = []
    for number in range(1000):
        change = transcript.apply(TerminalAppend(id="t", data=bytes([number % 256]) * 4))
        assert isinstance(change, TerminalOutput)
        outputs.append(change.terminal.output)
    assert [len(output) for output in outputs] == list(range(4, 4001, 4))
    assert len({id(output._storage) for output in outputs}) == 1
