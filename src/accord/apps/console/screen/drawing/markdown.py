"""Markdown as lines. What the agent wrote is all there: HTML is shown as it was written, and links show where they lead."""

from __future__ import annotations

from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement, TableElement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from rich.theme import Theme
from textual.strip import Strip

from accord.apps.console.screen.drawing.code import draw_code
from accord.apps.console.screen.drawing.ink import Ink, Palette

__all__ = ["PARSER", "draw_markdown"]

PARSER = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _Code(CodeBlock):
    palette: Palette

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _Code:
        assert isinstance(markdown, _Page)
        code = cls(_language(token), "")
        code.palette = markdown.palette
        return code

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip("\n")
        for strip in draw_code(code, self.lexer_name, Ink(self.palette, options.max_width)):
            yield from strip
            yield Segment.line()


class _Table(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=box.ROUNDED, border_style="accord.border", header_style="bold", pad_edge=True)
        header = [] if self.header is None or self.header.row is None else self.header.row.cells
        for cell in header:
            table.add_column(cell.content)
        for row in () if self.body is None else self.body.rows:
            table.add_row(*[cell.content for cell in row.cells])
        yield table


class _Page(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
    }

    def __init__(self, tokens: list[Token], palette: Palette) -> None:
        # Not super().__init__, which makes a parser of its own each time.
        self.markup, self.parsed, self.palette = "", tokens, palette
        self.code_theme = self.inline_code_theme = palette.syntax
        self.justify, self.style, self.hyperlinks, self.inline_code_lexer = None, "none", False, None


def _language(token: Token) -> str:
    return (token.info or "").strip().partition(" ")[0] or "text"


def draw_markdown(source: str, ink: Ink) -> list[Strip]:
    """The lines, without blank ones at the beginning and the end."""
    tokens = PARSER.parse(source)
    if len(tokens) == 1 and tokens[0].type == "fence":
        return draw_code(tokens[0].content.rstrip("\n"), _language(tokens[0]), ink)
    strips = ink.render(_Themed(_Page(tokens, ink.palette), _theme(ink.palette)))
    while strips and not strips[-1].text.strip():
        strips.pop()
    while strips and not strips[0].text.strip():
        strips.pop(0)
    return strips or ([ink.strip(Text(source))] if source.strip() else [])


class _Themed:
    def __init__(self, page: Markdown, theme: Theme) -> None:
        self._page = page
        self._theme = theme

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with console.use_theme(self._theme):
            yield from list(console.render(self._page, options))


_THEMES: dict[int, tuple[Palette, Theme]] = {}


def _theme(palette: Palette) -> Theme:
    known = _THEMES.get(id(palette))
    if known is not None and known[0] is palette:
        return known[1]
    theme = Theme(
        {
            **{f"markdown.h{level}": palette.heading for level in range(1, 7)},
            "markdown.code": palette.code,
            "markdown.code_block": palette.text,
            "markdown.block_quote": palette.muted,
            "markdown.hr": palette.faint,
            "markdown.item.bullet": palette.accent,
            "markdown.item.number": palette.accent,
            "markdown.link": palette.accent,
            "markdown.link_url": palette.muted,
            "accord.border": palette.faint,
        }
    )
    if len(_THEMES) > 8:
        _THEMES.clear()
    _THEMES[id(palette)] = (palette, theme)
    return theme
