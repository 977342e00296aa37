"""Vim's keys in the prompt: each command alone, against vim itself, and on the screen."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from accord.apps.console.screen.widgets.vim_keys import Location, Step, VimKeys
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened

TEXT = "one two.three\n\n  four  five_6 (seven)\nlast"


class Buffer:
    """A text with a cursor, and vim's keys on it."""

    def __init__(self, text: str, cursor: Location = (0, 0)) -> None:
        self.lines, self.cursor = text.split("\n"), cursor
        self.keys = VimKeys()
        self.keys.is_normal = True
        self.steps: list[Step | None] = []

    def type(self, keys: str) -> Buffer:
        for key in keys:
            if key == "\x1b":
                self.cursor = self.keys.escape(self.cursor)
            elif self.keys.is_normal:
                self._do(self.keys.press(key, self.lines, self.cursor))
            else:
                self._replace(self.cursor, self.cursor, key)
                self.cursor = (self.cursor[0], self.cursor[1] + 1)
        return self

    def give(self, command: str) -> None:
        """Type a command and what is inserted by it, which is left out if the command is impossible."""
        for key in command:
            self.type(key)
            if self.keys.is_normal and not self.keys.is_pending:
                break

    def _do(self, step: Step | None) -> None:
        self.steps.append(step)
        if step is not None and step.start is not None:
            self._replace(step.start, step.end, step.text)
        if step is not None and step.cursor is not None:
            self.cursor = step.cursor

    def _replace(self, start: Location, end: Location, text: str) -> None:
        before, after = self.lines[start[0]][: start[1]], self.lines[end[0]][end[1] :]
        self.lines[start[0] : end[0] + 1] = f"{before}{text}{after}".split("\n")

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@pytest.mark.parametrize(
    ("keys", "text", "cursor"),
    [
        ("w", None, (0, 4)),
        ("3w", None, (0, 8)),
        ("4w", None, (1, 0)),
        ("5w", None, (2, 2)),
        ("e", None, (0, 2)),
        ("wb", None, (0, 0)),
        ("$", None, (0, 12)),
        ("$0", None, (0, 0)),
        ("3G0", None, (2, 0)),
        ("3G", None, (2, 2)),
        ("G", None, (3, 0)),
        ("Ggg", None, (0, 0)),
        ("2jl", None, (2, 1)),
        ("lllj", None, (1, 0)),
        ("2lh", None, (0, 1)),
        ("99l", None, (0, 12)),
        ("x", "ne two.three", (0, 0)),
        ("3x", " two.three", (0, 0)),
        ("$x", "one two.thre", (0, 11)),
        ("dw", "two.three", (0, 0)),
        ("2dw", ".three", (0, 0)),
        ("d2w", ".three", (0, 0)),
        ("wd$", "one ", (0, 3)),
        ("wD", "one ", (0, 3)),
        ("wd0", "two.three", (0, 0)),
        ("de", " two.three", (0, 0)),
        ("$db", "one two.e", (0, 8)),
        ("cwONE\x1b", "ONE two.three", (0, 2)),
        ("wC2\x1b", "one 2", (0, 4)),
        ("ccnew\x1b", "new", (0, 2)),
        ("ihey \x1b", "hey one two.three", (0, 3)),
        ("aX\x1b", "oXne two.three", (0, 1)),
        ("A!\x1b", "one two.three!", (0, 13)),
        ("$I>\x1b", ">one two.three", (0, 0)),
        ("ywP", "one one two.three", (0, 3)),
        ("ye$p", "one two.threeone", (0, 15)),
        ("xp", "noe two.three", (0, 1)),
        ("dq", None, (0, 0)),
        ("dy", None, (0, 0)),
        ("3\x1bx", "ne two.three", (0, 0)),
        ("z", None, (0, 0)),
    ],
)
def test_each_command(keys, text, cursor):
    buffer = Buffer(TEXT).type(keys)
    first, *rest = TEXT.split("\n")
    assert buffer.lines == [first if text is None else text, *rest]
    assert buffer.cursor == cursor
    assert not buffer.keys.is_pending


@pytest.mark.parametrize(
    ("keys", "text", "cursor"),
    [
        ("dd", "\n  four  five_6 (seven)\nlast", (0, 0)),
        ("2dd", "  four  five_6 (seven)\nlast", (0, 2)),
        ("Gdd", "one two.three\n\n  four  five_6 (seven)", (2, 2)),
        ("9dd", "", (0, 0)),
        ("dj", "  four  five_6 (seven)\nlast", (0, 2)),
        ("Gdk", "one two.three\n", (1, 0)),
        ("dG", "", (0, 0)),
        ("jdgg", "  four  five_6 (seven)\nlast", (0, 2)),
        ("yyp", "one two.three\none two.three\n\n  four  five_6 (seven)\nlast", (1, 0)),
        ("yyGP", "one two.three\n\n  four  five_6 (seven)\none two.three\nlast", (3, 0)),
        ("Y2p", "one two.three\none two.three\none two.three\n\n  four  five_6 (seven)\nlast", (1, 0)),
        ("onew\x1b", "one two.three\nnew\n\n  four  five_6 (seven)\nlast", (1, 2)),
        ("Onew\x1b", "new\none two.three\n\n  four  five_6 (seven)\nlast", (0, 2)),
        ("cjnew\x1b", "new\n  four  five_6 (seven)\nlast", (0, 2)),
    ],
)
def test_each_command_on_lines(keys, text, cursor):
    buffer = Buffer(TEXT).type(keys)
    assert (buffer.text, buffer.cursor) == (text, cursor)


