"""What an agent asks of the client."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from accord import Client, StateChanged, permissions
from accord.client.workspace.workspace import Workspace
from accord.session.requests import ElicitationAnswer, PermissionAnswer
from accord.testing import ScriptedAgent
from tests.client.test_cancel import ask_permission
from tests.client.words import CWD


async def outcome(agent, version):
    return (await ask_permission(agent, version)).result["outcome"]


@pytest.mark.requirement("PERM-13", "PERM-14")
async def test_without_a_policy_every_permission_is_refused(version):
    """FN-43: deny by default when nobody can answer."""
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        await client.new_session(CWD)
        assert await outcome(agent, version) == {"outcome": "selected", "optionId": "n"}


@pytest.mark.parametrize(
    "answer",
    [
        PermissionAnswer(outcome="selected", option_id="never offered"),
        PermissionAnswer(outcome="approved", option_id="y"),
        TimeoutError(),
        None,
    ],
    ids=["an option that was not offered", "an outcome that is none", "a timeout", "nothing"],
)
async def test_anything_but_a_known_yes_is_a_no(version, answer):
    """FN-44: anything but a known allow is a no."""

    async def policy(asked):
        if isinstance(answer, Exception):
            raise answer
        return answer

    agent = ScriptedAgent(version)
    async with Client(agent, version=version, on_permission=policy) as client:
        await client.new_session(CWD)
        assert await outcome(agent, version) == {"outcome": "selected", "optionId": "n"}


async def test_the_policy_sees_all_that_is_known_of_the_tool_call(version):
    agent = ScriptedAgent(version)
    seen = asyncio.get_running_loop().create_future()

    async def policy(asked):
        seen.set_result(asked.subject.call)
        return await permissions.allow_all(asked)

    async with Client(agent, version=version, on_permission=policy) as client:
        session = await client.new_session(CWD)
        agent.update("tool_call_update", toolCallId="c", title="Sweep", kind="delete", status="pending")
        assert await outcome(agent, version) == {"outcome": "selected", "optionId": "y"}
        assert (await seen).kind == "delete"
        assert session.transcript.tool_calls["c"].title == (await seen).title


async def test_the_turn_waits_for_the_user_while_somebody_is_asked(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        asked = await agent.seen("session/prompt")
        if version == 2:
            asked.answer({"messageId": "u"})
            agent.update("state_update", state="running")
            agent.update("state_update", state="requires_action")
        await outcome(agent, version)
        if version == 2:
            agent.update("state_update", state="running")
            agent.update("state_update", state="idle", stopReason="end_turn")
        else:
            asked.answer({"stopReason": "end_turn"})
        states = [change.state.state async for change in reply if isinstance(change, StateChanged)]
        assert states == ["running", "requires_action", "running", "idle"]


async def test_the_first_word_of_a_tool_call_may_be_the_question(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        await outcome(agent, version)
        assert list(session.transcript.tool_calls) == ["c"]


async def test_a_question_about_a_session_that_is_not_open_is_refused(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version):
        answer = await ask_permission(agent, version)
        assert answer["error"]["code"] == -32002


async def test_what_was_not_offered_is_not_found(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        await client.new_session(CWD)
        form = {"mode": "form", "message": "Name?", "requestedSchema": {"type": "object", "properties": {}}}
        asked = {
            "fs/read_text_file": {"path": "/a"},
            "terminal/create": {"command": "ls"},
            "elicitation/create": form,
            "_acme/ping": {},
        }
        for method, params in asked.items():
            answer = await agent.ask(method, {"sessionId": "session-1", **params})
            assert answer["error"] == {**answer["error"], "code": -32601, "data": {"method": method}}


async def test_the_capabilities_are_those_of_what_was_given(tmp_path):
    async def elicit(asked):
        return ElicitationAnswer(action="decline")

    bare, full = ScriptedAgent(1), ScriptedAgent(1)
    async with Client(bare, version=1), Client(full, version=1, workspace=tmp_path, on_elicitation=elicit):
        offered = bare.calls("initialize")[0].params["clientCapabilities"]
        assert offered["fs"] == {"readTextFile": False, "writeTextFile": False}
        assert (offered["terminal"], "elicitation" in offered) == (False, False)
        offered = full.calls("initialize")[0].params["clientCapabilities"]
        assert offered["fs"] == {"readTextFile": True, "writeTextFile": True}
        assert (offered["terminal"], sorted(offered["elicitation"])) == (True, ["form", "url"])
    reading = ScriptedAgent(1)
    async with Client(reading, version=1, workspace=Workspace(tmp_path, write=False, run=False)):
        offered = reading.calls("initialize")[0].params["clientCapabilities"]
        assert offered["fs"] == {"readTextFile": True, "writeTextFile": False}
        assert offered["terminal"] is False


async def test_a_workspace_answers_for_files_inside_the_sessions_directory(tmp_path):
    """FN-95: reading a file that is not there is an error by default."""
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    agent = ScriptedAgent(1)
    async with Client(agent, version=1, workspace=()) as client:
        await client.new_session(tmp_path)
        read = {"sessionId": "session-1", "path": str(tmp_path / "a.txt"), "line": 2}
        assert (await agent.ask("fs/read_text_file", read)).result == {"content": "two\n"}
        missing = {"sessionId": "session-1", "path": str(tmp_path / "b.txt")}
        assert (await agent.ask("fs/read_text_file", missing)).error["code"] == -32002
        outside = {"sessionId": "session-1", "path": "/etc/hostname"}
        assert (await agent.ask("fs/read_text_file", outside)).error is not None


async def test_a_missing_file_can_be_an_empty_one(tmp_path):
    """FN-95: empty content for a missing file is an option."""
    agent = ScriptedAgent(1)
    async with Client(agent, version=1, workspace=Workspace(missing_file="empty")) as client:
        await client.new_session(tmp_path)
        missing = {"sessionId": "session-1", "path": str(tmp_path / "b.txt")}
        assert (await agent.ask("fs/read_text_file", missing)).result == {"content": ""}


async def test_an_elicitation_is_answered_by_whoever_was_given_for_it(version):
    async def elicit(asked):
        assert asked.message == "Name?"
        return ElicitationAnswer(action="accept", content={"name": "Ada"})

    agent = ScriptedAgent(version)
    async with Client(agent, version=version, on_elicitation=elicit) as client:
        await client.new_session(CWD)
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        form = {"sessionId": "session-1", "mode": "form", "message": "Name?", "requestedSchema": schema}
        answer = await agent.ask("elicitation/create", form)
        assert answer.result == {"action": "accept", "content": {"name": "Ada"}}


@pytest.mark.parametrize(
    "answer", [ElicitationAnswer(action="accepted", content={"name": "Ada"}), {"name": "Ada"}, None]
)
async def test_an_answer_that_is_none_is_a_cancel_and_written_to_the_log(version, answer, caplog):
    async def elicit(asked):
        return answer

    agent = ScriptedAgent(version)
    async with Client(agent, version=version, on_elicitation=elicit) as client:
        await client.new_session(CWD)
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        form = {"sessionId": "session-1", "mode": "form", "message": "Name?", "requestedSchema": schema}
        assert (await agent.ask("elicitation/create", form)).result == {"action": "cancel"}
    assert "something other than accept, decline, cancel" in caplog.text


async def test_a_cancel_ends_an_elicitation(version):
    waiting = asyncio.Event()

    async def elicit(asked) -> Any:
        waiting.set()
        await asyncio.get_running_loop().create_future()

    agent = ScriptedAgent(version)
    async with Client(agent, version=version, on_elicitation=elicit) as client:
        session = await client.new_session(CWD)
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        form = {"sessionId": "session-1", "mode": "form", "message": "Name?", "requestedSchema": schema}
        question = agent.ask("elicitation/create", form)
        await waiting.wait()
        await session.cancel()
        assert (await question).result == {"action": "cancel"}


@pytest.mark.requirement("EXT-05", "EXT-06", "EXT-07", "EXT-08", "EXT-10", "EXT-11")
async def test_extensions_work_both_ways(version):
    agent = ScriptedAgent(version)
    client = Client(agent, version=version)
    heard = asyncio.Queue()

    @client.method("_acme/add")
    async def add(params):
        return sum(params["numbers"])

    @client.method("_acme/name")
    def name(params):
        return {"name": "accord"}

    @client.notification("_acme/progress")
    async def progress(params):
        await heard.put(params)

    agent.on("_acme/ping", lambda asked: {"pong": asked.params})
    async with client:
        assert await client.request("_acme/ping", {"n": 1}) == {"pong": {"n": 1}}
        await client.notify("_acme/hello")
        assert (await agent.seen("_acme/hello")).params == {}
        assert (await agent.ask("_acme/add", {"numbers": [1, 2]})).result == 3
        assert (await agent.ask("_acme/name", {})).result == {"name": "accord"}
        agent.notify("_acme/unheard", {})
        agent.notify("_acme/progress", {"done": 1})
        assert await heard.get() == {"done": 1}
        with pytest.raises(ValueError, match="underscore"):
            await client.request("session/prompt", {})
        with pytest.raises(ValueError, match="underscore"):
            client.method("session/update")(add)


async def test_a_question_that_is_withdrawn_at_once_asks_nobody(version):
    asked = []
    agent = ScriptedAgent(version)
    async with Client(agent, version=version, on_permission=permissions.ask(asked.append)) as client:
        await client.new_session(CWD)
        question = ask_permission(agent, version)
        agent.notify("$/cancel_request", {"requestId": question.id})
        assert (await question).error["code"] == -32800
        gc.collect()  # a coroutine that nobody awaited would complain now
    assert asked == []
