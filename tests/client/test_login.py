"""Logging in when an agent wants it."""

from __future__ import annotations

import json
import sys

import pytest

from accord import AuthRequired, Client, MethodNotFound
from accord.client.commands import Command
from accord.client.login import run_in_terminal
from tests.client.puppet import CWD, Puppet
from tests.client.test_sessions import speak
from tests.conversations.story import STORY

LOGINS = [{"id": "key", "name": "Key"}, {"id": "web", "name": "Web"}]


def locked(*, opens=True):
    """An agent of v1 that wants a login before a session."""
    agent = Puppet(1, authMethods=LOGINS, agentCapabilities={"auth": {"logout": {}}})
    is_open = False

    def new(asked):
        if not (is_open and opens):
            agent.fail(asked, -32000, "Authentication required")
            return None
        return {"sessionId": "s"}

    def log_in(asked):
        nonlocal is_open
        is_open = True
        return {}

    agent.on("session/new", new)
    agent.on("authenticate", log_in)
    agent.on("logout", {})
    return agent


@pytest.mark.requirement("AUTH-01", "AUTH-05", "AUTH-09")
async def test_a_session_that_wants_a_login_is_asked_for_again_after_one(storyteller, version):
    offered = []

    async def choose(methods):
        offered.extend(method.id for method in methods)
        return "key"

    async with Client(storyteller(speak), version=version, on_login=choose) as client:
        session = await client.new_session(STORY["locked"])
        assert session.cwd == STORY["locked"]
        assert offered == ["key"]


async def test_the_login_may_be_chosen_beforehand():
    agent = locked()
    async with Client(agent, on_login="web") as client:
        await client.new_session(CWD)
        assert agent.all("authenticate")[0]["params"] == {"methodId": "web"}
        await client.logout()
        assert len(agent.all("logout")) == 1


@pytest.mark.requirement("AUTH-09")
async def test_login_methods_alone_are_no_reason_to_log_in():
    agent = Puppet(1, authMethods=LOGINS)
    async with Client(agent, on_login="key") as client:
        await client.new_session(CWD)
        assert agent.all("authenticate") == []


async def test_without_a_choice_the_error_is_raised():
    agent = locked()

    async def not_now(methods):
        return None

    for choose in (None, not_now):
        async with Client(agent, on_login=choose) as client:
            with pytest.raises(AuthRequired):
                await client.new_session(CWD)
            assert agent.all("authenticate") == []


async def test_a_login_that_did_not_help_is_not_tried_again():
    agent = locked(opens=False)
    async with Client(agent, on_login="key") as client:
        with pytest.raises(AuthRequired):
            await client.new_session(CWD)
        assert len(agent.all("authenticate")) == 1
        assert len(agent.all("session/new")) == 2


@pytest.mark.requirement("AUTH-05")
async def test_only_methods_that_the_agent_named_are_used():
    agent = locked()
    async with Client(agent) as client:
        with pytest.raises(ValueError, match="no login 'fax', only 'key', 'web'"):
            await client.authenticate("fax")
        await client.authenticate("key")
        await client.new_session(CWD)


async def test_an_agent_without_logins_is_not_asked_to_log_out():
    async with Client(Puppet(2), version=2) as client:
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
        before = client.connection
        assert (await client.new_session(CWD)).id == "s"
        assert client.connection is not before
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
    agent = Puppet(1)
    async with Client(agent, version=1, run_login=run_in_terminal):
        assert "auth" not in agent.all("initialize")[0]["params"]["clientCapabilities"]
