"""Our agent and a client made with the official Python SDK."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import acp
import pytest
from acp import schema
from acp.core import ClientSideConnection

from tests.conversations.agent_program import PROGRAM
from tests.conversations.story import MANY, MEBIBYTE, STORY, TEXT, THOUGHT

pytestmark = pytest.mark.timeout(60)

FILE, COMMAND = STORY["file"], STORY["command"]
CAPABILITIES = schema.ClientCapabilities(
    fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=True
)


class OfficialClient:
    """Writes down what it is told and asked, in order. `chooses` is None to leave questions open until a cancel."""

    def __init__(self, chooses: str | None = "yes") -> None:
        self.chooses = chooses
        self.files = {FILE["path"]: FILE["before"]}
        self.seen: list[Any] = []
        self.sessions: list[str] = []
        self.arrived = asyncio.Event()
        self.cancelled = asyncio.Event()

    def note(self, what: Any) -> None:
        self.seen.append(what)
        self.arrived.set()

    async def until(self, kind: type[Any]) -> None:
        async with asyncio.timeout(30):
            while not any(isinstance(each, kind) for each in self.seen):
                self.arrived.clear()
                await self.arrived.wait()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.note(update)

    async def request_permission(self, options: list[Any], tool_call: Any, **_: Any) -> acp.RequestPermissionResponse:
        self.note(tool_call)
        if self.chooses is None:
            await self.cancelled.wait()
            return acp.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        assert [option.option_id for option in options] == ["yes", "no"]
        chosen = schema.AllowedOutcome(outcome="selected", option_id=self.chooses)
        return acp.RequestPermissionResponse(outcome=chosen)

    async def read_text_file(self, path: str, line: int, limit: int, **_: Any) -> schema.ReadTextFileResponse:
        self.note(f"read {line} {limit}")
        return schema.ReadTextFileResponse(content=self.files[path])

    async def write_text_file(self, path: str, content: str, **_: Any) -> schema.WriteTextFileResponse:
        self.note("write")
        self.files[path] = content
        return schema.WriteTextFileResponse()

    async def create_terminal(self, command: str, args: Any, env: Any, cwd: Any, **_: Any) -> Any:
        self.note([command, *args, *(f"{each.name}={each.value}" for each in env), cwd])
        return schema.CreateTerminalResponse(terminal_id="terminal-0")

    async def wait_for_terminal_exit(self, **_: Any) -> schema.WaitForTerminalExitResponse:
        return schema.WaitForTerminalExitResponse(exit_code=COMMAND["code"])

    async def terminal_output(self, **_: Any) -> schema.TerminalOutputResponse:
        return schema.TerminalOutputResponse(output=COMMAND["output"], truncated=False)

    async def release_terminal(self, **_: Any) -> schema.ReleaseTerminalResponse:
        self.note("release")
        return schema.ReleaseTerminalResponse()

    def texts(self, kind: type[Any]) -> str:
        return "".join(each.content.text for each in self.seen if isinstance(each, kind))


class Connected:
    def __init__(self, client: OfficialClient, agent: ClientSideConnection) -> None:
        self.client = client
        self.agent = agent

    async def new_session(self) -> str:
        opened = await self.agent.new_session(STORY["cwd"])
        await self.client.until(schema.AvailableCommandsUpdate)
        self.client.seen.clear()
        return opened.session_id

    async def prompt(self, session_id: str, *texts: str) -> str:
        return (await self.agent.prompt(session_id, [acp.text_block(text) for text in texts])).stop_reason


@asynccontextmanager
async def connect(chooses: str | None = "yes") -> AsyncIterator[Connected]:
    client = OfficialClient(chooses)
    async with acp.spawn_agent_process(
        cast("Any", client),
        sys.executable,
        str(PROGRAM),
        env=dict(os.environ),
        transport_kwargs={"limit": 64 * MEBIBYTE, "stderr": None, "shutdown_timeout": 20.0},
        use_unstable_protocol=True,
    ) as (agent, process):
        async with asyncio.timeout(50):
            yield Connected(client, agent)
    assert process.returncode == 0


@pytest.fixture
async def connected() -> AsyncIterator[Connected]:
    async with connect() as each:
        answer = await each.agent.initialize(acp.PROTOCOL_VERSION, CAPABILITIES)
        assert answer.protocol_version == 1
        yield each


async def test_the_handshake_is_v1_and_names_what_the_agent_can():
    async with connect() as connected:
        answer = await connected.agent.initialize(acp.PROTOCOL_VERSION, CAPABILITIES)
    assert answer.agent_info == schema.Implementation(name="accord-story", version="1.0", title="Erzähler")
    assert answer.agent_capabilities is not None
    assert answer.agent_capabilities.load_session
    assert [method.id for method in answer.auth_methods or []] == ["key"]


async def test_a_whole_turn_is_told_in_order(connected: Connected):
    session_id = await connected.new_session()
    assert await connected.prompt(session_id, "story") == "end_turn"
    seen = [each if isinstance(each, str) else type(each).__name__ for each in connected.client.seen]
    assert seen == [
        *["AgentThoughtChunk"] * len(STORY["thought"]),
        "AgentPlanUpdate",
        *["ToolCallStart", "ToolCallProgress"],
        "read 1 2",
        *["ToolCallProgress", "ToolCallProgress"],
        *["ToolCallStart", "ToolCallProgress", "ToolCallProgress"],
        "ToolCallUpdate",
        "write",
        "ToolCallProgress",
        *["ToolCallStart", "ToolCallProgress"],
        "list",
        "ToolCallProgress",
        "release",
        "ToolCallProgress",
        "AgentPlanUpdate",
        *["AgentMessageChunk"] * len(STORY["message"]),
        "UsageUpdate",
        "SessionInfoUpdate",
    ]


async def test_the_story_is_told_whole(connected: Connected):
    session_id = await connected.new_session()
    await connected.prompt(session_id, "story")
    client = connected.client
    assert client.texts(schema.AgentThoughtChunk) == THOUGHT
    assert client.texts(schema.AgentMessageChunk) == TEXT
    plan = [each for each in client.seen if isinstance(each, schema.AgentPlanUpdate)][-1]
    assert [(entry.content, entry.priority) for entry in plan.entries] == [
        (entry["content"], entry["priority"]) for entry in STORY["plan"]
    ]
    (diff,) = [
        item for each in client.seen if isinstance(each, schema.ToolCallProgress) for item in each.content or []
        if isinstance(item, schema.FileEditToolCallContent)
    ]  # fmt: skip
    assert (diff.path, diff.old_text, diff.new_text) == (FILE["path"], FILE["before"], FILE["after"])
    last = [each for each in client.seen if isinstance(each, schema.ToolCallProgress)][-1]
    assert last.raw_output == {"output": COMMAND["output"], "code": 0}


async def test_its_files_and_terminals_are_used(connected: Connected):
    session_id = await connected.new_session()
    await connected.prompt(session_id, "story")
    assert connected.client.files[FILE["path"]] == FILE["after"]
    assert [COMMAND["command"], *COMMAND["args"], "LANG=C", STORY["cwd"]] in connected.client.seen


async def test_a_rejected_permission_leaves_the_file_alone(connected: Connected):
    connected.client.chooses = "no"
    session_id = await connected.new_session()
    assert await connected.prompt(session_id, "story") == "end_turn"
    assert connected.client.files[FILE["path"]] == FILE["before"]
    statuses = [getattr(each, "status", None) for each in connected.client.seen]
    assert "failed" in statuses


async def test_a_cancel_ends_the_turn_with_its_stop_reason(connected: Connected):
    session_id = await connected.new_session()
    turn = asyncio.create_task(connected.prompt(session_id, "wait"))
    await connected.client.until(schema.ToolCallStart)
    await connected.agent.cancel(session_id)
    assert await turn == "cancelled"
    assert connected.client.seen[-1].status == "failed"


async def test_a_cancel_releases_an_open_question(connected: Connected):
    connected.client.chooses = None
    session_id = await connected.new_session()
    turn = asyncio.create_task(connected.prompt(session_id, "permission"))
    await connected.client.until(schema.ToolCallUpdate)
    await connected.agent.cancel(session_id)
    connected.client.cancelled.set()
    assert await turn == "cancelled"


async def test_many_pieces_arrive_in_order(connected: Connected):
    session_id = await connected.new_session()
    await connected.prompt(session_id, f"many {MANY}")
    assert connected.client.texts(schema.AgentMessageChunk) == "".join(f"{number} " for number in range(MANY))


async def test_a_message_of_several_mebibytes_goes_there_and_back(connected: Connected):
    text = "größe 🐘 " * (3 * MEBIBYTE // 12)
    session_id = await connected.new_session()
    await connected.prompt(session_id, "echo", text)
    assert connected.client.texts(schema.AgentMessageChunk) == text


async def refusal(work: Any) -> tuple[int, Any]:
    with pytest.raises(acp.RequestError) as refused:
        await work
    return refused.value.code, refused.value.data


@pytest.mark.requirement("RPC-26", "RPC-31")
async def test_logging_in_is_asked_for_and_opens_the_door(connected: Connected):
    code, data = await refusal(connected.agent.new_session(STORY["locked"]))
    assert (code, data["reason"]) == (-32000, "auth_required")
    assert await refusal(connected.agent.authenticate("none")) == (
        -32602,
        {"field": "methodId", "reason": "there is no such method"},
    )
    await connected.agent.authenticate("key")
    assert (await connected.agent.new_session(STORY["locked"])).session_id


@pytest.mark.requirement("RPC-23", "RPC-24", "RPC-33", "RPC-34", "RPC-35", "RPC-36", "EXT-08", "AMB-34")
async def test_our_errors_are_its(connected: Connected):
    agent = connected.agent
    assert await refusal(agent.ext_method("accord/nothing", {})) == (-32601, {"method": "_accord/nothing"})
    assert await refusal(connected.prompt("none", "story")) == (-32002, {"sessionId": "none"})
    code, data = await refusal(agent.new_session("relative"))
    assert (code, data["field"]) == (-32602, "cwd")


@pytest.mark.requirement("RPC-25", "RPC-37", "RPC-38", "RPC-39", "RPC-50")
async def test_a_failed_turn_keeps_its_cause_to_itself_and_the_session_lives(connected: Connected):
    session_id = await connected.new_session()
    code, data = await refusal(connected.prompt(session_id, "fail"))
    assert code == -32603
    assert list(data) == ["correlationId"]
    assert await connected.prompt(session_id, "refuse") == "refusal"


async def test_a_session_is_listed_and_loaded_with_its_history_before_the_answer(connected: Connected):
    session_id = await connected.new_session()
    await connected.prompt(session_id, "story")
    page = await connected.agent.list_sessions()
    assert [(each.session_id, each.title) for each in page.sessions] == [(session_id, STORY["title"])]
    connected.client.seen.clear()
    await connected.agent.load_session(STORY["cwd"], session_id)
    await connected.client.until(schema.SessionInfoUpdate)
    assert connected.client.texts(schema.UserMessageChunk) == "story"
    assert connected.client.texts(schema.AgentMessageChunk) == TEXT


async def test_modes_and_options_are_in_step(connected: Connected):
    opened = await connected.agent.new_session(STORY["cwd"])
    assert opened.modes is not None
    assert opened.modes.current_mode_id == "quick"
    await connected.agent.set_session_mode(opened.session_id, STORY["mode"]["id"])
    await connected.client.until(schema.CurrentModeUpdate)
    answer = await connected.agent.set_config_option("mode", opened.session_id, "quick")
    (option,) = answer.config_options
    assert (option.id, option.current_value) == ("mode", "quick")
