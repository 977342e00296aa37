"""The processes that the benchmarks start: client programs that report, and agents that get plain JSON lines.

Every process leads its own process group, and the group is always ended.
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
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from typing import IO, Any

from benchmarks.contenders import program_command
from benchmarks.processes import cpu_seconds, peak_memory
from benchmarks.programs.payloads import PROTOCOL_VERSION, write_order

__all__ = [
    "ContenderFailed",
    "Program",
    "RawAgent",
    "end_group",
    "environment",
    "peak_when_quiet",
    "run_program",
    "start",
    "start_command",
    "time_command",
]

ROOT = Path(__file__).parent.parent
SECONDS_PER_PROGRAM = 300
_TICK = 0.02
_QUIET_TICKS = 20


class ContenderFailed(Exception):  # noqa: N818  # exceptions are facts
    """A program ended without its report; the message is the last line of its stderr."""


def environment() -> dict[str, str]:
    # All contenders start from compiled modules, as pip installs them, also in a read-only checkout.
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
    """A process with its pipes; its stderr goes to a file, so that nobody has to read it."""

    def __init__(self, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        assert process.stdin
        assert process.stdout
        self.process = process
        self.first_line = process.stdout.readline
        self.pid = process.pid
        self.input = process.stdin.fileno()
        self.output = process.stdout.fileno()
        self._errors = errors

    def last_error(self) -> str:
        self._errors.seek(0)
        return _last_line(self._errors.read())


def start(module: str, *arguments: str) -> AbstractContextManager[Program]:
    """Start a program of `benchmarks.programs`."""
    return start_command([*program_command(module), *arguments])


@contextmanager
def start_command(command: list[str], variables: Mapping[str, str] | None = None) -> Iterator[Program]:
    pipe = subprocess.PIPE
    with TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**environment(), **(variables or {})},
            stdin=pipe,
            stdout=pipe,
            stderr=errors,
            start_new_session=True,
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
            raise ContenderFailed(f"{module} timed out after {SECONDS_PER_PROGRAM} s") from None
        if program.process.returncode:
            raise ContenderFailed(f"{module}: {program.last_error()}")
    return json.loads(output.splitlines()[-1])


def time_command(*arguments: str) -> float:
    """Seconds that Python takes with these arguments, from start to exit."""
    started = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment(), capture_output=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise ContenderFailed(_last_line(done.stderr))
    return seconds


def _last_line(errors: bytes) -> str:
    lines = [line for line in errors.decode(errors="replace").splitlines() if line.strip() and line[:9] != "Node.js v"]
    return lines[-1] if lines else "it ended without output"


class RawAgent:
    """An agent process whose client is this one, which can stop reading or never end a line."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.pid = program.pid
        self.last_id = -1
        self.unread = b""
        self.responses: dict[int, dict[str, Any]] = {}

    def send(self, method: str, **params: Any) -> int:
        self.last_id += 1
        request = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        os.write(self.program.input, json.dumps(request).encode() + b"\n")
        return self.last_id

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its result."""
        return self.response_to(self.send(method, **params))["result"]

    def response_to(self, request_id: int) -> dict[str, Any]:
        """Read frames up to the response to this request."""
        while request_id not in self.responses:
            line, newline, rest = self.unread.partition(b"\n")
            if not newline:
                self._read_more()
                continue
            self.unread = rest
            frame = json.loads(line)
            if "method" not in frame:
                self.responses[frame["id"]] = frame
        return self.responses.pop(request_id)

    def order_updates(self, session_id: str, count: int, size: int) -> dict[str, Any]:
        """The params of a prompt that asks for updates."""
        return {"sessionId": session_id, "prompt": [{"type": "text", "text": write_order(count, size)}]}

    def initialize(self) -> None:
        self.request("initialize", protocolVersion=PROTOCOL_VERSION, clientCapabilities={})

    def new_session(self) -> str:
        return self.request("session/new", cwd="/", mcpServers=[])["sessionId"]

    def pour(self, total: int) -> None:
        """Write up to `total` bytes without a newline; stop early when the agent reads no more."""
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
            raise ContenderFailed("no response in 30 s")
        data = os.read(self.program.output, 1 << 20)
        if not data:
            raise ContenderFailed(self.program.last_error())
        self.unread += data


def peak_when_quiet(pid: int) -> int:
    """The peak memory of a process once it neither runs nor grows any more."""
    deadline = time.monotonic() + 30
    quiet, seen = 0, (0, 0.0)
    while quiet < _QUIET_TICKS and time.monotonic() < deadline:
        time.sleep(_TICK)
        now = (peak_memory(pid), round(cpu_seconds(pid), 3))
        quiet = quiet + 1 if now == seen else 0
        seen = now
    return seen[0]
