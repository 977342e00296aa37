"""One session on several connections of an agent: open once, heard by all."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord.agent import Agent, AgentEndpoint, Turn
from accord.agent.session_registry import SessionRegistry
from accord.agent.turn_queue import TurnQueue
from accord.errors import ConnectionClosed, InvalidRequest, NotFound, RequestCancelled
from accord.session.capabilities import ClientCapabilities
from accord.session.requests import (
    CloseSession,
    DeleteSession,
    ElicitationAnswer,
    ElicitationRequest,
    LoadSession,
    PermissionAnswer,
    PermissionRequest,
    ResumeSession,
    SetOption,
)
from accord.session.updates import InfoPatch
from tests.agent.user import CWD, User, plain_agent
from tests.asgi_driver import until
from tests.conversations.seen import told


class Work:
    """What the agent does, step by step as a test says."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.turns: list[str] = []
        self.opened = 0
        self.answers: list[bool] = []


def worker(store: Any, **options: Any) -> tuple[Agent, Work]:
    agent, work = plain_agent(store=store, **options), Work()
    agent.option("mode", choices=["ask", "code"])

    @agent.new_session
    async def prepare(session: Any) -> None:
        work.opened += 1

    @agent.command("again", "Once more")
    async def again(turn: Turn) -> None:
        return

    @agent.prompt
    async def answer(turn: Turn) -> None:
        work.turns.append(turn.text)
        await turn.say(f"{turn.text} begins. ")
        if turn.text.startswith("wait"):
            await work.go.wait()
        if turn.text == "stream":
            async with turn.tool_call("Count") as call:
                for number in range(400):
                    await turn.say(f"{number} ")
                    if number % 50 == 0:
                        await call.say(f"{number}")
                        await asyncio.sleep(0)
        if turn.text.endswith("ask"):
            work.answers.append(await turn.allowed("May I?"))
        await turn.say(f"{turn.text} ends. ")

    return agent, work


async def shared(user: User, other: User) -> str:
    """A session that both have open, with some history."""
    session = await user.new_session()
    await user.prompt(session, "first")
    await load(other, session)
    return session


def withdrawn(user: User) -> bool:
    """Whether the agent has told this client that it needs no answer any more."""
    return any(frame.get("method") == "$/cancel_request" for frame in user.sent())


async def load(user: User, session: str) -> None:
    user.take_in(session, await user.ask(LoadSession(session_id=session, cwd=CWD)))


