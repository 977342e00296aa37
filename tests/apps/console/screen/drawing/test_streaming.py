"""Markdown that grows is drawn as if it had come at once, and what is drawn once stays drawn."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as some

from accord.apps.console.screen.blocks.messages import AgentMessage
from accord.apps.console.screen.drawing import streaming
from accord.apps.console.screen.drawing.markdown import draw_markdown
from accord.apps.console.screen.drawing.streaming import StreamedMarkdown
from accord.session.content import Text
from tests.apps.console.screen.drawing.palettes import ink, texts

BLOCKS = [
    "# A heading\n\n",
    "Some *words* and `code`, and a [link](http://x.y) in a line that is long enough to be wrapped somewhere.\n\n",
    "- one\n- two\n  - three\n\n",
    "1. first\n\n2. second\n\n",
    "```python\ndef f(x):\n    return x\n```\n\n",
    "```\n" + "".join(f"line {number}\n" for number in range(150)) + "```\n\n",
    "~~~~js\nlet x = `~~~`\n~~~~\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
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
    page = StreamedMarkdown()
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        page.append(whole[start:end])
        page.draw(ink())
    streamed = [line for line in texts(page.draw(ink())) if line]
    assert streamed == [line for line in texts(draw_markdown(whole, ink())) if line]


def test_what_is_settled_is_drawn_once(monkeypatch):
    drawn: list[str] = []

    def counted(source, ink):
        drawn.append(source)
        return draw_markdown(source, ink)

    monkeypatch.setattr(streaming, "draw_markdown", counted)
    page = StreamedMarkdown()
    for number in range(200):
        page.append(f"Paragraph {number}.\n\n")
        page.draw(ink())
    settled = [source for source in drawn if source.startswith("Paragraph 0.")]
    assert len(settled) <= 2
    assert max(map(len, drawn)) < 60


def test_a_code_block_that_is_still_open_is_settled_in_pages(monkeypatch):
    drawn: list[str] = []

    def counted(source, ink):
        drawn.append(source)
        return draw_markdown(source, ink)

    monkeypatch.setattr(streaming, "draw_markdown", counted)
    page = StreamedMarkdown("```python\n")
    for number in range(600):
        page.append(f"value_{number} = {number}\n")
        if number % 10 == 0:
            page.draw(ink())
    assert max(source.count("\n") for source in drawn) <= 2 * streaming.PAGE_LINES
    assert len(page.draw(ink())) == 600
    page.append("```\nAfter.\n")
    assert texts(page.draw(ink()))[-3:] == [" value_599 = 599", "", "After."]


def test_another_width_draws_everything_anew():
    page = StreamedMarkdown("word " * 40 + "\n\n" + "more " * 40)
    assert len(page.draw(ink(200))) < len(page.draw(ink(40)))
    assert max(map(len, texts(page.draw(ink(40))))) <= 40


def test_nothing_that_was_written_is_lost():
    source = '<b>bold</b> &amp; <script>x</script> [ref][1]\n\n[1]: http://example.org "t"\n'
    text = "\n".join(texts(draw_markdown(source, ink())))
    for part in ("<b>bold</b>", "<script>x</script>", "ref", "http://example.org"):
        assert part in text
    assert texts(draw_markdown("[1]: http://only.example\n", ink())) == ["[1]: http://only.example"]


@settings(max_examples=60)
@given(some.text(max_size=200), some.integers(12, 90))
def test_no_text_can_break_the_drawing(text, width):
    message = AgentMessage()
    message.append(Text(text))
    for strip in message.lines(ink(width)):
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in strip.text)


def test_what_cannot_be_drawn_is_shown_as_bare_text(monkeypatch):
    message = AgentMessage()
    message.append(Text("still readable"))

    def broken(ink):
        raise RuntimeError("no")

    monkeypatch.setattr(message, "draw", broken)
    assert texts(message.lines(ink())) == ["still readable"]
