"""The permission bar: what is asked, in full, and which keys answer it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from accord import Agent, Turn
from accord.apps.console.screen import keys
from accord.apps.console.screen.drawing.diffs import MINUS
from accord.apps.console.screen.widgets.lines_view import LinesView
from accord.apps.console.screen.widgets.permission_bar import PermissionBar
from accord.session.entities import Diff, FileChange, Location
from accord.session.requests import PermissionOption
from tests.apps.console.screen.stage import Stage, opened

OLD, NEW = "a = 1\nb = 2\n", "a = 1\nb = 3\nc = 4\n"


def asker(*, questions: int = 1, at_once: bool = False) -> tuple[Agent, list[bool]]:
    """An agent that asks so many times before it edits, and what it was allowed."""
    agent, allowed = Agent("asker", version="1"), []

    @agent.prompt
    async def edit(turn: Turn) -> None:
        async def one(number: int) -> None:
            change = FileChange(operation="modify", path=str(turn.cwd / f"f{number}.py"), old_text=OLD, new_text=NEW)
            call = turn.tool_call(
                f"Edit f{number}.py",
                kind="edit",
                content=[Diff(changes=[change])],
                locations=[Location(path=str(turn.cwd / f"f{number}.py"), line=2)],
            )
            async with call:
                allowed.append(await turn.allowed(call))

        if at_once:
            async with asyncio.TaskGroup() as group:
                for number in range(questions):
                    group.create_task(one(number))
        else:
            for number in range(questions):
                await one(number)
        await turn.say(f"allowed: {allowed}")

    return agent, allowed


def bar(stage: Stage) -> PermissionBar:
    return stage.app.main.questions.query_one(PermissionBar)


async def test_the_whole_change_is_shown_and_y_allows_it(tmp_path, version):
    agent, allowed = asker()
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go")
        await stage.asked()
        for text in (
            "Permission",
            "✎ edit",
            "Edit f0.py",
            f"f0.py  +2 {MINUS}1",
            "2 - b = 2",
            "3 + c = 4",
            "1 y  Allow",
        ):
            assert text in stage.text, text
        assert "cover the same kind, title, input and files, in this session" in stage.text
        assert "? waiting for your answer" in stage.lines[-1]
        await stage.press("y")
        await stage.idle()
        assert allowed == [True]
        assert "Permission" not in stage.text
        assert stage.app.focused is stage.app.prompt


@pytest.mark.parametrize(
    ("key", "yes"), [("1", True), ("2", True), ("a", True), ("3", False), ("n", False), ("d", False)]
)
async def test_letters_and_numbers_answer(tmp_path, key, yes):
    agent, allowed = asker()
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.press(key)
        await stage.idle()
        assert allowed == [yes]


async def test_enter_gives_no_answer_until_one_is_selected(tmp_path):
    agent, allowed = asker()
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.asked()
        assert "▸" not in stage.text
        await stage.press("enter")
        await stage.shows("no answer is selected: ↑↓ select one, or press its key")
        assert allowed == []
        await stage.press("down")
        await stage.shows("▸1 y ", "press a key above, or ↑↓ and Enter")
        await stage.press("enter")
        await stage.idle()
        assert allowed == [True]


@pytest.mark.parametrize(
    ("moves", "chosen"),
    [
        (["right"], 0),
        (["left"], 3),
        (["up"], None),
        (["down", "down"], 1),
        (["right", "right", "left"], 0),
        (["down"] * 9, 3),
        (["right", "left", "left"], 0),
    ],
)
async def test_arrows_move_between_the_answers(tmp_path, moves, chosen):
    agent, allowed = asker()
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.press(*moves)
        assert bar(stage)._selected == chosen
        await stage.press("enter")
        if chosen is not None:
            await stage.idle()
            assert allowed == [chosen < 2]


async def test_down_goes_through_the_details_and_then_through_the_answers(tmp_path):
    agent, allowed = Agent("asker", version="1"), []

    @agent.prompt
    async def ask(turn: Turn) -> None:
        async with turn.tool_call("Long", content=["\n".join(f"line {number}" for number in range(60))]) as call:
            allowed.append(await turn.allowed(call))

    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.press("right", "enter")
        await stage.shows("you can allow it when you have seen its last line: End shows it")
        await stage.press("left", "up")  # from the first answer back to the details
        assert (bar(stage)._selected, allowed) == (None, [])
        await stage.press("down")
        assert bar(stage).query_one(LinesView).scroll_offset.y == 1
        await stage.press("end")
        await stage.until(lambda: bar(stage).is_read)
        await stage.press("down", "enter")
        await stage.idle()
        assert allowed == [True]


@pytest.mark.parametrize(
    ("key", "reason", "typed"),
    [
        ("9", "no answer has the key 9: it went into the prompt · Tab to answer", "9"),
        ("f9", "f9 is not the key of an answer", ""),
    ],
)
async def test_a_key_that_is_no_answer_says_so(tmp_path, key, reason, typed):
    agent, _ = asker()
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.press(key)
        await stage.shows(reason)
        assert stage.prompt == typed


async def test_enter_in_an_empty_prompt_says_where_the_question_is(tmp_path):
    agent, _ = asker()
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.asked()
        stage.app.main.focus_prompt()
        await stage.press("enter")
        await stage.shows("Tab moves to the question")


@pytest.mark.parametrize(
    ("timing", "reason"), [({"held": 30.0}, "Enter is held down"), ({"settling": 30.0}, "too early")]
)
async def test_an_enter_that_was_not_meant_for_the_question_says_why_it_does_nothing(tmp_path, timing, reason):
    agent, allowed = asker()
    async with opened(agent, tmp_path, **timing) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.press("enter")
        await stage.shows(reason)
        assert allowed == []
        await stage.press("escape")


async def test_escape_is_neither_yes_nor_no(tmp_path, version):
    agent, allowed = asker()
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.press("escape")
        await stage.until(lambda: stage.tab.questions.first is None)
        await stage.idle()
        assert True not in allowed


async def test_several_questions_queue(tmp_path, version):
    agent, allowed = asker(questions=3, at_once=True)
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go")
        await stage.until(lambda: len(stage.tab.questions.pending) == 3)
        await stage.asked()
        await stage.shows("1 of 3", "Edit f0.py")
        await stage.press("y")
        await stage.shows("2 of 3", "Edit f1.py")
        await stage.press("n")
        await stage.shows("3 of 3", "Edit f2.py")
        await stage.press("y")
        await stage.idle()
        assert sorted(allowed) == [False, True, True]


async def test_the_bar_is_no_part_of_what_scrolls(tmp_path):
    agent, _ = asker()
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.asked()
        stage.app.prompt.focus()
        await stage.press("pageup", "pageup")
        assert "Permission" in stage.text
        await stage.press("tab", "n")
        await stage.idle()


async def test_a_question_is_drawn_though_nobody_was_told_its_size(tmp_path, monkeypatch):
    """Textual forgets to, when a question takes the focus before its first layout."""
    monkeypatch.setattr(LinesView, "on_resize", lambda self, event: None)
    agent, _ = asker()
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.shows("Permission", "2 - b = 2", "3 + c = 4")
        await stage.press("n")
        await stage.idle()


async def test_who_is_writing_goes_on_writing(tmp_path):
    agent, allowed = asker()
    async with opened(agent, tmp_path) as stage:
        stage.app.prompt.set_text("Go")
        await stage.press("enter")
        await stage.type("maybe y")
        await stage.asked()
        await stage.type("es and no")
        assert stage.prompt == "maybe yes and no"
        assert allowed == []
        await stage.shows("Tab to answer")
        await stage.press("tab")
        await stage.shows("Esc cancel")
        await stage.press("y")
        await stage.until(lambda: allowed == [True])
        assert stage.prompt == "maybe yes and no"


async def test_a_key_that_is_no_answer_goes_into_the_prompt(tmp_path):
    agent, allowed = asker()
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.type("what?")
        assert stage.prompt == "what?"
        assert allowed == []
        await stage.press("tab", "y")
        await stage.until(lambda: allowed == [True])


async def test_a_key_that_comes_too_early_answers_nothing(tmp_path):
    agent, allowed = asker()
    async with opened(agent, tmp_path, settling=60.0) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.press("y")
        await stage.until(lambda: stage.prompt == "y")
        assert allowed == []
        await stage.press("escape")
        await stage.until(lambda: stage.tab.questions.first is None)


async def test_a_key_held_down_answers_only_one_question(tmp_path):
    agent, allowed = asker(questions=3)
    async with opened(agent, tmp_path, held=60.0) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.press("y")
        await stage.shows("Edit f1.py")
        await stage.asked()
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.press("y", "y", "y")
        assert (allowed, stage.prompt) == ([True], "")
        keys.HELD = keys.REPEATING = 0.0  # as if it had been let go for long enough
        await stage.press("y")
        await stage.shows("Edit f2.py")
        await stage.asked()
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        keys.HELD = keys.REPEATING = 60.0
        await stage.press("n")
        await stage.idle()
        assert allowed == [True, True, False]


def later_asker() -> tuple[Agent, list[bool], asyncio.Event]:
    """An agent that asks when it is told to, and what it was allowed."""
    agent, allowed, asks = Agent("asker", version="1"), [], asyncio.Event()

    @agent.prompt
    async def ask(turn: Turn) -> None:
        await asks.wait()
        async with turn.tool_call("Do it") as call:
            allowed.append(await turn.allowed(call))

    return agent, allowed, asks


async def test_a_question_that_comes_under_a_page_does_not_take_the_keys_typed_after_it(tmp_path):
    agent, allowed, asks = later_asker()
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.press("f1")
        await stage.until(lambda: stage.app.screen is not stage.app.main)
        asks.set()
        await stage.until(lambda: stage.app.main.questions.question is not None)
        await stage.press("escape")
        await stage.asked()
        await stage.shows("Tab to answer")
        await stage.type("also")
        assert (allowed, stage.prompt) == ([], "also")
        await stage.press("tab", "n")
        await stage.idle()


async def test_a_question_that_comes_while_an_editor_has_the_terminal_does_not_take_its_keys(tmp_path):
    agent, allowed, asks = later_asker()
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        async with stage.app.handover._terminal:
            asks.set()
            await stage.asked()
        await stage.type("also")
        assert (allowed, stage.prompt) == ([], "also")
        await stage.press("tab", "n")
        await stage.idle()


async def test_another_question_under_a_page_does_not_take_the_keys_from_the_one_that_was_there(tmp_path):
    agent, allowed = asker(questions=2, at_once=True)
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.until(lambda: len(stage.tab.questions.pending) == 2)
        await stage.asked()
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await stage.press("f1")
        await stage.until(lambda: stage.app.screen is not stage.app.main)
        stage.tab.questions.first.cancel()
        await stage.until(lambda: len(stage.tab.questions.pending) == 1)
        await stage.press("escape")
        await stage.asked()
        await stage.type("also")
        assert (True in allowed, stage.prompt) == (False, "also")
        await stage.press("tab", "n")
        await stage.idle()


@pytest.mark.parametrize("by", ["page", "terminal"])
async def test_a_question_that_is_seen_again_takes_a_moment(tmp_path, by):
    agent, allowed = asker()
    async with opened(agent, tmp_path, settling=60.0) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        bar = stage.app.main.questions._bar
        assert bar is not None
        bar._visible_since -= 100.0
        assert not bar.is_settling
        if by == "page":
            await stage.press("f1")
            await stage.until(lambda: stage.app.screen is not stage.app.main)
            await stage.press("escape")
            await stage.until(lambda: stage.app.screen is stage.app.main)
        else:
            stage.app.app_resume_signal.publish(stage.app)
        await stage.until(lambda: bar.is_settling)
        await stage.press("a")
        assert (allowed, stage.prompt) == ([], "a")
        bar._visible_since -= 100.0
        await stage.press("tab", "n")
        await stage.idle()


async def test_a_title_and_a_bell_call_back_who_is_elsewhere(tmp_path):
    agent, _ = asker()
    async with opened(agent, tmp_path) as stage:
        rung: list[int] = []
        stage.app.bell = lambda: rung.append(1)
        stage.app.app_focus = False
        stage.tab.queue.send("Go")  # without a key, which would tell that somebody is there
        await stage.asked()
        assert rung
        assert stage.titles[-1] == "? tester · accord"
        stage.app.app_focus = True
        stage.tab.questions.first.cancel()
        await stage.idle()
        assert stage.titles[-1] == "tester · accord"


async def test_always_is_remembered_for_the_same_action_only(tmp_path):
    agent, allowed = Agent("asker", version="1"), []

    @agent.prompt
    async def ask(turn: Turn) -> None:
        async with turn.tool_call("Delete it", kind="delete", raw_input={"path": turn.text}) as call:
            allowed.append(await turn.allowed(call, scope=turn.text + str(len(allowed))))

    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("a.txt")
        await stage.asked()
        await stage.press("a")
        await stage.idle()
        await stage.send("a.txt")
        await stage.idle()
        assert allowed == [True, True]
        await stage.send("b.txt")
        await stage.asked()
        await stage.press("n")
        await stage.idle()
        assert allowed == [True, True, False]
        stage.app.commands.forget_choices()
        await stage.send("a.txt")
        await stage.asked()
        await stage.press("n")
        await stage.idle()


async def test_the_command_is_shown_as_it_would_run(tmp_path):
    agent = Agent("runner", version="1")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        long = "echo " + "x" * 200
        async with turn.tool_call(
            "Run something", kind="execute", raw_input={"command": f"rm -rf build\n{long}"}
        ) as call:
            await turn.allowed(call)

    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.asked()
        assert "$ rm -rf build" in stage.text
        shown = "".join(line.strip("│ ") for line in stage.lines if "xx" in line)
        assert shown.count("x") == 200
        await stage.press("n")
        await stage.idle()


async def test_options_of_unknown_kinds_have_their_numbers(tmp_path):
    agent, allowed = Agent("asker", version="1"), []
    options = [
        PermissionOption(id="o", name="Only on Sundays", kind="_acme_sundays"),
        PermissionOption(id="y", name="Yes", kind="allow_once"),
        PermissionOption(id="y2", name="Yes, twice", kind="allow_once"),
    ]

    @agent.prompt
    async def ask(turn: Turn) -> None:
        async with turn.tool_call("Do it") as call:
            allowed.append(await turn.allowed(call, options=options))

    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.asked()
        assert "1  Only on Sundays" in stage.text
        assert "2 y  Yes" in stage.text
        assert "3  Yes, twice" in stage.text
        await stage.press("2")
        await stage.idle()
        assert allowed == [True]


async def test_long_answers_have_a_line_each(tmp_path):
    agent = Agent("asker", version="1")
    names = ["Allow", "Always allow whatever is read in this project", "Never allow anything of this kind at all"]
    kinds = ["allow_once", "allow_always", "reject_always"]
    options = [PermissionOption(id=kind, name=name, kind=kind) for name, kind in zip(names, kinds, strict=True)]

    @agent.prompt
    async def ask(turn: Turn) -> None:
        async with turn.tool_call("Do it") as call:
            await turn.allowed(call, options=options)

    async with opened(agent, tmp_path, size=(80, 30)) as stage:
        await stage.send("Go")
        await stage.asked()
        for name in names:
            assert sum(name in line for line in stage.lines) == 1
        await stage.press("d")
        await stage.idle()


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_a_question_leaves_room_for_the_prompt_and_the_status(tmp_path, size):
    agent = Agent("asker", version="1")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        await turn.plan([f"step {number}" for number in range(20)])
        old = "".join(f"line {number}\n" for number in range(40))
        change = FileChange(operation="modify", path="/f.py", old_text=old, new_text=old.replace("line", "Line"))
        async with turn.tool_call("Edit f.py", kind="edit", content=[Diff(changes=[change])]) as call:
            await turn.allowed(call)

    async with opened(agent, tmp_path, size=size) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.pilot.pause()
        assert "waiting for your answer" in stage.lines[-1]
        assert "Allow" in stage.text
        assert stage.app.conversation.size.height >= 3
        await stage.until(lambda: stage.app.main.questions.has_the_focus)
        await _scroll(stage, lambda: "Line 39" in stage.text)
        await stage.press("n")
        await stage.idle()


async def _scroll(stage: Stage, is_so: Callable[[], bool]) -> None:
    assert not is_so()
    while not is_so():
        await stage.press("pagedown")
