"""The example clients, each started as a program that starts its agent; with agents of v2 and with some that know only v1."""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

import pytest

from accord import Client, permissions
from accord.dialects.negotiation import ProtocolVersion
from tests.conversations.story import PATH
from tests.examples.programs import EXAMPLES, OLDER, PYTHON, agent_line, output_of, started

LOCKED = str(Path(__file__).with_name("locked_agent.py"))
OFFICIAL_AGENT = EXAMPLES.parent / "tests" / "interop" / "peers" / "official_agent.py"

old_and_new = pytest.mark.parametrize("version", [1, 2], ids=["v1", "v2"])


@pytest.mark.requirement("CHECK-09", "CHECK-11", "CHECK-14")
@old_and_new
async def test_it_prints_updates_and_asks_on_the_terminal(version: ProtocolVersion, tmp_path: Path):
    agent = agent_line("permission_and_diff.py", version)
    allowed = await output_of("print_updates.py", "Buy milk", *agent, cwd=tmp_path, answers="y\n")
    assert allowed.splitlines() == [
        "[pending] Write into notes.md",
        "[pending] Write into notes.md",
        "Write into notes.md? (y/n) [in_progress] Write into notes.md",
        "[completed] Write into notes.md",
        "I wrote down: Buy milk",
        "(end_turn)",
    ]
    assert (tmp_path / "notes.md").read_text() == "- Buy milk\n"
    refused = await output_of("print_updates.py", "Buy bread", *agent, cwd=tmp_path, answers="n\n")
    assert refused.splitlines()[-2:] == ["As you like.", "(end_turn)"]
    assert (tmp_path / "notes.md").read_text() == "- Buy milk\n"


@pytest.mark.requirement("CHECK-14")
async def test_nobody_there_to_answer_is_a_no(tmp_path: Path):
    program = str(EXAMPLES / "print_updates.py")
    async with started(*PYTHON, program, "Buy milk", *agent_line("permission_and_diff.py"), cwd=tmp_path) as process:
        out, err = await process.communicate(b"")
    assert out.decode().splitlines()[-2:] == ["As you like.", "(end_turn)"]
    assert "could not be put to anybody: denied" in err.decode()


@old_and_new
async def test_it_prints_plans(version: ProtocolVersion, tmp_path: Path):
    agent = agent_line("modes_and_commands.py", version)
    assert await output_of("print_updates.py", "tidy up, rest", *agent, cwd=tmp_path) == (
        "Plan: tidy up (pending), rest (pending)\n\n(end_turn)\n"
    )


async def test_it_talks_with_an_agent_of_the_official_sdk(tmp_path: Path):
    command = [sys.executable, str(OFFICIAL_AGENT), str(PATH)]
    printed = await output_of("print_updates.py", "many 5", *command, cwd=tmp_path)
    assert printed.splitlines() == ["0 1 2 3 4 ", "(end_turn)"]


@pytest.mark.requirement("CHECK-13", "CHECK-14")
@old_and_new
async def test_an_interrupt_cancels_the_turn(version: ProtocolVersion, tmp_path: Path):
    older = [str(OLDER)] if version == 1 else []
    line = [*PYTHON, str(EXAMPLES / "print_updates.py"), "wait", *PYTHON, *older, LOCKED, "open"]
    async with started(*line, cwd=tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"y\n")
        shown = await process.stdout.readuntil(b"Waiting")
        process.send_signal(signal.SIGINT)
        rest, err = await process.communicate()
    assert (process.returncode, rest, err) == (0, b"\n(cancelled)\n", b"")
    lines = shown.decode().splitlines()
    assert "Plan: Look (pending), Wait (pending)" in lines
    assert "inside" in lines  # in v1 from a terminal of the client, in v2 from one that the agent shows
    assert "[completed] Look around" in lines


@pytest.mark.requirement("CHECK-09", "CHECK-10", "CHECK-11", "CHECK-12", "CHECK-40")
async def test_a_client_does_all_that_a_minimal_one_has_to_do(tmp_path: Path):
    methods: list[str] = []

    def note(direction: str, frame: bytes) -> None:
        text = frame.decode()
        methods.extend(f"{direction} {name}" for name in SEEN if f'"method":"{name}"' in text)

    command = [*PYTHON, str(OLDER), LOCKED]
    options = {"on_login": "key", "on_permission": permissions.allow_all, "workspace": tmp_path, "on_frame": note}
    async with Client(command, **options) as client:
        assert client.agent.version == 1
        session = await client.new_session(tmp_path)
        assert Path(session.cwd).is_absolute()
        reply = session.prompt("wait")
        async for _ in reply:
            if (tmp_path / "seen.txt").exists():
                await reply.cancel()
        assert reply.stop_reason == "cancelled"
        assert (await session.prompt("go")).stop_reason == "end_turn"
    assert (tmp_path / "seen.txt").read_text() == "inside\n"
    first = methods[: methods.index("sent session/cancel") + 1]
    assert [method for method in first if method != "received session/update"] == [
        "sent initialize",
        "sent session/new",
        "sent authenticate",
        "sent session/new",
        "sent session/prompt",
        "received session/request_permission",
        "received terminal/create",
        "received terminal/wait_for_exit",
        "received terminal/output",
        "received terminal/release",
        "received fs/write_text_file",
        "sent session/cancel",
    ]


