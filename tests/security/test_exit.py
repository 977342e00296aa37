"""Attacks on the end of a program: threads and tasks that hang, peers that don't read. It ends all the same (FN-37).

The hang guard is what fails here; how long it takes is told by the machine.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Self

import pytest

from accord.testing import ScriptedAgent, program
from tests.apps.console.terminal import at_terminal

HANGING_AGENT = """
import asyncio, threading, time
from accord import Agent
from accord.store import SqliteStore

agent = Agent("hanging", **{{"store": SqliteStore({store!r})}} if {store!r} else {{}})

def hang(*_):
    print("hanging", flush=True)
    time.sleep(3600)

async def deaf(*_):
    print("hanging", flush=True)
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

async def talk(turn):
    await turn.say("hello")

async def in_thread(*_):
    await asyncio.to_thread(hang)

agent.method("_x/thread")(hang)
agent.method("_x/deaf")(deaf)
agent.method("_x/to_thread")(in_thread)
agent.notification("_x/notified")(hang)
agent.notification("_x/deaf_notified")(deaf)
agent.prompt({prompt})
{more}
agent.run()
print("returned", flush=True)
"""

INITIALIZE = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
NEW = b'{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}\n'
PROMPT = (
    b'{"jsonrpc":"2.0","id":3,"method":"session/prompt",'
    b'"params":{"sessionId":"%b","prompt":[{"type":"text","text":"hi"}]}}\n'
)


class Running:
    """An agent program, spoken to by frames."""

    def __init__(self, *command: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        with suppress(BrokenPipeError):
            self.process.__exit__(None, None, None)

    def say(self, frame: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(frame)
        self.process.stdin.flush()

    def hear(self, part: bytes) -> bytes:
        assert self.process.stdout is not None
        while part not in (line := self.process.stdout.readline()):
            assert line, self.process.stderr and self.process.stderr.read()
        return line

    def hears_of_hanging(self) -> None:
        assert self.process.stderr is not None
        while b"hanging" not in (line := self.process.stderr.readline()):
            assert line

    def session(self) -> bytes:
        self.say(INITIALIZE + NEW)
        return self.hear(b'"sessionId"').split(b'"sessionId":"')[1].split(b'"')[0]

    def end(self) -> str:
        """Close its input and wait for its end; what it wrote last, on stderr."""
        _, said = self.process.communicate()
        return said.decode()


def hanging(prompt: str = "hang", more: str = "", store: Path | None = None) -> Running:
    return Running("-c", HANGING_AGENT.format(prompt=prompt, more=more, store=str(store) if store else ""))


@pytest.mark.parametrize("method", ["thread", "deaf", "to_thread", "notified", "deaf_notified"])
def test_an_agent_whose_handler_hangs_ends_with_its_input(method: str) -> None:
    with hanging() as agent:
        agent.say(INITIALIZE)
        agent.hear(b'"result"')
        id = b"" if "notified" in method else b'"id":9,'
        agent.say(b'{"jsonrpc":"2.0",%b"method":"_x/%b","params":{}}\n' % (id, method.encode()))
        agent.hears_of_hanging()
        agent.end()
        assert agent.process.returncode == 0


@pytest.mark.parametrize("prompt", ["hang", "deaf", "in_thread"])
@pytest.mark.parametrize("is_stored", [False, True], ids=["", "stored"])
def test_an_agent_whose_turn_hangs_ends_with_its_input(tmp_path: Path, prompt: str, is_stored: bool) -> None:
    with hanging(prompt, store=tmp_path / "sessions.db" if is_stored else None) as agent:
        agent.say(PROMPT % agent.session())
        agent.hears_of_hanging()
        agent.end()
        assert agent.process.returncode == 0


@pytest.mark.parametrize("registered", ["agent.new_session(hang)", "agent.login('x', name='X')(hang)"])
def test_an_agent_that_hangs_before_its_first_turn_ends_with_its_input(registered: str) -> None:
    with hanging(more=registered) as agent:
        agent.say(INITIALIZE)
        agent.hear(b'"result"')
        agent.say(b'{"jsonrpc":"2.0","id":4,"method":"authenticate","params":{"methodId":"x"}}\n')
        agent.say(NEW)
        agent.hears_of_hanging()
        agent.end()
        assert agent.process.returncode == 0


def test_what_follows_the_agents_run_is_done_although_a_handler_hangs() -> None:
    with hanging() as agent:
        agent.say(INITIALIZE)
        agent.say(b'{"jsonrpc":"2.0","id":9,"method":"_x/thread","params":{}}\n')
        agent.hears_of_hanging()
        assert agent.process.stdin is not None
        agent.process.stdin.close()
        agent.hear(b"returned")


@pytest.mark.parametrize("is_coder", [False, True], ids=["library", "coder"])
def test_a_store_that_another_process_keeps_locked_does_not_keep_an_agent_and_the_loss_is_told(
    tmp_path: Path, is_coder: bool
) -> None:
    path = tmp_path / "state" / "sessions.db" if is_coder else tmp_path / "sessions.db"
    coder = partial(Running, "-m", "accord", "agent", ACCORD_HOME=str(tmp_path))
    with coder() if is_coder else hanging("talk", store=path) as agent:
        session = agent.session()
        locking = sqlite3.connect(path, isolation_level=None)
        locking.execute("BEGIN EXCLUSIVE")
        try:
            agent.say(PROMPT % session)
            said = agent.end()
        finally:
            locking.close()
    assert f"bytes were not written to {path}" in said
    assert f"of the sessions: {session.decode()}\n" in said


def test_a_client_that_reads_nothing_does_not_keep_the_agent(tmp_path: Path) -> None:
    with Running("-m", "accord", "agent", ACCORD_HOME=str(tmp_path)) as agent:
        agent.session()
        for number in range(500):
            agent.say(b'{"jsonrpc":"2.0","id":%d,"method":"session/list","params":{}}\n' % (number + 10))
        assert agent.process.stdin is not None
        agent.process.stdin.close()
        agent.process.wait()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACCORD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


# A thread of somebody else's, which Python's own end would wait for; and a call of ours that never returns.
STUCK = """
import sys, threading, time
from accord.apps.console.prompt_history import PromptHistory
from accord.cli import program

