"""What is on the screen can be read: contrast, room, ellipses, and signs beside every colour."""

from __future__ import annotations

import pytest
from rich.style import Style
from textual.color import Color
from textual.filter import Monochrome, NoColor
from textual.theme import BUILTIN_THEMES

from accord import Agent, Turn
from accord.apps.coder.models.offline_requests import Create, parse_request
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.screen.blocks import welcome
from accord.apps.console.screen.blocks.welcome import EXAMPLES, no_model_hint
from accord.apps.console.screen.drawing.palette import READABLE, VISIBLE, contrast, make_palette, readable_color
from accord.apps.console.screen.slash_completion import MOST_LINES
from accord.apps.console.screen.themes import THEMES, default_theme
from accord.apps.console.screen.widgets.lines_view import LinesView
from accord.apps.console.slash_commands import OWN_COMMANDS
from accord.session.entities import OptionChoice
from tests.apps.console.screen.looks import agent, cells, colours, story
from tests.apps.console.screen.stage import Stage, opened

SIGNS = set("─│╭╮╰╯├┤┬┴┼┌┐└┘╞═╡▌▐▔▁▎▊▇▆▅▄▃▂█ ·⋮╸━╺╶")


def unreadable(stage: Stage, region=None) -> list[str]:
    ground = stage.app.screen.background_colors[1]
    found = []
    for text, style in cells(stage.app, region):
        front, back = colours(style, ground)
        if not set(text) <= SIGNS and contrast(front, back) < READABLE:
            found.append(f"{text.strip()!r}: {front.hex6} on {back.hex6}, {contrast(front, back):.2f}")
    return found


@pytest.mark.parametrize("theme", [theme.name for theme in THEMES])
@pytest.mark.parametrize("size", [(80, 24), (150, 50)], ids=["small", "wide"])
async def test_all_text_can_be_read_in_both_themes(theme, size, tmp_path):
    async with opened(agent, tmp_path, theme=theme, size=size) as stage:
        assert unreadable(stage) == []
        await stage.send("everything")
        await stage.idle()
        assert unreadable(stage) == []
        await stage.press("ctrl+o", "ctrl+t")
        await stage.press("pageup")
        assert unreadable(stage) == []
        for asked in ("edit", "form", "link"):
            await stage.send(asked)
            await stage.asked()
            assert unreadable(stage) == []
            await stage.press("escape")
            await stage.idle()


@pytest.mark.parametrize("theme", [theme.name for theme in THEMES])
async def test_all_text_of_the_pages_can_be_read_in_both_themes(theme, tmp_path):
    async with opened(agent, tmp_path, theme=theme, size=(120, 40)) as stage:
        await stage.send("everything")
        await stage.idle()
        for key in ("f1", "f4", "ctrl+l", "ctrl+r"):
            await stage.press(key)
            await stage.until(lambda: stage.app.screen is not stage.app.main)
            assert unreadable(stage, stage.app.screen.query_one(".page").region) == [], key
            await stage.press("escape")
        await stage.press("ctrl+p", "#")
        await stage.shows("no match")
        assert unreadable(stage, stage.app.screen.query_one(".page").region) == []
        await stage.press("escape")
        await stage.press("/")
        assert unreadable(stage) == []
        for severity in ("information", "warning", "error"):
            stage.app.tell("This was done.", severity)
        await stage.shows("This was done.")
        assert unreadable(stage) == []


@pytest.mark.parametrize("theme", sorted(BUILTIN_THEMES))
def test_what_is_drawn_can_be_read_in_every_theme(theme):
    chosen = BUILTIN_THEMES[theme]
    palette = make_palette(chosen.to_color_system().generate(), dark=chosen.dark, ansi=chosen.ansi)
    for name in ("text", "muted", "accent", "thought", "good", "bad", "warning", "heading", "code"):
        color = getattr(palette, name).color
        for ground in palette.grounds[:4]:
            assert contrast(Color.from_rich_color(color), ground) >= READABLE, name
    for match in (palette.found, palette.found_here) if palette.grounds else ():
        assert match.color is not None
        assert match.bgcolor is not None
        assert contrast(Color.from_rich_color(match.color), Color.from_rich_color(match.bgcolor)) >= READABLE


def test_a_colour_that_can_be_read_stays_as_it_is():
    assert readable_color(Color(0, 0, 0), [Color(255, 255, 255)]) == Color(0, 0, 0)
    assert contrast(Color(0, 0, 0), Color(255, 255, 255)) == pytest.approx(21)
    assert readable_color(Color(200, 200, 200), [Color(255, 255, 255)]).brightness < 0.5


