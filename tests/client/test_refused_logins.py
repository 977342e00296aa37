"""The logins that an agent names when it refuses, rather than in the handshake."""

from __future__ import annotations

import pytest

from accord import Agent, AuthRequired, Client
from accord.session.capabilities import AgentLogin, TerminalLogin
from accord.testing import ScriptedAgent
from tests.client.words import CWD

LOGIN = {1: "authenticate", 2: "auth/login", "2-draft": "authenticate"}


def refusing(version, named, *, what="session/new", **handshake):
    """An agent that refuses, naming logins, until somebody has logged in."""
    agent = ScriptedAgent(version, **handshake)
    is_open = False

    def refuse(asked):
        if is_open:
            return {"sessions": []} if what == "session/list" else {"sessionId": "s"}
        asked.fail(-32000, "Authentication required", {"reason": "auth_required", "authMethods": named})
        return None

    def log_in(asked):
        nonlocal is_open
        is_open = True
        return {}

    agent.on(what, refuse)
    agent.on(LOGIN[version], log_in)
    return agent


@pytest.mark.requirement("AUTH-09", "RPC-31")
async def test_logins_that_only_the_refusal_names_are_used(version):
    named = [{"methodId": "web", "id": "web", "name": "Web", "description": "In a browser"}]
    agent = refusing(version, named)
    offered = []

    async def choose(methods):
        offered.extend(methods)
        return methods[0].id

    async with Client(agent, version=version, on_login=choose) as client:
        assert client.agent.auth_methods == []
        await client.new_session(CWD)
        assert offered == [AgentLogin(id="web", name="Web", description="In a browser")]
        assert agent.calls(LOGIN[version])[0].params == {"methodId": "web"}
        assert client.agent.auth_methods == offered
        await client.authenticate("web")


@pytest.mark.requirement("AMB-11", "AUTH-09")
@pytest.mark.parametrize(
    ("code", "details"),
    [(-32000, None), (-32000, {}), (-32000, {"authMethods": []}), (-32050, {"reason": "auth_required"})],
)
async def test_where_the_refusal_names_none_those_of_the_handshake_are_used(code, details):
    agent = ScriptedAgent(1, authMethods=[{"id": "key", "name": "Key"}])

    def refuse(asked):
        if agent.calls("authenticate"):
            return {"sessionId": "s"}
        asked.fail(code, "Log in", *([] if details is None else [details]))
        return None

    agent.on("session/new", refuse)
    agent.on("authenticate", {})
    async with Client(agent, version=1, on_login="key") as client:
        assert (await client.new_session(CWD)).id == "s"
        assert [asked.params for asked in agent.calls("authenticate")] == [{"methodId": "key"}]


async def test_of_many_logins_those_that_the_refusal_names_are_offered_and_told_in_full(version):
    agent = Agent("locked")
    entered, offered = [], []
    agent.login("key", name="Key", description="A key in the environment")(entered.append)

    async def choose(methods):
        offered.extend(methods)
        return "key"

    async with Client(agent, version=version, on_login=choose) as client:
        await client.new_session(CWD)
    assert offered == [AgentLogin(id="key", name="Key", description="A key in the environment")]
    assert len(entered) == 1


async def test_the_rest_of_what_the_handshake_named_is_not_offered():
    known = [{"id": "key", "name": "Key"}, {"id": "web", "name": "Web"}]
    agent = refusing(1, [{"id": "web"}, {"id": 7}, "nonsense", {"id": "odd", "type": "smoke signs"}], authMethods=known)
    offered = []

    async def choose(methods):
        offered.extend(methods)
        return "web"

    async with Client(agent, on_login=choose) as client:
        await client.new_session(CWD)
    assert offered == [AgentLogin(id="web", name="Web")]


@pytest.mark.parametrize("env", [{"MODE": "login"}, [{"name": "MODE", "value": "login"}]], ids=["map", "list"])
async def test_a_terminal_login_that_only_the_refusal_names_needs_a_command(env):
    named = [{"id": "tty", "name": "Here", "type": "terminal", "args": ["--login"], "env": env}]
    agent = refusing(1, named)
    async with Client(agent, on_login="tty") as client:
        with pytest.raises(ValueError, match="'tty' is a terminal login: it needs a command"):
            await client.new_session(CWD)
        assert client.agent.auth_methods == [
            TerminalLogin(id="tty", name="Here", args=["--login"], env={"MODE": "login"})
        ]


async def test_a_list_of_sessions_may_want_a_login_too(version):
    agent = refusing(version, [{"id": "web", "methodId": "web", "name": "Web"}], what="session/list")
    async with Client(agent, version=version, on_login="web") as client:
        assert [summary async for summary in client.list_sessions()] == []
        assert len(agent.calls("session/list")) == 2


async def test_a_prompt_that_wants_a_login_fails_and_the_login_can_be_done_by_hand(version):
    named = [{"id": "web", "methodId": "web", "name": "Web"}]
    agent = refusing(version, named, what="session/prompt")
    async with Client(agent, version=version, on_login="web") as client:
        session = await client.new_session(CWD)
        with pytest.raises(AuthRequired):
            await session.prompt("go")
        assert await client.login()
        agent.on("session/prompt", agent.reply("Yes"))
        assert (await session.prompt("go")).text == "Yes"
