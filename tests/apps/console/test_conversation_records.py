"""Conversations that are kept here: what an agent can't tell again can still be read."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accord.apps.console import conversation_records as records_module
from accord.apps.console.conversation_records import ConversationRecords, RecordHeader
from accord.apps.console.known_agents import KnownAgent
from accord.session import Transcript
from accord.session.content import Text, render_text
from accord.session.entities import AGENT, Message
from accord.session.updates import MessagePatch
from accord.testing import ScriptedAgent, program
from tests.apps.console.screen.stage import opened

TESTER = KnownAgent(name="tester", command=["tester"], source="command").key  # as the stage opens it


def said(transcripts: list[Transcript]) -> list[str]:
    return [render_text(place.content) for part in transcripts for place in part.timeline if isinstance(place, Message)]


def lines(*texts: str) -> list[bytes]:
    patches = [MessagePatch(role=AGENT, id=str(number), content=[Text(text)]) for number, text in enumerate(texts)]
    return [msgspec.json.encode(patch) for patch in patches]


def recorded(session_id: str, **given: Any) -> RecordHeader:
    return RecordHeader(agent="a", session_id=session_id, cwd="/x", **given)


def a_talker(**can: Any) -> ScriptedAgent:
    agent = ScriptedAgent(1, agentCapabilities=can)
    agent.on("session/new", {"sessionId": "first"}, {"sessionId": "second"})
    agent.on("session/resume", {})
    agent.on("session/prompt", lambda asked: agent.reply(f"You said {asked.params['prompt'][0]['text']}.")(asked))
    return agent


def test_what_is_kept_is_found_by_its_agent_and_session(tmp_path: Path):
    records = ConversationRecords(tmp_path)
    records.save(recorded("1", title="One"), lines("Hello", "there"))
    records.save(recorded("2"), lines("Other"))
    assert said(records.transcripts("a", "1")) == ["Hello", "there"]
    assert records.transcripts("b", "1") == []
    assert {each.session_id for each in records.summaries("a")} == {"1", "2"}
    assert records.summaries("b") == []
    assert (records.delete("a", "1"), records.delete("a", "1")) == (True, False)
    assert records.transcripts("a", "1") == []


def test_nobody_else_can_read_it(tmp_path: Path):
    ConversationRecords(tmp_path).save(recorded("1"), lines("Hello"))
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "conversations").iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE((tmp_path / "conversations").stat().st_mode) == 0o700


def test_there_are_never_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(records_module, "_MOST", 3)
    records = ConversationRecords(tmp_path)
    for number in range(6):
        records.save(recorded(str(number)), lines("Hello"))
    assert len(records.summaries("a")) == 3


def test_what_is_damaged_costs_only_itself(tmp_path: Path):
    records = ConversationRecords(tmp_path)
    records.save(recorded("1"), [b"{broken", *lines("Hello"), b'{"report":"FromTheFuture"}', b"\xff"])
    assert said(records.transcripts("a", "1")) == ["Hello"]
    (tmp_path / "conversations" / "x.jsonl").write_bytes(b"\xff\n")
    assert len(records.summaries("a")) == 1


def test_a_long_conversation_is_kept_by_its_end():
    assert records_module._within([b"x" * 3 * 2**20] * 3) == [b"x" * 3 * 2**20]


async def test_a_run_can_be_read_again(typed: Any, version: Any):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", agent.reply("Hello \x1b[2J"))
    for method in ("session/list", "session/load", "session/resume"):
        agent.on(method, lambda asked: asked.fail(-32603, "Not today"))
    async with program(agent) as command:
        await typed("run", "Hi", "--", *command.args)
        session_id = agent.calls("session/prompt")[0].session_id
        shown = await typed("sessions", "--show", session_id, "--", *command.args)
        as_json = await typed("sessions", "--json", "--show", session_id, "--", *command.args)
    assert shown.out == "# A conversation\n\n## User\n\nHi\n\n## Agent\n\nHello ␛[2J\n"
    assert msgspec.json.decode(as_json.out)["format"] == "accord transcript"


async def test_a_session_that_is_resumed_keeps_what_was_said_before(typed: Any):
    agent = a_talker(sessionCapabilities={"resume": {}})
    async with program(agent) as command:
        await typed("run", "one", "--", *command.args)
        await typed("run", "--continue", "two", "--", *command.args)
        shown = await typed("sessions", "--show", "first", "--", *command.args)
    assert [line for line in shown.out.splitlines() if line.startswith("You")] == ["You said one.", "You said two."]


async def test_a_new_session_keeps_nothing_of_an_old_one_with_its_id(typed: Any):
    agent = a_talker()
    agent.on("session/new", {"sessionId": "first"})
    async with program(agent) as command:
        await typed("run", "one", "--", *command.args)
        await typed("run", "two", "--", *command.args)
        shown = await typed("sessions", "--show", "first", "--", *command.args)
    assert [line for line in shown.out.splitlines() if line.startswith("You")] == ["You said two."]


async def test_an_agent_that_lists_nothing_has_those_listed_that_were_held_here(typed: Any, project: Path):
    agent = a_talker()
    async with program(agent) as command:
        await typed("run", "buy milk", "--", *command.args)
        await typed("run", "mow the lawn", "--", *command.args)
        everything = await typed("sessions", "--json", "--", *command.args)
        found = await typed("sessions", "MILK", "--", *command.args)
        nothing = await typed("sessions", "--cwd", project.parent, "--", *command.args)
        deleted = await typed("sessions", "--delete", "first", "--", *command.args)
        left = await typed("sessions", "--json", "--", *command.args)
        gone = await typed("sessions", "--show", "first", "--", *command.args)
        again = await typed("sessions", "--delete", "first", "--", *command.args)
    assert {each["session_id"] for each in msgspec.json.decode(everything.out)} == {"first", "second"}
    assert "does not list its sessions" in everything.err
    assert [line.split()[0] for line in found.out.splitlines()] == ["first"]
    assert "has kept no session" in nothing.out
    assert (deleted.status, [each["session_id"] for each in msgspec.json.decode(left.out)]) == (0, ["second"])
    assert (gone.status, "nothing was kept here of the session 'first'" in gone.err) == (1, True)
    assert again.status == 1


async def test_a_session_of_an_agent_that_loads_is_shown_by_loading_it(typed: Any):
    agent = ScriptedAgent(1)

    def load(asked: Any) -> Any:
        agent.update("agent_message_chunk", session_id="old", content={"type": "text", "text": "long ago"})
        return {}

    agent.on("session/load", load)
    async with program(agent) as command:
        shown = await typed("sessions", "--show", "old", "--", *command.args)
    assert "long ago" in shown.out


async def test_whoever_wants_none_has_none(typed: Any, home: Path):
    (home / "config.toml").write_text("conversations = false\n")
    agent = a_talker()
    async with program(agent) as command:
        await typed("run", "one", "--", *command.args)
    assert not list(home.rglob("conversations"))  # noqa: ASYNC240  # nothing else runs


@pytest.mark.parametrize("can", [{}, {"sessionCapabilities": {"resume": {}}}, {"loadSession": True}])
async def test_the_screen_shows_what_the_agent_does_not_tell(tmp_path: Path, can: dict[str, Any]):
    agent, records = a_talker(**can), ConversationRecords(tmp_path / "state")
    agent.on("session/load", {})
    async with opened(agent, tmp_path, version=1, records=records) as stage:
        await stage.send("one")
        await stage.idle()
    async with opened(agent, tmp_path, version=1, records=records, resume="first") as stage:
        await stage.shows("▌ one", "You said one.")
        await stage.send("two")
        await stage.shows("You said two.")
        await stage.idle()
        assert stage.conversation.count("You said") == 2, "each in a place of its own"
    if can:
        assert said(records.transcripts(TESTER, "first")) == ["one", "You said one.", "two", "You said two."]


async def test_the_list_on_the_screen_is_of_what_was_held_here(tmp_path: Path):
    agent, records = a_talker(), ConversationRecords(tmp_path / "state")
    records.save(
        RecordHeader(agent=TESTER, session_id="old", cwd=str(tmp_path), title="The old one"), lines("Long ago")
    )
    async with opened(agent, tmp_path, version=1, records=records) as stage:
        await stage.press("f3")
        await stage.shows("The old one", "Ctrl+X delete")
        await stage.press("enter")
        await stage.shows("Long ago", "this agent cannot reopen sessions")
        await stage.press("f3")
        await stage.shows("The old one")
        await stage.press("ctrl+x")
        await stage.shows("Keep it")
        await stage.press("down", "enter")
        await stage.until(lambda: not records.summaries(TESTER))


async def test_a_session_in_which_nothing_was_said_is_not_left_behind(tmp_path: Path):
    agent = ScriptedAgent(1)
    agent.on("session/delete", {})
    agent.on("session/prompt", agent.reply("Hello"))
    async with opened(agent, tmp_path, version=1) as stage:
        unused = stage.tab.session_id
    assert [call.params["sessionId"] for call in agent.calls("session/delete")] == [unused]
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Hi")
        await stage.idle()
    assert len(agent.calls("session/delete")) == 1