async def test_a_line_that_has_no_room_ends_in_an_ellipsis(tmp_path):
    long = "and write the changelog, at length, with all the details that somebody might want to know of it"
    async with opened(agent, tmp_path, size=(80, 24)) as stage:
        await stage.send("edit")
        await stage.asked()
        for text in ("first", long, "third", "4", "5", "6", "7"):
            stage.tab.queue.send(text)
        await stage.press("escape", "escape")
        stage.app.main.queue.set_queue(["first", long, *"34567"], stage.app.palette)
        stage.app.main.remove_class("low", "asking")
        await stage.pilot.pause()
        row = next(line for line in stage.lines if "and write the changelog" in line)
        assert row.endswith("…")
        assert "… 2 more" in stage.text


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_the_answers_and_the_prompt_have_room_whatever_else_is_there(size, tmp_path):
    async with opened(agent, tmp_path, size=size) as stage:
        await stage.send("everything")
        await stage.idle()
        await stage.send("edit")
        await stage.asked()
        for text in ("one", "two", "three"):
            stage.tab.queue.send(text)
        stage.app.prompt.focus()
        stage.app.prompt.set_text("\n".join(f"line {number}" for number in range(12)))
        await stage.shows(
            "Permission", "Allow", "Reject", "Tab to answer", "Next 3", "line 11", "waiting for your answer"
        )


async def test_the_status_line_leaves_out_what_matters_least(tmp_path):
    async with opened(agent, tmp_path, size=(110, 30), title="an agent with a rather long name") as stage:
        await stage.send("everything")
        await stage.idle()
        await stage.shows("1 file changed F4 shows", "context 9% of 200k", "$0.043", "F1 keys", "rather long name")
        await stage.pilot.resize_terminal(100, 30)
        await stage.until(lambda: "$0.043" not in stage.lines[-1])
        assert "an agent with a rather long name" in stage.lines[-1]
        await stage.pilot.resize_terminal(80, 30)
        await stage.until(lambda: "rather long name" not in stage.lines[-1])
        assert "context 9% of 200k" in stage.lines[-1]
        await stage.pilot.resize_terminal(40, 30)
        await stage.until(lambda: "context" not in stage.lines[-1])
        assert "● ready" in stage.lines[-1]
        assert "1 file changed F4 shows" in stage.lines[-1]


async def test_without_colours_there_are_none_and_signs_tell_everything(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened(agent, tmp_path, theme=default_theme({"NO_COLOR": "1"})) as stage:
        await stage.send("everything")
        await stage.idle()
        (colours_left,) = [each for each in stage.app._filters if isinstance(each, NoColor | Monochrome)]
        assert isinstance(colours_left, NoColor)  # the other one makes black of the terminal's own colours
        await stage.press("ctrl+r")
        await stage.shows("Prompt history", "everything")
        chosen = [style for text, style in cells(stage.app) if "everything" in text]
        assert chosen[0].underline
        await stage.press("escape")
        await stage.send("form")
        await stage.asked()
        assert "✓ Loud" not in stage.text.replace("▌", "")
        await stage.press("tab", "space")
        await stage.until(lambda: "✓" in next(line for line in stage.lines if "Loud" in line))


async def test_tab_takes_an_example_before_anything_was_said_and_then_the_next(tmp_path):
    async with opened(agent, tmp_path) as stage:
        for example in (*EXAMPLES, EXAMPLES[0]):
            await stage.press("tab")
            assert stage.prompt == example
        await stage.type("!")
        await stage.press("tab")
        assert stage.prompt == f"{EXAMPLES[0]}!"
        await stage.press("tab")
        stage.app.prompt.set_text("")
        await stage.send("everything")
        await stage.idle()
        await stage.press("tab")
        assert (stage.prompt, stage.app.focused) == ("", stage.app.conversation)


def test_the_built_in_agent_understands_every_example_without_a_language_model():
    assert None not in [parse_request(example) for example in EXAMPLES]
    assert isinstance(parse_request(EXAMPLES[0]), Create)


async def test_the_welcome_tells_what_the_agent_says_of_its_mode_and_model(tmp_path):
    careful = Agent("careful", version="2")
    modes = [OptionChoice("ask", "Ask", "Asks before everything"), OptionChoice("go", "Go", "Asks nothing")]
    careful.option("mode", choices=modes, default="ask", category="mode")
    careful.prompt(story)
    async with opened(careful, tmp_path) as stage:
        await stage.shows("Ask  Asks before everything")
        await stage.press("shift+tab")
        await stage.shows("Go  Asks nothing")


async def test_the_list_of_commands_shows_that_there_are_more(tmp_path):
    async with opened(agent, tmp_path) as stage:
        await stage.press("/")
        assert len(OWN_COMMANDS) > MOST_LINES
        await stage.shows(f"1 of {len(OWN_COMMANDS)}, ↑↓")
        await stage.press("up")
        await stage.shows(f"▸ /{list(OWN_COMMANDS)[-1]}")


async def test_a_tab_is_named_by_what_was_asked_there(tmp_path):
    async with opened(agent, tmp_path) as stage:
        await stage.send("everything")
        await stage.idle()
        await stage.press("ctrl+n")
        await stage.shows("1 everything", "2 new session")


async def test_a_notice_does_not_cover_the_prompt(tmp_path):
    async with opened(agent, tmp_path, size=(80, 24)) as stage:
        stage.app.tell("This was done.")
        await stage.shows("This was done.")
        assert "This was done." in "\n".join(stage.lines[:4])


@pytest.mark.requirement("PERM-12")
async def test_what_allows_is_green_what_rejects_is_red_and_what_is_remembered_says_always(tmp_path):
    async with opened(agent, tmp_path, size=(120, 40)) as stage:
        await stage.send("edit")
        await stage.asked()
        ground = stage.app.screen.background_colors[1]
        drawn = {text.strip(): colours(style, ground)[1] for text, style in cells(stage.app)}
        for key in ("1 y", "2 a"):
            assert drawn[key].g > drawn[key].r, key
        for key in ("3 n", "4 d"):
            assert drawn[key].r > drawn[key].g, key
        for answer in ("1 y  Allow", "2 a  Always allow", "3 n  Reject", "4 d  Always reject"):
            assert answer in stage.text
        await stage.press("escape")
        await stage.idle()


@pytest.mark.requirement("TOOL-13")
async def test_each_kind_of_tool_call_has_a_sign_of_its_own(tmp_path):
    kinds = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]
    worker = Agent("worker", version="1")

    @worker.prompt
    async def work(turn: Turn) -> None:
        for kind in kinds:
            async with turn.tool_call(f"Title of {kind}", kind=kind):
                pass

    async with opened(worker, tmp_path, size=(100, 40)) as stage:
        await stage.send("Go")
        await stage.idle()
        lines = [line for line in stage.conversation.splitlines() if "Title of " in line]
        signs = [line.split("Title of ")[0].split()[-1] for line in lines]
        assert len(set(signs)) == len(kinds) == len(lines)


