"""A prompt, the changes it brings, and its end."""

from __future__ import annotations

import asyncio
import gc

import pytest

from accord import (
    Agent,
    Client,
    ConnectionClosed,
    MessageChanged,
    MessageChunk,
    RequestFailed,
    StateChanged,
    Text,
    ToolCallChanged,
    Turn,
    permissions,
)
from accord.client.session import SessionUpdate
from accord.errors import InternalError, InvalidParams, Malformed
from accord.peer import Limits
from accord.session import Image
from accord.session.updates import MessageAppend, MessagePatch, ToolCallPatch, Update
from accord.store import MemoryStore
from accord.testing import ScriptedAgent, program
from tests.client.words import CWD


def speaker(version) -> ScriptedAgent:
    """Echoes the prompt in two pieces, around a tool call."""
    agent = ScriptedAgent(version)

    @agent.on("session/prompt")
    def speak(asked):
        agent.begin(asked)
        for report in (
            MessageAppend(role="agent", id="a", content=Text("You said: ")),
            ToolCallPatch(id="c", title="Think", status="in_progress"),
            ToolCallPatch(id="c", status="completed"),
            MessageAppend(role="agent", id="b", content=Text(asked.params["prompt"][0]["text"])),
        ):
            agent.tell(report, session_id=asked.session_id)
        agent.finish(asked)

    return agent


