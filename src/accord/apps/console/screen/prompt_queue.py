"""The queue of prompts that wait for the running turn, when the next one is sent, and the panel that lists them.

Law: prompts are sent one at a time, in their order. After the user has stopped a turn the queue is held: nothing is sent
until the user sends something.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from rich.style import Style
from rich.text import Text
from textual import events
from textual.message import Message

from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.drawing.palette import Palette
from accord.apps.console.screen.key_bindings import KeyBindings
from accord.apps.console.screen.widgets.lines_view import Panel


class PromptQueue:
    """`can_send` says whether the session can take a prompt now; `send` sends it; `on_change` is called after each change."""

    def __init__(
        self, can_send: Callable[[], bool], send: Callable[[str], None], on_change: Callable[[], None]
    ) -> None:
        self.prompts: list[str] = []
        self.is_held = False
        self._can_send = can_send
        self._send = send
        self._on_change = on_change

    def __bool__(self) -> bool:
        return bool(self.prompts)

    def send(self, text: str, *, is_first: bool = False) -> None:
        """Send the prompt as soon as possible, after all others or before them."""
        self.is_held = False
        self.put(text, 0 if is_first else len(self.prompts))
        self.send_next()

    def put(self, text: str, index: int = 0) -> None:
        self.prompts.insert(index, text)
        self._on_change()

    def take(self, index: int = 0) -> str:
        """Remove a prompt, to edit or to send it."""
        text = self.prompts.pop(index)
        self._on_change()
        return text

    def hold(self, is_held: bool = True) -> None:
        self.is_held = is_held
        self._on_change()

    def send_next(self) -> None:
        """Send the first prompt, if that is possible now."""
        if self.prompts and not self.is_held and self._can_send():
            self._send(self.take())

    def held_reason(self, key: str, *, is_unsettled: bool) -> str:
        """Why the prompts are not sent automatically; empty if they are. `key` sends. `is_unsettled`: see `SessionTab`."""
        if is_unsettled:
            return f"held: the agent is not in the mode you chose, {key} sends anyway"
        return f"held after the stop, {key} continues" if self.is_held else ""


MOST_PROMPTS = 5
QueueAction: TypeAlias = Literal["edit", "remove", "send"]


class QueuePanel(Panel, can_focus=True):
    """Lists the queued prompts; one of them is selected."""

    class Chosen(Message):
        """The user wants to edit, remove or send the prompt at an index."""

        def __init__(self, index: int, action: QueueAction) -> None:
            super().__init__()
            self.index = index
            self.action: QueueAction = action

    BINDINGS = [
        ("up", "move(-1)", "Up"),
        ("down", "move(1)", "Down"),
        ("enter,e", "choose('edit')", "Edit"),
        ("x,delete,backspace", "choose('remove')", "Remove"),
        ("s", "choose('send')", "Send now"),
    ]

    def __init__(self, keys: KeyBindings, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.index = 0
        self._keys = keys
        self._prompts: list[str] = []
        self._palette: Palette | None = None
        self._held_reason = ""

    def set_queue(self, prompts: Sequence[str], palette: Palette, *, held_reason: str = "") -> None:
        """`held_reason`: why the prompts are not sent automatically."""
        self._prompts, self._palette, self._held_reason = list(prompts), palette, held_reason
        self.index = max(0, min(self.index, len(prompts) - 1))
        self._draw()

    def _draw(self) -> None:
        palette, prompts = self._palette, self._prompts
        if palette is None or not prompts:
            self.set_text(Text())
            return
        select = f"↑ edit the last · {self._keys.hint('next_focus')} selects"
        hint = "Enter edit · x remove · s send now" if self.has_focus else select
        reason = f"{self._held_reason} · " if self._held_reason else ""
        heading = (f" Next {len(prompts)} ", palette.heading)
        lines = [Text.assemble(heading, (reason, palette.warning), (hint, palette.muted))]
        start = max(0, min(self.index - MOST_PROMPTS + 2, len(prompts) - MOST_PROMPTS)) if self.has_focus else 0
        end = min(len(prompts), start + MOST_PROMPTS)
        if start:
            lines.append(Text(f"   … {start} before", palette.muted))
        for index, text in enumerate(prompts[start:end], start=start):
            is_selected = self.has_focus and index == self.index
            mark = ("▸ ", palette.accent) if is_selected else (f"{index + 1} ", palette.muted)
            line = Text.assemble(" ", mark, (one_line(text), palette.text))
            line.stylize(Style(meta={"index": index}))
            lines.append(line)
        if end < len(prompts):
            lines.append(Text(f"   … {len(prompts) - end} more", palette.muted))
        self.set_text(Text("\n", no_wrap=True, overflow="ellipsis").join(lines))

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self._draw()

    def on_click(self, event: events.Click) -> None:
        self.index = event.style.meta.get("index", self.index)
        self._draw()

    def action_move(self, step: int) -> None:
        """Select another prompt. Down from the last one moves the focus to the prompt editor."""
        self.index += step
        if self.index >= len(self._prompts):
            self.screen.focus_next("PromptEditor")
        self.index = max(0, min(self.index, len(self._prompts) - 1))
        self._draw()

    def action_choose(self, action: QueueAction) -> None:
        self.post_message(self.Chosen(self.index, action))
