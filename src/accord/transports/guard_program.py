"""The guard process: runs a command and ends everything that it started, on request or when the starter is gone.

This is a separate program, `python -I -S guard_program.py <descriptor> <pid of the starter>`, the parent of every
command. It is not imported, and imports little, because each import delays the start of each command.

On Linux it adopts the command's orphans, in whatever session or process group, so no process can leave the tree below
it. Elsewhere it ends the command's process group (not tested on macOS).

The descriptor is a socket. Input: the length of the request, the request, then `T` (terminate all) and `K` (kill all);
the end of the stream means that the starter is gone. Output: `started <pid>` or `failed <errno>`, then `exit <code>`
when the command has exited. The guard exits when no process is left.
"""

# ruff: noqa: PTH123, SIM105 - pathlib and contextlib are imports too

from __future__ import annotations

import _thread
import posix
import select
import sys
import time

ADOPTS_ORPHANS = sys.platform == "linux"
SET_CHILD_SUBREAPER = 36

# `signal` imports enum and `ctypes` defines all its types, each as costly as half the start of Python; `os` costs less.
signals = __import__("_signal")


class Guard:
    """The command and everything below it."""

    def __init__(self, control: int, starter: int) -> None:
        self.control = control
        self.starter = starter
        self.command = 0
        self.grace = 0.0
        self.code = 0
        self.is_killing = False

    def run(self) -> None:
        posix.set_inheritable(self.control, False)
        if ADOPTS_ORPHANS:
            adopt_orphans()
        for number in (signals.SIGTERM, signals.SIGINT, signals.SIGHUP):
            if signals.getsignal(number) != signals.SIG_IGN:
                signals.signal(number, self.signalled)
        try:
            self.start()
        except OSError as error:
            self.report(b"failed %d" % (error.errno or 0))
            sys.exit(127)
        self.release_streams()
        self.report(b"started %d" % self.command)
        _thread.start_new_thread(self.watch, ())
        self.reap()
        sys.exit(self.code if self.code >= 0 else 128 - self.code)

    def signalled(self, number: int, frame: object) -> None:
        _thread.start_new_thread(self.end, ())

    def start(self) -> None:
        request = self.read(int(self.read(10)))
        program, cwd, grace, memory, count, *rest = request.split(b"\0")
        arguments, variables = rest[: int(count)], rest[int(count) :]
        self.grace = float(grace)
        if int(memory):
            limit_memory(int(memory))
        posix.chdir(cwd)
        self.command = posix.posix_spawn(
            program,
            arguments,
            dict(variable.split(b"=", 1) for variable in variables if variable),
            setpgroup=0,
            setsigdef=(signals.SIGPIPE, signals.SIGXFSZ),  # Python ignores them, the command must not
        )

    def release_streams(self) -> None:
        # Otherwise the command's pipes would stay open, and its directory in use, as long as the guard runs.
        posix.chdir("/")
        null = posix.open("/dev/null", posix.O_RDWR)
        for descriptor in (0, 1, 2):
            posix.dup2(null, descriptor)
        posix.close(null)

    def read(self, size: int) -> bytes:
        received = b""
        while len(received) < size:
            piece = posix.read(self.control, size - len(received))
            if not piece:
                sys.exit(0)
            received += piece
        return received

    def report(self, line: bytes) -> None:
        try:
            posix.write(self.control, line + b"\n")
        except OSError:
            pass  # the starter is gone; watch() will see that

    def watch(self) -> None:
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        if hasattr(posix, "pidfd_open"):
            # A process forked by the starter may hold its end of the socket open after its death.
            try:
                poll.register(posix.pidfd_open(self.starter), select.POLLIN)
            except ProcessLookupError:
                return self.end()
            except OSError:
                pass
        while command_byte := self.next_command(poll):
            if command_byte == b"K":
                self.kill()
            else:
                self.signal_all(signals.SIGTERM)
        return self.end()

    def next_command(self, poll: select.poll) -> bytes:
        if self.control not in [descriptor for descriptor, _ in poll.poll()]:
            return b""
        try:
            return posix.read(self.control, 1)
        except OSError:
            return b""

    def end(self) -> None:
        self.signal_all(signals.SIGTERM)
        time.sleep(self.grace)
        self.kill()

    def kill(self) -> None:
        self.is_killing = True
        self.signal_all(signals.SIGKILL)

    def reap(self) -> None:
        options = 0
        while True:
            try:
                pid, status = posix.waitpid(-1, options)
            except ChildProcessError:
                break
            if pid == 0:
                self.signal_all(signals.SIGKILL)  # processes forked during the kill are our children by now
                options = 0
                continue
            if pid == self.command:
                self.code = posix.waitstatus_to_exitcode(status)
                self.report(b"exit %d" % self.code)
            options = posix.WNOHANG if self.is_killing else 0
        while not ADOPTS_ORPHANS and self.group_lives():
            time.sleep(0.05)

    def signal_all(self, number: int) -> None:
        try:
            pids = descendants(posix.getpid())
        except OSError:
            pids = [-self.command] if self.command else []
        for pid in pids:
            try:
                posix.kill(pid, number)
            except OSError:
                pass  # gone already, or another user's

    def group_lives(self) -> bool:
        try:
            posix.killpg(self.command, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True


def adopt_orphans() -> None:
    """Become the parent of all orphans below us."""
    arguments = (SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        calls = __import__("_ctypes")
        calls.call_function(calls.dlsym(calls.dlopen(None, 0), "prctl"), arguments)
    except (ImportError, AttributeError):
        __import__("ctypes").CDLL(None).prctl(*arguments)


def limit_memory(limit: int) -> None:
    """Limit the memory of each process below us, without the files that it maps. The limit applies to the guard too."""
    limits = __import__("resource")
    hard = limits.getrlimit(limits.RLIMIT_DATA)[1]
    limit = limit if hard == limits.RLIM_INFINITY else min(limit, hard)
    try:
        limits.setrlimit(limits.RLIMIT_DATA, (limit, hard))
    except (OSError, ValueError):
        pass  # a system that has no such limit


def descendants(ancestor: int) -> list[int]:
    """All processes below `ancestor`; raises OSError if there is no /proc."""
    children: dict[int, list[int]] = {}
    for name in posix.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    stat = file.read()
            except OSError:
                continue
            # The program's name may contain spaces and brackets; the parent is two fields after it.
            parent = int(stat[stat.rindex(b")") + 1 :].split(None, 2)[1])
            children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    unvisited = [ancestor]
    while unvisited:
        below = children.get(unvisited.pop(), [])
        found += below
        unvisited += below
    return found


if __name__ == "__main__":
    Guard(int(sys.argv[1]), int(sys.argv[2])).run()
