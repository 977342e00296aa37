"""One session and two agents, as two processes would have it: one of them at a time."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from contextlib import closing, suppress
from typing import Any

import pytest
from msgspec.structs import replace

from accord.agent import Agent, AgentSession, Turn
from accord.errors import Denied, Fenced, NotFound, SessionInUse, StoreFailed
from accord.session.content import Text
from accord.session.requests import (
    CloseSession,
    DeleteSession,
    ForkSession,
    ListSessions,
    LoadSession,
    Prompt,
    ResumeSession,
    SetOption,
)
from accord.session.updates import MessageAppend
from accord.store import Claim, MemoryStore, Owner, SqliteStore, Store
from accord.store.statements import is_busy
from tests.agent.user import CWD, User, plain_agent
from tests.store.telling import transcript

TAKE_OVER = {"accord/claim": "take_over"}
NONE = {"accord/claim": "none"}


def talker(store: Store, name: str = "one", **options: Any) -> Agent:
    agent = plain_agent(name, store=store, **options)
    agent.option("web", default=False)

    @agent.prompt
    async def talk(turn: Turn) -> None:
        await turn.say(f"{name} heard {turn.text}.")
        if turn.text == "wait":
            await asyncio.Event().wait()
        if turn.text == "swallow":
            for _ in range(100):
                try:
                    await asyncio.sleep(0.001)
                    await turn.say("again")
                except Fenced:
                    continue
            await asyncio.Event().wait()

    return agent


def load(session: str, meta: dict[str, Any] | None = None) -> LoadSession:
    return LoadSession(session_id=session, cwd=CWD, meta=meta)


async def said(store: Store, session: str) -> list[str]:
    return [message.text for message in (await transcript(store, session)).messages.values()]


async def test_the_second_agent_is_told_who_has_the_session(version, store):
    agent = talker(store)
    async with User(agent, version) as user, User(talker(store, "other"), version) as second:
        session = await user.new_session()
        for asked in (load(session), ResumeSession(session_id=session, cwd=CWD), DeleteSession(session_id=session)):
            with pytest.raises(SessionInUse, match="in use by another process") as refused:
                await second.ask(asked)
            assert (refused.value.pid, refused.value.host) == (
                agent._definition.owner.pid,
                agent._definition.owner.host,
            )
            assert refused.value.since
        await user.prompt(session, "hello")
        assert await said(store, session) == ["hello", "one heard hello."]
        await user.ask(CloseSession(session_id=session))
        await second.ask(load(session))
        await second.prompt(session, "and now")
    assert await said(store, session) == ["hello", "one heard hello.", "and now", "other heard and now."]


async def test_a_session_is_free_when_its_connection_has_ended(version, store):
    async with User(talker(store), version) as user:
        session = await user.new_session()
    async with User(talker(store, "other"), version) as second:
        await second.ask(load(session))


async def test_two_connections_of_one_agent_share_a_claim(version, store):
    agent = talker(store)
    async with User(agent, version) as user, User(agent, version) as second:
        session = await user.new_session()
        await second.ask(load(session))
        await user.prompt(session, "a")
        await second.prompt(session, "b")
        await user.ask(CloseSession(session_id=session))
        await second.prompt(session, "c")
    assert await said(store, session) == [line for text in "abc" for line in (text, f"one heard {text}.")]


async def test_listing_and_forking_need_no_claim(version, store):
    async with User(talker(store), version) as user, User(talker(store, "other"), version) as second:
        session = await user.new_session()
        await user.prompt(session, "hello")
        listed = await second.ask(ListSessions())
        assert [each.session_id for each in listed.sessions] == [session]
        forked = (await second.ask(ForkSession(session_id=session, cwd=CWD))).session_id
        await second.prompt(forked, "aside")
        assert await said(store, forked) == ["hello", "one heard hello.", "aside", "other heard aside."]


async def test_a_session_that_another_agent_has_can_be_looked_at(version, store):
    async with User(talker(store), version) as user, User(talker(store, "other"), version) as second:
        session = await user.new_session()
        await user.prompt(session, "hello")
        await second.ask(load(session, NONE))
        assert [message.text for message in second.transcripts[session].messages.values()][-1] == "one heard hello."
        with pytest.raises(NotFound):
            await second.prompt(session, "mine?")
        await user.prompt(session, "go on")
    assert len(await said(store, session)) == 4


async def test_one_that_was_taken_over_learns_it_with_the_next_prompt_and_writes_nothing_more(version, store):
    async with User(talker(store), version) as user, User(talker(store, "other"), version) as second:
        session = await user.new_session()
        await user.prompt(session, "hello")
        await second.ask(load(session, TAKE_OVER))
        await second.prompt(session, "mine")
        for _ in range(2):
            with pytest.raises(Fenced, match="taken over by another process"):
                await user.ask(Prompt(session_id=session, content=[Text("lost")]))
        with pytest.raises(Fenced):
            await user.ask(SetOption(session_id=session, option_id="web", value=True))
        await second.prompt(session, "still mine")
        kept = ["hello", "one heard hello.", "mine", "other heard mine.", "still mine", "other heard still mine."]
        assert await said(store, session) == kept
        with pytest.raises(SessionInUse):
            await user.ask(load(session))
        await user.ask(load(session, TAKE_OVER))
        await user.prompt(session, "back")
    assert await said(store, session) == [*kept, "back", "one heard back."]


async def test_a_load_after_an_unnoticed_take_over_tells_what_the_new_owner_said(version, store):
    agent = talker(store)
    async with User(agent, version) as user, User(talker(store, "other"), version) as second:
        session = await user.new_session()
        await user.prompt(session, "hello")
        await second.ask(load(session, TAKE_OVER))
        await second.prompt(session, "mine")
        for asked in (load(session), ResumeSession(session_id=session, cwd=CWD)):
            with pytest.raises(SessionInUse):
                await user.ask(asked)
        await second.ask(CloseSession(session_id=session))
        await user.ask(load(session))
        told = [message.text for message in user.transcripts[session].messages.values()]
        assert told[-1] == "other heard mine."
        await user.prompt(session, "back")
    assert (await said(store, session))[-3:] == ["other heard mine.", "back", "one heard back."]


async def test_a_fork_that_is_refused_leaves_nothing_behind(version, store):
    agent = talker(store)
    async with User(agent, version) as user:
        session = await user.new_session()

        @agent.new_session
        async def refuse(session: AgentSession) -> None:
            raise Denied("no more")

        with pytest.raises(Denied):
            await user.ask(ForkSession(session_id=session, cwd=CWD))
        assert [each.session_id for each in (await user.ask(ListSessions())).sessions] == [session]


@pytest.mark.parametrize("text", ["wait", "swallow"])
async def test_a_turn_that_runs_while_it_is_taken_over_ends_with_an_error(version, store, text: str):
    agent = talker(store)
    async with User(agent, version) as user, User(talker(store, "other"), version) as second:
        session = await user.new_session()
        turn = user.start(user.prompt(session, text))
        await user.until(f"agent: one heard {text}.")
        await second.ask(load(session, TAKE_OVER))
        turns = agent.sessions.find(session)
        assert turns is not None
        with suppress(Fenced):
            await turns.publisher.journal.renew()  # as it does from time to time
        if version == 2:
            assert await turn == "error"
        else:
            with pytest.raises(Fenced):
                await turn
        await second.prompt(session, "mine")
    assert (await said(store, session))[-2:] == ["mine", "other heard mine."]


class LeasedStore(MemoryStore):
    """A store whose claims have to be renewed, and very often."""

    def __init__(self) -> None:
        super().__init__()
        self.renewals = 0

    async def claim(self, session_id: str, owner: Owner, take_over: bool = False) -> Claim:
        claim = replace(await super().claim(session_id, owner, take_over), lease=0.003)
        self._sessions[session_id].claim = claim
        return claim

    async def renew(self, claim: Claim) -> None:
        self.renewals += 1
        if self.renewals == 2:
            raise StoreFailed("leased", "not now")
        await super().renew(claim)


async def test_a_claim_with_a_lease_is_renewed_as_long_as_the_session_is_open(version):
    store = LeasedStore()
    agent = talker(store)
    async with User(agent, version) as user:
        session = await user.new_session()
        while store.renewals < 5:  # noqa: ASYNC110  # one of them fails, which ends nothing
            await asyncio.sleep(0.001)
        await user.prompt(session, "hello")
        turns = agent.sessions.find(session)
        assert turns is not None
        assert turns.publisher.journal._renewal is not None
        await user.ask(CloseSession(session_id=session))
        with pytest.raises(asyncio.CancelledError):
            await turns.publisher.journal._renewal


@pytest.mark.parametrize("text", ["wait", "swallow"])
async def test_a_silent_turn_learns_by_a_renewal_that_it_was_taken_over(version, text: str):
    store = LeasedStore()
    async with User(talker(store), version) as user, User(talker(store, "other"), version) as second:
        session = await user.new_session()
        turn = user.start(user.prompt(session, text))
        await user.until(f"agent: one heard {text}.")
        await second.ask(load(session, TAKE_OVER))
        if version == 2:
            assert await turn == "error"
        else:
            with pytest.raises(Fenced):
                await turn


async def test_what_is_told_right_before_a_session_is_closed_is_kept_although_the_file_is_locked(
    version, tmp_path, monkeypatch
):
    busy: list[bool] = []
    monkeypatch.setattr("accord.store.sqlite.is_busy", lambda error: busy.append(is_busy(error)) or busy[-1])
    async with SqliteStore(tmp_path / "sessions.db", window=3600) as store:
        sessions: list[AgentSession] = []
        agent = talker(store)
        agent.new_session(sessions.append)
        async with User(agent, version) as user:
            session = await user.new_session()
            await user.prompt(session, "hello")
            with closing(sqlite3.connect(store.path, isolation_level=None)) as locking:
                locking.execute("BEGIN IMMEDIATE")
                await sessions[0].send(MessageAppend(role="agent", id="late", content=Text("By the way.")))
                ending = user.start(user.ask(CloseSession(session_id=session)))
                while not any(busy):  # noqa: ASYNC110  # another thread finds it locked
                    await asyncio.sleep(0)
                assert not ending.done()
            await ending
            await user.ask(load(session))
        assert await said(store, session) == ["hello", "one heard hello.", "By the way."]


IDS = """
import asyncio, json, sys
from accord import Agent, Client, permissions

agent = Agent("naming")

@agent.prompt
async def talk(turn):
    await turn.think("Hm.")
    await turn.say("Here.")
    async with turn.tool_call("Look") as call:
        await turn.run(sys.executable, "-c", "print()", call=call)
    await turn.say("Done.")

async def main():
    async with Client(agent, on_permission=permissions.allow_all) as client:
        ids = []
        for _ in range(2):
            session = await client.new_session(cwd="/")
            for _ in range(2):
                await session.prompt("go")
            kept = session.transcript
            ids += [session.id, *(id for _, id in kept.messages), *kept.tool_calls, *kept.terminals]
        print(json.dumps(ids))

asyncio.run(main())
"""


async def test_no_two_processes_give_the_same_id():
    """Ids that count would meet in the journal of a session that one process takes up after the other."""

    async def given() -> list[str]:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", IDS, stdout=asyncio.subprocess.PIPE)
        printed, _ = await process.communicate()
        return json.loads(printed)

    ids = [id for each in await asyncio.gather(given(), given()) for id in each]
    assert len(ids) >= 2 * 2 * (1 + 2 * (3 + 1))
    assert sorted({*ids}) == sorted(ids)
