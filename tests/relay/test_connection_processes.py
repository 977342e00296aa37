"""A process for each connection, as the status page sees it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from accord import Client, Command
from accord.relay.router import ConnectionProcesses
from accord.relay.status import process_memory
from accord.transports.http_application import HttpApplication
from tests.asgi_driver import until
from tests.client.test_remote import served

pytest.importorskip("hypercorn")

AGENT = """
from accord import Agent, Turn
agent = Agent("served")

@agent.prompt
async def answer(turn: Turn) -> None:
    await turn.say(turn.text)

agent.run()
"""


@pytest.mark.timeout(60)
async def test_a_snapshot_tells_who_is_connected_and_which_processes_run(tmp_path: Path):
    path = tmp_path / "agent.py"
    path.write_text(AGENT)
    processes = ConnectionProcesses(Command([sys.executable, str(path)]).connect)
    async with served(HttpApplication(processes.serve)) as url:
        async with Client(url) as client:
            assert (await (await client.new_session("/tmp")).prompt("Hello")).text == "Hello"
            snapshot = processes.snapshot()
            (connection,), (process,) = snapshot.connections, snapshot.processes
            assert (connection.transport, len(connection.id), connection.user) == ("websocket", 8, None)
            assert connection.bytes_in > 100
            assert connection.bytes_out > 100
            assert process.pid is not None
            assert process.pid not in (0, os.getpid())
            assert process.state == "used"
        await until(lambda: not processes.snapshot().processes)
    totals = processes.snapshot().totals
    assert (totals.connections, totals.processes, totals.processes_lost) == (1, 1, 0)
    assert totals.bytes_in >= connection.bytes_in


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_the_memory_of_a_process_is_known_as_long_as_it_runs():
    memory = process_memory(os.getpid())
    assert memory is not None
    assert memory > 1_000_000
    assert process_memory(2**30) is None
