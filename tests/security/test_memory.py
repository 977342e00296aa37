"""An agent that says far more than anybody keeps: what is held of it has a bound."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from accord import permissions
from accord.apps.console.conversation_records import ConversationRecorder, ConversationRecords
from accord.apps.console.run.json_events import EventBuilder
from accord.apps.console.run.output_format import terminal_reporter
from accord.apps.console.run.output_stream import StandardStreams
from accord.apps.console.run.text_printer import TextPrinter
from accord.apps.console.screen.conversation import Conversation
from accord.client.client import Client
from accord.client.workspace.terminals import TerminalEvent
from accord.local.files import read_file
from accord.session import Transcript
from accord.session.content import Text
from accord.session.entities import AGENT, ContentItem, Plan
from accord.session.updates import (
    CompactionPatch,
    MessageAppend,
    PlanPatch,
    TerminalAppend,
    TerminalPatch,
    ToolCallPatch,
    UnknownPatch,
)
from accord.testing import ScriptedAgent
from tests.apps.console.conftest import home, project  # noqa: F401  # fixtures
from tests.session.memory import retained

MIB = 1024 * 1024
SAID = 64 * MIB
"""What the agent says in a run."""
BOUND = 44 * MIB
"""What Python may hold at any moment of the run: its modules, and what waits to be written."""

AGENT_PROGRAM = """
import json, sys
what, total = sys.argv[1], int(sys.argv[2])
text = "All work and no play. " * 3000

def tell(update):
    params = {"sessionId": "s", "update": update}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}) + "\\n")

