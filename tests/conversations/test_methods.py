"""Which methods each side answers, and what every message about a session carries: raw frames against our two sides."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accord import Agent, Client, Turn, permissions
from accord.client.workspace.workspace import Workspace
from accord.store import MemoryStore
from accord.testing import ReceivedFrame, ScriptedAgent, ScriptedClient
from tests.conversations.client_side import EVERYTHING

CWD = "/work/project"
FILES = ("fs/read_text_file", "fs/write_text_file")
TERMINALS = tuple(f"terminal/{name}" for name in ("create", "output", "wait_for_exit", "kill", "release"))
PERMISSION = "session/request_permission"
OF_THE_CLIENT = (PERMISSION, *FILES, *TERMINALS)
OF_THE_AGENT = ("initialize", "session/new", "session/load", "session/prompt", "session/set_mode")
OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]


def echo(**options: Any) -> Agent:
    agent = Agent("echo", strict=True, merge_seconds=0.0, **options)

    @agent.prompt
    async def say(turn: Turn) -> None:
        await turn.say(turn.text)

    return agent


def code(answer: ReceivedFrame) -> int | None:
    return None if answer.error is None else answer.error["code"]


def asks_for(method: str, path: str, version: Any, session_id: str = "session-1") -> dict[str, Any]:
    """Params of a method of the client's that are valid in themselves; the terminal is none that there is."""
    about: dict[str, Any] = {"toolCall": {"toolCallId": "c", "title": "May I?"}}
    if version == 2:
        about = {"title": "May I?", "subject": {"type": "tool_call", **about}}
    members: dict[str, Any] = {
        "session/request_permission": {**about, "options": OPTIONS},
        "fs/read_text_file": {"path": path},
        "fs/write_text_file": {"path": path, "content": "x"},
        "terminal/create": {"command": sys.executable, "args": ["-c", ""]},
    }
    return {"sessionId": session_id, **members.get(method, {"terminalId": "none"})}


@pytest.mark.requirement("RPC-11", "AUTH-01", "AUTH-10", "AUTH-06")
async def test_every_agent_answers_the_baseline_methods(version):
    agent = echo()
    agent.login("key", name="Key")(lambda client: None)
    async with ScriptedClient(agent, version) as client:
        assert (await client.initialize()).result["protocolVersion"] == (1 if version == 1 else 2)
        login = await client.ask("auth/login" if version == 2 else "authenticate", {"methodId": "key"})
        assert login.result == {}
        opened = await client.ask("session/new", {"cwd": CWD, "mcpServers": []})
        client.session_id = opened.result["sessionId"]
        assert await client.stop_reason(client.prompt("hi")) == "end_turn"
        assert client.said() == "hi"


@pytest.mark.requirement("RPC-12", "INIT-25", "RPC-33")
@pytest.mark.parametrize("kept", [True, False], ids=["with a store", "without"])
async def test_an_agent_answers_an_optional_method_exactly_when_it_offered_it(version, kept):
    async with ScriptedClient(echo(store=MemoryStore() if kept else None), version) as client:
        said = (await client.initialize()).result
        session = {"sessionId": await client.new_session(CWD)}
        place = {"cwd": CWD, "mcpServers": []}
        if version == 2:  # where list and resume come with sessions
            can = said["capabilities"]["session"]
            told = {"session/list": True, "session/resume": True}
        else:
            can = said["agentCapabilities"].get("sessionCapabilities", {})
            told = {"session/list": "list" in can, "session/resume": "resume" in can}
            told["session/load"] = said["agentCapabilities"].get("loadSession", False)
            assert told["session/load"] is kept
        told |= {"session/fork": "fork" in can, "session/delete": "delete" in can}
        assert told["session/delete"] is kept
        for method, is_told in told.items():  # the last one takes the session away
            params = {"session/list": {}, "session/delete": session}.get(method, {**session, **place})
            answer = await client.ask(method, params)
            assert code(answer) == (None if is_told else -32601), method


