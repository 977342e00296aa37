"""Makes the pictures of the screen that the README and the documents show: `python docs/pictures/make.py`.

The agent is a story told in memory, so the pictures are the same each time; a test compares them with the screen. They name no
font that would have to be fetched.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Callable, Coroutine
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from accord import Agent, Turn
from accord.apps.console.screen.app import ScreenApp
from accord.apps.console.screen.context import ScreenOptions
from accord.apps.console.screen.widgets.lines_view import LinesView
from accord.apps.console.screen.widgets.permission_bar import PermissionBar
from accord.session.entities import Exit, PlanEntry
from accord.session.updates import TerminalAppend, TerminalPatch

Work = Callable[[ScreenApp, Any], Coroutine[Any, Any, None]]

HERE = Path(__file__).resolve().parent
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

OLD = '''"""Greetings."""


def greet(name):
    """Say hello to somebody."""
    return "Hello " + name


def main():
    print(greet("world"))
'''
NEW = '''"""Greetings."""

import sys


def greet(name: str, loud: bool = False) -> str:
    """Say hello to somebody."""
    greeting = f"Hello {name}"
    return greeting.upper() if loud else greeting


def main() -> None:
    print(greet("world", loud="--loud" in sys.argv))
'''

TEST = '''from greetings import greet


def test_a_loud_greeting_has_capital_letters():
    assert greet("world", loud=True) == "HELLO WORLD"
'''

agent = Agent("storyteller", version="1.0")


@agent.option("mode", name="Mode", choices=[("ask", "Ask"), ("plan", "Plan only")], default="ask", category="mode")
@agent.option("model", name="Model", choices=["sonnet", "opus"], default="sonnet", category="model")
async def chosen(session: Any, value: str) -> None:
    """Nothing to do: the story is the same."""


@agent.command("review", "Look for bugs in the last change")
@agent.command("test", "Run the tests", "which ones")
@agent.command("plan", "Make a plan, change nothing")
async def command(turn: Turn) -> None:
    await answer(turn)


@agent.prompt
async def answer(turn: Turn) -> None:
    tales = {"Publish": publish, "Write": write_test}
    await tales.get(turn.text.partition(" ")[0], story)(turn)


async def publish(turn: Turn) -> None:
    fields = {
        "name": {"type": "string", "title": "Name", "description": "of the package"},
        "where": {"type": "string", "title": "Where", "enum": ["the test index", "the index"], "default": "the index"},
        "signed": {"type": "boolean", "title": "Signed", "default": True},
    }
    await turn.ask("How shall I publish it?", fields, required=["name"])


async def write_test(turn: Turn) -> None:
    (turn.cwd / "test_greetings.py").write_text(TEST, "utf-8")
    await turn.say("`test_greetings.py` has a test for `--loud`.\n")


async def story(turn: Turn) -> None:
    await turn.set_title("A louder greeting")
    await turn.plan(
        [
            PlanEntry("Read greetings.py", status="completed"),
            PlanEntry("Add --loud", status="in_progress"),
            PlanEntry("Run the tests"),
        ]
    )
    await turn.think("The flag belongs to the command line.\nThe function should not read it by itself.")
    async with turn.tool_call("Read greetings.py", kind="read", locations=[turn.cwd / "greetings.py"]):
        pass
    async with turn.tool_call("Search for callers of greet", kind="search") as search:
        await search.say("3 places")
    await turn.say(
        "`greet` is called from **three places**. I would keep it free of the command line and give it an argument:\n\n"
        "| who | what changes |\n|---|---|\n| `greet` | takes `loud`, off by default |\n| `main` | reads `--loud` |\n\n"
        "```python\ndef greet(name: str, loud: bool = False) -> str:\n    ...\n```\n\n"
    )
    async with turn.tool_call("Edit greetings.py", kind="edit", locations=[turn.cwd / "greetings.py"]) as edit:
        await edit.diff(turn.cwd / "greetings.py", OLD, NEW)
        if not await turn.allowed(edit):
            return
        (turn.cwd / "greetings.py").write_text(NEW, "utf-8")
    async with turn.tool_call("Run the tests", kind="execute") as run:
        await turn.send(TerminalPatch(id="tests", command="pytest -q", cwd=str(turn.cwd)))
        await turn.send(
            TerminalAppend(id="tests", data=b"\x1b[32m....\x1b[0m                                 [100%]\n")
        )
        await turn.send(TerminalAppend(id="tests", data=b"\x1b[32m4 passed\x1b[0m in 0.21s\n"))
        await run.terminal("tests")
        await turn.send(TerminalPatch(id="tests", exit=Exit(code=0)))
    await turn.plan(
        [
            PlanEntry("Read greetings.py", status="completed"),
            PlanEntry("Add --loud", status="completed"),
            PlanEntry("Run the tests", status="completed"),
        ]
    )
    await turn.usage(18_400, 200_000, 0.043)
    await turn.say("Done: `python greetings.py --loud` says **HELLO WORLD**, and all four tests pass.\n")


async def until(app: ScreenApp, is_so: Callable[[], bool]) -> None:
    """Wait for the story to come so far."""
    for _ in range(2000):
        if is_so():
            break
        await asyncio.sleep(0.01)
    else:
        raise SystemExit("the story did not come so far")
    app.conversation.paint()


async def picture(work: Work, theme: str, size: tuple[int, int]) -> str:
    """An SVG of the screen after some work; `HOME` is where the story plays."""
    home = Path(os.environ["HOME"])
    cwd = home / "greetings"
    cwd.mkdir(exist_ok=True)
    (cwd / "greetings.py").write_text(OLD, "utf-8")
    options = ScreenOptions(target=agent, name="storyteller", cwd=cwd, theme=theme)
    if work is undone:
        options = replace(options, state=home / "state", saves_checkpoints=True)
    app = ScreenApp(options)
    async with app.run_test(size=size) as pilot:
        await until(app, lambda: app.tab.is_open)
        await work(app, pilot)
        await pilot.pause()
        svg = app.export_screenshot(title="accord")
    without_fonts = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return without_fonts.replace("Fira Code, monospace", FONTS).replace("font-family: arial", "font-family: sans-serif")


async def asked(app: ScreenApp, pilot: Any, prompt: str) -> None:
    app.prompt.set_text(prompt)
    await pilot.press("enter")
    await until(app, lambda: app.tab.questions.first is not None)
    await until(app, lambda: app.main.questions.has_the_focus)
    await pilot.pause(0.4)  # a key that comes at once would not count


async def begin(app: ScreenApp, pilot: Any) -> None:
    await asked(app, pilot, "Give greetings.py a --loud flag, and run the tests")


async def form(app: ScreenApp, pilot: Any) -> None:
    await asked(app, pilot, "Publish it")
    await pilot.press(*"greetings")


async def done(app: ScreenApp, pilot: Any) -> None:
    await begin(app, pilot)
    bar = app.main.query_one(PermissionBar)
    await pilot.press("end")
    await until(app, lambda: bar.is_read)  # nothing is allowed before
    await pilot.press("y")
    await until(app, lambda: not app.tab.is_busy)
    await pilot.pause()


async def reviewed(app: ScreenApp, pilot: Any) -> None:
    await done(app, pilot)
    await pilot.press("f4")
    await pilot.pause()


async def searched(app: ScreenApp, pilot: Any) -> None:
    await done(app, pilot)
    await pilot.press("ctrl+f", *"greet", "up", "up")
    await pilot.pause(0.4)  # the search ends


async def undone(app: ScreenApp, pilot: Any) -> None:
    await done(app, pilot)
    log = app.undo._files[app.tab].log  # noqa: SLF001  # to give them times that are always the same
    await until(app, lambda: log.turns[0].after is not None)
    app.prompt.set_text("Write a test for --loud")
    await pilot.press("enter")
    await until(app, lambda: len(log.turns) > 1 and log.turns[1].after is not None)
    for minute, turn in zip((24, 31), log.turns, strict=True):
        turn.time = datetime.now().astimezone().replace(hour=10, minute=minute).timestamp()
    (Path(app.tab.cwd) / "test_greetings.py").write_text(f"{TEST}    # and an exclamation mark?\n", "utf-8")
    app.prompt.set_text("/undo")
    await pilot.press("enter")
    await until(app, lambda: app.screen is not app.main)
    await pilot.press("down")
    page = app.screen.query_one(LinesView)
    await until(app, lambda: page.virtual_size.height > 10)


PICTURES = (
    ("permission", begin, "accord-dark", (110, 46)),
    ("conversation", done, "accord-dark", (110, 42)),
    ("review", reviewed, "accord-light", (110, 28)),
    ("beside", begin, "accord-light", (160, 34)),
    ("search", searched, "accord-dark", (110, 30)),
    ("form", form, "accord-dark", (90, 30)),
    ("undo", undone, "accord-dark", (110, 36)),
)


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        for name, work, theme, size in PICTURES:
            (HERE / f"{name}.svg").write_text(await picture(work, theme, size), "utf-8")


if __name__ == "__main__":
    asyncio.run(main())