@pytest.fixture(params=[1, 2, "2-draft"], ids=["with-v1", "with-v2", "with-v2-draft"])
def other_version(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.mark.requirement("SESS-17")
async def test_all_hear_everything_once_and_it_is_kept_once(version, other_version, store):
    agent, work = worker(store)
    async with User(agent, version) as user, User(agent, other_version) as other:
        session = await shared(user, other)
        await user.prompt(session, "second")
        await other.prompt(session, "third")
        await user.until("agent: third ends. ")
        assert work.opened == 1
        assert told(user.transcripts[session])["messages"] == told(other.transcripts[session])["messages"]
        before = [text for _, text in told(user.transcripts[session])["messages"]]
        assert before == [
            text for name in ("first", "second", "third") for text in (name, f"{name} begins. {name} ends. ")
        ]
    async with User(worker(store)[0], version) as later:
        await load(later, session)
        assert [text for _, text in told(later.transcripts[session])["messages"]] == before


@pytest.mark.parametrize("merge_seconds", [0.0, 0.02])
async def test_who_comes_in_the_middle_of_a_turn_misses_nothing_and_hears_nothing_twice(
    version, other_version, store, merge_seconds
):
    agent, _ = worker(store, merge_seconds=merge_seconds)
    async with User(agent, version) as user, User(agent, other_version) as other:
        session = await user.new_session()
        await user.prompt(session, "stream")
        reply = user.start(user.prompt(session, "stream"))
        for _ in range(3):
            await asyncio.sleep(0)
        await load(other, session)
        assert await reply == "end_turn"
        await user.prompt(session, "last")
        await other.until("agent: last ends. ") if merge_seconds == 0 else await other.prompt(session, "more")
        expected = [each for each in told(user.transcripts[session])["messages"] if each[1]]
        assert told(other.transcripts[session])["messages"][: len(expected)] == expected
        ours, theirs = told(user.transcripts[session])["calls"], told(other.transcripts[session])["calls"]
        assert ours == theirs


async def test_all_are_asked_and_the_first_answer_counts(version, other_version, store):
    agent, work = worker(store)
    async with User(agent, version) as user, User(agent, other_version, prefers=None) as other:
        session = await shared(user, other)
        await other.prompt(session, "ask")  # who does not answer
        await user.until("agent: ask ends. ")
        assert (len(user.asked), len(other.asked)) == (1, 1)
        assert work.answers == [True]
        await until(lambda: withdrawn(other))
        assert not withdrawn(user)


async def test_a_no_of_anybody_is_a_no(version, other_version, store):
    agent, work = worker(store)
    async with User(agent, version, prefers="reject_once") as user, User(agent, other_version, prefers=None) as other:
        session = await shared(user, other)
        await other.prompt(session, "ask")
        assert work.answers == [False]


async def test_only_who_prompted_can_dismiss_a_question(version, other_version, store):
    agent, work = worker(store)
    async with User(agent, version) as user, User(agent, other_version) as other:
        session = await shared(user, other)
        watched = asyncio.Event()

        def dismiss(request: Any) -> Any:
            watched.set()
            return PermissionAnswer(outcome="cancelled")

        async def allow_later(request: Any) -> Any:
            await watched.wait()
            return await user.permission(request)

        user.answers[PermissionRequest] = allow_later
        other.answers[PermissionRequest] = dismiss
        await user.prompt(session, "ask")
        user.answers[PermissionRequest] = lambda request: PermissionAnswer(outcome="cancelled")
        other.answers[PermissionRequest] = lambda request: asyncio.Event().wait()
        await user.prompt(session, "ask")
        assert work.answers == [True, False]


async def test_who_comes_while_a_question_is_open_is_asked(version, other_version, store):
    agent, work = worker(store)
    async with User(agent, version, prefers=None) as user, User(agent, other_version) as other:
        session = await user.new_session()
        prompt = asyncio.create_task(user.prompt(session, "ask"))
        await until(lambda: user.asked)
        await load(other, session)
        await prompt
        assert (len(other.asked), work.answers) == (1, [True])


async def test_who_leaves_while_a_question_is_open_is_told(version, other_version, store):
    agent, work = worker(store)
    async with User(agent, version, prefers=None) as user, User(agent, other_version, prefers=None) as other:
        session = await shared(user, other)
        prompt = asyncio.create_task(user.prompt(session, "ask"))
        await until(lambda: user.asked and other.asked)
        await other.ask(CloseSession(session_id=session))
        await until(lambda: withdrawn(other))
        assert not prompt.done()
        user.chooses = "allow_once"
        user.cancelled.set()
        await prompt
        assert work.answers == [False]


async def test_a_form_goes_to_those_who_have_forms(version, other_version, store):
    agent = plain_agent(store=store)

    @agent.prompt
    async def answer(turn: Turn) -> None:
        await turn.say(str(await turn.ask("Who?", {"name": {"type": "string"}})))

    async with (
        User(agent, version, capabilities=ClientCapabilities()) as user,
        User(agent, other_version) as other,
    ):
        session = await shared(user, other)
        other.answers[ElicitationRequest] = lambda request: ElicitationAnswer(action="accept", content={"name": "Ada"})
        await user.prompt(session, "go")
        assert user.said(session).endswith("{'name': 'Ada'}")
        assert user.asked == []


async def test_a_turn_goes_on_without_the_client_that_prompted_while_another_one_listens(version, other_version, store):
    agent, work = worker(store)
    async with User(agent, other_version) as other:
        async with User(agent, version) as user:
            session = await shared(user, other)
            user.start(user.prompt(session, "wait"))
            await other.until("agent: wait begins. ")
            user.start(user.prompt(session, "nobody waits for this"))
            other.start(other.prompt(session, "queued"))
            await user.peer.aclose()
        work.go.set()
        await other.until("agent: wait ends. ")
        await other.until("agent: queued ends. ")
        assert work.turns == ["first", "wait", "queued"]
        assert await other.prompt(session, "more") == "end_turn"
        assert work.opened == 1
    assert agent.sessions.summaries() == []


async def test_a_turn_ends_when_the_last_client_that_listens_goes(version, other_version, store):
    agent, work = worker(store)
    async with User(agent, other_version) as other:
        async with User(agent, version) as user:
            session = await shared(user, other)
            user.start(user.prompt(session, "wait"))
            await other.until("agent: wait begins. ")
            await user.peer.aclose()
        turns = agent.sessions.find(session)
        assert turns is not None
        assert turns.is_busy
    assert not turns.is_busy
    assert work.turns == ["first", "wait"]
    assert agent.sessions.summaries() == []


async def test_the_question_of_a_client_that_went_is_answered_by_another(version, other_version, store):
    agent, work = worker(store)
    async with User(agent, other_version) as other:
        async with User(agent, version) as user:
            session = await shared(user, other)
            user.start(user.prompt(session, "wait and ask"))
            await other.until("agent: wait and ask begins. ")
            await user.peer.aclose()
        work.go.set()
        await other.until("agent: wait and ask ends. ")
    assert work.answers == [True]


async def test_a_client_that_closes_its_session_ends_its_turn(version, other_version, store):
    agent, _ = worker(store)
    async with User(agent, version) as user, User(agent, other_version) as other:
        session = await shared(user, other)
        reply = user.start(user.prompt(session, "wait"))
        await other.until("agent: wait begins. ")
        await user.ask(CloseSession(session_id=session))
        assert await reply == "cancelled"
        assert await other.prompt(session, "more") == "end_turn"


async def test_close_is_for_one_connection_and_delete_for_all(version, store):
    agent, work = worker(store)
    async with User(agent, version) as user, User(agent, version) as other:
        session = await shared(user, other)
        reply = other.start(other.prompt(session, "wait"))
        await user.until("agent: wait begins. ")
        await user.ask(CloseSession(session_id=session))
        heard = len(user.seen)
        work.go.set()
        assert await reply == "end_turn"
        assert len(user.seen) == heard
        with pytest.raises(NotFound):
            await user.prompt(session, "x")
        await load(user, session)
        assert user.agent is not None
        if user.agent.capabilities.delete:
            await user.ask(DeleteSession(session_id=session))
            for each in (user, other):
                with pytest.raises(NotFound):
                    await each.prompt(session, "x")
            with pytest.raises(NotFound):
                await load(other, session)


async def test_anybody_may_cancel(version, other_version, store):
    agent, _ = worker(store)
    async with User(agent, version) as user, User(agent, other_version) as other:
        session = await shared(user, other)
        reply = user.start(user.prompt(session, "wait"))
        await other.until("agent: wait begins. ")
        await other.cancel(session)
        assert await reply == "cancelled"


async def test_what_one_chooses_all_see(version, other_version, store):
    agent, _ = worker(store)
    async with User(agent, version) as user, User(agent, other_version) as other:
        session = await shared(user, other)
        await other.ask(SetOption(session_id=session, option_id="mode", value="code"))
        await user.prompt(session, "x")
        for each in (user, other):
            assert {option.id: option.value for option in each.transcripts[session].options} == {"mode": "code"}


async def test_a_session_is_opened_once_however_many_ask_at_the_same_time(version, store):
    agent, work = worker(store)
    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "first")
    async with User(agent, version) as user, User(agent, version) as other:
        asked = [each.ask(LoadSession(session_id=session, cwd=CWD)) for each in (user, other, user, other)]
        await asyncio.gather(*asked)
        assert work.opened == 2
        assert await user.prompt(session, "second") == "end_turn"
        await other.until("agent: second ends. ")


