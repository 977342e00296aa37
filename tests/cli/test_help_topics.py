"""`accord help`: every page of the documentation for users, wherever accord is installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from accord.cli import main
from accord.cli.commands import COMMANDS
from accord.cli.help_topics import PAGES, TOPICS, read_page, topic_text
from tests.apps.console.terminal import at_terminal

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FOR_CONTRIBUTORS = {"index.md", "benchmarks.md", "finding.md", "layers.md"}


def test_every_page_for_users_is_a_topic_and_the_index_has_it():
    pages = {path.relative_to(DOCS).as_posix() for path in [*DOCS.glob("*.md"), *DOCS.glob("guide/*.md")]}
    assert set(PAGES.values()) == pages - FOR_CONTRIBUTORS
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert [page for page in PAGES.values() if f"({page})" not in index] == []


def test_it_lists_commands_and_topics(project: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["help"]) == 0
    shown = capsys.readouterr().out
    for name, page in PAGES.items():
        title = (DOCS / page).read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
        assert re.search(rf"^  {name} +{re.escape(title)}$", shown, re.MULTILINE)
    assert all(f"\n{group}, with" in shown for group in TOPICS)
    assert all(f"\n  {name} " in shown for name in COMMANDS)


@pytest.mark.parametrize("name", PAGES)
def test_every_page_fits_and_names_no_file_that_is_not_there(name: str):
    text = topic_text(name, 80)
    prose = [line for line in text.splitlines() if not line.startswith("    ") and "`" not in line]
    assert [line for line in prose if len(line) > 80 and " " in line.strip()] == []
    assert re.findall(r"\]\([^)]*\)", re.sub(r"^    .*$", "", text, flags=re.MULTILINE)) == []
    assert [
        topic for topic in re.findall(r"`accord help ([\w-]+)`", text) if topic not in {*PAGES, *COMMANDS, "TOPIC"}
    ] == []


class TestATopic:
    def test_that_is_a_command_has_both(self, project: Path, capsys: pytest.CaptureFixture[str]):
        assert main(["help", "run"]) == 0
        shown = capsys.readouterr().out
        assert shown.startswith("usage: accord run [options]")
        assert "\nAGENTS FROM THE COMMAND LINE\n" in shown
        assert "\nEXIT STATUSES\n\nstatus\n0       the agent ended its turn" in shown

    def test_a_command_with_a_page_of_another_name_says_so(self, project: Path, capsys: pytest.CaptureFixture[str]):
        assert main(["help", "trust"]) == 0
        assert capsys.readouterr().out.endswith("`accord help settings` tells more.\n")

    def test_an_agent_has_the_help_of_the_screen(self, project: Path, capsys: pytest.CaptureFixture[str]):
        assert main(["help", "gemini"]) == 0
        assert capsys.readouterr().out.startswith("usage: accord [options] [AGENT]")

    def test_one_section_of_it(self, project: Path, capsys: pytest.CaptureFixture[str]):
        assert main(["help", "run", "EXIT"]) == 0
        shown = capsys.readouterr().out
        assert shown.startswith("EXIT STATUSES\n")
        assert "EVENTS" not in shown

    def test_an_example_is_printed(self, project: Path, capsys: pytest.CaptureFixture[str]):
        assert main(["help", "examples", "echo_agent.py"]) == 0
        assert capsys.readouterr().out == (ROOT / "examples" / "echo_agent.py").read_text(encoding="utf-8")
        assert main(["help", "examples", "../pyproject.toml"]) == 2

    def test_that_there_is_not_is_refused_with_the_nearest(self, project: Path, capsys: pytest.CaptureFixture[str]):
        assert main(["help", "setings"]) == 2
        assert capsys.readouterr().err == (
            "accord: there is no topic 'setings'; did you mean 'settings'?\n  `accord help` lists them\n"
        )
        assert main(["help", "run", "evnts"]) == 2
        told = capsys.readouterr().err
        assert told.startswith(
            "accord: there is no section 'evnts' in the page 'run'; did you mean 'Events'?\n  It has: "
        )


async def test_a_long_page_goes_through_the_pager_of_the_user(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PAGER", f"tee {tmp_path / 'paged'}")
    monkeypatch.delenv("MANPAGER", raising=False)
    async with at_terminal("help", "run", cwd=project) as (terminal, accord):
        await terminal.sees("SIGTERM")
        assert await accord.wait() == 0
    assert (tmp_path / "paged").read_text().startswith("usage: accord run")


def test_no_message_points_to_a_file_of_the_repository():
    """What a user of the wheel reads names topics, not files that are only in a checkout."""
    found: list[str] = []
    for path in (ROOT / "src").rglob("*.py"):
        text = re.sub(r'"""(?:.|\n)*?"""', "", path.read_text(encoding="utf-8"))
        found += [f"{path.name}: {name}" for name in re.findall(r"(?<!\.com/)(?<!goose/)\bdocs/[\w./-]+", text)]
        found += [f"{path.name}: {name}" for name in re.findall(r"\b(?:README|CONTRIBUTING)\.md\b", text)]
    assert found == []


def test_a_page_is_read_from_the_package_or_the_checkout():
    assert read_page("run").startswith("# Agents from the command line")