def test_j_and_k_leave_the_text_at_its_edges_but_not_with_a_count():
    assert [step and step.leaves for step in Buffer("a\nb").type("kjj").steps] == [-1, 0, 1]
    assert [step and step.leaves for step in Buffer("a\nb").type("5k5j").steps][1::2] == [0, 0]


def test_u_undoes_as_many_changes_as_its_count_says():
    assert [step and step.undo for step in Buffer("a").type("u3u").steps] == [1, None, 3]


MOTIONS = ["h", "j", "k", "l", "w", "b", "e", "0", "^", "$", "gg", "G"]
COMMANDS = [
    *MOTIONS,
    *("x", "X", "D", "p", "P", "dd", "yy", "Y", "cc+\x1b", "C-\x1b"),
    *(f"{operator}{motion}" for operator in ("d", "y") for motion in MOTIONS),
    *(f"c{motion}ch\x1b" for motion in MOTIONS),
]
INSERTIONS = ["iin\x1b", "aad\x1b", "Ibe\x1b", "Aen\x1b", "obl\x1b", "Oab\x1b"]  # without counts, unlike vim


def _cases(number: int) -> list[tuple[str, list[str]]]:
    """Texts, and commands to give there."""
    chance = random.Random(7)
    words = ["one", "two_2", ".", "(x)", "a.b", "  ", " ", "ünï", "-->", "y"]

    def line() -> str:
        return "".join(chance.choice(words) for _ in range(chance.randrange(6)))

    def lines() -> list[str]:
        return [f"one{line()}", *(line() for _ in range(chance.randrange(5)))]

    def command() -> str:
        if chance.random() < 0.1:
            return chance.choice(INSERTIONS)
        command = chance.choice(COMMANDS)
        return command if command == "0" else chance.choice(["", "", "2", "3"]) + command  # `20` is a count

    return [("\n".join(lines()), [command() for _ in range(chance.randrange(1, 7))]) for _ in range(number)]


@pytest.mark.skipif(shutil.which("vim") is None, reason="there is no vim to compare with")
def test_the_keys_do_what_vim_does(tmp_path: Path):
    cases = _cases(2000)
    script = f"""
        set nocompatible cpoptions-=_ encoding=utf-8 virtualedit= whichwrap= startofline noautoindent nojoinspaces
        let results = []
        for case in json_decode(join(readfile('{tmp_path}/cases.json'), ''))
            enew!
            call setline(1, case[0])
            call cursor(1, 1)
            call setreg('"', '', 'c')
            for keys in case[1]
                execute 'normal! ' . keys
            endfor
            call add(results, [join(getline(1, '$'), "\\n"), line('.') - 1, charcol('.') - 1])
        endfor
        call writefile([json_encode(results)], '{tmp_path}/results.json')
        qall!
    """
    split = [[text.split("\n"), commands] for text, commands in cases]
    (tmp_path / "cases.json").write_text(json.dumps(split), encoding="utf-8")
    (tmp_path / "script.vim").write_text(script, encoding="utf-8")
    vim = ["vim", "-u", "NONE", "-i", "NONE", "-n", "-N", "-es", "-S", str(tmp_path / "script.vim")]
    subprocess.run(vim, check=False, stdin=subprocess.DEVNULL, timeout=60)
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    different = {}
    for (text, commands), (vims, row, column) in zip(cases, results, strict=True):
        buffer = Buffer(text)
        for command in commands:
            buffer.give(command)
        if (buffer.text, buffer.cursor) != (vims, (row, column)):
            different[text, *commands] = (buffer.text, buffer.cursor), (vims, (row, column))
    assert different == {}


async def test_the_prompt_has_the_modes_and_shows_them(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("Heard."))
    async with opened(agent, tmp_path, version=1, vim=True) as stage:
        await stage.shows("INSERT")
        await stage.type("one two three")
        await stage.press("escape")
        await stage.shows("NORMAL")
        await stage.type("b2d")
        await stage.shows("NORMAL 2d")
        await stage.press("b")
        assert stage.prompt == "three"
        await stage.press("u")
        assert stage.prompt == "one two three"
        await stage.type("A!")
        await stage.shows("INSERT")
        await stage.press("escape")
        await stage.type("0dw")
        assert stage.prompt == "two three!"
        await stage.press("enter")
        await stage.shows("Heard.", "INSERT")
        assert stage.prompt == ""
        await stage.press("escape", "k")
        assert stage.prompt == "two three!"  # from the history


async def test_escape_goes_to_normal_mode_first_and_then_stops_the_agent(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1, vim=True) as stage:
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        await stage.type("next")
        await stage.press("escape")
        await stage.shows("NORMAL")
        assert agent.calls("session/cancel") == []
        await stage.press("escape")
        await agent.next("session/cancel")
        agent.finish(asked, "cancelled")


async def test_without_the_setting_there_are_no_modes(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, version=1) as stage:
        await stage.type("text")
        await stage.press("escape")
        await stage.type("dd")
        assert stage.prompt == "textdd"
        assert "NORMAL" not in stage.text
