"""The end of input: what was read before is answered, turns end as cancelled and say so, then the program ends (FN-37).

How long that takes is told by the machine; the hang guard is what fails.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from accord import Agent, Client
from accord.client.permissions.policies import cancelled
from accord.client.target import Command
from accord.errors import ConnectionClosed
from accord.peer import Limits, Peer
from accord.session.requests import PermissionAnswer, PermissionRequest
from accord.transports.frame_reader import FrameReader
from tests.peer.joined import receiver, until
from tests.virtual_clock import run

Versions = [1, 2, "2-draft"]

AGENT = """
import asyncio, sys, time
from accord import Agent
from accord.store import MemoryStore

agent = Agent("small", store=MemoryStore(), busy="queue")

@agent.prompt
async def work(turn):
    if "permission" in turn.text:
        async with turn.tool_call("Delete everything", kind="delete") as call:
            await turn.allowed(call)
    await turn.say("begun")
    await asyncio.sleep(3600)

@agent.command("block", "A plain function")
def block(turn):
    turn.say("begun")
    while True:
        time.sleep(0.01)
        turn.say(".")

@agent.method("_slow")
async def slow(params):
    await asyncio.sleep(params["seconds"])
    return {"slept": True}

@agent.method("_plain")
def plain(params):
    time.sleep(0.2)
    return {"done": True}

@agent.notification("_noted")
async def noted(params):
    await asyncio.sleep(0.05)
    print("noted", file=sys.stderr)

