"""Opening, taking up, listing, changing and closing sessions."""

from __future__ import annotations

import asyncio
import os
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from accord import Agent, Client, InvalidParams, MethodNotFound, NotFound, Resource, Turn
from accord.agent import AgentConnection
from accord.client.deadlines import Deadlines
from accord.errors import DeadlineExceeded
from accord.session.entities import Notice
from accord.session.mcp_servers import HttpServer, SseServer, StdioServer
from accord.session.updates import MessageChunk, NoticePatch, NoticeShown
from accord.store import MemoryStore
from accord.testing import ScriptedAgent
from tests.client.test_foreground import arrived
from tests.client.words import CWD
from tests.virtual_clock import run

COMMAND = {"name": "review", "description": "Look again"}


def commands(version):
    return [{**COMMAND, "type": "command"}] if version == 2 else [COMMAND]


@pytest.fixture
def greeter() -> Agent:
    """Says Hi, and keeps its sessions."""
    agent = Agent("greeter", store=MemoryStore())

    @agent.prompt
    async def greet(turn: Turn) -> None:
        await turn.say("Hi")

    return agent


@pytest.mark.requirement("SESS-03", "SESS-04", "SESS-18", "SESS-19", "SESS-22", "CHECK-12")
async def test_a_new_session_has_an_absolute_directory_and_its_servers():
    """FN-101: `session/new` without `mcpServers` is refused in v1, so it is always sent."""
    agent = ScriptedAgent(1)
    here = os.path.join(os.getcwd(), "here")  # noqa: PTH109, PTH118
    server = StdioServer(name="files", command="/bin/files", args=["-x"], env={"A": "b"})
    async with Client(agent, version=1) as client:
        await client.new_session("here")
        await client.new_session("C:\\work", servers=[server])
        first, second = (message.params for message in agent.calls("session/new"))
        assert first == {"cwd": here, "mcpServers": []}
        env = [{"name": "A", "value": "b"}]
        named = {"name": "files", "command": "/bin/files", "args": ["-x"], "env": env}
        assert second == {"cwd": "C:\\work", "mcpServers": [named]}


@pytest.mark.parametrize("before", [True, False], ids=["before the answer", "after it"])
async def test_updates_of_a_session_that_is_just_opening_are_held_for_it(version, before):
    """FN-01: updates for a session that the client does not know yet are held and delivered once it does."""
    agent = ScriptedAgent(version)

    def open_session(asked):
        if not before:
            asked.answer({"sessionId": "session-1"})
        agent.update("available_commands_update", session_id="session-1", availableCommands=commands(version))
        if before:
            asked.answer({"sessionId": "session-1"})

    agent.on("session/new", open_session)
    told = asyncio.Queue()
    async with Client(agent, version=version, on_update=told.put) as client:
        session = await client.new_session(CWD)
        assert (await told.get()).session is session
        assert [command.name for command in session.commands] == ["review"]


async def test_a_permission_asked_right_after_the_answer_finds_its_session():
    agent = ScriptedAgent(1)
    questions = []

    def open_session(asked):
        asked.answer({"sessionId": "s"})
        params = {"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": []}
        questions.append(agent.ask("session/request_permission", params))

    agent.on("session/new", open_session)
    async with Client(agent, version=1) as client:
        await client.new_session(CWD)
        assert (await questions[0]).result == {"outcome": {"outcome": "cancelled"}}


async def test_updates_of_sessions_that_are_not_open_are_dropped(version, caplog):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        agent.say("who?", session_id="nobody", messageId="m")
        session = await client.new_session(CWD)
        assert [each.id for each in client.sessions] == [session.id]
        agent.say("who?", session_id="somebody", messageId="m")
        await agent.ask("_acme/ping", {})
    assert "never opened: 'nobody'" in caplog.text
    assert "not open here: 'somebody'" in caplog.text


async def test_no_more_than_a_bound_is_held_for_a_session_to_come(version, monkeypatch):
    monkeypatch.setattr("accord.client.session_registry.HELD_BYTES", 1000)
    agent = ScriptedAgent(version)

    def open_session(asked):
        for _ in range(20):
            agent.say("x" * 100, session_id="session-1", messageId="m")
        asked.answer({"sessionId": "session-1"})

    agent.on("session/new", open_session)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        assert 100 <= len(session.transcript.messages["agent", "m"].text) < 1000


