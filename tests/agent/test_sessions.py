from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord.agent import Agent, AgentSession, Turn
from accord.errors import InvalidParams, MethodNotFound, NotFound
from accord.session.requests import (
    CloseSession,
    DeleteSession,
    ForkSession,
    ListSessions,
    LoadSession,
    ResumeSession,
    SetMode,
    SetOption,
)
from accord.session.updates import MessageChunk
from accord.store import Claim, MemoryStore, Owner
from tests.agent.user import CWD, User, plain_agent
from tests.conversations.seen import told


def talker(store: Any = None, **options: Any) -> Agent:
    agent = plain_agent(store=store, **options)
    agent.option("mode", choices=["ask", "code"])
    agent.option("web", default=False)

    @agent.command("review", "Look again", hint="what")
    async def review(turn: Turn) -> None:
        await turn.say(f"Reviewed {turn.arguments}.")

    @agent.prompt
    async def talk(turn: Turn) -> None:
        await turn.say("Let me ")
        await turn.say("see.")
        async with turn.tool_call("Look", kind="read") as call:
            await call.say("found")
        await turn.say(f"Done: {turn.text}")
        await turn.set_title(turn.text)
        if turn.text == "hang":
            async with turn.tool_call("Hang"):
                await turn.say("hanging")
                await asyncio.Event().wait()

    return agent


async def test_two_processes_that_went_on_with_one_history_gave_no_id_twice(version):
    """Ids that count from 1 in each process meet in the journal, where the later ones overwrite the earlier ones."""
    ids: list[str] = []
    for agent in (talker(MemoryStore()), talker(MemoryStore())):
        async with User(agent, version) as user:
            session = await user.new_session()
            await user.prompt(session, "one")
            live = agent.sessions.find(session)
            assert live is not None
            transcript = live.session.transcript
            ids += [*transcript.tool_calls, *(id for _, id in transcript.messages)]
    assert len(ids) == 8
    assert len({*ids}) == 8


@pytest.mark.requirement("SESS-14", "SESS-15", "CHECK-33", "INIT-25")
async def test_a_loaded_session_is_told_whole_before_the_answer(version, store):
    """FN-60: load replays all before it answers, resume nothing."""
    async with User(talker(store), version) as user:
        session = await user.new_session()
        await user.prompt(session, "one")
        await user.prompt(session, "two")
        before = told(user.transcripts[session])
    async with User(talker(store), version) as user:
        await user.ask(LoadSession(session_id=session, cwd=CWD))
        assert told(user.transcripts[session])["messages"] == before["messages"]
        assert told(user.transcripts[session])["calls"] == before["calls"]
        assert await user.prompt(session, "three") == "end_turn"
    async with User(talker(store), version) as user:
        await user.ask(ResumeSession(session_id=session, cwd=CWD))
        assert user.transcripts[session].timeline == []
        await user.prompt(session, "four")
        assert user.said(session) == "Let me see.Done: four"


@pytest.mark.requirement("SESS-17")
async def test_sessions_outlive_the_agent(version, store):
    """FN-61: another agent on the same store lists and loads them."""
    async with User(talker(store), version) as user:
        session = await user.new_session()
        await user.prompt(session, "A title")
    async with User(talker(store), version) as user:
        page = await user.ask(ListSessions())
        assert [(each.session_id, each.title, each.cwd) for each in page.sessions] == [(session, "A title", CWD)]
        assert (await user.ask(ListSessions(cwd="/elsewhere"))).sessions == []
        with pytest.raises(InvalidParams):
            await user.ask(ListSessions(cursor="no such thing"))


async def test_a_session_that_broke_off_has_no_open_tool_calls_when_it_is_loaded(version, store):
    """FN-25: also after a crash."""
    async with User(talker(store, cancel_grace=0.01), version) as user:
        session = await user.new_session()
        user.start(user.prompt(session, "hang"))
        await user.until("agent: hanging")
        crashed = MemoryStore()
        kept = await store.find(session)
        assert kept is not None
        await crashed.create(kept)
        claim = await crashed.claim(session, Owner.here())
        async for reports in store.read(session):
            crashed.append(claim, reports)
        await crashed.release(claim)
    async with User(talker(crashed), version) as user:
        await user.ask(LoadSession(session_id=session, cwd=CWD))
        assert [call.status for call in user.transcripts[session].tool_calls.values()] == ["completed", "failed"]


