"""The first thing on the screen: who is there, and what can be done right away."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.sanitising import one_line
from accord.apps.console.screen.blocks.block import Block, indented
from accord.apps.console.screen.drawing.ink import Ink
from accord.apps.console.screen.drawing.places import short_path
from accord.session.entities import Command

__all__ = ["Welcome"]

_KEYS = (("/", "commands"), ("@", "files"), ("!", "shell"), ("shift+tab", "mode"), ("F1", "all keys"))


class Welcome(Block):
    """Grows with what becomes known of the agent."""

    def __init__(self, name: str, cwd: str) -> None:
        super().__init__()
        self._name = name
        self._cwd = cwd
        self._agent = ""
        self._commands: list[Command] = []

    def show(self, agent: str, commands: Sequence[Command]) -> None:
        if (agent, list(commands)) != (self._agent, self._commands):
            self._agent, self._commands = agent, list(commands)
            self.touch()

    def plain(self) -> str:
        return f"{self._name} in {self._cwd}"

    def draw(self, ink: Ink) -> list[Strip]:
        palette, inner = ink.palette, ink.narrower(4)
        who = Text.assemble((one_line(self._name), palette.heading))
        if self._agent:
            who.append(f"  {one_line(self._agent)}", palette.muted)
        who.append(f"  in {one_line(short_path(self._cwd, ''))}", palette.muted)
        lines = [who, Text(), Text("Say what you want changed or explained. Nothing is done without your yes.")]
        shown = self._commands[:4]
        if shown:
            widest = max(len(command.name) for command in shown)
            lines += [Text(), Text("Or begin with one of its commands:", palette.muted)]
            lines += [
                Text.assemble(
                    (f"  /{one_line(command.name, 30)}".ljust(widest + 5), palette.accent),
                    (one_line(command.description), palette.text),
                )
                for command in shown
            ]
        keys = Text()
        for key, meaning in _KEYS:
            keys.append(key, Style(bold=True)).append(f" {meaning}   ", palette.muted)
        return indented([inner.clipped(line) for line in [*lines, Text(), keys]], 2)
