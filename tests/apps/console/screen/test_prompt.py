"""Writing prompts: lines, history, the queue, completions, files, shell commands."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from textual.events import Paste

from accord import Agent, Turn
from accord.apps.console.prompt_history import PromptHistory
from accord.session.content import Image, Resource, ResourceLink, Text
from accord.testing import ReceivedFrame, ScriptedAgent
from tests.apps.console.screen.stage import Stage, opened


def echo(**offers: bool) -> tuple[Agent, list[list[object]]]:
    agent, heard = Agent("echo", version="1"), []
    for name, value in offers.items():
        setattr(agent._definition, name, value)

    @agent.prompt
    async def answer(turn: Turn) -> None:
        heard.append(list(turn.content))
        await turn.say(f"You said {len(turn.text)} letters")

    return agent, heard


async def test_enter_sends_and_the_prompt_is_empty_again(tmp_path, version):
    agent, heard = echo()
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.type("Hello there")
        await stage.press("enter")
        await stage.idle()
        assert heard == [[Text("Hello there")]]
        assert stage.prompt == ""
        assert "▌ Hello there" in stage.text


@pytest.mark.parametrize("key", ["shift+enter", "ctrl+j", "alt+enter"])
async def test_these_keys_begin_a_new_line(tmp_path, key):
    agent, heard = echo()
    async with opened(agent, tmp_path) as stage:
        await stage.type("a")
        await stage.press(key)
        await stage.type("b\\")
        await stage.press("enter")
        await stage.type("c")
        assert stage.prompt == "a\nb\nc"
        assert stage.app.prompt.size.height == 3
        await stage.press("enter")
        await stage.idle()
        assert heard == [[Text("a\nb\nc")]]


async def test_what_is_typed_before_the_agent_is_there_is_sent_when_it_is(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("initialize", None)
    async with opened(agent, tmp_path, version=1, ready=False) as stage:
        asked = await agent.next("initialize")
        await stage.shows("starting…")
        await stage.send("Early")
        await stage.shows("Next", "1 Early")
        asked.answer({"protocolVersion": 1, "agentCapabilities": {}})
        prompt = await agent.next("session/prompt")
        assert prompt.params["prompt"] == [{"type": "text", "text": "Early"}]
        agent.finish(prompt)
        await stage.idle()


async def test_up_brings_back_what_was_sent_and_down_the_draft(tmp_path):
    agent, _ = echo()
    async with opened(agent, tmp_path) as stage:
        for text in ("first", "second"):
            await stage.send(text)
            await stage.idle()
        await stage.type("draft")
        await stage.press("up")
        assert stage.prompt == "second"
        await stage.press("up")
        assert stage.prompt == "first"
        await stage.press("up")
        assert stage.prompt == "first"
        await stage.press("down", "down")
        assert stage.prompt == "draft"


async def test_the_history_is_kept_and_ctrl_r_searches_it(tmp_path):
    agent, _ = echo()
    state = tmp_path / "state"
    async with opened(agent, tmp_path, state=state) as stage:
        await stage.send("fix the parser")
        await stage.idle()
        await stage.send("write a test")
        await stage.idle()
        await stage.until(lambda: len(PromptHistory(state).entries()) == 2)
    async with opened(agent, tmp_path, state=state) as stage:
        await stage.press("ctrl+r")
        await stage.shows("Prompt history", "write a test", "fix the parser")
        await stage.type("pars")
        await stage.until(lambda: "write a test" not in stage.text)
        await stage.press("enter")
        await stage.until(lambda: stage.prompt == "fix the parser")


def kept(state: Path) -> list[tuple[str, str]]:
    return [(each.session_id, each.text) for each in PromptHistory(state).entries()]


async def test_what_was_sent_before_the_session_was_there_is_kept_as_its_own(tmp_path):
    agent, state = ScriptedAgent(1), tmp_path / "state"
    agent.on("initialize", None)
    agent.on("session/prompt", agent.reply("Yes"))
    async with opened(agent, tmp_path, version=1, state=state, ready=False) as stage:
        asked = await agent.next("initialize")
        await stage.send("early")
        await stage.send("later")
        asked.answer({"protocolVersion": 1, "agentCapabilities": {}})
        await stage.idle()
        await stage.send("last")
        await stage.idle()
        key, session_id = stage.app.options.agent.key, stage.tab.session_id
    assert kept(state) == [(session_id, text) for text in ("early", "later", "last")]
    assert PromptHistory(state).last_session(key, tmp_path) == session_id


async def test_a_prompt_is_kept_once_and_in_its_turn_however_it_was_moved_about(tmp_path):
    agent, state = ScriptedAgent(1), tmp_path / "state"
    async with opened(agent, tmp_path, version=1, state=state) as stage:
        await stage.send("one")
        asked = await agent.next("session/prompt")
        await stage.send("two")
        await stage.send("three")
        await stage.press("up")
        assert stage.prompt == "three"
        await stage.press("ctrl+s")
        agent.finish(asked, "cancelled")
        for _ in range(2):
            agent.finish(await agent.next("session/prompt"))
        await stage.idle()
        session_id = stage.tab.session_id
    assert kept(state) == [(session_id, text) for text in ("one", "three", "two")]


async def test_what_waits_when_the_screen_or_its_tab_is_left_is_kept(tmp_path):
    agent, state = ScriptedAgent(1), tmp_path / "state"
    async with opened(agent, tmp_path, version=1, state=state) as stage:
        first = stage.tab
        await stage.press("ctrl+n")
        await stage.until(lambda: stage.tab is not first and stage.tab.is_open)
        second = stage.tab
        for text in ("one", "two"):
            await stage.send(text)
        await stage.until(lambda: agent.calls("session/prompt"))
        await stage.press("alt+w")
        assert stage.tab is first
        for text in ("three", "four"):
            await stage.send(text)
        await stage.until(lambda: len(agent.calls("session/prompt")) == 2)
    one, other = second.session_id, first.session_id
    assert kept(state) == [(one, "one"), (one, "two"), (other, "three"), (other, "four")]


def refusing() -> ScriptedAgent:
    agent = ScriptedAgent(1)
    agent.on("session/new", lambda asked: asked.fail(-32603, "no session today"))
    return agent


def silent() -> ScriptedAgent:
    agent = ScriptedAgent(1)
    agent.on("initialize", None)
    return agent


@pytest.mark.parametrize("never_there", [silent, refusing])
async def test_what_was_written_for_a_session_that_never_came_comes_back_with_up(tmp_path, never_there):
    state = tmp_path / "state"
    async with opened(never_there(), tmp_path, version=1, state=state, ready=False) as stage:
        for text in ("first", "second"):
            await stage.send(text)
        await stage.shows("Next", "2 second")
        await stage.type("half a thought")
        key = stage.app.options.agent.key
    assert kept(state) == [("", "first"), ("", "second"), ("", "half a thought")]
    assert PromptHistory(state).last_session(key, tmp_path) is None
    async with opened(silent(), tmp_path, version=1, state=state, ready=False) as stage:
        for text in ("half a thought", "second", "first"):
            await stage.press("up")
            assert stage.prompt == text


async def test_a_draft_without_a_session_outlives_its_tab(tmp_path):
    state = tmp_path / "state"
    async with opened(silent(), tmp_path, version=1, state=state, ready=False) as stage:
        first = stage.tab
        await stage.press("ctrl+n")
        await stage.until(lambda: stage.tab is not first)
        await stage.type("half a thought")
        await stage.press("alt+w")
        await stage.until(lambda: stage.tab is first)
        assert stage.prompt == ""
        await stage.press("up")
        assert stage.prompt == "half a thought"
        await stage.press("down")
        assert stage.prompt == ""
    assert kept(state) == [("", "half a thought")]


async def test_ctrl_c_puts_a_draft_aside_and_up_brings_it_back(tmp_path):
    agent, _ = echo()
    async with opened(agent, tmp_path) as stage:
        await stage.type("long thought")
        await stage.press("ctrl+c")
        assert stage.prompt == ""
        await stage.press("up")
        assert stage.prompt == "long thought"


async def busy(stage: Stage, agent: ScriptedAgent) -> ReceivedFrame:
    await stage.send("Go")
    asked = await agent.next("session/prompt")
    agent.begin(asked)
    await stage.until(lambda: stage.tab.is_busy)
    return asked


async def test_prompts_wait_while_the_agent_works_and_follow_one_after_the_other(tmp_path, version):
    agent = ScriptedAgent(version)
    async with opened(agent, tmp_path, version=version) as stage:
        asked = await busy(stage, agent)
        await stage.send("Then this")
        await stage.send("Then that")
        await stage.shows("Next", "1 Then this", "2 Then that")
        agent.finish(asked)
        second = await agent.next("session/prompt")
        assert second.params["prompt"][0]["text"] == "Then this"
        agent.finish(second)
        third = await agent.next("session/prompt")
        assert third.params["prompt"][0]["text"] == "Then that"
        agent.finish(third)
        await stage.idle()
        assert "Next" not in stage.text


async def test_what_waits_can_be_edited_removed_and_sent_at_once(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        asked = await busy(stage, agent)
        for text in ("one", "two", "three"):
            await stage.send(text)
        await stage.press("up")
        assert stage.prompt == "three"
        assert stage.tab.queue.prompts == ["one", "two"]
        stage.app.main.queue.focus()
        await stage.shows("Enter edit")
        await stage.press("x")
        await stage.until(lambda: stage.tab.queue.prompts == ["two"])
        await stage.press("s")
        await agent.next("session/cancel")
        agent.finish(asked, "cancelled")
        now = await agent.next("session/prompt")
        assert now.params["prompt"][0]["text"] == "two"
        agent.finish(now)
        await stage.until(lambda: not stage.tab.is_busy)
        assert stage.prompt == "three"


async def test_ctrl_s_stops_what_runs_and_sends_the_draft_first(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        asked = await busy(stage, agent)
        await stage.send("later")
        await stage.type("urgent")
        await stage.press("ctrl+s")
        await agent.next("session/cancel")
        agent.finish(asked, "cancelled")
        first = await agent.next("session/prompt")
        assert first.params["prompt"][0]["text"] == "urgent"
        agent.finish(first)
        second = await agent.next("session/prompt")
        assert second.params["prompt"][0]["text"] == "later"
        agent.finish(second)
        await stage.idle()


async def test_a_slash_offers_commands_with_their_hints(tmp_path, version):
    agent, heard = echo()

    @agent.command("deploy", "Bring it to the server", "which one")
    async def deploy(turn: Turn) -> None:
        heard.append([turn.arguments])

    async with opened(agent, tmp_path, version=version) as stage:
        await stage.until(lambda: stage.tab.session.commands)
        await stage.type("/dep")
        await stage.shows("/deploy", "Bring it to the server  <which one>")
        await stage.press("enter")
        assert stage.prompt == "/deploy "
        await stage.type("now")
        await stage.press("enter")
        await stage.idle()
        assert heard == [["now"]]


async def test_tab_completes_and_escape_closes_the_list(tmp_path):
    agent, _ = echo()
    async with opened(agent, tmp_path) as stage:
        await stage.type("/lo")
        await stage.shows("/log")
        await stage.press("tab")
        assert stage.prompt.startswith("/log")
        stage.app.prompt.set_text("")
        await stage.type("/lo")
        await stage.press("escape")
        await stage.until(lambda: not stage.app.main.completion.is_open)
        assert stage.prompt == "/lo"


async def test_an_at_sign_finds_files_but_none_that_git_ignores(tmp_path):
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("secret*\n")
    (tmp_path / "secret_plan.md").write_text("x")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "parser.py").write_text("x = 1\n")
    agent, _ = echo()
    async with opened(agent, tmp_path) as stage:
        await stage.type("look at @prs")
        await stage.shows("src/parser.py")
        await stage.press("enter")
        assert stage.prompt == "look at @src/parser.py "
        await stage.type("@secret")
        await stage.until(lambda: not stage.app.main.completion.is_open)


async def test_a_file_is_included_where_the_agent_takes_it_and_linked_elsewhere(tmp_path, version):
    (tmp_path / "a b.txt").write_text("contents")
    for can in (True, False):
        agent, heard = echo()
        agent._definition.embedded_context = can
        async with opened(agent, tmp_path, version=version) as stage:
            await stage.send('see @"a b.txt".')
            await stage.idle()
        text, file = heard[0]
        assert text == Text('see @"a b.txt".')
        if can:
            assert isinstance(file, Resource)
            assert file.text == "contents"
        else:
            assert isinstance(file, ResourceLink)
        assert file.uri.endswith("a%20b.txt")


async def test_a_picture_is_sent_as_one_where_the_agent_takes_pictures(tmp_path):
    (tmp_path / "x.png").write_bytes(b"\x89PNG")
    agent, heard = echo(image=True)
    async with opened(agent, tmp_path) as stage:
        await stage.send("what is @x.png ?")
        await stage.idle()
        image = heard[0][1]
        assert isinstance(image, Image)
        assert image.mime_type == "image/png"
        assert "[image/png, 4 B]" in stage.text


async def test_an_exclamation_mark_runs_a_command_that_the_agent_does_not_hear_of(tmp_path):
    agent, heard = echo()
    async with opened(agent, tmp_path) as stage:
        await stage.send("!pwd; exit 3")
        await stage.shows("! pwd; exit 3", "exit 3", str(tmp_path)[-20:])
        assert heard == []


async def test_escape_ends_a_command_of_the_users_own(tmp_path):
    agent, _ = echo()
    async with opened(agent, tmp_path) as stage:
        await stage.send("!echo began; sleep 1000")
        await stage.shows("│ began")
        await stage.press("escape")
        await stage.shows("ended by SIGTERM")


async def test_own_commands_are_not_sent_but_a_command_of_the_agent_comes_first(tmp_path):
    agent, heard = echo()

    @agent.command("review", "The agent's own review")
    async def review(turn: Turn) -> None:
        heard.append(["reviewed"])

    async with opened(agent, tmp_path) as stage:
        await stage.until(lambda: stage.tab.session.commands)
        await stage.send("/keys")
        await stage.shows("Anywhere")
        await stage.press("escape")
        await stage.send("/review")
        await stage.idle()
        assert heard == [["reviewed"]]


async def test_a_question_mark_in_an_empty_prompt_shows_the_keys(tmp_path):
    agent, _ = echo()
    async with opened(agent, tmp_path) as stage:
        await stage.press("question_mark")
        await stage.shows("Anywhere")
        await stage.press("end")
        await stage.shows("Commands", "/quit", "quit accord")
        await stage.press("question_mark")
        await stage.until(lambda: stage.app.screen is stage.app.main)
        assert stage.prompt == ""
        await stage.type("why?")
        assert stage.prompt == "why?"


async def test_leaving_needs_two_presses_of_ctrl_c_or_one_of_ctrl_q(tmp_path):
    agent, _ = echo()
    async with opened(agent, tmp_path) as stage:
        await stage.press("ctrl+c")
        await stage.shows("Press Ctrl+C again to quit.")
        await stage.press("ctrl+c")
        await stage._wait(lambda: stage.app.return_value == 0)
    async with opened(agent, tmp_path) as stage:
        await stage.press("ctrl+d")
        assert stage.app.return_value == 0


async def test_a_file_that_is_dropped_onto_the_terminal_is_named(tmp_path):
    (tmp_path / "a b.png").write_bytes(b"png")
    agent, _ = echo()
    async with opened(agent, tmp_path) as stage:
        path = str(tmp_path / "a b.png")
        for pasted in (path.replace(" ", "\\ "), f"'{path}'", f"file://{path.replace(' ', '%20')}"):
            stage.app.prompt.set_text("")
            stage.app.post_message(Paste(pasted))
            await stage.until(lambda: stage.prompt == f'@"{path}" ')
        stage.app.prompt.set_text("")
        stage.app.post_message(Paste("/no/such/file and\ntwo lines"))
        await stage.until(lambda: stage.prompt == "/no/such/file and\ntwo lines")
