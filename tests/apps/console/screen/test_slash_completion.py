"""Commands of the screen and of the agent, when both have one of the same name."""

from __future__ import annotations

import pytest

from accord.apps.console.screen.slash_completion import completions
from accord.apps.console.slash_commands import OWN_COMMANDS, parse_own_command, unknown_command
from accord.session.entities import SlashCommand
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened

REVIEW = SlashCommand(name="review", description="Look at the changes", hint="what for")
HELP = SlashCommand(name="help", description="Its own help")


def test_both_are_offered_and_it_is_said_whose_each_is():
    offered = {each.label: each.meaning for each in completions("/rev", True, [REVIEW], [])}
    assert offered == {
        "/review": "Look at the changes  <what for>  (agent)",
        "/accord:review": "the same as /diff  (accord)",
    }
    alone = {each.label: each.meaning for each in completions("/rev", True, [], [])}
    assert alone == {"/review": OWN_COMMANDS["review"].meaning.replace("`", "")}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/review", None),
        ("/review now", None),
        ("/accord:review", ("review", "")),
        ("/accord:export a.md", ("export", "a.md")),
        (" /log ", ("log", "")),
        ("/export a.md", ("export", "a.md")),
        ("/export\na.md", ("export", "a.md")),
        ("/export\ta.md\n", ("export", "a.md")),
        ("", None),
        ("/accord:nothing", None),
        ("log", None),
        ("see /log", None),
        ("/help", ("help", "")),
        ("/agent:help", None),
    ],
)
def test_the_agents_comes_first_and_the_screens_is_had_by_its_whole_name(text: str, meant: tuple[str, str] | None):
    found = parse_own_command(text, [REVIEW, HELP])
    assert (found if found is None else (found[0].name, found[1])) == meant


def test_a_reserved_name_is_the_screens_and_the_agents_command_is_offered_with_a_prefix():
    offered = {each.label: each.meaning for each in completions("/help", True, [HELP], [])}
    assert offered == {"/agent:help": "Its own help  (agent)", "/help": f"{OWN_COMMANDS['help'].meaning}  (accord)"}


def test_a_name_that_is_typed_whole_comes_first():
    for name in OWN_COMMANDS:
        assert completions(f"/{name}", True, [], [])[0].label == f"/{name}"


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("/reviw", "; did you mean /review?"),
        ("/Quit now", "; did you mean /quit?"),
        ("/zzzz", "."),
        ("/accord:zzzz", "."),
    ],
)
def test_an_unknown_command_is_told_with_the_nearest_names(text, suggestion):
    word = text.split()[0]
    assert (
        unknown_command(text, [REVIEW], "Enter again sends it as text.")
        == f"No such command: {word}{suggestion} Enter again sends it as text."
    )


@pytest.mark.parametrize(
    "text", ["/review it", "/quit", "/agent:review", "/accord:review", "/usr/bin", "/", "/ x", "a /b", "//x", "", "/*x"]
)
def test_a_known_command_a_path_and_any_other_text_are_not_unknown(text):
    assert unknown_command(text, [REVIEW], "") is None


@pytest.mark.parametrize("key", ["enter", "ctrl+s"])
async def test_an_unknown_command_is_sent_the_second_time(tmp_path, key):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("As you say."))
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.type("/reviw")
        await stage.press("escape", key)
        await stage.shows("No such command: /reviw; did you mean", "/review? Enter again")
        assert stage.prompt == "/reviw"
        await stage.type(" it")
        await stage.press(key)
        assert stage.prompt == "/reviw it"
        assert agent.calls("session/prompt") == []
        await stage.press(key)
        await stage.shows("As you say.")
        assert agent.calls("session/prompt")[0].params["prompt"] == [{"type": "text", "text": "/reviw it"}]


async def test_a_command_of_the_agent_with_a_reserved_name_reaches_it_by_its_prefix(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("Its help."))
    async with opened(agent, tmp_path, version=1) as stage:
        commands = [{"name": "help", "description": "Its own"}]
        agent.update("available_commands_update", session_id=stage.tab.session_id, availableCommands=commands)
        await stage.until(lambda: stage.tab.session.commands)
        await stage.send("/help")
        await stage.shows("Anywhere")
        await stage.press("escape")
        await stage.send("/agent:help")
        await stage.shows("Its help.")
        assert agent.calls("session/prompt")[0].params["prompt"][0]["text"] == "/help"


async def test_a_command_that_takes_no_text_keeps_what_was_typed(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, version=1) as stage:
        await stage.send("/new fix the tests")
        await stage.shows("/new takes no text after it.")
        assert stage.prompt == "/new fix the tests"
        assert len(stage.app.tabs) == 1


async def test_clear_begins_a_new_session_in_the_same_place(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("Hello."))
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("/new")
        await stage.until(lambda: len(agent.calls("session/new")) == 2 and stage.tab.is_open)
        await stage.press("alt+left")
        await stage.send("hi")
        await stage.shows("Hello.")
        await stage.idle()
        await stage.send("/clear")
        await stage.until(lambda: len(agent.calls("session/new")) == 3 and stage.tab.is_open)
        assert len(stage.app.tabs) == 2
        assert stage.app.tabs.index(stage.tab) == 0
        assert "Hello." not in stage.text


async def test_clear_does_not_drop_a_turn_that_runs(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", lambda asked: None)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("work")
        await stage.until(lambda: stage.tab.is_busy)
        before = stage.tab
        await stage.send("/clear")
        await stage.shows("Esc stops it")
        assert stage.tab is before


async def test_each_reaches_whom_it_belongs_to(tmp_path):
    agent = ScriptedAgent(1)
    commands = [{"name": "review", "description": "Look at the changes"}]
    agent.on("session/prompt", agent.reply("Reviewed."))
    async with opened(agent, tmp_path, version=1) as stage:
        agent.update("available_commands_update", session_id=stage.tab.session_id, availableCommands=commands)
        await stage.until(lambda: stage.tab.session.commands)
        await stage.send("/review")
        await stage.shows("Reviewed.")
        await stage.send("/accord:review")
        await stage.until(lambda: stage.app.screen is not stage.app.main)
        assert len(agent.calls("session/prompt")) == 1