@pytest.mark.requirement("SESS-11", "SESS-12", "SESS-13", "SESS-15")
async def test_what_a_load_tells_is_history_and_marked_so(greeter, version):
    """FN-62: a replay window marks replayed updates."""
    async with Client(greeter, version=version) as client:
        session = await client.new_session(CWD)
        await session.prompt("hello")
    told = []
    live = asyncio.Event()

    def hear(update):
        told.append(update)
        if not update.replayed:
            live.set()

    opened = []
    greeter.new_session(opened.append)
    async with Client(greeter, version=version, on_update=hear) as client:
        loaded = await client.load_session(session.id, CWD)
        assert [message.text for message in loaded.transcript.messages.values()] == ["hello", "Hi"]
        await loaded.prompt("more")
        await opened[0].set_title("Greetings")
        await live.wait()
    assert [update.replayed for update in told] == [True] * (len(told) - 1) + [False]
    assert len(told) > 1


async def test_what_follows_the_answer_to_a_load_is_not_history():
    """FN-62: a replay window marks replayed updates."""
    agent = ScriptedAgent(1)

    def load(asked):
        agent.say("old")
        asked.answer({})
        agent.say("new")

    agent.on("session/load", load)
    told = []
    async with Client(agent, version=1, on_update=told.append) as client:
        session = await client.load_session("s", CWD)
        assert session._open.is_replaying is False
    assert [(update.update.text, update.replayed) for update in told] == [("old", True), ("new", False)]


@pytest.mark.requirement("SESS-09", "SESS-10", "AMB-70")
async def test_what_the_agent_did_not_offer_is_not_asked_for():
    agent = ScriptedAgent(1, agentCapabilities={})
    async with Client(agent, version=1) as client:
        session = await client.new_session(CWD)
        for refused in (
            client.load_session("s", CWD),
            client.resume_session("s", CWD),
            client.fork_session("s", CWD),
            client.delete_session("s"),
            client.logout(),
            anext(client.list_sessions()),
            session.set_mode("fast"),
        ):
            with pytest.raises(MethodNotFound):
                await refused
        assert [message["method"] for message in agent.received] == ["initialize", "session/new"]


@pytest.mark.requirement("SESS-34", "SESS-39", "AMB-43")
async def test_servers_and_directories_that_the_agent_does_not_take_are_not_sent():
    agent = ScriptedAgent(1, agentCapabilities={"mcpCapabilities": {"sse": True}})
    async with Client(agent, version=1) as client:
        with pytest.raises(InvalidParams, match="http"):
            await client.new_session(CWD, [HttpServer(name="a", url="http://a")])
        with pytest.raises(InvalidParams, match="directories"):
            await client.new_session(CWD, additional_directories=["/b"])
        await client.new_session(CWD, [SseServer(name="a", url="http://a")])
        assert agent.calls("session/new")[0].params["mcpServers"][0]["type"] == "sse"


def test_a_load_that_fails_for_a_while_is_tried_again(version):
    """FN-96: `session/load` fails for a while after `session/new`; it is retried with back-off, but not for ever."""
    method = "session/resume" if version == 2 else "session/load"
    attempts = []

    async def main():
        agent = ScriptedAgent(version)
        loop = asyncio.get_running_loop()

        def load(asked):
            attempts.append(loop.time())
            agent.say("old", messageId="m")
            if len(attempts) < 4:
                asked.fail(-32603, "not yet")
                return None
            return {}

        agent.on(method, load)
        async with Client(agent, version=version) as client:
            session = await client.load_session("s", CWD)
            assert [message.text for message in session.transcript.messages.values()] == ["old"]
            assert [later - earlier for earlier, later in pairwise(attempts)] == pytest.approx([0.05, 0.1, 0.2])
            agent.on(method, lambda asked: asked.fail(-32002, "Session not found"))
            began = loop.time()
            with pytest.raises(NotFound):
                await client.load_session("s", CWD, patience=3)
            assert 1 < loop.time() - began <= 3
            assert client.sessions == [session]

    run(main())


