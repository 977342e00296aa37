"""`python -m tests.remote_soak SECONDS`: many clients of one server for a long time; part of `make soak`.

First 200 connections stream at once, all complete and in order. Then clients come, prompt, are cut off and go, while the
memory of the server is read: after a first fifth of the time it must not grow by more than a tenth and 4 MiB.
"""

from __future__ import annotations

import asyncio
import random
import resource
import sys
import time
from pathlib import Path

from accord import Client, Remote
from benchmarks.processes import resident_memory
from benchmarks.programs.served_agent import served_agent
from tests.cutting_proxy import cutting_proxy, seeded_cuts

MEBIBYTE = 1 << 20
STREAMS = 200
CLIENTS = 20
PROFILES = ("websocket", "http")


async def stream(url: str, number: int, count: int) -> None:
    """One connection and one turn: every number once, in order."""
    async with Client(Remote(url, profile=PROFILES[number % 2])) as client:
        session = await client.new_session(cwd="/tmp")
        reply = await session.prompt(str(count))
        if reply.text.split() != [str(each) for each in range(count)]:
            raise SystemExit(f"connection {number} received something else than it was sent")


async def churn(url: str, seed: int, end: float) -> int:
    """Connections one after the other until the end; returns how many there were."""
    dice, connections = random.Random(seed), 0
    while time.monotonic() < end:
        async with cutting_proxy(url) as (through, proxy):
            if dice.random() < 0.5:
                proxy.cut_point = seeded_cuts(dice.randrange(2**32), 5, proxy, 500, 20_000)
            for _ in range(10):
                await stream(through, dice.randrange(2), dice.randrange(1, 300))
                connections += 1
    return connections


async def soak(seconds: float) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # the server inherits it
    program = Path(__file__).with_name("remote_soak_agent.py")
    async with served_agent([sys.executable, str(program)]) as url:
        async with Client(url) as client:
            assert client.agent.info is not None
            pid = int(client.agent.info.version)
        began = time.monotonic()
        await asyncio.gather(*(stream(url, number, 1000) for number in range(STREAMS)))
        say(f"{STREAMS} connections streamed 1,000 updates each at once: {time.monotonic() - began:.1f} s")
        began = time.monotonic()
        work = [asyncio.create_task(churn(url, seed, began + seconds)) for seed in range(CLIENTS)]
        before = await watch(pid, began, seconds)
        connections = sum(await asyncio.gather(*work))
        after = resident_memory(pid) / MEBIBYTE
    say(f"{connections} connections in {seconds:g} s: {before:.1f} MiB after a fifth, {after:.1f} MiB at the end")
    if after > before * 1.1 + 4:
        raise SystemExit("the memory of the server grows")


async def watch(pid: int, began: float, seconds: float) -> float:
    """Print the memory now and then; the most of it in the first fifth of the time."""
    first: list[float] = []
    while (passed := time.monotonic() - began) < seconds:
        memory = resident_memory(pid) / MEBIBYTE
        say(f"{passed:6.0f} s {memory:6.1f} MiB")
        if passed <= seconds / 5 or not first:
            first.append(memory)
        await asyncio.sleep(min(seconds / 20, 30))
    return max(first)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(soak(float(sys.argv[1])))
