from __future__ import annotations

import pickle
import sys

import pytest

from accord import Client, Command, ProtocolVersion
from accord.client.target import Stderr
from accord.errors import InternalError

AGENT = """
import sys
from accord import Agent, Turn

agent = Agent("clumsy", version="1.0")

@agent.prompt
async def answer(turn: Turn) -> None:
    print("\\x1b[31mreading é\\x1b[0m", file=sys.stderr)
    raise ValueError("the oven is cold")

agent.run()
"""
OLD_AGENT = """
import sys
for n in range(100):
    print("line", n, file=sys.stderr)
sys.stdin.readline()
sys.stderr.flush()
print('{"jsonrpc": "2.0", "id": 0, "error": {"code": -32603, "message": "Internal error"}}', flush=True)
sys.stdin.read()
"""


async def fail(stderr: Stderr, version: ProtocolVersion = 1) -> InternalError:
    command = Command([sys.executable, "-c", AGENT])
    async with Client(command, version=version, stderr=stderr) as client:
        session = await client.new_session(cwd=".")
        with pytest.raises(InternalError) as failed:
            await session.prompt("Bake")
        return failed.value


async def test_stderr_of_an_agent_is_seen_without_asking_for_it(capsys):
    async with Client([sys.executable, "-c", AGENT]) as client:
        session = await client.new_session(cwd=".")
        with pytest.raises(InternalError):
            await session.prompt("Bake")
    written = capsys.readouterr().err
    assert "\x1b[31mreading é\x1b[0m\n" in written
    assert "ValueError: the oven is cold" in written


async def test_captured_stderr_is_in_the_exception_only(capsys):
    error = await fail("capture")
    assert capsys.readouterr().err == ""
    assert "ValueError: the oven is cold" in error.stderr_tail


async def test_a_callback_gets_stderr(capsys):
    chunks: list[bytes] = []
    await fail(chunks.append)
    assert capsys.readouterr().err == ""
    assert b"the oven is cold" in b"".join(chunks)


async def test_an_internal_error_has_the_traceback_from_its_correlation_id_on(version):
    error = await fail("capture", version)
    lines = error.stderr_tail.splitlines()
    assert str(error.correlation_id) in lines[0]
    assert lines[-1] == "ValueError: the oven is cold"
    assert str(error).endswith(f"Last lines of its stderr:\n{error.stderr_tail}")


async def test_the_error_of_an_unread_reply_has_it_too():
    async with Client([sys.executable, "-c", AGENT], stderr="capture") as client:
        reply = (await client.new_session(cwd=".")).prompt("Bake")
        with pytest.raises(InternalError):
            await reply
        assert isinstance(reply.error, InternalError)
        assert "the oven is cold" in reply.error.stderr_tail


async def test_without_a_correlation_id_an_internal_error_has_the_last_twenty_lines():
    with pytest.raises(InternalError) as failed:
        async with Client([sys.executable, "-c", OLD_AGENT], version=1, stderr="capture"):
            pass
    assert failed.value.stderr_tail.splitlines() == [f"line {n}" for n in range(80, 100)]


async def test_what_the_peer_gets_has_no_stderr():
    error = await fail("capture")
    assert "oven" not in str(error.to_error())
    assert pickle.loads(pickle.dumps(error)).stderr_tail == error.stderr_tail


async def test_a_traceback_does_not_begin_with_a_missing_extra(tmp_path):
    (tmp_path / "uvloop.py").write_text("raise ImportError(\"No module named 'uvloop'\")")
    command = Command([sys.executable, "-c", AGENT], env={"PYTHONPATH": str(tmp_path)})
    async with Client(command, stderr="capture") as client:
        session = await client.new_session(cwd=".")
        with pytest.raises(InternalError) as failed:
            await session.prompt("Bake")
    assert "uvloop" not in str(failed.value)


def test_another_word_for_stderr_is_refused_with_those_that_exist():
    with pytest.raises(ValueError, match="stderr is 'inherit', 'capture' or a function that gets bytes, not 'pipe'"):
        Client("agent", stderr="pipe")  # pyright: ignore[reportArgumentType]
