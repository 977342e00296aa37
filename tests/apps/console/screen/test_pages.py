"""What opens over the conversation: keys, options, files, log, palette, themes; and what is exported."""

from __future__ import annotations

import json
import re

import pytest

from accord import Agent, Transcript, Turn
from accord.apps.console.screen.drawing.diffs import MINUS, SIDE_BY_SIDE
from accord.apps.console.screen.export import export_path
from accord.apps.console.screen.key_bindings import KEYS
from accord.apps.console.screen.widgets.lines_view import LinesView
from accord.session.entities import Diff, FileChange
from accord.session.updates import MessageAppend
from accord.store.memory import MemoryStore
from accord.testing import ScriptedAgent
from tests.apps.console.screen import looks
from tests.apps.console.screen.stage import opened


def editor() -> Agent:
    agent = Agent("editor", version="1")

    @agent.prompt
    async def edit(turn: Turn) -> None:
        for name, status in (("a.py", True), ("b.py", True), ("a.py", True), ("lost.py", False)):
            path = str(turn.cwd / name)
            change = FileChange(operation="modify", path=path, old_text="x = 1\n", new_text="x = 2\ny = 3\n")
            async with turn.tool_call(f"Edit {name}", kind="edit", content=[Diff(changes=[change])]) as call:
                if not status:
                    await call.fail("no")

    return agent


async def test_f1_lists_every_key_of_the_main_screen(tmp_path):
    async with opened(editor(), tmp_path, size=(120, 80)) as stage:
        await stage.press("f1")
        await stage.shows("Anywhere", "When the agent asks", "In the conversation")
        for binding in KEYS:
            assert binding.description[:60] in stage.text
        await stage.press("escape")
        assert stage.app.screen is stage.app.main


async def test_shift_tab_takes_the_next_mode(tmp_path, version):
    agent = Agent("modes", version="1")
    agent.option("mode", name="Mode", choices=[("ask", "Ask"), ("code", "Code")], default="ask", category="mode")(_ok)
    agent.prompt(_say)
    async with opened(agent, tmp_path, version=version) as stage:
        assert "tester · Ask" in stage.lines[-1]
        await stage.press("shift+tab")
        await stage.shows("tester · Code")
        await stage.press("shift+tab")
        await stage.shows("tester · Ask")


async def test_every_option_is_in_the_menu_and_can_be_set(tmp_path, version):
    agent, chosen = Agent("options", version="1"), {}

    def keep(name):
        async def choose(session, value) -> None:
            chosen[name] = value

        return choose

    agent.option("model", name="Model", choices=["big", "small"], default="big", category="model")(keep("model"))
    agent.option("loud", name="Loud", default=False)(keep("loud"))
    agent.prompt(_say)
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.press("f2")
        await stage.shows("Options", "Model  big", "Loud   off")
        await stage.press("enter")
        await stage.shows("● big", "small")
        await stage.press("down", "enter")
        await stage.until(lambda: chosen == {"model": "small"})
        await stage.shows("tester · small")
        await stage.press("f2")
        await stage.type("lou")
        await stage.press("enter")
        await stage.until(lambda: chosen.get("loud") is True)


async def test_an_option_that_the_agent_changes_is_shown_at_once(tmp_path):
    agent = ScriptedAgent(1)
    option = {"id": "model", "name": "Model", "type": "select", "category": "model", "currentValue": "m1"}
    options = [{**option, "options": [{"value": "m1", "name": "One"}, {"value": "m2", "name": "Two"}]}]
    agent.on("session/new", {"sessionId": "s", "configOptions": options})
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.shows("tester · One")
        agent.update("config_option_update", configOptions=[{**options[0], "currentValue": "m2"}])
        await stage.shows("tester · Two")


async def test_f4_lists_all_changed_files_with_their_changes(tmp_path):
    async with opened(editor(), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.press("f4")
        await stage.shows("2 changed files", f"a.py  +4 {MINUS}2", f"b.py  +2 {MINUS}1", "x = 2")
        assert "lost.py" not in "\n".join(stage.lines[3:12])


async def test_a_changed_file_is_opened_in_the_editor_at_its_line(tmp_path, monkeypatch):
    opened_with: list[tuple[str, int | None]] = []
    async with opened(editor(), tmp_path) as stage:

        async def open_file(path: str, line: int | None) -> bool:
            opened_with.append((path, line))
            return True

        stage.app.editor.open = open_file
        await stage.send("Go")
        await stage.idle()
        await stage.press("f4")
        await stage.shows("2 changed files")
        await stage.press("down", "e")
        await stage.until(lambda: opened_with)
        assert opened_with == [(str(tmp_path / "b.py"), 1)]
        await stage.press("escape", "tab", "k", "e")
        await stage.until(lambda: len(opened_with) == 2)
        assert opened_with[1][0] == str(tmp_path / "lost.py")


async def test_the_log_shows_the_traffic_with_times_and_what_is_in_it(tmp_path, version):
    async with opened(editor(), tmp_path, version=version) as stage:
        stage.app.agent.wire_log.stderr(b"\x1b[31mwarning: low\x1b[0m\n")
        await stage.send("/log")
        await stage.shows("Wire log", "→", "← ", "initialize", "session/new", "warning: low")
        await stage.press("shift+tab")
        await stage.type("initialize")
        await stage.shows('"method": "initialize"')


async def test_the_palette_finds_what_has_a_key_and_what_has_none(tmp_path):
    async with opened(editor(), tmp_path) as stage:
        await stage.press("ctrl+p")
        await stage.until(lambda: stage.app.screen is not stage.app.main)
        await stage.type("changed folders")
        await stage.shows("no match")
        await stage.press("down", "enter", *["backspace"] * 7)
        await stage.type("files")
        await stage.shows("Review all changed files")
        await stage.press("enter")
        await stage.until(lambda: stage.app.screen is not stage.app.main)
        await stage.shows("No files changed yet")
        await stage.press("pagedown", "e")
        assert "e open" not in stage.text  # there is none
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.main)