@pytest.mark.requirement("RPC-12")
async def test_a_mode_is_set_where_modes_were_returned_and_refused_elsewhere():
    for modes in ((), ("ask", "code")):
        agent = echo()
        if modes:
            agent.option("mode", choices=modes)
        async with ScriptedClient(agent, 1) as client:
            await client.initialize()
            opened = await client.ask("session/new", {"cwd": CWD, "mcpServers": []})
            assert ("modes" in opened.result) is bool(modes)
            params = {"sessionId": opened.result["sessionId"], "modeId": "code"}
            answer = await client.ask("session/set_mode", params)
            assert (answer.error is None) is bool(modes)


@pytest.mark.requirement("FS-14", "TERM-32", "AMB-01", "AMB-05")
async def test_a_client_answers_what_has_no_result_with_an_empty_object(tmp_path):
    agent = ScriptedAgent(1)
    async with Client(agent, version=1, workspace=tmp_path) as client:
        session = {"sessionId": (await client.new_session(tmp_path)).id}
        write = await agent.ask(FILES[1], {**session, "path": str(tmp_path / "a.txt"), "content": "text"})
        command = {"command": sys.executable, "args": ["-c", "import time; time.sleep(60)"]}
        created = await agent.ask("terminal/create", {**session, **command})
        terminal = {**session, "terminalId": created.result["terminalId"]}
        kill, release = [await agent.ask(f"terminal/{name}", terminal) for name in ("kill", "release")]
    assert [answer.result for answer in (write, kill, release)] == [{}, {}, {}]


@pytest.mark.requirement("MODE-12", "AMB-02", "AMB-03", "AMB-04")
@pytest.mark.parametrize("version", [1, "2-draft"], ids=["v1", "v2-draft"])
async def test_an_agent_answers_what_has_no_result_with_an_empty_object(version):
    plain, with_modes = echo(store=MemoryStore()), echo(store=MemoryStore())
    plain.login("key", name="Key")(lambda client: None)
    with_modes.option("mode", choices=["ask", "code"])
    async with ScriptedClient(plain, version) as client:
        await client.initialize()
        assert (await client.ask("authenticate", {"methodId": "key"})).result == {}
        session = {"sessionId": await client.new_session(CWD)}
        assert (await client.ask("session/load", {**session, "cwd": CWD, "mcpServers": []})).result == {}
    async with ScriptedClient(with_modes, version) as client:
        session = {"sessionId": await client.new_session(CWD)}
        assert (await client.ask("session/set_mode", {**session, "modeId": "code"})).result == {}
        loaded = (await client.ask("session/load", {**session, "cwd": CWD, "mcpServers": []})).result
        assert loaded["modes"]["currentModeId"] == "code"


@pytest.mark.requirement("RPC-13", "RPC-06", "CANCEL-02", "CHECK-01")
async def test_a_cancel_is_heeded_and_never_answered(version):
    agent = Agent("waiter", strict=True)

    @agent.prompt
    async def wait(turn: Turn) -> None:
        await turn.say("waiting")
        await asyncio.Event().wait()

    async with ScriptedClient(agent, version) as client:
        await client.new_session(CWD)
        prompt = client.prompt("go")
        await client.next("session/update", where=lambda heard: "waiting" in repr(heard.params))
        client.cancel()
        assert await client.stop_reason(prompt) == "cancelled"
        client.cancel()
        client.notify("session/cancel", {"sessionId": "nobody"})
        client.notify("session/cancel", {})
        last = client.ask("_acme/ping", {})
        assert code(await last) == -32601
        answers = [heard.id for heard in client.received if heard.is_answer]
        assert answers == ["client-1", "client-2", "client-3", "client-4"]


@pytest.mark.requirement("RPC-17", "RPC-33", "RPC-34")
@pytest.mark.parametrize("method", OF_THE_CLIENT)
async def test_an_agent_never_serves_what_is_the_clients(version, method):
    async with ScriptedClient(echo(), version, capabilities=EVERYTHING) as client:
        session = await client.new_session(CWD)
        answer = await client.ask(method, asks_for(method, "/etc/passwd", version, session))
        assert code(answer) == -32601
        assert answer.error["data"]["method"] == method


