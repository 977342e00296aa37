"""Markdown that grows is drawn as if it had come at once, and what is drawn once stays drawn."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from accord.apps.console.screen.blocks.messages import AgentMessage
from accord.apps.console.screen.drawing import markdown_stream
from accord.apps.console.screen.drawing.code import draw_code
from accord.apps.console.screen.drawing.markdown import draw_markdown
from accord.apps.console.screen.drawing.markdown_stream import MarkdownStream
from accord.apps.console.screen.drawing.parts import PART_CHARACTERS, PART_LINES
from accord.session.content import Text
from tests.apps.console.screen.drawing.palettes import canvas, texts

BLOCKS = [
    "# A heading\n\n",
    "Some *words* and `code`, and a [link](http://x.y) in a line that is long enough to be wrapped somewhere.\n\n",
    "- one\n- two\n  - three\n\n",
    "- item\n" * 70 + "\n",
    "* an item\n\n  of two paragraphs\n" * 40 + "\n",
    "1. first\n\n2. second\n\n",
    "7. item\n" * 120 + "\n",
    "Some text\n- and an item\n" + "- item\n  ```\n  code\n  ```\n" * 20 + "\n",
    "```python\ndef f(x):\n    return x\n```\n\n",
    "```\n" + "".join(f"line {number}\n" for number in range(150)) + "```\n\n",
    "~~~~js\nlet x = `~~~`\n~~~~\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
    "Text\n| a | b |\n|---|---|\n" + "| one | **two** |\n" * 90 + "> quoted\n\n",
    "> a quote\n> of two lines\n\n",
    "---\n\n",
    "<details>html</details>\n\n",
    "Title\n===\n\n",
]


@settings(max_examples=60)
@given(some.lists(some.sampled_from(BLOCKS), min_size=1, max_size=6), some.data())
def test_pieces_are_drawn_as_the_whole(blocks, data):
    whole = "".join(blocks)
    cuts = sorted(data.draw(some.lists(some.integers(0, len(whole)), max_size=8)))
    page = MarkdownStream()
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        page.append(whole[start:end])
        page.draw(canvas())
    streamed = [line for line in texts(page.draw(canvas())) if line]
    assert streamed == [line for line in texts(draw_markdown(whole, canvas())) if line]


@pytest.mark.parametrize("line", ["> quoted", "# A heading", "- an item", "```python", "1. first"])
def test_a_line_that_turns_out_to_be_no_row_leaves_the_table_as_it_was(line):
    table = "| a | b |\n|---|---|\n" + "| one | **two** |\n" * 90
    page = MarkdownStream()
    for letter in table + line:
        page.append(letter)
    page.append("\n")
    assert next(filter(None, texts(page.draw(canvas())))) == texts(draw_markdown(table, canvas()))[0]


@pytest.fixture
def drawn(monkeypatch) -> list[str]:
    """What was drawn, each time."""
    drawn: list[str] = []

    def counted_markdown(source, canvas, stretch=None):
        drawn.append(source)
        return draw_markdown(source, canvas, stretch)

    def counted_code(source, language, canvas):
        drawn.append(source)
        return draw_code(source, language, canvas)

    monkeypatch.setattr(markdown_stream, "draw_markdown", counted_markdown)
    monkeypatch.setattr(markdown_stream, "draw_code", counted_code)
    return drawn


LONG = {
    "a list": "".join(f"- item {number}\n" for number in range(1000)),
    "numbers": "".join(f"{number + 1}. item {number}\n" for number in range(1000)),
    "numbers that are all the same": "".join(f"1. item {number}\n" for number in range(1000)),
    "a table": "| a | b |\n|---|---|\n" + "".join(f"| {number} | item {number} |\n" for number in range(1000)),
    "a wide table": "| a | b |\n|---|---|\n" + "".join(f"| {number} | {'item ' * 40} |\n" for number in range(300)),
    "code": "```python\n" + "".join(f"value_{number} = {number}\n\n" for number in range(500)) + "```\n",
    "paragraphs": "".join(f"Paragraph {number}.\n\n" for number in range(500)),
}


@pytest.mark.parametrize("kind", LONG)
def test_something_long_looks_the_same_in_pieces(kind):
    page = MarkdownStream(LONG[kind])
    assert len(page.parts) > 1
    assert texts(page.draw(canvas())) == texts(draw_markdown(LONG[kind], canvas()))


@pytest.mark.parametrize("kind", LONG)
def test_whatever_is_long_is_never_drawn_as_a_whole(kind, drawn):
    page = MarkdownStream()
    for start in range(0, len(LONG[kind]), 500):
        page.append(LONG[kind][start : start + 500])
        page.parts[-1].lines(canvas())
    page.draw(canvas(60))
    assert max(source.count("\n") for source in drawn) <= 2 * PART_LINES
    assert max(map(len, drawn)) <= 2 * PART_CHARACTERS


@pytest.mark.parametrize(
    "text",
    [
        "a line of a paragraph that never ends\n" * 1000,
        "> a line of a quote that never ends\n" * 1000,
        "    indented code\n" * 1000,
        "- an item\n\n  ```\n" + "  code\n" * 1000 + "  ```\n\nAfter.\n",
        "x" * 100_000,
        "some words " * 5000,
        "| a | b |\n|---|---|\n| " + "x" * 50_000 + " | y |\n",
        "- " * 50_000,
        "`" * 20_000,
    ],
)
def test_what_can_be_cut_nowhere_is_cut_somewhere_and_nothing_of_it_is_lost(text, drawn):
    page = MarkdownStream(text)
    shown = "".join("".join(texts(page.draw(canvas()))).split())
    assert max(source.count("\n") for source in drawn) <= 2 * PART_LINES
    assert max(map(len, drawn)) <= 3 * PART_CHARACTERS
    letters = [letter for letter in text if letter.isalpha()]
    assert sum(map(str.isalpha, shown)) == len(letters)


def test_code_in_a_list_stays_code_however_long_it_is():
    page = MarkdownStream("1. Do this:\n\n   ```python\n" + "   def f(): pass\n\n" * 100 + "   ```\n\n2. *That*.\n")
    lines = texts(page.draw(canvas()))
    assert sum("def f(): pass" in line for line in lines) == 100
    assert "```" not in "".join(lines)
    assert any(line.endswith("That.") for line in lines)


def test_a_row_that_is_wider_than_those_before_widens_all_of_the_table():
    page = MarkdownStream("| n | b |\n|--:|---|\n" + "| 1 | x |\n" * 100)
    before = texts(page.draw(canvas()))
    page.append("| 1000000 | a very much wider cell |\n")
    after = texts(page.draw(canvas()))
    assert len({len(line) for line in before}) == len({len(line) for line in after}) == 1
    assert len(after[0]) > len(before[0])


def test_what_is_complete_is_drawn_once(drawn):
    page = MarkdownStream()
    for number in range(200):
        page.append(f"Paragraph {number}.\n\n")
        page.draw(canvas())
    assert len([source for source in drawn if source.startswith("Paragraph 0.")]) <= 2
    assert max(map(len, drawn)) < 60


def test_the_end_of_a_code_block_is_no_code(drawn):
    page = MarkdownStream("```python\nx = 1\n")
    page.append("```")
    assert texts(page.draw(canvas())) == [" x = 1"]
    page.append("\nAfter.")
    assert texts(page.draw(canvas())) == [" x = 1", "", "After."]


def test_another_width_draws_everything_anew():
    page = MarkdownStream("word " * 40 + "\n\n" + "more " * 40)
    assert len(page.draw(canvas(200))) < len(page.draw(canvas(40)))
    assert max(map(len, texts(page.draw(canvas(40))))) <= 40


def test_nothing_that_was_written_is_lost():
    source = '<b>bold</b> &amp; <script>x</script> [ref][1]\n\n[1]: http://example.org "t"\n'
    text = "\n".join(texts(draw_markdown(source, canvas())))
    for part in ("<b>bold</b>", "<script>x</script>", "ref", "http://example.org"):
        assert part in text
    assert texts(draw_markdown("[1]: http://only.example\n", canvas())) == ["[1]: http://only.example"]


@settings(max_examples=60)
@given(some.text(max_size=200), some.integers(12, 90))
def test_no_text_can_break_the_drawing(text, width):
    message = AgentMessage()
    message.append(Text(text))
    for strip in message.lines(canvas(width)):
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in strip.text)


def test_what_cannot_be_drawn_is_shown_as_bare_text(monkeypatch):
    message = AgentMessage()
    message.append(Text("still readable\n\nand more"))

    def broken(*_):
        raise RuntimeError("no")

    monkeypatch.setattr(markdown_stream, "draw_markdown", broken)
    assert [line.strip() for line in texts(message.lines(canvas())) if line] == ["still readable", "and more"]
