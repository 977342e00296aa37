from __future__ import annotations

import fcntl
import json
import os
import pty
import socket
import subprocess
import sys
import threading
import tty
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accord.errors import ConnectionClosed
from accord.transports.stdio import StdioTransport
from tests.transports.recorder import Recorder

PROGRAM = str(Path(__file__).with_name("echo_program.py"))
TIMEOUT = 40
FRAMES = b'{"id":1}\n{"id":2}\n'


@pytest.fixture(autouse=True)
def buffered_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


@pytest.fixture(params=["asyncio", "uvloop"])
def command(request: pytest.FixtureRequest) -> list[str]:
    return [sys.executable, PROGRAM, request.param]


def conversation(command: list[str], sent: bytes) -> tuple[bytes, str]:
    """What comes on stdout and stderr for what is sent before the end of input."""
    done = subprocess.run(command, input=sent, capture_output=True, timeout=TIMEOUT, check=True)
    return done.stdout, done.stderr.decode()


def without_last_words(stdout: bytes) -> bytes:
    assert stdout.endswith(b"after\n")
    return stdout.removesuffix(b"after\n")


@pytest.mark.requirement("TRANS-12", "TRANS-06")
def test_it_speaks_over_pipes(command: list[str]):
    stdout, stderr = conversation(command, FRAMES)
    assert without_last_words(stdout) == FRAMES
    assert "lost: the other side closed stdin" in stderr


def test_it_speaks_over_files(command: list[str], tmp_path: Path):
    """FN-36: stdin and stdout that are regular files."""
    (tmp_path / "in").write_bytes(FRAMES)
    with (tmp_path / "in").open("rb") as stdin, (tmp_path / "out").open("wb") as stdout:
        subprocess.run(command, stdin=stdin, stdout=stdout, timeout=TIMEOUT, check=True)
    assert without_last_words((tmp_path / "out").read_bytes()) == FRAMES


def test_it_speaks_over_a_socket(command: list[str]):
    """FN-36: one socket as both, as when a Node program or inetd starts us."""
    ours, theirs = socket.socketpair()
    ours.settimeout(TIMEOUT)
    with ours, theirs, subprocess.Popen(command, stdin=theirs.fileno(), stdout=theirs.fileno()) as process:
        flags = fcntl.fcntl(theirs, fcntl.F_GETFL)
        assert ask(ours.sendall, ours.recv, FRAMES) == FRAMES
        assert fcntl.fcntl(theirs, fcntl.F_GETFL) == flags
        ours.shutdown(socket.SHUT_WR)
        assert process.wait(TIMEOUT) == 0


def test_it_speaks_over_a_terminal(command: list[str]):
    """FN-36: a pseudo-terminal."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE) as process:
        os.close(theirs)
        assert ask(lambda data: os.write(ours, data), lambda size: os.read(ours, size), FRAMES) == FRAMES
        os.close(ours)
        assert process.stderr
        assert b"lost" in process.stderr.read()


def test_without_input_it_ends_at_once(command: list[str]):
    """FN-36: the null device."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, check=True)
    assert b"closed stdin" in done.stderr


def ask(send: Callable[[bytes], object], receive: Callable[[int], bytes], frames: bytes) -> bytes:
    send(frames)
    received = b""
    while received.count(b"\n") < frames.count(b"\n"):
        received += receive(65536)
    return received


def test_a_pipe_that_others_share_stays_blocking(command: list[str]):
    their_input, our_output = os.pipe()
    our_input, their_output = os.pipe()
    with subprocess.Popen(command, stdin=their_input, stdout=their_output, stderr=subprocess.DEVNULL) as process:
        assert ask(lambda data: os.write(our_output, data), lambda size: os.read(our_input, size), FRAMES) == FRAMES
        assert os.get_blocking(their_input)
        assert os.get_blocking(their_output)
        os.close(our_output)
        assert process.wait(TIMEOUT) == 0
    for descriptor in (their_input, our_input, their_output):
        os.close(descriptor)


@pytest.mark.requirement("TRANS-02", "TRANS-18", "TRANS-03", "TRANS-16")
def test_whatever_is_printed_goes_to_stderr(command: list[str]):
    """FN-31: print(), a write to descriptor 1 and a child's output all miss the protocol."""
    frames = b'{"do":"print"}\n{"id":2}\n'
    stdout, stderr = conversation(command, frames)
    assert without_last_words(stdout) == frames
    for words in ("before", "printed\n", "written to 1\n", "from a child\n"):
        assert words in stderr


def test_children_neither_read_the_protocol_nor_inherit_it(command: list[str]):
    """FN-16: a child's stdin, and our own sys.stdin, are empty; the next request is still ours."""
    stdout, _ = conversation(command, b'{"do":"children"}\n{"id":2}\n')
    first, second = without_last_words(stdout).splitlines()
    answer: dict[str, Any] = json.loads(first)
    assert answer["eaten"] == answer["own"] == ""
    assert "0 -> /dev/null" in answer["open"]
    descriptors = [line.split()[-3] for line in answer["open"].splitlines() if "->" in line]
    assert [number for number in descriptors if number not in {"0", "1", "2"}] == []
    assert second == b'{"id":2}'