@pytest.mark.requirement("RPC-33")
@pytest.mark.parametrize("method", OF_THE_AGENT)
async def test_a_client_never_serves_what_is_the_agents(version, method):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        await client.new_session(CWD)
        params = {"sessionId": "session-1", "cwd": CWD, "protocolVersion": 1, "prompt": [], "modeId": "m"}
        assert code(await agent.ask(method, params)) == -32601


@pytest.mark.requirement("RPC-14")
async def test_every_client_answers_a_request_for_permission(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        await client.new_session(CWD)
        outcome = (await agent.ask(PERMISSION, asks_for(PERMISSION, "", version))).result["outcome"]
        assert outcome == {"outcome": "selected", "optionId": "n"}
    async with Client(agent, version=version, on_permission=permissions.allow_all) as client:
        session = await client.new_session(CWD)
        outcome = (await agent.ask(PERMISSION, asks_for(PERMISSION, "", version, session.id))).result["outcome"]
        assert outcome == {"outcome": "selected", "optionId": "y"}


@pytest.mark.bad_frames
@pytest.mark.requirement("RPC-16", "RPC-06")
async def test_an_update_is_taken_in_and_never_answered_whatever_is_wrong_with_it(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version, strict=False) as client:
        session = await client.new_session(CWD)
        agent.say("Hello", messageId="m")
        agent.say("who?", session_id="nobody", messageId="m")
        for params in ({}, [], "text", None, {"sessionId": session.id, "update": 5}):
            agent.notify("session/update", params)
        agent.send({"jsonrpc": "2.0", "method": "session/update"})
        agent.update("agent_message_chunk", content=5)
        agent.say(" again", messageId="m")
        await agent.ask("_acme/ping", {})
        (message,) = session.transcript.messages.values()
        assert message.text == "Hello again"
        assert [heard.id for heard in agent.received if heard.is_answer] == ["agent-1"]


@pytest.mark.requirement("RPC-15", "INIT-20", "INIT-21", "INIT-22", "INIT-23", "INIT-19", "AMB-17")
@pytest.mark.parametrize("version", [1, "2-draft"], ids=["v1", "v2-draft"])
@pytest.mark.parametrize("offered", [(), ("read",), ("write",), ("run",), ("read", "write", "run")], ids=str)
async def test_a_client_serves_exactly_what_it_said_that_it_serves(version, offered, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("text")
    read, write, run = (name in offered for name in ("read", "write", "run"))
    workspace = Workspace(tmp_path, read=read, write=write, run=run) if offered else None
    agent = ScriptedAgent(version)
    async with Client(agent, version=version, workspace=workspace) as client:
        await client.new_session(tmp_path)
        can = agent.calls("initialize")[0].params["clientCapabilities"]
        files = can.get("fs", {})
        assert files.get("readTextFile", False) is read
        assert files.get("writeTextFile", False) is write
        assert can.get("terminal", False) is run
        served = {method for method in (*FILES, *TERMINALS) if await answers(agent, method, file)}
        assert served == {*FILES[:1] * read, *FILES[1:] * write, *TERMINALS * run}
    if workspace is not None:
        await workspace.aclose()


async def answers(agent: ScriptedAgent, method: str, file: Path) -> bool:
    return code(await agent.ask(method, asks_for(method, str(file), 1))) != -32601


@pytest.mark.requirement("RPC-15", "INIT-18", "INIT-19", "AMB-17")
@pytest.mark.parametrize("version", [1, "2-draft"], ids=["v1", "v2-draft"])
@pytest.mark.parametrize("read", [True, False])
@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("run", [True, False])
async def test_an_agent_works_with_whatever_a_client_offers_and_asks_for_nothing_else(
    version, read, write, run, tmp_path
):
    """What the client does not have, the agent does itself."""
    (tmp_path / "a.txt").write_text("old")
    agent = Agent("worker", strict=True)

    @agent.prompt
    async def work(turn: Turn) -> None:
        text = await turn.files.read("a.txt")
        await turn.files.write("b.txt", f"{text} and new")
        ran = await turn.run(sys.executable, "-c", "print('ran')")
        await turn.say(f"{text}; {ran.output.strip()}")

    asked: set[str] = set()

    def hear(direction: str, frame: bytes) -> None:
        method = msgspec.json.decode(frame).get("method", "")
        if direction == "received" and method.startswith(("fs/", "terminal/")):
            asked.add(method)

    workspace = Workspace(tmp_path, read=read, write=write, run=run)
    async with workspace, Client(agent, version=version, workspace=workspace, on_frame=hear) as client:
        session = await client.new_session(tmp_path)
        assert (await session.prompt("go")).text == "old; ran"
    assert (tmp_path / "b.txt").read_text() == "old and new"
    assert (FILES[0] in asked) is read
    assert (FILES[1] in asked) is write
    assert bool(asked & set(TERMINALS)) is run


@pytest.mark.requirement("RPC-20", "SESS-18", "CANCEL-02", "PROMPT-03")
async def test_all_that_a_client_sends_about_a_session_names_it(version):
    agent = ScriptedAgent(version)
    options = [
        {
            "configId" if version == 2 else "id": "m",
            "type": "select",
            "name": "M",
            "currentValue": "a",
            "options": [{"value": "a", "name": "A"}],
        }
    ]
    modes = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}]}
    opened = iter(range(1, 9))
    more = {"configOptions": options} if version == 2 else {"configOptions": options, "modes": modes}
    agent.on("session/new", lambda asked: {"sessionId": f"session-{next(opened)}", **more})
    agent.on("session/set_config_option", {"configOptions": options})
    for method in ("session/set_mode", "session/close", "session/load", "session/resume", "session/delete"):
        agent.on(method, {})
    agent.on("session/fork", {"sessionId": "fork"})
    asked_for: list[str | None] = []
    handshake = {"info": {"name": "s", "version": "1"}, "capabilities": {"session": {"delete": {}, "fork": {}}}}
    if version == 2:
        agent.on("initialize", {"protocolVersion": 2, **handshake})
    async with Client(agent, version=version) as client:
        for session in [await client.new_session(CWD), await client.new_session(CWD)]:
            reply = session.prompt("go")
            asked = await agent.next("session/prompt")
            agent.begin(asked)
            await reply.cancel()
            agent.finish(asked, "cancelled")
            await reply
            await session.set_option("m", "a")
            if version != 2:
                await session.set_mode("a")
            await client.fork_session(session.id, CWD)
            await session.close()
            await client.resume_session(session.id, CWD)
            await client.load_session(session.id, CWD)
            await client.delete_session(session.id)
            about = [each for each in agent.received if each.method not in (None, "initialize", "session/new")]
            named = [each for each in about if each.params["sessionId"] == session.id]
            assert len(named) == len(about) - len(asked_for)
            asked_for = [each.method for each in about]
    needed = {"session/prompt", "session/cancel", "session/set_config_option", "session/close", "session/resume"}
    assert set(asked_for) >= needed | {"session/fork", "session/delete"}


