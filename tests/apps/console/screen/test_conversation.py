"""What the agent says and does, as it appears in the conversation."""

from __future__ import annotations

import pytest

from accord import Agent, Turn
from accord.session.content import Text
from accord.session.entities import ContentItem, Exit, Notice, Plan, PlanEntry, TerminalItem, ToolCallItem
from accord.session.updates import (
    CompactionPatch,
    MessageAppend,
    NoticePatch,
    PlanPatch,
    TerminalAppend,
    TerminalPatch,
    ToolCallPatch,
)
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import Stage, opened


@pytest.mark.requirement("CONTENT-03")
async def test_what_is_said_appears_as_markdown(tmp_path, version):
    agent = Agent("sayer", version="1")

    @agent.prompt
    async def say(turn: Turn) -> None:
        for piece in (
            "# Hea",
            "ding\n\nSome **bo",
            "ld** and <b>html</b>\n\n- one\n- two\n\n",
            "| a | b |\n|---|---|\n| 1 | 2 |\n",
        ):
            await turn.say(piece)

    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go")
        await stage.idle()
        assert "▌ Go" in stage.text
        assert "Heading" in stage.text
        assert "# Heading" not in stage.text
        assert "Some bold and <b>html</b>" in stage.text
        assert "• two" in stage.text
        assert "│ a │ b │" in stage.text


async def test_text_is_shown_while_it_is_still_coming(tmp_path, version):
    agent = ScriptedAgent(version)
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        agent.begin(asked)
        agent.say("The first half")
        await stage.shows("The first half", "working")
        agent.say(" and the second")
        await stage.shows("The first half and the second")
        agent.finish(asked)
        await stage.shows("● ready")


def beside_scrollbar(stage: Stage) -> list[str]:
    return [line[:99].rstrip() for line in stage.lines]