agent.run()
"""


def initialize(version: Any) -> dict[str, Any]:
    params: dict[str, Any] = {"protocolVersion": 1 if version == 1 else 2}
    if version == 2:
        params |= {"info": {"name": "t", "version": "1"}, "capabilities": {}}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


def request(id: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def lines(*messages: Any) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "ACCORD_HOME": str(tmp_path / "home")}


@pytest.fixture
def small(tmp_path: Path) -> list[str]:
    file = tmp_path / "small_agent.py"
    file.write_text(AGENT, encoding="utf-8")
    return [sys.executable, str(file)]


@pytest.fixture(params=["an agent of the library", "accord agent"])
def command(request: pytest.FixtureRequest, small: list[str]) -> list[str]:
    return small if request.param != "accord agent" else [sys.executable, "-m", "accord", "agent"]


class Program:
    """An agent as a program. `close` ends its input; `rest` are the frames from then on to its end."""

    def __init__(self, command: list[str], environment: dict[str, str], **options: Any) -> None:
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options}
        self.process: subprocess.Popen[Any] = subprocess.Popen(
            command, env=environment, stderr=subprocess.PIPE, **pipes
        )

    def say(self, *messages: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(lines(*messages))
        self.process.stdin.flush()

    def hear(self, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            if is_it(frame := json.loads(line)):
                return frame
        raise AssertionError("it ended before it said that")

    def begin(self, version: Any, cwd: Path) -> str:
        self.say(initialize(version), request(2, "session/new", cwd=str(cwd), mcpServers=[]))
        return self.hear(lambda frame: frame.get("id") == 2)["result"]["sessionId"]

    def rest(self, last: bytes = b"") -> list[Any]:
        said, _ = self.process.communicate(last)
        assert self.process.returncode == 0
        return [json.loads(line) for line in said.splitlines()]


@pytest.fixture
def started(environment: dict[str, str]) -> Iterator[Callable[..., Program]]:
    programs: list[Program] = []

    def start(command: list[str], **options: Any) -> Program:
        programs.append(Program(command, environment, **options))
        return programs[-1]

    yield start
    for program in programs:
        program.process.kill()
        program.process.wait()
        for pipe in (program.process.stdin, program.process.stdout, program.process.stderr):
            if pipe is not None:
                pipe.close()


def answers(frames: list[Any]) -> dict[Any, dict[str, Any]]:
    return {frame["id"]: frame for frame in frames if isinstance(frame, dict) and "method" not in frame}


def ends(version: Any, frames: list[Any], prompt_id: Any) -> list[str]:
    """How the turns ended: by the answer, or in v2 by the state that follows."""
    if version != 2:
        return [answers(frames)[prompt_id]["result"]["stopReason"]]
    updates = [frame["params"]["update"] for frame in frames if frame.get("method") == "session/update"]
    return [update["stopReason"] for update in updates if update.get("state") == "idle" and "stopReason" in update]


def said(frame: dict[str, Any]) -> bool:
    return "begun" in json.dumps(frame)


@pytest.mark.parametrize("version", Versions)
def test_requests_that_are_piped_in_get_all_of_their_answers(command, started, version, tmp_path):
    """FN-115: everything that was read before the input ended is answered."""
    program = started(command)
    opening = request(2, "session/new", cwd=str(tmp_path), mcpServers=[])
    frames = program.rest(lines(initialize(version), opening, request(3, "session/list")))
    assert set(answers(frames)) == {1, 2, 3}
    assert not [frame for frame in answers(frames).values() if "error" in frame]


@pytest.mark.parametrize("version", [1, "2-draft"])
def test_a_batch_and_a_last_line_without_its_end_are_answered_too(small, started, version, tmp_path):
    program = started(small)
    program.begin(version, tmp_path)
    batch = [request("a", "_slow", seconds=0.1), request("b", "session/list"), request("c", "_plain")]
    last = json.dumps(request("d", "session/list")).encode()
    frames = program.rest(lines(batch) + last)
    (array,) = [frame for frame in frames if isinstance(frame, list)]
    assert {entry["id"] for entry in array if "result" in entry} == {"a", "b", "c"}
    assert "result" in answers(frames)["d"]


@pytest.mark.parametrize("version", Versions)
def test_a_turn_that_runs_ends_as_cancelled_and_says_so(small, started, version, tmp_path):
    program = started(small)
    session = program.begin(version, tmp_path)
    program.say(request(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}]))
    program.hear(said)
    assert ends(version, program.rest(), 3) == ["cancelled"]


@pytest.mark.parametrize("version", Versions)
def test_a_turn_of_a_plain_function_ends_as_cancelled_too(small, started, version, tmp_path):
    program = started(small)
    session = program.begin(version, tmp_path)
    program.say(request(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "/block"}]))
    program.hear(said)
    assert ends(version, program.rest(), 3) == ["cancelled"]


@pytest.mark.parametrize("version", Versions)
def test_a_turn_that_waits_for_permission_ends_as_cancelled(small, started, version, tmp_path):
    program = started(small)
    session = program.begin(version, tmp_path)
    program.say(request(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "permission"}]))
    program.hear(lambda frame: frame.get("method") == "session/request_permission")
    frames = program.rest()
    assert ends(version, frames, 3) == ["cancelled"]
    statuses = [frame["params"]["update"].get("status") for frame in frames if frame.get("method") == "session/update"]
    assert [status for status in statuses if status][-1] in ("failed", "cancelled")


@pytest.mark.parametrize("version", Versions)
def test_prompts_that_wait_for_their_turn_are_answered_as_well(small, started, version, tmp_path):
    program = started(small)
    session = program.begin(version, tmp_path)
    prompts = [
        request(f"p{number}", "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
        for number in range(5)
    ]
    frames = program.rest(lines(*prompts))
    assert {f"p{number}" for number in range(5)} <= set(answers(frames))
    if version != 2:
        assert {answers(frames)[f"p{number}"]["result"]["stopReason"] for number in range(5)} == {"cancelled"}


def test_a_handler_that_takes_too_long_is_cancelled_and_its_request_answered(small, started, tmp_path):
    program = started(small)
    program.begin(1, tmp_path)
    frames = program.rest(lines(request("long", "_slow", seconds=3600), request("short", "_slow", seconds=0.1)))
    assert answers(frames)["short"]["result"] == {"slept": True}
    assert answers(frames)["long"]["error"]["code"] == -32800


def test_a_notification_that_was_read_is_dealt_with(small, started, tmp_path):
    program = started(small)
    program.begin(1, tmp_path)
    program.process.stdin.write(lines({"jsonrpc": "2.0", "method": "_noted", "params": {}}))
    _, complaints = program.process.communicate()
    assert b"noted" in complaints


def test_many_requests_at_once_are_all_answered(small, started, tmp_path):
    """More than are served at a time: the reading has paused when the input ends."""
    program = started(small)
    program.begin(1, tmp_path)
    frames = program.rest(lines(*(request(f"x{number}", "session/list") for number in range(6000))))
    assert len(answers(frames)) == 6000
    assert not [frame for frame in answers(frames).values() if "error" in frame]


def test_the_end_is_seen_although_the_reading_has_paused_for_turns_that_go_on(small, started, tmp_path):
    program = started(small)
    session = program.begin(1, tmp_path)
    prompt = [{"type": "text", "text": "go"}]
    many = 4200  # more than are taken at a time; what is left fits into the pipe, so that its end can be seen
    frames = program.rest(
        lines(*(request(f"x{number}", "session/prompt", sessionId=session, prompt=prompt) for number in range(many)))
    )
    assert len([frame for frame in answers(frames).values() if frame["result"]["stopReason"] == "cancelled"]) == many


def test_with_the_output_closed_too_it_ends_without_waiting_for_handlers(small, started, tmp_path):
    program = started([*small[:1], "-c", SPYING, small[1]])
    program.begin(1, tmp_path)
    program.say(request("long", "_slow", seconds=3600))
    assert program.process.stdout is not None
    program.process.stdout.close()
    program.process.stdin.close()
    program.process.stdin = program.process.stdout = None
    _, complaints = program.process.communicate()
    assert b"grace 0\n" in complaints


SPYING = """
import sys, runpy
from accord.peer import lifetime