async def test_a_session_that_an_agent_refuses_to_load_is_not_asked_for_twice():
    agent = ScriptedAgent(1)
    agent.on("session/load", lambda asked: asked.fail(-32602, "no"))
    async with Client(agent, version=1) as client:
        with pytest.raises(InvalidParams):
            await client.load_session("s", CWD)
        assert len(agent.calls("session/load")) == 1
        assert client.sessions == []


async def test_resuming_takes_up_a_session_without_its_history(greeter, version):
    async with Client(greeter, version=version) as client:
        session = await client.new_session(CWD)
        await session.prompt("hello")
        resumed = await client.resume_session(session.id, CWD)
        assert resumed.transcript.messages == {}
        assert (await resumed.prompt("more")).text == "Hi"
        assert client.sessions == [resumed]


async def test_what_an_agent_tells_with_a_resume_is_history(version):
    """FN-60, FN-62: some agents replay with a resume, too; the replay window marks it."""
    agent = ScriptedAgent(version)
    told = []

    def resume(asked):
        block = {"type": "text", "text": "old question"}
        agent.update("user_message_chunk", messageId="u", content=block)
        agent.say("old answer", messageId="a")
        agent.tell(NoticePatch(notice=Notice(severity="warning", title="No servers")))
        asked.answer({})
        agent.say("new", messageId="b")

    agent.on("session/resume", resume)
    async with Client(agent, version=version, on_update=told.append) as client:
        session = await client.resume_session("s", CWD)
        assert not session._open.is_replaying
        assert [message.text for message in session.transcript.messages.values()][:2] == ["old question", "old answer"]
        await arrived(agent, client)
    said = {update.update.text: update.replayed for update in told if isinstance(update.update, MessageChunk)}
    assert said == {"old question": True, "old answer": True, "new": False}
    assert not any(update.replayed for update in told if isinstance(update.update, NoticeShown))


async def test_all_pages_of_the_list_are_read(version):
    agent = ScriptedAgent(version)
    pages = {None: ("a", ""), "": ("b", "2"), "2": ("c", None)}

    def page(asked):
        id, cursor = pages[asked.params.get("cursor")]
        more = {} if cursor is None else {"nextCursor": cursor}
        return {"sessions": [{"sessionId": id, "cwd": CWD}], **more}

    agent.on("session/list", page)
    async with Client(agent, version=version) as client:
        assert [summary.session_id async for summary in client.list_sessions(CWD)] == ["a", "b", "c"]
        assert {message.params["cwd"] for message in agent.calls("session/list")} == {CWD}


async def test_an_agent_that_repeats_its_cursors_does_not_keep_us_for_ever(version):
    agent = ScriptedAgent(version)
    following = {None: "a", "a": "b", "b": "a"}
    agent.on("session/list", lambda asked: {"sessions": [], "nextCursor": following[asked.params.get("cursor")]})
    async with Client(agent, version=version) as client:
        assert [summary async for summary in client.list_sessions()] == []
        assert len(agent.calls("session/list")) == 3


async def test_a_fork_is_a_session_of_its_own():
    agent = ScriptedAgent(1)
    agent.on("session/fork", {"sessionId": "t"})
    async with Client(agent, version=1) as client:
        session = await client.fork_session("s", CWD)
        assert (session.id, session.cwd) == ("t", CWD)
        assert agent.calls("session/fork")[0].params["sessionId"] == "s"


async def test_deleting_what_is_gone_is_a_success():
    agent = ScriptedAgent(1)
    agent.on("session/delete", lambda asked: asked.fail(-32002, "Session not found"))
    async with Client(agent, version=1) as client:
        await client.delete_session("s")


async def test_closing_frees_the_session_on_both_sides(version):
    agent = ScriptedAgent(version)
    agent.on("session/close", lambda asked: asked.fail(-32002, "Session not found"))
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        await session.close()
        await session.close()
        assert client.sessions == []
        assert len(agent.calls("session/close")) == 1
        with pytest.raises(NotFound):
            session.prompt("anybody?")


