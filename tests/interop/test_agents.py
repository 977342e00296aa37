"""Our client and the agents made with the official SDKs: Python v1, TypeScript v1 and v2."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accord import (
    AuthRequired,
    InvalidParams,
    MethodNotFound,
    NotFound,
    RequestFailed,
    ToolCallChanged,
    VersionRefused,
    permissions,
)
from accord.session.capabilities import AgentLogin
from accord.session.content import Annotations, Audio, Content, Image, Resource, ResourceLink, Text
from accord.session.mcp_servers import HttpServer, StdioServer
from accord.session.requests import (
    Authenticate,
    ElicitationAnswer,
    ElicitationRequest,
    PermissionAnswer,
    PermissionRequest,
)
from tests.conversations.story import MANY, MEBIBYTE, STORY
from tests.interop.official_agents import OfficialAgent, ask, received, seen, to_do, until_seen

BLOCKS: list[Content] = [
    Text("größe 🐘", annotations=Annotations(audience=["user"], priority=0.5)),
    Image(data="aGk=", mime_type="image/png", uri="file:///a.png"),
    Audio(data="aGk=", mime_type="audio/wav"),
    ResourceLink(uri="file:///a.py", name="a.py", title="A", mime_type="text/x", size=7),
    Resource(uri="file:///a.txt", text="text", mime_type="text/plain"),
    Resource(uri="file:///a.bin", blob="aGk=", mime_type="application/zip"),
]
KINDS = ["allow_once", "allow_always", "reject_once", "reject_always"]
FORM = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}


@pytest.mark.requirement("EXT-02", "EXT-12", "AMB-15")
async def test_one_offer_of_both_versions_is_answered_with_the_agents_own(official: OfficialAgent):
    frames: list[bytes] = []
    async with official.connected(on_frame=lambda _, frame: frames.append(frame)) as client:
        assert msgspec.json.decode(frames[0])["params"]["protocolVersion"] == 2
        assert client.agent.version == official.version
        assert client.agent.info is not None
        assert (client.agent.info.name, client.agent.info.title) == ("official", "Größe")
        assert client.agent.auth_methods == [AgentLogin(id="key", name="With a key")]
        can = client.agent.capabilities
        assert all([can.load, can.resume, can.list, can.close, can.image, can.audio, can.mcp_http])
        assert can.meta == {"accord.test": {"seen": True}}


async def test_a_version_can_be_asked_for_alone(official: OfficialAgent, place: Path):
    async with official.connected(version=official.version, workspace=place) as client:
        (offer,) = await seen(client, "initialize")
        assert offer["protocolVersion"] == official.version
        capabilities = offer["clientCapabilities" if official.version == 1 else "capabilities"]
        if official.version == 1:
            assert capabilities["fs"] == {"readTextFile": True, "writeTextFile": True}
            assert capabilities["terminal"] is True


async def test_an_agent_of_v1_is_refused_when_only_v2_will_do(official_v1: OfficialAgent):
    with pytest.raises(VersionRefused):
        async with official_v1.connected(version=2):
            pass


@pytest.mark.requirement("AUTH-05", "AUTH-09")
async def test_a_login_is_asked_for_and_the_session_opened_after_it(official: OfficialAgent, place: Path):
    locked = place / Path(STORY["locked"]).name
    locked.mkdir()
    login = "authenticate" if official.version == 1 else "auth/login"
    async with official.connected() as client:
        with pytest.raises(AuthRequired):
            await client.new_session(locked)
        with pytest.raises(ValueError, match="no login 'none'"):
            await client.authenticate("none")
        with pytest.raises(InvalidParams):
            await client._connection.request(Authenticate(method_id="none"))
    async with official.connected(on_login="key") as client:
        assert (await client.new_session(locked)).id
        assert [each["method"] for each in await received(client)] == [
            "initialize",
            "session/new",
            login,
            "session/new",
        ]
        assert await seen(client, login) == [{"methodId": "key"}]


async def test_a_logout_closes_the_door_again(official: OfficialAgent, place: Path):
    locked = place / Path(STORY["locked"]).name
    locked.mkdir()
    async with official.connected() as client:
        if official.is_python:  # that SDK has no logout
            with pytest.raises(MethodNotFound):
                await client.logout()
            return
        await client.login("key")
        await client.logout()
        with pytest.raises(AuthRequired):
            await client.new_session(locked)


async def test_a_session_opens_with_what_both_sides_have_to_say(official: OfficialAgent, place: Path):
    servers = [
        StdioServer(name="files", command="/bin/files", args=["-v"], env={"LANG": "C"}),
        HttpServer(name="web", url="https://example.com/mcp", headers={"x-key": "1"}),
    ]
    async with official.connected() as client:
        session = await client.new_session(place, servers, [place.parent])
        assert [(option.id, option.value) for option in session.options] == [("mode", "quick"), ("web", False)]
        (told,) = await seen(client, "session/new")
    assert (told["cwd"], told["additionalDirectories"]) == (str(place), [str(place.parent)])
    files, web = told["mcpServers"]
    assert (files["name"], files["command"], files["args"]) == ("files", "/bin/files", ["-v"])
    assert files["env"] == [{"name": "LANG", "value": "C"}]
    assert (web["type"], web["url"]) == ("http", "https://example.com/mcp")
    assert web["headers"] == [{"name": "x-key", "value": "1"}]


@pytest.mark.requirement("CONTENT-19")
async def test_every_kind_of_content_goes_there_and_back(official: OfficialAgent, place: Path):
    async with official.connected() as client:
        session = await client.new_session(place)
        assert (await session.prompt(to_do("echo", *BLOCKS))).stop_reason == "end_turn"
        (prompted,) = await seen(client, "session/prompt")
        assert prompted["prompt"][1:] == STORY["blocks"]
        (message,) = [each for each in session.transcript.messages.values() if each.role == "agent"]
        assert list(message.content) == BLOCKS


@pytest.mark.requirement("RPC-14", "PERM-13", "PERM-14", "CHECK-09", "CHECK-24")
async def test_each_choice_of_the_user_reaches_the_agent(official: OfficialAgent, place: Path):
    asked: list[PermissionRequest] = []

    async def choose(question: PermissionRequest) -> PermissionAnswer:
        asked.append(question)
        return PermissionAnswer(outcome="selected", option_id=KINDS[len(asked) - 1])

    async with official.connected(on_permission=choose) as client:
        session = await client.new_session(place)
        answers = [await ask(session, "session/request_permission", question(official)) for _ in KINDS]
    assert answers == [{"result": {"outcome": {"outcome": "selected", "optionId": kind}}} for kind in KINDS]
    assert [(option.id, option.kind) for option in asked[0].options] == [(each, each) for each in KINDS]


async def test_permission_is_denied_where_nobody_gives_it(official: OfficialAgent, place: Path):
    async def fails(question: PermissionRequest) -> PermissionAnswer:
        raise ValueError("nobody is there")

    async def dismisses(question: PermissionRequest) -> PermissionAnswer:
        return permissions.cancelled()

    rejected = {"outcome": "selected", "optionId": "reject_once"}
    for policy, outcome in [(None, rejected), (fails, rejected), (dismisses, {"outcome": "cancelled"})]:
        async with official.connected(on_permission=policy) as client:
            answer = await ask(await client.new_session(place), "session/request_permission", question(official))
            assert answer == {"result": {"outcome": outcome}}


async def test_permission_for_a_call_that_was_never_told_is_shown(official: OfficialAgent, place: Path):
    """FN-06: the request brings the tool call with it."""
    async with official.connected(on_permission=permissions.allow_all) as client:
        session = await client.new_session(place)
        assert (await session.prompt("permission")).stop_reason == "end_turn"
        assert session.transcript.tool_calls["call-unseen"].title == STORY["edit"]["title"]


@pytest.mark.requirement("CANCEL-01", "CANCEL-02", "CHECK-14")
async def test_a_cancel_ends_a_turn_that_works(official: OfficialAgent, place: Path):
    async with official.connected() as client:
        session = await client.new_session(place)
        reply = session.prompt("wait")
        async for change in reply:
            if isinstance(change, ToolCallChanged) and change.call.status == "in_progress":
                await reply.cancel()
        assert (reply.stop_reason, reply.cancel_requested) == ("cancelled", True)
        assert session.transcript.tool_calls["call-wait"].finished
        assert await seen(client, "session/cancel") == [{"sessionId": session.id}]
        assert (await session.prompt("stop refusal")).stop_reason == "refusal"


@pytest.mark.requirement("CANCEL-04", "PERM-15", "PERM-18")
async def test_a_cancel_ends_a_turn_that_waits_for_the_user(official: OfficialAgent, place: Path):
    asked = asyncio.Event()

    async def never(question: PermissionRequest) -> PermissionAnswer:
        asked.set()
        return await asyncio.get_running_loop().create_future()

    async with official.connected(on_permission=never) as client:
        session = await client.new_session(place)
        reply, held = session.prompt("permission"), session.prompt("echo")
        await asked.wait()
        await session.cancel()
        assert (await reply).stop_reason == "cancelled"
        assert (await held).stop_reason == "cancelled"
        assert len(await seen(client, "session/prompt")) == 1


async def test_stop_reasons_are_told_as_they_are(official: OfficialAgent, place: Path):
    async with official.connected() as client:
        session = await client.new_session(place)
        for reason in ("end_turn", "max_tokens", "max_turn_requests", "refusal"):
            assert (await session.prompt(f"stop {reason}")).stop_reason == reason


async def test_options_are_set_and_told(official: OfficialAgent, place: Path):
    mode = STORY["mode"]["id"]
    async with official.connected() as client:
        session = await client.new_session(place)
        await session.set_option("mode", mode)
        await session.set_option("web", True)
        assert [(option.id, option.value) for option in session.options] == [("mode", mode), ("web", True)]
        told = [(each["configId"], each["value"]) for each in await seen(client, "session/set_config_option")]
        assert told == [("mode", mode), ("web", True)]
        with pytest.raises(InvalidParams):
            await session.set_option("none", mode)


async def test_sessions_are_listed_page_by_page_and_taken_up_again(official: OfficialAgent, place: Path):
    async with official.connected() as client:
        sessions = [await client.new_session(place) for _ in range(3)]
        elsewhere = await client.new_session(place.parent)
        listed = [each async for each in client.list_sessions(place)]
        assert [(each.session_id, each.title) for each in listed] == [(each.id, STORY["title"]) for each in sessions]
        assert len([each async for each in client.list_sessions()]) == 4
        assert [each.get("cursor") for each in await seen(client, "session/list")] == [None, "2", None, "2"]
        first = sessions[0]
        await first.prompt(to_do("echo", *BLOCKS))
        await first.close()
        again = await client.load_session(first.id, place)
        assert [message.content for message in again.transcript.messages.values()] == [
            message.content for message in first.transcript.messages.values()
        ]
        assert [(option.id, option.value) for option in again.options] == [("mode", "quick"), ("web", False)]
        await again.close()
        resumed = await client.resume_session(first.id, place)
        assert not resumed.transcript.messages
        assert (await resumed.prompt("stop end_turn")).stop_reason == "end_turn"
        assert await seen(client, "session/close") == [{"sessionId": first.id}] * 2
        assert elsewhere.id != first.id


async def test_sessions_are_deleted_where_the_agent_can(official: OfficialAgent, place: Path):
    async with official.connected() as client:
        session = await client.new_session(place)
        if official.is_python:  # that SDK has no session/delete
            with pytest.raises(MethodNotFound):
                await client.delete_session(session.id)
            return
        await client.delete_session(session.id)
        await client.delete_session("none")
        assert [each async for each in client.list_sessions()] == []


async def test_sessions_are_forked_where_the_agent_can(official: OfficialAgent, place: Path):
    entry = (
        "@agentclientprotocol/sdk/unstable"
        if official.version == 1
        else "@agentclientprotocol/sdk/experimental/v2/unstable"
    )
    async with official.connected(env={"ACP_ENTRY": entry}) as client:
        session = await client.new_session(place)
        await session.prompt(to_do("echo", *BLOCKS))
        forked = await client.fork_session(session.id, place)
        assert forked.id != session.id
        assert (await forked.prompt("stop end_turn")).stop_reason == "end_turn"


@pytest.mark.requirement("EXT-05", "EXT-06", "EXT-07", "EXT-10", "EXT-11")
async def test_extensions_go_both_ways(official: OfficialAgent, place: Path):
    heard: asyncio.Queue[Any] = asyncio.Queue()
    async with official.connected() as client:

        @client.method("_accord/pick")
        async def pick(params: Any) -> Any:
            return {"picked": params["from"][-1]}

        client.notification("_accord/highlight")(heard.put_nowait)
        session = await client.new_session(place)
        assert await client.request("_accord/echo", {"größe": [1, None, 0.5]}) == {"größe": [1, None, 0.5]}
        await client.notify("_accord/unheard")
        await client.notify("_accord/note", {"text": "größe"})
        assert await until_seen(client, "_accord/note") == {"text": "größe"}
        assert await ask(session, "_accord/pick", {"from": ["a", "b"]}) == {"result": {"picked": "b"}}
        for method in ("_accord/unheard", "_accord/highlight"):
            await session.prompt(to_do(f"notify {method}", {"line": 3}))
        assert await heard.get() == {"line": 3}


@pytest.mark.requirement("EXT-08")
async def test_what_we_do_not_have_is_refused_by_its_name(official: OfficialAgent, place: Path):
    async with official.connected() as client:
        session = await client.new_session(place)
        answer = await ask(session, "_accord/nothing", {})
        assert answer == {"error": {"code": -32601, "data": {"method": "_accord/nothing"}}}
        elicitation = {"mode": "form", "message": "Which?", "requestedSchema": FORM}
        assert (await ask(session, "elicitation/create", elicitation))["error"]["code"] == -32601


@pytest.mark.bad_frames
async def test_its_errors_are_ours(official: OfficialAgent, place: Path):
    async with official.connected() as client:
        with pytest.raises(MethodNotFound) as unknown:
            await client.request("_accord/nothing")
        assert unknown.value.method == "_accord/nothing"
        with pytest.raises(InvalidParams):
            await client.peer.request("session/new", {})
        with pytest.raises(NotFound) as missing:
            await client.load_session("none", place, patience=0)
        assert missing.value.session_id == "none"
        with pytest.raises(RequestFailed) as failed:
            await client.request("_accord/boom")
        assert failed.value.code == -32603


async def test_a_failed_turn_is_an_error_and_the_session_lives(official: OfficialAgent, place: Path):
    async with official.connected() as client:
        session = await client.new_session(place)
        with pytest.raises(RequestFailed) as failed:
            await session.prompt("fail")
        assert failed.value.code == -32603
        assert (await session.prompt("stop refusal")).stop_reason == "refusal"


async def test_forms_and_addresses_are_shown_and_answered(official: OfficialAgent, place: Path):
    asked: list[ElicitationRequest] = []
    answers = [
        ElicitationAnswer(action="accept", content={"colour": "grün 🟢"}),
        ElicitationAnswer(action="decline"),
        ElicitationAnswer(action="cancel"),
        ElicitationAnswer(action="accept"),
    ]

    async def answer(question: ElicitationRequest) -> ElicitationAnswer:
        asked.append(question)
        return answers[len(asked) - 1]

    async with official.connected(on_elicitation=answer) as client:
        session = await client.new_session(place)
        form = {"mode": "form", "message": "Which colour?", "requestedSchema": FORM}
        results = [(await ask(session, "elicitation/create", form))["result"] for _ in range(3)]
        assert results == [
            {"action": "accept", "content": {"colour": "grün 🟢"}},
            {"action": "decline"},
            {"action": "cancel"},
        ]
        url = {"mode": "url", "message": "Log in", "url": "https://example.com/login", "elicitationId": "e-1"}
        assert (await ask(session, "elicitation/create", url))["result"]["action"] == "accept"
    assert asked[0].schema is not None
    assert asked[0].schema["properties"] == {"colour": {"type": "string"}}
    assert (asked[3].url, asked[3].elicitation_id) == ("https://example.com/login", "e-1")


async def test_what_is_told_between_turns_is_told_to_the_user(official: OfficialAgent, place: Path):
    told: asyncio.Queue[Any] = asyncio.Queue()
    async with official.connected(on_update=told.put_nowait) as client:
        session = await client.new_session(place)
        update = {"sessionUpdate": "session_info_update", "title": "größe"}
        await client.notify("_accord/tell", {"sessionId": session.id, "updates": [update]})
        assert (await told.get()).update.info.title == "größe"
        assert session.transcript.info.title == "größe"


async def test_many_pieces_arrive_in_order_and_sessions_are_told_apart(official: OfficialAgent, place: Path):
    async with official.connected() as client:
        one, other = await client.new_session(place), await client.new_session(place)
        replies = [session.prompt(f"many {MANY}") for session in (one, other)]
        assert [(await reply).text for reply in replies] == ["".join(f"{number} " for number in range(MANY))] * 2


async def test_a_message_of_several_mebibytes_goes_there_and_back(official: OfficialAgent, place: Path):
    text = "größe 🐘 " * (3 * MEBIBYTE // 12)
    async with official.connected() as client:
        session = await client.new_session(place)
        assert (await session.prompt(to_do("echo", Text(text)))).text == text


def question(official: OfficialAgent) -> dict[str, Any]:
    call = {"toolCallId": "call-ask", "title": "Do it", "kind": "edit", "status": "pending"}
    options = [{"optionId": kind, "name": kind, "kind": kind} for kind in KINDS]
    if official.version == 1:
        return {"toolCall": call, "options": options}
    return {"title": "May I?", "subject": {"type": "tool_call", "toolCall": call}, "options": options}
