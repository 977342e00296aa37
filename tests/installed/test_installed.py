"""The wheel in `dist/`, installed in new environments and used from elsewhere, as its users do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.apps.console.terminal import at_terminal

ROOT = Path(__file__).parents[2]
PINNED = ROOT / "requirements" / "dev.txt"
WHEELS = sorted((ROOT / "dist").glob("*.whl"))
NEEDING_EXTRAS = (
    "accord.agent.mcp.",
    "accord.apps.coder.models.",
    "accord.apps.console.screen.",
    "accord.transports.server_socket",
    "accord.transports.websocket_connection",
)
MODULES_THAT_FAIL = """
import importlib, json, pkgutil, accord
failed = {}
for module in pkgutil.walk_packages(accord.__path__, "accord."):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as missing:
        failed[module.name] = missing.name
print(json.dumps(failed))
"""
CONVERSATION = """
import asyncio
from accord import Agent, Client

agent = Agent("greeter")

@agent.prompt
async def greet(turn):
    await turn.say(f"Hello, {turn.text}")

async def converse():
    async with Client(agent) as client:
        session = await client.new_session("/")
        print((await session.prompt("you")).text)

asyncio.run(converse())
"""

pytestmark = pytest.mark.installed


class Environment:
    """A place where the wheel is installed, and one that is far from this tree to use it in."""

    def __init__(self, directory: Path) -> None:
        self.bin = directory / "venv" / "bin"
        self.elsewhere = directory / "elsewhere"
        self.elsewhere.mkdir()
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("ACCORD_", "PYTHON"))}
        self.variables = {**inherited, "HOME": str(directory), "ACCORD_HOME": str(directory / "accord")}

    def run(self, program: str, *words: object, said: str = "", status: int = 0) -> str:
        command = [str(self.bin / program), *map(str, words)]
        done = subprocess.run(
            command, cwd=self.elsewhere, env=self.variables, input=said, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def wheel() -> Path:
    assert len(WHEELS) == 1, f"dist/ has {len(WHEELS)} wheels: `make wheel` builds the one that is tested"
    return WHEELS[0]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Environment:
    """As `pip install accord` leaves it."""
    directory = tmp_path_factory.mktemp("bare")
    venv.create(directory / "venv", with_pip=True)
    environment = Environment(directory)
    environment.run("pip", "install", "--quiet", "--no-compile", wheel)
    return environment


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Environment:
    """With the extras, as pinned for this tree."""
    directory = tmp_path_factory.mktemp("whole")
    uv = [sys.executable, "-m", "uv", "--quiet"]
    place, wanted = directory / "venv", f"accord[console,coder,http] @ {wheel.as_uri()}"
    subprocess.run([*uv, "venv", "--python", sys.executable, str(place)], check=True)
    install = ["pip", "install", "--python", str(place / "bin" / "python"), "--constraint", str(PINNED)]
    subprocess.run([*uv, *install, wanted], check=True)
    return Environment(directory)


class TestTheLibraryAlone:
    def test_brings_msgspec_and_nothing_more(self, bare):
        listed = json.loads(bare.run("pip", "list", "--format=json"))
        assert {each["name"] for each in listed} <= {"accord", "msgspec", "pip", "setuptools"}

    def test_carries_a_conversation(self, bare):
        assert bare.run("python", "-W", "error", "-c", CONVERSATION) == "Hello, you\n"

    def test_imports_but_for_what_the_extras_are_for(self, bare):
        failed = json.loads(bare.run("python", "-W", "error", "-c", MODULES_THAT_FAIL))
        assert failed.pop("accord.testing.plugin") == "pytest"
        assert [name for name in failed if not name.startswith(NEEDING_EXTRAS)] == []

    def test_has_the_pages_of_the_documentation_and_the_examples(self, bare):
        assert "EXIT STATUSES" in bare.run("accord", "help", "run")
        assert "usage: accord token" in bare.run("accord", "help", "commands")
        assert "agent.run()" in bare.run("accord", "help", "examples", "echo_agent.py")
        bare.run("accord", "help", "--man", "man")
        assert (bare.elsewhere / "man" / "man1" / "accord-run.1").is_file()

    def test_explains_this_directory_without_a_screen(self, bare):
        assert "`/help` shows what" in bare.run("accord", "run", "/explain")

    async def test_says_at_a_terminal_what_to_install_for_the_screen(self, bare, monkeypatch):
        monkeypatch.setenv("ACCORD_HOME", bare.variables["ACCORD_HOME"])
        monkeypatch.setenv("PATH", f"{bare.bin}{os.pathsep}{os.environ['PATH']}")
        program = [str(bare.bin / "accord")]
        async with at_terminal(cwd=bare.elsewhere, program=program) as (terminal, accord):
            await terminal.sees("pip install 'accord[console]'")
            assert await accord.wait() != 0


class TestWithTheExtras:
    def test_every_module_imports(self, whole):
        failed = json.loads(whole.run("python", "-W", "error", "-c", MODULES_THAT_FAIL))
        assert failed == {"accord.testing.plugin": "pytest"}

    def test_it_tells_its_version_and_its_commands(self, whole, wheel):
        assert whole.run("accord", "--version") == f"accord {wheel.name.split('-')[1]}\n"
        assert "usage: accord [AGENT]" in whole.run("accord", "--help")

    def test_one_prompt_is_answered(self, whole):
        assert "`/help` shows what" in whole.run("accord", "run", "/explain")

    def test_a_pipe_is_answered(self, whole):
        assert "> hi" in whole.run("accord", said="hi\n")

    def test_the_known_agents_are_listed(self, whole):
        assert whole.run("accord", "agents").split()[:4] == ["accord", "installed", "accord", "agent"]

    def test_files_are_searched(self, whole):
        (whole.elsewhere / "notes.md").write_text("Buy milk.\n")
        assert "notes.md" in whole.run("accord", "run", "/search milk")

    async def test_the_screen_opens_takes_a_prompt_and_leaves(self, whole, monkeypatch):
        monkeypatch.setenv("ACCORD_HOME", whole.variables["ACCORD_HOME"])
        program = [str(whole.bin / "accord")]
        async with at_terminal(cwd=whole.elsewhere, program=program) as (terminal, accord):
            await terminal.sees("\x1b[?1049h")
            await terminal.sees("ready")
            terminal.type("hi")
            terminal.type("\r")
            await terminal.sees("offline")
            terminal.type("\x11")
            await terminal.sees("\x1b[?1049l")
            assert await accord.wait() == 0