async def test_closing_a_session_ends_its_running_turn(version):
    agent = ScriptedAgent(version)
    asked = asyncio.get_running_loop().create_future()
    agent.on(
        "session/prompt", lambda message: asked.set_result(message) or ({"messageId": "u"} if version == 2 else None)
    )

    def close(message):
        if version == 2:
            agent.update("state_update", state="idle", stopReason="cancelled")
        else:
            asked.result().answer({"stopReason": "cancelled"})
        return {}

    agent.on("session/close", close)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply, held = session.prompt("go"), session.prompt("then")
        await asked
        await session.close()
        assert (await reply).stop_reason == "cancelled"
        assert (await held).stop_reason == "cancelled"


@pytest.mark.requirement("MODE-09", "MODE-10", "MODE-11", "MODE-13")
async def test_modes_and_options_can_be_set_in_every_version(version):
    agent = Agent("chooser")
    agent.option("mode", choices=["quick", "thorough"])
    agent.option("web", default=False)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        mode = next(option for option in session.options if option.category == "mode")
        other = next(choice.value for choice in mode.choices if choice.value != mode.value)
        await session.set_mode(other)
        assert next(option for option in session.options if option.category == "mode").value == other
        if session.modes is not None:
            assert session.modes.current == other
        await session.set_option("web", True)
        assert next(option for option in session.options if option.id == "web").value is True


@pytest.mark.requirement("MODE-11")
@pytest.mark.parametrize(
    ("choose", "message"),
    [
        (lambda session: session.set_mode("fast"), "no (mode|choice) 'fast'"),
        (
            lambda session: session.set_option("mode", "fast"),
            "the option 'mode' has no choice 'fast': it has quick, thorough",
        ),
        (lambda session: session.set_option("size", "s"), "the session has no option 'size': it has mode, web"),
        (lambda session: session.set_option("web", "yes"), "the option 'web' is a switch: expected True or False"),
    ],
)
async def test_what_the_agent_does_not_list_is_not_asked_for(version, choose, message):
    agent = Agent("chooser")
    agent.option("mode", choices=["quick", "thorough"])
    agent.option("web", default=False)
    frames: list[bytes] = []
    async with Client(agent, version=version, on_frame=lambda direction, frame: frames.append(frame)) as client:
        session = await client.new_session(CWD)
        before = len(frames)
        with pytest.raises(InvalidParams, match=message):
            await choose(session)
        assert len(frames) == before


async def test_a_malformed_block_is_not_sent(version):
    agent = Agent("taker", embedded_context=True)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        with pytest.raises(ValueError, match="must have a text or a blob"):
            session.prompt(Resource(uri="file:///a"))


async def test_a_mode_that_was_set_is_in_force_even_if_the_agent_does_not_say_so():
    agent = ScriptedAgent(1)
    modes = [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]
    agent.on("session/new", {"sessionId": "session-1", "modes": {"currentModeId": "ask", "availableModes": modes}})
    agent.on("session/set_mode", {})
    async with Client(agent, version=1) as client:
        session = await client.new_session(CWD)
        await session.set_mode("code")
        assert session.modes is not None
        assert session.modes.current == "code"
        assert agent.calls("session/set_mode")[0].params == {"sessionId": "session-1", "modeId": "code"}


async def test_a_session_can_have_its_own_listener(version):
    agent = ScriptedAgent(version)
    own, others = asyncio.Queue(), asyncio.Queue()
    async with Client(agent, version=version, on_update=others.put) as client:
        session = await client.new_session(CWD)
        session.on_update = own.put
        agent.update("session_info_update", title="Milk")
        assert (await own.get()).update.info.title == "Milk"
        assert others.empty()


async def test_a_listener_that_fails_hears_the_next_update_all_the_same(version, caplog):
    agent = ScriptedAgent(version)
    heard = asyncio.Queue()

    def hear(update):
        heard.put_nowait(update.update.info.title)
        raise RuntimeError("deaf")

    async with Client(agent, version=version, on_update=hear) as client:
        await client.new_session(CWD)
        agent.update("session_info_update", title="1")
        agent.update("session_info_update", title="2")
        assert [await heard.get(), await heard.get()] == ["1", "2"]
    assert "deaf" in caplog.text