async def test_a_session_that_is_being_closed_is_opened_again_when_that_is_done(version, store):
    agent, _ = worker(store)
    async with User(agent, version) as user, User(agent, version) as other:
        session = await user.new_session()
        reply = user.start(user.prompt(session, "wait"))
        await user.until("agent: wait begins. ")
        closing = user.start(user.ask(CloseSession(session_id=session)))
        await asyncio.sleep(0)
        await other.ask(ResumeSession(session_id=session, cwd=CWD))
        await closing
        assert await reply == "cancelled"
        assert await other.prompt(session, "more") == "end_turn"
        assert len(agent.sessions.summaries()) == 1


async def test_whoever_does_not_read_stops_nobody_else(version, store):
    agent, _ = worker(store)
    agent._definition.prompt_handler = None

    @agent.prompt
    async def flood(turn: Turn) -> None:
        for _ in range(200):
            await turn.say("x" * 10_000)

    async with User(agent, version) as user, User(agent, version) as other:
        session = await user.new_session()
        await load(other, session)
        other.peer._transport.pause_receiving()
        assert await user.prompt(session, "go") == "end_turn"
        other.peer._transport.resume_receiving()
        await other.until("agent: " + "x" * 10_000)


async def test_who_never_takes_the_history_is_given_up(version, store, monkeypatch, caplog):
    monkeypatch.setattr("accord.agent.update_stream._MAX_HELD", 50)
    agent, _ = worker(store)
    agent._definition.prompt_handler = None

    @agent.prompt
    async def flood(turn: Turn) -> None:
        for _ in range(200):
            await turn.say("x" * 10_000)

    async with User(agent, version) as user, User(agent, version) as other:
        session = await user.new_session()
        await user.prompt(session, "go")
        await user.prompt(session, "go")
        other.peer._transport.pause_receiving()
        loading = other.start(load(other, session))
        for _ in range(20):
            await asyncio.sleep(0)
        assert await user.prompt(session, "go") == "end_turn"
        other.peer._transport.resume_receiving()
        with pytest.raises((ConnectionClosed, RequestCancelled)):
            await loading
        await other.peer.wait_closed()
        assert await user.prompt(session, "go") == "end_turn"
        assert "closing a connection" in caplog.text
        assert len(agent.sessions.find(session).publisher.stream.subscriptions) == 1  # type: ignore[union-attr]