class Grace(lifetime.Lifetime):
    async def _finish(self):
        import asyncio
        waited = asyncio.create_task(asyncio.sleep(2.4))
        await super()._finish()
        print("grace", int(waited.done()), file=sys.stderr)
        waited.cancel()

import accord.peer.peer
accord.peer.peer.Lifetime = Grace
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_half_of_a_socket_that_is_closed_leaves_the_other_half(small, started, tmp_path):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        program = started(small, stdin=theirs, stdout=theirs)
        theirs.close()
        ours.sendall(lines(initialize(1), request(2, "session/new", cwd=str(tmp_path), mcpServers=[])))
        ours.sendall(lines(request(3, "session/list")))
        ours.shutdown(socket.SHUT_WR)
        received = b""
        while piece := ours.recv(65536):
            received += piece
    assert set(answers([json.loads(line) for line in received.splitlines()])) == {1, 2, 3}
    assert program.process.wait() == 0


def test_a_file_as_input_is_answered_whole(small, started, tmp_path):
    """FN-115: `agent < requests.jsonl`."""
    script = tmp_path / "input.jsonl"
    opening = request(2, "session/new", cwd=str(tmp_path), mcpServers=[])
    script.write_bytes(lines(initialize(1), opening, request(3, "session/list")))
    with script.open("rb") as file:
        assert set(answers(started(small, stdin=file).rest())) == {1, 2, 3}


# A client whose agent falls silent but still reads.

SILENT_AGENT = """
import json, os, sys

def read():
    return json.loads(sys.stdin.readline())

def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    sys.stdout.flush()

say(id=read()["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
say(id=read()["id"], result={"sessionId": "s"})
prompt = read()
option = {"optionId": "a", "name": "A", "kind": "allow_once"}
call = {"toolCallId": "c", "title": "Delete"}
say(id="ask", method="session/request_permission", params={"sessionId": "s", "toolCall": call, "options": [option]})
say(id="read", method="fs/read_text_file", params={"sessionId": "s", "path": sys.argv[1]})
os.close(1)
with open(sys.argv[2], "w") as heard:
    for line in sys.stdin:
        heard.write(line)
        heard.flush()
"""


async def test_a_client_answers_what_its_silent_agent_has_asked(tmp_path: Path):
    asked = asyncio.Event()

    async def nobody(question: PermissionRequest) -> PermissionAnswer:
        asked.set()
        await asyncio.Event().wait()
        return cancelled()

    program, file, heard = tmp_path / "agent.py", tmp_path / "file.txt", tmp_path / "heard"
    program.write_text(SILENT_AGENT, encoding="utf-8")
    file.write_text("content", encoding="utf-8")
    target = Command([sys.executable, str(program), str(file), str(heard)], close_grace=20.0)
    async with Client(target, version=1, on_permission=nobody, workspace=tmp_path) as client:
        session = await client.new_session(cwd=tmp_path)
        reply = session.prompt("go")
        await asked.wait()
        with pytest.raises(ConnectionClosed, match="closed its output"):
            await reply
        with pytest.raises(ConnectionClosed, match="closed its output"):
            session.prompt("again")
        closed = await client.wait_closed()
        assert "closed its output" in closed.reason
    told = {frame["id"]: frame for frame in map(json.loads, heard.read_text().splitlines()) if "id" in frame}
    assert told["ask"]["result"] == {"outcome": {"outcome": "cancelled"}}
    assert told["read"]["result"]["content"] == "content"


# Below the two sides: the peer.


