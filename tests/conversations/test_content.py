"""Content blocks on their way through both sides, as raw frames: what they hold, where they occur, and what was not offered."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from accord import Agent, Audio, Client, Image, InvalidParams, Resource, ResourceLink, Text, Turn
from accord.session.entities import ContentItem
from accord.testing import ScriptedAgent, ScriptedClient

CWD = "/work/project"
HINTS = {"audience": ["user", "assistant"], "priority": 1.0, "lastModified": "2025-09-30T00:00:00Z"}
BLOCKS: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": "**Hi** <b>there</b>"},
    "annotated text": {"type": "text", "text": "words", "annotations": HINTS},
    "text with no annotations": {"type": "text", "text": "words", "annotations": {}},
    "image": {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    "whole image": {
        "type": "image",
        "data": "aGk=",
        "mimeType": "image/jpeg",
        "uri": "file:///a.jpg",
        "annotations": HINTS,
    },
    "audio": {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
    "annotated audio": {"type": "audio", "data": "aGk=", "mimeType": "audio/mp3", "annotations": HINTS},
    "link": {"type": "resource_link", "uri": "file:///a.txt", "name": "a.txt"},
    "whole link": {
        "type": "resource_link",
        "uri": "file:///a.txt",
        "name": "a.txt",
        "mimeType": "text/plain",
        "title": "A",
        "description": "The first",
        "size": 3,
        "annotations": {"priority": 0.5},
    },
    "text resource": {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "a"}},
    "whole text resource": {
        "type": "resource",
        "resource": {"uri": "file:///a.txt", "text": "a", "mimeType": "text/plain"},
        "annotations": {"audience": ["assistant"]},
    },
    "blob resource": {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": "aGk="}},
    "whole blob resource": {
        "type": "resource",
        "resource": {"uri": "file:///a.bin", "blob": "aGk=", "mimeType": "application/zip"},
        "annotations": HINTS,
    },
}
REQUIRED = [
    ("text", ["type"]),
    ("text", ["text"]),
    ("image", ["data"]),
    ("image", ["mimeType"]),
    ("audio", ["data"]),
    ("audio", ["mimeType"]),
    ("link", ["uri"]),
    ("link", ["name"]),
    ("text resource", ["resource"]),
    ("text resource", ["resource", "uri"]),
    ("text resource", ["resource", "text"]),
    ("blob resource", ["resource", "uri"]),
    ("blob resource", ["resource", "blob"]),
]
GATED = {
    "image": ("image", Image(data="aGk=", mime_type="image/png")),
    "audio": ("audio", Audio(data="aGk=", mime_type="audio/wav")),
    "text resource": ("embeddedContext", Resource(uri="file:///a.txt", text="a")),
    "blob resource": ("embeddedContext", Resource(uri="file:///a.bin", blob="aGk=")),
}
SHAPES = pytest.mark.requirement(
    "CONTENT-04", "CONTENT-05", "CONTENT-07", "CONTENT-09", "CONTENT-11", "CONTENT-12", "CONTENT-13", "CONTENT-16"
)


def takes(version: Any, *names: str) -> dict[str, Any]:
    """The handshake of an agent that takes this content beside text and links."""
    if version == 2:
        return {"capabilities": {"session": {"prompt": {name: {} for name in names}}}}
    return {"agentCapabilities": {"promptCapabilities": dict.fromkeys(names, True)}}


def mirror(**options: Any) -> Agent:
    """Says every block of the prompt, and shows it in a tool call."""
    agent = Agent("mirror", strict=True, merge_seconds=0.0, **options)

    @agent.prompt
    async def say(turn: Turn) -> None:
        async with turn.tool_call("Show") as call:
            for block in turn.content:
                await turn.say(block)
                await call.show(block)

    return agent


def without(block: dict[str, Any], path: list[str]) -> dict[str, Any]:
    changed = deepcopy(block)
    inner = changed
    for name in path[:-1]:
        inner = inner[name]
    del inner[path[-1]]
    return changed


def contents(updates: list[dict[str, Any]]) -> list[Any]:
    """The blocks that tool calls show, in the end."""
    shown: list[Any] = []
    for update in updates:
        tag, content = update["sessionUpdate"], update.get("content")
        if tag == "tool_call_content_chunk":
            shown.append(content)
        elif tag in ("tool_call", "tool_call_update") and content is not None:
            shown = list(content)
    return [each["content"] for each in shown]


@SHAPES
@pytest.mark.requirement("CONTENT-01", "CONTENT-02", "CONTENT-18", "CONTENT-19")
@pytest.mark.parametrize("name", BLOCKS)
async def test_a_block_comes_out_of_an_agent_as_it_went_in(version, name):
    """In a prompt, in what the agent says and in a tool call: nothing is lost and nothing added."""
    async with ScriptedClient(mirror(image=True, audio=True, embedded_context=True), version) as client:
        session = await client.new_session(CWD)
        prompt = client.ask("session/prompt", {"sessionId": session, "prompt": [BLOCKS[name]]})
        assert await client.stop_reason(prompt) == "end_turn"
        said = [update["content"] for update in client.updates("agent_message_chunk")]
        assert said == [BLOCKS[name]]
        assert contents(client.updates()) == [BLOCKS[name]]


@SHAPES
@pytest.mark.requirement("CONTENT-01", "CONTENT-02", "CONTENT-18", "CONTENT-19")
@pytest.mark.parametrize("name", BLOCKS)
async def test_a_block_comes_out_of_a_client_as_it_went_in(version, name):
    """What an agent says and shows can be put in a prompt. The gates are for prompts: it says what it does not take."""
    agent = ScriptedAgent(version, **takes(version))
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        agent.update("agent_message_chunk", content=BLOCKS[name], **({"messageId": "m"} if version == 2 else {}))
        item = {"type": "content", "content": BLOCKS[name]}
        agent.update("tool_call_update", toolCallId="c", title="Show", content=[item])
        await agent.ask("_acme/ping", {})
        (message,) = session.transcript.messages.values()
        (shown,) = session.transcript.tool_calls["c"].content
        assert isinstance(shown, ContentItem)
        assert message.content == [shown.content]
    taker = ScriptedAgent(version, **takes(version, "image", "audio", "embeddedContext"))
    taker.on("session/prompt", taker.reply("Thanks"))
    async with Client(taker, version=version) as client:
        session = await client.new_session(CWD)
        await session.prompt(message.content)
        assert taker.calls("session/prompt")[0].params["prompt"] == [BLOCKS[name]]


@SHAPES
@pytest.mark.bad_frames
@pytest.mark.parametrize(("name", "path"), REQUIRED, ids="".join)
async def test_a_block_without_what_it_needs_is_refused_by_an_agent(version, name, path):
    async with ScriptedClient(mirror(image=True, audio=True, embedded_context=True), version) as client:
        session = await client.new_session(CWD)
        block = without(BLOCKS[name], path)
        answer = await client.ask("session/prompt", {"sessionId": session, "prompt": [BLOCKS["text"], block]})
        assert answer.error["code"] == -32602
        assert answer.error["data"]["field"].startswith("prompt[1]")
        assert client.updates("agent_message_chunk") == []


@SHAPES
@pytest.mark.bad_frames
@pytest.mark.parametrize(("name", "path"), REQUIRED, ids="".join)
async def test_a_block_without_what_it_needs_is_not_shown_by_a_client(version, name, path):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        for block in (without(BLOCKS[name], path), BLOCKS["text"]):
            agent.update("agent_message_chunk", content=block, **({"messageId": "m"} if version == 2 else {}))
        await agent.ask("_acme/ping", {})
        (message,) = session.transcript.messages.values()
        assert message.content == [Text(BLOCKS["text"]["text"])]


@pytest.mark.requirement("INIT-33", "CONTENT-06", "CONTENT-17", "CONTENT-03")
async def test_every_agent_takes_text_and_links_whatever_it_offers(version):
    taken: list[Any] = []
    agent = Agent("bare", strict=True)

    @agent.prompt
    async def take(turn: Turn) -> None:
        taken.extend(turn.content)

    async with ScriptedClient(agent, version) as client:
        session = await client.new_session(CWD)
        blocks = [BLOCKS["text"], BLOCKS["whole link"]]
        prompt = client.ask("session/prompt", {"sessionId": session, "prompt": blocks})
        assert await client.stop_reason(prompt) == "end_turn"
        assert [type(block) for block in taken] == [Text, ResourceLink]
        assert taken[0].text == "**Hi** <b>there</b>"


@pytest.mark.requirement("INIT-33", "CONTENT-06", "CONTENT-17")
async def test_a_client_sends_text_and_links_to_every_agent(version):
    agent = ScriptedAgent(version, **takes(version))
    agent.on("session/prompt", agent.reply("Thanks"))
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        link = ResourceLink(uri="file:///a.txt", name="a.txt")
        await session.prompt([Text(BLOCKS["text"]["text"]), link])
        assert agent.calls("session/prompt")[0].params["prompt"] == [BLOCKS["text"], BLOCKS["link"]]


@pytest.mark.requirement("CONTENT-08", "CONTENT-10", "CONTENT-14", "CONTENT-20", "PROMPT-05")
@pytest.mark.parametrize("name", GATED)
async def test_a_client_sends_only_the_content_that_was_offered(version, name):
    capability, block = GATED[name]
    others = {"image", "audio", "embeddedContext"} - {capability}
    agent = ScriptedAgent(version, **takes(version, *others))
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        with pytest.raises(InvalidParams, match=type(block).__name__.lower()) as refused:
            session.prompt([Text("look"), block])
        assert refused.value.field == "prompt[1]"
        assert agent.calls("session/prompt") == []
        assert not session.is_busy
    agent = ScriptedAgent(version, **takes(version, capability))
    agent.on("session/prompt", agent.reply("Seen"))
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        assert (await session.prompt([Text("look"), block])).text == "Seen"
        assert agent.calls("session/prompt")[0].params["prompt"][1] == BLOCKS[name]


@pytest.mark.requirement("CONTENT-08", "CONTENT-10", "CONTENT-14", "CONTENT-20", "PROMPT-05")
@pytest.mark.parametrize("name", GATED)
async def test_an_agent_takes_only_the_content_that_it_offered(version, name):
    options = {"image": "image", "audio": "audio", "embeddedContext": "embedded_context"}
    option = options[GATED[name][0]]
    for is_offered in (True, False):
        async with ScriptedClient(
            mirror(**{each: (each == option) is is_offered for each in options.values()}), version
        ) as client:
            session = await client.new_session(CWD)
            prompt = client.ask("session/prompt", {"sessionId": session, "prompt": [BLOCKS["text"], BLOCKS[name]]})
            if is_offered:
                assert await client.stop_reason(prompt) == "end_turn"
            else:
                answer = await prompt
                assert answer.error["code"] == -32602
                assert answer.error["data"]["field"] == "prompt[1].type"
                assert client.updates("agent_message_chunk") == []
