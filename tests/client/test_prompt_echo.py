"""A prompt is in the transcript from the moment it is sent, once, whatever its agent tells back of it."""

from __future__ import annotations

from typing import Any

import pytest

from accord import Client, ConnectionClosed, MessageChanged, MessageChunk, RequestFailed, Text
from accord.errors import AccordError
from accord.session import Image, PromptChanged
from accord.session.entities import Message
from accord.session.replay import replay
from accord.testing import ScriptedAgent
from tests.client.test_foreground import arrived
from tests.client.words import CWD

PROMPT = "Buy milk"
PICTURE = Image(data="aGk=", mime_type="image/png")
TAKES_IMAGES = {"promptCapabilities": {"image": True}}


def told(session: Any) -> list[tuple[str, str]]:
    return [(place.role, place.text) for place in session.transcript.timeline if isinstance(place, Message)]


def ids(session: Any) -> list[str]:
    return [place.id for place in session.transcript.timeline]


def history(session: Any) -> list[str]:
    """What is told again to somebody who was not there, such as what the console keeps."""
    return [change.message.text for change in replay(session.transcript) if isinstance(change, MessageChanged)]


def echo(agent: ScriptedAgent, *texts: str, id: str | None = None) -> None:
    named = {} if id is None else {"messageId": id}
    for text in texts:
        agent.update("user_message_chunk", content={"type": "text", "text": text}, **named)


async def read(reply: Any) -> list[Any]:
    changes: list[Any] = []
    try:
        async for change in reply:
            changes.append(change)  # noqa: PERF401  # what came before it failed is wanted
    except AccordError:
        pass
    return changes


