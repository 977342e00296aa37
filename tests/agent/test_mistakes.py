"""Mistakes that authors of agents make: each gets a sentence that says what to write."""

# pyright: reportUnnecessaryComparison=false, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
from __future__ import annotations

import io
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from accord import Agent, Client, SyncTurn, Turn, permissions
from accord.errors import InternalError


async def mistake(make: Callable[[Turn], Awaitable[Any]], **options: Any) -> str:
    """What the handler is told."""
    agent, messages = Agent("clumsy", version="1.0"), list[str]()

    @agent.prompt
    async def answer(turn: Turn) -> None:
        try:
            await make(turn)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is looked at
            messages.append(f"{type(error).__name__}: {error}")

    async with Client(agent, on_permission=permissions.allow_all, **options) as client:
        await (await client.new_session(cwd=".")).prompt("Go")
    [message] = messages
    return message


@pytest.mark.parametrize(
    ("spelling", "call"),
    [
        ("turn.allowed", lambda turn: turn.allowed("May I?")),
        ("turn.ask", lambda turn: turn.ask("Which?", {})),
        ("turn.ask_to_open", lambda turn: turn.ask_to_open("Log in", "https://example.com", "1")),
        ("turn.files.read", lambda turn: turn.files.read("notes.md")),
        ("turn.run", lambda turn: turn.run("true")),
        ("turn.next_prompt", lambda turn: turn.next_prompt()),
        ("turn.servers", lambda turn: turn.servers()),
        ("turn.client.request", lambda turn: turn.client.request("_acme/x")),
    ],
)
async def test_a_forgotten_await_is_not_a_yes(spelling: str, call: Callable[[Turn], Any]):
    async def decide(turn: Turn) -> None:
        if call(turn):
            raise AssertionError("taken for a yes")

    assert await mistake(decide) == (
        f"TypeError: {spelling}(...) has no result until it is awaited: write `await {spelling}(...)`"
    )


async def with_block(turn: Turn) -> None:
    with turn.tool_call("Look"):
        pass


async def await_call(turn: Turn) -> None:
    await turn.tool_call("Look")


async def no_block(turn: Turn) -> None:
    await turn.tool_call("Look").say("seen")


async def asked_without_block(turn: Turn) -> None:
    await turn.allowed(turn.tool_call("Look"))


async def used_twice(turn: Turn) -> None:
    call = turn.tool_call("Look")
    async with call:
        pass
    async with call:
        pass


async def diff_of_bytes(turn: Turn) -> None:
    async with turn.tool_call("Write") as call:
        await call.diff("a.txt", b"old", "new")


async def wrong_status(turn: Turn) -> None:
    async with turn.tool_call("Look") as call:
        await call.update(status="done")


BLOCK = "`async with turn.tool_call(...) as call:`"


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda turn: turn.say(42), "NotContent: expected a string or a content block, not int"),
        (
            lambda turn: turn.plan("Look"),
            "TypeError: a plan is a list of entries, not one string: write turn.plan([...])",
        ),
        (lambda turn: turn.plan(None), "TypeError: expected a list of the entries of a plan, not NoneType"),
        (lambda turn: turn.set_title(3), "TypeError: expected a string as the title of the session, not int"),
        (
            lambda turn: turn.ask("Which?", {"name": str}),
            "TypeError: expected a JSON schema for each field, such as {'type': 'string'}, not type",
        ),
        (lambda turn: turn.ask("Which?", ["name"]), "TypeError: expected fields by name, not list"),
        (
            used_twice,
            "ValueError: this tool call has begun before: make another one with turn.tool_call(...)",
        ),
        (diff_of_bytes, "TypeError: expected the text of a diff as a string, or None, not bytes"),
        (lambda turn: turn.plan([1]), "TypeError: expected a string or a PlanEntry, not int"),
        (
            lambda turn: turn.run(["git", "status"]),
            "TypeError: run() takes the words of a command one by one: turn.run('git'",
        ),
        (lambda turn: turn.files.write("x", b"x"), "TypeError: expected the text of a file as a string, not bytes"),
        (lambda turn: turn.allowed("May I?", options=["yes"]), "TypeError: expected a PermissionOption, not str"),
        (lambda turn: turn.allowed(None), "TypeError: expected a tool call or a question as a string, not NoneType"),
        (
            lambda turn: turn.set_mode("plan"),
            "ValueError: there is no mode 'plan': the session has none, offer them with",
        ),
        (lambda turn: turn.stop("done"), "ValueError: unknown stop reason 'done': expected end_turn, max_tokens, "),
        (lambda turn: turn.tool_call("x", kind="reed"), "ValueError: unknown tool kind 'reed': expected read, edit, "),
        (lambda turn: turn.tool_call(42), "TypeError: expected a string as the title of a tool call, not int"),
        (
            lambda turn: turn.tool_call("x", diff="abc"),
            "TypeError: expected a diff as (path, old_text, new_text), with None",
        ),
        (lambda turn: turn.tool_call("x", diff=("a", "b")), "TypeError: expected a diff as (path, old_text, new_text)"),
        (with_block, f"TypeError: a tool call begins and ends with a block: write {BLOCK}"),
        (await_call, f"TypeError: a tool call begins and ends with a block: write {BLOCK}"),
        (no_block, f"RuntimeError: this tool call has not begun: write {BLOCK}"),
        (asked_without_block, f"RuntimeError: this tool call has not begun: write {BLOCK}"),
        (wrong_status, "ValueError: unknown tool call status 'done': expected pending, in_progress, "),
    ],
)
async def test_a_mistake_in_a_turn_gets_a_sentence(make: Callable[[Turn], Any], told: str):
    assert (await mistake(make)).startswith(told)


