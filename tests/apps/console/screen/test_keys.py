"""Keys that no other test of the screen presses; and that there is none which no test presses."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from accord import Agent, Turn
from accord.apps.console.screen.key_bindings import KEYS, KeyBindings
from accord.apps.console.screen.pages.choice_page import ChoicePage
from accord.apps.console.screen.pages.keys_page import KeysPage, key_groups
from accord.apps.console.screen.pages.review_page import ReviewPage
from accord.apps.console.screen.widgets.lines_view import LinesView
from accord.apps.console.screen.widgets.permission_bar import PermissionBar
from accord.apps.console.screen.wire_log import LogPage
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened
from tests.apps.console.screen.test_pages import editor

TESTS = "\n".join(path.read_text("utf-8") for path in sorted(Path(__file__).parent.glob("test_*.py")))


def talker(text: str = "\n\n".join(f"line {number}" for number in range(100))) -> Agent:
    agent = Agent("talker", version="1")

    @agent.prompt
    async def talk(turn: Turn) -> None:
        await turn.say(text)

    return agent


@pytest.mark.parametrize("key", [key for binding in KEYS for key in binding.key.split(",")])
def test_every_key_of_the_main_screen_is_pressed_in_some_test(key):
    assert f'"{key}"' in TESTS


@pytest.mark.parametrize("group", [group for group in key_groups(KeyBindings()) if group != "Anywhere"])
def test_every_key_of_a_part_is_pressed_in_some_test(group):
    names = {
        "Ctrl+_": "ctrl+underscore",
        "↑": "up",
        "↓": "down",
        "PgUp": "pageup",
        "PgDn": "pagedown",
        "Esc": "escape",
        "\\": "\\",
    }
    written = {"/", "@", "!", "\\", "to"}  # typed, and not pressed
    for keys, _ in key_groups(KeyBindings())[group]:
        for key in re.split(r"[ ,]+", keys):
            name = names.get(key, key.lower())
            assert name in written or f'"{name}"' in TESTS, key


async def test_page_up_and_down_scroll_the_conversation(tmp_path):
    async with opened(talker(), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.shows("line 99")
        await stage.press("pageup")
        await stage.until(lambda: "line 99" not in stage.text)
        assert not stage.app.conversation.is_following
        await stage.press("pagedown")
        await stage.shows("line 99")
        assert stage.app.conversation.is_following


async def test_home_and_end_go_to_the_ends_of_the_conversation(tmp_path):
    async with opened(talker(), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.press("tab", "home")
        await stage.shows("line 0")
        await stage.press("end")
        await stage.shows("line 99")


async def test_j_and_k_go_from_one_thing_that_folds_to_the_other(tmp_path):
    async with opened(editor(), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.press("tab", "j")
        await stage.until(lambda: "▶" in stage.text)
        view, calls = stage.app.conversation, stage.tab.conversation.calls
        assert view.cursor is calls[0]
        await stage.press("j", "j")
        assert view.cursor is calls[2]
        await stage.press("k")
        assert view.cursor is calls[1]
        await stage.press("space")
        await stage.shows("x = 2")


async def test_x_stops_one_command_of_the_agent_and_says_where_it_can_not(tmp_path):
    agent = ScriptedAgent(1)
    ended: list[Any] = []
    was_looked_at = asyncio.Event()

    async def answer(asked: Any) -> None:
        about = {"sessionId": agent.session_id}
        made = await agent.ask("terminal/create", {**about, "command": "sleep", "args": ["1000"]})
        terminal = made.result["terminalId"]
        content = [{"type": "terminal", "terminalId": terminal}]
        agent.update("tool_call", toolCallId="c", title="Sleep", kind="execute", status="in_progress", content=content)
        ended.append((await agent.ask("terminal/wait_for_exit", {**about, "terminalId": terminal})).result)
        agent.update("tool_call_update", toolCallId="c", status="failed")
        agent.update("tool_call", toolCallId="d", title="Think", status="in_progress")
        await was_looked_at.wait()
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        await stage.shows("Sleep")
        await stage.press("tab", "k", "x")
        await stage.shows("Think")
        assert ended[0]["signal"] is not None
        await stage.press("k", "j", "x")
        await stage.shows("The agent cannot stop a single tool call")
        was_looked_at.set()
        await stage.idle()


async def test_tabs_are_walked_through_in_both_directions_and_closed(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        await stage.press("ctrl+n")
        await stage.press("ctrl+n")
        await stage.until(lambda: len(stage.app.tabs) == 3 and all(tab.is_open for tab in stage.app.tabs))
        first, second, third = stage.app.tabs
        for key, there in [
            ("alt+right", first),
            ("ctrl+pagedown", second),
            ("ctrl+pageup", first),
            ("alt+left", third),
        ]:
            await stage.press(key)
            assert stage.tab is there
        await stage.type("for the third")
        await stage.press("alt+w")
        assert stage.tab is second
        assert list(stage.app.tabs) == [first, second]
        assert stage.prompt == ""
        await stage.press("alt+w", "alt+w")
        assert list(stage.app.tabs) == [first]  # one always stays
        await stage.until(lambda: first.is_open)


async def test_ctrl_q_leaves_from_a_page_too(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        await stage.press("f1")
        await stage.press("ctrl+q")
        assert stage.app.return_value == 0


async def test_ctrl_d_deletes_what_is_right_of_the_cursor_and_does_not_leave(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        await stage.type("ab")
        await stage.press("left", "ctrl+d", "ctrl+d")
        assert stage.prompt == "a"
        assert stage.app.return_value is None


async def test_ctrl_s_without_a_draft_sends_the_first_that_waits(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        going = await agent.next("session/prompt")
        await stage.send("first")
        await stage.send("second")
        await stage.press("ctrl+s")
        await agent.next("session/cancel")
        agent.finish(going, "cancelled")
        assert (await agent.next("session/prompt")).params["prompt"][0]["text"] == "first"
        assert stage.tab.queue.prompts == ["second"]


async def test_the_arrows_choose_among_what_waits(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", None)
    async with opened(agent, tmp_path) as stage:
        for text in ("Go", "first", "second", "third"):
            await stage.send(text)
        stage.app.main.queue.focus()
        await stage.shows("▸ first")
        await stage.press("down")
        await stage.shows("▸ second")
        await stage.press("down", "up")
        await stage.shows("▸ second")
        await stage.press("delete")
        assert stage.tab.queue.prompts == ["first", "third"]


async def test_a_long_change_is_scrolled_while_it_is_asked_about(tmp_path):
    agent = ScriptedAgent(1)

    async def answer(asked: Any) -> None:
        diff = {"type": "diff", "path": "/a.py", "newText": "\n".join(f"row {number}" for number in range(90))}
        call = {"toolCallId": "c", "title": "Write", "kind": "edit", "content": [diff]}
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        about = {"sessionId": agent.session_id, "toolCall": call, "options": options}
        await agent.ask("session/request_permission", about)
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.shows("row 0")
        detail = stage.app.main.query_one(PermissionBar).query_one(LinesView)
        await stage.press("down", "down", "up")
        assert detail.scroll_offset.y == 1
        await stage.press("pagedown")
        page = detail.scroll_offset.y
        assert page > 3
        await stage.press("pageup")
        assert detail.scroll_offset.y < page
        await stage.press("escape")
        await stage.idle()


@pytest.mark.parametrize("key", ["1", "9"])
async def test_nine_answers_have_their_numbers(tmp_path, key):
    agent = ScriptedAgent(1)
    answers: list[Any] = []

    async def answer(asked: Any) -> None:
        options = [{"optionId": f"o{place}", "name": f"Way {place}", "kind": "allow_once"} for place in range(1, 11)]
        about = {"sessionId": agent.session_id, "toolCall": {"toolCallId": "c", "title": "Do"}, "options": options}
        answers.append((await agent.ask("session/request_permission", about)).result)
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.press(key)
        await stage.idle()
        assert answers[0]["outcome"]["optionId"] == f"o{key}"


@pytest.mark.parametrize(
    ("opening", "kind", "closing"),
    [
        ("f1", KeysPage, "f1"),
        ("f1", KeysPage, "q"),
        ("ctrl+l", LogPage, "escape"),
        ("f4", ReviewPage, "f4"),
        ("f4", ReviewPage, "q"),
        ("ctrl+r", ChoicePage, "ctrl+c"),
    ],
)
async def test_each_page_opens_by_its_key_and_closes(tmp_path, opening, kind, closing):
    async with opened(editor(), tmp_path) as stage:
        await stage.type("kept")
        await stage.press(opening)
        await stage.until(lambda: isinstance(stage.app.screen, kind))
        await stage.press(closing)
        await stage.until(lambda: stage.app.screen is stage.app.main)
        assert stage.prompt == "kept"
        assert stage.app.focused is stage.app.prompt


async def test_what_has_come_since_is_in_the_log_after_f5(tmp_path):
    async with opened(editor(), tmp_path) as stage:
        await stage.press("ctrl+l")
        await stage.shows("session/new")
        stage.app.agent.wire_log.stderr(b"only just said\n")
        assert "only just said" not in stage.text
        await stage.press("f5")
        await stage.shows("only just said")
        await stage.press("tab")
        assert isinstance(stage.app.focused, LinesView)


async def test_a_change_is_scrolled_in_the_review(tmp_path):
    agent = ScriptedAgent(1)

    def answer(asked: Any) -> None:
        diff = {"type": "diff", "path": "/a.py", "newText": "\n".join(f"row {number}" for number in range(90))}
        agent.update("tool_call", toolCallId="c", title="Write", kind="edit", status="completed", content=[diff])
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.press("f4")
        await stage.shows("1 changed file", "row 0")
        view = stage.app.screen.query_one(LinesView)
        await stage.press("pagedown")
        assert view.scroll_offset.y > 3
        await stage.press("pageup")
        assert view.scroll_offset.y == 0


async def test_own_commands_open_what_their_names_say(tmp_path):
    agent = ScriptedAgent(1, agentCapabilities={"sessionCapabilities": {"list": {}}})
    agent.on("session/list", {"sessions": [{"sessionId": "old", "cwd": str(tmp_path), "title": "An old one"}]})
    async with opened(agent, tmp_path, version=1) as stage:
        for command, seen in [
            ("/sessions", "An old one"),
            ("/review", "No files changed yet"),
            ("/keys", "Anywhere"),
        ]:
            await stage.send(command)
            await stage.shows(seen)
            await stage.press("escape")
            await stage.until(lambda: stage.app.screen is stage.app.main)
        await stage.send("/options")
        await stage.shows("The agent has no options.")
        await stage.send("/new")
        await stage.until(lambda: len(stage.app.tabs) == 2 and stage.tab.is_open)
        await stage.send("/restart")
        await stage.until(lambda: len(agent.calls("initialize")) == 2)
        await stage.send("/quit")
        assert stage.app.return_value == 0


async def test_what_was_written_is_undone_and_done_again(tmp_path):
    async with opened(talker(), tmp_path) as stage:
        await stage.type("one")
        await stage.press("ctrl+underscore")
        assert stage.prompt == ""
        await stage.press("ctrl+y")
        assert stage.prompt == "one"


async def test_the_key_to_the_shell_is_no_undo(tmp_path, monkeypatch):
    went: list[bool] = []
    async with opened(talker(), tmp_path) as stage:
        monkeypatch.setattr(stage.app, "action_suspend_process", lambda: went.append(True))
        await stage.type("one")
        await stage.press("ctrl+z")
        assert (stage.prompt, went) == ("one", [True])
