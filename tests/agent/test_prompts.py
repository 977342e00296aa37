"""Prompts as editors send them: what counts as the request, and what only came with it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord.agent import Turn
from accord.session.content import Text
from accord.session.entities import AGENT
from accord.session.updates import MessageAppend, MessagePatch
from accord.testing import ScriptedClient
from tests.agent.user import CWD, plain_agent


def text(*words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": each} for each in words]


async def prompted(client: ScriptedClient, content: list[dict[str, Any]]) -> str:
    return await client.stop_reason(
        client.ask("session/prompt", {"sessionId": client.session_id, "prompt": content}),
    )


async def test_each_block_of_text_is_a_paragraph(version):
    agent = plain_agent()
    seen: list[tuple[str, str]] = []

    @agent.prompt
    async def note(turn: Turn) -> None:
        seen.append((turn.text, turn.whole_text))

    link = {"type": "resource_link", "uri": "file:///a.py", "name": "a.py"}
    async with ScriptedClient(agent, version) as client:
        await client.new_session(CWD)
        await prompted(client, text("one", "two"))
        await prompted(client, [*text("look at "), link, *text(", please", "now")])
    assert seen == [
        ("one\n\ntwo", "one\n\ntwo"),
        ("look at \n\n, please\n\nnow", "look at [a.py](file:///a.py), please\n\nnow"),
    ]


@pytest.mark.parametrize("is_queued", [False, True])
async def test_blocks_that_repeat_what_was_cancelled_are_not_the_request(version, is_queued):
    """FN-110: the text of the cancelled prompt comes again, before the new one."""
    agent = plain_agent()
    begun = asyncio.Event()
    done: list[tuple[str | None, list[str]]] = []

    async def note(turn: Turn) -> None:
        done.append((turn.command, [getattr(block, "text", "") for block in turn.new_content]))
        if turn.text in ("/work", "wait"):
            begun.set()
            await asyncio.Event().wait()

    agent.prompt(note)
    agent.command("work", "Works")(note)
    agent.command("look", "Looks")(note)
    async with ScriptedClient(agent, version) as client:
        await client.new_session(CWD)
        first = client.prompt("wait" if is_queued else "/work")
        queued = client.prompt("/work") if is_queued else None
        await begun.wait()
        client.cancel()
        assert await client.stop_reason(first) == "cancelled"
        if queued is not None:
            await queued
        await prompted(client, text(" /work\n", "/look"))
        await prompted(client, text("/work", "/look", "thanks"))
    assert done[1:] == [("look", ["/look"]), ("work", ["/work", "/look", "thanks"])]


RESOURCE = {"type": "resource", "resource": {"uri": "marimo://cell", "mimeType": "text/plain", "text": "x = 1\n"}}


async def test_a_text_resource_that_was_not_offered_is_read_as_text(version):
    """FN-111: marimo sends one with every prompt."""
    agent = plain_agent(strict=False)
    seen: list[tuple[str, str, Any]] = []

    @agent.prompt
    async def note(turn: Turn) -> None:
        seen.append((turn.text, turn.whole_text, turn.content[1]))

    async with ScriptedClient(agent, version) as client:
        await client.new_session(CWD)
        assert await prompted(client, [*text("hello"), RESOURCE]) == "end_turn"
    ((written, whole, block),) = seen
    assert written == "hello"
    assert whole == "hello\n\nmarimo://cell:\n```\nx = 1\n```"
    assert (block.uri, block.text) == ("marimo://cell", "x = 1\n")


@pytest.mark.parametrize(
    ("strict", "block", "option"),
    [
        (True, RESOURCE, "embedded_context"),
        (False, {"type": "resource", "resource": {"uri": "file:///a", "blob": "AAAA"}}, "embedded_context"),
        (False, {"type": "image", "data": "AAAA", "mimeType": "image/png"}, "image"),
        (False, {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}, "audio"),
    ],
)
async def test_content_that_was_not_offered_is_refused_and_the_option_named(version, strict, block, option):
    agent = plain_agent(strict=strict)
    agent.prompt(lambda turn: None)
    async with ScriptedClient(agent, version) as client:
        await client.new_session(CWD)
        params = {"sessionId": client.session_id, "prompt": [*text("hello"), block]}
        answer = await client.ask("session/prompt", params)
    assert answer.error["code"] == -32602
    assert answer.error["data"]["field"] == "prompt[1].type"
    assert f"Agent(..., {option}=True)" in answer.error["message"]


async def test_a_message_that_is_written_again_has_its_text_once_in_v1_before_the_turn_ends():
    agent = plain_agent()

    @agent.prompt
    async def answer(turn: Turn) -> None:
        for said in (Text("Hello"), None, Text("Hel"), Text("lo you")):
            if said is None:
                turn._publisher.post(MessagePatch(role=AGENT, id="m", content=None))
            else:
                turn._publisher.post(MessageAppend(role=AGENT, id="m", content=said))
        turn._publisher.post(MessagePatch(role=AGENT, id="n", content=[Text("Draft")]))
        turn._publisher.post(MessagePatch(role=AGENT, id="n", content=[Text("Final")]))

    async with ScriptedClient(agent, 1) as client:
        await client.new_session(CWD)
        await prompted(client, text("Go"))
        told = [heard.params["update"] for heard in client.received if heard.method == "session/update"]
        assert client.received[-1].method is None, "nothing is told after the answer"
    assert [(update["messageId"], update["content"]["text"]) for update in told] == [
        ("m", "Hello"),
        ("m", " you"),
        ("n", "Draft"),
        ("n-rewritten-1", "Final"),
    ]