async def test_the_view_follows_the_end_only_while_the_end_is_in_view(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        agent.say("".join(f"line {number}\n\n" for number in range(100)))
        await stage.shows("line 99")
        await stage.press("pageup", "pageup")
        assert not stage.app.conversation.is_following
        before = beside_scrollbar(stage)[:10]
        agent.say("".join(f"line {number}\n\n" for number in range(100, 200)))
        await stage.until(lambda: "line 199" in stage.conversation)
        assert beside_scrollbar(stage)[:10] == before
        await stage.press("ctrl+end")
        await stage.shows("line 199")
        agent.say("line 200")
        await stage.shows("line 200")
        agent.finish(asked)


async def test_what_changes_above_the_view_does_not_move_it(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        agent.tell(ToolCallPatch(id="c", title="Look", kind="read", status="in_progress", creates=True))
        agent.say("".join(f"line {number}\n\n" for number in range(100)))
        await stage.shows("line 99")
        await stage.press("pageup")
        before = stage.lines[:10]
        failed: list[ToolCallItem] = [ContentItem(content=Text("one\n\ntwo\n\nthree"))]
        agent.tell(ToolCallPatch(id="c", status="failed", content=failed))
        await stage.until(lambda: "✗ ≡ Look" in stage.conversation)
        assert stage.lines[:10] == before
        agent.finish(asked)
        await stage.idle()


async def test_thoughts_are_folded_and_ctrl_t_shows_them(tmp_path, version):
    agent = Agent("thinker", version="1")

    @agent.prompt
    async def think(turn: Turn) -> None:
        await turn.think("First thought\nand the second")
        await turn.say("Said")

    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go")
        await stage.idle()
        assert "✻ First thought …" in stage.text
        assert "and the second" not in stage.text
        await stage.press("ctrl+t")
        await stage.shows("and the second")
        await stage.press("ctrl+t")
        await stage.until(lambda: "and the second" not in stage.text)


async def test_a_tool_call_is_a_line_that_unfolds(tmp_path, version):
    agent = Agent("reader", version="1")

    @agent.prompt
    async def read(turn: Turn) -> None:
        async with turn.tool_call("Read it", kind="read", locations=[tmp_path / "deep" / "a.py"]) as call:
            await call.say("the contents of it")

    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go")
        await stage.idle()
        assert "✓ ≡ Read it  deep/a.py" in stage.text
        assert "the contents" not in stage.text
        await stage.press("tab", "k", "enter")
        await stage.shows("the contents of it", "▶ ✓ ≡ Read it")
        await stage.press("enter")
        await stage.until(lambda: "the contents" not in stage.text)
        await stage.press("c")
        assert stage.copied == ["Read it\nthe contents of it"]


async def test_ctrl_o_unfolds_all_tool_calls(tmp_path):
    agent = Agent("reader", version="1")

    @agent.prompt
    async def read(turn: Turn) -> None:
        for name in ("one", "two"):
            async with turn.tool_call(f"Read {name}", kind="read") as call:
                await call.say(f"contents of {name}")

    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.press("ctrl+o")
        await stage.shows("contents of one", "contents of two")


async def test_a_terminal_is_live_and_tells_how_it_ended(tmp_path):
    agent = ScriptedAgent(2)
    async with opened(agent, tmp_path, version=2) as stage:
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        agent.begin(asked)
        agent.tell(TerminalPatch(id="t", command="make test", cwd="/elsewhere"))
        agent.tell(
            ToolCallPatch(
                id="c", title="Test", kind="execute", status="in_progress", content=[TerminalItem(terminal_id="t")]
            )
        )
        agent.tell(TerminalAppend(id="t", data=b"\x1b[31mred\x1b[0m line\n\x1b]0;evil\x07"))
        await stage.shows("$ make test", "│ red line")
        assert "evil" not in stage.text
        agent.tell(TerminalPatch(id="t", exit=Exit(code=3)))
        await stage.shows("exit 3")
        agent.finish(asked)
        await stage.idle()


async def test_a_command_that_the_agent_runs_here_is_shown_live(tmp_path):
    agent = Agent("runner", version="1")

    @agent.prompt
    async def run(turn: Turn) -> None:
        async with turn.tool_call("Greet", kind="execute") as call:
            await turn.run("sh", "-c", "echo hello; exit 4", call=call)

    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.shows("exit 4")
        await stage.press("ctrl+o")
        await stage.shows("│ hello")


async def test_the_plan_is_pinned_and_replaced_in_place(tmp_path, version):
    agent = ScriptedAgent(version)
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        agent.begin(asked)

        def tell(*statuses: str) -> None:
            entries = [PlanEntry(f"step {place}", status=status) for place, status in enumerate(statuses)]
            agent.tell(PlanPatch(plan=Plan(id="main", entries=entries)))

        tell("in_progress", "pending")
        await stage.shows("Plan 0 of 2", "▸ step 0", "○ step 1")
        tell("completed", "in_progress")
        await stage.shows("Plan 1 of 2", "✓ step 0", "▸ step 1")
        assert stage.text.count("step 0") == 1
        agent.say("".join(f"line {number}\n\n" for number in range(100)))
        await stage.shows("line 99", "Plan 1 of 2")
        tell("completed", "completed")
        await stage.shows("Plan 2 of 2 ✓")
        agent.finish(asked)
        await stage.idle()


async def test_a_long_plan_shows_where_it_is(tmp_path):
    agent = Agent("planner", version="1")

    @agent.prompt
    async def plan(turn: Turn) -> None:
        entries = [PlanEntry(f"step {place}", status="completed" if place < 20 else "pending") for place in range(40)]
        await turn.plan(entries)

    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        assert "step 20" in stage.text
        assert "… 19 done above" in stage.text
        assert "more" in stage.text


@pytest.mark.bad_frames
async def test_what_accord_does_not_know_is_shown_all_the_same(tmp_path, version, monkeypatch):
    monkeypatch.delenv("ACCORD_STRICT")
    agent = ScriptedAgent(version)
    async with opened(agent, tmp_path, version=version) as stage:
        agent.update("_acme_weather", sun=True)
        await stage.shows("_acme_weather", "an update that accord does not know: sun")
        await stage.press("tab", "k", "enter")
        await stage.shows('"sun": true')


async def test_notices_and_compactions_are_shown(tmp_path):
    agent = ScriptedAgent(2)
    async with opened(agent, tmp_path, version=2) as stage:
        agent.tell(NoticePatch(notice=Notice(severity="warning", title="Low on disk", description="2 % left")))
        await stage.shows("! Low on disk", "2 % left")
        agent.tell(CompactionPatch(id="k", status="in_progress"))
        await stage.shows("compacting the context…")
        agent.tell(CompactionPatch(id="k", status="completed", summary=[Text("We talked of milk.")]))
        await stage.shows("the context was compacted")
        await stage.press("tab", "k", "enter")
        await stage.shows("We talked of milk.")


async def test_the_status_line_tells_agent_mode_model_context_and_cost(tmp_path, version):
    agent = Agent("coster", version="1")
    agent.option("mode", name="Mode", choices=[("ask", "Ask first"), ("code", "Code")], default="ask", category="mode")(
        _nothing
    )
    agent.option("model", name="Model", choices=["big", "small"], default="big", category="model")(_nothing)

    @agent.prompt
    async def cost(turn: Turn) -> None:
        await turn.usage(50_000, 200_000, 1.25)

    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go")
        await stage.idle()
        assert "● ready  tester · Ask first · big" in stage.lines[-1]
        assert "context 25% of 200k  $1.25" in stage.lines[-1]


async def _nothing(session, value) -> None:
    pass


async def test_what_is_told_while_no_prompt_runs_is_shown_too(tmp_path, version):
    agent = ScriptedAgent(version)
    async with opened(agent, tmp_path, version=version) as stage:
        agent.tell(MessageAppend(role="agent", id="m", content=Text("By the way, ")))
        agent.tell(MessageAppend(role="agent", id="m", content=Text("the build is done.")))
        await stage.shows("By the way, the build is done.")


async def test_nothing_happens_while_nothing_happens(tmp_path):
    agent = Agent("quiet", version="1")

    @agent.prompt
    async def say(turn: Turn) -> None:
        await turn.say("Hi")

    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.until(lambda: stage.app.conversation._idle is None)
        assert stage.app.conversation._timer is None
        assert stage.app.screen_refresh.timer is None
        assert not stage.app.prompt.cursor_blink


async def test_hostile_text_cannot_reach_the_terminal(tmp_path, version):
    agent = Agent("evil \x1b[2J", version="1")

    @agent.prompt
    async def attack(turn: Turn) -> None:
        await turn.set_title("\x1b]0;owned\x07title")
        await turn.think("\x1b[31mthought")
        async with turn.tool_call("\x1b[2Jcleared\x07", kind="_\x1b[5m") as call:
            await call.say("\x9b31m in \x1b]8;;http://evil\x1b\\link")
        await turn.say("[bold]not markup[/] \x1b[31mred \u202egnp.exe")

    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go \x1b[2J")
        await stage.idle()
        await stage.press("ctrl+o", "ctrl+t")
        await stage.pilot.pause()
        assert "[bold]not markup[/]" in stage.text
        everything = stage.text + stage.conversation
        assert not [letter for letter in everything if letter != "\n" and not letter.isprintable()]


async def test_a_diff_that_the_permission_bar_shows_is_not_shown_twice_if_the_question_comes_before_the_call(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path) as stage:
        stage.tab.conversation.mark_question("c")
        diff = {"type": "diff", "path": str(tmp_path / "a.py"), "oldText": "old = 1\n", "newText": "new = 2\n"}
        agent.update("tool_call", toolCallId="c", title="Edit", status="pending", content=[diff])
        await stage.shows("Edit")
        assert "new = 2" not in stage.conversation
        stage.tab.conversation.mark_question(None)
        await stage.shows("new = 2")
