"""What every agent owes by the protocol's own checklist, given by the library to all of them."""

from __future__ import annotations

import asyncio

import pytest

from accord.agent import Turn
from accord.errors import InvalidParams, MethodNotFound
from accord.session.content import Audio, Content, Image, Resource, ResourceLink, Text
from accord.session.requests import Authenticate, Prompt
from tests.agent.user import CWD, User, plain_agent


@pytest.mark.requirement("PROMPT-13", "PROMPT-27", "PROMPT-29", "CHECK-32", "CHECK-41", "TOOL-41", "AMB-44")
async def test_the_reference_turn_is_told_in_its_order(version):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.plan(["Look"])
        await turn.say("Let me ")
        await turn.say("look.")
        async with turn.tool_call("Look", kind="read") as call:
            if await turn.allowed(call):
                await call.say("seen")
        await turn.say("Done.")

    async with User(agent, version) as user:
        session = await user.new_session()
        assert await user.prompt(session, "go") == "end_turn"
        states = ("running", "requires_action", "idle", "user is")
        told = [line for line in user.seen if not line.startswith(states)]
        assert told == [
            "plan main pending",
            "agent: Let me ",
            "agent: look.",
            "call-1 pending",
            "asked session/request_permission",
            "call-1 pending",
            "call-1 in_progress",
            "call-1 in_progress [seen]",
            "call-1 completed [seen]",
            "agent: Done.",
        ]
        assert ("user is: go" in user.seen) is (version != 1)


@pytest.mark.requirement("PROMPT-07")
async def test_the_prompt_is_told_back_where_the_version_wants_it():
    agent = plain_agent()

    @agent.prompt
    async def nothing(turn: Turn) -> None:
        return

    async with User(agent, "2-draft") as user:
        session = await user.new_session()
        await user.prompt(session, "hello")
        assert "user is: hello" in user.seen


@pytest.mark.requirement("CANCEL-09", "CANCEL-10", "AMB-39", "CANCEL-13", "CANCEL-06")
async def test_what_is_told_after_a_cancel_comes_before_the_answer(version):
    agent = plain_agent(merge_seconds=1.0)

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.notice("waiting")
        try:
            await asyncio.Event().wait()
        finally:
            await turn.say("last ")
            await turn.say("words")

    async with User(agent, version) as user:
        session = await user.new_session()
        reply = user.start(user.prompt(session, "x"))
        await user.until("notice waiting")
        await user.cancel(session)
        assert await reply == "cancelled"
        assert user.said(session) == "last words"
        assert "last words" in repr(user.sent()[-2])


@pytest.mark.requirement("PROMPT-15", "UPDATE-42")
async def test_content_that_comes_piecewise_is_sent_in_pieces_where_the_version_can(version):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Count") as call:
            for number in range(3):
                await call.say(str(number))

    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "x")
        (call,) = user.transcripts[session].tool_calls.values()
        assert len(call.content) == 3
        chunks = [frame for frame in user.sent() if "tool_call_content_chunk" in repr(frame)]
        assert len(chunks) == (0 if version == 1 else 3)


@pytest.mark.requirement("CHECK-34", "CHECK-35", "CHECK-36", "CONTENT-19")
async def test_every_kind_of_content_comes_in_and_goes_out(version):
    agent = plain_agent(image=True, audio=True, embedded_context=True)

    @agent.prompt
    async def echo(turn: Turn) -> None:
        texts.append(turn.whole_text)
        for block in turn.content:
            await turn.say(block)

    texts: list[str] = []
    blocks: list[Content] = [
        Text("hi"),
        Image(data="aGk=", mime_type="image/png"),
        Audio(data="aGk=", mime_type="audio/wav"),
        ResourceLink(uri="file:///b.txt", name="b.txt"),
        Resource(uri="file:///a.txt", text="text"),
        Resource(uri="file:///a.bin", blob="aGk="),
    ]
    async with User(agent, version) as user:
        session = await user.new_session()
        await user.ask(Prompt(session_id=session, content=blocks))
        await user.prompt(session, "end")
        (first, *_) = [each for each in user.transcripts[session].messages.values() if each.role == "agent"]
        assert first.content == blocks
        assert texts[0] == (
            "hi[image/png][audio/wav][b.txt](file:///b.txt)\n\nfile:///a.txt:\n```\ntext\n```\n\n[file: file:///a.bin]"
        )


@pytest.mark.requirement("CHECK-05", "CHECK-20", "SESS-08", "SESS-19")
async def test_a_path_that_is_not_absolute_is_refused(version):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look", locations=["a.py"]) as call:
            await call.locate("b.py", 1)
            await call.diff("c.py", None, "new")

    async with User(agent, version) as user:
        with pytest.raises(InvalidParams, match="absolute"):
            await user.new_session("relative")
        session = await user.new_session(CWD)
        await user.prompt(session, "x")
        (call,) = user.transcripts[session].tool_calls.values()
        assert [place.path for place in call.locations] == [f"{CWD}/a.py", f"{CWD}/b.py"]


@pytest.mark.requirement("CHECK-21")
async def test_lines_count_from_one(version):
    agent = plain_agent()
    refused: list[ValueError] = []

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look") as call:
            try:
                await call.locate("a.py", 0)
            except ValueError as error:
                refused.append(error)

    async with User(agent, version) as user:
        session = await user.new_session()
        assert await user.prompt(session, "x") == "end_turn"
        assert "count from 1" in str(refused[0])


@pytest.mark.requirement("AMB-10")
async def test_an_agent_without_logins_has_no_authenticate(version):
    async with User(plain_agent(), version) as user:
        with pytest.raises(MethodNotFound):
            await user.ask(Authenticate(method_id="key"))


@pytest.mark.requirement("CMD-10")
async def test_a_command_may_come_with_other_content(version):
    agent = plain_agent(image=True)

    @agent.command("look", "Look at it")
    async def look(turn: Turn) -> None:
        await turn.say(f"{turn.command}({turn.arguments}) with {len(turn.content)} blocks")

    async with User(agent, version) as user:
        session = await user.new_session()
        image = Image(data="aGk=", mime_type="image/png")
        await user.ask(Prompt(session_id=session, content=[Text("/look closely"), image]))
        await user.until("agent: look(closely) with 2 blocks")
