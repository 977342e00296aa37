"""Our client and the v1 agents made with the official SDKs: what only v1 has, and how v1 tells things."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from accord import Client, permissions
from accord.client.session import Session
from accord.client.workspace.workspace import Workspace
from accord.session.entities import Cost, Diff, FileChange, Location, Option, OptionChoice, SlashCommand, Usage
from tests.conversations.expected import PLAN_DONE
from tests.conversations.story import STORY, TEXT, THOUGHT
from tests.interop.official_agents import (
    TYPESCRIPT_V1,
    OfficialAgent,
    ask,
    each_update_and_its_line,
    lines_of,
    seen,
    tell,
)

FILE = Path(STORY["file"]["path"]).name
UPDATES = each_update_and_its_line("v1")
SLEEP = {"command": sys.executable, "args": ["-c", "import time; print('big', flush=True); time.sleep(600)"]}


@pytest.fixture
def notes(place: Path) -> Path:
    path = place / FILE
    path.write_text(STORY["file"]["before"], encoding="utf-8")
    return path


def contents(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def told_in_v1(path: Path, terminal: str) -> list[str]:
    diff = f"[modify {path}]"
    return [
        *["running", *(f"thought: {piece}" for piece in STORY["thought"]), "plan main pending pending pending"],
        *["call-read pending", "call-read in_progress", f"call-read completed [{STORY['file']['before']}]"],
        *["call-edit pending", "call-edit in_progress", f"call-edit in_progress {diff}", f"call-edit pending {diff}"],
        *["requires_action", "running", f"call-edit completed {diff}"],
        *["call-run pending", "call-run in_progress", f"call-run in_progress [{terminal}]"],
        *[f"call-run completed [{terminal}]", "plan main completed completed completed"],
        *(f"agent: {piece}" for piece in STORY["message"]),
        *[f"usage {STORY['usage']['used']} of {STORY['usage']['size']}", f"title {STORY['title']}", "idle end_turn"],
    ]


@pytest.mark.requirement("CHECK-10", "CHECK-11", "CHECK-13")
async def test_a_whole_turn_is_told_in_order_with_real_files_and_commands(official_v1: OfficialAgent, notes: Path):
    async with (
        Workspace() as workspace,
        official_v1.connected(workspace=workspace, on_permission=permissions.allow_all) as client,
    ):
        session = await client.new_session(notes.parent)
        lines = await lines_of(session.prompt("story"))
        (terminal,) = workspace.terminals.values()
        assert lines == told_in_v1(notes, terminal.id)
        assert (terminal.output, terminal.is_released) == (STORY["command"]["output"], True)
        check_transcript(session)
    assert contents(notes) == STORY["file"]["after"]


def check_transcript(session: Session) -> None:
    transcript = session.transcript
    assert [(message.role, message.text) for message in transcript.messages.values()] == [
        ("user", "story"),
        ("thought", THOUGHT),
        ("agent", TEXT),
    ]
    assert transcript.plans["main"].entries == PLAN_DONE
    assert [call.status for call in transcript.tool_calls.values()] == ["completed"] * 3
    assert transcript.tool_calls[STORY["run"]["id"]].raw_output == {"output": STORY["command"]["output"], "code": 0}
    (diff,) = transcript.tool_calls[STORY["edit"]["id"]].content
    assert isinstance(diff, Diff)
    assert (diff.changes[0].old_text, diff.changes[0].new_text) == (STORY["file"]["before"], STORY["file"]["after"])
    assert transcript.info.title == STORY["title"]


async def test_a_rejected_permission_leaves_the_file_alone(official_v1: OfficialAgent, notes: Path):
    async with official_v1.connected(workspace=(), on_permission=permissions.reject_all) as client:
        session = await client.new_session(notes.parent)
        assert (await session.prompt("story")).stop_reason == "end_turn"
        assert contents(notes) == STORY["file"]["before"]
        assert session.transcript.tool_calls[STORY["edit"]["id"]].status == "failed"


@pytest.mark.requirement("FS-08", "FS-13", "FS-14", "RPC-19")
async def test_files_are_read_and_written(official_v1: OfficialAgent, place: Path):
    path, new = place / "a.txt", place / "b" / "neu.txt"
    path.write_text("eins\nzwei\ndrei\n", encoding="utf-8")
    async with official_v1.connected(workspace=()) as client:
        session = await client.new_session(place)

        async def read(path: Path, **members: int) -> Any:
            return await ask(session, "fs/read_text_file", {"path": str(path), **members})

        assert await read(path) == {"result": {"content": "eins\nzwei\ndrei\n"}}
        assert await read(path, line=2, limit=1) == {"result": {"content": "zwei\n"}}
        missing = await read(place / "none.txt")
        assert missing["error"]["code"] == -32002
        outside = await read(Path("/etc/hostname"))
        assert "result" not in outside
        written = await ask(session, "fs/write_text_file", {"path": str(new), "content": "größe\n"})
        assert written["result"] in ({}, None)
        assert contents(new) == "größe\n"


@pytest.mark.requirement("TERM-16", "TERM-19", "TERM-25", "TERM-27", "TERM-30")
async def test_a_command_is_watched_killed_and_released(official_v1: OfficialAgent, place: Path):
    async with Workspace() as workspace, official_v1.connected(workspace=workspace) as client:
        session = await client.new_session(place)
        created = await ask(session, "terminal/create", {**SLEEP, "cwd": str(place), "outputByteLimit": 2})
        terminal = {"terminalId": created["result"]["terminalId"]}
        shown = workspace.terminals[terminal["terminalId"]]
        while not (output := (await ask(session, "terminal/output", terminal))["result"])["output"].endswith("\n"):
            pass
        assert (output["output"], output["truncated"], output.get("exitStatus")) == ("g\n", True, None)
        assert "result" in await ask(session, "terminal/kill", terminal)
        ended = (await ask(session, "terminal/wait_for_exit", terminal))["result"]
        assert ended["signal"] in ("SIGTERM", "SIGKILL")
        again = (await ask(session, "terminal/output", terminal))["result"]
        assert (again["output"], again["exitStatus"]["signal"]) == ("g\n", ended["signal"])
        assert "result" in await ask(session, "terminal/release", terminal)
        assert "error" in await ask(session, "terminal/output", terminal)
        assert shown.is_released
        assert shown.output == "g\n"


async def test_exit_codes_and_environments_are_those_of_the_command(official_v1: OfficialAgent, place: Path):
    line = {"command": "/bin/sh", "args": ["-c", "echo $GRUSS $PWD; exit 7"]}
    async with official_v1.connected(workspace=()) as client:
        session = await client.new_session(place)
        asked = {**line, "env": [{"name": "GRUSS", "value": "hallo"}], "cwd": str(place)}
        terminal = {"terminalId": (await ask(session, "terminal/create", asked))["result"]["terminalId"]}
        assert (await ask(session, "terminal/wait_for_exit", terminal))["result"]["exitCode"] == 7
        assert (await ask(session, "terminal/output", terminal))["result"]["output"] == f"hallo {place}\n"
        unknown = (await ask(session, "terminal/create", {"command": "no-such-command"}))["result"]
        assert (await ask(session, "terminal/wait_for_exit", unknown))["result"]["exitCode"] == 127


@pytest.mark.requirement("RPC-15")
async def test_files_and_terminals_that_were_not_offered_are_refused(official_v1: OfficialAgent, place: Path):
    async with official_v1.connected() as client:
        session = await client.new_session(place)
        for method, params in [("fs/read_text_file", {"path": str(place / "a")}), ("terminal/create", SLEEP)]:
            answer = await ask(session, method, params)
            assert answer == {"error": {"code": -32601, "data": {"method": method}}}
        (offer,) = await seen(client, "initialize")
        assert not offer["clientCapabilities"].get("terminal")


@pytest.mark.requirement("MODE-09", "MODE-10", "MODE-11")
async def test_a_mode_is_set_and_told(official_v1: OfficialAgent, place: Path):
    mode = STORY["mode"]["id"]
    async with official_v1.connected() as client:
        session = await client.new_session(place)
        assert session.modes is not None
        assert [each.id for each in session.modes.available] == ["quick", mode]
        await session.set_mode(mode)
        assert session.modes.current == mode
        assert await seen(client, "session/set_mode") == [{"sessionId": session.id, "modeId": mode}]


@pytest.mark.requirement("RPC-16", "CHECK-25")
async def test_each_kind_of_update_is_told_and_kept(official_v1: OfficialAgent, place: Path):
    async with official_v1.connected() as client:
        session = await client.new_session(place)
        lines = await tell(session, [update for update, _ in UPDATES])
        assert lines == ["running", *(line for _, line in UPDATES), "idle end_turn"]
        check_kept(session)


def check_kept(session: Session) -> None:
    transcript = session.transcript
    call = transcript.tool_calls["c"]
    assert (call.title, call.kind, call.raw_input, call.raw_output) == (
        *("Changed", "edit"),
        *({"path": "a.py"}, [1, "zwei"]),
    )
    assert call.locations == [Location(path="/a.py", line=3), Location(path="/b.py")]
    assert call.content[1] == Diff(changes=[FileChange("modify", "/a.py", old_text="a\n", new_text="b\n")])
    assert transcript.commands == [SlashCommand("review", "Look again", "which")]
    choices = [OptionChoice("good", "Good", "slow")]
    assert transcript.options == [Option(id="model", name="Model", category="model", value="good", choices=choices)]
    assert transcript.usage == Usage(7, 9, Cost(0.5, "EUR"))


@pytest.mark.interop
async def test_notices_and_compactions_are_shown_and_the_python_sdk_has_none(place: Path):
    updates = [
        {"sessionUpdate": "notice", "severity": "warning", "title": "Mind the gap"},
        {"sessionUpdate": "compaction_update", "compactionId": "k", "status": "in_progress"},
        {"sessionUpdate": "compaction_summary_chunk", "compactionId": "k", "content": {"type": "text", "text": "All"}},
        {"sessionUpdate": "compaction_update", "compactionId": "k", "status": "completed"},
    ]
    async with TYPESCRIPT_V1.connected() as client:
        lines = await tell(await client.new_session(place), updates)
        compacting = ["compaction in_progress", "compaction in_progress", "compaction completed"]
        assert lines == ["running", "notice Mind the gap", *compacting, "idle end_turn"]
        (offer,) = await seen(client, "initialize")
        assert sorted(offer["clientCapabilities"]["session"]) == ["compaction", "configOptions", "notices"]


async def test_the_agent_ends_when_the_client_does(official_v1: OfficialAgent, place: Path):
    async with official_v1.connected() as client:
        session = await client.new_session(place)
        reply = session.prompt("wait")
        await anext(aiter(reply))
    assert is_closed(client)
    assert reply.is_over


def is_closed(client: Client) -> bool:
    return not client.peer.is_open