@pytest.mark.requirement("PROMPT-03", "PROMPT-04", "PROMPT-08", "SESS-02")
async def test_a_prompt_brings_its_changes_in_order_and_a_stop_reason(version):
    async with Client(speaker(version), version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("hello")
        changes = [change async for change in reply]
        assert [change.text for change in changes if isinstance(change, MessageChunk)] == ["You said: ", "hello"]
        assert [c.call.status for c in changes if isinstance(c, ToolCallChanged)] == ["in_progress", "completed"]
        assert reply.stop_reason == "end_turn"
        assert (await reply).text == "You said: hello"


async def test_a_message_of_an_earlier_turn_that_is_told_anew_is_what_was_said_in_this_one():
    agent = ScriptedAgent(2)

    @agent.on("session/prompt")
    def speak(asked):
        agent.begin(asked)
        agent.tell(MessagePatch(role="agent", id="a", content=[Text(asked.params["prompt"][0]["text"])]))
        agent.finish(asked)

    async with Client(agent, version=2) as client:
        session = await client.new_session(CWD)
        assert [(await session.prompt(text)).text for text in ("one", "another")] == ["one", "another"]


async def test_every_version_shows_the_prompt_and_the_states_of_the_turn(version):
    async with Client(speaker(version), version=version) as client:
        session = await client.new_session(CWD)
        changes = [change async for change in session.prompt("hello")]
        shown = [change.message for change in changes if isinstance(change, MessageChanged)]
        assert [(message.role, message.text) for message in shown] == [("user", "hello")]
        assert [c.state.state for c in changes if isinstance(c, StateChanged)] == ["running", "idle"]
        roles = [role for role, _ in session.transcript.messages]
        assert roles == ["user", "agent", "agent"]


async def test_a_whole_turn_with_a_process(notebook, version, tmp_path):
    async with Client(notebook, version=version, on_permission=permissions.allow_all) as client:
        session = await client.new_session(tmp_path)
        reply = await session.prompt("Buy milk")
        assert reply.text == "I wrote down: Buy milk"
        assert reply.stop_reason == "end_turn"
        again = await session.prompt("And bread")
        assert again.text == "I wrote down: And bread"
        assert client.agent.info is not None
        assert client.agent.info.name == "notebook"


async def test_a_command_line_is_a_target(notebook):
    import shlex

    async with Client(shlex.join(notebook.args), version=1) as client:
        assert (await (await client.new_session(CWD)).prompt("x")).text == "As you like."


@pytest.mark.requirement("SESS-01", "PROMPT-19")
async def test_sessions_run_beside_each_other(version):
    async with Client(speaker(version), version=version) as client:
        one, two = await client.new_session("/one"), await client.new_session("/two")
        replies = [one.prompt("1"), two.prompt("2"), one.prompt("3")]
        assert [(await reply).text for reply in replies] == ["You said: 1", "You said: 2", "You said: 3"]
        assert client.sessions == [one, two]


async def test_all_updates_before_the_answer_have_been_delivered_when_the_reply_ends(version):
    """FN-03: when a reply ends, every update before it has been delivered."""
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        asked = await agent.seen("session/prompt")
        agent.begin(asked)
        for index in range(100):
            agent.say(f"{index} ", messageId="a")
        agent.finish(asked)
        agent.say("late", messageId="b")
        texts = [change.text async for change in reply if isinstance(change, MessageChunk)]
        assert texts == [f"{index} " for index in range(100)]
        assert (await reply).text == "".join(texts)


@pytest.mark.requirement("AMB-39")
async def test_what_comes_after_the_answer_is_told_while_idle(version):
    """FN-99: title and usage updates after the prompt's answer are fine."""
    told = asyncio.Queue()
    agent = ScriptedAgent(version)
    async with Client(agent, version=version, on_update=told.put) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        asked = await agent.seen("session/prompt")
        if version == 2:
            agent.update("state_update", state="running")
            asked.answer({"messageId": "u"})
            agent.update("state_update", state="idle", stopReason="end_turn")
        else:
            asked.answer({"stopReason": "end_turn"})
        agent.update("session_info_update", title="Milk")
        assert (await reply).stop_reason == "end_turn"
        update = await told.get()
        assert (update.session, update.update.info.title, update.replayed) == (session, "Milk", False)
        assert session.transcript.info.title == "Milk"


@pytest.mark.parametrize(
    ("states", "reason"),
    [
        (["answer", "running", "idle:end_turn"], "end_turn"),
        (["running", "answer", "idle:max_tokens"], "max_tokens"),
        (["running", "idle:refusal", "answer"], "refusal"),
        (["answer", "idle", "running", "idle:end_turn"], "end_turn"),
        (["answer", "idle:end_turn"], "end_turn"),
        (["idle:cancelled", "answer", "running", "requires_action", "running", "idle"], "end_turn"),
        (["answer", "_pondering", "idle:_tired"], "_tired"),
        (["answer+end_turn"], "end_turn"),
    ],
)
async def test_in_v2_the_idle_that_follows_the_work_ends_the_turn(states, reason):
    """FN-99: running comes before or after the prompt's answer; both are fine."""
    agent = ScriptedAgent(2)
    async with Client(agent, version=2, strict=False) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        asked = await agent.seen("session/prompt")
        for state in states[:-1]:
            tell(agent, asked, state)
        agent.notify("_acme/mark", {})
        agent.say("more", messageId="a")
        tell(agent, asked, states[-1])
        assert (await reply).text == "more"
        assert reply.stop_reason == reason


def tell(agent, asked, state):
    name, _, reason = state.partition(":")
    if name == "answer":
        asked.answer({"messageId": "u"})
    elif name == "answer+end_turn":
        asked.answer({"messageId": "u", "stopReason": "end_turn"})
    else:
        agent.update("state_update", state=name, **({"stopReason": reason} if reason else {}))


@pytest.mark.requirement("PROMPT-21", "PROMPT-22", "PROMPT-23", "PROMPT-24", "PROMPT-25", "PROMPT-26", "PROMPT-11")
@pytest.mark.parametrize("reason", ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"])
async def test_each_stop_reason_is_the_end_of_its_reply(version, reason):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", agent.reply("Yes", stop_reason=reason))
    async with Client(agent, version=version) as client:
        reply = (await client.new_session(CWD)).prompt("go")
        assert ((await reply).stop_reason, reply.stop_reason, reply.error) == (reason, reason, None)


@pytest.mark.bad_frames
@pytest.mark.requirement("PROMPT-26", "PROMPT-11")
@pytest.mark.parametrize("answer", [{}, {"stopReason": "tired"}, {"stopReason": None}])
async def test_a_stop_reason_that_v1_does_not_have_is_an_error_and_the_session_lives(answer):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", answer, {"stopReason": "end_turn"})
    async with Client(agent, version=1, strict=True) as client:
        session = await client.new_session(CWD)
        with pytest.raises(Malformed, match="stopReason"):
            await session.prompt("go")
        assert (await session.prompt("again")).stop_reason == "end_turn"


async def test_an_error_answer_is_raised_and_the_session_lives(version):
    """FN-94: a failed model call comes as an error with an odd code; it is shown as what it is."""
    agent = ScriptedAgent(version)
    agent.on("session/prompt", lambda asked: asked.fail(400, "the model is on strike"))
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        with pytest.raises(RequestFailed, match="strike") as raised:
            await reply
        assert (raised.value.code, reply.stop_reason, reply.error) == (400, "error", raised.value)
        with pytest.raises(RequestFailed, match="strike"):
            [change async for change in session.prompt("again")]


async def test_an_idle_with_an_error_is_raised():
    agent = ScriptedAgent(2)
    agent.on("session/prompt", {"messageId": "u"})
    async with Client(agent, version=2) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        await agent.seen("session/prompt")
        agent.update("state_update", state="running")
        agent.update("state_update", state="idle", stopReason="error", error={"code": -32000, "message": "Log in"})
        with pytest.raises(RequestFailed, match="Log in"):
            await reply
        assert reply.stop_reason == "error"


@pytest.mark.bad_frames
async def test_an_answer_that_is_none_ends_the_turn_with_an_error(version):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", [])
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        with pytest.raises(Malformed):
            await session.prompt("go")


async def test_an_agent_that_dies_ends_every_wait_with_the_cause():
    """FN-10: every pending request fails at once with the cause: exit code and the tail of stderr."""
    agent = ScriptedAgent(1)

    @agent.on("session/prompt")
    def die(asked):
        agent.say("Oh")
        agent.die(1, "out of coffee")

    async with program(agent) as command, Client(command) as client:
        session = await client.new_session(CWD)
        reply, held = session.prompt("go"), session.prompt("and then")
        with pytest.raises(ConnectionClosed, match="out of coffee") as raised:
            await reply
        assert raised.value.exit_code == 1
        with pytest.raises(ConnectionClosed, match="out of coffee"):
            await held
        with pytest.raises(ConnectionClosed):
            session.prompt("anybody?")
        assert next(iter(session.transcript.messages.values())).text == "go"
        assert (await client.wait_closed()).exit_code == 1


@pytest.mark.requirement("PROMPT-05")
async def test_content_that_the_agent_does_not_take_is_not_sent(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        with pytest.raises(InvalidParams, match="image"):
            session.prompt([Text("look"), Image(data="", mime_type="image/png")])
        assert agent.calls("session/prompt") == []


@pytest.mark.requirement("PROMPT-02", "AMB-36")
async def test_a_second_prompt_is_held_until_the_first_is_over(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        first, second = session.prompt("1"), session.prompt("2")
        asked = await agent.seen("session/prompt")
        agent.say("one", messageId="a")
        assert len(agent.calls("session/prompt")) == 1
        agent.finish(asked)
        assert (await first).text == "one"
        asked = await agent.seen("session/prompt", 2)
        agent.say("two", messageId="b")
        agent.finish(asked)
        assert (await second).text == "two"


@pytest.mark.parametrize("version", [1, "2-draft"])
@pytest.mark.parametrize(
    "refresh",
    [
        {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress"},
        {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "shell", "status": "in_progress"},
        {"sessionUpdate": "plan", "entries": [{"content": "Run it", "priority": "high", "status": "in_progress"}]},
    ],
    ids=["tool_call_update", "tool_call", "plan"],
)
async def test_a_refresh_in_the_middle_of_a_message_does_not_split_it(version, refresh):
    agent = ScriptedAgent(version)

    @agent.on("session/prompt")
    def run_it(asked):
        agent.say("Let me look.")
        agent.update("tool_call", toolCallId="c", title="shell", kind="execute", status="pending")
        agent.update("plan", entries=[{"content": "Run it", "priority": "high", "status": "pending"}])
        agent.say("execute ")
        agent.update(refresh)
        agent.say("now.")
        asked.answer({"stopReason": "end_turn"})

    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        pieces = [change for change in [change async for change in reply] if isinstance(change, MessageChunk)]
        assert len({change.message.id for change in pieces}) == 2
        said = [message.text for (role, _), message in session.transcript.messages.items() if role == "agent"]
        assert said == ["Let me look.", "execute now."]
        assert (await reply).text == "Let me look.execute now."


async def test_an_agent_of_v1_that_repeats_the_prompt_does_not_double_it():
    agent = ScriptedAgent(1)
    async with Client(agent, version=1) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("Buy milk")
        asked = await agent.seen("session/prompt")
        for piece in ("Buy ", "milk"):
            agent.update("user_message_chunk", content={"type": "text", "text": piece})
        agent.say("Yes")
        agent.update("user_message_chunk", content={"type": "text", "text": "Buy milk"})
        agent.finish(asked)
        assert (await reply).text == "Yes"
        assert [message.text for message in session.transcript.messages.values()] == ["Buy milk", "Yes", "Buy milk"]


async def test_an_agent_of_the_draft_that_does_not_echo_has_the_prompt_shown_before_its_words():
    agent = ScriptedAgent("2-draft")
    async with Client(agent) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("Buy milk")
        asked = await agent.seen("session/prompt")
        agent.say("Yes")
        agent.finish(asked)
        assert (await reply).text == "Yes"
        assert [message.text for message in session.transcript.messages.values()] == ["Buy milk", "Yes"]


async def test_a_reply_that_nobody_holds_does_not_slow_the_connection(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version, limits=Limits(queue_bytes=10_000)) as client:
        session = await client.new_session(CWD)
        session.prompt("forget it")
        asked = await agent.seen("session/prompt")
        for _ in range(100):
            agent.say("x" * 1000, messageId="a")
        agent.finish(asked)
        reply = session.prompt("listen")
        asked = await agent.seen("session/prompt", 2)
        agent.say("Yes", messageId="b")
        agent.finish(asked)
        assert (await reply).text == "Yes"


async def test_an_iteration_may_stop_and_text_reads_on(version):
    async with Client(speaker(version), version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("hello")
        async for change in reply:
            if isinstance(change, MessageChunk):
                break
        assert (await reply).text == "You said: hello"


async def test_a_held_prompt_is_sent_even_if_nobody_reads_the_reply_before_it(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version, limits=Limits(queue_bytes=10_000)) as client:
        session = await client.new_session(CWD)
        unread, held = session.prompt("1"), session.prompt("2")
        asked = await agent.seen("session/prompt")
        for _ in range(100):
            agent.say("x" * 1000, messageId="a")
            await asyncio.sleep(0)
        agent.finish(asked)
        asked = await agent.seen("session/prompt", 2)
        agent.say("Yes", messageId="b")
        agent.finish(asked)
        assert (await held).text == "Yes"
        assert (await unread).text == "x" * 100_000


async def test_a_slow_reader_misses_nothing(version):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", agent.reply(*(f"{index:1000}" for index in range(300))))
    async with Client(agent, version=version, limits=Limits(queue_bytes=10_000)) as client:
        reply = (await client.new_session(CWD)).prompt("go")
        texts = []
        async for change in reply:
            await asyncio.sleep(0)
            if isinstance(change, MessageChunk):
                texts.append(change.text)
        assert "".join(texts) == "".join(f"{index:1000}" for index in range(300)) == (await reply).text


async def test_closing_the_client_ends_a_reply_that_is_under_way(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        reply = (await client.new_session(CWD)).prompt("go")
        await agent.seen("session/prompt")
    with pytest.raises(ConnectionClosed, match="closed by this side"):
        await reply
    assert reply.is_over


def texts_of(updates: list[Update]) -> str:
    return "".join(update.text for update in updates if isinstance(update, MessageChunk))


@pytest.fixture
def counting(version) -> ScriptedAgent:
    agent = ScriptedAgent(version)
    agent.on("session/prompt", agent.reply("one ", "two ", "three"))
    return agent


async def test_a_prompt_is_sent_whether_or_not_anybody_reads_its_reply(counting, version):
    async with Client(counting, version=version) as client:
        session = await client.new_session(CWD)
        session.prompt("go")
        await counting.seen("session/prompt")
        await session.prompt("again")
        texts = [message.text for message in session.transcript.messages.values() if message.role == "agent"]
        assert texts == ["one two three", "one two three"]


async def test_after_a_break_a_second_loop_goes_on_with_the_next_update(counting, version):
    async with Client(counting, version=version) as client:
        reply = (await client.new_session(CWD)).prompt("go")
        updates: list[Update] = []
        async for update in reply:
            updates.append(update)
            if isinstance(update, MessageChunk):
                break
        assert reply.text.startswith("one ")
        updates += [update async for update in reply]
        assert texts_of(updates) == reply.text == "one two three"
        with pytest.raises(RuntimeError, match="read to its end"):
            aiter(reply)


async def test_after_a_break_a_reply_can_be_awaited_and_awaited_again(counting, version):
    async with Client(counting, version=version) as client:
        reply = (await client.new_session(CWD)).prompt("go")
        async for _ in reply:
            break
        assert (await reply) is reply
        assert (await reply).text == "one two three"
        with pytest.raises(RuntimeError, match="read to its end"):
            aiter(reply)


async def test_a_reply_can_be_awaited_while_a_loop_reads_it_which_misses_nothing(counting, version):
    async with Client(counting, version=version) as client:
        reply = (await client.new_session(CWD)).prompt("go")
        updates: list[Update] = []
        async for update in reply:
            assert (await reply).stop_reason == "end_turn"
            updates.append(update)
        assert texts_of(updates) == "one two three"


async def test_a_failed_turn_raises_each_time_it_is_awaited(version):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", InternalError("broken"))
    async with Client(agent, version=version) as client:
        reply = (await client.new_session(CWD)).prompt("go")
        for _ in range(2):
            with pytest.raises(InternalError, match="broken"):
                await reply


async def test_what_came_before_a_prompt_can_be_waited_for(version):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", agent.reply("ok"))
    order: list[str] = []
    welcomed = asyncio.Event()

    async def slowly(update: SessionUpdate) -> None:
        welcomed.set()
        await asyncio.sleep(0)
        order.append("before")

    async with Client(agent, version=version, on_update=slowly) as client:
        session = await client.new_session(CWD)
        agent.say("Welcome")
        await welcomed.wait()
        reply = session.prompt("Hi")
        await session.wait_delivered()
        order.append("answer")
        assert (await reply).text == "ok"
    assert order == ["before", "answer"]
    await session.wait_delivered()


def lost_errors(caplog) -> list[str]:
    gc.collect()
    return [record.getMessage() for record in caplog.records if "never retrieved" in record.getMessage()]


@pytest.mark.parametrize("is_kept", [True, False])
async def test_an_error_that_nobody_retrieves_is_logged_once(version, caplog, is_kept):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", InternalError("broken"))
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        kept = [session.prompt("go")]
        if not is_kept:
            kept.clear()
        while session.is_busy:  # noqa: ASYNC110  # nobody is told when it ends
            await asyncio.sleep(0)
        if is_kept:
            assert lost_errors(caplog) == []
            kept.clear()
        await asyncio.sleep(0)
        lost_errors(caplog)
        await asyncio.sleep(0)
    (message,) = lost_errors(caplog)
    assert message.startswith("the error of a reply was never retrieved: ")


@pytest.mark.parametrize("way", ["await", "async for", "error"])
async def test_an_error_that_somebody_retrieves_is_not_logged(version, caplog, way):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", InternalError("broken"))
    async with Client(agent, version=version) as client:
        reply = (await client.new_session(CWD)).prompt("go")
        if way == "await":
            with pytest.raises(InternalError):
                await reply
        elif way == "async for":
            with pytest.raises(InternalError):
                [update async for update in reply]
        else:
            while not reply.is_over:  # noqa: ASYNC110  # nobody is told when it ends
                await asyncio.sleep(0)
            assert isinstance(reply.error, InternalError)
        del reply
        gc.collect()
        await asyncio.sleep(0)
    assert lost_errors(caplog) == []


@pytest.mark.parametrize("way", ["session", "client", "resume"])
async def test_prompts_that_end_because_this_side_closes_are_not_logged(version, caplog, way, tmp_path):
    agent = Agent("slow", store=MemoryStore())
    begun = asyncio.Event()

    @agent.prompt
    async def wait(turn: Turn) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with Client(agent, version=version) as client:
        session = await client.new_session(tmp_path)
        for _ in range(2):
            session.prompt("go")
        await begun.wait()
        if way == "session":
            await session.close()
        elif way == "resume":
            await client.resume_session(session.id, tmp_path)
    await asyncio.sleep(0)
    assert lost_errors(caplog) == []


async def test_an_agent_that_dies_during_a_prompt_that_nobody_reads_is_logged(version, caplog):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        (await client.new_session(CWD)).prompt("go")
        await agent.next("session/prompt")
        agent.die(1, "out of memory")
        await client.wait_closed()
        await asyncio.sleep(0)
        (message,) = lost_errors(caplog)
    assert "out of memory" in message
