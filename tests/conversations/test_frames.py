"""JSON-RPC as raw frames against our two sides: ids, what is no request, batches, and answers in arrays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from accord import Agent, Client, Turn
from accord.errors import Denied, RateLimited, RequestFailed
from accord.jsonrpc.batches import BatchRequest
from accord.jsonrpc.messages import Notification
from accord.testing import ReceivedFrame, ScriptedAgent, ScriptedClient

CWD = "/work/project"

pytestmark = [pytest.mark.bad_frames, pytest.mark.parametrize("side", ["agent", "client"])]


class Stage:
    """One of our sides, and the scripted end that it talks to.

    Ours answers `_acme/echo` with the params, and `_acme/wait` with the same once `release` is set; `noted` is what it
    heard by `_acme/note`, in order. `ask` has it ask the other end something.
    """

    def __init__(self) -> None:
        self.end: Any = None
        self.ask: Callable[[str, Any], Any] = lambda method, params: None
        self.peer: Any = None
        self.open_session: Callable[[], Any] = lambda: None
        self.release = asyncio.Event()
        self.noted: list[Any] = []

    def register(self, target: Any) -> None:
        async def wait(params: Any) -> Any:
            await self.release.wait()
            return params

        async def echo(params: Any) -> Any:
            return params

        target.method("_acme/echo")(echo)
        target.method("_acme/wait")(wait)

        async def fail(params: Any) -> None:
            raise RateLimited(30) if params["reason"] == "rate" else Denied("fs.write")

        target.method("_acme/fail")(fail)

        async def noted(params: Any) -> None:
            self.noted.append(params)

        target.notification("_acme/note")(noted)

    async def said(self, *messages: Any) -> list[Any]:
        """What comes back for these frames, up to the answer to a last question."""
        known = len(self.end.received)
        for message in messages:
            self.end.send(message)
        last = self.end.ask("_acme/echo", {})
        await last
        return [heard.json for heard in self.end.received[known:] if heard.id != last.id]


@asynccontextmanager
async def stage(side: str, version: Any) -> AsyncIterator[Stage]:
    here = Stage()
    if side == "agent":
        agent = Agent("framed", strict=False)
        here.register(agent)
        clients: list[Any] = []

        @agent.method("_acme/begin")
        async def begin(params: Any, client: Any) -> None:
            clients.append(client)

        async with ScriptedClient(agent, version) as end:
            await end.initialize()
            await end.ask("_acme/begin", {})
            here.end, here.peer = end, clients[0]._endpoint.peer
            here.ask = lambda method, params: asyncio.ensure_future(clients[0].request(method, params, deadline=30))
            yield here
    else:
        scripted = ScriptedAgent(version)
        client = Client(scripted, version=version, strict=False)
        here.register(client)
        async with client:
            here.end, here.peer = scripted, client.peer
            here.open_session = lambda: client.new_session(CWD)
            here.ask = lambda method, params: asyncio.ensure_future(client.request(method, params, deadline=30))
            yield here


def request(id: Any, method: str = "_acme/echo", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def note(**params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "_acme/note", "params": params}


def result(id: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": members}


def codes(answer: Any) -> Any:
    """The ids and codes of errors, one or in an array."""
    if isinstance(answer, list):
        return [codes(each) for each in answer]
    return (answer["id"], answer["error"]["code"])


# Single messages


@pytest.mark.requirement("RPC-01", "RPC-02", "RPC-03", "RPC-04")
async def test_what_has_an_id_is_answered_and_what_has_none_is_not_and_each_frame_has_the_version(side, version):
    async with stage(side, version) as here:
        answers = await here.said(request(1, a=1), note(b=2), request("two", c=3), request(9, "_acme/none"))
        assert [each for each in answers if "result" in each] == [result(1, a=1), result("two", c=3)]
        assert [codes(each) for each in answers if "error" in each] == [(9, -32601)]
        assert here.noted == [{"b": 2}]
        question = here.ask("_acme/question", {"d": 4})
        asked = await here.end.next("_acme/question")
        asked.answer({"e": 5})
        assert await question == {"e": 5}
        assert all(heard.json["jsonrpc"] == "2.0" for heard in here.end.received)


@pytest.mark.requirement("RPC-01", "AMB-30")
async def test_a_message_of_another_version_is_refused_by_its_id_or_dropped(side, version):
    async with stage(side, version) as here:
        answers = await here.said(
            {"id": 1, "method": "_acme/echo", "params": {}},
            {"jsonrpc": "1.0", "id": 2, "method": "_acme/echo", "params": {}},
            {"method": "_acme/note", "params": {"a": 1}},
            request(3),
        )
        assert [codes(each) for each in answers[:2]] == [(1, -32600), (2, -32600)]
        assert answers[2:] == [result(3)]
        assert here.noted == []


@pytest.mark.requirement("RPC-07", "AMB-29")
async def test_ids_are_counted_from_zero_and_every_id_of_the_other_side_is_echoed_as_it_is(side, version):
    async with stage(side, version) as here:
        for id in (0, -1, 2**53 + 1, "0", "", "é"):
            (answer,) = await here.said(request(id, a=1))
            assert answer == result(id, a=1)
            assert type(answer["id"]) is type(id)
        questions = [here.ask("_acme/question", {}) for _ in range(2)]
        asked = [await here.end.next("_acme/question") for _ in questions]
        first = 0 if side == "agent" else 1  # a client has asked to shake hands
        assert [each.id for each in asked] == [first, first + 1]
        if side == "client":
            assert here.end.calls("initialize")[0].id == 0
        for each in asked:
            each.answer({})
        await asyncio.gather(*questions)


@pytest.mark.requirement("RPC-08", "RPC-09")
async def test_the_same_id_may_be_open_in_both_directions(side, version):
    async with stage(side, version) as here:
        ours = here.ask("_acme/question", {})
        asked = await here.end.next("_acme/question")
        here.end.send(request(asked.id, "_acme/wait", of="theirs"))
        assert await here.said(request("another", a=1)) == [result("another", a=1)]  # both wait, and reading goes on
        asked.answer({"of": "ours"})
        assert await ours == {"of": "ours"}
        here.release.set()
        answer = await here.end.answer_to(asked.id)
        assert answer.result == {"of": "theirs"}


@pytest.mark.requirement("RPC-22", "AMB-28")
@pytest.mark.parametrize("garbage", [5, b'"text"', True, None, {}, {"jsonrpc": "2.0"}, {"foo": "boo"}], ids=str)
async def test_json_that_is_no_request_is_one_invalid_request_and_the_next_is_served(side, version, garbage):
    async with stage(side, version) as here:
        answers = await here.said(garbage, request(1))
        assert [codes(each) for each in answers[:-1]] == [(None, -32600)]
        assert answers[-1] == result(1)


@pytest.mark.requirement("AMB-31", "RPC-35")
async def test_params_that_are_missing_are_empty_and_an_array_is_refused(side, version):
    async with stage(side, version) as here:
        bare = {"jsonrpc": "2.0", "id": 1, "method": "_acme/echo"}
        answers = await here.said(bare, {**bare, "id": 2, "params": [1, 2]}, {**bare, "id": 3, "params": "text"})
        assert [each for each in answers if "result" in each] == [result(1)]
        assert [codes(each) for each in answers if "error" in each] == [(2, -32602), (3, -32602)]


# Errors


@pytest.mark.requirement("RPC-27", "RPC-29", "RPC-42", "RPC-43", "RPC-44", "RPC-46", "AMB-33")
async def test_errors_of_our_own_are_in_the_range_that_is_left_to_implementations(side, version):
    async with stage(side, version) as here:
        (limited,) = await here.said(request(1, "_acme/fail", reason="rate"))
        (denied,) = await here.said(request(2, "_acme/fail", reason="denied"))
    for answer in (limited, denied):
        assert -32099 <= answer["error"]["code"] <= -32001
    assert limited["error"]["data"] == {"reason": "rate_limited", "retryAfter": 30}
    assert denied["error"]["data"] == {"reason": "permission_denied", "scope": "fs.write"}


@pytest.mark.requirement("RPC-28", "RPC-47", "AMB-33")
@pytest.mark.parametrize("number", [400, -1, -32099, 2**31 - 1])
async def test_an_error_of_any_code_is_raised_for_whoever_asked(side, version, number):
    async with stage(side, version) as here:
        question = here.ask("_acme/question", {})
        (await here.end.next("_acme/question")).fail(number, "Out of coffee", {"cups": 0})
        with pytest.raises(RequestFailed, match="Out of coffee") as raised:
            await question
        assert (raised.value.code, raised.value.data) == (number, {"cups": 0})
        assert await here.said(request(1)) == [result(1)]


@pytest.mark.requirement("RPC-45", "RPC-34", "RPC-36", "RPC-48", "RPC-49")
async def test_a_refusal_says_what_is_wrong_and_where(side, version):
    async with stage(side, version) as here:
        (unknown,) = await here.said(request(1, "_acme/none"))
        assert "_acme/none" in unknown["error"]["message"]
        assert unknown["error"]["data"] == {"method": "_acme/none"}
        if side == "agent":
            (wrong,) = await here.said(request(2, "session/new", cwd="project", mcpServers=[]))
            field = "cwd"
        else:
            await here.open_session()
            (wrong,) = await here.said(request(2, "session/request_permission", sessionId="session-1", options=5))
            field = "options"
        assert wrong["error"]["code"] == -32602
        assert field in wrong["error"]["message"]
        assert field in wrong["error"]["data"]["field"]
        assert not wrong["error"]["message"].endswith(".")


# Batches


@pytest.mark.requirement("RPC-52", "RPC-53", "RPC-56", "RPC-57", "RPC-58", "RPC-59", "AMB-25", "AMB-26")
async def test_a_batch_is_answered_by_one_array_once_all_its_requests_are_done(side, version):
    async with stage(side, version) as here:
        entries = [request(1, "_acme/wait", a=1), note(b=2), request(2, c=3), note(d=4), request(3, "_acme/none")]
        assert await here.said(entries) == []  # the second and third are done, and wait for the first
        assert here.noted == [{"b": 2}, {"d": 4}]
        here.release.set()
        array = await here.end.wait_until(
            lambda: next((heard.json for heard in here.end.received if isinstance(heard.json, list)), None), "an array"
        )
        by_id = {each["id"]: each for each in array}
        assert len(array) == 3
        assert (by_id[1], by_id[2]) == (result(1, a=1), result(2, c=3))
        assert codes(by_id[3]) == (3, -32601)


@pytest.mark.requirement("RPC-53", "RPC-61", "AMB-27")
async def test_a_batch_of_notifications_is_not_answered_and_they_are_heard_in_order(side, version):
    async with stage(side, version) as here:
        assert await here.said([note(n=number) for number in range(20)]) == []
        assert here.noted == [{"n": number} for number in range(20)]


@pytest.mark.requirement("RPC-55")
async def test_an_empty_batch_is_one_invalid_request(side, version):
    async with stage(side, version) as here:
        (answer,) = await here.said([])
        assert codes(answer) == (None, -32600)


@pytest.mark.requirement("RPC-62")
async def test_each_bad_entry_of_a_batch_gets_its_own_error_and_the_others_are_served(side, version):
    async with stage(side, version) as here:
        (array,) = await here.said([1, request(1, a=1), {"foo": "boo"}, note(b=2), request(2)])
        assert sorted(codes(each) for each in array if "error" in each) == [(None, -32600), (None, -32600)]
        assert [each for each in array if "result" in each] == [result(1, a=1), result(2)]
        assert here.noted == [{"b": 2}]
        (array,) = await here.said([1, 2])
        assert codes(array) == [(None, -32600), (None, -32600)]


@pytest.mark.requirement("RPC-60", "RPC-64", "AMB-26")
async def test_answers_may_come_as_an_array_in_any_order_beside_calls(side, version):
    async with stage(side, version) as here:
        questions = [here.ask("_acme/question", {"n": number}) for number in range(3)]
        asked: list[ReceivedFrame] = [await here.end.next("_acme/question") for _ in questions]
        array = [result(each.id, n=each.params["n"]) for each in reversed(asked)]
        assert await here.said([*array[:2], request("mixed", a=1)], [array[2]]) == [[result("mixed", a=1)]]
        assert await asyncio.gather(*questions) == [{"n": 0}, {"n": 1}, {"n": 2}]


@pytest.mark.requirement("AMB-25", "RPC-52", "RPC-63")
async def test_a_batch_is_sent_by_an_explicit_call_to_peers_of_v1_and_the_draft(side, version):
    async with stage(side, version) as here:
        batch = here.peer.batch(
            BatchRequest("_acme/a", {"n": 1}), Notification("_acme/b", {}), BatchRequest("_acme/c", {"n": 2})
        )
        if version == 2:
            with pytest.raises(ValueError, match="has no batches"):
                await batch
            return
        outcomes = asyncio.ensure_future(batch)
        array = await here.end.wait_until(
            lambda: next((heard.json for heard in here.end.received if isinstance(heard.json, list)), None), "an array"
        )
        assert [entry["method"] for entry in array] == ["_acme/a", "_acme/b", "_acme/c"]
        assert ["id" in entry for entry in array] == [True, False, True]
        here.end.send([result(array[2]["id"], n=2), result(array[0]["id"], n=1)])
        assert [bytes(each) for each in await outcomes] == [b'{"n":1}', b'{"n":2}']
        with pytest.raises(ValueError, match="session/prompt"):
            await here.peer.batch(BatchRequest("_acme/a"), BatchRequest("session/prompt", {}))


@pytest.mark.requirement("AMB-25", "AMB-35")
async def test_an_agent_answers_a_batch_before_the_handshake(side, version):
    if side == "client":
        return  # whoever is to shake hands first hears no batch before it
    agent = Agent("framed", strict=False)
    async with ScriptedClient(agent, version) as client:
        client.send([request(1, "session/list"), request(2, "session/new", cwd=CWD, mcpServers=[])])
        array = (await client.next()).json
        assert sorted(codes(array)) == [(1, -32600), (2, -32600)]
        assert (await client.initialize()).error is None


@pytest.mark.requirement("AMB-27", "UPDATE-27")
async def test_updates_of_one_batch_are_applied_in_the_order_of_the_array(side, version):
    if side == "agent":
        return  # updates go to clients
    agent = ScriptedAgent(version)
    async with Client(agent, version=version, strict=False) as client:
        session = await client.new_session(CWD)
        chunks = [
            {
                "sessionUpdate": "agent_message_chunk",
                "messageId": "m",
                "content": {"type": "text", "text": f"{number} "},
            }
            for number in range(10)
        ]
        agent.send(
            [
                {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session.id, "update": chunk}}
                for chunk in chunks
            ]
        )
        await agent.ask("_acme/ping", {})
        assert session.transcript.messages["agent", "m"].text == "0 1 2 3 4 5 6 7 8 9 "


@pytest.mark.requirement("AMB-25", "RPC-57")
async def test_a_prompt_in_a_batch_is_answered_in_its_array(side, version):
    if side == "client":
        return  # prompts go to agents
    agent = Agent("framed", strict=False, merge_seconds=0.0)

    @agent.prompt
    async def say(turn: Turn) -> None:
        await turn.say(turn.text)

    async with ScriptedClient(agent, version) as client:
        session = await client.new_session(CWD)
        text = [{"type": "text", "text": "hi"}]
        client.send([request(1, "session/prompt", sessionId=session, prompt=text), request(2, "_acme/none")])
        array = await client.wait_until(
            lambda: next((heard.json for heard in client.received if isinstance(heard.json, list)), None), "an array"
        )
        assert {each["id"]: "error" in each for each in array} == {1: False, 2: True}
        await client.next("session/update", where=lambda heard: "'hi'" in repr(heard.params))
