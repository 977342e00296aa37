"""Ctrl-C, signals, deadlines and readers that go away: nothing hangs, and nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.apps.console.errors import ExitStatus
from accord.testing import ScriptedAgent, Silent, faulty, program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such signals")

STUBBORN = """
import json, os, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "300"])
open(sys.argv[1], "w").write(f"{os.getpid()} {child.pid}")
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        result = {"protocolVersion": 1, "agentCapabilities": {}}
    elif asked.get("method") == "session/new":
        result = {"sessionId": "s"}
    else:
        if asked.get("method") == "session/prompt":
            update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "busy"}}
            print(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}))
            sys.stdout.flush()
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
    sys.stdout.flush()
while True:
    signal.pause()
"""


def lives(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


async def gone(pids: list[int]) -> None:
    async with asyncio.timeout(120):
        while any(map(lives, pids)):  # noqa: ASYNC110  # another process does not set our events
            await asyncio.sleep(0.05)


async def test_control_c_cancels_the_turn_and_the_agent_has_the_last_word(start, version):
    agent = ScriptedAgent(version)

    async def answer(asked: Any) -> None:
        agent.begin(asked)
        agent.say("Working")
        await agent.seen("session/cancel")
        agent.say(", stopped")
        agent.finish(asked, "cancelled")

    agent.on("session/prompt", answer)
    async with program(agent) as command:
        process = await start("run", "Hi", "--", *command.args)
        assert await process.stdout.readexactly(7) == b"Working"
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
    assert (process.returncode, out) == (ExitStatus.INTERRUPTED, b", stopped\n")
    assert "stopping… (Ctrl-C again ends it)" in err.decode()
    assert "the turn was cancelled" in err.decode()


@pytest.mark.parametrize(
    ("signals", "status"),
    [([signal.SIGINT, signal.SIGINT], 130), ([signal.SIGTERM], 143), ([signal.SIGHUP], 129)],
    ids=["twice control-c", "SIGTERM", "SIGHUP"],
)
async def test_a_stubborn_agent_is_ended_with_all_that_it_started(start, tmp_path, signals, status):
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    process = await start("run", "Hi", "--", sys.executable, tmp_path / "stubborn.py", tmp_path / "pids")
    assert await process.stdout.readexactly(4) == b"busy"
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    for number in signals:
        process.send_signal(number)
        await asyncio.sleep(0.2)  # two signals at once are one
    assert await process.wait() == status
    await gone(pids)


async def test_even_when_we_are_killed_nothing_is_left(start, tmp_path):
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    process = await start("run", "Hi", "--", sys.executable, tmp_path / "stubborn.py", tmp_path / "pids")
    assert await process.stdout.readexactly(4) == b"busy"
    process.kill()
    await process.wait()
    await gone([int(pid) for pid in (tmp_path / "pids").read_text().split()])


async def test_control_c_while_the_agent_starts_ends_it(start, project):
    process = await start("run", "Hi", "--", "sh", "-c", f"echo $$ > {project}/pid; exec sleep 300")
    async with asyncio.timeout(120):
        while not (project / "pid").exists() or not (project / "pid").read_text():  # noqa: ASYNC110  # likewise
            await asyncio.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert await process.wait() == ExitStatus.INTERRUPTED
    await gone([int((project / "pid").read_text())])


@pytest.mark.parametrize("stage", ["initialize", "session/new", "session/list"])
async def test_control_c_while_the_agent_owes_an_answer_ends_it(start, stage):
    agent = ScriptedAgent(1)
    agent.on(stage, None)
    words = ["--continue"] if stage == "session/list" else []
    async with program(agent) as command:
        process = await start("run", *words, "Hi", "--", *command.args)
        await agent.next(stage)
        process.send_signal(signal.SIGINT)
        assert await process.wait() == ExitStatus.INTERRUPTED
        assert b"Traceback" not in await process.stderr.read()


@pytest.mark.parametrize("words", [["run", "/help"], [], ["sessions"], ["agents"], ["--help"]])
async def test_whoever_reads_no_line_ends_it_without_a_traceback(start, words):
    process = await start(*words)
    process.stdout._transport.close()
    assert await process.wait() in (ExitStatus.UNREAD, 0)
    assert b"Traceback" not in await process.stderr.read()


async def test_a_deadline_cancels_the_turn(typed, version):
    agent = ScriptedAgent(version)

    async def answer(asked: Any) -> None:
        agent.begin(asked)
        agent.say("Working")
        await agent.seen("session/cancel")
        agent.finish(asked, "cancelled")

    agent.on("session/prompt", answer)
    async with program(agent) as command:
        finished = await typed("run", "--json", "--timeout", "2", "Hi", "--", *command.args)
    assert finished.status == ExitStatus.TIMEOUT
    assert finished.event("end")["stop_reason"] == "cancelled"
    assert finished.event("end")["error"]["reason"] == "the time is up: 2 s"


async def test_when_nobody_reads_the_answer_the_run_ends_in_silence(start):
    agent = ScriptedAgent(1)

    async def answer(asked: Any) -> None:
        while True:
            agent.say("All work and no play\n" * 100)
            await asyncio.sleep(0.01)

    agent.on("session/prompt", answer)
    async with program(agent) as command:
        process = await start("run", "-q", "Hi", "--", *command.args, limit=1024)
        await process.stdout.readexactly(10)
        process.stdout._transport.close()
        assert await process.wait() == ExitStatus.UNREAD
        assert await process.stderr.read() == b""


async def test_a_reader_that_is_slow_slows_the_agent_down_and_a_signal_is_still_heard(start):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply(*["x" * 1000] * 2000))
    reader, writer = os.pipe()
    async with program(agent) as command:
        process = await start("run", "-q", "Hi", "--", *command.args, stdout=writer)
        os.close(writer)
        await agent.seen("session/prompt")
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == ExitStatus.TERMINATED
    os.close(reader)


async def test_an_agent_that_does_not_heed_a_cancel_is_ended_by_the_second(start):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", lambda asked: agent.say("Working"))
    async with program(faulty(agent, Silent("session/prompt"))) as command:
        process = await start("run", "--json", "Hi", "--", *command.args)
        await agent.seen("session/prompt")
        process.send_signal(signal.SIGINT)
        await agent.seen("session/cancel")
        process.send_signal(signal.SIGINT)
        out, _ = await process.communicate()
    assert process.returncode == ExitStatus.INTERRUPTED
    assert b'"type":"end"' in out.splitlines()[-1]
