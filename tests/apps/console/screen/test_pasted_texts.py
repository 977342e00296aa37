"""Long texts that are pasted: a label in the prompt and in the conversation, and the whole text for everybody else."""

from __future__ import annotations

import pytest
from textual.events import Paste

from accord.apps.console.screen.blocks.messages import LONG_CHARACTERS, LONG_LINES
from accord.apps.console.screen.widgets.prompt_editor import PastedTexts
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import Stage, opened
from tests.apps.console.screen.test_mouse import click

LINES = "\n".join(f"log line {number}" for number in range(3000))
OTHERS = "\n".join(f"other line {number}" for number in range(3000))


def replier() -> ScriptedAgent:
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("Seen"))
    return agent


def sent(agent: ScriptedAgent) -> list[str]:
    return [call.params["prompt"][0]["text"] for call in agent.calls("session/prompt")]


async def paste(stage: Stage, text: str) -> None:
    stage.app.post_message(Paste(text))
    await stage.pilot.pause()


def shown(stage: Stage) -> str:
    return stage.app.prompt.document.text


async def test_long_pastes_are_labels_in_the_prompt_and_whole_for_the_agent(tmp_path):
    agent = replier()
    async with opened(agent, tmp_path) as stage:
        await stage.type("Compare ")
        await paste(stage, LINES.replace("\n", "\r"))  # as a terminal sends it
        await stage.type(" with ")
        await paste(stage, OTHERS)
        await stage.type(" now")
        assert shown(stage) == "Compare [pasted 3,000 lines] with [pasted 3,000 lines, 2] now"
        assert stage.prompt == f"Compare {LINES} with {OTHERS} now"
        await stage.shows("Compare [pasted 3,000 lines] with [pasted 3,000 lines, 2] now")
        await stage.press("enter")
        await stage.idle()
        assert sent(agent) == [f"Compare {LINES} with {OTHERS} now"]
        await stage.shows("▌ Compare [pasted 3,000 lines] with [pasted 3,000 lines, 2] now", "Seen")


async def test_a_folded_prompt_is_unfolded_by_a_click_and_folded_again(tmp_path):
    async with opened(replier(), tmp_path) as stage:
        await paste(stage, LINES)
        await stage.press("enter")
        await stage.idle()
        await stage.shows("▌ [pasted 3,000 lines]", "Seen")
        above = stage.lines[next(at for at, line in enumerate(stage.lines) if "[pasted" in line) - 1]
        assert not above.strip()  # it stands alone
        await click(stage, "[pasted")
        await stage.shows("▌ log line 0", "▌ log line 9")
        await click(stage, "log line 0")
        await stage.shows("▌ [pasted 3,000 lines]")


async def test_a_long_prompt_of_another_screen_is_folded_to_its_beginning(tmp_path):
    agent = ScriptedAgent(1, agentCapabilities={"loadSession": True})

    def replay(asked):
        agent.update("user_message_chunk", content={"type": "text", "text": f"Look:\n{LINES}"})
        asked.answer({})

    agent.on("session/load", replay)
    async with opened(agent, tmp_path, resume="s") as stage:
        await stage.shows("▌ Look:", "▌ log line 6", "▌ [2,993 more lines]")
        assert "log line 7" not in stage.conversation


@pytest.mark.parametrize(
    "keys",
    [["backspace"], ["left", "delete"], ["ctrl+w"], ["home", "right", "right", "right", "delete"]],
    ids=["backspace", "delete", "word", "from the left"],
)
async def test_a_label_is_deleted_as_one_character(tmp_path, keys):
    async with opened(replier(), tmp_path) as stage:
        await stage.type("See")
        await paste(stage, LINES)
        await stage.press(*keys)
        assert shown(stage) == stage.prompt == "See"
        await stage.press("ctrl+underscore")
        assert stage.prompt == f"See{LINES}"


async def test_the_cursor_never_stands_in_a_label(tmp_path):
    async with opened(replier(), tmp_path) as stage:
        await stage.type("ab")
        await paste(stage, LINES)
        await stage.type("cd")
        await stage.press("left", "left", "left")
        await stage.type("<")
        await stage.press("right")
        await stage.type(">")
        assert shown(stage) == "ab<[pasted 3,000 lines]>cd"
        await stage.settled()
        x, y = next((row.index("pasted"), at) for at, row in enumerate(stage.lines) if "pasted" in row)
        await stage.pilot.click(offset=(x + 1, y))
        await stage.type("!")
        assert stage.prompt == f"ab<!{LINES}>cd"


