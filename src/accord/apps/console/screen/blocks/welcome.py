"""The first thing on the screen: who is there, what it may do, and how to begin. It names every key that a beginner needs."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.file_changes import short_path
from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.blocks.block import Block, indented
from accord.apps.console.screen.drawing.palette import Ink

__all__ = ["EXAMPLES", "Welcome"]

EXAMPLES = ('create hello.txt with "Hello from accord"', "explain this project", "search for TODO")
"""Every agent understands them; the built-in one does so without a language model."""

_KEYS = (
    ("/", "commands"),
    ("@", "files"),
    ("!", "shell"),
    ("shift+tab", "mode"),
    ("F1", "keys"),
    ("ctrl+q", "leave"),
)


class Welcome(Block):
    """Grows with what becomes known of the agent."""

    def __init__(self, name: str, cwd: str) -> None:
        super().__init__()
        self._name = name
        self._cwd = cwd
        self._agent = ""
        self._choices: list[tuple[str, str]] = []

    def show(self, name: str, agent: str, choices: Sequence[tuple[str, str]]) -> bool:
        """Who it is, and the mode and model in force, each with what the agent says of it. Whether that is news."""
        agent = agent.removeprefix(f"{name} ")
        is_news = (name, agent, list(choices)) != (self._name, self._agent, self._choices)
        if is_news:
            self._name, self._agent, self._choices = name, agent, list(choices)
            self.touch()
        return is_news

    def plain(self) -> str:
        return f"{self._name} in {self._cwd}"

    def draw(self, ink: Ink) -> list[Strip]:
        palette, inner = ink.palette, ink.narrower(4)
        who = Text.assemble((one_line(self._name), palette.heading))
        if self._agent:
            who.append(f"  {one_line(self._agent)}", palette.muted)
        who.append(f"  in {one_line(short_path(self._cwd, ''))}", palette.muted)
        lines = [who, Text(), Text("Write what you want done and press Enter.")]
        told = [(one_line(name, 30), one_line(meaning)) for name, meaning in self._choices if meaning]
        widest = max([len(name) for name, _ in told], default=0)
        lines += [
            Text.assemble((name.ljust(widest + 2), palette.accent), (meaning, palette.muted)) for name, meaning in told
        ]
        begin = Text.assemble(
            ("Tab", Style(bold=True)), " takes an example, ", ("Enter", Style(bold=True)), " sends it:"
        )
        lines += [Text(), begin, *(Text(f"  {example}", palette.accent) for example in EXAMPLES), Text()]
        keys = Text("   ").join(
            Text.assemble((key, Style(bold=True)), (f" {meaning}", palette.muted)) for key, meaning in _KEYS
        )
        return indented([*map(inner.clipped, lines), *inner.wrapped(keys)], 2)