@pytest.mark.requirement("RPC-20", "SESS-42")
@pytest.mark.parametrize("version", [1, "2-draft"], ids=["v1", "v2-draft"])
async def test_a_model_is_chosen_in_the_session_that_lists_it(version):
    agent = ScriptedAgent(version)
    models = {"currentModelId": "a", "availableModels": [{"modelId": id, "name": id} for id in ("a", "b")]}
    opened = iter(range(1, 9))
    agent.on("session/new", lambda asked: {"sessionId": f"session-{next(opened)}", "models": models})
    agent.on("session/set_model", {})
    async with Client(agent, version=version) as client:
        sessions = [await client.new_session(CWD), await client.new_session(CWD)]
        for session in sessions:
            await session.set_option("model", "b")
    chosen = [each.params for each in agent.calls("session/set_model")]
    assert chosen == [{"sessionId": session.id, "modelId": "b"} for session in sessions]


@pytest.mark.requirement("RPC-20", "SESS-18")
async def test_all_that_an_agent_sends_about_a_session_names_it(version, tmp_path):
    agent = Agent("worker", strict=True, merge_seconds=0.0)
    agent.command("look", "Look")(lambda turn: None)

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.plan(["Look"])
        await turn.think("Hm")
        async with turn.tool_call("Look") as call:
            await turn.allowed(call)
            await turn.run(sys.executable, "-c", "", call=call)
            await turn.run(sys.executable, "-c", "import time; time.sleep(1000)", call=call, deadline=0.01)
        await turn.files.read("a.txt")
        await turn.files.write("a.txt", "new")
        await turn.set_title("Work")
        await turn.usage(1, 2)
        await turn.say(turn.text)

    (tmp_path / "a.txt").write_text("old")
    heard: list[dict[str, Any]] = []

    def hear(direction: str, frame: bytes) -> None:
        message = msgspec.json.decode(frame)
        if direction == "received" and "method" in message:
            heard.append(message)

    options: dict[str, Any] = {"on_permission": permissions.allow_all, "workspace": tmp_path, "on_frame": hear}
    async with Client(agent, version=version, **options) as client:
        sessions = [await client.new_session(tmp_path), await client.new_session(tmp_path)]
        for session in sessions:
            heard.clear()
            await session.prompt("done")
            assert {message["params"]["sessionId"] for message in heard} == {session.id}
            methods = {message["method"] for message in heard}
            resources = set() if version == 2 else {*FILES, *TERMINALS}
            assert methods >= {"session/update", "session/request_permission", *resources}


