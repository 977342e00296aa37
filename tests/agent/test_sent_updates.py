"""The updates that an agent's reports put on the wire: which variant, with which members, and nothing that did not change."""

from __future__ import annotations

from typing import Any

import pytest

from accord import Agent, Client, Turn
from accord.session.content import Text
from accord.session.entities import ContentItem, PlanEntry, SlashCommand
from accord.session.updates import CommandsPatch, MessageAppend, MessagePatch, ToolCallPatch
from accord.session.value import Unknown
from accord.store import MemoryStore, SqliteStore
from accord.testing import ScriptedClient
from tests.agent.test_sent_frames import calls, turn_of
from tests.agent.user import CWD, EVERYTHING, plain_agent
from tests.peer.joined import until

LATER = pytest.mark.parametrize("version", [2, "2-draft"], ids=["v2", "v2-draft"])
ROLES = [("user", "user_message"), ("agent", "agent_message"), ("thought", "agent_thought")]


def working(work: Any, **options: Any) -> Agent:
    agent = plain_agent(**options)
    agent.prompt(work)
    return agent


def item(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


@pytest.mark.requirement("TOOL-29")
async def test_a_call_may_be_announced_as_running(version):
    async def work(turn: Turn) -> None:
        await turn.send(ToolCallPatch(id="c", title="Look", status="in_progress", creates=True))
        await turn.send(ToolCallPatch(id="c", status="completed"))

    client = await turn_of(working(work), version)
    first, last = calls(client)
    assert (first["toolCallId"], first["title"], first["status"]) == ("c", "Look", "in_progress")
    assert first["sessionUpdate"] == ("tool_call" if version == 1 else "tool_call_update")
    assert (last["sessionUpdate"], last["status"]) == ("tool_call_update", "completed")


@pytest.mark.requirement("TOOL-31", "UPDATE-37", "UPDATE-40", "AMB-19", "AMB-48")
async def test_an_update_of_a_call_holds_its_id_and_what_has_changed(version):
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look", kind="read", content="begun", locations=["a.py"]) as call:
            await call.update(title="Look again")
            await call.update(raw_output={"found": 2})
            await call.locate("b.py", 3)
            await call.replace("found")

    client = await turn_of(working(work), version)
    first, *later = calls(client)
    assert first["sessionUpdate"] == ("tool_call" if version == 1 else "tool_call_update")
    assert {update["sessionUpdate"] for update in later} == {"tool_call_update"}
    members = [{name: value for name, value in update.items() if name != "sessionUpdate"} for update in later]
    id = first["toolCallId"]
    assert members == [
        {"toolCallId": id, "status": "in_progress"},
        {"toolCallId": id, "title": "Look again"},
        {"toolCallId": id, "rawOutput": {"found": 2}},
        {"toolCallId": id, "locations": [{"path": f"{CWD}/a.py"}, {"path": f"{CWD}/b.py", "line": 3}]},
        {"toolCallId": id, "content": [item("found")]},
        {"toolCallId": id, "status": "completed", "content": [item("found")], "rawOutput": {"found": 2}},
    ]


@pytest.mark.requirement("TOOL-42", "UPDATE-41", "UPDATE-43")
async def test_what_is_added_to_a_call_goes_out_item_by_item_or_in_v1_with_all_before_it(version):
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look") as call:
            await call.show("one", Text("two"))
            await call.say("three")

    client = await turn_of(working(work), version)
    if version == 1:
        shown = [update["content"] for update in calls(client) if "content" in update]
        assert shown[-1] == [item("one"), item("two"), item("three")]
        return
    pieces = client.updates("tool_call_content_chunk")
    (id,) = {update["toolCallId"] for update in calls(client)}
    assert [(piece["toolCallId"], piece["content"]) for piece in pieces] == [
        (id, item("one")),
        (id, item("two")),
        (id, item("three")),
    ]
    whole = [update for update in calls(client) if "content" in update]
    assert [(update["status"], len(update["content"])) for update in whole] == [("completed", 3)]


@pytest.mark.requirement("PLAN-10", "PLAN-11", "UPDATE-47", "AMB-20")
async def test_each_plan_goes_out_whole_in_the_form_of_its_version(version):
    async def work(turn: Turn) -> None:
        await turn.plan(["read", "edit"])
        await turn.plan([PlanEntry(content="edit", status="in_progress"), "test", "tidy"])
        await turn.plan(["tidy"])

    client = await turn_of(working(work), version)
    told = [update for update in client.updates() if update["sessionUpdate"].startswith("plan")]
    assert {update["sessionUpdate"] for update in told} == {"plan" if version == 1 else "plan_update"}
    plans = told if version == 1 else [update["plan"] for update in told]
    entries = [[(entry["content"], entry["status"]) for entry in plan["entries"]] for plan in plans]
    assert entries == [
        [("read", "pending"), ("edit", "pending")],
        [("edit", "in_progress"), ("test", "pending"), ("tidy", "pending")],
        [("tidy", "pending")],
    ]
    if version != 1:
        assert [plan["type"] for plan in plans] == ["items"] * 3
        assert len({plan["planId" if version == 2 else "id"] for plan in plans}) == 1


@pytest.mark.requirement("CMD-07", "AMB-21")
async def test_the_list_of_commands_may_be_told_again_at_any_time(version):
    agent = plain_agent()
    agent.command("first", "The first")(lambda turn: None)

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.send(
            CommandsPatch(commands=[SlashCommand("first", "The first"), SlashCommand("second", "The second")])
        )
        await turn.send(CommandsPatch(commands=[SlashCommand("second", "Changed")]))

    client = await turn_of(agent, version)
    told = [update["availableCommands"] for update in client.updates("available_commands_update")]
    assert [[(command["name"], command["description"]) for command in each] for each in told] == [
        [("first", "The first")],
        [("first", "The first"), ("second", "The second")],
        [("second", "Changed")],
    ]


@LATER
@pytest.mark.parametrize(("role", "tag"), ROLES)
@pytest.mark.requirement("UPDATE-13", "UPDATE-15", "UPDATE-20", "UPDATE-29", "EXT-13", "AMB-51", "AMB-69")
async def test_a_message_goes_out_whole_or_in_chunks_or_with_its_meta_alone(version, role, tag):
    async def work(turn: Turn) -> None:
        await turn.send(MessagePatch(role=role, id="m", content=[Text("A")]))
        await turn.send(MessageAppend(role=role, id="m", content=Text("B")))
        await turn.send(MessagePatch(role=role, id="m", meta={"seen": True}))
        await turn.send(MessagePatch(role=role, id="m", content=[]))

    client = await turn_of(working(work), version)
    told = [update for update in client.updates() if update.get("messageId") == "m"]
    assert told == [
        {"sessionUpdate": tag, "messageId": "m", "content": [{"type": "text", "text": "A"}]},
        {"sessionUpdate": f"{tag}_chunk", "messageId": "m", "content": {"type": "text", "text": "B"}},
        {"sessionUpdate": tag, "messageId": "m", "_meta": {"seen": True}},
        {"sessionUpdate": tag, "messageId": "m", "content": []},
    ]


@pytest.mark.requirement("UPDATE-13")
@pytest.mark.parametrize("version", ["2-draft"], ids=["v2-draft"])
async def test_every_variant_that_the_draft_names_is_sent_and_all_of_v1_that_it_goes_on_with(version):
    async def work(turn: Turn) -> None:
        for role, _ in ROLES:
            await turn.send(MessagePatch(role=role, id=role, content=[Text("A")]))
            await turn.send(MessageAppend(role=role, id=role, content=Text("B")))
        async with turn.tool_call("Look") as call:
            await call.say("found")
        await turn.plan(["read"])
        await turn.usage(1, 2)

    client = await turn_of(working(work), version)
    assert {update["sessionUpdate"] for update in client.updates()} >= {
        *(tag for _, tag in ROLES),
        *(f"{tag}_chunk" for _, tag in ROLES),
        "tool_call_update",
        "tool_call_content_chunk",
        "plan_update",
        "usage_update",
    }
    assert not {"tool_call", "plan"} & {update["sessionUpdate"] for update in client.updates()}


@pytest.mark.requirement("UPDATE-30", "UPDATE-31", "UPDATE-32", "UPDATE-33", "UPDATE-34", "UPDATE-35", "AMB-53")
async def test_the_tokens_in_context_and_the_cost_so_far_go_out_as_they_are_given(version):
    async def work(turn: Turn) -> None:
        await turn.usage(12_000, 200_000)
        await turn.usage(13_000, 200_000, 0.25)
        await turn.usage(14_000, 100_000, 1.5, "EUR")
        await turn.usage(15_000, 100_000)

    client = await turn_of(working(work), version)
    told = [(update["used"], update["size"], update.get("cost")) for update in client.updates("usage_update")]
    dollars, euros = {"amount": 0.25, "currency": "USD"}, {"amount": 1.5, "currency": "EUR"}
    assert told == [
        (12_000, 200_000, None),
        (13_000, 200_000, dollars),
        (14_000, 100_000, euros),
        (15_000, 100_000, euros),  # the last one holds, and is told each time
    ]
    for update in client.updates("usage_update"):
        assert [type(update[name]) for name in ("used", "size")] == [int, int]
        assert "cost" not in update or update["cost"] is not None


@pytest.mark.requirement("AMB-56")
async def test_what_is_raw_goes_out_as_an_object(version):
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look", raw_input={"path": "a"}) as call:
            for wrong in ("text", 5, [1], True):
                with pytest.raises(ValueError, match="JSON object"):
                    await call.update(raw_output=wrong)
            await call.update(raw_output={"found": [1, None]})

    client = await turn_of(working(work), version)
    assert [update["rawInput"] for update in calls(client) if "rawInput" in update] == [{"path": "a"}]
    assert [update["rawOutput"] for update in calls(client) if "rawOutput" in update] == [{"found": [1, None]}] * 2


@pytest.mark.requirement("AMB-48", "TOOL-36")
@pytest.mark.parametrize("version", [1, "2-draft"], ids=["v1", "v2-draft"])
async def test_the_old_text_of_a_new_file_is_null_and_nothing_else_is(version):
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Edit", kind="edit") as call:
            await call.diff("new.py", None, "new\n")
            await call.diff("old.py", "old\n", "new\n")
        await turn.plan(["read"])
        await turn.usage(1, 2)
        await turn.say("done")

    client = await turn_of(working(work), version)
    diffs = {}
    for update in client.updates():
        shown = update.get("content")
        for each in shown if isinstance(shown, list) else [shown]:
            if isinstance(each, dict) and each.get("type") == "diff":
                diffs[each["path"]] = each["oldText"]
    assert diffs == {f"{CWD}/new.py": None, f"{CWD}/old.py": "old\n"}
    told = [{name: value for name, value in update.items() if name != "content"} for update in client.updates()]
    assert "None" not in repr(told)


CHART = {"type": "_chart", "points": [[1, 2.5], None], "_meta": {"unit": "ms"}}


@LATER
@pytest.mark.parametrize("kept", ["memory", "sqlite"])
@pytest.mark.requirement("COMPAT-08", "COMPAT-09")
async def test_an_item_of_an_unknown_type_is_told_kept_and_told_again_as_it_was(version, kept, tmp_path):
    store = MemoryStore() if kept == "memory" else SqliteStore(tmp_path / "sessions.db")

    async def work(turn: Turn) -> None:
        async with turn.tool_call("Draw", id="c", content=[ContentItem(content=Text("A"))]) as call:
            await call.show(Unknown(tag="_chart", raw=CHART))

    agent = working(work, store=store, strict=False)
    client = await turn_of(agent, version)
    (piece,) = client.updates("tool_call_content_chunk")
    assert piece["content"] == CHART
    async with ScriptedClient(agent, version, capabilities=EVERYTHING) as second:
        await second.initialize()
        loaded = {"sessionId": client.session_id, "cwd": CWD, "mcpServers": []}
        method = "session/resume" if version == 2 else "session/load"
        from_start = {"replayFrom": {"type": "start"}} if version == 2 else {}
        assert (await second.ask(method, {**loaded, **from_start})).error is None
        (call,) = [update for update in calls(second) if "content" in update]
    assert call["content"] == [item("A"), CHART]
    await store.aclose()


@LATER
@pytest.mark.requirement("COMPAT-09")
async def test_an_item_of_an_unknown_type_reaches_the_other_client_of_a_session(version, tmp_path):
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Draw", id="c") as call:
            await call.show(Unknown(tag="_chart", raw=CHART))

    agent = working(work, store=MemoryStore(), strict=False)
    async with (
        Client(agent, version=version, strict=False) as one,
        Client(agent, version=version, strict=False) as other,
    ):
        session = await one.new_session(tmp_path)
        seen = (await other.load_session(session.id, tmp_path)).transcript.tool_calls
        await session.prompt("go")
        await until(lambda: "c" in seen and seen["c"].status == "completed")
        for calls_of in (session.transcript.tool_calls, seen):
            (unknown,) = calls_of["c"].content
            assert isinstance(unknown, Unknown)
            assert unknown.raw == CHART


@pytest.mark.requirement("AMB-61", "EXT-02", "COMPAT-14")
async def test_a_strict_client_finds_nothing_in_what_an_agent_sends_that_its_version_does_not_have(
    version, caplog, tmp_path
):
    async def work(turn: Turn) -> None:
        await turn.think("hm")
        await turn.plan(["read"])
        async with turn.tool_call("Look", kind="read", raw_input={"a": 1}, locations=["a.py"]) as call:
            await call.say("found")
            await call.diff("a.py", "old\n", "new\n")
            await turn.allowed(call)
        await turn.usage(1, 2, 0.5)
        await turn.set_title("Work")
        await turn.notice("Done")
        await turn.say("done")

    agent = working(work, store=MemoryStore())
    agent.option("mode", choices=["ask", "code"])
    agent.option("web", default=True)
    agent.command("look", "Look", hint="where")(lambda turn: None)
    agent.login("key", name="Key", description="From the environment")(lambda: None)
    agent._definition.logged_in = True
    async with Client(agent, version=version, strict=True) as client:
        session = await client.new_session(tmp_path)
        assert (await session.prompt("go")).text == "done"
        await client.load_session(session.id, tmp_path)
        assert [each.title async for each in client.list_sessions()] == ["Work"]
        await session.set_option("mode", "code")
    assert [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
