from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from accord.local.saved_choices import SavedChoices, project_root

WRITER = """
import sys
from accord.local.saved_choices import SavedChoices
for number in range(20):
    SavedChoices(sys.argv[1]).set("/repo", f"{sys.argv[2]} {number}", True)
"""


def test_a_choice_is_kept_for_its_project_and_can_be_revoked(tmp_path: Path):
    choices = SavedChoices(tmp_path / "state" / "choices.json")
    assert choices.read() == []
    choices.set("/one", "edit: a.py", True)
    choices.set("/one", "run: rm", False)
    choices.set("/two", "edit: a.py", False)
    choices.set("/one", "edit: a.py", False)
    again = SavedChoices(choices.path)
    assert [(each.scope, each.allowed) for each in again.read("/one")] == [("run: rm", False), ("edit: a.py", False)]
    assert again.revoke("/one", "run: rm") == 1
    assert again.revoke("/one", "run: rm") == 0
    assert again.revoke("/two") == 1
    assert [each.scope for each in choices.read()] == ["edit: a.py"]


def test_the_file_is_the_users_own(tmp_path: Path):
    choices = SavedChoices(tmp_path / "state" / "choices.json")
    choices.set("/one", "edit", True)
    assert choices.path.stat().st_mode & 0o777 == 0o600
    assert choices.path.parent.stat().st_mode & 0o777 == 0o700


def test_the_choices_of_a_project_are_a_mapping_that_is_alive(tmp_path: Path):
    choices = SavedChoices(tmp_path / "choices.json")
    project = choices.for_project(tmp_path)
    project["edit"] = True
    assert dict(project) == {"edit": True}
    assert len(choices.for_project("/elsewhere")) == 0
    choices.revoke(str(tmp_path.resolve()))
    assert "edit" not in project
    with pytest.raises(KeyError):
        del project["edit"]


def test_a_project_is_the_repository_wherever_it_is_entered(tmp_path: Path):
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "src").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "repo" / "src")
    assert project_root(tmp_path / "link") == project_root(tmp_path / "repo") == str((tmp_path / "repo").resolve())
    (tmp_path / "bare").mkdir()
    assert project_root(tmp_path / "bare") == str((tmp_path / "bare").resolve())


@pytest.mark.parametrize(
    ("content", "advice"),
    [("{", "fix the file or delete it"), ('{"format": 2}', "newer accord"), ('{"choices": 1}', "fix the file")],
)
def test_a_file_that_can_not_be_used_says_what_to_do_and_is_left_alone(tmp_path: Path, content: str, advice: str):
    path = tmp_path / "choices.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=advice):
        SavedChoices(path).read()
    with pytest.raises(ValueError, match=advice):
        SavedChoices(path).set("/one", "edit", True)
    assert path.read_text() == content


def test_programs_that_write_at_once_lose_nothing(tmp_path: Path):
    path = tmp_path / "choices.json"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("a", "b", "c")]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(SavedChoices(path).read()) == 60
