"""Logging in when an agent wants it."""

from __future__ import annotations

import asyncio
import json
import os
import sys

import pytest

from accord import Agent, AuthRequired, Client, MethodNotFound
from accord.client.login import run_in_terminal
from accord.client.target import Command
from accord.testing import ScriptedAgent
from tests.client.words import CWD

LOGINS = [{"id": "key", "name": "Key"}, {"id": "web", "name": "Web"}]


def locked(*, opens=True):
    """An agent of v1 that wants a login before a session."""
    agent = ScriptedAgent(1, authMethods=LOGINS, agentCapabilities={"auth": {"logout": {}}})
    is_open = False

    def new(asked):
        if not (is_open and opens):
            asked.fail(-32000, "Authentication required")
            return None
        return {"sessionId": "session-1"}

    def log_in(asked):
        nonlocal is_open
        is_open = True
        return {}

    agent.on("session/new", new)
    agent.on("authenticate", log_in)
    agent.on("logout", {})
    return agent


@pytest.mark.requirement("AUTH-01", "AUTH-05", "AUTH-09")
async def test_a_session_that_wants_a_login_is_asked_for_again_after_one(version):
    agent = Agent("locked")
    offered, logins = [], []
    agent.login("key", name="Key")(logins.append)

    async def choose(methods):
        offered.extend(method.id for method in methods)
        return "key"

    async with Client(agent, version=version, on_login=choose) as client:
        session = await client.new_session(CWD)
        assert session.cwd == CWD
        assert offered == ["key"]
        assert len(logins) == 1


async def test_the_login_may_be_chosen_beforehand():
    agent = locked()
    async with Client(agent, on_login="web") as client:
        await client.new_session(CWD)
        assert agent.calls("authenticate")[0].params == {"methodId": "web"}
        await client.logout()
        assert len(agent.calls("logout")) == 1


@pytest.mark.requirement("AUTH-09")
async def test_login_methods_alone_are_no_reason_to_log_in():
    agent = ScriptedAgent(1, authMethods=LOGINS)
    async with Client(agent, on_login="key") as client:
        await client.new_session(CWD)
        assert agent.calls("authenticate") == []


async def test_without_a_choice_the_error_is_raised():
    agent = locked()

    async def not_now(methods):
        return None

    for choose in (None, not_now):
        async with Client(agent, on_login=choose) as client:
            with pytest.raises(AuthRequired):
                await client.new_session(CWD)
            assert agent.calls("authenticate") == []


async def test_a_login_that_did_not_help_is_not_tried_again():
    agent = locked(opens=False)
    async with Client(agent, on_login="key") as client:
        with pytest.raises(AuthRequired):
            await client.new_session(CWD)
        assert len(agent.calls("authenticate")) == 1
        assert len(agent.calls("session/new")) == 2


@pytest.mark.requirement("AUTH-05")
async def test_only_methods_that_the_agent_named_are_used():
    agent = locked()
    async with Client(agent) as client:
        with pytest.raises(ValueError, match="no login 'fax', only 'key', 'web'"):
            await client.authenticate("fax")
        await client.authenticate("key")
        await client.new_session(CWD)


async def test_an_agent_without_logins_is_not_asked_to_log_out():
    async with Client(ScriptedAgent(2), version=2) as client:
        with pytest.raises(MethodNotFound):
            await client.logout()
        assert await client.login() is False


PROGRAM = """
import json, os, sys
place, *more = sys.argv[1:]
if more:
    open(place, "w").write(json.dumps([more, os.environ["TOKEN"], os.environ["MODE"]]))
    sys.exit(int(os.environ["MODE"]))
for line in sys.stdin:
    message = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        login = {"id": "tty", "name": "Here", "type": "terminal", "args": ["--login"], "env": {"MODE": os.environ["WANT"]}}
        answer["result"] = {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": [login]}
    elif not os.path.exists(place):
        answer["error"] = {"code": -32000, "message": "Authentication required"}
    else:
        answer["result"] = {"sessionId": "s"}
    print(json.dumps(answer), flush=True)
"""


async def test_a_terminal_login_starts_the_same_program_and_connects_again(tmp_path):
    place = tmp_path / "credentials"
    command = Command([sys.executable, "-c", PROGRAM, str(place)], env={"TOKEN": "t", "MODE": "9", "WANT": "0"})
    async with Client(command, on_login="tty", run_login=run_in_terminal) as client:
        before = client._connection
        assert (await client.new_session(CWD)).id == "s"
        assert client._connection is not before
        assert json.loads(place.read_text()) == [["--login"], "t", "0"]
        with pytest.raises(ValueError, match="terminal login"):
            await client.authenticate("tty")


async def test_a_terminal_login_that_fails_says_so(tmp_path):
    place = tmp_path / "credentials"
    command = Command([sys.executable, "-c", PROGRAM, str(place)], env={"TOKEN": "t", "WANT": "3"})
    async with Client(command, run_login=run_in_terminal) as client:
        with pytest.raises(AuthRequired, match="exit code 3"):
            await client.login("tty")


async def test_a_terminal_login_is_offered_only_where_one_can_be_run():
    agent = ScriptedAgent(1)
    async with Client(agent, version=1, run_login=run_in_terminal):
        assert "auth" not in agent.calls("initialize")[0].params["clientCapabilities"]


async def test_a_terminal_login_that_is_given_up_is_ended_even_if_it_is_deaf(tmp_path, monkeypatch):
    monkeypatch.setattr("accord.client.login._TERMINATE_SECONDS", 0.1)
    ready = tmp_path / "ready"
    deaf = "import os, signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.mkfifo(sys.argv[1]); "
    deaf += "open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
    login = asyncio.create_task(run_in_terminal(Command([sys.executable, "-c", deaf, str(ready)])))
    while not ready.exists():  # noqa: ASYNC110  # a file has no event
        await asyncio.sleep(0.01)
    process = int(await asyncio.to_thread(ready.read_text))
    login.cancel()
    with pytest.raises(asyncio.CancelledError):
        await login
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


NEEDS_KEY = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    way = {"id": "key", "name": "Key", "type": "env_var", "vars": [{"name": "ACME_KEY"}, {"name": "Y", "optional": True}]}
    result = {"protocolVersion": 1, "authMethods": [way]} if asked["method"] == "initialize" else {}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


async def test_a_login_by_a_variable_asks_for_the_one_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.delenv("ACME_KEY", raising=False)
    program = tmp_path / "agent.py"
    program.write_text(NEEDS_KEY)
    async with Client(Command([sys.executable, str(program)]), version=1, strict=False) as client:
        with pytest.raises(AuthRequired, match="'key' needs ACME_KEY in the agent's environment"):
            await client.login("key")
    with_key = Command([sys.executable, str(program)], env={"ACME_KEY": "k"})
    async with Client(with_key, version=1, strict=False) as client:
        assert await client.login("key")