async def test_what_a_session_is_told_while_it_is_prepared_comes_after_its_answer(version):
    """FN-01: updates that belong to a new session go out after the answer that names it."""
    agent = plain_agent()

    @agent.new_session
    async def prepare(session: Any) -> None:
        await session.set_title("A title")

    async with User(agent, version) as user:
        await user.new_session()
        await user.until("title A title")
        frames = [frame for frame in user.sent() if "result" in frame or "A title" in repr(frame)]
        assert "sessionId" in frames[-2]["result"]


async def test_a_policy_may_keep_a_session_that_nobody_subscribes_to_any_more(version, other_version, store):
    async def keep(sessions: SessionRegistry, turns: TurnQueue, last: AgentEndpoint) -> None:
        sessions.unsubscribe(turns, last)

    agent, work = worker(store, sessions=SessionRegistry(keep))
    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "first")
    turns = agent.sessions.find(session)
    assert turns is not None
    assert (turns.session.is_closed, turns.publisher.stream.subscriptions) == (False, [])
    await turns.session.send(InfoPatch(title="Meanwhile"))
    async with User(agent, other_version) as other:
        await other.ask(LoadSession(session_id=session, cwd=CWD))
        assert other.transcripts[session].info.title == "Meanwhile"
        assert await other.prompt(session, "second") == "end_turn"
    assert work.opened == 1
    await agent.sessions.end(session)
    assert agent.sessions.summaries() == []


def test_a_session_of_another_thread_is_refused():
    class Elsewhere:
        def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
            self.loop = loop

    loop = asyncio.new_event_loop()
    sessions = SessionRegistry()
    sessions._open["s"] = Elsewhere(loop)  # type: ignore[assignment]

    async def look() -> Any:
        return sessions.find("s")

    with pytest.raises(InvalidRequest, match="another thread"):
        asyncio.run(look())
    loop.close()
    assert asyncio.run(look()) is None