def test_the_end_of_input_ends_the_connection_even_in_the_middle_of_a_line(command: list[str]):
    """FN-37: at this layer; a client that vanishes is noticed, and the last line needs no newline."""
    stdout, stderr = conversation(command, b'{"id":1}\n{"id":2}')
    assert without_last_words(stdout) == FRAMES
    assert "lost" in stderr


def test_a_client_that_stops_reading_is_gone(command: list[str]):
    """FN-37: at this layer; output that nobody can read any more is the end, too."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        assert ask(process.stdin.raw.write, process.stdout.raw.read, FRAMES) == FRAMES  # type: ignore[attr-defined]
        process.stdout.close()
        process.stdin.raw.write(FRAMES)  # type: ignore[attr-defined]
        stderr = process.stderr.read()
        process.wait(TIMEOUT)
    assert b"no longer reads stdout" in stderr


WAITING = """
import asyncio, sys
from accord.transports.stdio import StdioTransport

class Receiver:
    def __init__(self):
        self.lost = asyncio.get_running_loop().create_future()

    def input_ended(self, reason):
        print("ended", file=sys.stderr, flush=True)

    def connection_lost(self, reason):
        if not self.lost.done():
            self.lost.set_result(reason)

async def main():
    stdio, receiver = StdioTransport(), Receiver()
    await stdio.open(receiver)
    print("lost:", await receiver.lost, file=sys.stderr, flush=True)
    await stdio.aclose()

if sys.argv[1] == "uvloop":
    import uvloop
    uvloop.run(main())
else:
    asyncio.run(main())
"""


@pytest.mark.parametrize("first", ["output", "input"])
@pytest.mark.parametrize("kind", ["pipes", "sockets"])
def test_a_client_that_is_gone_altogether_is_missed_although_nothing_is_written(
    command: list[str], first: str, kind: str
):
    """FN-37: after the end of input, answers may take long; nobody has to work for one that nobody will read."""
    ours: list[int] = []
    theirs: list[int] = []
    for end in (0, 1):
        pair = [each.detach() for each in socket.socketpair()] if kind == "sockets" else [*os.pipe()]
        theirs.append(pair.pop(end))
        ours.append(pair[0])
    words = [sys.executable, "-c", WAITING, command[-1]]
    with subprocess.Popen(words, stdin=theirs[0], stdout=theirs[1], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        for descriptor in theirs:
            os.close(descriptor)
        if first == "output":
            os.close(ours.pop(1))
        os.close(ours.pop(0))
        guard = threading.Timer(TIMEOUT, process.kill)
        guard.start()
        try:
            assert process.stderr.readline() == "ended\n"
            for descriptor in ours:
                os.close(descriptor)
            told = process.stderr.read()
        finally:
            guard.cancel()
            process.kill()
    assert "lost: " in told
    assert "the other side no longer reads stdout: [Errno 32] Broken pipe" in told


def test_a_large_frame_is_flushed_before_the_end(command: list[str]):
    stdout, _ = conversation(command, b'{"do":"large","size":5000000}\n')
    assert without_last_words(stdout) == b'{"x":"' + b"x" * 5_000_000 + b'"}\n'


def test_a_frame_past_the_limit_does_not_end_the_connection(command: list[str]):
    """FN-33: over real stdio."""
    stdout, _ = conversation(command, b'{"x":"' + b"x" * 3_000_000 + b'"}\n{"id":2}\n')
    refusal, answer = without_last_words(stdout).splitlines()
    assert "longer than the limit" in json.loads(refusal)["refused"]
    assert answer == b'{"id":2}'


@pytest.mark.requirement("TRANS-05", "AMB-07")
def test_it_answers_in_the_framing_it_is_spoken_to_in(command: list[str]):
    block = b'Content-Length: 8\r\n\r\n{"id":1}'
    stdout, _ = conversation(command, b"\r\n" + block + b"\n\n" + block)
    assert without_last_words(stdout) == block + block


@pytest.mark.requirement("TRANS-05")
def test_a_framing_that_is_asked_for_is_written_whatever_is_read(command: list[str]):
    stdout, _ = conversation([*command, "content-length"], b'{"id":1}\n')
    assert without_last_words(stdout) == b'Content-Length: 8\r\n\r\n{"id":1}'


def test_missing_descriptors_are_named():
    script = f"exec {sys.executable} {PROGRAM} asyncio <&-"
    done = subprocess.run(["sh", "-c", script], capture_output=True, timeout=TIMEOUT, check=False)
    assert b"this process has no stdin" in done.stderr


async def test_only_one_connection_at_a_time_has_stdio(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("accord.transports.stdio._StandardStreams._in_use", True)
    with pytest.raises(ConnectionClosed, match="another connection"):
        await StdioTransport().open(Recorder())


async def test_closed_before_it_is_opened_it_stays_closed():
    transport = StdioTransport()
    with pytest.raises(ConnectionClosed):
        transport.send(b"{}")
    await transport.aclose()
    with pytest.raises(ConnectionClosed):
        await transport.open(Recorder())