@pytest.mark.parametrize("theme", ["accord-dark", "accord-light", "ansi-dark", "nord"])
async def test_every_theme_draws_the_same_words(tmp_path, theme):
    async with opened(editor(), tmp_path, theme=theme) as stage:
        await stage.send("Go")
        await stage.idle()
        assert f"✓ ✎ Edit a.py  +2 {MINUS}1" in stage.text
        before = stage.text
        stage.app.theme = "accord-light"
        await stage.pilot.pause()
        assert stage.text == before


async def test_a_conversation_is_exported_as_markdown_and_as_json(tmp_path, version):
    agent = Agent("sayer", version="1")

    @agent.prompt
    async def say(turn: Turn) -> None:
        await turn.set_title("Of milk")
        await turn.think("Hm")
        change = FileChange(operation="modify", path="/a.py", old_text="x = 1\n", new_text="x = 2\n")
        async with turn.tool_call("Edit a.py", kind="edit", content=[Diff(changes=[change])]):
            pass
        await turn.say("Done `it`.")

    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.send("/export notes.md")
        await stage.shows("Written to")
        text = (tmp_path / "notes.md").read_text()
        for part in (
            "# Of milk",
            "## User\n\nGo",
            "> Hm",
            "### Edit a.py (edit, completed)",
            "-x = 1\n+x = 2",
            "Done `it`.",
        ):
            assert part in text
        await stage.send("/export talk.json")
        await stage.until((tmp_path / "talk.json").exists)
        document = json.loads((tmp_path / "talk.json").read_text())
        assert document["format"] == "accord transcript"
        assert [each["report"] for each in document["reports"]][:2] == ["MessagePatch", "MessagePatch"]
        await stage.send("/export notes.md")
        await stage.shows("Cannot write")


async def _ok(session, value) -> None:
    pass


async def _say(turn: Turn) -> None:
    await turn.say("Hi")


def test_the_export_of_nothing_is_a_heading():
    from accord.apps.console.screen.export import as_markdown

    assert as_markdown(Transcript()) == "# A conversation\n"
    assert MessageAppend


@pytest.mark.parametrize("count", [4, 60])
async def test_the_search_field_of_a_list_stays_where_it_is(tmp_path, count):
    async with opened(ScriptedAgent(1), tmp_path, size=(80, 24)) as stage:
        stage.app.history.prompts[:] = [f"prompt {number}" for number in range(count)]
        await stage.press("ctrl+r")
        await stage.shows("search", f"prompt {count - 1}")
        page = stage.app.screen
        before = page.query_one("Input").region, page.query_one(".page").region
        assert before[1].height < 24
        await stage.type("nothing")
        await stage.until(lambda: "prompt" not in stage.text.partition("nothing")[2])
        assert (page.query_one("Input").region, page.query_one(".page").region) == before
        await stage.press("escape")


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("", ["accord-s-1.md", "accord-s-1-2.md", "accord-s-1-3.md"]),
        ("md", ["accord-s-1.md", "accord-s-1-2.md"]),
        (".json", ["accord-s-1.json", "accord-s-1-2.json"]),
        ("json", ["accord-s-1.json"]),
        ("notes", ["notes.md"]),
        ("foo.txt", ["foo.txt"]),
        ("deep/talk.json", ["deep/talk.json"]),
    ],
)
def test_what_is_exported_has_the_name_that_was_asked_for_or_a_new_one(tmp_path, given, names):
    for name in names:
        path = export_path(given, tmp_path, "s/1")
        assert path == tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()


