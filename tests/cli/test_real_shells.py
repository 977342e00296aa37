"""The completion scripts in the shells themselves: a person types at a pseudo-terminal and presses Tab."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pyte
import pytest

from accord.cli.completion import script
from tests.apps.console.terminal import Terminal, at_terminal

pytestmark = [pytest.mark.interop, pytest.mark.timeout(400)]

PROMPT = "ready> "
AGENT = """
from accord import Agent, Turn

agent = Agent("mine", version="1.0")
agent.option("model", category="model", choices=["tiny", "grand", "zzz$(touch pwned)"])(lambda session, value: None)


@agent.prompt
async def answer(turn: Turn) -> None:
    await turn.say("Yes.")


agent.run()
"""


class Shell(Terminal):
    """A shell at a terminal of 100 columns, and what is on it."""

    def __init__(self, descriptor: int) -> None:
        self._screen = pyte.Screen(100, 60)
        self._stream = pyte.Stream(self._screen)
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 100, 0, 0))
        super().__init__(descriptor)

    def _heard(self, text: str) -> None:
        self._stream.feed(text)
        self.shown = "\n".join(line.rstrip() for line in self._screen.display)

    async def has(self, text: str, *, is_there: bool = True) -> None:
        """Wait until this is on the screen, or no longer."""
        while (text in self.shown) is not is_there:
            assert not self._is_over, self.shown
            self._progress.clear()
            try:
                await asyncio.wait_for(self._progress.wait(), 60)
            except TimeoutError:
                pytest.fail(f"{text!r} never came, or never went:\n{self.shown.strip()}")


def start_files(shell: str, home: Path) -> list[str]:
    """Write what a user of this shell would write, as the help says; the arguments to start it with."""
    if shell == "bash":
        (home / "rc").write_text(f"PS1='{PROMPT}'\nbind 'set bell-style none'\n{script('bash')}")
        return ["--noprofile", "--rcfile", str(home / "rc"), "-i"]
    if shell == "zsh":
        (home / "functions").mkdir()
        (home / "functions" / "_accord").write_text(script("zsh"))
        lines = [
            f"PS1='{PROMPT}'",
            "fpath=(~/functions $fpath)",
            "autoload -U compinit",
            "compinit -u",
            "setopt no_beep",
        ]
        (home / ".zshrc").write_text("\n".join([*lines, ""]))
        return ["-i"]
    completions = home / ".config" / "fish" / "completions"
    completions.mkdir(parents=True)
    (completions / "accord.fish").write_text(script("fish"))
    (completions.parent / "config.fish").write_text(
        f"function fish_prompt; echo -n '{PROMPT}'; end\nset -g fish_greeting\nset -g fish_autosuggestion_enabled 0\n"
    )
    return ["-i"]


@pytest.fixture(params=["bash", "zsh", "fish"])
def shell(request: pytest.FixtureRequest) -> str:
    if shutil.which(request.param) is None:
        pytest.skip(f"no {request.param}")
    return request.param


@pytest.fixture
def person(home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody with an agent and models of their own, who has talked to two agents; their home directory."""
    agent = home.parent / "agent.py"
    agent.write_text(AGENT)
    (home / "config.toml").write_text(
        f"models = ['openai:gpt-5', 'openai:o3']\n[agents.mine]\ncommand = '{sys.executable}'\nargs = ['{agent}']\n"
    )
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.parent / ".config"))
    for words in (["what is milk"], ["find bread"], ["--agent", "mine", "hello"]):
        subprocess.run(["accord", "run", "-q", *words], cwd=project, stdin=subprocess.DEVNULL, check=True)
    return home.parent


@asynccontextmanager
async def typing_in(shell: str, home: Path, project: Path) -> AsyncGenerator[Shell]:
    program = [shell, *start_files(shell, home)]
    async with at_terminal(cwd=project, program=program, kind=Shell) as (terminal, _):
        await terminal.has(PROMPT.strip())
        yield terminal


async def pressed(terminal: Shell, typed: str, expected: str) -> None:
    """Type this, press Tab, and wait for the line; then clear it."""
    terminal.type(f"{typed}\t")
    await terminal.has(f"{PROMPT}{expected}")
    terminal.type("\x15\x0c")
    await terminal.has(expected, is_there=False)


async def test_one_that_fits_is_completed(shell: str, person: Path, project: Path):
    async with typing_in(shell, person, project) as terminal:
        for typed, expected in {
            "accord comple": "accord completion",
            "accord gem": "accord gemini",
            "accord --theme accord-l": "accord --theme accord-light",
            "accord run --mode ar": "accord run --mode architect",
            "accord run --agent mi": "accord run --agent mine",
            "accord run --model openai:o": "accord run --model openai:o3",
            "accord run --model opena": "accord run --model openai:",
            "accord run --model of": "accord run --model offline",
            "accord run --model=of": "accord run --model=offline",
            "accord run --agent mine --model gr": "accord run --agent mine --model grand",
            "accord mine --model gr": "accord mine --model grand",
            "accord --resume sess": "accord --resume session-",
            "accord config --js": "accord config --json",
        }.items():
            await pressed(terminal, typed, expected)


async def test_several_are_listed_with_what_they_are(shell: str, person: Path, project: Path):
    async with typing_in(shell, person, project) as terminal:
        terminal.type("accord --resume session-\t\t")
        await terminal.has("what is milk")
        await terminal.has("find bread")


async def test_what_an_agent_calls_its_models_is_not_run(shell: str, person: Path, project: Path):
    async with typing_in(shell, person, project) as terminal:
        terminal.type("accord run --agent mine --model zzz\t")
        await terminal.has(r"zzz\$\(touch\ pwned\)")
        terminal.type("\x15true\r")
        await terminal.has(f"{PROMPT}true")
    assert not (project / "pwned").exists()