async def test_replayed_updates_are_not_stored_again(version, store):
    """FN-62: what load tells is not written down a second time, however often it is told."""
    async with User(talker(store), version) as user:
        session = await user.new_session()
        await user.prompt(session, "one")
        for _ in range(3):
            await user.ask(LoadSession(session_id=session, cwd=CWD))
    reports = [report async for batch in store.read(session) for report in batch]
    async with User(talker(store), version) as user:
        await user.ask(LoadSession(session_id=session, cwd=CWD))
        assert user.said(session) == "Let me see.Done: one"
    assert [report async for batch in store.read(session) for report in batch] == reports


class CountingStore(MemoryStore):
    commits = 0

    async def commit(self, claim: Claim | None = None) -> None:
        CountingStore.commits += 1
        await super().commit(claim)


async def test_text_costs_no_durable_write_per_piece(version):
    """FN-63: writes are batched; only answers and questions wait for them."""
    store = CountingStore()
    agent = plain_agent(store=store)

    @agent.prompt
    async def talk(turn: Turn) -> None:
        for _ in range(200):
            await turn.say("x")

    async with User(agent, version) as user:
        session = await user.new_session()
        CountingStore.commits = 0
        await user.prompt(session, "go")
        assert CountingStore.commits <= 3
        assert user.said(session) == "x" * 200


async def test_a_forked_session_has_the_history_and_goes_its_own_way(store):
    async with User(talker(store), 1) as user:
        session = await user.new_session()
        await user.prompt(session, "one")
        fork = (await user.ask(ForkSession(session_id=session, cwd=CWD))).session_id
        assert fork != session
        await user.prompt(fork, "two")
        await user.ask(LoadSession(session_id=fork, cwd=CWD))
        assert "Done: one" in user.said(fork)
        assert "two" not in user.said(session)


async def test_close_ends_what_runs_and_delete_removes(version, store):
    agent = talker(store)
    async with User(agent, version) as user:
        session = await user.new_session()
        reply = user.start(user.prompt(session, "hang"))
        await user.until("agent: hanging")
        await user.ask(CloseSession(session_id=session))
        assert await reply == "cancelled"
        with pytest.raises(NotFound):
            await user.prompt(session, "x")
        await user.ask(CloseSession(session_id=session))
        if user.agent is not None and user.agent.capabilities.delete:
            await user.ask(DeleteSession(session_id=session))
            await user.ask(DeleteSession(session_id=session))
            assert (await user.ask(ListSessions())).sessions == []


async def test_without_a_store_nothing_is_offered_that_needs_one(version):
    async with User(talker(), version) as user:
        session = await user.new_session()
        await user.prompt(session, "one")
        if version == 2:  # where listing and resuming come with sessions: those that are open
            assert [each.session_id for each in (await user.ask(ListSessions())).sessions] == [session]
            await user.ask(LoadSession(session_id=session, cwd=CWD))
            assert user.said(session) == "Let me see.Done: one"
        else:
            for asked in (ListSessions(), LoadSession(session_id=session, cwd=CWD)):
                with pytest.raises(MethodNotFound):
                    await user.ask(asked)


async def test_a_session_of_another_directory_is_refused(version, store):
    async with User(talker(store), version) as user:
        session = await user.new_session()
        await user.ask(CloseSession(session_id=session))
        with pytest.raises(InvalidParams, match="another directory"):
            await user.ask(ResumeSession(session_id=session, cwd="/elsewhere"))
        with pytest.raises(NotFound):
            await user.ask(ResumeSession(session_id="nobody", cwd=CWD))


