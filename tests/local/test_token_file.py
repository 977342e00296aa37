from __future__ import annotations

import logging
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from accord.local.token_file import TokenFile
from accord.transports.transport import Identity

WRITER = """
import sys
from accord.local.token_file import TokenFile
for number in range(10):
    TokenFile(sys.argv[1]).create(f"{sys.argv[2]} {number}")
"""


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "state" / "tokens.json", Clock())


def test_a_token_is_known_until_it_is_revoked(tokens: TokenFile):
    token = tokens.create("laptop", "ada")
    server = TokenFile(tokens.path, Clock())
    identity = server.identify(token)
    assert identity is not None
    assert identity.user == "ada"
    assert server.is_valid(identity)
    assert tokens.revoke("laptop")
    assert server.identify(token) is None
    assert not server.is_valid(identity)
    assert not tokens.revoke("laptop")


def test_a_server_sees_tokens_that_are_made_later(tokens: TokenFile):
    server = TokenFile(tokens.path)
    assert server.identify("accord_x_y") is None
    assert server.identify(tokens.create("phone")) == Identity("phone", tokens.list()[0].id)


def test_the_file_has_no_token_and_only_its_owner_can_read_it(tokens: TokenFile):
    token = tokens.create("laptop")
    content = tokens.path.read_text()
    assert token not in content
    assert token.split("_", 2)[2] not in content
    assert stat.S_IMODE(tokens.path.stat().st_mode) == 0o600


def test_what_only_resembles_a_token_is_refused(tokens: TokenFile):
    token = tokens.create("laptop")
    for wrong in (token[:-1], token + "x", token.upper(), "", "accord_", token.replace("accord", "other"), "ä" * 50):
        assert tokens.identify(wrong) is None
    id = tokens.list()[0].id
    assert tokens.identify(f"accord_{id}_{tokens.list()[0].hash}") is None


def test_a_token_expires(tmp_path: Path):
    clock = Clock()
    tokens = TokenFile(tmp_path / "tokens.json", clock)
    identity = tokens.identify(token := tokens.create("laptop", seconds=60))
    assert identity is not None
    clock.now += 59
    assert tokens.identify(token) == identity
    clock.now += 1
    assert tokens.identify(token) is None
    assert not tokens.is_valid(identity)
    with pytest.raises(ValueError, match="no valid token"):
        tokens.check()


def test_two_tokens_do_not_have_one_name(tokens: TokenFile):
    tokens.create("laptop")
    with pytest.raises(ValueError, match="already"):
        tokens.create("laptop")
    assert len(tokens.list()) == 1


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "\x1b[31m", "x" * 201])
def test_a_name_is_one_line_of_text(tokens: TokenFile, name: str):
    with pytest.raises(ValueError, match="invalid name"):
        tokens.create(name)
    with pytest.raises(ValueError, match="invalid name"):
        tokens.create("laptop", name)


def test_a_damaged_file_lets_nobody_in_and_is_not_overwritten(tokens: TokenFile, caplog: pytest.LogCaptureFixture):
    token = tokens.create("laptop")
    identity = tokens.identify(token)
    assert identity is not None
    tokens.path.write_text('{"tokens": [')
    with caplog.at_level(logging.ERROR):
        assert tokens.identify(token) is None
        assert not tokens.is_valid(identity)
    assert len(caplog.records) == 1
    with pytest.raises(ValueError, match="can't be read"):
        tokens.create("phone")
    assert tokens.path.read_text() == '{"tokens": ['


def test_a_deleted_file_revokes_everything(tokens: TokenFile):
    token = tokens.create("laptop")
    assert tokens.identify(token) is not None
    tokens.path.unlink()
    assert tokens.identify(token) is None


def test_several_programs_may_make_tokens_at_once(tmp_path: Path):
    path = tmp_path / "tokens.json"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("a", "b", "c")]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(TokenFile(path).list()) == 30
