from __future__ import annotations

from pathlib import Path

import pytest

from accord.apps.coder.errors import InvalidSettings
from accord.apps.coder.settings.files import SettingsFile, project_file

TEXT = '''# first
model = "a:b"

test_command = """
mode = no key
"""
mode = "ask"
models = [
    "a:b",   # and so on
]
[servers]
[servers.files] # here
command = "npx"
env.A = "b"
[agents."a.b"]
command = "x"
base = {inner = {deep = 1}}
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("model",), 2),
        (("test_command",), 4),
        (("mode",), 7),
        (("models",), 8),
        (("servers",), 11),
        (("servers", "files"), 12),
        (("servers", "files", "command"), 13),
        (("servers", "files", "env", "A"), 14),
        (("agents", "a.b", "command"), 16),
        (("agents", "a.b", "base", "inner", "deep"), 17),
        (("missing",), None),
        (("model", "deeper"), None),
    ],
)
def test_the_line_of_a_key_is_known(path, line):
    assert SettingsFile(Path("c.toml"), TEXT.encode()).line_of(path) == line


def test_the_line_of_a_key_is_known_under_windows_line_ends_and_a_mark_at_the_start():
    content = b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode()
    file = SettingsFile(Path("c.toml"), content)
    assert file.table()["mode"] == "ask"
    assert file.line_of(("mode",)) == 7


def test_what_is_not_text_is_refused_with_its_line():
    with pytest.raises(InvalidSettings, match=r"c\.toml:2: not valid UTF-8"):
        SettingsFile(Path("c.toml"), b'model = "x"\nmode = "\xff"').table()


def test_a_file_without_end_is_refused(tmp_path):
    file = tmp_path / "config.toml"
    file.write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(InvalidSettings, match="larger than 1 MiB"):
        SettingsFile.read(file)


def test_a_directory_is_no_file(tmp_path):
    with pytest.raises(InvalidSettings, match="can't be read"):
        SettingsFile.read(tmp_path)


def test_the_nearest_file_in_the_repository_is_the_projects(project):
    deep = project / "a" / "b"
    deep.mkdir(parents=True)
    assert project_file(deep) is None
    (project / ".accord.toml").touch()
    assert project_file(deep) == project / ".accord.toml"
    (project / "a" / ".accord.toml").touch()
    assert project_file(deep) == project / "a" / ".accord.toml"


def test_the_search_ends_at_the_root_of_the_repository(project):
    (project / ".accord.toml").touch()
    (project / "inner" / ".git").mkdir(parents=True)
    assert project_file(project / "inner") is None


def test_home_and_above_belong_to_no_project_unless_one_starts_there(home):
    (home / ".accord.toml").touch()
    (home / "loose").mkdir()
    assert project_file(home / "loose") is None
    assert project_file(home) == home / ".accord.toml"


def test_outside_of_home_and_repositories_the_search_goes_up(home, tmp_path):
    (tmp_path / "other" / "deep").mkdir(parents=True)
    (tmp_path / "other" / ".accord.toml").touch()
    assert project_file(tmp_path / "other" / "deep") == tmp_path / "other" / ".accord.toml"
