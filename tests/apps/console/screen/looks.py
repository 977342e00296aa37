"""A story with one of everything, and what a screen shows of it cell by cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.style import Style
from textual.color import Color
from textual.geometry import Region

from accord import Agent, Turn
from accord.session.entities import Exit, PlanEntry
from accord.session.updates import TerminalAppend, TerminalPatch

OLD = 'def greet(name):\n    """Say hello."""\n    return "Hello " + name  # everybody\n'
NEW = 'def greet(name: str) -> str:\n    """Say hello."""\n    return f"Hello {name}"  # 1 or all\n'
SAID = (
    "# Found\n\nIt is **here**, `there` and [elsewhere](https://example.org).\n\n> quoted\n\n1. one\n   - two\n\n"
    "| a | b |\n|---|---|\n| `x` | 2 |\n\n```python\n@cached\nclass A(B):\n    n = 0x1F  # said\n    s = 'text'\n```\n"
)

agent = Agent("painter", version="1.0")


@agent.prompt
async def story(turn: Turn) -> None:
    match turn.text:
        case "form":
            fields = {"name": {"type": "string", "title": "Name"}, "loud": {"type": "boolean", "title": "Loud"}}
            await turn.ask("Which one?", fields)
        case "link":
            await turn.ask_to_open("Please log in", "https://example.org", "1")
        case "edit":
            async with turn.tool_call("Edit a.py", kind="edit", locations=[turn.cwd / "a.py"]) as edit:
                await edit.diff(turn.cwd / "a.py", OLD, NEW)
                await turn.allowed(edit)
        case _:
            await _everything(turn)


async def _everything(turn: Turn) -> None:
    await turn.think("First this.\nThen that.")
    await turn.plan([PlanEntry("One", status="completed"), PlanEntry("Two", status="in_progress"), PlanEntry("Three")])
    async with turn.tool_call("Edit a.py", kind="edit", locations=[turn.cwd / "a.py"]) as edit:
        await edit.diff(turn.cwd / "a.py", OLD, NEW)
    async with turn.tool_call("Run the tests", kind="execute") as run:
        await turn.send(TerminalPatch(id="tests", command="pytest", cwd=str(turn.cwd)))
        await turn.send(TerminalAppend(id="tests", data=b"a\n" * 9))
        await run.terminal("tests")
        await turn.send(TerminalPatch(id="tests", exit=Exit(code=1)))
    await turn.say(SAID)
    await turn.usage(18_400, 200_000, 0.043)


def cells(app: Any, region: Region | None = None) -> Iterator[tuple[str, Style]]:
    """Each piece of text that is on the screen, or in a part of it, with how it is drawn."""
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        if region is None:
            part = strip
        elif region.y <= y < region.bottom:
            part = strip.crop(region.x, region.right)
        else:
            continue
        for segment in part:
            if segment.text.strip():
                yield segment.text, segment.style or Style()


def colours(style: Style, ground: Color) -> tuple[Color, Color]:
    """Of the text and of what it stands on."""
    front = Color.from_rich_color(style.color) if style.color is not None else ground.get_contrast_text()
    back = Color.from_rich_color(style.bgcolor) if style.bgcolor is not None else ground
    return (back, front) if style.reverse else (front, back)
