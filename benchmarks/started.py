"""Programs that the harness starts itself: clients that report, and agents spoken to in plain JSON lines.

Every program is the leader of its own process group, and its group is ended whatever happens.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from typing import IO, Any

from benchmarks.payloads import PROTOCOL_VERSION, write_order
from benchmarks.processes import cpu_seconds, peak_memory

__all__ = [
    "ContenderFailed",
    "Program",
    "RawAgent",
    "end_group",
    "environment",
    "peak_when_quiet",
    "run_program",
    "start",
    "start_python",
    "time_command",
]

ROOT = Path(__file__).parent.parent
SECONDS_PER_PROGRAM = 90
_TICK = 0.02
_QUIET_TICKS = 20


class ContenderFailed(Exception):  # noqa: N818  # exceptions are facts
    """A program ended without its report; says what it printed last."""


def environment() -> dict[str, str]:
    # Everybody starts from compiled modules, as pip installs them, whether or not this checkout may be written to.
    return {
        **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
        "PYTHONPYCACHEPREFIX": _compiled_modules(),
        "ACCORD_HOME": str(Path(_compiled_modules()) / "home"),
    }


@cache
def _compiled_modules() -> str:
    directory = mkdtemp(prefix="accord-benchmarks-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


class Program:
    """A program with its pipes; what it says on stderr goes to a file, so that nobody has to read it."""

    def __init__(self, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        assert process.stdin
        assert process.stdout
        self.process = process
        self.first_line = process.stdout.readline
        self.pid = process.pid
        self.input = process.stdin.fileno()
        self.output = process.stdout.fileno()
        self._errors = errors

    def last_words(self) -> str:
        self._errors.seek(0)
        return _last_line(self._errors.read())


def start(module: str, *arguments: str) -> AbstractContextManager[Program]:
    return start_python("-m", f"benchmarks.{module}", *arguments)


@contextmanager
def start_python(*arguments: str) -> Iterator[Program]:
    command = [sys.executable, *arguments]
    pipe = subprocess.PIPE
    with TemporaryFile() as errors:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment(), stdin=pipe, stdout=pipe, stderr=errors, start_new_session=True
        )
        with process:
            try:
                yield Program(process, errors)
            finally:
                end_group(process.pid)


def end_group(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def run_program(module: str, *arguments: str) -> dict[str, float]:
    with start(module, *arguments) as program:
        try:
            output, _ = program.process.communicate(timeout=SECONDS_PER_PROGRAM)
        except subprocess.TimeoutExpired:
            raise ContenderFailed(f"{module} did not end in {SECONDS_PER_PROGRAM} s") from None
        if program.process.returncode:
            raise ContenderFailed(f"{module}: {program.last_words()}")
    return json.loads(output.splitlines()[-1])


def time_command(*arguments: str) -> float:
    """Seconds that Python takes with these arguments, from start to end."""
    started = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment(), capture_output=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise ContenderFailed(_last_line(done.stderr))
    return seconds


def _last_line(errors: bytes) -> str:
    lines = errors.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "ended without a word"


class RawAgent:
    """An agent program whose client is the harness: it can stop reading, or never end a line."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.pid = program.pid
        self.last_id = -1
        self.unread = b""

    def send(self, method: str, **params: Any) -> int:
        self.last_id += 1
        request = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        os.write(self.program.input, json.dumps(request).encode() + b"\n")
        return self.last_id

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        request_id = self.send(method, **params)
        while True:
            line, newline, rest = self.unread.partition(b"\n")
            if not newline:
                self._read_more()
                continue
            self.unread = rest
            frame = json.loads(line)
            if frame.get("id") == request_id and "method" not in frame:
                return frame["result"]

    def order_updates(self, session_id: str, count: int, size: int) -> dict[str, Any]:
        """The params of a prompt that asks for updates."""
        return {"sessionId": session_id, "prompt": [{"type": "text", "text": write_order(count, size)}]}

    def initialize(self) -> None:
        self.ask("initialize", protocolVersion=PROTOCOL_VERSION, clientCapabilities={})

    def new_session(self) -> str:
        return self.ask("session/new", cwd="/", mcpServers=[])["sessionId"]

    def pour(self, total: int) -> None:
        """Write up to `total` bytes without a line's end; stop early when the agent takes no more."""
        os.set_blocking(self.program.input, False)
        piece = b"x" * (1 << 16)
        while total > 0:
            if not select.select([], [self.program.input], [], 1)[1]:
                return
            try:
                total -= os.write(self.program.input, piece)
            except BrokenPipeError:
                return

    def _read_more(self) -> None:
        if not select.select([self.program.output], [], [], 30)[0]:
            raise ContenderFailed("no answer in 30 s")
        data = os.read(self.program.output, 1 << 20)
        if not data:
            raise ContenderFailed(self.program.last_words())
        self.unread += data


def peak_when_quiet(pid: int) -> int:
    """The peak memory of a process once it neither works nor grows any more."""
    deadline = time.monotonic() + 30
    quiet, seen = 0, (0, 0.0)
    while quiet < _QUIET_TICKS and time.monotonic() < deadline:
        time.sleep(_TICK)
        now = (peak_memory(pid), round(cpu_seconds(pid), 3))
        quiet = quiet + 1 if now == seen else 0
        seen = now
    return seen[0]
