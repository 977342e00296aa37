"""`accord run` as a program, against a scripted agent in every version."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from accord.apps.console.run import event_types
from accord.session.content import Text
from accord.session.entities import Diff, FileChange, Plan, PlanEntry, SlashCommand
from accord.session.updates import (
    CommandsPatch,
    MessageAppend,
    PlanPatch,
    ToolCallPatch,
    UsagePatch,
)
from accord.testing import ScriptedAgent, program


def working(agent: ScriptedAgent, *reports: Any, text: str = "Done.", stop_reason: str = "end_turn") -> Any:
    """A turn that tells these and then says something."""

    def answer(asked: Any) -> None:
        agent.begin(asked)
        for report in reports:
            agent.tell(report)
        agent.say(text)
        agent.finish(asked, stop_reason)

    return answer


def asking(agent: ScriptedAgent, kind: str = "edit") -> Any:
    """A turn that asks for a permission and says what came of it."""

    async def answer(asked: Any) -> None:
        agent.begin(asked)
        options = [
            {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
        ]
        call = {"toolCallId": "c", "title": "Write \x1b]0;a.py\x07", "kind": kind}
        about: dict[str, Any] = {"toolCall": call}
        if agent.version == 2:
            about = {"title": call["title"], "subject": {"type": "tool_call", "toolCall": call}}
        session = {"sessionId": agent.session_id, "options": options}
        said = await agent.ask("session/request_permission", {**session, **about})
        agent.say(str(said.result["outcome"].get("optionId", said.result["outcome"]["outcome"])))
        agent.finish(asked)

    return answer


class TestText:
    async def test_the_answer_is_on_stdout_and_nothing_else(self, typed, version):
        agent = ScriptedAgent(version)
        thought = MessageAppend(role="thought", id="t", content=Text("Let me think"))
        call = ToolCallPatch(id="c", title="Read a.py", kind="read", status="pending", creates=True)
        done = ToolCallPatch(id="c", status="completed")
        agent.on("session/prompt", working(agent, thought, call, done, text="Hello\nyou"))
        async with program(agent) as command:
            finished = await typed("run", "Hi", "there", "--", *command.args)
        assert (finished.status, finished.out) == (0, "Hello\nyou\n")
        assert finished.notes == [
            "no terminal is attached, so whatever needs a permission is rejected (--permissions changes that)",
            "Let me think",
            "→ Read a.py",
            "✓ Read a.py",
        ]
        assert agent.calls("session/prompt")[0].params["prompt"] == [{"type": "text", "text": "Hi there"}]
        agent.check()

    async def test_quiet_means_quiet(self, typed, version):
        agent = ScriptedAgent(version)
        call = ToolCallPatch(id="c", title="Read a.py", status="completed", creates=True)
        agent.on("session/prompt", working(agent, call, text="Hello"))
        async with program(agent) as command:
            finished = await typed("run", "-q", "Hi", "--", *command.args)
        assert (finished.status, finished.out, finished.err) == (0, "Hello\n", "")

    async def test_it_says_what_else_happens(self, typed, version):
        agent = ScriptedAgent(version)
        plan = Plan(id="p", entries=[PlanEntry("Look", status="completed"), PlanEntry("Mend", status="in_progress")])
        failed = ToolCallPatch(id="c", title="Run tests", status="failed", creates=True)
        agent.on("session/prompt", working(agent, PlanPatch(plan=plan), UsagePatch(used=1200, size=200000), failed))
        async with program(agent) as command:
            finished = await typed("run", "Hi", "--", *command.args)
        lines = finished.err.splitlines()
        assert "plan: 1 of 2 done, now: Mend" in lines
        assert "✗ Run tests" in lines
        assert "1,200 of 200,000 tokens" in lines

    async def test_hostile_text_and_titles_can_not_reach_the_terminal(self, typed, version):
        agent = ScriptedAgent(version)
        call = ToolCallPatch(id="c", title="\x1b[2Jls\nrm -rf /", status="completed", creates=True)
        agent.on("session/prompt", working(agent, call, text="\x1b]0;mine\x07 ok"))
        async with program(agent) as command:
            finished = await typed("run", "Hi", "--", *command.args)
        assert finished.out == "␛]0;mine␇ ok\n"
        assert "✓ ␛[2Jls rm -rf /" in finished.err
        assert "\x1b" not in finished.out + finished.err


class TestEvents:
    async def test_each_event_is_a_line_of_json_between_start_and_end(self, typed, version, project):
        agent = ScriptedAgent(version)
        call = ToolCallPatch(id="c", title="Read", kind="read", status="in_progress", creates=True)
        commands = CommandsPatch(commands=[SlashCommand("go", "Goes")])
        agent.on("session/prompt", working(agent, commands, call, ToolCallPatch(id="c", status="completed")))
        async with program(agent) as command:
            finished = await typed("run", "--json", "Hi", "--", *command.args)
        assert finished.status == 0
        kinds = [event["type"] for event in finished.events]
        assert (kinds[0], kinds[-1]) == ("start", "end")
        assert finished.event("start") == {
            "type": "start",
            "format": 2,
            "accord": finished.event("start")["accord"],
            "agent": finished.event("start")["agent"],
            "agent_version": finished.event("start")["agent_version"],
            "protocol": 1 if version == 1 else 2,
            "session_id": agent.session_id,
            "cwd": str(project),
            "resumed": False,
        }
        assert [event["status"] for event in finished.events if event["type"] == "tool_call"][-1] == "completed"
        assert finished.event("commands")["commands"][0]["name"] == "go"
        assert "".join(event["text"] for event in finished.events if event["type"] == "text") == "Done."
        assert finished.event("end") == {
            "type": "end",
            "format": 2,
            "exit": 0,
            "stop_reason": "end_turn",
            "session_id": agent.session_id,
            "error": None,
            "files_changed": [],
        }
        assert set(kinds) <= {kind.__struct_config__.tag for kind in event_types.EVENTS}

    async def test_an_update_that_nobody_knows_is_told_whole(self, typed, version, monkeypatch):
        monkeypatch.delenv("ACCORD_STRICT", raising=False)
        agent = ScriptedAgent(version)

        def answer(asked: Any) -> None:
            agent.begin(asked)
            agent.update("_acme_weather", sun=True)
            agent.finish(asked)

        agent.on("session/prompt", answer)
        async with program(agent) as command:
            finished = await typed("run", "--json", "Hi", "--", *command.args)
        assert finished.event("update")["raw"]["sun"] is True

    async def test_a_tool_call_is_told_when_it_begins_and_when_it_ends_and_whole(self, typed):
        agent = ScriptedAgent(2)

        def answer(asked: Any) -> None:
            agent.begin(asked)
            agent.tell(ToolCallPatch(id="c", title="Talk", status="in_progress", creates=True))
            for word in ("one", "two", "three"):
                item = {"type": "content", "content": {"type": "text", "text": word}}
                agent.update("tool_call_content_chunk", toolCallId="c", content=item)
            agent.tell(ToolCallPatch(id="c", status="completed"))
            agent.finish(asked)

        agent.on("session/prompt", answer)
        async with program(agent) as command:
            finished = await typed("run", "--json", "Hi", "--", *command.args)
        begun, ended = [event for event in finished.events if event["type"] == "tool_call"]
        assert (begun["status"], begun["created"], begun["content"]) == ("in_progress", True, [])
        assert (ended["status"], ended["created"], ended["changed"]) == ("completed", False, ["content", "status"])
        assert [item["content"]["text"] for item in ended["content"]] == ["one", "two", "three"]

    async def test_a_run_that_fails_ends_with_the_reason(self, typed, version):
        agent = ScriptedAgent(version)
        agent.on("session/prompt", lambda asked: asked.fail(-32603, "The model is down"))
        async with program(agent) as command:
            finished = await typed("run", "--json", "Hi", "--", *command.args)
        assert finished.status == 1
        end = finished.event("end")
        assert (end["exit"], end["session_id"]) == (1, agent.session_id)
        assert "The model is down" in end["error"]["reason"]
        assert "The model is down" in finished.err


class TestWire:
    @pytest.mark.parametrize("asked", ["v1", "v2"])
    async def test_the_updates_of_the_protocol_are_written_in_the_version_asked_for(self, typed, version, asked):
        agent = ScriptedAgent(version)
        call = ToolCallPatch(id="c", title="Read", kind="read", status="completed", creates=True)
        agent.on("session/prompt", working(agent, call, text="Hello"))
        async with program(agent) as command:
            finished = await typed("run", "--format", asked, "Hi", "--", *command.args)
        assert finished.status == 0
        assert {event["method"] for event in finished.events} == {"session/update"}
        updates = [event["params"]["update"] for event in finished.events]
        tags = [update["sessionUpdate"] for update in updates]
        assert ("state_update" in tags) == (asked == "v2")
        assert ("tool_call" in tags) == (asked == "v1")
        assert [each["content"]["text"] for each in updates if each["sessionUpdate"] == "agent_message_chunk"] == [
            "Hello"
        ]

    async def test_in_its_own_version_nothing_of_what_the_agent_sent_is_lost(self, typed):
        agent = ScriptedAgent(1)

        def answer(asked: Any) -> None:
            agent.update("agent_message_chunk", content={"type": "text", "text": "Hi"}, _meta={"acme": {"x": 1}})
            agent.finish(asked)

        agent.on("session/prompt", answer)
        async with program(agent) as command:
            finished = await typed("run", "--format", "v1", "Hi", "--", *command.args)
        assert finished.events[0]["params"]["update"]["_meta"] == {"acme": {"x": 1}}


class TestPrompts:
    async def test_a_prompt_comes_from_stdin(self, typed, project):
        agent = ScriptedAgent()
        agent.on("session/prompt", agent.reply("ok"))
        async with program(agent) as command:
            for words in (["run"], ["run", "-"]):
                finished = await typed(*words, "--", *command.args, stdin=b"From a pipe\n")
                assert finished.status == 0
        assert [call.params["prompt"][0]["text"] for call in agent.calls("session/prompt")] == ["From a pipe\n"] * 2

    async def test_a_prompt_comes_from_a_file(self, typed, project):
        agent = ScriptedAgent()
        agent.on("session/prompt", agent.reply("ok"))
        async with program(agent) as command:
            await typed("run", "--prompt-file", "notes.md", "--", *command.args)
        assert agent.calls("session/prompt")[0].params["prompt"][0]["text"].startswith("# Notes")

    async def test_files_are_embedded_where_the_agent_takes_that_and_linked_otherwise(self, typed, project):
        (project / "raw.bin").write_bytes(b"\xff\xfe")
        for embeds in (True, False):
            agent = ScriptedAgent(1, agentCapabilities={"promptCapabilities": {"embeddedContext": embeds}})
            agent.on("session/prompt", agent.reply("ok"))
            async with program(agent) as command:
                finished = await typed("run", "Look", "--file", "notes.md", "--file", "raw.bin", "--", *command.args)
            assert finished.status == 0
            _, notes, raw = agent.calls("session/prompt")[0].params["prompt"]
            if embeds:
                assert notes["resource"]["text"].startswith("# Notes")
                assert base64.b64decode(raw["resource"]["blob"]) == b"\xff\xfe"
            else:
                assert (notes["type"], notes["name"]) == ("resource_link", "notes.md")
                assert notes["uri"] == (project / "notes.md").as_uri()

    async def test_images_and_sounds_go_to_agents_that_take_them(self, typed, project):
        (project / "dot.png").write_bytes(b"\x89PNG")
        (project / "beep.wav").write_bytes(b"RIFF")
        agent = ScriptedAgent(1, agentCapabilities={"promptCapabilities": {"image": True, "audio": True}})
        agent.on("session/prompt", agent.reply("ok"))
        async with program(agent) as command:
            await typed("run", "--image", "dot.png", "--audio", "beep.wav", "--", *command.args)
        image, audio = agent.calls("session/prompt")[0].params["prompt"]
        assert (image["type"], image["mimeType"]) == ("image", "image/png")
        assert base64.b64decode(audio["data"]) == b"RIFF"

    async def test_what_the_agent_does_not_take_is_refused_before_it_is_sent(self, typed, project):
        (project / "dot.png").write_bytes(b"\x89PNG")
        agent = ScriptedAgent(1)
        async with program(agent) as command:
            finished = await typed("run", "Look", "--image", "dot.png", "--", *command.args)
        assert finished.status == 2
        assert "the agent takes no images" in finished.err
        assert agent.calls("session/prompt") == []

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["run"], "there is no prompt"),
            (["run", "  "], "there is no prompt"),
            (["run", "--file", "none.txt", "Hi"], "none.txt can't be read: No such file"),
            (["run", "--image", "notes.md", "Hi"], "does not look like an image by its name"),
            (["run", "--prompt-file", "notes.md", "Hi"], "two prompts"),
            (["run", "--json", "--format", "v1", "Hi"], "--json and --format"),
            (["run", "--session", "s", "--continue", "Hi"], "--session and --continue"),
            (["run", "--cwd", "/no/such/place", "Hi"], "is no directory"),
            (["run", "--agent", "gemni", "Hi"], "did you mean 'gemini'?"),
            (["run", "--permissions", "ask", "Hi"], "--permissions ask needs a terminal"),
            (["run", "--timeout", "-1", "Hi"], "--timeout"),
            (["run", "Hi", "--"], "no command after"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    async def test_what_is_wrong_on_the_command_line_is_said_in_a_line(self, typed, words, said):
        finished = await typed(*words)
        assert (finished.status, finished.out) == (2, "")
        assert said in finished.err
        assert "Traceback" not in finished.err


class TestSessions:
    async def test_a_session_is_taken_up_and_its_history_is_not_told_again(self, typed, version):
        agent = ScriptedAgent(version)
        agent.on("session/resume", {})
        agent.on("session/prompt", agent.reply("Again"))
        async with program(agent) as command:
            finished = await typed("run", "--session", "old", "--json", "Hi", "--", *command.args)
        assert finished.event("start")["resumed"] is True
        assert finished.event("start")["session_id"] == "old"
        assert agent.calls("session/prompt")[0].params["sessionId"] == "old"

    async def test_an_agent_that_only_loads_tells_its_history_and_we_do_not(self, typed):
        agent = ScriptedAgent(1, agentCapabilities={"loadSession": True})

        def load(asked: Any) -> Any:
            agent.update("agent_message_chunk", session_id="old", content={"type": "text", "text": "long ago"})
            return {}

        agent.on("session/load", load)
        agent.on("session/prompt", agent.reply("Now"))
        async with program(agent) as command:
            finished = await typed("run", "--resume=old", "Hi", "--", *command.args)
        assert finished.out == "Now\n"

    async def test_continue_takes_the_newest_of_this_directory(self, typed, version, project):
        agent = ScriptedAgent(version)
        kept = [
            {"sessionId": "older", "cwd": str(project), "updatedAt": "2026-01-01T00:00:00Z"},
            {"sessionId": "newer", "cwd": str(project), "updatedAt": "2026-02-01T00:00:00Z"},
        ]
        agent.on("session/list", {"sessions": kept})
        agent.on("session/resume", {})
        agent.on("session/prompt", agent.reply("ok"))
        async with program(agent) as command:
            finished = await typed("run", "--continue", "Hi", "--", *command.args)
        assert finished.status == 0
        assert agent.calls("session/list")[0].params["cwd"] == str(project)
        assert agent.calls("session/prompt")[0].params["sessionId"] == "newer"

    async def test_continue_remembers_for_agents_that_list_nothing(self, typed):
        agent = ScriptedAgent(1, agentCapabilities={"sessionCapabilities": {"resume": {}}})
        agent.on("session/resume", {})
        agent.on("session/prompt", agent.reply("ok"))
        async with program(agent) as command:
            first = await typed("run", "--continue", "Hi", "--", *command.args)
            assert (first.status, "has no earlier session" in first.err) == (1, True)
            await typed("run", "Hi", "--", *command.args)
            await typed("run", "--continue", "Hi again", "--", *command.args)
        assert agent.calls("session/resume")[0].params["sessionId"] == agent.calls("session/prompt")[0].session_id

    async def test_an_agent_that_can_not_is_not_asked(self, typed):
        agent = ScriptedAgent(1, agentCapabilities={})
        async with program(agent) as command:
            finished = await typed("run", "--session", "old", "Hi", "--", *command.args)
        assert (finished.status, "can't take up a session" in finished.err) == (1, True)

    async def test_sessions_are_listed_the_newest_first(self, typed, version, project):
        agent = ScriptedAgent(version)
        kept = [
            {"sessionId": "a", "cwd": "/x", "title": "Old \x1b[2J", "updatedAt": "2026-01-01T10:11:12Z"},
            {"sessionId": "b", "cwd": "/y", "updatedAt": "2026-02-01T10:11:12Z"},
        ]
        agent.on("session/list", {"sessions": kept})
        async with program(agent) as command:
            shown = await typed("sessions", "--", *command.args)
            as_json = await typed("sessions", "--json", "--cwd", project, "--", *command.args)
        assert shown.out.splitlines() == [
            "b  2026-02-01 10:11  without a title  /y",
            "a  2026-01-01 10:11  Old ␛[2J  /x",
        ]
        assert [each["session_id"] for each in msgspec.json.decode(as_json.out)] == ["b", "a"]
        assert "cwd" not in agent.calls("session/list")[0].params
        assert agent.calls("session/list")[1].params["cwd"] == str(project)


class TestPermissions:
    @pytest.mark.parametrize(
        ("chosen", "kind", "answer"),
        [
            (None, "edit", "no"),
            ("reject", "read", "no"),
            ("allow-reads", "read", "yes"),
            ("allow-reads", "edit", "no"),
            ("allow-edits", "edit", "yes"),
            ("allow-edits", "execute", "no"),
            ("allow-edits", "delete", "no"),
            ("allow-all", "delete", "yes"),
        ],
    )
    async def test_only_what_was_chosen_is_allowed(self, typed, chosen, kind, answer):
        agent = ScriptedAgent(1)
        agent.on("session/prompt", asking(agent, kind))
        words = ["--permissions", chosen] if chosen else []
        async with program(agent) as command:
            finished = await typed("run", "--json", *words, "Hi", "--", *command.args)
        decided = finished.event("permission")
        assert (decided["allowed"], decided["option_id"], decided["by"]) == (answer == "yes", answer, "rule")
        assert finished.event("text")["text"] == answer

    async def test_a_no_is_said_and_what_would_be_a_yes(self, typed, version):
        agent = ScriptedAgent(version)
        agent.on("session/prompt", asking(agent))
        async with program(agent) as command:
            finished = await typed("run", "Hi", "--", *command.args)
        assert "rejected: Write ␛]0;a.py␇ (edit)" in finished.err
        assert "--permissions allow-edits" in finished.err

    @pytest.mark.parametrize(
        ("chosen", "offered"),
        [("reject", (True, False, False)), ("allow-edits", (True, True, True)), ("allow-all", (True, True, True))],
    )
    async def test_the_clients_own_files_and_terminals_are_offered_likewise(self, typed, chosen, offered):
        agent = ScriptedAgent(1)
        agent.on("session/prompt", agent.reply("ok"))
        async with program(agent) as command:
            await typed("run", "--permissions", chosen, "Hi", "--", *command.args)
        can = agent.calls("initialize")[0].params["clientCapabilities"]
        files = can.get("fs", {})
        assert (files.get("readTextFile"), files.get("writeTextFile", False), can.get("terminal", False)) == offered

    async def test_a_terminal_of_ours_is_told_as_events(self, typed):
        agent = ScriptedAgent(1)

        async def answer(asked: Any) -> None:
            created = await agent.ask("terminal/create", {"sessionId": agent.session_id, "command": "echo hi"})
            about = {"sessionId": agent.session_id, "terminalId": created.result["terminalId"]}
            await agent.ask("terminal/wait_for_exit", about)
            await agent.ask("terminal/release", about)
            agent.finish(asked)

        agent.on("session/prompt", answer)
        async with program(agent) as command:
            finished = await typed("run", "--json", "--permissions", "allow-all", "Hi", "--", *command.args)
        assert finished.event("terminal")["command"] == "echo hi"
        assert finished.event("terminal_output")["text"] == "hi\n"
        assert [each["exit"]["code"] for each in finished.events if each["type"] == "terminal" and each["exit"]] == [0]


class TestChoices:
    MODELS: dict[str, Any] = {
        "sessionId": "s",
        "configOptions": [
            {
                "id": "m",
                "name": "Model",
                "category": "model",
                "type": "select",
                "currentValue": "small",
                "options": [{"value": "small", "name": "Small"}, {"value": "large-1", "name": "Large"}],
            }
        ],
    }

    async def test_a_model_is_chosen_by_its_value_or_its_name(self, typed):
        agent = ScriptedAgent(1)
        agent.on("session/new", self.MODELS)
        chosen = {**self.MODELS["configOptions"][0], "currentValue": "large-1"}
        agent.on("session/set_config_option", {"configOptions": [chosen]})
        agent.on("session/prompt", agent.reply("ok"))
        async with program(agent) as command:
            finished = await typed("run", "--model", "large", "Hi", "--", *command.args)
        assert finished.status == 0
        assert agent.calls("session/set_config_option")[0].params["value"] == "large-1"

    async def test_a_model_that_there_is_not_is_refused_with_the_nearest(self, typed):
        agent = ScriptedAgent(1)
        agent.on("session/new", self.MODELS)
        async with program(agent) as command:
            finished = await typed("run", "--model", "smal", "Hi", "--", *command.args)
        assert finished.status == 2
        assert "the agent has no model 'smal'; did you mean 'small'?" in finished.err
        assert "There are: small, large-1" in finished.err

    async def test_a_mode_is_chosen(self, typed):
        agent = ScriptedAgent(1)
        modes = {
            "currentModeId": "ask",
            "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
        }
        agent.on("session/new", {"sessionId": "s", "modes": modes})
        agent.on("session/set_mode", {})
        agent.on("session/prompt", agent.reply("ok"))
        async with program(agent) as command:
            assert (await typed("run", "--mode", "code", "Hi", "--", *command.args)).status == 0
            assert (await typed("run", "--model", "x", "Hi", "--", *command.args)).status == 2
        assert agent.calls("session/set_mode")[0].params["modeId"] == "code"


@pytest.mark.parametrize(
    ("stop_reason", "status"),
    [("end_turn", 0), ("max_tokens", 3), ("max_turn_requests", 4), ("refusal", 5), ("cancelled", 6)],
)
async def test_the_status_tells_why_the_agent_stopped(typed, version, stop_reason, status):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", agent.reply("So far", stop_reason=stop_reason))
    async with program(agent) as command:
        finished = await typed("run", "--json", "Hi", "--", *command.args)
    assert finished.status == finished.event("end")["exit"] == status
    assert finished.event("end")["stop_reason"] == stop_reason


@pytest.mark.requirement("COMPAT-20")
@pytest.mark.parametrize("version", [2, "2-draft"])
async def test_a_reason_that_nobody_knows_has_a_status_of_its_own(typed, version):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", agent.reply("So far", stop_reason="_tired"))
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert (finished.status, "the agent stopped: _tired" in finished.err) == (7, True)


async def test_servers_of_the_config_go_to_the_agent_and_those_it_does_not_take_are_told(typed, home):
    (home / "config.toml").write_text(
        '[servers.files]\ncommand = "files-server"\n\n[servers.web]\nurl = "https://example.org/mcp"\n'
    )
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("ok"))
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert [server["name"] for server in agent.calls("session/new")[0].params["mcpServers"]] == ["files"]
    assert "MCP servers for the agent to connect: files" in finished.err
    assert "MCP server 'web' is left out: the agent takes none of type http" in finished.err


async def test_an_agent_of_the_config_is_started_by_its_name_where_the_work_is(typed, home, project):
    agent = ScriptedAgent()
    agent.on("session/prompt", agent.reply("ok"))
    async with program(agent) as command:
        name, *args = command.args
        (home / "config.toml").write_text(f"[agents.mine]\ncommand = {name!r}\nargs = {args!r}\n")
        assert (await typed("run", "--agent", "mine", "Hi")).out == "ok\n"
        listed = await typed("agents")
    assert "mine        installed" in listed.out


async def test_a_piece_of_a_diff_is_part_of_the_event(typed):
    agent = ScriptedAgent(1)
    change = Diff(changes=[FileChange("modify", "/a.py", old_text="a\n", new_text="b\n")])
    agent.on("session/prompt", working(agent, ToolCallPatch(id="c", title="Edit", content=[change], creates=True)))
    async with program(agent) as command:
        finished = await typed("run", "--json", "Hi", "--", *command.args)
    assert finished.event("tool_call")["content"][0]["changes"][0]["new_text"] == "b\n"
