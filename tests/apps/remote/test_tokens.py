"""`accord token`."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from accord.cli import main
from accord.local.token_file import TokenFile


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


def test_a_token_is_shown_once_when_it_is_made(file: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["token", "create", "laptop", "--file", str(file), "--user", "ada", "--days", "30"]) == 0
    token = capsys.readouterr().out.strip()
    identity = TokenFile(file).identify(token)
    assert identity is not None
    assert identity.user == "ada"
    assert main(["token", "list", "--file", str(file)]) == 0
    shown = capsys.readouterr().out
    assert token not in shown
    assert shown.splitlines()[1].split()[:2] == ["laptop", "ada"]
    assert main(["token", "list", "--json", "--file", str(file)]) == 0
    (listed,) = msgspec.json.decode(capsys.readouterr().out)
    assert listed["expires_at"] - listed["created_at"] == 30 * 24 * 60 * 60
    assert "hash" not in listed


def test_a_token_is_revoked_by_its_name(file: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["token", "create", "laptop", "--file", str(file)]) == 0
    assert main(["token", "revoke", "laptop", "--file", str(file)]) == 0
    assert main(["token", "list", "--file", str(file)]) == 0
    assert "There are no tokens" in capsys.readouterr().out
    assert main(["token", "revoke", "laptop", "--file", str(file)]) == 1
    assert "no token is named" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["list"], "expected `accord token create NAME --file FILE`"),
        (["create"], "which token?"),
        (["create", "a", "--days", "0"], "invalid number of days"),
        (["create", "a", "--days", "soon"], "invalid number of days"),
        (["create", "a\nb"], "invalid name"),
    ],
)
def test_what_is_missing_is_said(file: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]):
    arguments = words if words == ["list"] else [*words, "--file", str(file)]
    assert main(["token", *arguments]) == 1
    assert told in capsys.readouterr().err
    assert not file.exists()


def test_an_unknown_action_is_a_usage_error(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["token", "steal"])
    assert "invalid choice" in capsys.readouterr().err