class Line:
    """A transport that hands over what it is fed, whose other direction goes on working."""

    unsent = 0

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.is_closed = False

    async def open(self, receiver: Any) -> None:
        self.reader = FrameReader(receiver, 100_000)

    def send(self, frame: bytes) -> None:
        assert not self.is_closed
        self.sent.append(json.loads(frame))

    def pause_receiving(self) -> None:
        self.reader.pause()

    def resume_receiving(self) -> None:
        self.reader.resume()

    async def aclose(self) -> None:
        self.is_closed = True


async def test_a_peer_answers_what_it_has_read_before_it_closes():
    release = asyncio.Event()

    async def slow(params: Any) -> Any:
        await release.wait()
        return {}

    line = Line()
    async with Peer(line, receiver({"slow": slow})) as peer:
        waiting = asyncio.create_task(peer.request("ask"))
        await asyncio.sleep(0)
        line.reader.feed(lines(request(1, "slow"), request(2, "none")))
        line.reader.end(ConnectionClosed("silent"))
        with pytest.raises(ConnectionClosed, match="silent"):
            await waiting
        with pytest.raises(ConnectionClosed, match="silent"):
            await peer.request("ask")
        assert peer.is_open
        peer.post("told")
        release.set()
        assert (await peer.wait_closed()).reason == "silent"
    assert answers(line.sent) == {
        1: {"jsonrpc": "2.0", "id": 1, "result": {}},
        2: answers(line.sent)[2],
    }


@pytest.mark.parametrize(("limits", "seconds"), [(None, 2.5), (Limits(response_grace_seconds=9.0), 9.0)], ids=str)
def test_a_request_that_does_not_end_has_two_and_a_half_seconds_unless_told_otherwise(limits, seconds):
    async def main() -> None:
        times: list[float] = []
        clock = asyncio.get_running_loop().time

        async def never(params: Any) -> Any:
            try:
                await asyncio.Event().wait()
            finally:
                times.append(clock())

        line = Line()
        async with Peer(line, receiver({"never": never}), limits=limits) as peer:
            line.reader.feed(lines(request(1, "never")))
            await until(lambda: peer.is_open)
            began = clock()
            line.reader.end(ConnectionClosed("silent"))
            await peer.wait_closed()
        assert [time - began for time in times] == pytest.approx([seconds])
        assert line.sent[0]["error"]["code"] == -32800

    run(main())


async def test_a_peer_that_loses_the_other_direction_meanwhile_waits_no_longer():
    async def never(params: Any) -> Any:
        await asyncio.Event().wait()

    line = Line()
    limits = Limits(response_grace_seconds=3600.0)
    async with Peer(line, receiver({"never": never}), limits=limits) as peer:
        line.reader.feed(lines(request(1, "never")))
        line.reader.end(ConnectionClosed("silent"))
        await until(lambda: peer.is_open)
        line.reader.lose(ConnectionClosed("gone"))
        assert (await peer.wait_closed()).reason == "silent"
    assert line.sent == []


async def test_a_peer_that_is_closed_meanwhile_waits_no_longer():
    async def never(params: Any) -> Any:
        await asyncio.Event().wait()

    line = Line()
    async with Peer(line, receiver({"never": never}), limits=Limits(response_grace_seconds=3600.0)) as peer:
        line.reader.feed(lines(request(1, "never")))
        line.reader.end(ConnectionClosed("silent"))
        await asyncio.sleep(0)
        await peer.aclose()
    assert line.sent[0]["error"]["code"] == -32800


async def test_a_reader_that_rests_or_has_enough_to_do_hears_of_the_end():
    async def wait(params: Any) -> Any:
        await asyncio.Event().wait()

    line = Line()
    limits = Limits(open_requests=10, response_grace_seconds=0.01)
    async with Peer(line, receiver({"wait": wait}), limits=limits) as peer:
        line.reader.feed(lines(*(request(number, "wait") for number in range(1000))))
        line.reader.end(ConnectionClosed("silent"))
        await peer.wait_closed()
    assert set(answers(line.sent)) == set(range(1000))


async def test_an_agent_that_is_served_in_memory_still_ends_with_its_client():
    agent = Agent("small")
    begun, ended = asyncio.Event(), asyncio.Event()

    @agent.prompt
    async def work(turn: Any) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with Client(agent) as client:
        session = await client.new_session(cwd=Path("/"))
        session.prompt("go")
        await begun.wait()
    await ended.wait()