SEEN = (
    *("initialize", "authenticate", "session/new", "session/prompt", "session/cancel", "session/update"),
    *("session/request_permission", "fs/read_text_file", "fs/write_text_file"),
    *(f"terminal/{what}" for what in ("create", "wait_for_exit", "output", "kill", "release")),
)


@pytest.mark.requirement("CHECK-10")
async def test_a_file_is_written_through_the_agent_into_what_is_not_saved(tmp_path: Path):
    printed = await output_of("write_through_agent.py", cwd=tmp_path)
    assert printed == "- Buy bread\n- Buy milk\nnot saved\n"


async def test_two_agents_come_to_terms(tmp_path: Path):
    printed = (await output_of("two_agents.py", cwd=tmp_path)).splitlines()
    assert printed[:2] == ["  seller: 90", "   buyer: 10"]
    assert printed[-2:] == ["  seller: 50", "   buyer: It's a deal."]


async def test_both_sides_call_what_the_protocol_does_not_have(tmp_path: Path):
    printed = await output_of("extension_methods.py", cwd=tmp_path)
    assert printed == "{'colour': 'yellow-green'}\nI paint it blue.\n"


@pytest.mark.requirement("CHECK-19")
async def test_a_tool_of_an_mcp_server_is_called(tmp_path: Path):
    assert await output_of("mcp_tools.py", cwd=tmp_path) == "3\n"


@pytest.mark.requirement("CHECK-19")
@old_and_new
async def test_an_agent_without_mcp_servers_refuses(version: ProtocolVersion, tmp_path: Path):
    async with Client([*agent_line("mcp_tools.py"), "agent"], version=version) as client:
        reply = (await client.new_session(tmp_path)).prompt("add {}")
        assert (await reply).stop_reason == "refusal"


async def test_the_test_of_an_agent_passes(tmp_path: Path):
    line = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "accord.testing.plugin",
        shutil.copy(EXAMPLES / "test_agent.py", tmp_path),
    ]
    async with started(*line, cwd=tmp_path) as process:
        out, _ = await process.communicate()
    assert (process.returncode, b"6 passed" in out) == (0, True), out.decode()


async def test_the_robot_is_a_program_of_its_own(tmp_path: Path):
    printed = await output_of("robot.py", "put notes.md Buy milk\ncat notes.md", cwd=tmp_path, answers="y\n")
    assert printed.splitlines() == [
        '{"uses": "put", "words": ["notes.md", "Buy", "milk"]}',
        '{"asks": "put"}',
        '{"done": true, "text": "8"}',
        '{"uses": "cat", "words": ["notes.md"]}',
        '{"done": true, "text": "Buy milk"}',
        '{"stops": "ready"}',
    ]


@pytest.mark.parametrize(
    ("arguments", "offered", "ending"),
    [
        ([], '"protocolVersion": 2, "info"', "session/update {"),
        (["1"], '"protocolVersion": 1, "clientInfo"', 'answer {"stopReason": "end_turn"}'),
        (["2"], '"protocolVersion": 2, "info"', "session/update {"),
        (["2-draft"], '"protocolVersion": 2, "clientInfo"', 'answer {"stopReason": "end_turn"'),
    ],
    ids=["auto", "v1", "v2", "v2-draft"],
)
async def test_the_conversation_shows_frames_updates_and_the_transcript(
    arguments: list[str], offered: str, ending: str, tmp_path: Path
):
    shown, _, transcript = (await output_of("conversation.py", *arguments, cwd=tmp_path)).partition("\n\n")
    assert shown.startswith(f"    client -> agent  initialize {{{offered}")
    assert "    client <- agent  session/request_permission {" in shown
    assert "\n[pending] Write into notes.md\n" in shown
    assert "\n[completed] Write into notes.md\n" in shown
    assert f"    client <- agent  {ending}" in shown
    assert transcript.splitlines() == [
        "user: Buy milk",
        "agent: I wrote down: Buy milk",
        "user: Call the plumber",
        "agent: I wrote down: Call the plumber",
    ]
