"""Our agent and a client made with the official Python SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import acp
import pytest
from acp import schema

from tests.conversations.story import MANY, MEBIBYTE, STORY, TEXT, THOUGHT
from tests.interop.official_client import CAPABILITIES, SERVED, TRANSPORTS, Talk, connected

FILE = Path(STORY["file"]["path"]).name
MODE = STORY["mode"]["id"]
BLOCKS = [
    acp.text_block("größe 🐘"),
    acp.image_block("aGk=", "image/png", uri="file:///a.png"),
    acp.audio_block("aGk=", "audio/wav"),
    acp.resource_link_block("a.py", "file:///a.py", mime_type="text/x", size=7, title="A", description="a"),
    acp.resource_block(acp.embedded_text_resource("file:///a.txt", "text", mime_type="text/plain")),
    acp.resource_block(acp.embedded_blob_resource("file:///a.bin", "aGk=", mime_type="image/png")),
]


also_served = pytest.mark.parametrize(
    "talk", [*TRANSPORTS, *(pytest.param(each, marks=pytest.mark.interop) for each in SERVED)], indirect=True
)


@pytest.fixture(params=TRANSPORTS)
async def talk(place: Path, request: pytest.FixtureRequest) -> AsyncIterator[Talk]:
    async with connected(transport=request.param) as each:
        each.client.files[str(place / FILE)] = STORY["file"]["before"]
        await each.log_in()
        yield each


async def refusal(work: Any) -> tuple[int, Any]:
    with pytest.raises(acp.RequestError) as refused:
        await work
    return refused.value.code, refused.value.data


@pytest.mark.requirement("CHECK-16", "EXT-09", "EXT-12")
async def test_the_handshake_is_v1_and_names_what_the_agent_can():
    async with connected() as talk:
        answer = await talk.log_in()
    assert answer.protocol_version == 1
    assert answer.agent_info == schema.Implementation(name="accord-story", version="1.0", title="Erzähler")
    can = answer.agent_capabilities
    assert can is not None
    assert can.load_session
    assert can.field_meta == {"accord.test": {"echo": True}}
    assert can.prompt_capabilities == schema.PromptCapabilities(image=True, audio=True, embedded_context=True)
    assert can.session_capabilities is not None
    assert None not in (can.session_capabilities.list, can.session_capabilities.resume, can.session_capabilities.close)
    assert [method.id for method in answer.auth_methods or []] == ["key"]


@pytest.mark.requirement("RPC-26", "RPC-31", "AUTH-07", "AUTH-08", "AUTH-10", "CHECK-07", "CHECK-38")
async def test_logging_in_is_asked_for_and_opens_the_door(place: Path):
    async with connected() as talk:
        await talk.agent.initialize(acp.PROTOCOL_VERSION, CAPABILITIES)
        code, data = await refusal(talk.agent.new_session(str(place)))
        assert (code, data["reason"]) == (-32000, "auth_required")
        assert data["authMethods"] == [{"id": "key", "name": "With a key"}]
        code, data = await refusal(talk.agent.authenticate("none"))
        assert (code, data["field"]) == (-32602, "methodId")
        await talk.agent.authenticate("key")
        assert (await talk.agent.new_session(str(place))).session_id


@pytest.mark.requirement("MODE-02", "MODE-03", "MODE-04", "CMD-01", "CMD-03", "CMD-06")
async def test_what_a_session_opens_with_reaches_both_sides(talk: Talk, place: Path):
    opened = await talk.agent.new_session(str(place), additional_directories=[str(place.parent)])
    assert opened.modes is not None
    assert (opened.modes.current_mode_id, [mode.id for mode in opened.modes.available_modes]) == (
        "quick",
        ["quick", MODE],
    )
    options = [(option.id, option.type, option.current_value) for option in opened.config_options or []]
    assert options == [("mode", "select", "quick"), ("web", "boolean", False), ("model", "select", "good")]
    (command,) = (await talk.client.until(schema.AvailableCommandsUpdate)).available_commands
    assert (command.name, command.input.root.hint) == ("review", "which file")
    known = await talk.json_of(opened.session_id, "known")
    assert (known["name"], known["cwd"], known["directories"]) == ("official", str(place), [str(place.parent)])
    expected = ["boolean_options", "form_elicitation", "read_files", "terminals", "url_elicitation", "write_files"]
    assert known["can"] == expected


@pytest.mark.requirement(
    "CHECK-02", "CHECK-27", "CHECK-28", "CHECK-30", "CHECK-32", "FS-05", "FS-06", "FS-07", "TERM-17"
)
@also_served
async def test_a_whole_turn_is_told_in_order(talk: Talk, place: Path):
    session_id = await talk.open(place)
    assert await talk.prompt(session_id, "story") == "end_turn"
    await talk.client.until(schema.SessionInfoUpdate)
    kinds = talk.client.kinds()
    assert [kind for kind in kinds if kind[0].isupper()] == [
        *["AgentThoughtChunk"] * len(STORY["thought"]),
        "AgentPlanUpdate",
        *["ToolCallStart", *["ToolCallProgress"] * 4],
        *["ToolCallStart", *["ToolCallProgress"] * 3],
        *["ToolCallStart", *["ToolCallProgress"] * 4],
        "AgentPlanUpdate",
        *["AgentMessageChunk"] * len(STORY["message"]),
        *["UsageUpdate", "CurrentModeUpdate", "ConfigOptionUpdate", "SessionInfoUpdate"],
    ]
    assert [kind for kind in kinds if kind[0].islower()] == [
        *[f"read {FILE} 1 2", "tuple", f"write {FILE}", f"read {FILE} None None"],
        *["create terminal-0 in größe with ['LANG']", "wait terminal-0", "output terminal-0", "release terminal-0"],
    ]
    check_story(talk, place)


def check_story(talk: Talk, place: Path) -> None:
    client, path = talk.client, str(place / FILE)
    assert client.texts(schema.AgentThoughtChunk) == THOUGHT
    assert client.texts(schema.AgentMessageChunk) == TEXT
    assert client.files[path] == STORY["file"]["after"]
    plan = [each for each in client.seen if isinstance(each, schema.AgentPlanUpdate)][-1]
    assert [(entry.content, entry.priority, entry.status) for entry in plan.entries] == [
        (entry["content"], entry["priority"], "completed") for entry in STORY["plan"]
    ]
    calls = [each for each in client.seen if isinstance(each, schema.ToolCallStart)]
    assert [(call.tool_call_id, call.title, call.kind, call.status) for call in calls] == [
        (STORY[name]["id"], STORY[name]["title"], STORY[name]["kind"], "pending") for name in ("read", "edit", "run")
    ]
    assert (calls[0].locations, calls[0].raw_input) == ([schema.ToolCallLocation(path=path)], {"path": FILE})
    told = [each for each in client.seen if isinstance(each, schema.ToolCallProgress)]
    located = [each.locations for each in told if each.locations][-1]
    assert [(place.path, place.line) for place in located] == [(path, None), (path, 2)]
    shown = [item for each in told for item in each.content or []]
    diffs = [item for item in shown if isinstance(item, schema.FileEditToolCallContent)]
    assert {(diff.path, diff.old_text, diff.new_text) for diff in diffs} == {
        (path, STORY["file"]["before"], STORY["file"]["after"])
    }
    assert schema.TerminalToolCallContent(type="terminal", terminal_id="terminal-0") in shown
    *_, ended = [each for each in told if each.raw_output]
    assert (ended.status, ended.raw_output) == ("completed", {"output": STORY["command"]["output"], "code": 0})
    usage = next(each for each in client.seen if isinstance(each, schema.UsageUpdate))
    assert usage.cost == schema.Cost(amount=0.5, currency="EUR")


@pytest.mark.requirement("CONTENT-19", "CHECK-18", "CHECK-34", "CHECK-35", "CHECK-36")
async def test_every_kind_of_content_goes_there_and_back(talk: Talk, place: Path):
    session_id = await talk.open(place)
    await talk.prompt(session_id, "echo", *BLOCKS)
    assert [each.content for each in talk.client.seen if isinstance(each, schema.AgentMessageChunk)] == BLOCKS


@pytest.mark.requirement("PERM-08", "PERM-09", "PERM-10", "PERM-11", "PERM-17", "CHECK-24")
async def test_each_answer_to_a_question_is_understood_and_always_is_remembered(talk: Talk, place: Path):
    session_id = await talk.open(place)
    expected = {"allow": "yes", "allow-always": "yes", "reject": "no", "reject-always": "no", "never-offered": "no"}
    for chosen, said in expected.items():
        talk.client.chooses = chosen
        assert await talk.text_of(session_id, f"permit {chosen}") == said
        (_, options) = next(each for each in talk.client.seen if isinstance(each, tuple))
        assert [option.kind for option in options] == ["allow_once", "allow_always", "reject_once", "reject_always"]
        assert talk.client.seen[-2].status == ("completed" if said == "yes" else "failed")
    talk.client.chooses = "reject"
    for tool, said, questions in [("allow", "no", 1), ("allow-always", "yes", 0), ("reject-always", "no", 0)]:
        assert await talk.text_of(session_id, f"permit {tool}") == said
        assert len([each for each in talk.client.seen if isinstance(each, tuple)]) == questions


@also_served
async def test_a_rejected_permission_leaves_the_file_alone(talk: Talk, place: Path):
    talk.client.chooses = "reject"
    session_id = await talk.open(place)
    assert await talk.prompt(session_id, "story") == "end_turn"
    assert talk.client.files[str(place / FILE)] == STORY["file"]["before"]


@pytest.mark.requirement("TERM-28")
async def test_a_command_past_its_deadline_is_killed_and_released(talk: Talk, place: Path):
    session_id = await talk.open(place)
    ran = await talk.json_of(session_id, "sleep")
    assert (ran["is_timed_out"], ran["signal"], ran["output"]) == (True, "SIGKILL", "")
    steps = [each.split()[0] for each in talk.client.kinds() if "terminal-0" in each]
    assert steps == ["create", "wait", "kill", "output", "release"]


async def test_a_file_that_is_not_there_is_not_found(talk: Talk, place: Path):
    assert await talk.text_of(await talk.open(place), "missing") == "not found"


@pytest.mark.requirement("CHECK-03", "FS-03", "TERM-03")
async def test_without_files_and_terminals_of_the_client_our_own_are_used(place: Path):
    (place / FILE).write_text(STORY["file"]["before"], encoding="utf-8")
    async with connected() as talk:
        await talk.log_in(schema.ClientCapabilities())
        session_id = await talk.open(place)
        assert await talk.prompt(session_id, "story") == "end_turn"
        assert not [each for each in talk.client.seen if isinstance(each, str)]
        told = [each for each in talk.client.seen if isinstance(each, schema.ToolCallProgress)]
        assert {"output": STORY["command"]["output"], "code": 0} in [each.raw_output for each in told]
        assert await talk.json_of(session_id, "ask") is None
    assert (place / FILE).read_text(encoding="utf-8") == STORY["file"]["after"]


@pytest.mark.requirement("RPC-13", "CANCEL-06", "CHECK-06", "CHECK-23")
@also_served
async def test_a_cancel_ends_a_turn_that_works(talk: Talk, place: Path):
    session_id = await talk.open(place)
    turn = asyncio.create_task(talk.prompt(session_id, "wait"))
    await talk.client.until(schema.ToolCallProgress)
    await talk.agent.cancel(session_id)
    assert await turn == "cancelled"
    assert talk.client.seen[-1].status == "failed"
    assert await talk.prompt(session_id, "stop refusal") == "refusal"


@also_served
async def test_a_cancel_ends_a_turn_that_waits_for_the_user(talk: Talk, place: Path):
    talk.client.chooses = None
    session_id = await talk.open(place)
    turn = asyncio.create_task(talk.prompt(session_id, "permit nothing"))
    await talk.client.until(tuple)
    await talk.agent.cancel(session_id)
    assert await turn == "cancelled"
    talk.client.cancelled.set()
    assert await talk.prompt(session_id, "stop end_turn") == "end_turn"


@pytest.mark.requirement("CANCEL-05", "CANCEL-12")
async def test_a_cancel_ends_a_command_in_the_clients_terminal(talk: Talk, place: Path):
    session_id = await talk.open(place)
    turn = asyncio.create_task(talk.prompt(session_id, "sleep 600"))
    while "wait terminal-0" not in talk.client.kinds():
        await talk.client.news()
    await talk.agent.cancel(session_id)
    assert await turn == "cancelled"
    assert talk.client.kinds().count("release terminal-0") == 1
    assert await talk.client.terminals["terminal-0"].wait() != 0


async def test_the_trace_of_a_prompt_is_carried_on(talk: Talk, place: Path):
    session_id = await talk.open(place)
    trace = "00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01"
    blocks: Any = [acp.text_block("permit it")]
    await talk.agent.prompt(session_id, blocks, traceparent=trace)
    assert talk.client.traces == [trace]


async def test_stop_reasons_are_told_as_they_are(talk: Talk, place: Path):
    session_id = await talk.open(place)
    for reason in ("end_turn", "max_tokens", "max_turn_requests", "refusal"):
        assert await talk.prompt(session_id, f"stop {reason}") == reason


async def test_many_pieces_arrive_in_order(talk: Talk, place: Path):
    session_id = await talk.open(place)
    await talk.prompt(session_id, f"many {MANY}")
    assert talk.client.texts(schema.AgentMessageChunk) == "".join(f"{number} " for number in range(MANY))


# Over HTTP its reader fails on a character that two chunks share, and its WebSocket takes a mebibyte at most.
@pytest.mark.parametrize("talk", ["stdio"], indirect=True)
async def test_a_message_of_several_mebibytes_goes_there_and_back(talk: Talk, place: Path):
    text = "größe 🐘 " * (3 * MEBIBYTE // 12)
    assert await talk.text_of(await talk.open(place), "echo", text) == text


@pytest.mark.requirement("MODE-12", "CHECK-29")
async def test_modes_and_options_are_in_step(talk: Talk, place: Path):
    session_id = await talk.open(place)
    await talk.agent.set_session_mode(session_id, MODE)
    assert (await talk.client.until(schema.CurrentModeUpdate)).current_mode_id == MODE
    for option_id, value in [("mode", "quick"), ("web", True), ("model", "fast")]:
        answer = await talk.agent.set_config_option(option_id, session_id, value)
        assert [option.current_value for option in answer.config_options if option.id == option_id] == [value]
    known = await talk.json_of(session_id, "known")
    assert (known["options"], known["model"]) == ({"mode": "quick", "web": True, "model": "fast"}, "fast")
    assert (await refusal(talk.agent.set_session_mode(session_id, "none")))[0] == -32602
    assert (await refusal(talk.agent.set_config_option("none", session_id, "x")))[0] == -32602


@pytest.mark.requirement("CMD-08", "CMD-09", "CHECK-39")
async def test_a_command_is_a_prompt_that_begins_with_its_name(talk: Talk, place: Path):
    assert await talk.text_of(await talk.open(place), "/review größe.py") == "reviewing größe.py"


async def test_forms_and_addresses_are_shown_and_answered(talk: Talk, place: Path):
    session_id, question = await talk.open(place), STORY["question"]
    content: Any = {question["field"]: question["answer"]}
    accepted = schema.AcceptElicitationResponse(action="accept", content=content)
    declined = schema.DeclineElicitationResponse(action="decline")
    dismissed = schema.CancelElicitationResponse(action="cancel")
    for answer, said in [(accepted, content), (declined, None), (dismissed, None)]:
        talk.client.answers = answer
        assert await talk.json_of(session_id, "ask") == said
    form = await talk.client.until(schema.ElicitationFormSessionMode)
    assert form.session_id == session_id
    assert list(form.requested_schema.properties) == [question["field"]]
    talk.client.answers = schema.AcceptElicitationResponse(action="accept")
    assert await talk.json_of(session_id, "open") is True
    assert str((await talk.client.until(schema.ElicitationUrlSessionMode)).url) == "https://example.com/login"


@pytest.mark.requirement("EXT-05", "EXT-06", "EXT-07", "EXT-08", "EXT-10", "EXT-11")
@also_served
async def test_extensions_go_both_ways(talk: Talk, place: Path):
    session_id = await talk.open(place)
    assert await talk.agent.ext_method("accord/echo", {"größe": [1, None]}) == {"größe": [1, None]}
    await talk.agent.ext_notification("accord/unheard", {})
    await talk.agent.ext_notification("accord/note", {"text": "größe"})
    assert (await talk.json_of(session_id, "known"))["notes"] == [{"text": "größe"}]
    assert await talk.json_of(session_id, "extend _accord/pick") == {"result": {"picked": "größe"}}
    assert ("accord/highlight", {"line": 3}) in talk.client.seen
    refused = await talk.json_of(session_id, "extend _accord/nothing")
    assert refused == {"error": {"code": -32601, "data": {"method": "_accord/nothing"}}}


@pytest.mark.requirement("RPC-23", "RPC-24", "RPC-33", "RPC-34", "RPC-35", "RPC-36", "EXT-08", "AMB-34")
async def test_our_errors_are_its(talk: Talk):
    agent = talk.agent
    assert await refusal(agent.ext_method("accord/nothing", {})) == (-32601, {"method": "_accord/nothing"})
    assert await refusal(talk.prompt("none", "story")) == (-32002, {"sessionId": "none"})
    code, data = await refusal(agent.new_session("relative"))
    assert (code, data["field"]) == (-32602, "cwd")


@pytest.mark.requirement("RPC-25", "RPC-37", "RPC-38", "RPC-39", "RPC-50")
async def test_a_failure_keeps_its_cause_to_itself_and_the_session_lives(talk: Talk, place: Path):
    session_id = await talk.open(place)
    for work in (talk.prompt(session_id, "fail"), talk.agent.ext_method("accord/boom", {})):
        code, data = await refusal(work)
        assert (code, list(data)) == (-32603, ["correlationId"])
    assert await talk.prompt(session_id, "stop refusal") == "refusal"


@pytest.mark.requirement("CHECK-33")
async def test_a_session_outlives_the_agent(place: Path, tmp_path: Path):
    store = str(tmp_path / "sessions.sqlite")
    async with connected(store) as talk:
        talk.client.files[str(place / FILE)] = STORY["file"]["before"]
        await talk.log_in()
        session_id = await talk.open(place)
        await talk.prompt(session_id, "story")
    async with connected(store) as talk:
        await talk.log_in()
        await check_taking_up(talk, session_id, place)


@also_served
async def test_a_closed_session_is_taken_up(talk: Talk, place: Path):
    session_id = await talk.open(place)
    await talk.prompt(session_id, "story")
    await talk.client.until(schema.SessionInfoUpdate)
    await talk.agent.close_session(session_id)
    talk.client.seen.clear()
    await check_taking_up(talk, session_id, place)


async def check_taking_up(talk: Talk, session_id: str, place: Path) -> None:
    agent, client = talk.agent, talk.client
    (listed,) = (await agent.list_sessions(cwd=str(place))).sessions
    assert (listed.session_id, listed.title) == (session_id, STORY["title"])
    assert (await agent.list_sessions(cwd=str(place.parent))).sessions == []
    loaded = await agent.load_session(str(place), session_id)
    assert loaded.modes is not None
    assert loaded.modes.current_mode_id == MODE
    await client.until(schema.SessionInfoUpdate)
    assert client.texts(schema.UserMessageChunk) == "story"
    assert client.texts(schema.AgentMessageChunk) == TEXT
    calls = [(each.tool_call_id, each.status) for each in client.seen if isinstance(each, schema.ToolCallStart)]
    assert calls == [(STORY[name]["id"], "completed") for name in ("read", "edit", "run")]
    await agent.close_session(session_id)
    assert (await refusal(talk.prompt(session_id, "story")))[0] == -32002
    client.seen.clear()
    await agent.resume_session(session_id, str(place))
    assert await talk.text_of(session_id, "/review it") == "reviewing it"
    assert client.texts(schema.AgentMessageChunk) == "reviewing it"
    forked = await agent.fork_session(session_id, str(place))
    assert forked.session_id != session_id
    assert len((await agent.list_sessions()).sessions) == 2
    assert (await refusal(agent.load_session(str(place), "none")))[0] == -32002