async def test_it_is_there_before_the_agent_says_anything(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt(PROMPT)
        assert told(session) == [("user", PROMPT)]
        change = await anext(aiter(reply))
        assert isinstance(change, MessageChanged)
        assert (change.message.role, change.message.text, change.created) == ("user", PROMPT, True)


def fails(agent, asked):
    if agent.version == 2:
        agent.begin(asked)
        agent.update("state_update", state="idle", stopReason="error", error={"code": -32603, "message": "No model"})
    else:
        asked.fail(-32603, "No model")


def is_cancelled(agent, asked):
    agent.finish(asked, "cancelled")


def stays_empty(agent, asked):
    agent.finish(asked)


def dies(agent, asked):
    agent.die(1, "out of memory")


@pytest.mark.parametrize("ends", [fails, is_cancelled, stays_empty, dies])
async def test_a_turn_without_output_has_its_prompt(version, ends):
    """FN-90: agents that repeat version 2 and speak v1 tell no prompt back; it was lost with such a turn."""
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt(PROMPT)
        ends(agent, await agent.seen("session/prompt"))
        await read(reply)
        assert told(session) == [("user", PROMPT)]
        assert history(session) == [PROMPT]
        (message,) = session.transcript.messages.values()
        assert not message.not_accepted


@pytest.mark.parametrize("version", [1, "2-draft"])
@pytest.mark.parametrize("id", [None, "u1"])
@pytest.mark.parametrize("is_late", [False, True], ids=["", "after output"])
@pytest.mark.parametrize(
    ("content", "pieces"),
    [
        ([PROMPT], [PROMPT]),
        ([PROMPT], ["Buy ", "mi", "lk"]),
        ([PROMPT + "\n"], [PROMPT]),
        (["Buy", "milk"], ["Buymilk"]),
        (["Buy", "milk"], ["Buy\n\nmilk"]),
        (["Buy", "milk"], ["Buy", "\n", "milk"]),
        (["Buy milk", "and bread"], ["Buy", " milk and", " bread"]),
    ],
    ids=str,
)
async def test_an_echo_is_recognised_and_not_doubled(version, id, is_late, content, pieces):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt([Text(text) for text in content])
        asked = await agent.seen("session/prompt")
        if is_late:
            agent.say("Yes")
        echo(agent, *pieces, id=id)
        agent.say(", sir" if is_late else "Yes, sir")
        agent.finish(asked)
        changes = await read(reply)
        assert told(session) == [("user", "".join(content)), ("agent", "Yes, sir")]
        assert (await reply).text == "Yes, sir"
        assert len([change for change in changes if isinstance(change, MessageChanged)]) == 1
        assert not [change for change in changes if isinstance(change, MessageChunk) and change.role == "user"]
        if id is not None:
            assert ("user", id) in session.transcript.messages


async def test_a_whole_message_of_the_draft_is_recognised_too():
    agent = ScriptedAgent("2-draft")
    async with Client(agent) as client:
        session = await client.new_session(CWD)
        reply = session.prompt(PROMPT)
        asked = await agent.seen("session/prompt")
        agent.update("user_message", messageId="u1", content=[{"type": "text", "text": PROMPT}], _meta={"a": 1})
        agent.say("Yes")
        agent.finish(asked)
        await read(reply)
        assert told(session) == [("user", PROMPT), ("agent", "Yes")]
        assert session.transcript.messages["user", "u1"].meta == {"a": 1}


@pytest.mark.parametrize("version", [1, "2-draft"])
@pytest.mark.parametrize("pictures", [0, 1], ids=["text only", "with the picture"])
async def test_an_echo_of_a_prompt_with_a_picture_is_recognised(version, pictures):
    agent = ScriptedAgent(version, agentCapabilities=TAKES_IMAGES)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt([Text("What is"), PICTURE, Text("this?")])
        asked = await agent.seen("session/prompt")
        echo(agent, "What is", "this?")
        for _ in range(pictures):
            agent.update("user_message_chunk", content={"type": "image", "data": "aGk=", "mimeType": "image/png"})
        agent.say("Milk")
        agent.finish(asked)
        await read(reply)
        assert told(session) == [("user", "What isthis?"), ("agent", "Milk")]
        assert PICTURE in next(iter(session.transcript.messages.values())).content


@pytest.mark.parametrize("version", [1, "2-draft"])
@pytest.mark.parametrize("pieces", [["Buy bread"], ["Buy ", "bread"], ["Buy milk and bread"]], ids=str)
async def test_what_only_begins_like_the_prompt_is_shown(version, pieces):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt(PROMPT)
        asked = await agent.seen("session/prompt")
        echo(agent, *pieces)
        agent.say("Yes")
        agent.finish(asked)
        await read(reply)
        assert told(session) == [("user", PROMPT), ("user", "".join(pieces)), ("agent", "Yes")]


@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_an_echo_after_another_message_is_recognised(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt(PROMPT)
        asked = await agent.seen("session/prompt")
        echo(agent, "Rules of the house", id="u1")
        echo(agent, PROMPT, id="u2")
        agent.say("Yes")
        agent.finish(asked)
        await read(reply)
        assert told(session) == [("user", PROMPT), ("user", "Rules of the house"), ("agent", "Yes")]


@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_an_echo_that_follows_the_answer_with_all_the_rest_is_recognised(version):
    """FN-02: updates arrive after the prompt's answer."""
    agent, heard = ScriptedAgent(version), []
    async with Client(agent, version=version, on_update=heard.append) as client:
        session = await client.new_session(CWD)
        reply = session.prompt(PROMPT)
        agent.finish(await agent.seen("session/prompt"))
        await read(reply)
        echo(agent, "Buy ", "milk")
        agent.say("Yes")
        echo(agent, PROMPT)
        await arrived(agent, client)
        assert told(session) == [("user", PROMPT), ("agent", "Yes"), ("user", PROMPT)]


class TestInV2:
    """The answer names the prompt, and the echo gives it its place."""

    @pytest.mark.parametrize("is_first", [True, False], ids=["echo, answer", "answer, echo"])
    @pytest.mark.parametrize("form", ["whole", "chunk", "chunks", "empty, then chunks", "another split"])
    async def test_the_echo_gives_it_its_id(self, is_first, form):
        agent = ScriptedAgent(2)
        async with Client(agent, version=2) as client:
            session = await client.new_session(CWD)
            reply = session.prompt([Text("Buy "), Text("milk")] if form == "another split" else PROMPT)
            asked = await agent.seen("session/prompt")
            if not is_first:
                asked.answer({"messageId": "u1"})
            if form in ("whole", "another split"):
                agent.update("user_message", messageId="u1", content=[{"type": "text", "text": PROMPT}])
            elif form == "empty, then chunks":
                agent.update("user_message", messageId="u1")
            if "chunk" in form:
                echo(agent, *([PROMPT] if form == "chunk" else ["Buy ", "milk"]), id="u1")
            if is_first:
                asked.answer({"messageId": "u1"})
            agent.update("state_update", state="running")
            agent.say("Yes", messageId="a1")
            agent.update("state_update", state="idle", stopReason="end_turn")
            changes = await read(reply)
            assert list(session.transcript.messages) == [("user", "u1"), ("agent", "a1")]
            assert told(session) == [("user", PROMPT), ("agent", "Yes")]
            assert len([change for change in changes if isinstance(change, MessageChanged)]) == 1
            named = [change for change in changes if isinstance(change, PromptChanged)]
            assert [(change.message.id, change.message.text) for change in named] == [("u1", PROMPT)]
            assert reply.message_id == "u1"

    async def test_without_an_echo_the_answer_names_it(self):
        agent = ScriptedAgent(2)
        async with Client(agent, version=2) as client:
            session = await client.new_session(CWD)
            reply = session.prompt(PROMPT)
            (await agent.seen("session/prompt")).answer({"messageId": "u1"})
            agent.update("state_update", state="idle", stopReason="end_turn")
            await read(reply)
            assert list(session.transcript.messages) == [("user", "u1")]

    @pytest.mark.parametrize("is_first", [True, False], ids=["echo, answer", "answer, echo"])
    async def test_its_place_is_where_it_is_told_back(self, is_first):
        agent = ScriptedAgent(2)
        async with Client(agent, version=2) as client:
            session = await client.new_session(CWD)
            agent.update("user_message", messageId="u0", content=[{"type": "text", "text": "Go"}])
            agent.update("state_update", state="running")
            await arrived(agent, client)
            reply = session.prompt(PROMPT)
            asked = await agent.seen("session/prompt")
            agent.say("Gone", messageId="a0")
            agent.update("state_update", state="idle", stopReason="end_turn")
            if not is_first:
                asked.answer({"messageId": "u1"})
            agent.say(" far", messageId="a0")
            agent.update("user_message", messageId="u1", content=[{"type": "text", "text": PROMPT}])
            if is_first:
                asked.answer({"messageId": "u1"})
            agent.update("state_update", state="running")
            agent.say("Yes", messageId="a1")
            agent.update("state_update", state="idle", stopReason="end_turn")
            await read(reply)
            assert ids(session) == ["u0", "a0", "u1", "a1"]
            assert [id for _, id in session.transcript.messages] == ["u0", "a0", "u1", "a1"]
            assert history(session) == ["Go", "Gone far", PROMPT, "Yes"]

    @pytest.mark.parametrize("is_first", [True, False], ids=["echo, answer", "answer, echo"])
    @pytest.mark.parametrize("form", ["whole", "chunks"])
    async def test_what_the_agent_made_of_it_takes_its_place(self, is_first, form):
        agent = ScriptedAgent(2)
        async with Client(agent, version=2) as client:
            session = await client.new_session(CWD)
            reply = session.prompt("Buy @milk")
            asked = await agent.seen("session/prompt")
            if not is_first:
                asked.answer({"messageId": "u1"})
            if form == "whole":
                agent.update("user_message", messageId="u1", content=[{"type": "text", "text": "Buy 1 l of milk"}])
            else:
                echo(agent, "Buy ", "1 l of ", "milk", id="u1")
            agent.update("state_update", state="running")
            agent.update("state_update", state="idle", stopReason="end_turn")
            if is_first:
                asked.answer({"messageId": "u1"})
            await read(reply)
            assert told(session) == [("user", "Buy 1 l of milk")]
            assert list(session.transcript.messages) == [("user", "u1")]
            assert reply.stop_reason == "end_turn"

    @pytest.mark.parametrize("said", [PROMPT, "Buy"])
    @pytest.mark.parametrize("form", ["whole", "chunk"])
    async def test_what_somebody_else_says_is_not_taken_for_it(self, said, form):
        agent = ScriptedAgent(2)
        async with Client(agent, version=2) as client:
            session = await client.new_session(CWD)
            reply = session.prompt(PROMPT)
            asked = await agent.seen("session/prompt")
            if form == "whole":
                agent.update("user_message", messageId="theirs", content=[{"type": "text", "text": said}])
            else:
                echo(agent, said, id="theirs")
            agent.update("state_update", state="running")
            agent.say("For them", messageId="a0")
            agent.update("state_update", state="idle", stopReason="end_turn")
            asked.answer({"messageId": "ours"})
            agent.update("user_message", messageId="ours", content=[{"type": "text", "text": PROMPT}])
            agent.update("state_update", state="running")
            agent.say("For us", messageId="a1")
            agent.update("state_update", state="idle", stopReason="max_tokens")
            await read(reply)
            assert reply.stop_reason == "max_tokens"
            if form == "chunk" and said == "Buy":  # it might have gone on
                assert sorted(ids(session)) == sorted(["theirs", "a0", "ours", "a1"])
            else:
                assert ids(session) == ["theirs", "a0", "ours", "a1"]
            assert ("user", PROMPT) in told(session)
            assert ("user", said) in told(session)

    @pytest.mark.parametrize("code", [-32602, -32603, -32000])
    async def test_a_refused_prompt_stays_visible_and_is_no_part_of_the_history(self, code):
        agent = ScriptedAgent(2)
        async with Client(agent, version=2) as client:
            session = await client.new_session(CWD)
            reply = session.prompt(PROMPT)
            (await agent.seen("session/prompt")).fail(code, "No")
            changes = await read(reply)
            with pytest.raises(RequestFailed):
                await reply
            (message,) = session.transcript.timeline
            assert isinstance(message, Message)
            assert (message.text, message.not_accepted) == (PROMPT, True)
            assert [change.message.not_accepted for change in changes if isinstance(change, PromptChanged)] == [True]
            assert history(session) == []
            after = session.prompt("Buy bread")
            agent.finish(await agent.seen("session/prompt", 2))
            await read(after)
            assert told(session) == [("user", PROMPT), ("user", "Buy bread")]
            assert history(session) == ["Buy bread"]

    async def test_a_prompt_that_is_cancelled_before_it_has_its_place_is_not_accepted(self):
        agent = ScriptedAgent(2)
        async with Client(agent, version=2) as client:
            session = await client.new_session(CWD)
            reply = session.prompt(PROMPT)
            asked = await agent.seen("session/prompt")
            await reply.cancel()
            asked.fail(-32800, "Cancelled")
            await read(reply)
            assert reply.stop_reason == "cancelled"
            assert history(session) == []

    async def test_a_prompt_whose_fate_nobody_knows_is_not_marked(self):
        agent = ScriptedAgent(2)
        async with Client(agent, version=2) as client:
            session = await client.new_session(CWD)
            reply = session.prompt(PROMPT)
            await agent.seen("session/prompt")
            agent.die()
            with pytest.raises(ConnectionClosed):
                await reply
            assert history(session) == [PROMPT]