@pytest.mark.bad_frames
async def test_an_agent_that_echoes_any_version_is_read_by_its_shape():
    """FN-90: six agents echo any offered version, 999 too, and speak v1: the shape of the answer decides."""
    agent = ScriptedAgent(1, protocolVersion=999)
    agent.on("session/prompt", {"stopReason": "end_turn"})
    async with Client(agent) as client:
        assert agent.calls("initialize")[0].params["protocolVersion"] == 2
        assert client.agent.version == 999 or client.dialect == "v1"
        session = await client.new_session(CWD)
        assert (await session.prompt("go")).stop_reason == "end_turn"
        assert "mcpServers" in agent.calls("session/new")[0].params


async def test_requests_of_the_agent_before_the_handshake_are_refused():
    agent = ScriptedAgent(1)
    questions = []

    def shake(asked):
        questions.append(agent.ask("fs/read_text_file", {"sessionId": "s", "path": "/a"}))
        agent.say("early", session_id="s")
        return {"protocolVersion": 1, "agentCapabilities": {}}

    agent.on("initialize", shake)
    async with Client(agent, version=1):
        assert (await questions[0]).error["code"] == -32600


def test_an_agent_that_never_answers_is_given_up():
    """FN-17: deadlines per request."""

    async def main():
        silent = ScriptedAgent(1)
        silent.on("initialize", lambda asked: None)
        with pytest.raises(DeadlineExceeded, match="initialize"):
            async with Client(silent):
                pass
        assert silent.closed is not None
        agent = ScriptedAgent(1)
        agent.on("session/new", lambda asked: None)
        async with Client(agent, deadlines=Deadlines(request=5)) as client:
            with pytest.raises(DeadlineExceeded, match="session/new"):
                await client.new_session(CWD)

    run(main())


async def test_closing_without_the_capability_cancels_and_waits_for_the_end():
    agent = ScriptedAgent(1, agentCapabilities={})
    agent.on("session/cancel", lambda told: agent.calls("session/prompt")[0].answer({"stopReason": "cancelled"}))
    async with Client(agent, version=1) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        await agent.seen("session/prompt")
        await session.close()
        assert (await reply).stop_reason == "cancelled"
        assert client.sessions == []


@pytest.mark.parametrize(("needs", "waits"), [(4, 4), (1000, 5)], ids=["ends in time", "does not"])
def test_a_listener_has_a_grace_to_end_in_when_the_client_closes(needs, waits):
    heard = []

    async def hear(update):
        heard.append("begun")
        await asyncio.sleep(needs)
        heard.append("done")

    async def main():
        agent, loop = ScriptedAgent(1), asyncio.get_running_loop()
        async with Client(agent, version=1, on_update=hear) as client:
            await client.new_session(CWD)
            agent.update("session_info_update", title="Milk")
            await asyncio.sleep(0.5)
            began = loop.time()
            await client.aclose()
            assert loop.time() - began == pytest.approx(waits, abs=1)
        assert heard == ["begun", "done"][: 2 if needs == waits else 1]

    run(main())


@pytest.mark.requirement("EXT-09", "EXT-12")
@pytest.mark.parametrize("version", [1, 2, "2-draft", "auto"])
async def test_custom_capabilities_of_a_client_reach_the_agent(version: Any):
    agent = Agent("looks")
    seen: list[Any] = []

    @agent.method("_look")
    def look(params: Any, client: AgentConnection) -> None:
        seen.append(client.capabilities.meta)

    frames: list[Any] = []
    meta = {"acme.dev": {"pictures": True}}
    note = lambda direction, frame: frames.append(msgspec.json.decode(frame))  # noqa: E731
    async with Client(agent, version=version, meta=meta, on_frame=note) as client:
        await client.request("_look", {})
    assert [{"acme.dev": told["acme.dev"]} for told in seen] == [meta]
    params = frames[0]["params"]
    groups = {1: ["clientCapabilities"], 2: ["capabilities"], "2-draft": ["clientCapabilities"]}
    for group in groups.get(version, ["clientCapabilities", "capabilities"]):
        terminals = {"terminal_output": True} if group == "clientCapabilities" else {}
        assert params[group]["_meta"] == {**meta, **terminals}
    assert "_meta" not in params