def stuck(*_):
    print("hanging", file=sys.stderr, flush=True)
    time.sleep(3600)

threading.Thread(target=time.sleep, args=(3600,)).start()
PromptHistory.add = stuck
program()
"""
ACCORD = (sys.executable, "-c", STUCK)


@pytest.mark.usefixtures("home")
def test_a_command_does_not_wait_for_threads_of_others() -> None:
    ended = subprocess.run([*ACCORD, "--version"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout[:7]) == (0, "accord ")


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_a_run_that_is_stuck_in_a_thread_ends_by_a_signal(number: signal.Signals) -> None:
    async with program(ScriptedAgent(1)) as command:
        run = await asyncio.create_subprocess_exec(
            *ACCORD,
            "run",
            "hello",
            "--",
            *command.args,
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        assert run.stderr is not None
        await run.stderr.readuntil(b"hanging\n")
        run.send_signal(number)
        assert await run.wait() == 128 + number


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("words", [[], ["--plain"]], ids=["screen", "plain"])
async def test_a_talk_that_is_stuck_in_a_thread_ends_by_a_signal(words: list[str], tmp_path: Path) -> None:
    async with at_terminal(*words, cwd=tmp_path, program=ACCORD) as (terminal, run):
        await terminal.sees("You: " if words else "ready")
        terminal.type("hello\r")
        await terminal.sees("hanging" if words else "hello")
        run.send_signal(signal.SIGTERM)
        assert await run.wait() == 128 + signal.SIGTERM


def test_a_loop_leaves_behind_what_hangs() -> None:
    code = (
        "import asyncio, time\n"
        "from accord.peer.event_loop import run\n"
        "async def deaf():\n"
        "    while True:\n"
        "        try: await asyncio.sleep(3600)\n"
        "        except asyncio.CancelledError: pass\n"
        "async def numbers():\n"
        "    try: yield 1\n"
        "    finally: await asyncio.sleep(3600)\n"
        "async def main():\n"
        "    global kept\n"
        "    kept = [asyncio.create_task(deaf(), name='the deaf one'), asyncio.create_task(asyncio.to_thread(time.sleep, 3600))]\n"
        "    each = numbers(); kept.append(each); await anext(each)\n"
        "    asyncio.get_running_loop().run_in_executor(None, time.sleep, 3600)\n"
        "    await asyncio.sleep(0.1)\n"
        "    return 7\n"
        "print(run(main(), is_fast={fast}))\n"
    )
    for fast in (True, False):
        ended = subprocess.run(
            [sys.executable, "-c", code.format(fast=fast)], capture_output=True, text=True, check=False
        )
        assert (ended.returncode, ended.stdout) == (0, "7\n")
        assert "the deaf one did not end when it was cancelled" in ended.stderr


def test_many_tasks_that_are_left_behind_are_named_in_a_few_lines() -> None:
    code = (
        "import asyncio\n"
        "from accord.peer.event_loop import run\n"
        "async def deaf():\n"
        "    while True:\n"
        "        try: await asyncio.sleep(3600)\n"
        "        except asyncio.CancelledError: pass\n"
        "async def main():\n"
        "    global kept\n"
        "    kept = [asyncio.create_task(deaf()) for _ in range(500)]\n"
        "    await asyncio.sleep(0.1)\n"
        "run(main())\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    lines = [line for line in ended.stderr.splitlines() if "did not end when" in line]
    assert (ended.returncode, len(lines)) == (0, 11)
    assert lines[-1].startswith("490 more tasks")


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
@pytest.mark.parametrize("words", [["run", "hello"], ["agent"], ["sessions"]], ids=["run", "agent", "sessions"])
@pytest.mark.parametrize("most", [*range(5, 15), 20, 26])
def test_a_program_that_may_open_too_few_files_says_so_in_one_line(home: Path, most: int, words: list[str]) -> None:
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    ended = subprocess.run(
        [sys.executable, "-m", "accord", *words],
        stdin=subprocess.PIPE if words == ["agent"] else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=home,
        preexec_fn=limit,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr == "accord: Too many open files: raise the limit, for example with `ulimit -n 256`\n"