@pytest.mark.requirement("RPC-20", "RPC-35")
async def test_what_is_about_a_session_and_does_not_name_it_is_refused(version):
    async with ScriptedClient(echo(store=MemoryStore()), version) as client:
        await client.new_session(CWD)
        for method, members in {
            "session/prompt": {"prompt": [{"type": "text", "text": "hi"}]},
            "session/set_config_option": {"configId": "m", "value": "a"},
            "session/resume": {"cwd": CWD, "mcpServers": []},
            "session/close": {},
        }.items():
            answer = await client.ask(method, members)
            assert code(answer) == -32602, method
            assert "sessionId" in repr(answer.error), method
    agent = ScriptedAgent(version)
    async with Client(agent, version=version, workspace=CWD) as client_side:
        await client_side.new_session(CWD)
        methods = (PERMISSION,) if version == 2 else OF_THE_CLIENT
        for method in methods:
            params = asks_for(method, f"{CWD}/a", version)
            del params["sessionId"]
            answer = await agent.ask(method, params)
            assert code(answer) == -32602, method
            assert "sessionId" in repr(answer.error), method


@pytest.mark.requirement("RPC-18", "RPC-19", "RPC-35", "RPC-49")
async def test_a_path_that_is_not_absolute_is_refused_by_both_sides(version, tmp_path):
    async with ScriptedClient(echo(store=MemoryStore()), version) as client:
        session = await client.new_session(CWD)
        for method, members in {
            "session/new": {"cwd": "project"},
            "session/resume": {"cwd": "../project", "sessionId": session},
        }.items():
            answer = await client.ask(method, {"mcpServers": [], **members})
            assert code(answer) == -32602, method
            assert "absolute" in answer.error["message"], method
    if version == 2:
        return
    agent = ScriptedAgent(version)
    (tmp_path / "a.txt").write_text("text")
    async with Client(agent, version=version, workspace=tmp_path) as client_side:
        await client_side.new_session(tmp_path)
        for method, member in (*[(each, "path") for each in FILES], ("terminal/create", "cwd")):
            answer = await agent.ask(method, {**asks_for(method, "a.txt", version), member: "../a.txt"})
            assert code(answer) == -32602, method
            assert "absolute" in answer.error["message"], method
        for line, answered in ((0, -32602), (1, None)):
            params = {"sessionId": "session-1", "path": str(tmp_path / "a.txt"), "line": line}
            assert code(await agent.ask("fs/read_text_file", params)) == answered
