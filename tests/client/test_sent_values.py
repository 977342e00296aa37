"""What a client's user gives is checked at the call: a mistake is raised there, and no agent hears of it."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from accord import Audio, Client, Image, InvalidParams, Resource, ResourceLink, Text
from accord.client.session import Session
from accord.session.capabilities import Implementation
from accord.session.content import Annotations
from accord.session.mcp_servers import HttpServer, StdioServer
from accord.session.requests import ElicitationAnswer, PermissionAnswer
from accord.testing import ScriptedAgent
from tests.client.test_cancel import ask_permission
from tests.client.words import CWD

NAN = float("nan")
TAKES_ALL = ("image", "audio", "embeddedContext")
Mistake = Callable[[Client, Session], Awaitable[Any]]


def agent_that_takes_all(version: Any) -> ScriptedAgent:
    if version == 2:
        prompt, servers = {name: {} for name in TAKES_ALL}, {"stdio": {}, "http": {}}
        session = {"prompt": prompt, "mcp": servers, "delete": {}, "fork": {}}
        return ScriptedAgent(version, capabilities={"session": session})
    capabilities = {
        "loadSession": True,
        "promptCapabilities": dict.fromkeys(TAKES_ALL, True),
        "mcpCapabilities": {"http": True, "sse": True},
        "sessionCapabilities": {"delete": {}, "resume": {}, "fork": {}},
    }
    return ScriptedAgent(version, agentCapabilities=capabilities)


def stdio(**fields: Any) -> StdioServer:
    return StdioServer(**{"name": "tools", "command": "/bin/tools", **fields})


def annotated(**hints: Any) -> Text:
    return Text("hi", annotations=Annotations(**hints))


MISTAKES: dict[str, tuple[Mistake, type[Exception], str]] = {
    "no content": (lambda client, session: session.prompt([]), ValueError, "a prompt needs at least one block"),
    "text that is a number": (
        lambda client, session: session.prompt([Text(5)]),  # type: ignore[arg-type]
        ValueError,
        "can't be sent: Expected `str`, got `int` - at `$.text`",
    ),
    "link without a name": (
        lambda client, session: session.prompt(ResourceLink(uri="file:///a", name=None)),  # type: ignore[arg-type]
        ValueError,
        "Expected `str`, got `null` - at `$.name`",
    ),
    "picture that is a number": (
        lambda client, session: session.prompt([Text("look"), Image(data=5, mime_type="image/png")]),  # type: ignore[arg-type]
        ValueError,
        "Expected `str`, got `int` - at `$.data`",
    ),
    "sound of no type": (
        lambda client, session: session.prompt(Audio(data="aGk=", mime_type=None)),  # type: ignore[arg-type]
        ValueError,
        "Expected `str`, got `null` - at `$.mime_type`",
    ),
    "resource without contents": (
        lambda client, session: session.prompt(Resource(uri="file:///a")),
        ValueError,
        "a text or a blob",
    ),
    "NaN in the meta of a block": (
        lambda client, session: session.prompt(Text("hi", meta={"at": NAN})),
        ValueError,
        "NaN",
    ),
    "priority": (
        lambda client, session: session.prompt(annotated(priority=5.0)),
        ValueError,
        "invalid priority 5.0: expected a number from 0 to 1",
    ),
    "audience": (
        lambda client, session: session.prompt(annotated(audience=["everybody"])),
        ValueError,
        "unknown audience of an annotation 'everybody': expected user, assistant",
    ),
    "prompt that is a number": (
        lambda client, session: session.prompt(5),  # type: ignore[arg-type]
        TypeError,
        "expected a string or a content block, not int",
    ),
    "block that is a number": (
        lambda client, session: session.prompt([5]),  # type: ignore[list-item]
        TypeError,
        "expected a string or a content block, not int",
    ),
    "block of the wire": (
        lambda client, session: session.prompt({"type": "text", "text": "hi"}),
        TypeError,
        "expected a string or a content block, not dict",
    ),
    "bytes": (
        lambda client, session: session.prompt(b"hi"),  # type: ignore[arg-type]
        TypeError,
        "expected a string or a content block, not bytes",
    ),
    "variable of a server": (
        lambda client, session: client.new_session(CWD, [stdio(env={"A": 1})]),
        ValueError,
        "Expected `str`, got `int` - at `$.env",
    ),
    "name of a server": (
        lambda client, session: client.new_session(CWD, [stdio(name=None)]),
        ValueError,
        "Expected `str`, got `null` - at `$.name`",
    ),
    "argument of a server": (
        lambda client, session: client.load_session("s", CWD, [stdio(args=[5])]),
        ValueError,
        "Expected `str`, got `int` - at `$.args[0]`",
    ),
    "header of a server": (
        lambda client, session: client.new_session(CWD, [HttpServer(name="a", url="http://a", headers={"A": 1})]),  # type: ignore[dict-item]
        ValueError,
        "Expected `str`, got `int` - at `$.headers",
    ),
    "server that is a command": (
        lambda client, session: client.new_session(CWD, ["/bin/tools"]),  # type: ignore[list-item]
        TypeError,
        "expected an MCP server, not str",
    ),
    "id of a session": (
        lambda client, session: client.load_session(5, CWD),  # type: ignore[arg-type]
        ValueError,
        "Expected `str`, got `int` - at `$.session_id`",
    ),
    "NaN in the meta of a request": (
        lambda client, session: client.load_session("s", CWD, meta={"at": NAN}),
        ValueError,
        "NaN",
    ),
    "id of a session to delete": (
        lambda client, session: client.delete_session(5),  # type: ignore[arg-type]
        ValueError,
        "Expected `str`, got `int` - at `$.session_id`",
    ),
    "value of an option": (
        lambda client, session: session.set_option("size", 5),  # type: ignore[arg-type]
        ValueError,
        "got `int` - at `$.value`",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
async def test_a_mistake_is_raised_at_the_call_and_no_agent_hears_of_it(version, mistake):
    make, kind, message = MISTAKES[mistake]
    agent = agent_that_takes_all(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        heard = len(agent.received)
        with pytest.raises(kind, match=re.escape(message)):
            await make(client, session)
        assert len(agent.received) == heard
        assert not session.is_busy
        assert session.transcript.messages == {}


@pytest.mark.parametrize("opens", ["new", "load", "resume", "fork"])
@pytest.mark.parametrize("command", ["rel/prog", "./prog", "../prog", "~/prog", "bin\\prog.exe"])
@pytest.mark.requirement("RPC-18", "SESS-26", "AMB-46")
async def test_a_server_whose_command_is_a_relative_path_is_not_sent(version, command, opens):
    agent = agent_that_takes_all(version)
    servers = [stdio(), stdio(name="more", command=command)]
    async with Client(agent, version=version) as client:
        heard = len(agent.received)
        work = {
            "new": lambda: client.new_session(CWD, servers),
            "load": lambda: client.load_session("s", CWD, servers),
            "resume": lambda: client.resume_session("s", CWD, servers),
            "fork": lambda: client.fork_session("s", CWD, servers),
        }[opens]
        with pytest.raises(InvalidParams, match="absolute path") as refused:
            await work()
        assert refused.value.field == "mcpServers[1].command"
        assert len(agent.received) == heard


@pytest.mark.requirement("AMB-46")
@pytest.mark.parametrize("command", ["npx", "/bin/tools", "C:\\tools.exe", "\\\\host\\tools.exe"])
async def test_a_bare_name_and_an_absolute_path_of_any_system_are_sent_as_they_are(version, command):
    agent = agent_that_takes_all(version)
    async with Client(agent, version=version) as client:
        await client.new_session(CWD, [stdio(command=command)])
    (opened,) = agent.calls("session/new")
    assert opened.params["mcpServers"][0]["command"] == command


@pytest.mark.parametrize(
    "options",
    [{"info": Implementation(name=5, version="1")}, {"meta": {"at": NAN}}],  # type: ignore[arg-type]
    ids=["info", "meta"],
)
def test_what_a_client_says_of_itself_is_checked_when_it_is_made(options):
    with pytest.raises(ValueError, match="this can't be sent"):
        Client(ScriptedAgent(1), **options)


async def test_words_may_stand_among_the_blocks_of_a_prompt(version):
    agent = agent_that_takes_all(version)
    agent.on("session/prompt", agent.reply("seen"))
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        await session.prompt(["Look:", Image(data="aGk=", mime_type="image/png")])
    (asked,) = agent.calls("session/prompt")
    assert [block["type"] for block in asked.params["prompt"]] == ["text", "image"]


@pytest.mark.requirement("CMD-10", "CMD-08")
async def test_a_command_goes_at_the_beginning_of_a_prompt_and_other_blocks_with_it(version):
    agent = agent_that_takes_all(version)
    agent.on("session/prompt", agent.reply("seen"))
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        await session.prompt(["/review a.py", ResourceLink(uri="file:///a.py", name="a.py")])
    (asked,) = agent.calls("session/prompt")
    assert asked.params["prompt"] == [
        {"type": "text", "text": "/review a.py"},
        {"type": "resource_link", "uri": "file:///a.py", "name": "a.py"},
    ]


WRONG_ANSWERS: dict[str, Any] = {
    "a list": [1],
    "an object inside": {"name": {"first": "Ada"}},
    "nothing inside": {"name": None},
    "numbers in a list": {"name": [1, 2]},
    "NaN": {"name": NAN},
}


@pytest.mark.parametrize("content", WRONG_ANSWERS)
async def test_an_answer_to_a_form_that_no_agent_could_read_is_a_cancel_with_a_line_in_the_log(
    version, content, caplog: pytest.LogCaptureFixture
):
    async def answer(asked: Any) -> ElicitationAnswer:
        return ElicitationAnswer(action="accept", content=WRONG_ANSWERS[content])

    agent = ScriptedAgent(version)
    async with Client(agent, version=version, on_elicitation=answer) as client:
        session = await client.new_session(CWD)
        form = {"type": "object", "properties": {"name": {"type": "string"}}}
        question = {"sessionId": session.id, "mode": "form", "message": "Your name?", "requestedSchema": form}
        assert (await agent.ask("elicitation/create", question)).result == {"action": "cancel"}
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    assert "cancelled" in errors[0]


async def test_every_kind_of_value_that_a_form_can_ask_for_is_sent(version):
    filled = {"name": "Ada", "age": 36, "height": 1.7, "happy": True, "tags": ["a", "b"]}

    async def answer(asked: Any) -> ElicitationAnswer:
        return ElicitationAnswer(action="accept", content=filled)

    agent = ScriptedAgent(version)
    async with Client(agent, version=version, on_elicitation=answer) as client:
        session = await client.new_session(CWD)
        form = {"type": "object", "properties": {name: {"type": "string"} for name in filled}}
        question = {"sessionId": session.id, "mode": "form", "message": "You?", "requestedSchema": form}
        assert (await agent.ask("elicitation/create", question)).result == {"action": "accept", "content": filled}


async def test_a_choice_with_a_meta_that_has_no_form_is_a_no(version, caplog: pytest.LogCaptureFixture):
    async def policy(asked: Any) -> PermissionAnswer:
        return PermissionAnswer(outcome="selected", option_id="y", outcome_meta={"at": NAN})

    agent = ScriptedAgent(version)
    async with Client(agent, version=version, on_permission=policy) as client:
        await client.new_session(CWD)
        outcome = (await ask_permission(agent, version)).result["outcome"]
    assert outcome == {"outcome": "selected", "optionId": "n"}
    assert "denied" in caplog.text