async def test_the_scrollbar_can_be_seen_in_every_theme(tmp_path):
    def thumb(bar) -> Style:
        strips = stage.app.screen._compositor.render_strips()
        segments = [each for strip in strips for each in strip.crop(bar.region.x, bar.region.right)]
        styles = [each.style for each in segments if each.style is not None]
        return next(each for each in styles if each.meta.get("@mouse.down") == "grab" and each.reverse)

    async with opened(agent, tmp_path, size=(80, 24)) as stage:
        await stage.send("everything")
        await stage.idle()
        assert stage.app.available_themes.keys() >= {*BUILTIN_THEMES, *(theme.name for theme in THEMES)}
        for page in (None, "f1"):
            if page is not None:
                await stage.press(page)
                await stage.shows("Anywhere")
            view = stage.app.conversation if page is None else stage.app.screen.query_one(LinesView)
            for name, theme in stage.app.available_themes.items():
                stage.app.theme = name
                await stage.pilot.pause()
                style = thumb(view.vertical_scrollbar)
                if not theme.ansi:  # else it has the colour of the text
                    ground = Color.parse(stage.app.theme_variables["background" if page is None else "surface"])
                    assert contrast(Color.from_rich_color(style.color), ground) >= VISIBLE, name


@pytest.mark.parametrize(
    ("source", "models", "hint"),
    [
        ("built-in", ["offline"], "A real model: set OPENAI_API_KEY and run `accord --model openai:gpt-5`"),
        ("built-in", ["offline", "openai:gpt-5"], "A real model: F2 chooses one"),
        ("built-in", ["openai:gpt-5", "offline"], ""),
        ("preset", ["offline"], ""),
    ],
)
@pytest.mark.usefixtures("activated")
async def test_the_welcome_tells_how_to_use_a_real_model_in_one_line(source, models, hint, tmp_path):
    no_model_hint.cache_clear()
    modelled = Agent("modelled", version="1")

    @modelled.option("model", name="Model", choices=models, default=models[0], category="model")
    async def chosen(session, value) -> None: ...

    known = KnownAgent(name="accord", command=["accord"], source=source)
    async with opened(modelled, tmp_path, size=(80, 24), known=known) as stage:
        await stage.shows("Type what you want done", models[0])
        await stage.settled()
        assert "A real model" not in stage.text.replace(hint or "\0", "")
        assert not hint or hint in stage.text


async def test_the_hint_of_the_welcome_is_whole_where_the_command_has_a_long_path(tmp_path, monkeypatch):
    monkeypatch.setattr(welcome, "program_command", lambda: f"/home/ada/{'x' * 40}/.venv/bin/accord")
    no_model_hint.cache_clear()
    modelled = Agent("modelled", version="1")

    @modelled.option("model", name="Model", choices=["offline"], default="offline", category="model")
    async def chosen(session, value) -> None: ...

    known = KnownAgent(name="accord", command=["accord"], source="built-in")
    async with opened(modelled, tmp_path, size=(80, 24), known=known) as stage:
        await stage.shows("A real model", "x/.venv/bin/accord", "--model openai:gpt-5`")
    no_model_hint.cache_clear()