for line in sys.stdin:
    asked = json.loads(line)
    answer = {}
    if asked["method"] == "initialize":
        answer = {"protocolVersion": 1}
    elif asked["method"] == "session/new":
        answer = {"sessionId": "s"}
    elif asked["method"] == "session/prompt":
        for number in range(total // len(text)):
            content = {"type": "text", "text": text}
            if what == "calls":
                items = [{"type": "content", "content": content}]
                tell({"sessionUpdate": "tool_call", "toolCallId": f"c{number}", "title": "t", "content": items})
            elif what == "messages":
                tell({"sessionUpdate": "agent_message_chunk", "content": content, "messageId": f"m{number}"})
            elif what == "ids":
                tell({"sessionUpdate": "tool_call", "toolCallId": f"{number}-{text}", "title": "t"})
            elif what == "kinds":
                tell({"sessionUpdate": "tool_call", "toolCallId": f"c{number}", "title": "t", "kind": f"{number}-{text}"})
            elif what == "message ids":
                short = {"type": "text", "text": "x"}
                tell({"sessionUpdate": "agent_message_chunk", "content": short, "messageId": f"{number}-{text}"})
            else:
                tell({"sessionUpdate": what, "content": content})
        answer = {"stopReason": "end_turn"}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""

MEASURED = """
import sys, tracemalloc
tracemalloc.start()
from accord.cli import main
status = main(sys.argv[1:])
print("peak", tracemalloc.get_traced_memory()[1], "status", status, file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("agent_message_chunk", []),
        ("agent_message_chunk", ["--json"]),
        ("agent_message_chunk", ["--format", "v2"]),
        ("agent_thought_chunk", []),
        ("messages", ["--json"]),
        ("calls", ["--json"]),
        ("calls", []),
        ("ids", []),
        ("ids", ["--json"]),
        ("ids", ["--format", "v2"]),
        ("kinds", []),
        ("kinds", ["--json"]),
        ("message ids", []),
        ("message ids", ["--json"]),
    ],
)
async def test_a_run_holds_no_more_of_what_an_agent_says_than_it_needs(project, what, words):  # noqa: F811
    agent = [sys.executable, "-c", AGENT_PROGRAM, what, str(SAID)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", MEASURED, "run", *words, "Go", "--", *agent),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=project,
        env={**os.environ, "ACCORD_STRICT": "0"},  # an unknown kind is shown, and not an error
    )
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(process.stderr.read())
    written = 0
    while piece := await process.stdout.read(MIB):
        written += len(piece)
    told = (await errors).decode()
    assert await process.wait() == 0, told
    *_, peak, _, status = told.split()
    assert status == "0", told
    assert int(peak) < BOUND, f"{int(peak) / MIB:.0f} MiB"
    if words or what == "agent_message_chunk":
        assert written > SAID * 0.9


def test_a_small_file_of_ours_is_read_with_little(tmp_path):
    (tmp_path / "prompts.jsonl").write_bytes(b"small")
    tracemalloc.start()
    try:
        assert read_file(tmp_path / "prompts.jsonl") == b"small"
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()


def call(number: int, size: int = MIB) -> ToolCallPatch:
    return ToolCallPatch(id=f"c{number}", title="t", content=[ContentItem(content=Text("x" * size))])


def test_events_of_calls_that_never_end_hold_little_of_them():
    transcript, maker = Transcript(byte_limit=4 * MIB), EventBuilder()
    told = [event for number in range(64) for event in maker.events_of(transcript.apply(call(number)))]
    assert retained(maker.__dict__) < 10 * MIB
    assert len(told) + len(list(maker.rest())) == 64


def test_events_of_commands_and_texts_that_never_end_hold_little_of_them():
    transcript, maker = Transcript(byte_limit=4 * MIB), EventBuilder()
    for number in range(2000):
        list(maker.events_of(transcript.apply(TerminalAppend(id=f"t{number}", data=b"x" * 60_000))))
        list(maker.events_of(transcript.apply(MessageAppend(role="agent", id="m", content=Text("x" * 60_000)))))
    for number in range(64):
        list(maker.events_of(transcript.apply(TerminalPatch(id=f"t{number}" + "x" * MIB, command="yes"))))
    assert retained(maker.__dict__) < 10 * MIB


async def test_what_is_printed_of_calls_with_long_ids_is_not_held():
    transcript, outputs = Transcript(), StandardStreams()
    printer = TextPrinter(outputs, is_quiet=True)
    for number in range(100):
        printer.changed(transcript.apply(ToolCallPatch(id=f"{number}" + "x" * MIB, title="t")))
    for table in (printer._shown, printer._terminals, printer._asked_about):
        assert retained(table) < MIB
    outputs.close()


def test_the_output_of_commands_that_run_here_is_not_held():
    heard: list[Any] = []

    def changed(change: Any) -> None:
        heard.append(len(change.terminal.output))

    told = terminal_reporter(changed)
    for _ in range(64):
        told(TerminalEvent("output", SimpleNamespace(id="t"), b"x" * MIB))  # type: ignore[arg-type]
    assert max(heard) < 10 * MIB


async def test_a_reply_of_many_messages_does_not_hold_their_ids():
    agent = ScriptedAgent(1)
    async with Client(agent, version=1) as client:
        session = await client.new_session("/")
        session.transcript.entity_limit = 10
        reply = session.prompt("go")
        asked = await agent.seen("session/prompt")
        for number in range(500):
            agent.say("word ", messageId=f"m{number}")
        agent.finish(asked)
        assert (await reply).text == "word " * 10
        assert len(reply._turn.messages) < 100


async def test_a_client_can_be_told_how_much_to_keep_of_a_session():
    agent = ScriptedAgent(1)
    async with Client(agent, version=1, transcript_bytes=4 * MIB) as client:
        session = await client.new_session("/")
        reply = session.prompt("go")
        asked = await agent.seen("session/prompt")
        for _ in range(10):
            agent.say("x" * MIB)
        agent.finish(asked)
        assert len((await reply).text) <= 4 * MIB
        (message,) = [each for each in session.transcript.messages.values() if each.role == AGENT]
        assert message.dropped


async def test_a_record_is_made_without_the_whole_conversation_in_memory(tmp_path, monkeypatch):
    agent, records = ScriptedAgent(1), ConversationRecords(tmp_path)
    kept: list[list[bytes]] = []
    monkeypatch.setattr(records, "save", lambda recorded, lines: kept.append(list(lines)))
    async with Client(agent, version=1) as client:
        session = await client.new_session("/")
        recording = ConversationRecorder(records, "tester", session)
        for number in range(20):
            session._open.take(call(number), 0)
        await recording.save()
    (lines,) = kept
    assert sum(map(len, lines)) <= 4 * MIB
    assert json.loads(lines[-1])
    assert any(b'"c19"' in line for line in lines)


def test_the_screen_holds_no_endless_number_of_calls():
    transcript, story = Transcript(), Conversation("/work", lambda part: None)
    story.most = MIB
    for number in range(5000):
        story.apply(transcript.apply(ToolCallPatch(id=f"c{number}", title="t")))
    assert len(story.blocks) < 1000
    assert len(story._calls) < 1000


def test_the_screen_lets_the_oldest_go_and_says_so():
    transcript, story = Transcript(), Conversation("/work", lambda part: None)
    story.most = 8 * MIB
    for number in range(32):
        story.apply(transcript.apply(call(number)))
    for _ in range(32):
        story.apply(transcript.apply(MessageAppend(role=AGENT, id="m", content=Text("word " * (MIB // 5)))))
    assert retained([block.__dict__ for block in story.blocks]) < 40 * MIB
    assert "no longer shown" in story.blocks[0].plain()
    assert len([block for block in story.blocks if "no longer shown" in block.plain()]) == 1
    story.apply(transcript.apply(ToolCallPatch(id="c0", status="completed")))
    assert [block.call.id for block in story.calls][-1] == "c0"


LONG = "x" * 65536
KEPT = 4 * MIB


def numbered(number: int) -> str:
    return f"{number}-{LONG}"


def held_by(session: Any, reply: Any) -> int:
    """What a client holds of a session, but for its connection and for what is yet to be read."""
    opened, turn = session._open, reply._turn
    tables = [opened.transcript, opened.foreground.__dict__, turn.messages, turn.prompt.__dict__]
    registry = opened.connection.on_closed.__self__
    grants = opened.connection.agent_requests._grants
    return retained([*tables, registry._subagents.__dict__, registry._held, grants])


UPDATES: dict[str, Callable[[int], dict[str, Any]]] = {
    "ids of calls": lambda n: {"sessionUpdate": "tool_call", "toolCallId": numbered(n), "title": "t"},
    "kinds": lambda n: {"sessionUpdate": "tool_call", "toolCallId": f"c{n}", "title": "t", "kind": numbered(n)},
    "ids of messages": lambda n: {
        "sessionUpdate": "agent_message_chunk",
        "messageId": numbered(n),
        "content": {"type": "text", "text": "x"},
    },
    "ids of prompts": lambda n: {
        "sessionUpdate": "user_message_chunk",
        "messageId": numbered(n),
        "content": {"type": "text", "text": "no echo"},
    },
    "metas of an echo": lambda n: {
        "sessionUpdate": "user_message_chunk",
        "messageId": "m",
        "content": {"type": "text", "text": ""},
        "_meta": {f"k{n}": LONG},
    },
    "subagents": lambda n: {"sessionUpdate": "subagent_update", "sessionId": numbered(n), "title": "t"},
    "unknown": lambda n: {"sessionUpdate": f"_{numbered(n)}"},
}


@pytest.mark.bad_frames
@pytest.mark.parametrize("update", UPDATES.values(), ids=UPDATES.keys())
@pytest.mark.parametrize("version", [1, 2, "2-draft"])
async def test_a_client_holds_no_endless_number_of_long_names(version: Any, update: Callable[[int], dict[str, Any]]):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version, transcript_bytes=KEPT) as client:
        session = await client.new_session("/work")
        session.transcript.entity_limit = 1000
        for number in range(900):  # whatever is counted by these has room for the long ones
            agent.say("light", messageId=f"m{number}")
        reply = session.prompt("go")
        asked = await agent.seen("session/prompt")
        agent.begin(asked)
        for number in range(400):
            agent.update(update(number))
        agent.finish(asked)
        await reply
        assert held_by(session, reply) < 4 * KEPT


@pytest.mark.parametrize("answer", ["allow_all", "reject_all"])
async def test_a_client_holds_no_endless_number_of_long_questions(answer: str):
    agent = ScriptedAgent(1)
    options = [{"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_once", "reject_once")]
    async with Client(agent, version=1, transcript_bytes=KEPT, on_permission=getattr(permissions, answer)) as client:
        session = await client.new_session("/work")
        reply = session.prompt("go")
        reading = asyncio.ensure_future(reply)
        asked = await agent.seen("session/prompt")
        for number in range(300):
            call = {
                "toolCallId": numbered(number),
                "title": "t",
                "kind": "execute",
                "rawInput": {"command": numbered(number)},
            }
            params = {"sessionId": session.id, "toolCall": call, "options": options}
            await agent.ask("session/request_permission", params)
        assert held_by(session, reply) < 4 * KEPT
        agent.finish(asked)
        await reading


STORIES: dict[str, Callable[[int], Any]] = {
    "ids of calls": lambda n: ToolCallPatch(id=numbered(n), title="t"),
    "names": lambda n: ToolCallPatch(id=f"c{n}", name=numbered(n)),
    "kinds": lambda n: ToolCallPatch(id=f"c{n}", kind=numbered(n)),
    "metas": lambda n: ToolCallPatch(id=f"c{n}", meta={"k": numbered(n)}),
    "ids of messages": lambda n: MessageAppend(role=AGENT, id=numbered(n), content=Text("x")),
    "ids of terminals": lambda n: TerminalPatch(id=numbered(n)),
    "commands": lambda n: TerminalPatch(id=f"t{n}", command=numbered(n)),
    "errors": lambda n: CompactionPatch(id=f"k{n}", status="failed", error=numbered(n)),
    "tags": lambda n: UnknownPatch(tag=numbered(n), raw={}),
    "plans": lambda n: PlanPatch(plan=Plan(id=numbered(n), type="odd", raw={})),
}


@pytest.mark.parametrize("report", STORIES.values(), ids=STORIES.keys())
def test_the_screen_holds_no_endless_number_of_long_names(report: Callable[[int], Any]):
    transcript, story = Transcript(byte_limit=KEPT), Conversation("/work", lambda part: None)
    story.most = KEPT
    for number in range(400):
        story.apply(transcript.apply(report(number)))
    assert retained([story.__dict__, *(block.__dict__ for block in story.blocks)]) < 3 * KEPT


def test_a_call_that_gets_a_long_name_later_weighs_it():
    transcript, story = Transcript(byte_limit=KEPT), Conversation("/work", lambda part: None)
    story.most = KEPT
    for number in range(400):
        story.apply(transcript.apply(ToolCallPatch(id=f"c{number}", title="t")))
        story.apply(transcript.apply(ToolCallPatch(id=f"c{number}", status=numbered(number))))
    assert retained([story.__dict__, *(block.__dict__ for block in story.blocks)]) < 3 * KEPT