async def test_the_queue_shows_the_label_and_the_editor_gets_the_whole_text(tmp_path, monkeypatch):
    agent = replier()
    agent.on("session/prompt", None)
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await agent.next("session/prompt")
        await stage.type("Then ")
        await paste(stage, LINES)
        await stage.press("enter")
        assert stage.tab.queue.prompts == [f"Then {LINES}"]
        await stage.shows("Then [pasted 3,000 lines]")
        await stage.press("up")
        assert shown(stage) == "Then [pasted 3,000 lines]"
        edited: list[str] = []

        async def edit(text: str) -> str:
            edited.append(text)
            return f"{text} and more"

        monkeypatch.setattr(stage.app.editor, "edit_text", edit)
        await stage.press("ctrl+g")
        await stage.until(lambda: shown(stage) == "Then [pasted 3,000 lines] and more")
        assert edited == [f"Then {LINES}"]


async def test_the_history_and_the_draft_keep_the_whole_text(tmp_path):
    agent = replier()
    async with opened(agent, tmp_path, state=tmp_path) as stage:
        await paste(stage, LINES)
        await stage.press("enter")
        await stage.idle()
        await stage.press("up")
        assert (shown(stage), stage.prompt) == ("[pasted 3,000 lines]", LINES)
        stage.app.action_new_session()
        await stage.until(lambda: stage.tab is stage.app.tabs[1])
        assert stage.prompt == ""
        stage.app.tabs.step(-1)
        assert (shown(stage), stage.tab.draft) == ("[pasted 3,000 lines]", LINES)
    async with opened(agent, tmp_path, state=tmp_path) as stage:
        assert stage.app.history.prompts == [LINES]


async def test_a_short_paste_is_inserted_as_it_is(tmp_path):
    async with opened(replier(), tmp_path) as stage:
        await paste(stage, "one\ntwo")
        assert shown(stage) == stage.prompt == "one\ntwo"


def test_what_is_long():
    pasted = PastedTexts()
    few, many = "\n".join("x" * LONG_LINES), "\n".join("x" * (LONG_LINES + 1))
    assert (pasted.add(few), pasted.add(many)) == (few, f"[pasted {LONG_LINES + 1} lines]")
    assert pasted.add(f"{few}\n") == f"{few}\n"  # the last line end begins no line
    assert pasted.add("y" * (LONG_CHARACTERS + 1)) == f"[pasted {LONG_CHARACTERS + 1:,} characters]"


def test_a_label_that_was_not_pasted_is_only_text_and_one_in_a_pasted_text_is_not_expanded():
    pasted = PastedTexts()
    assert pasted.expand("[pasted 30 lines]") == "[pasted 30 lines]"
    text = "\n".join(["[pasted 30 lines]"] * 30)
    assert pasted.add(text) == "[pasted 30 lines]"
    assert pasted.expand("a [pasted 30 lines] b") == f"a {text} b"
    assert pasted.fold(f"a {text} b") == "a [pasted 30 lines] b"


def test_very_many_pasted_texts_are_forgotten_but_not_those_that_are_shown():
    pasted = PastedTexts()
    labels = [pasted.add("\n".join([str(number)] * 30)) for number in range(200)]
    pasted.drop_unused(labels[0])
    assert pasted.expand(labels[0]) != labels[0]
    assert pasted.expand(labels[1]) == labels[1]
    assert pasted.expand(labels[-1]) != labels[-1]


@pytest.mark.parametrize("keys", ["x", "db", "dw", "D", "cwnew"])
async def test_the_keys_of_vim_never_leave_half_a_label(tmp_path, keys):
    async with opened(replier(), tmp_path, vim=True) as stage:
        await stage.type("ab ")
        await paste(stage, LINES)
        await stage.type(" cd")
        await stage.press("escape")
        for column in range(len(shown(stage)) + 1):
            stage.app.prompt.move_cursor((0, column))
            await stage.type(keys)
            assert "[pasted" not in shown(stage) or "[pasted 3,000 lines]" in shown(stage), (column, shown(stage))
            await stage.press("escape")
            stage.app.prompt.text = f"ab {LINES} cd"
