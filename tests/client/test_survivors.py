"""Agents behind shells and launchers, started and ended many times: no process is left behind."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import uuid
from contextlib import suppress
from pathlib import Path

import pytest

from accord import Client, ConnectionClosed
from accord.client.target import Command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts processes in /proc")

# A thousand take half a minute on two cores: that many only in CI.
MANY = 1000 if os.environ.get("CI") == "true" else 105
AT_ONCE = 40

# Answers the handshake, and then lives on, whatever becomes of its input.
ANSWER = '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
AGENT = f"read -r line; echo '{ANSWER}'; exec sleep 1000"
SILENT = "exec sleep 1000"

LAUNCHERS = {
    "exec": 'exec sh -c "$AGENT"',
    "child": 'sh -c "$AGENT"; exit $?',
    "background": 'sh -c "$AGENT" <&0 & wait',
    "npx": 'trap "" HUP; sh -c "sh -c \\"\\$AGENT\\"" & child=$!; trap "kill $child" TERM; wait $child; wait $child',
    "deaf": 'trap "" TERM HUP INT; sh -c "$AGENT"; while :; do sleep 1000; done',
    "double fork": '(setsid sh -c "sleep 1000" >/dev/null 2>&1 &); sh -c "$AGENT"',
    "ends first": '(setsid sh -c "trap \\"\\" TERM; sleep 1000" >/dev/null 2>&1 &); exit 3',
}


def survivors(mark: str) -> list[str]:
    """All that runs with the mark in its environment, and the guards that this process started."""
    found: list[str] = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and place.name != str(os.getpid()):
            with suppress(OSError):
                command = (place / "cmdline").read_bytes().split(b"\0")
                is_guard = (
                    any(part.endswith(b"guard_program.py") for part in command) and command[-2] == b"%d" % os.getpid()
                )
                if is_guard or mark.encode() in (place / "environ").read_bytes():
                    found.append(f"{place.name} {b' '.join(command)!r}")
    return found


async def start_and_end(launcher: str, mark: str, chance: random.Random) -> str:
    env = {"ACCORD_TEST": mark, "AGENT": chance.choice([AGENT, AGENT, SILENT])}
    command = Command(["sh", "-c", launcher], env=env, close_grace=0.0, terminate_grace=chance.choice([0.0, 0.05]))
    client = Client(command, version=1)
    opening = asyncio.create_task(client.open())
    patience = None if env["AGENT"] == AGENT else chance.choice([0.0, 0.001, 0.02, 0.1])
    await asyncio.wait([opening], timeout=patience)
    if not opening.done():
        opening.cancel()
    try:
        await opening
    except asyncio.CancelledError:
        return "given up"
    except ConnectionClosed:
        return "dead"
    await client.aclose()
    return "closed"


@pytest.mark.timeout(300)
async def test_many_starts_and_ends_through_shells_and_launchers_leave_nobody_behind():
    """FN-30: grandchildren behind `npx`, `uvx` and `sh -c`, deaf ones and orphans, whenever it is that they are ended."""
    mark = uuid.uuid4().hex
    chance = random.Random(mark)
    together = asyncio.Semaphore(AT_ONCE)
    launchers = list(LAUNCHERS.values())

    async def one(number: int) -> str:
        async with together:
            return await start_and_end(launchers[number % len(launchers)], mark, chance)

    outcomes = await asyncio.gather(*(one(number) for number in range(MANY)))
    while survivors(mark):  # noqa: ASYNC110  # a guard may still be at work; the timeout says that it is not
        await asyncio.sleep(0.05)
    assert {*outcomes} == {"given up", "dead", "closed"}
