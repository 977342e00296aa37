"""`accord config`, `accord trust` and `accord permissions`."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from accord.cli import main
from accord.local.saved_choices import SavedChoices


@pytest.fixture
def choices(home: Path, project: Path) -> SavedChoices:
    choices = SavedChoices(home / "state" / "choices.json")
    choices.for_project(project)["run:pytest"] = True
    choices.for_project(project)["edit"] = False
    choices.for_project(home)["fetch:example.org"] = True
    return choices


def test_config_shows_what_is_in_force_and_from_where(home, project, capsys):
    (home / "config.toml").write_text('mode = "code"\n[environment]\nKEY = "hush"')
    assert main(["config"]) == 0
    shown = capsys.readouterr().out
    assert [line.split() for line in shown.splitlines() if line.startswith("mode ")] == [
        ["mode", "code", "~/accord/config.toml"]
    ]
    assert "hush" not in shown
    assert "project settings  none in ~/project or above" in shown


def test_config_can_be_asked_about_another_directory_and_another_file(home, project, tmp_path, capsys):
    (project / ".accord.toml").write_text("retries = 3")
    (tmp_path / "other.toml").write_text("retries = 2")
    assert main(["config", str(project / "."), "--config", str(tmp_path / "other.toml"), "--json"]) == 0
    shown = msgspec.json.decode(capsys.readouterr().out)
    assert shown["settings"]["retries"] == {"value": 2, "origin": "~/other.toml"}
    assert shown["files"]["project"] == {"path": str(project / ".accord.toml"), "state": "untrusted"}


@pytest.mark.usefixtures("project")
def test_config_tells_an_editor_which_file_to_open(home, capsys):
    assert main(["config", "--path"]) == 0
    assert capsys.readouterr().out == f"{home / 'config.toml'}\n"


def test_trust_shows_what_it_trusts_and_then_it_counts(project, capsys):
    (project / ".accord.toml").write_text('mode = "code"\n[environment]\nA = "hush"\n[servers.x]\ncommand = "\\u001bx"')
    assert main(["trust"]) == 0
    assert capsys.readouterr().out == (
        "~/project/.accord.toml is now trusted with this content. It sets:\n"
        '  mode = code\n  environment = {"A":"********"}\n  servers = {"x":{"command":"\\u001bx"}}\n'
    )
    main(["config"])
    assert "~/project/.accord.toml  (trusted)" in capsys.readouterr().out


def test_trust_is_given_from_any_directory_of_the_project(home, project, capsys):
    (project / ".accord.toml").touch()
    (project / "deep").mkdir()
    assert main(["trust", str(project / "deep")]) == 0
    assert main(["trust", "--list"]) == 0
    assert "~/project/.accord.toml  trusted, since 20" in capsys.readouterr().out


def test_trust_is_not_given_to_what_is_wrong(project, capsys):
    (project / ".accord.toml").write_text("mode = 1")
    assert main(["trust"]) == 1
    assert "~/project/.accord.toml:1: mode: must be text" in capsys.readouterr().err
    main(["trust", "--list"])
    assert capsys.readouterr().out == "No files are trusted.\n"


def test_where_there_is_nothing_to_trust_it_says_so(project, capsys):
    assert main(["trust"]) == 1
    assert (
        capsys.readouterr().err
        == "accord: file not found: no .accord.toml in ~/project or above it in its repository\n"
    )


def test_trust_can_be_taken_back_even_when_the_file_is_gone(project, capsys):
    file = project / ".accord.toml"
    file.touch()
    main(["trust"])
    file.write_text("retries = 1")
    main(["trust", "--list"])
    assert "changed, since" in capsys.readouterr().out
    file.unlink()
    main(["trust", "--list"])
    assert "missing, since" in capsys.readouterr().out
    assert main(["trust", "--revoke"]) == 0
    assert capsys.readouterr().out == "~/project/.accord.toml is no longer trusted.\n"
    assert main(["trust", "--revoke"]) == 1
    assert "is not trusted" in capsys.readouterr().err


@pytest.mark.usefixtures("choices")
def test_permissions_are_listed_by_project(capsys):
    assert main(["permissions"]) == 0
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in words[:-1]] == [
        ["~/accord"],
        ["allowed", "fetch:example.org"],
        ["~/project"],
        ["rejected", "edit"],
        ["allowed", "run:pytest"],
    ]


@pytest.mark.usefixtures("choices")
def test_permissions_of_one_project_are_listed_for_programs(project, capsys):
    assert main(["permissions", ".", "--json"]) == 0
    shown = msgspec.json.decode(capsys.readouterr().out)
    assert [(each["project"], each["scope"], each["allowed"]) for each in shown] == [
        (str(project), "edit", False),
        (str(project), "run:pytest", True),
    ]


def test_permissions_are_taken_back_one_by_one_or_all(choices, project, home, capsys):
    assert main(["permissions", "--revoke", "edit"]) == 0
    assert capsys.readouterr().out == "1 revoked; you will be asked again.\n"
    assert dict(choices.for_project(project)) == {"run:pytest": True}
    assert main(["permissions", "--revoke", "edit"]) == 1
    assert "no answer about 'edit' is saved for ~/project" in capsys.readouterr().err
    assert main(["permissions", "--revoke-all", str(home)]) == 0
    assert [each.scope for each in choices.read()] == ["run:pytest"]


@pytest.mark.usefixtures("project")
def test_without_any_choice_it_says_so(capsys):
    assert main(["permissions"]) == 0
    assert capsys.readouterr().out == "No answers are saved: you are asked every time.\n"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("command", ["config", "trust", "permissions"])
def test_a_directory_that_is_not_there_is_refused(command, capsys):
    assert main([command, "nowhere"]) == 1
    assert capsys.readouterr().err == "accord: not a directory: ~/project/nowhere\n"
