from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from accord.apps.coder.settings.files import SettingsFile
from accord.apps.coder.settings.trust import Trust


@pytest.fixture
def trust(tmp_path: Path) -> Trust:
    return Trust(tmp_path / "state" / "trusted")


def test_trust_is_of_a_path_and_of_its_content(trust):
    file = SettingsFile(Path("/p/.accord.toml"), b"mode = 'code'")
    assert trust.state_of(file) == "untrusted"
    trust.add(file)
    assert trust.state_of(file) == "trusted"
    assert trust.state_of(SettingsFile(Path("/p/.accord.toml"), b"mode = 'ask'")) == "changed"
    assert trust.state_of(SettingsFile(Path("/q/.accord.toml"), b"mode = 'code'")) == "untrusted"


def test_trust_given_again_is_of_the_new_content(trust):
    for content in (b"a", b"b"):
        trust.add(SettingsFile(Path("/p/.accord.toml"), content))
    assert trust.state_of(SettingsFile(Path("/p/.accord.toml"), b"a")) == "changed"
    assert trust.state_of(SettingsFile(Path("/p/.accord.toml"), b"b")) == "trusted"
    assert len(trust.records()) == 1


def test_a_path_that_is_no_text_can_be_trusted(trust):
    file = SettingsFile(Path("/p\udcff/.accord.toml"), b"")
    trust.add(file)
    assert trust.state_of(file) == "trusted"
    assert trust.revoke(file.path)


def test_trust_can_be_taken_back(trust):
    file = SettingsFile(Path("/p/.accord.toml"), b"")
    assert not trust.revoke(file.path)
    trust.add(file)
    assert trust.revoke(file.path)
    assert trust.state_of(file) == "untrusted"
    assert trust.records() == []


def test_a_record_that_is_damaged_is_no_trust_and_can_be_given_anew(trust, tmp_path):
    file = SettingsFile(Path("/p/.accord.toml"), b"")
    trust.add(file)
    (record,) = (tmp_path / "state" / "trusted").glob("*.json")
    record.write_bytes(b'{"path": "/p')
    assert trust.state_of(file) == "untrusted"
    assert trust.records() == []
    trust.add(file)
    assert trust.state_of(file) == "trusted"


def test_a_record_of_another_path_is_no_trust(trust, tmp_path):
    file = SettingsFile(Path("/p/.accord.toml"), b"")
    trust.add(file)
    (record,) = (tmp_path / "state" / "trusted").glob("*.json")
    record.write_bytes(record.read_bytes().replace(b"/p/", b"/q/"))
    assert trust.state_of(file) == "untrusted"


GIVING = """
import sys
from pathlib import Path
from accord.apps.coder.settings.files import SettingsFile
from accord.apps.coder.settings.trust import Trust
for number in range(30):
    Trust(Path(sys.argv[1])).add(SettingsFile(Path(f"/{sys.argv[2]}/{number}"), b""))
    Trust(Path(sys.argv[1])).add(SettingsFile(Path("/both"), b""))
"""


def test_programs_at_the_same_time_lose_nothing(tmp_path):
    programs = [subprocess.Popen([sys.executable, "-c", GIVING, str(tmp_path), name]) for name in ("a", "b")]
    assert [program.wait() for program in programs] == [0, 0]
    assert len(Trust(tmp_path).records()) == 61
    assert [file.suffix for file in tmp_path.iterdir()] == [".json"] * 61


def test_when_the_disk_refuses_the_old_trust_stays(trust, monkeypatch, tmp_path):
    file = SettingsFile(Path("/p/.accord.toml"), b"")
    trust.add(file)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        trust.add(SettingsFile(file.path, b"new"))
    assert trust.state_of(file) == "trusted"
    assert len([*(tmp_path / "state" / "trusted").iterdir()]) == 1