@pytest.mark.requirement(
    "MODE-01", "MODE-02", "MODE-08", "MODE-09", "MODE-12", "MODE-13", "MODE-16", "CHECK-29", "AMB-71", "CHECK-08"
)
async def test_modes_and_options_are_chosen_from_both_sides(version):
    agent = talker()
    agent._definition.prompt_handler = None
    chosen: list[Any] = []

    @agent.option("model", choices=[("fast", "Fast"), ("good", "Good")])
    async def choose(session: AgentSession, value: str) -> None:
        chosen.append(value)

    @agent.prompt
    async def switch(turn: Turn) -> None:
        await turn.say(f"mode {turn.options['mode']}, model {turn.options['model']}")
        await turn.set_mode("ask")

    async with User(agent, version) as user:
        session = await user.new_session()
        answer = await user.ask(SetOption(session_id=session, option_id="model", value="good"))
        assert {option.id: option.value for option in answer.options}["model"] == "good"
        if version == 2:
            await user.ask(SetOption(session_id=session, option_id="mode", value="code"))
        else:
            await user.ask(SetMode(session_id=session, mode_id="code"))
            with pytest.raises(InvalidParams):
                await user.ask(SetMode(session_id=session, mode_id="fly"))
        await user.prompt(session, "x")
        assert user.said(session) == "mode code, model good"
        assert {option.id: option.value for option in user.transcripts[session].options}["mode"] == "ask"
        for option_id, value in (("model", "bad"), ("nothing", "x"), ("web", "yes")):
            with pytest.raises(InvalidParams):
                await user.ask(SetOption(session_id=session, option_id=option_id, value=value))
        assert chosen == ["good"]


async def test_what_was_chosen_outlives_the_agent(version, store):
    async with User(talker(store), version) as user:
        session = await user.new_session()
        await user.ask(SetOption(session_id=session, option_id="mode", value="code"))
        await user.ask(SetOption(session_id=session, option_id="web", value=True))
    async with User(talker(store), version) as user:
        opened = await user.ask(ResumeSession(session_id=session, cwd=CWD))
        chosen = {option.id: (option.kind, option.value) for option in opened.options}
        assert (chosen["mode"], chosen["web"]) == (("select", "code"), ("boolean", True))


@pytest.mark.requirement("CMD-01", "CMD-02", "CMD-03", "CMD-04", "CMD-05", "CMD-08", "CMD-09", "CHECK-39")
async def test_a_command_is_announced_after_the_answer_and_called_by_its_name(version):
    async with User(talker(), version) as user:
        session = await user.new_session()
        await user.until("commands review")
        frames = [frame for frame in user.sent() if "result" in frame or "available_commands" in repr(frame)]
        assert "sessionId" in frames[-2]["result"]
        assert await user.prompt(session, "/review all of it") == "end_turn"
        assert user.said(session) == "Reviewed all of it."
        await user.prompt(session, "/unknown thing")
        assert "Done: /unknown thing" in user.said(session)


@pytest.mark.requirement("CMD-08", "CMD-09", "AMB-68")
@pytest.mark.parametrize("blank", ["\n", "\t", "\r\n", "  ", "\n\n", "\u00a0", "\u2003", "\x0b"])
async def test_a_commands_name_ends_at_any_white_space(version, blank):
    async with User(talker(), version) as user:
        session = await user.new_session()
        await user.prompt(session, f"/review{blank}a.py")
        assert user.said(session) == "Reviewed a.py."


@pytest.mark.requirement("AMB-68")
@pytest.mark.parametrize(
    "text", ["/ review", "/", "//review x", "/reviewer x", " /review x", "/review\u200bx", "/\nreview"]
)
async def test_what_only_looks_like_a_command_is_a_prompt(text):
    async with User(talker(), 1) as user:
        session = await user.new_session()
        await user.prompt(session, text)
        assert "Reviewed" not in user.said(session)


async def test_a_session_can_be_prepared_and_refused(version):
    agent = plain_agent()

    @agent.new_session
    async def prepare(session: AgentSession) -> None:
        if session.cwd.name == "forbidden":
            raise InvalidParams("not here", field="cwd")
        session.state["count"] = 0

    @agent.prompt
    async def count(turn: Turn) -> None:
        turn.session.state["count"] += 1
        await turn.say(str(turn.session.state["count"]))

    async with User(agent, version) as user:
        with pytest.raises(InvalidParams, match="not here"):
            await user.new_session("/forbidden")
        session = await user.new_session()
        await user.prompt(session, "x")
        await user.prompt(session, "x")
        assert user.said(session) == "12"


async def test_text_that_follows_text_is_sent_as_one_chunk(version):
    """FN-80: few, whole chunks; what is told between them keeps its place."""
    agent = plain_agent(merge_seconds=5.0)

    @agent.prompt
    async def talk(turn: Turn) -> None:
        for word in ("one ", "two ", "three"):
            await turn.say(word)
        await turn.think("hm")
        await turn.say("four")

    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "x")
        chunks = [change.text for change in user.changes if isinstance(change, MessageChunk)]
        assert chunks == ["one two three", "hm", "four"]
