"""What breaks in practice, played through with our client and our agent."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from accord import (
    Agent,
    Client,
    ConnectionClosed,
    Denied,
    MessageChunk,
    Text,
    ToolCallChanged,
    Turn,
    permissions,
)
from accord.agent import SyncTurn
from accord.errors import NotFound
from accord.session.entities import ContentItem, Location, PlanEntry
from accord.store import MemoryStore
from tests.client.words import CWD
from tests.virtual_clock import run


@pytest.fixture
def worker() -> Agent:
    """Does what the prompt says."""
    agent = Agent("worker", store=MemoryStore(), merge_seconds=0.0, cancel_grace=1.0)

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.say(f"<{turn.text}")
        async with turn.tool_call(turn.text, kind="edit") as call:
            match turn.text.split()[0]:
                case "ask":
                    await turn.say(" yes" if await turn.allowed(call) else " no")
                case "wait":
                    await asyncio.Event().wait()
                case "break":
                    try:
                        await asyncio.Event().wait()
                    finally:
                        raise Denied("broken by the cancel")
                case _:
                    await asyncio.sleep(0)
        await turn.say(">")

    return agent


async def begun(reply):
    """Read until the turn has said something."""
    async for change in reply:
        if isinstance(change, ToolCallChanged):
            return


def said(session):
    return "".join([message.text for message in session.transcript.messages.values() if message.role == "agent"])


async def test_a_question_in_one_session_holds_up_no_other(worker, version):
    """FN-13: sessions are independent."""
    answered = asyncio.Event()

    async def person(asked):
        await answered.wait()
        return True

    async with Client(worker, version=version, on_permission=permissions.ask(person)) as client:
        asking, other = await client.new_session(CWD), await client.new_session(CWD)
        waiting = asking.prompt("ask")
        await begun(waiting)
        assert (await other.prompt("go")).text == "<go>"
        assert asking.is_busy
        answered.set()
        assert (await waiting).text == "<ask yes>"


async def test_a_cancel_takes_the_question_off_the_screen_and_frees_the_agent(worker, version):
    """FN-14, FN-22: the person is no longer asked, the waiter is released, and there is one stop reason."""
    shown, gone = asyncio.Event(), asyncio.Event()

    async def person(asked):
        shown.set()
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()

    async with Client(worker, version=version, on_permission=permissions.ask(person)) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("ask")
        await shown.wait()
        await session.cancel()
        assert (await reply).stop_reason == "cancelled"
        await gone.wait()
        assert [call.finished for call in session.transcript.tool_calls.values()] == [True]
        assert (await session.prompt("go on")).text == "<go on>"


async def test_a_cancel_ends_one_turn_of_one_session(worker, version):
    """FN-20: the others go on, and the cancelled session is not wedged."""
    async with Client(worker, version=version) as client:
        one, two = await client.new_session(CWD), await client.new_session(CWD)
        first, second = one.prompt("wait 1"), two.prompt("wait 2")
        await begun(first)
        await begun(second)
        await one.cancel()
        assert (await first).stop_reason == "cancelled"
        assert not second.is_over
        assert (await one.prompt("go")).stop_reason == "end_turn"
        await two.cancel()
        assert (await second).stop_reason == "cancelled"


async def test_a_cancel_when_nothing_runs_does_nothing(worker, version):
    """FN-21, FN-26: cancel needs no code by the author, and when idle it is a no-op."""
    async with Client(worker, version=version) as client:
        session = await client.new_session(CWD)
        for _ in range(2):
            await session.cancel()
            await session.cancel()
            reply = session.prompt("go")
            assert ((await reply).text, reply.stop_reason, reply.cancel_requested) == ("<go>", "end_turn", False)


async def test_an_exception_that_a_cancel_caused_is_no_error(worker, version):
    """FN-23: reported as cancelled."""
    async with Client(worker, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("break")
        await begun(reply)
        await reply.cancel()
        assert ((await reply).stop_reason, reply.error) == ("cancelled", None)


async def test_prompts_while_busy_are_taken_in_order_and_one_cancel_ends_them_all(worker, version):
    """FN-24, FN-70, FN-81: held, never interleaved; the cancelled text may come again as a further block."""
    async with Client(worker, version=version) as client:
        session = await client.new_session(CWD)
        replies = [session.prompt(text) for text in ("a", "b", "c")]
        assert [(await reply).text for reply in replies] == ["<a>", "<b>", "<c>"]
        running, held = session.prompt("wait"), session.prompt("never")
        await begun(running)
        await session.cancel()
        assert [(await running).stop_reason, (await held).stop_reason] == ["cancelled", "cancelled"]
        again = await session.prompt([Text("go on"), Text(" never")])
        assert again.text == "<go on\n\n never>"
        assert "<never" not in said(session)


async def test_what_ran_when_the_client_vanished_has_an_end_after_a_load(worker, version):
    """FN-25, FN-60, FN-61: also after a crash; load tells it all, resume nothing."""
    async with Client(worker, version=version) as client:
        session = await client.new_session(CWD)
        await session.prompt("go")
        await begun(session.prompt("wait"))
        before = [message.text for message in session.transcript.messages.values()]
    async with Client(worker, version=version) as client:
        resumed = await client.resume_session(session.id, CWD)
        assert not resumed.transcript.messages
        loaded = await client.load_session(session.id, CWD)
        assert [message.text for message in loaded.transcript.messages.values()] == before
        assert [call.finished for call in loaded.transcript.tool_calls.values()] == [True, True]
        assert (await loaded.prompt("more")).text == "<more>"


async def test_a_handler_that_blocks_its_thread_holds_up_no_other_session(version):
    """FN-15: plain functions run in threads."""
    agent = Agent("blocking")
    released = threading.Event()

    @agent.prompt
    def work(turn: SyncTurn) -> None:
        if turn.text == "block":
            released.wait(5)
        turn.say(turn.text)

    async with Client(agent, version=version) as client:
        blocking = (await client.new_session(CWD)).prompt("block")
        assert (await (await client.new_session(CWD)).prompt("go")).text == "go"
        assert not blocking.is_over
        released.set()
        assert (await blocking).text == "block"


async def test_logging_in_again_and_listing_after_each_turn_is_harmless(version):
    """FN-76: both are cheap."""
    agent = Agent("locked", store=MemoryStore())
    logins = []
    agent.login("key", name="Key")(logins.append)

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.say("Yes")

    async with Client(agent, version=version) as client:
        for _ in range(3):
            await client.authenticate("key")
        session = await client.new_session(CWD)
        for _ in range(3):
            assert (await session.prompt("go")).text == "Yes"
            assert [summary.session_id async for summary in client.list_sessions()] == [session.id]
            await client.authenticate("key")
    assert len(logins) == 1


def test_an_answer_that_comes_too_late_is_a_no(worker, caplog):
    """FN-44: a timeout is not an approval, and nobody is approved by default."""

    async def main(version):
        async def person(asked):
            await asyncio.sleep(1000)
            return True

        async with Client(worker, version=version, on_permission=permissions.ask(person, deadline=60)) as client:
            session = await client.new_session(CWD)
            assert (await session.prompt("ask")).text == "<ask no>"
            assert [call.status for call in session.transcript.tool_calls.values()] == ["failed"]

    with caplog.at_level(logging.WARNING):
        for version in (1, 2, "2-draft"):
            run(main(version))
    assert "nobody has answered" in caplog.text


async def test_the_whole_life_of_sessions(worker, version):
    """New, list, fork, close, load, resume, delete: in every version that has them."""
    async with Client(worker, version=version) as client:
        session = await client.new_session(CWD)
        await session.prompt("go")
        fork = await client.fork_session(session.id, CWD)
        await fork.prompt("my own way")
        loaded = await client.load_session(fork.id, CWD)
        assert said(loaded) == "<go><my own way>"
        assert {summary.session_id async for summary in client.list_sessions(CWD)} == {session.id, fork.id}
        await session.close()
        with pytest.raises(NotFound):
            session.prompt("anybody?")
        again = await client.load_session(session.id, CWD)
        assert said(again) == "<go>"
        for id in (session.id, fork.id, fork.id):
            await client.delete_session(id)
        assert [summary async for summary in client.list_sessions()] == []


async def test_a_session_that_is_taken_up_again_ends_what_was_there_before(worker, version):
    async with Client(worker, version=version) as client:
        session = await client.new_session(CWD)
        reply, held = session.prompt("wait"), session.prompt("then")
        await begun(reply)
        again = await client.resume_session(session.id, CWD)
        for old in (reply, held):
            with pytest.raises(ConnectionClosed, match="loaded or resumed again"):
                await old
        with pytest.raises(NotFound):
            session.prompt("anybody?")
        await again.cancel()
        assert (await again.prompt("go")).text == "<go>"


async def test_a_load_that_fails_leaves_what_was_there_before(worker, version):
    async with Client(worker, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("wait")
        await begun(reply)
        with pytest.raises(Exception, match="directory"):
            await client.load_session(session.id, "/elsewhere")
        await reply.cancel()
        assert (await reply).stop_reason == "cancelled"
        assert client.sessions == [session]


async def test_a_reply_says_all_that_it_is_asked_for(worker, version):
    async with Client(worker, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        assert (reply.stop_reason, reply.is_over, reply.error) == (None, False, None)
        texts = [change.text async for change in reply if isinstance(change, MessageChunk)]
        assert "".join(texts) == (await reply).text == (await reply).text == "<go>"
        assert ((await reply).stop_reason, reply.is_over) == ("end_turn", True)
        await reply.cancel()
        assert (reply.stop_reason, reply.cancel_requested) == ("end_turn", False)
        with pytest.raises(RuntimeError, match="read to its end"):
            async for _ in reply:
                pass


@pytest.mark.parametrize("is_busy", [True, False], ids=["while the other one runs", "at the same time"])
async def test_a_reply_does_not_end_with_the_turn_of_another_client(worker, version, is_busy):
    answers = asyncio.Queue()

    async def person(asked):
        return await answers.get()

    policy = permissions.ask(person)
    async with (
        Client(worker, version=version, on_permission=policy) as one,
        Client(worker, version=version, on_permission=policy) as two,
    ):
        first = await one.new_session(CWD)
        second = await two.load_session(first.id, CWD)
        earlier = first.prompt("ask")
        if is_busy:
            await begun(earlier)
        later = second.prompt("go")
        answers.put_nowait(True)
        assert ((await earlier).text).startswith("<ask yes>")
        assert (await later).stop_reason == "end_turn"
        assert said(second).endswith("<ask yes><go>")
        assert ((await later).text).endswith("<go>")


@pytest.mark.requirement("EXT-04", "EXT-06", "EXT-10")
@pytest.mark.parametrize("name", ["session/new", "acme/ping", "", "_", " _acme/ping"])
def test_names_without_a_leading_underscore_belong_to_the_protocol(name):
    for end in (Agent("a"), Client(Agent("a"))):
        for register in (end.method, end.notification):
            with pytest.raises(ValueError, match="underscore"):
                register(name)(lambda *arguments: None)


@pytest.mark.requirement("EXT-04", "EXT-06", "EXT-10")
@pytest.mark.parametrize("name", ["session/new", "session/update", "acme/ping", "", "_", " _acme/ping"])
async def test_nobody_asks_or_tells_by_a_name_of_the_protocol(version, name):
    agent = Agent("a")
    refused: list[str] = []

    @agent.prompt
    async def work(turn: Turn) -> None:
        for ask in (turn.client.request, turn.client.notify):
            with pytest.raises(ValueError, match="underscore"):
                await ask(name, {})
            refused.append(name)

    async with Client(agent, version=version) as client:
        for ask in (client.request, client.notify):
            with pytest.raises(ValueError, match="underscore"):
                await ask(name, {})
        session = await client.new_session(CWD)
        assert (await session.prompt("go")).stop_reason == "end_turn"
    assert refused == [name, name]


@pytest.mark.requirement("EXT-01")
async def test_meta_of_a_prompt_of_an_update_and_of_its_parts_arrives_on_the_other_side(version):
    agent = Agent("a", merge_seconds=0.0)
    heard: list[object] = []

    @agent.prompt
    async def work(turn: Turn) -> None:
        heard.extend([turn.content[0].meta])
        await turn.say(Text("hello", meta={"acme.dev/said": 1}))
        await turn.plan([PlanEntry(content="one", meta={"acme.dev/step": 2})])
        item = ContentItem(content=Text("x"), meta={"acme.dev/item": 3})
        async with turn.tool_call("Look", content=[item], locations=[Location("/a", meta={"acme.dev/place": 4})]):
            pass

    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        await session.prompt([Text("go", meta={"acme.dev/asked": 5})])
        transcript = session.transcript
    assert heard == [{"acme.dev/asked": 5}]
    said = next(message for message in transcript.messages.values() if message.role == "agent")
    assert said.content[0].meta == {"acme.dev/said": 1}
    (plan,) = transcript.plans.values()
    assert plan.entries[0].meta == {"acme.dev/step": 2}
    (call,) = transcript.tool_calls.values()
    assert (call.content[0].meta, call.locations[0].meta) == ({"acme.dev/item": 3}, {"acme.dev/place": 4})
