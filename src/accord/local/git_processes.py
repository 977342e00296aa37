"""Git as a child process on a repository of our own, in a directory tree that a stranger may have filled. These calls block.

Law: git reads no settings but ours, runs no other program, converts no content and does not look into the user's
repository. Each process has a deadline and a limit for its output, and none outlives `GitProcesses.close`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from accord.errors import CheckpointFailed
from accord.local.paths import Roots
from accord.local.processes import program_environment

_MAX_OUTPUT = 64 * 1024 * 1024
_MAX_MESSAGE = 64 * 1024
_LONGEST_REASON = 300

CONFIG = f"""\
[core]
\trepositoryFormatVersion = 0
\tbare = false
\tfileMode = {"false" if os.name == "nt" else "true"}
\tignoreCase = {"true" if os.name == "nt" else "false"}
\tautoCrlf = false
\tsafeCrlf = false
\tfsmonitor = false
\tuntrackedCache = false
\tpreloadIndex = true
\tlogAllRefUpdates = false
\thooksPath = {os.devnull}
\tattributesFile = {os.devnull}
[gc]
\tauto = 0
\tpackRefs = false
\twriteCommitGraph = false
[pack]
\tthreads = 1
[protocol]
\tallow = never
[submodule]
\trecurse = false
[user]
\tname = accord
\temail = accord@localhost
"""
"""The settings of a repository of ours. References stay files: their age says when they can be removed."""

ATTRIBUTES = "* -text -ident !eol !filter !working-tree-encoding\n"
"""Before all `.gitattributes` of the tree: contents are saved byte by byte."""

_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


class GitResult(NamedTuple):
    """How a process ended, and what it printed on stdout and stderr."""

    code: int
    output: bytes
    message: str

    def check(self, *codes: int) -> GitResult:
        """CheckpointFailed unless it ended with one of these codes; by default with 0."""
        if self.code not in (codes or (0,)):
            line = self.message.rpartition("\n")[2][:_LONGEST_REASON]
            raise CheckpointFailed(f"git failed: {line or f'exit code {self.code}'}")
        return self


class GitProcesses:
    """Runs git for some directories: programs and libraries below these are never used.

    CheckpointFailed if git is not installed. Safe to use from several threads.
    """

    def __init__(self, directories: Iterable[str | os.PathLike[str]]) -> None:
        self.ours = program_environment(Roots(os.path.realpath(each) for each in directories), os.environ)
        program = shutil.which("git", path=self.ours["PATH"])
        if program is None:
            raise CheckpointFailed("git is not installed", is_final=True)
        self._program = program
        self._running: set[subprocess.Popen[bytes]] = set()
        self._guard = threading.Lock()
        self._is_closed = False

    def environment(self, git_dir: Path, tree: Path) -> dict[str, str]:
        """All variables for a command on the repository `git_dir` and the files below `tree`."""
        ours = {name: value for name, value in self.ours.items() if not name.startswith(("GIT_", "LC_"))}
        own = {
            "GIT_DIR": str(git_dir),
            "GIT_INDEX_FILE": str(git_dir / "index"),
            "GIT_WORK_TREE": str(tree),
            "HOME": str(git_dir),
            "XDG_CONFIG_HOME": str(git_dir),
        }
        return {**ours, **_VARIABLES, **own}

    def close(self) -> None:
        """Kill every process that still runs; from now on none is started. Safe to call twice."""
        with self._guard:
            self._is_closed = True
            running = list(self._running)
        for process in running:
            _kill(process)

    def check_open(self) -> None:
        """CheckpointFailed after `close`."""
        if self._is_closed:
            raise CheckpointFailed("accord is being closed")

    def run(
        self,
        arguments: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        *,
        deadline: float,
        stdin: bytes = b"",
        lock: int | None = None,
    ) -> GitResult:
        """Run a command to its end; CheckpointFailed if it takes too long or prints too much.

        The process holds the lock with this descriptor, too: if we are killed, nobody disturbs it.
        """
        with tempfile.TemporaryFile() as errors:
            with self.start(
                arguments, cwd, environment, deadline=deadline, stdin=stdin, stderr=errors, lock=lock
            ) as process:
                assert process.stdout is not None
                output = process.stdout.read(_MAX_OUTPUT + 1)
                if len(output) > _MAX_OUTPUT:
                    raise CheckpointFailed("there are too many files", is_final=True)
                code = process.wait()
            self.check_open()
            if code < 0 and time.monotonic() >= deadline:
                raise CheckpointFailed("git took too long", is_final=True)
            errors.seek(0)
            message = errors.read(_MAX_MESSAGE + 1)
            if len(message) > _MAX_MESSAGE:
                raise CheckpointFailed("git printed too many warnings")
            return GitResult(code, output, os.fsdecode(message).strip())

    @contextmanager
    def start(
        self,
        arguments: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        *,
        deadline: float,
        stdin: bytes = b"",
        stderr: IO[bytes] | int = subprocess.DEVNULL,
        lock: int | None = None,
    ) -> Generator[subprocess.Popen[bytes]]:
        """Start a command. It is killed at the deadline, and at the end of the block if it still runs."""
        with _as_file(stdin) as source, self._guard:
            self.check_open()
            process = subprocess.Popen(  # noqa: S603  # a fixed program with fixed options
                [self._program, "--no-pager", *arguments],
                cwd=cwd,
                env=environment,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=stderr,
                pass_fds=() if lock is None or os.name == "nt" else (lock,),
                process_group=None if os.name == "nt" else 0,  # `git gc` starts others, which are killed with it
            )
            self._running.add(process)
        timer = threading.Timer(max(0.0, deadline - time.monotonic()), _kill, (process,))
        timer.daemon = True
        timer.start()
        try:
            yield process
        finally:
            timer.cancel()
            if process.poll() is None:
                _kill(process)
            if process.stdout is not None:
                process.stdout.close()
            process.wait()
            with self._guard:
                self._running.discard(process)


@contextmanager
def _as_file(content: bytes) -> Generator[IO[bytes] | int]:
    """A file and not a pipe: git may print before it has read everything."""
    if not content:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        yield file


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
