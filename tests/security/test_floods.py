"""Malformed messages, thousands of them, from a peer that means harm or is broken: what they cost the side that reads.

The cost is counted in bytes of the log, lines and tracebacks, not in seconds.
"""

from __future__ import annotations

import asyncio
import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accord import Agent, Client
from accord.agent.mcp import ServerStatus
from accord.agent.session_servers import SERVER_LINES, SessionServers
from accord.client.permissions.policies import ask
from accord.errors import AccordError, ConnectionClosed, NotContent, Unencodable
from accord.peer import Limits, Peer
from accord.peer.limited_log import LINES, SECONDS, LimitedLog
from accord.session.requests import PermissionRequest
from accord.testing import ScriptedAgent, ScriptedClient
from accord.transports.process_transport import ProcessTransport

pytestmark = pytest.mark.bad_frames

MANY = 8000
SOME = 1500
A_FEW_LINES = 4 * 1024


class Written:
    """All that is written to the log, as a program without any settings of its own writes it."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.handler = logging.StreamHandler(self.stream)
        self.handler.addFilter(self._seen)
        self.tracebacks = 0

    def _seen(self, record: logging.LogRecord) -> bool:
        self.tracebacks += record.exc_info is not None
        return True

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def counted(self) -> int:
        """How many lines there are, with those that were left out."""
        left_out = sum(map(int, re.findall(r"(\d+) more (?:lines )?like this", self.text)))
        return left_out + sum("lines like this" not in line for line in self.text.splitlines())


@pytest.fixture
def written() -> Iterator[Written]:
    written = Written()
    log = logging.getLogger("accord")
    log.addHandler(written.handler)
    yield written
    log.removeHandler(written.handler)


TO_BOTH: dict[str, Any] = {
    "a notification whose params are no object": {"jsonrpc": "2.0", "method": "session/cancel", "params": [1]},
    "a cancel without a request": {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {}},
    "a cancel of a request that is not open": {
        "jsonrpc": "2.0",
        "method": "$/cancel_request",
        "params": {"requestId": 999},
    },
    "an optional notification": {"jsonrpc": "2.0", "method": "$/nothing", "params": {}},
    "an unknown notification": {"jsonrpc": "2.0", "method": "no/such", "params": {}},
    "an unknown request": {"jsonrpc": "2.0", "id": 7, "method": "no/such", "params": {}},
    "a request whose params are no object": {"jsonrpc": "2.0", "id": 7, "method": "no/such", "params": 7},
    "a method that is no string": {"jsonrpc": "2.0", "id": 7, "method": 7},
    "an answer that nobody asked for": {"jsonrpc": "2.0", "id": 999, "result": {}},
    "an error without an id": {"jsonrpc": "2.0", "id": None, "error": {"code": -1, "message": "\x1b[2J\n" * 99}},
    "an error that is none": {"jsonrpc": "2.0", "id": 999, "error": "no"},
    "an error for a request that is not open": {"jsonrpc": "2.0", "id": 999, "error": {"code": 1, "message": "no"}},
    "a batch of nonsense": [1, 2, 3],
    "a long unknown method": {"jsonrpc": "2.0", "method": "x\n" * 999, "params": [1]},
}
TO_AGENTS: dict[str, Any] = {
    "a cancel of nothing": {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": 5}},
    "a cancel without params": {"jsonrpc": "2.0", "method": "session/cancel"},
    "a session without a directory": {"jsonrpc": "2.0", "id": 7, "method": "session/new", "params": {"cwd": 7}},
    "a prompt for no session": {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "session/prompt",
        "params": {"sessionId": "x", "prompt": []},
    },
    "a notification that the author's handler chokes on": {"jsonrpc": "2.0", "method": "_note", "params": {}},
    "a request that the author's handler chokes on": {"jsonrpc": "2.0", "id": 7, "method": "_ask", "params": {}},
}
TO_CLIENTS: dict[str, Any] = {
    "an update without a session": {"jsonrpc": "2.0", "method": "session/update", "params": {"update": {}}},
    "an update of a session that is not open": {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {
            "sessionId": "elsewhere\n",
            "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}},
        },
    },
    "a malformed update of an open session": {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {"sessionId": "session-1", "update": {"sessionUpdate": "agent_message_chunk", "content": 7}},
    },
    "a malformed tool call": {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {"sessionId": "session-1", "update": {"sessionUpdate": "tool_call", "toolCallId": [], "title": 1}},
    },
    "a question without params": {"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": {}},
    "a file of no session": {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "fs/read_text_file",
        "params": {"sessionId": "x", "path": "/x"},
    },
    "a completed question that nobody asked": {"jsonrpc": "2.0", "method": "elicitation/complete", "params": {}},
    "a notification that the user's handler chokes on": {"jsonrpc": "2.0", "method": "_note", "params": {}},
    "a request that the user's handler chokes on": {"jsonrpc": "2.0", "id": 7, "method": "_ask", "params": {}},
}


def frames(message: Any) -> list[bytes]:
    """Many of them, each with an id of its own where it has one that is not of the attack."""
    if not isinstance(message, dict) or message.get("id") != 7:
        return [msgspec.json.encode(message)] * SOME
    return [msgspec.json.encode({**message, "id": f"x{number}"}) for number in range(SOME)]


def check(written: Written, *, tracebacks: int = 0) -> None:
    assert written.tracebacks <= tracebacks
    assert len(written.text) < A_FEW_LINES * (1 + tracebacks)
    assert written.text.isascii() or "…" in written.text
    assert not any(ord(character) < 32 and character != "\n" for character in written.text)


class Throttle:
    """Sends frames in pieces, so that the answers to them are taken meanwhile."""

    def __init__(self, send: Any) -> None:
        self._send = send

    async def flood(self, frames: list[bytes]) -> None:
        for start in range(0, len(frames), 500):
            for frame in frames[start : start + 500]:
                self._send(frame)
            await asyncio.sleep(0)


def clumsy_agent() -> Agent:
    agent = Agent("clumsy")

    @agent.notification("_note")
    def note(params: Any) -> None:
        params["missing"]

    @agent.method("_ask")
    async def answer(params: Any) -> None:
        params["missing"]

    return agent


OUR_FAULT = "chokes on"


@pytest.mark.parametrize("what", [*TO_BOTH, *TO_AGENTS])
async def test_an_agent_logs_a_few_short_lines_about_a_flood_and_answers_what_follows(what: str, written: Written):
    message = {**TO_BOTH, **TO_AGENTS}[what]
    async with ScriptedClient(clumsy_agent(), 1) as client:
        await client.initialize()
        await Throttle(client._transport.send).flood(frames(message))  # type: ignore[union-attr]
        assert (await client.ask("session/new", {"cwd": "/", "mcpServers": []})).error is None
        await client.aclose()
    check(written, tracebacks=LINES if OUR_FAULT in what else 0)


@pytest.mark.parametrize("version", [1, 2, "2-draft"])
async def test_an_agent_tells_how_much_it_left_out_of_the_log(version: Any, written: Written):
    async with ScriptedClient(clumsy_agent(), version) as client:
        await client.initialize()
        for _ in range(MANY):
            client._transport.send(b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":5}}')  # type: ignore[union-attr]
        await client.ask("session/new", {"cwd": "/", "mcpServers": []})
        await client.aclose()
    check(written)
    assert written.counted == MANY
    assert written.text.count("session/cancel could not be handled") == LINES


@pytest.mark.parametrize("what", [*TO_BOTH, *TO_CLIENTS])
async def test_a_client_logs_a_few_short_lines_about_a_flood_and_hears_what_follows(
    what: str, written: Written, tmp_path: Any
):
    message = {**TO_BOTH, **TO_CLIENTS}[what]
    agent = ScriptedAgent(1)

    client = Client(agent, version=1)

    @client.notification("_note")
    @client.method("_ask")
    def choke(params: Any) -> None:
        params["missing"]

    async with client:
        session = await client.new_session(cwd=tmp_path)
        agent.on("session/prompt", agent.reply("still here"))
        await Throttle(agent._transport.send).flood(frames(message))  # type: ignore[union-attr]
        reply = await session.prompt("hello")
        assert reply.text == "still here"
    check(written, tracebacks=LINES if OUR_FAULT in what else 0)


async def test_answers_that_come_too_late_are_no_news(written: Written):
    logging.getLogger("accord").setLevel(logging.DEBUG)
    try:
        agent = ScriptedAgent(1)
        late: list[Any] = []
        agent.on("_slow", late.append)
        async with Client(agent, version=1) as client:
            for _ in range(200):
                with pytest.raises(AccordError):
                    await client.peer.request("_slow", {}, deadline=0.0)
            for heard in late:
                heard.answer({})
            await client.new_session(cwd="/")
    finally:
        logging.getLogger("accord").setLevel(logging.NOTSET)
    assert written.text.count("gave up on it") <= LINES + 1
    check(written)


@pytest.mark.parametrize("garbage", [b"y", b"\xff\xfe", b"{", b"42", b"[]", b"x" * 2000, b'{"id":9}'])
async def test_garbage_between_messages_fills_no_log_either(garbage: bytes, written: Written):
    async with ScriptedClient(clumsy_agent(), 1) as client:
        await client.initialize()
        for number in range(SOME // 500):
            for _ in range(500):
                client._transport.send(garbage)  # type: ignore[union-attr]
            await client.ask("_nothing", {}, id=f"between-{number}")
        await client.aclose()
    check(written)
    assert written.counted == SOME


async def test_notifications_are_dealt_with_a_few_at_a_time_and_no_more_are_read_meanwhile():
    agent = Agent("slow", limits=Limits(open_requests=50))
    go_on = asyncio.Event()
    begun = most = running = 0

    @agent.notification("_note")
    async def note(params: Any) -> None:
        nonlocal begun, most, running
        begun, running = begun + 1, running + 1
        most = max(most, running)
        await go_on.wait()
        running -= 1

    async with ScriptedClient(agent, 1) as client:
        await client.initialize()
        for _ in range(SOME // 10):
            await Throttle(client._transport.send).flood([b'{"jsonrpc":"2.0","method":"_note","params":{}}'] * 10)  # type: ignore[union-attr]
        while begun <= 50:  # noqa: ASYNC110  # to see how far it goes on, nothing may be awaited that it sets
            await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        assert (begun, running) == (most, most)
        assert most < 50 + 20
        go_on.set()
        assert (await client.ask("session/new", {"cwd": "/", "mcpServers": []})).error is None
        assert begun == SOME


async def test_a_connection_that_ends_ends_what_its_notifications_have_led_to():
    agent = Agent("slow")
    ended: list[str] = []

    @agent.notification("_note")
    async def note(params: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("note")

    async with ScriptedClient(agent, 1) as client:
        await client.initialize()
        for _ in range(3):
            client.notify("_note", {})
        await client.ask("_nothing", {})
        await client.aclose()
    assert ended == ["note"] * 3


async def test_a_policy_that_fails_for_each_of_many_questions_fills_no_log(written: Written, tmp_path: Any):
    def nobody(asked: PermissionRequest) -> bool:
        raise RuntimeError("no screen")

    async def nobody_either(asked: PermissionRequest) -> Any:
        raise RuntimeError("no screen")

    for policy in (ask(nobody), nobody_either):
        agent = ScriptedAgent(1)
        async with Client(agent, version=1, on_permission=policy) as client:
            session = await client.new_session(cwd=tmp_path)
            question = {
                "sessionId": session.id,
                "toolCall": {"toolCallId": "c"},
                "options": [{"optionId": "a", "name": "A", "kind": "allow_once"}],
            }
            answers = [agent.ask("session/request_permission", question) for _ in range(300)]
            for answer in answers:
                assert (await answer).result["outcome"]["outcome"] == "cancelled"
    check(written, tracebacks=2 * LINES)


async def test_an_observer_that_fails_at_every_frame_fills_no_log(written: Written):
    def observe(direction: str, frame: bytes) -> None:
        raise RuntimeError("no disk")

    agent = Agent("watched", on_frame=observe)
    async with ScriptedClient(agent, 1) as client:
        await client.initialize()
        for _ in range(300):
            await client.ask("_nothing", {})
    check(written, tracebacks=LINES)


async def test_a_stderr_callback_that_fails_is_told_nothing_more(written: Written):
    heard: list[bytes] = []

    def on_stderr(piece: bytes) -> None:
        heard.append(piece)
        raise RuntimeError("no disk")

    script = "for i in 1 2 3 4 5 6 7 8 9 10; do echo noise >&2; sleep 0.01; done; exit 3"
    process = ProcessTransport(["sh", "-c", script], on_stderr=on_stderr)
    async with Peer(process, lambda event: None) as peer:
        closed = await peer.wait_closed()
    assert len(heard) == 1
    assert closed.stderr_tail == "noise\n" * 10
    check(written, tracebacks=1)


async def test_a_flood_on_stderr_is_kept_as_its_end_only(written: Written):
    process = ProcessTransport(["sh", "-c", "yes noise | head -c 20000000 >&2"], stderr_limit=1000)
    async with Peer(process, lambda event: None) as peer:
        closed = await peer.wait_closed()
    assert len(closed.stderr_tail) == 1000
    check(written)


async def test_other_work_goes_on_while_a_flood_of_malformed_notifications_is_read():
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with ScriptedClient(clumsy_agent(), 1) as client:
        await client.initialize()
        for _ in range(MANY):
            client._transport.send(b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":5}}')  # type: ignore[union-attr]
        counting = asyncio.create_task(count())
        await client.ask("_nothing", {})
        counting.cancel()
    assert turns > 8


def test_a_kind_of_line_is_written_again_after_a_while_with_the_count(written: Written):
    now = 0.0
    limited = LimitedLog(lambda: now)
    log = logging.getLogger("accord.test")
    for number in range(100):
        limited.warning(log, "odd: %s", number)
    limited.warning(log, "another kind")
    assert written.text.splitlines() == [*(f"odd: {number}" for number in range(LINES)), "another kind"]
    now = SECONDS
    limited.warning(log, "odd: %s", "again")
    limited.warning(log, "odd: %s", "and again")
    limited.close()
    assert written.text.splitlines()[LINES + 1 :] == [
        f"odd: again ({100 - LINES} more like this were left out before)",
        "odd: and again",
    ]


def test_a_server_whose_tools_change_all_the_time_fills_no_log(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "accord.agent")
    notices: list[Any] = []
    servers = SessionServers("s", Path("/"), notices.append)
    for tools in range(1000):
        servers.report(ServerStatus(name="restless", kind="stdio", state="connected", tools=tools))
    assert len([record for record in caplog.records if "restless" in record.getMessage()]) == SERVER_LINES


def test_what_a_peer_says_is_one_short_line_that_a_terminal_shows_and_does_not_obey(written: Written):
    log = logging.getLogger("accord.test")
    LimitedLog().warning(log, "odd: %s", "\x1b[2J\n\u202e" + "x" * 9999)
    (line,) = written.text.splitlines()
    assert line.startswith(r"odd: \x1b[2J\n\u202ex")
    assert len(line) < 300


def test_a_failure_of_ours_has_its_traceback_and_one_of_theirs_has_none(written: Written):
    log = logging.getLogger("accord.test")
    limited = LimitedLog()
    try:
        raise KeyError("ours")
    except KeyError as error:
        limited.failure(log, error, "failed")
    assert "Traceback" in written.text
    for mistake in (NotContent("bytes"), Unencodable("meta", "a set")):
        try:
            raise mistake
        except AccordError as error:
            limited.failure(log, error, "failed: %s", mistake)
    assert written.text.count("Traceback") == 3
    try:
        raise ConnectionClosed("theirs", 3, "last words\n" * 5000)
    except ConnectionClosed as error:
        limited.failure(log, error, "failed")
    assert written.text.count("Traceback") == 3
    assert len(written.text) < 2000
