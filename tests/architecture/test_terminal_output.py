"""Every way to the user's terminal, and what holds at each: no words of an agent or a repository are obeyed there.

There are three: the streams of commands (`accord.cli`), the lines of a run (`OutputStream`), and the widgets of the screen, whose lines all
pass one filter. What is written elsewhere would be a fourth, which a test here finds.
"""

from __future__ import annotations

import ast
import io
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import (
    Button,
    Checkbox,
    Input,
    Label,
    Markdown,
    OptionList,
    RichLog,
    Select,
    SelectionList,
    Static,
    TextArea,
)

from accord import cli
from accord.apps.console.run.output_stream import OutputStream
from accord.apps.console.sanitizer import strip_controls
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened

SOURCE = Path(__file__).resolve().parents[2] / "src" / "accord"
SEQUENCE = "\x1b]52;c;UFdORUQ=\x1b\\\x9b2J\x07\r\x08MARK"
SANITISERS = {"escape_json", "keep_colours", "strip_controls"}
DOORS = {
    "apps/coder/models/local_server.py": "a pipe to the agent, of which this is a child",
    "apps/console/run/output_stream.py": "`OutputStream`",
    "apps/console/screen/app.py": "the title of the window",
    "apps/console/screen/drawing/palette.py": "a console that nothing is written to",
    "apps/console/screen/drawing/markdown.py": "the same one",
    "apps/console/tty.py": "whether there are terminals",
    "apps/console/talk_command.py": "whether there are terminals",
    "cli/help_topics.py": "whether there are terminals: a pager shows pages of ours",
    "transports/stdio.py": "the messages of the protocol",
}
"""Where the terminal may be touched, apart from `sys.stdout.write` and `sys.stderr.write`, which `accord.cli` has prepared."""


def ways_used(tree: ast.AST) -> set[str]:
    """The attributes and names by which something else than a widget or a prepared stream reaches a terminal."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found |= {node.attr} & {"__stdout__", "__stderr__", "_driver", "buffer"}
        elif isinstance(node, ast.Name):
            found |= {node.id} & {"print"}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rich"):
            found |= {alias.name for alias in node.names} & {"Console", "Live", "Progress", "print"}
    return found


def test_nothing_reaches_the_terminal_by_another_way():
    trees = {
        str(file.relative_to(SOURCE)): ast.parse(file.read_text(encoding="utf-8")) for file in SOURCE.rglob("*.py")
    }
    assert {path for path, tree in trees.items() if ways_used(tree)} == set(DOORS)


def test_what_is_written_past_the_widgets_is_sanitised_in_the_same_line():
    """Titles of windows, and lines that are bytes already."""
    for path, method in [
        ("apps/console/screen/app.py", "write"),
        ("apps/console/run/raw_updates.py", "write_bytes"),
        ("apps/console/run/output_stream.py", "write"),
    ]:
        tree = ast.parse((SOURCE / path).read_text(encoding="utf-8"))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        writes = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == method]
        assert writes, path
        for call in writes:
            if path.endswith("output_stream.py") and ast.unparse(call) == "self._writer.write(line)":
                continue  # `write_bytes` itself
            used = {
                node.func.id
                for node in ast.walk(call)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            }
            assert used & SANITISERS, ast.unparse(call)


def test_only_the_program_chooses_what_filters_the_lines_of_widgets():
    defined: dict[str, str] = {}
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name in ("get_line_filters", "render_lines"):
                defined[f"{file.relative_to(SOURCE)}: {node.name}"] = ast.unparse(node.body[-1])
    assert defined == {
        "apps/console/screen/app.py: get_line_filters": "return [*super().get_line_filters(), self._control_filter]",
        "apps/console/screen/widgets/blocks_view.py: render_lines": "return super().render_lines(crop)",
    }


class Raw(Screen[None]):
    """Widgets of many kinds that show a text as it came, which none of ours does."""

    def compose(self) -> ComposeResult:
        yield Static(SEQUENCE, markup=False)
        yield Label(Content(SEQUENCE))
        yield Input(SEQUENCE, compact=True)
        yield Input(placeholder=SEQUENCE, compact=True)
        yield Button(Content(SEQUENCE), compact=True)
        yield Checkbox(Content(SEQUENCE), compact=True)
        yield TextArea(SEQUENCE, compact=True)
        yield Select([(Content(SEQUENCE), "a")], value="a", compact=True)
        yield SelectionList((Content(SEQUENCE), "a"), compact=True)
        yield OptionList(Content(SEQUENCE), compact=True)
        yield Markdown(f"[{SEQUENCE}](http://a{SEQUENCE}) `{SEQUENCE}`")
        yield RichLog()

    def on_mount(self) -> None:
        self.query_one(RichLog).write(SEQUENCE)
        self.query_one(Static).border_title = Content(SEQUENCE)
        self.query_one(Static).styles.border = ("round", "red")


def written(strips: list[Strip]) -> str:
    """What goes to the terminal of lines, without the colours that Textual writes itself."""
    segments = [segment for strip in strips for segment in strip]
    links = [segment.style.link or "" for segment in segments if segment.style is not None]
    return "".join([*(segment.text for segment in segments), *links])


async def test_no_widget_of_any_kind_writes_a_control_character(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, size=(120, 90)) as stage:
        page = Raw()
        await stage.app.push_screen(page)
        stage.app.notify(SEQUENCE, title=SEQUENCE, markup=False)
        await stage.until(lambda: stage.text.count("MARK") >= 10)
        text = written(stage.app.screen._compositor.render_strips())
        assert text == strip_controls(text)
        drawn = [widget.render_line(0) for widget in page.query("Static, Input").results()]
        assert "\x1b" in "".join(segment.text for strip in drawn for segment in strip), "they need no filter"


async def test_no_line_of_a_run_holds_a_sequence_but_colours(tmp_path):
    path = tmp_path / "written"
    with path.open("wb") as file:
        output = OutputStream(file.fileno(), is_terminal=True)
        output.write(f"\x1b[31m{SEQUENCE}\x1b[0m\t\n\x1b[8m")
        await output.finish()
        output.close()
    assert path.read_bytes().decode() == "\x1b[31m␛]52;c;UFdORUQ=␛\\<U+009B>2J␇␍␈MARK\x1b[0m\t\n␛[8m"


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_no_command_writes_a_sequence_but_colours(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    stream: Any = FakeTerminal()
    monkeypatch.setattr(sys, name, stream)
    monkeypatch.setattr(cli, "_run", lambda words: _say(name))
    assert cli.main([]) == 0
    assert stream.getvalue() == "\x1b[1;34m\\x1b]52;c;UFdORUQ=\\x1b\\\\x9b2J\\x07\\x0d\\x08MARK\x1b[0m\n\\x1b[8m"


def _say(name: str) -> int:
    getattr(sys, name).write(f"\x1b[1;34m{SEQUENCE}\x1b[0m\n")
    getattr(sys, name).writelines(["\x1b[8m"])
    return 0


def test_a_pipe_gets_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(cli, "_run", lambda words: _say("stdout"))
    assert cli.main([]) == 0
    assert SEQUENCE in stream.getvalue()
