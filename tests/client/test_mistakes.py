"""Mistakes that authors of clients make: each gets a sentence that says what to write."""

# pyright: reportUnnecessaryComparison=false, reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false, reportGeneralTypeIssues=false
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from accord import Agent, Client, ConnectionClosed, InvalidParams, Turn, permissions

agent = Agent("echo", version="1.0")


@agent.prompt
async def echo(turn: Turn) -> None:
    await turn.say(turn.text)


async def test_a_reply_that_is_not_awaited_is_not_true():
    async with Client(agent) as client:
        reply = (await client.new_session(cwd=".")).prompt("Hello")
        with pytest.raises(TypeError, match=r"write `await session\.prompt\(\.\.\.\)`"):
            bool(reply)
        assert (await reply).text == "Hello"


async def test_a_session_that_is_not_awaited_cannot_be_prompted():
    async with Client(agent) as client:
        session = client.new_session(cwd=".")
        with pytest.raises(AttributeError, match=r"write `await client\.new_session\(\.\.\.\)`"):
            session.prompt("Hello")
        session.close()


NOT_A_TARGET = "expected a command line such as 'python agent.py', a list of arguments, a URL, or an agent, not "


@pytest.mark.parametrize(
    ("target", "told"),
    [(None, "NoneType"), (42, "int"), (Path("agent.py"), "PosixPath|WindowsPath"), (Agent, "the class Agent")],
)
def test_what_is_no_target_is_told_with_examples(target: Any, told: str):
    with pytest.raises(TypeError, match=NOT_A_TARGET + f"({told})"):
        Client(target)


@pytest.mark.parametrize("version", [3, "1", None])
def test_an_unknown_version_is_told_those_that_exist(version: Any):
    with pytest.raises(ValueError, match=f"unknown protocol version {version!r}: expected 'auto', 1, 2 or '2-draft'"):
        Client(agent, version=version)


@pytest.mark.parametrize("callback", ["on_permission", "on_elicitation", "on_update"])
def test_a_callback_is_a_function(callback: str):
    with pytest.raises(TypeError, match=f"{callback} is a function.*, not True"):
        Client(agent, **{callback: True})


@pytest.mark.parametrize("callback", ["on_permission", "on_elicitation", "on_update"])
def test_a_callback_that_takes_no_argument_is_refused_at_once(callback: str):
    with pytest.raises(TypeError, match=f"{callback} is called with one argument, the .*has: no parameters"):
        Client(agent, **{callback: lambda: True})
    with pytest.raises(TypeError, match=f"{callback} is called with one argument, the .*has: request, more"):
        Client(agent, **{callback: lambda request, more: True})
    Client(agent, **{callback: lambda request, more=None: True})
    with pytest.raises(TypeError, match=r"the callback of permissions\.ask is called with one argument, the request"):
        permissions.ask(lambda: True)


async def test_an_option_and_a_login_that_do_not_exist_are_told_with_those_that_do():
    with_option = Agent("echo")
    with_option.option("loud", default=True)
    async with Client(with_option) as client:
        session = await client.new_session(cwd=".")
        with pytest.raises(InvalidParams, match="the session has no option 'quiet': it has loud"):
            await session.set_option("quiet", True)
    async with Client(agent) as client:
        with pytest.raises(ValueError, match="the agent has no login 'key': it offers none"):
            await client.login("key")


async def test_a_program_that_ends_at_once_is_told_what_an_agent_does():
    with pytest.raises(ConnectionClosed, match=r"ended before it answered: .* as with agent\.run\(\) \(exit code 0\)"):
        async with Client([sys.executable, "-c", "pass"]):
            pass


@pytest.mark.parametrize("content", [None, 42, b"Hello", {"text": "Hello"}, [1]])
async def test_a_prompt_that_is_no_content_says_what_is(content: Any):
    async with Client(agent) as client:
        session = await client.new_session(cwd=".")
        with pytest.raises(TypeError, match="expected a string or a content block, not "):
            session.prompt(content)


async def test_a_directory_that_does_not_exist_is_named(tmp_path):
    async with Client(agent) as client:
        with pytest.raises(InvalidParams, match=f"no such directory: {tmp_path / 'nowhere'}"):
            await client.new_session(cwd=tmp_path / "nowhere")


def test_with_says_async_with():
    with pytest.raises(TypeError, match=r"write `async with Client\(\.\.\.\) as client:`"), Client(agent):
        pass


async def test_for_says_async_for():
    async with Client(agent) as client:
        reply = (await client.new_session(cwd=".")).prompt("Hello")
        with pytest.raises(TypeError, match=r"write `async for update in reply:`"):
            list(reply)
        await reply


async def allowed(on_permission: Any) -> bool:
    asking, answers = Agent("asking"), list[bool]()

    @asking.prompt
    async def ask(turn: Turn) -> None:
        answers.append(await turn.allowed("May I?"))

    async with Client(asking, on_permission=on_permission) as client:
        await (await client.new_session(cwd=".")).prompt("Go")
    return answers[0]


@pytest.mark.parametrize("answer", [True, "allow", None])
async def test_a_policy_that_returns_no_answer_is_a_no_and_the_log_says_what_to_write(answer: object, caplog):
    assert not await allowed(lambda request: answer)
    assert f"a permission policy returned {answer!r}, not a PermissionAnswer: denied" in caplog.text
    assert "write on_permission=permissions.ask(function)" in caplog.text


async def test_a_callback_that_returns_an_unknown_option_is_a_no_and_the_log_names_those_that_were_offered(caplog):
    assert not await allowed(permissions.ask(lambda request: "yes"))
    assert (
        "a permission callback returned 'yes': denied. Expected True, False, None, or an option of: allow"
        in caplog.text
    )


async def test_a_plain_no_is_not_logged(caplog):
    assert not await allowed(permissions.ask(lambda request: False))
    assert not await allowed(permissions.ask(lambda request: None))
    assert caplog.text == ""


def test_a_question_needs_a_function():
    with pytest.raises(TypeError, match=r"permissions.ask needs a function that gets the request, not bool"):
        permissions.ask(True)
