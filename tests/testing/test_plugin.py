"""The plugin as somebody's tests see it, with either of the plugins for asynchronous tests, or with none."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest

from accord.testing import Recording

pytest_plugins = ["pytester"]

AGENT = """
import pytest
from accord import Agent, Client
from accord.testing import ScriptedAgent

agent = Agent("echo")

@agent.prompt
async def echo(turn):
    await turn.say(turn.text)
"""
QUIET = ["-p", "no:randomly", "-p", "no:timeout", "-W", "error"]
LOOPS = ["-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function"]
ASYNCIO = [*QUIET, "-p", "no:anyio", *LOOPS]
ANYIO = [*QUIET, "-p", "no:asyncio"]


@pytest.fixture
def tests(pytester):
    def run(text: str, *options: str) -> pytest.RunResult:
        pytester.makeconftest('pytest_plugins = ["accord.testing.plugin"]')
        pytester.makepyfile(AGENT + text)
        return pytester.runpytest_subprocess("--strict-markers", *(options or ASYNCIO))

    return run


ECHO = """
async def test_echo(acp_version, acp_connect):
    client = await acp_connect(agent)
    session = await client.new_session("/")
    assert (await session.prompt("hello")).text == "hello"
"""


def test_a_test_runs_in_every_version(tests):
    result = tests(ECHO, *ASYNCIO, "-v")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*test_echo[[]v1]*", "*test_echo[[]v2]*", "*test_echo[[]v2-draft]*"])


def test_it_needs_no_async_plugin_in_particular(tests):
    tests(
        "pytestmark = pytest.mark.anyio\n@pytest.fixture\ndef anyio_backend(): return 'asyncio'\n" + ECHO, *ANYIO
    ).assert_outcomes(passed=3)


def test_it_runs_asynchronous_tests_itself_where_no_other_plugin_does(tests):
    tests(ECHO, *QUIET, "-p", "no:anyio", "-p", "no:asyncio").assert_outcomes(passed=3)
    failing = """
async def test_fails(acp_connect):
    assert (await acp_connect(agent)).agent.info.name == "another"

@pytest.mark.parametrize("number", [1, 2])
async def test_numbers(number, tmp_path):
    assert number == 1
"""
    tests(failing, *QUIET, "-p", "no:anyio", "-p", "no:asyncio").assert_outcomes(passed=1, failed=2)


def test_nobody_gets_it_without_asking():
    assert not list(metadata.distribution("accord").entry_points.select(group="pytest11"))


def test_a_mark_chooses_the_versions(tests):
    result = tests("""
@pytest.mark.acp_versions(1, "2-draft")
async def test_some(acp_version):
    assert acp_version in (1, "2-draft")

@pytest.mark.acp_versions(2)
class TestClass:
    async def test_one(self, acp_version, acp_connect):
        assert (await acp_connect(agent)).agent.version == 2

@pytest.mark.parametrize("acp_version", [1])
async def test_own(acp_version):
    assert acp_version == 1

async def test_without(acp_connect):
    assert (await acp_connect(agent)).agent.version == 2
""")
    result.assert_outcomes(passed=5)


def test_clients_are_closed_when_the_test_is_over_whatever_happened(tests):
    result = tests("""
clients = []

@pytest.mark.parametrize("how", ["pass", "fail", "skip"])
async def test_open(acp_connect, how):
    clients.append(await acp_connect(agent))
    clients.append(await acp_connect(agent, version=1))
    if how == "fail":
        raise ValueError
    if how == "skip":
        pytest.skip("enough")

@pytest.fixture
async def client(acp_connect):
    clients.append(await acp_connect(agent))
    return clients[-1]

async def test_fixture(client):
    assert client.peer.is_open

def test_not_async(client):
    assert client.peer.is_open

def test_all_are_closed():
    assert [client.peer.is_open for client in clients] == [False] * 8
""")
    result.assert_outcomes(passed=4, failed=1, skipped=1)


def test_a_failure_shows_the_conversation(tests):
    result = tests("""
async def test_fail(acp_connect, acp_record):
    client = await acp_connect(agent, version=1)
    await client.new_session("/")
    async with Client(acp_record(agent), version=2):
        pass
    assert 0

async def test_pass(acp_connect):
    await acp_connect(agent)
""")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*- ACP conversation 1 -*",
            '*client → agent  initialize #0 {"protocolVersion": 1*',
            '*client → agent  session/new #1 {"cwd": "/"*',
            "*- ACP conversation 2 -*",
            "*client hung up: closed by this side*",
        ]
    )


def test_the_failure_of_a_scripted_agents_handler_fails_the_test(tests):
    result = tests("""
async def test_fail(acp_connect):
    agent = ScriptedAgent()

    @agent.on("_acme/note")
    def note(told):
        assert told.params == {"loud": True}

    client = await acp_connect(agent)
    await client.notify("_acme/note", {"loud": False})
    await agent.seen("_acme/note")
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*AssertionError: the script failed.*"])


def test_conversations_are_written_where_it_was_asked_for(tests, pytester):
    tests(
        ECHO
        + """
async def test_two(acp_connect):
    await acp_connect(agent)
    await acp_connect(agent)
""",
        *ASYNCIO,
        "--acp-record=kept",
    ).assert_outcomes(passed=4)
    name = "test_conversations_are_written_where_it_was_asked_for.py"
    kept = sorted(path.name for path in (pytester.path / "kept").iterdir())
    assert kept == [
        f"{name}-test_echo[v1].jsonl",
        f"{name}-test_echo[v2-draft].jsonl",
        f"{name}-test_echo[v2].jsonl",
        f"{name}-test_two-2.jsonl",
        f"{name}-test_two.jsonl",
    ]
    recording = Recording.load(pytester.path / "kept" / f"{name}-test_echo[v1].jsonl")
    assert b'"session/prompt"' in b"".join(entry.frame for entry in recording.entries)


def test_the_plugin_costs_nothing_until_it_is_used():
    program = """
import sys, pytest
before = set(sys.modules)
import accord.testing.plugin
print(sorted(name for name in set(sys.modules) - before if not name.startswith("accord")))
print(sorted(name for name in sys.modules if name.startswith("accord")))
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.splitlines() == ["[]", "['accord', 'accord.testing', 'accord.testing.plugin']"]
