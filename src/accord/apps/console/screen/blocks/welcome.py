"""The welcome of a new session: the agent, its mode, examples, and the keys that a beginner needs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.file_changes import short_path
from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.blocks.block import Block, indent
from accord.apps.console.screen.drawing.palette import Canvas
from accord.apps.console.screen.key_bindings import SEND, KeyBindings
from accord.transports.installation import program_command

EXAMPLES = ('create hello.txt with "Hello from accord"', "explain this project", "search for TODO")
"""Every agent understands them; the built-in agent does so without a language model."""


@cache
def no_model_hint() -> str:
    """What to do if the built-in agent has no other model than its offline one."""
    return f"A real model: set OPENAI_API_KEY and run `{program_command()} --model openai:gpt-5`"


_KEYS = ("next_mode", "mode"), ("keys", "keys"), ("exit", "quit")
"""Actions with a key, and what the welcome calls them."""


class Welcome(Block):
    """Shows more about the agent as it becomes known."""

    def __init__(self, name: str, cwd: str, keys: KeyBindings) -> None:
        super().__init__()
        self._keys = keys
        self._name = name
        self._cwd = cwd
        self._agent = ""
        self._choices: list[tuple[str, str]] = []
        self._hint = ""

    def show(self, name: str, agent: str, choices: Sequence[tuple[str, str]], hint: str = "") -> bool:
        """Show the agent, the current mode and model with their descriptions, and a hint; returns whether it changed."""
        agent = agent.removeprefix(f"{name} ")
        has_changed = (name, agent, list(choices), hint) != (self._name, self._agent, self._choices, self._hint)
        if has_changed:
            self._name, self._agent, self._choices, self._hint = name, agent, list(choices), hint
            self.invalidate()
        return has_changed

    def plain(self) -> str:
        return f"{self._name} in {self._cwd}"

    def draw(self, canvas: Canvas) -> list[Strip]:
        palette, inner = canvas.palette, canvas.narrower(4)
        agent = Text.assemble((one_line(self._name), palette.heading))
        if self._agent:
            agent.append(f"  {one_line(self._agent)}", palette.muted)
        agent.append(f"  in {one_line(short_path(self._cwd, ''))}", palette.muted)
        lines = [agent, Text(), Text(f"Type what you want done and press {self._keys.hint(SEND)}.")]
        choices = [(one_line(name, 30), one_line(meaning)) for name, meaning in self._choices if meaning]
        widest = max([len(name) for name, _ in choices], default=0)
        lines += [
            Text.assemble((name.ljust(widest + 2), palette.accent), (meaning, palette.muted))
            for name, meaning in choices
        ]
        hint = inner.wrap(Text(self._hint, palette.warning)) if self._hint else []
        examples = [Text(), self._example_hint(), *(Text(f"  {each}", palette.accent) for each in EXAMPLES), Text()]
        named = [("/", "commands"), ("@", "files"), ("!", "shell")]
        named += [(self._keys.hint(name), meaning) for name, meaning in _KEYS]
        keys = Text("   ").join(
            Text.assemble((key, Style(bold=True)), (f" {meaning}", palette.muted)) for key, meaning in named
        )
        return indent([*map(inner.clip, lines), *hint, *map(inner.clip, examples), *inner.wrap(keys)], 2)

    def _example_hint(self) -> Text:
        bold, keys = Style(bold=True), self._keys
        insert = (
            [(keys.label("next_focus"), bold), " inserts an example, "] if keys.of("next_focus") else ["For example, "]
        )
        return Text.assemble(*insert, (keys.hint(SEND), bold), " sends it:")
