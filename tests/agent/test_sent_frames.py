"""The frames that an agent's calls put on the wire, member by member, as a client that reads JSON sees them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from accord import Agent, Denied, Turn
from accord.session.content import Image, Text
from accord.session.entities import OptionChoice, PlanEntry
from accord.store import MemoryStore
from accord.testing import ScriptedClient
from tests.agent.user import CWD, EVERYTHING, plain_agent

KINDS = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]
CALL_UPDATES = ("tool_call", "tool_call_update")


async def turn_of(agent: Agent, version: Any, prompts: int = 1, **answers: Any) -> ScriptedClient:
    """The client of a finished turn, or of several; `answers` are given to the methods of `fs/` and `terminal/`."""
    client = ScriptedClient(agent, version, capabilities=EVERYTHING)
    async with client:
        for method, answer in answers.items():
            client.on(method.replace("__", "/"), answer)
        await client.new_session(CWD)
        for _ in range(prompts):
            await client.stop_reason(client.prompt("go"))
    return client


def calls(client: ScriptedClient) -> list[dict[str, Any]]:
    """Every report about a tool call, first to last."""
    return [update for update in client.updates() if update["sessionUpdate"] in CALL_UPDATES]


def announced(client: ScriptedClient) -> list[dict[str, Any]]:
    """The first report of each tool call."""
    return [update for update in calls(client) if "title" in update]


@pytest.mark.requirement("TOOL-02", "TOOL-03", "TOOL-04", "TOOL-05", "TOOL-06")
async def test_no_two_tool_calls_of_a_session_share_an_id_and_each_report_names_its_own(version):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("first") as first, turn.tool_call("second") as second:
            await second.update(raw_output={"of": "second"})
            await first.update(raw_output={"of": "first"})

    client = await turn_of(agent, version, prompts=2)
    titles = {update["toolCallId"]: update["title"] for update in announced(client)}
    assert list(titles.values()) == ["first", "second", "first", "second"]
    assert all(isinstance(id, str) and id for id in titles)
    told = [
        (titles[update["toolCallId"]], update["rawOutput"]["of"]) for update in calls(client) if "rawOutput" in update
    ]
    assert told == [("second", "second"), ("first", "first")] * 4  # as it came, and again with the end of each


@pytest.mark.requirement("TOOL-04")
async def test_an_id_that_the_author_chose_is_sent_and_not_given_to_another_call(version):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        for id in ("call-2", None, "call-9", None):
            async with turn.tool_call("Look", id=id):
                pass

    ids = [update["toolCallId"] for update in announced(await turn_of(agent, version))]
    assert (ids[0], ids[2]) == ("call-2", "call-9")
    assert len(set(ids)) == 4


@pytest.mark.requirement(
    "TOOL-07", "TOOL-08", "TOOL-09", "TOOL-10", "TOOL-11", "TOOL-12", "TOOL-38", "TOOL-39", "UPDATE-06", "UPDATE-07"
)
async def test_what_a_tool_call_was_given_and_produced_is_sent_and_what_it_lacks_is_left_out(version):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Bare"):
            pass
        call = turn.tool_call("Full", raw_input={"pattern": "x"}, content="found", locations=["a.py"])
        async with call:
            await call.locate("b.py", 3)
            await call.update(raw_input={"pattern": "x", "deep": True}, raw_output={"matches": 2})

    client = await turn_of(agent, version)
    bare, full = announced(client)
    assert not {"content", "locations", "rawInput", "rawOutput"} & bare.keys()
    assert full["content"] == [{"type": "content", "content": {"type": "text", "text": "found"}}]
    assert full["locations"] == [{"path": f"{CWD}/a.py"}]
    assert full["rawInput"] == {"pattern": "x"}
    later = [update for update in calls(client) if update["toolCallId"] == full["toolCallId"]][1:]
    assert [update["locations"][-1] for update in later if "locations" in update] == [
        {"path": f"{CWD}/b.py", "line": 3}
    ]
    assert [update["rawInput"] for update in later if "rawInput" in update] == [{"pattern": "x", "deep": True}]
    assert [update["rawOutput"] for update in later if "rawOutput" in update] == [{"matches": 2}] * 2
    assert later[-1]["status"] == "completed"
    assert later[-1]["rawOutput"] == {"matches": 2}  # the end tells the whole outcome
    assert later[-1]["content"] == full["content"]


@pytest.mark.requirement(
    "TOOL-14",
    "TOOL-15",
    "TOOL-16",
    "TOOL-17",
    "TOOL-18",
    "TOOL-19",
    "TOOL-20",
    "TOOL-21",
    "TOOL-22",
    "TOOL-23",
    "COMPAT-11",
)
async def test_each_of_the_ten_kinds_is_sent_as_it_is_named_and_other_is_the_default(version):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        for kind in KINDS:
            async with turn.tool_call(kind, kind=kind):
                pass
        async with turn.tool_call("other"):
            pass

    sent = announced(await turn_of(agent, version))
    assert [update.get("kind", "other") for update in sent] == [update["title"] for update in sent] == [*KINDS, "other"]


@pytest.mark.requirement("TOOL-33", "TOOL-34", "TOOL-35", "TOOL-36")
async def test_each_content_item_names_its_type_and_holds_one_block_or_one_diff(version):
    agent = plain_agent()
    picture = Image(data="aGk=", mime_type="image/png")

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Show", content=[Text("one"), picture]) as call:
            await call.diff("a.py", "old\n", "new\n")

    client = await turn_of(agent, version)
    (first,) = announced(client)
    text = {"type": "content", "content": {"type": "text", "text": "one"}}
    image = {"type": "content", "content": {"type": "image", "data": "aGk=", "mimeType": "image/png"}}
    assert first["content"] == [text, image]
    items = [item for update in client.updates() if (item := shown_last(update)) is not None]
    assert items[-1]["type"] == "diff"
    if version == 2:
        assert [change["path"] for change in items[-1]["changes"]] == [f"{CWD}/a.py"]
    else:
        assert (items[-1]["path"], items[-1]["oldText"], items[-1]["newText"]) == (f"{CWD}/a.py", "old\n", "new\n")


def shown_last(update: dict[str, Any]) -> dict[str, Any] | None:
    if update["sessionUpdate"] == "tool_call_content_chunk":
        return update["content"]
    return update["content"][-1] if update["sessionUpdate"] in CALL_UPDATES and "content" in update else None


TERMINAL = {
    "terminal__create": {"terminalId": "term_xyz789"},
    "terminal__wait_for_exit": {"exitCode": 0},
    "terminal__output": {"output": "hi\n", "truncated": False},
    "terminal__release": {},
}


@pytest.mark.requirement("TOOL-37", "TERM-31", "TOOL-33")
async def test_a_command_is_shown_by_the_id_of_its_terminal_which_is_not_used_after_its_release():
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Run", kind="execute") as call:
            await turn.run("ls", call=call)

    client = await turn_of(agent, 1, **TERMINAL)
    shown = [item for update in calls(client) for item in update.get("content", ())]
    assert {"type": "terminal", "terminalId": "term_xyz789"} in shown
    asked = [heard for heard in client.received if (heard.method or "").startswith("terminal/")]
    assert [heard.method for heard in asked] == [
        "terminal/create",
        "terminal/wait_for_exit",
        "terminal/output",
        "terminal/release",
    ]
    assert {heard.params["terminalId"] for heard in asked[1:]} == {"term_xyz789"}


@pytest.mark.requirement("TERM-04", "TERM-14", "TERM-18", "TERM-30")
async def test_every_request_about_a_terminal_names_its_session_and_the_terminal_also_when_it_is_killed():
    agent = plain_agent()
    killed = asyncio.Event()

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.run("sleep", "60", deadline=0.01)

    async def ended(asked: Any) -> Any:
        await killed.wait()
        return {"exitCode": None, "signal": "SIGTERM"}

    def kill(asked: Any) -> Any:
        killed.set()
        return {}

    client = await turn_of(agent, 1, **{**TERMINAL, "terminal__wait_for_exit": ended, "terminal__kill": kill})
    asked = [heard for heard in client.received if (heard.method or "").startswith("terminal/")]
    assert [heard.method for heard in asked] == [
        "terminal/create",
        "terminal/wait_for_exit",
        "terminal/kill",
        "terminal/output",
        "terminal/release",
    ]
    assert {heard.params["sessionId"] for heard in asked} == {client.session_id}
    assert {heard.params["terminalId"] for heard in asked[1:]} == {"term_xyz789"}


@pytest.mark.requirement("TERM-05", "TERM-06", "TERM-07", "TERM-08", "TERM-09")
async def test_a_command_goes_with_its_arguments_and_variables_apart():
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.run("make", "-j", "two", cwd="sub", env={"COLOUR": "no", "B": "2"}, output_limit=99)
        await turn.run("ls")

    client = await turn_of(agent, 1, **TERMINAL)
    make, plain = (heard.params for heard in client.calls("terminal/create"))
    assert (make["command"], make["args"]) == ("make", ["-j", "two"])
    assert make["env"] == [{"name": "COLOUR", "value": "no"}, {"name": "B", "value": "2"}]
    assert (make["cwd"], make["outputByteLimit"]) == (f"{CWD}/sub", 99)
    assert (plain["command"], plain.get("args", []), plain.get("env", [])) == ("ls", [], [])
    assert plain["cwd"] == CWD


@pytest.mark.requirement("TERM-13")
async def test_an_agent_works_on_while_its_command_runs():
    agent = plain_agent()
    said = asyncio.Event()

    @agent.prompt
    async def work(turn: Turn) -> None:
        running = asyncio.ensure_future(turn.run("make"))
        await turn.say("meanwhile")
        said.set()
        await turn.say(f", then {(await running).code}")

    async def ended(asked: Any) -> Any:
        await said.wait()  # the command ends only after the agent has gone on
        return {"exitCode": 3}

    client = await turn_of(agent, 1, **{**TERMINAL, "terminal__wait_for_exit": ended})
    assert client.said() == "meanwhile, then 3"


@pytest.mark.bad_frames
@pytest.mark.requirement("AMB-64", "AMB-65", "AMB-48")
@pytest.mark.parametrize(
    ("ended", "seen", "expected"),
    [
        ({"exitCode": None, "signal": "SIGTERM"}, {"exitStatus": None}, (None, "SIGTERM")),
        ({"exitCode": None, "signal": 9}, {}, (None, "9")),
        ({"exitCode": 4, "signal": None}, {"exitStatus": None}, (4, None)),
        ({}, {"exitStatus": {"exitCode": 5, "signal": None}}, (5, None)),
    ],
    ids=str,
)
async def test_null_is_no_exit_and_a_signal_may_be_a_number(ended, seen, expected):
    agent = plain_agent(strict=False)
    ran: list[Any] = []

    @agent.prompt
    async def work(turn: Turn) -> None:
        ran.append(await turn.run("make"))

    output = {"output": "", "truncated": False, **seen}
    await turn_of(agent, 1, **{**TERMINAL, "terminal__wait_for_exit": ended, "terminal__output": output})
    assert (ran[0].code, ran[0].signal) == expected


@pytest.mark.requirement("FS-04", "FS-05", "FS-10", "FS-11", "FS-12")
async def test_files_are_asked_for_by_the_session_and_an_absolute_path(tmp_path: Path):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.files.write("notes.txt", "hello")
        await turn.files.read("notes.txt")

    kept: dict[str, str] = {}
    client = ScriptedClient(agent, 1, capabilities=EVERYTHING)

    def written(asked: Any) -> Any:
        kept[asked.params["path"]] = asked.params["content"]
        return {}

    async with client:
        client.on("fs/write_text_file", written)
        client.on("fs/read_text_file", lambda asked: {"content": kept.get(asked.params["path"], "")})
        session = await client.new_session(str(tmp_path))
        assert await client.stop_reason(client.prompt("go")) == "end_turn"
    write, *reads = (heard for heard in client.received if (heard.method or "").startswith("fs/"))
    assert write.params["sessionId"] == session
    assert write.params["path"] == str(tmp_path / "notes.txt")
    assert write.params["content"] == "hello"
    assert {heard.params["sessionId"] for heard in reads} == {session}
    assert all(heard.params["path"].startswith("/") for heard in reads)


@pytest.mark.requirement("PLAN-03", "PLAN-04", "PLAN-05", "PLAN-06", "UPDATE-08")
async def test_every_plan_entry_is_sent_with_its_text_its_priority_and_its_status(version):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.plan(
            [
                PlanEntry(content="read", priority="high", status="completed"),
                PlanEntry(content="edit", priority="low", status="in_progress"),
                "test",
            ]
        )

    client = await turn_of(agent, version)
    (update,) = (each for each in client.updates() if each["sessionUpdate"] in ("plan", "plan_update"))
    entries = update["entries"] if version == 1 else update["plan"]["entries"]
    assert [(entry["content"], entry["priority"], entry["status"]) for entry in entries] == [
        ("read", "high", "completed"),
        ("edit", "low", "in_progress"),
        ("test", "medium", "pending"),
    ]


@pytest.mark.requirement("PLAN-05", "PLAN-06")
async def test_a_priority_and_a_status_of_the_authors_own_become_listed_ones_where_the_list_is_closed(version):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.plan([PlanEntry(content="read", priority="_urgent", status="_blocked")])

    client = await turn_of(agent, version)
    (update,) = (each for each in client.updates() if each["sessionUpdate"] in ("plan", "plan_update"))
    (entry,) = update["entries"] if version == 1 else update["plan"]["entries"]
    expected = {1: ("medium", "in_progress"), 2: ("_urgent", "_blocked"), "2-draft": ("_urgent", "in_progress")}
    assert (entry["priority"], entry["status"]) == expected[version]


@pytest.mark.requirement("MODE-02", "MODE-03", "MODE-04", "MODE-05", "MODE-06", "MODE-07")
@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_modes_are_listed_with_an_id_a_name_and_the_description_that_there_is(version):
    agent = plain_agent()
    described = OptionChoice(value="ask", name="Ask first", description="Asks before every change")
    agent.option("mode", choices=[described, ("code", "Write code")], default="code")
    client = ScriptedClient(agent, version)
    async with client:
        await client.initialize()
        answer = await client.ask("session/new", {"cwd": CWD, "mcpServers": []})
    modes = answer.result["modes"]
    assert modes["availableModes"] == [
        {"id": "ask", "name": "Ask first", "description": "Asks before every change"},
        {"id": "code", "name": "Write code"},
    ]
    assert modes["currentModeId"] == "code"


@pytest.mark.requirement("MODE-13", "MODE-14", "UPDATE-10")
@pytest.mark.parametrize("answer", ["allow_once", "reject_once"])
async def test_a_tool_may_leave_a_mode_after_the_user_allowed_it(answer):
    agent = plain_agent()
    agent.option("mode", choices=["plan", "code"])

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Start coding", kind="switch_mode") as call:
            if await turn.allowed(call):
                await turn.set_mode("code")

    client = ScriptedClient(agent, 1)

    def choose(asked: Any) -> Any:
        assert asked.params["toolCall"]["kind"] == "switch_mode"
        assert not client.updates("current_mode_update")
        (chosen,) = (option for option in asked.params["options"] if option["kind"] == answer)
        return {"outcome": {"outcome": "selected", "optionId": chosen["optionId"]}}

    async with client:
        client.on("session/request_permission", choose)
        await client.new_session(CWD)
        assert await client.stop_reason(client.prompt("go")) == "end_turn"
    told = [update["currentModeId"] for update in client.updates("current_mode_update")]
    assert told == (["code"] if answer == "allow_once" else [])


@pytest.mark.requirement("UPDATE-09", "CMD-02", "CMD-03", "CMD-04", "CMD-05", "CMD-06")
async def test_commands_are_announced_as_a_list_which_is_sent_whole(version):
    agent = plain_agent()
    agent.prompt(nothing)
    for name, hint in [("review", "which file"), ("test", None)]:
        agent.command(name, f"Do {name}", hint=hint)(nothing)
    client = await turn_of(agent, version)
    (update,) = client.updates("available_commands_update")
    review, test = update["availableCommands"]
    assert (review["name"], review["description"], review["input"]["hint"]) == ("review", "Do review", "which file")
    assert (test["name"], test["description"]) == ("test", "Do test")
    assert test.get("input") is None


@pytest.mark.requirement("UPDATE-01", "UPDATE-02", "UPDATE-04", "UPDATE-05")
async def test_what_is_said_and_thought_goes_out_as_one_block_a_chunk_under_the_session(version):
    agent = plain_agent()
    picture = Image(data="aGk=", mime_type="image/png")

    @agent.prompt
    async def speak(turn: Turn) -> None:
        await turn.think("hm")
        await turn.say("Hello")
        await turn.say(picture)

    client = await turn_of(agent, version)
    assert {heard.params["sessionId"] for heard in client.calls("session/update")} == {client.session_id}
    assert all(heard.params.keys() <= {"sessionId", "update", "_meta"} for heard in client.calls("session/update"))
    said = [
        (update["sessionUpdate"], update["content"])
        for update in client.updates()
        if "chunk" in update["sessionUpdate"]
    ]
    assert said == [
        ("agent_thought_chunk", {"type": "text", "text": "hm"}),
        ("agent_message_chunk", {"type": "text", "text": "Hello"}),
        ("agent_message_chunk", {"type": "image", "data": "aGk=", "mimeType": "image/png"}),
    ]


@pytest.mark.requirement("UPDATE-14", "UPDATE-24", "AMB-52")
async def test_chunks_of_one_message_share_its_id_which_no_other_message_has(version):
    agent = plain_agent()

    @agent.prompt
    async def speak(turn: Turn) -> None:
        await turn.think("hm")
        await turn.say("one ")
        await turn.say("message")
        async with turn.tool_call("Look"):
            pass
        await turn.say("another")

    client = await turn_of(agent, version, prompts=2)
    ids: dict[str, list[str]] = {}
    for update in client.updates():
        if update["sessionUpdate"].endswith("_message_chunk") or update["sessionUpdate"] == "agent_thought_chunk":
            ids.setdefault(update["messageId"], []).append(update["content"]["text"])
    assert all(isinstance(id, str) and id for id in ids)
    assert list(ids.values()) == [["hm"], ["one ", "message"], ["another"]] * 2


@pytest.mark.requirement("UPDATE-03", "UPDATE-04")
async def test_a_loaded_session_is_told_by_chunks_of_the_user_and_of_the_agent():
    agent = plain_agent(store=MemoryStore())

    @agent.prompt
    async def answer(turn: Turn) -> None:
        await turn.say("Hello")

    client = await turn_of(agent, 1)
    async with ScriptedClient(agent, 1) as second:
        await second.initialize()
        loaded = {"sessionId": client.session_id, "cwd": CWD, "mcpServers": []}
        assert (await second.ask("session/load", loaded)).error is None
        told = [(update["sessionUpdate"], update["content"]) for update in second.updates() if "content" in update]
    assert told == [
        ("user_message_chunk", {"type": "text", "text": "go"}),
        ("agent_message_chunk", {"type": "text", "text": "Hello"}),
    ]


@pytest.mark.requirement("PERM-02", "PERM-03", "PERM-04", "PERM-05", "PERM-06", "PERM-07")
async def test_a_question_names_the_session_the_call_and_each_option_with_id_name_and_kind(version):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Delete a.py", kind="delete") as call:
            await turn.allowed(call)

    client = ScriptedClient(agent, version)
    async with client:
        client.on("session/request_permission", {"outcome": {"outcome": "cancelled"}})
        await client.new_session(CWD)
        await client.stop_reason(client.prompt("go"))
    (asked,) = client.calls("session/request_permission")
    (call,) = announced(client)
    assert asked.params["sessionId"] == client.session_id
    subject = asked.params["subject"]["toolCall"] if version == 2 else asked.params["toolCall"]
    assert (subject["toolCallId"], subject["title"]) == (call["toolCallId"], "Delete a.py")
    options = asked.params["options"]
    assert [option["kind"] for option in options] == ["allow_once", "allow_always", "reject_once", "reject_always"]
    assert len({option["optionId"] for option in options}) == 4
    assert all(isinstance(option["name"], str) and option["name"] for option in options)


@pytest.mark.bad_frames
@pytest.mark.requirement("AMB-58", "PERM-13", "PERM-14")
@pytest.mark.parametrize(
    "answer",
    [
        {"outcome": {"outcome": "selected", "optionId": "nobody"}},
        {"outcome": {"outcome": "selected", "optionId": "Allow"}},
        {"outcome": {"outcome": "approved", "optionId": "allow"}},
        {"outcome": {"outcome": "selected"}},
        {"outcome": {"optionId": "allow"}},
        {"outcome": "selected", "optionId": "allow"},
        {"outcome": {"outcome": "cancelled", "optionId": "allow"}},
        {},
        Denied("no"),
    ],
    ids=str,
)
async def test_whatever_is_not_an_option_that_was_offered_is_a_no(version, answer):
    """FN-44: and it is remembered by nobody."""
    agent = plain_agent(strict=False)

    @agent.prompt
    async def work(turn: Turn) -> None:
        for _ in range(2):
            async with turn.tool_call("Delete a.py", kind="delete") as call:
                await turn.say("yes" if await turn.allowed(call) else "no")

    client = ScriptedClient(agent, version)
    async with client:
        client.on("session/request_permission", answer)
        await client.new_session(CWD)
        assert await client.stop_reason(client.prompt("go")) == "end_turn"
    said = [update["content"]["text"] for update in client.updates("agent_message_chunk")]
    assert said == ["no", "no"]
    assert len(client.calls("session/request_permission")) == 2


async def nothing(turn: Turn) -> None: ...
