"""What the screen keeps: log, drafts; and what it says of itself in the status line."""

from __future__ import annotations

import stat

from accord.apps.console.screen.drafts import Drafts
from accord.apps.console.screen.themes import default_theme
from accord.apps.console.screen.wire_log import WireLog


def test_traffic_is_bounded_and_says_what_each_frame_is():
    log = WireLog()
    log.frame("sent", b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/"}}')
    log.frame("received", b'{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}')
    log.frame("received", b'{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}')
    log.frame("received", b'{"method":"session/update","params":{"update":{"sessionUpdate":"plan"}}}')
    log.frame("received", b"npm warn")
    log.stderr(b"one\ntwo\n")
    methods = [entry.method for entry in log.entries]
    assert methods == ["session/new", "response to 1", "error for 2", "update plan", "not JSON", ""]
    assert log.last_stderr == "two"
    for _ in range(6000):
        log.frame("sent", b"x" * 5000)
    assert len(log.entries) <= 5000
    assert sum(len(entry.data) for entry in log.entries) <= 16 * 1024 * 1024
    log.frame("sent", b"y" * 100_000)
    assert (log.entries[-1].size, len(log.entries[-1].data)) == (100_000, 64 * 1024)


def test_drafts_outlive_the_program_and_are_the_users_alone(tmp_path):
    drafts = Drafts(tmp_path / "state")
    drafts.save("a", "half a thought")
    drafts.save("b", "  ")
    assert Drafts(tmp_path / "state").of("a") == "half a thought"
    assert Drafts(tmp_path / "state").of("b") == ""
    assert stat.S_IMODE((tmp_path / "state" / "drafts.json").stat().st_mode) == 0o600
    for number in range(150):
        drafts.save(str(number), "x")
    assert Drafts(tmp_path / "state").of("a") == ""
    drafts.save("149", "")
    assert Drafts(tmp_path / "state").of("149") == ""


def test_two_screens_keep_each_others_drafts(tmp_path):
    one, other = Drafts(tmp_path), Drafts(tmp_path)
    one.save("a", "of the one")
    other.save("b", "of the other")
    one.save("c", "of the one again")
    assert [Drafts(tmp_path).of(each) for each in "abc"] == ["of the one", "of the other", "of the one again"]
    other.save("a", "")
    assert one.of("a") == ""
    one.save("d", "broken \ud800")
    assert Drafts(tmp_path).of("b") == "of the other"


def test_a_drafts_file_that_cannot_be_read_or_written_costs_nothing(tmp_path):
    (tmp_path / "drafts.json").write_text("{nonsense")
    drafts = Drafts(tmp_path)
    assert drafts.of("a") == ""
    (tmp_path / "file").write_text("")
    Drafts(tmp_path / "file").save("a", "x")
    assert Drafts(None).of("a") == ""


def test_the_theme_fits_what_the_terminal_tells():
    assert default_theme({"TERM": "xterm-256color"}) == "accord-dark"
    assert default_theme({"TERM": "xterm", "COLORTERM": "truecolor", "COLORFGBG": "0;15"}) == "accord-light"
    assert default_theme({"TERM": "linux"}) == "ansi-dark"
    assert default_theme({"TERM": "vt100", "COLORFGBG": "0;7"}) == "ansi-light"