async def none() -> None: ...
async def one(turn: Turn) -> None: ...
async def two(turn: Turn, session: object) -> None: ...
async def three(params: object, client: object, more: object) -> None: ...
async def named(turn: Turn, *, session: object) -> None: ...
async def sync_turn(turn: SyncTurn) -> None: ...
def plain(turn: Turn) -> None: ...


async def parts(turn: Turn) -> AsyncIterator[str]:
    yield turn.text


@pytest.mark.parametrize(
    ("register", "told"),
    [
        (
            lambda agent: agent.prompt(none),
            r"the handler none\(\) of @agent.prompt is called with 1 argument, and has: no param",
        ),
        (
            lambda agent: agent.prompt(two),
            r"the handler two\(\) of @agent.prompt is called with 1 argument, and has: turn, ses",
        ),
        (
            lambda agent: agent.prompt(named),
            r"named\(\) of @agent.prompt is called with 1 argument, and has: turn, session",
        ),
        (lambda agent: agent.prompt(parts), r"parts\(\) of @agent.prompt is a generator: send parts with turn.say\("),
        (
            lambda agent: agent.prompt(sync_turn),
            r"sync_turn\(\) of @agent.prompt is async and gets a Turn, not a SyncTurn",
        ),
        (
            lambda agent: agent.prompt(plain),
            r"plain\(\) of @agent.prompt is no `async def` and gets a SyncTurn, not a Turn",
        ),
        (
            lambda agent: agent.prompt(),
            "@agent.prompt takes no parentheses: write `@agent.prompt` above the function",
        ),
        (lambda agent: agent.logout(), "@agent.logout takes no parentheses"),
        (lambda agent: agent.option("mode", choices="ask"), r"choices is a list such as \['ask'\], not one string"),
        (lambda agent: agent.prompt("answer"), "@agent.prompt needs a function, not str"),
        (
            lambda agent: agent.command("x", "X")(none),
            "of @agent.command is called with 1 argument, and has: no parameters",
        ),
        (
            lambda agent: agent.new_session(two),
            "of @agent.new_session is called with at most 1 argument, and has: turn, ses",
        ),
        (lambda agent: agent.logout(two), "of @agent.logout is called with at most 1 argument, and has: turn, session"),
        (
            lambda agent: agent.login("x", name="X")(two),
            "of @agent.login is called with at most 1 argument, and has: turn",
        ),
        (lambda agent: agent.option("x", default=True)(three), "of @agent.option is called with at most 2 arguments"),
        (
            lambda agent: agent.method("_x")(three),
            "of the extension '_x' is called with at most 2 arguments, and has: params",
        ),
        (lambda agent: Agent("x", version=1.0), "expected a string as the agent's version, not float"),
        (lambda agent: Agent("x", store="sessions.db"), r"expected a store such as SqliteStore\(path\), not str"),
    ],
)
def test_a_wrong_handler_is_refused_when_it_is_registered(register: Callable[[Agent], Any], told: str):
    with pytest.raises(TypeError, match=told):
        register(Agent("clumsy", version="1.0"))


def test_a_function_without_a_signature_and_one_with_any_arguments_are_handlers():
    Agent("clumsy").prompt(print)
    Agent("clumsy").prompt(lambda *arguments: None)
    Agent("clumsy").prompt(partial(two, session=None))


@pytest.mark.parametrize("decorator", ["prompt", "new_session", "logout"])
def test_a_second_handler_is_refused(decorator: str):
    agent = Agent("clumsy")
    getattr(agent, decorator)(one)
    with pytest.raises(ValueError, match=rf"the agent already has a handler of @agent.{decorator}: one\(\)"):
        getattr(agent, decorator)(one)


def test_an_unknown_value_of_busy_is_refused():
    with pytest.raises(ValueError, match="unknown busy 'wait': expected queue, refuse, steer"):
        Agent("clumsy", busy="wait")


@pytest.mark.parametrize("result", ["done", 42, True])
async def test_a_handler_that_returns_something_else_is_told_in_the_log(result: object, caplog):
    agent = Agent("clumsy")
    agent.prompt(lambda turn: result)
    async with Client(agent) as client:
        with pytest.raises(InternalError):
            await (await client.new_session(cwd=".")).prompt("Go")
    assert f"a prompt handler returned {result!r}: expected None, one of end_turn, " in caplog.text


async def test_run_inside_of_a_loop_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(RuntimeError, match=r"agent\.run\(\) starts an event loop: call it outside of async functions"):
        Agent("clumsy").run()
