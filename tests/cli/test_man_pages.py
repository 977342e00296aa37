"""Man pages made from the parsers: well-formed, and with every argument."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from accord.cli import main
from accord.cli.commands import COMMANDS, TALK, Subcommand
from accord.cli.man_pages import man_page, write_man_pages
from accord.cli.parser import new_parser

MACROS = {"TH", "SH", "SS", "B", "BR", "TP", "PP"}
ESCAPES = r"\\(?:fB|fI|fR|-|e|&|\(ga|\(ha|\(ti|\(dq)"


def plain(page: str) -> str:
    """The words of a page."""
    page = re.sub(r"\\f[BIR]", "", page)
    for escape, sign in {r"\(ga": "`", r"\(ti": "~", r"\(dq": '"', r"\-": "-", r"\&": "", r"\e": "\\"}.items():
        page = page.replace(escape, sign)
    return " ".join(page.split())


@pytest.mark.parametrize("command", [TALK, *COMMANDS.values()], ids=lambda command: command.name or "accord")
class TestAPage:
    def test_has_only_macros_and_escapes_that_there_are(self, command: Subcommand):
        page = man_page(command)
        assert page.startswith(".TH ACCORD")
        for line in page.splitlines():
            assert line.strip()
            assert not line.startswith("'")
            if line.startswith("."):
                assert line[1:].split()[0] in MACROS, line
            assert "\\" not in re.sub(ESCAPES, "", line), line
            assert line.count("\\fB") + line.count("\\fI") == line.count("\\fR"), line

    def test_has_the_sections_that_readers_expect(self, command: Subcommand):
        headings = re.findall(r"^\.SH (.*)$", man_page(command), re.MULTILINE)
        assert [each for each in headings if each not in ("COMMANDS", "ARGUMENTS")] == [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "EXIT STATUS",
            "SEE ALSO",
        ]

    def test_says_what_the_help_says(self, command: Subcommand):
        words, parser = plain(man_page(command)), new_parser(command)
        assert " ".join((parser.description or "").split()) in words
        for action in parser._actions:
            assert " ".join((action.help or "").split()) in words
            assert ", ".join(action.option_strings) in words

    @pytest.mark.interop
    def test_is_read_by_man_without_a_warning(self, command: Subcommand, tmp_path: Path):
        if shutil.which("man") is None:
            pytest.skip("no man")
        path = tmp_path / "page.1"
        path.write_text(man_page(command), encoding="utf-8")
        shown = subprocess.run(
            ["man", "--warnings=w", "-l", "-E", "UTF-8", "-P", "cat", str(path)],
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANROFFOPT": ""},
            capture_output=True,
            text=True,
            check=True,
        )
        assert shown.stderr == ""
        assert "EXIT STATUS" in shown.stdout
        assert "--help" in shown.stdout


def test_they_are_written_where_man_looks_for_them(project: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["help", "--man", "pages"]) == 0
    names = {path.name for path in (project / "pages" / "man1").iterdir()}
    assert names == {"accord.1", *(f"accord-{name}.1" for name in COMMANDS)}
    assert capsys.readouterr().out.splitlines()[0] == "pages/man1/accord.1"
    assert len(write_man_pages("pages")) == len(names)
