"""`accord sessions` and `accord agents`: what they list, show and delete, and what they say about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from accord.testing import ScriptedAgent, program


def a_keeper(*session_ids: str, **can: Any) -> ScriptedAgent:
    agent = ScriptedAgent(1, agentCapabilities={"sessionCapabilities": {"list": {}, "delete": {}}, **can})
    agent.on("session/list", {"sessions": [{"sessionId": each, "cwd": "/x"} for each in session_ids]})
    agent.on("session/delete", {})
    agent.on("session/new", {"sessionId": "first"})
    agent.on("session/prompt", agent.reply("Done."))
    return agent


async def test_an_agent_that_can_not_be_started_leaves_what_was_kept_here(typed: Any, home: Path, tmp_path: Path):
    agent = tmp_path / "agent"
    async with program(a_keeper("first")) as command:
        agent.write_text("#!/bin/sh\nexec " + " ".join(command.args))
        agent.chmod(0o755)
        await typed("run", "Hi", "--", agent)
    agent.unlink()
    deleted = await typed("sessions", "--delete", "first", "--", agent)
    assert deleted.status == 127
    shown = await typed("sessions", "--show", "first", "--", agent)
    assert (shown.status, "Done." in shown.out) == (0, True)
    assert "is not there; this was kept here" in shown.err


async def test_a_session_that_nobody_has_is_not_deleted(typed: Any):
    agent = a_keeper("first")
    async with program(agent) as command:
        nothing = await typed("sessions", "--delete", "nope", "--", *command.args)
        deleted = await typed("sessions", "--delete", "first", "--", *command.args)
    assert (nothing.status, "has no session 'nope'" in nothing.err) == (1, True)
    assert (deleted.status, deleted.err) == (0, "Deleted.\n")
    assert [call.session_id for call in agent.calls("session/delete")] == ["first"]


async def test_what_only_was_kept_here_is_deleted_and_that_is_said(typed: Any):
    agent = ScriptedAgent(1, agentCapabilities={})
    agent.on("session/prompt", agent.reply("Done."))
    async with program(agent) as command:
        await typed("run", "Hi", "--", *command.args)
        listed = await typed("sessions", "--json", "--", *command.args)
        (session,) = msgspec.json.decode(listed.out)
        deleted = await typed("sessions", "--delete", session["session_id"], "--", *command.args)
    assert (deleted.status, deleted.err.startswith("Deleted here; the agent 'python")) == (0, True)


async def test_what_the_agent_tells_counts_more_than_what_was_kept_here(typed: Any, monkeypatch: Any, project: Path):
    held = await typed("run", "--json", "/read notes.md")
    session_id = held.event("end")["session_id"]
    monkeypatch.setenv("ACCORD_CONVERSATIONS", "false")
    assert (await typed("run", "--session", session_id, "/search milk")).status == 0
    shown = await typed("sessions", "--show", session_id, cwd=project.parent)
    assert (shown.status, "/search milk" in shown.out) == (0, True)


async def test_what_was_kept_here_is_listed_with_what_the_agent_lists(typed: Any, project: Path):
    """Some agents list other sessions than those that we have held with them, or only the newest."""
    agent = a_keeper("theirs")
    async with program(agent) as command:
        await typed("run", "Remember the milk", "--", *command.args)
        told = await typed("sessions", "--", *command.args)
        listed = await typed("sessions", "--json", "--", *command.args)
        found = await typed("sessions", "milk", "--", *command.args)
        here = await typed("sessions", "--cwd", project, "--json", "--", *command.args)
        elsewhere = await typed("sessions", "--cwd", project.parent, "--json", "--", *command.args)
    assert [line.split()[0] for line in told.out.splitlines()] == ["first", "theirs"]
    assert [line.endswith("  (kept here)") for line in told.out.splitlines()] == [True, False]
    rows = msgspec.json.decode(listed.out)
    assert [(each["session_id"], each["source"], each["title"]) for each in rows] == [
        ("first", "here", "Remember the milk"),
        ("theirs", "agent", None),
    ]
    assert found.out.startswith("first ")
    assert [each["session_id"] for each in msgspec.json.decode(here.out)] == ["first", "theirs"]
    assert [each["session_id"] for each in msgspec.json.decode(elsewhere.out)] == ["theirs"]


async def test_a_session_that_both_know_is_the_agents_with_a_title_of_ours_if_it_has_none(typed: Any):
    agent = a_keeper("first")
    async with program(agent) as command:
        await typed("run", "Remember the milk", "--", *command.args)
        listed = await typed("sessions", "--json", "--", *command.args)
    [only] = msgspec.json.decode(listed.out)
    assert (only["source"], only["title"], only["cwd"]) == ("agent", "Remember the milk", "/x")


async def test_what_the_agent_no_longer_has_is_deleted_here(typed: Any):
    message, agent = "Unknown session", a_keeper("theirs")
    agent.on("session/delete", lambda asked: asked.fail(-32602, message))
    async with program(agent) as command:
        await typed("run", "Remember the milk", "--", *command.args)
        deleted = await typed("sessions", "--delete", "first", "--", *command.args)
        listed = await typed("sessions", "--", *command.args)
        failed = await typed("sessions", "--delete", "theirs", "--", *command.args)
    assert deleted.status == 0
    assert deleted.err.startswith("Deleted here; the agent ")
    assert "does not list it" in deleted.err
    assert message in deleted.err
    assert [line.split()[0] for line in listed.out.splitlines()] == ["theirs"]
    assert failed.status != 0
    assert message in failed.err


def refusing(*methods: str) -> ScriptedAgent:
    agent = a_keeper("first", loadSession=True)
    for method in methods:
        agent.on(method, lambda asked: asked.fail(-32601, "Method not found"))
    return agent


async def test_what_an_agent_offers_and_then_refuses_it_can_not(typed: Any):
    agent = refusing("session/list", "session/delete", "session/load")
    async with program(agent) as command:
        await typed("run", "Hi", "--", *command.args)
        listed = await typed("sessions", "--", *command.args)
        shown = await typed("sessions", "--show", "first", "--", *command.args)
        deleted = await typed("sessions", "--delete", "first", "--", *command.args)
    assert "does not list its sessions; these were held here" in listed.err
    assert listed.out.startswith("first ")
    assert (shown.status, "Done." in shown.out) == (0, True)
    assert deleted.status == 0
    assert deleted.err.startswith("Deleted here; the agent ")


@pytest.mark.parametrize("option", ["--show", "--take-over"])
async def test_nobody_is_told_to_leave_out_what_this_command_does_not_have(typed: Any, option: str):
    async with program(refusing("session/load", "session/resume")) as command:
        finished = await typed("sessions", option, "other", "--", *command.args)
    assert finished.status == 1
    assert "can't take up a session" in finished.err
    assert "--continue" not in finished.err


async def test_its_help_says_that_all_directories_are_listed(typed: Any):
    told = " ".join((await typed("sessions", "--help")).out.split())
    assert "--cwd DIR only those of this directory (default: of all)" in told


async def test_settings_that_are_ignored_are_mentioned(typed: Any, project: Path):
    (project / ".accord.toml").write_text("[agents.proj]\ncommand = 'x'\n")
    for words in (["agents"], ["sessions"], ["agents", "proj"], ["run", "--agent", "proj", "Hi"], ["proj"]):
        finished = await typed(*words)
        assert finished.err.count(".accord.toml") == 1, words
        assert "accord trust" in finished.err


async def test_a_relative_command_is_looked_for_where_it_is_started(typed: Any, home: Path, project: Path):
    (home / "config.toml").write_text("[agents.mine]\ncommand = 'bin/mine'\n")
    program = project / "bin" / "mine"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    there = await typed("agents", "--cwd", project, cwd=home)
    elsewhere = await typed("agents", "--cwd", home)
    states = [
        line.split()[1] for told in (there, elsewhere) for line in told.out.splitlines() if line.startswith("mine")
    ]
    assert states == ["installed", "missing"]
    assert (await typed("run", "--agent", "mine", "--cwd", project, "Hi", cwd=home)).status == 8
    assert (await typed("run", "--agent", "mine", "--cwd", home, "Hi")).status == 127