async def test_a_conversation_is_exported_twice(tmp_path):
    async with opened(editor(), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.send("/export")
        await stage.send("/export")
        await stage.send("/export notes")
        await stage.until((tmp_path / "notes.md").exists)
        assert len(list(tmp_path.glob("accord-*.md"))) == 2


async def test_pages_that_need_the_agent_say_that_it_is_gone(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        agent.die(1)
        await stage.shows("agent ended, F5 restarts it")
        for key in ("f3", "f2", "shift+tab"):
            stage.app.clear_notifications()
            await stage.press(key)
            await stage.shows("The agent has ended. F5 restarts it.")
            assert stage.app.screen is stage.app.main


async def test_the_list_of_options_shows_the_name_of_the_mode(tmp_path):
    agent = ScriptedAgent(1)
    modes = [{"id": "careful", "name": "With care"}, {"id": "quick", "name": "At once"}]
    option = {"id": "depth", "name": "Depth", "type": "boolean", "currentValue": True}
    new = {"sessionId": "s", "modes": {"currentModeId": "careful", "availableModes": modes}, "configOptions": [option]}
    agent.on("session/new", new)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.press("f2")
        await stage.shows("Options", "Mode", "Depth", "With care")
        assert "careful" not in stage.text


async def test_stopping_what_has_ended_says_so(tmp_path):
    async with opened(editor(), tmp_path) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.press("tab", "k", "x")
        await stage.shows("It has already ended.")


@pytest.mark.parametrize("width", [SIDE_BY_SIDE - 1, SIDE_BY_SIDE])
async def test_old_and_new_lines_are_side_by_side_from_the_width_of_the_terminal_that_the_docs_say(tmp_path, width):
    def is_side_by_side() -> bool:
        return any(re.search(r"- def greet\(name\):.*\+ def greet\(name: str\)", line) for line in stage.lines)

    async with opened(looks.agent, tmp_path, size=(width, 40)) as stage:
        await stage.send("edit")
        await stage.asked()
        await stage.shows("def greet(name: str)")
        assert is_side_by_side() == (width == SIDE_BY_SIDE), stage.text  # the permission bar
        await stage.press("end", "y")
        await stage.idle()
        await stage.shows("def greet(name: str)")
        assert is_side_by_side() == (width == SIDE_BY_SIDE), stage.text  # the conversation
        await stage.press("f4")
        await stage.shows("1 changed file", "def greet(name: str)")
        assert is_side_by_side() == (width == SIDE_BY_SIDE), stage.text
        await stage.pilot.resize_terminal(2 * SIDE_BY_SIDE - 1 - width, 40)
        await stage.until(lambda: is_side_by_side() == (width < SIDE_BY_SIDE))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_the_page_of_keys_has_one_column_of_keys_and_cuts_none_off(tmp_path, size):
    async with opened(editor(), tmp_path, size=size) as stage:
        await stage.press("f1")
        await stage.shows("Anywhere")
        page = stage.app.screen.query_one(LinesView)
        assert page._canvas is not None
        lines = [line.text.rstrip() for line in page._block.lines(page._canvas)]
        assert "…" not in "".join(lines)
        assert {
            line.index(word)
            for line in lines
            for word in ("next mode", "new line", "copy", "edit the")
            if line[20:].lstrip().startswith(word)
        } == {22}


async def test_the_command_palette_spells_its_commands_as_the_keys_are_described(tmp_path):
    async with opened(editor(), tmp_path) as stage:
        titles = [command.title for command in stage.app.palette_commands()]
        assert "Edit the prompt in $EDITOR" in titles
        assert "Search in the conversation" in titles


async def test_new_text_names_the_key_that_the_settings_give(tmp_path):
    for keys, told in (({"follow": ["f9"]}, "↓ new text below, F9"), ({"follow": []}, "↓ new text below")):
        async with opened(editor(), tmp_path, keys=keys) as stage:
            stage.app.main.new_text.show(True, stage.app.palette)
            assert stage.app.main.new_text.content.plain == told


async def test_the_keys_and_commands_of_the_palette_are_in_one_column_at_80_columns(tmp_path):
    async with opened(editor(), tmp_path, size=(80, 24)) as stage:
        await stage.press("ctrl+p")
        await stage.shows("Commands")
        commands = list(stage.app.palette_commands())
        keys = {command.help for command in commands if command.help}
        columns: dict[str, int] = {}
        for _ in commands:
            for line in stage.lines:
                shown = line.strip("│┃▁▂▃▄▅▆▇█ ").rpartition("  ")[2]
                columns |= {shown: line.index(f"  {shown}")} if shown in keys else {}
            await stage.press("down")
        assert columns.keys() == keys
        assert len(set(columns.values())) == 1, columns


@pytest.mark.parametrize("key", ["f3", "ctrl+p", "ctrl+r"])
async def test_the_hint_of_a_page_fits_into_80_columns(tmp_path, key):
    agent = Agent("keeper", version="1", store=MemoryStore())
    agent.prompt(_say)
    async with opened(agent, tmp_path, size=(80, 24)) as stage:
        await stage.send("Go")
        await stage.idle()
        await stage.press(key)
        await stage.until(lambda: stage.app.screen is not stage.app.main)
        await stage.shows("Esc close" if key != "f3" else "Ctrl+F fork · Ctrl+X delete · Esc close")
        (hint,) = stage.app.screen.query(".hint")
        assert hint.size.height == 1


async def test_a_long_note_has_the_margins_of_the_text(tmp_path):
    async with opened(editor(), tmp_path, size=(80, 24)) as stage:
        stage.tab.add_note("a note of many words " * 9)
        await stage.shows("a note of many words")
        lines = [line for line in stage.lines if "words" in line]
        assert len(lines) > 2
        assert all(line.startswith("  ") and not line.startswith("   ") for line in lines)
