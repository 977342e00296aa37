"""Draws Markdown, long tables included. HTML is shown as written, and links show their address."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, ListElement, Markdown, MarkdownElement, TableElement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from rich.theme import Theme
from textual.strip import Strip

from accord.apps.console.sanitizer import visible
from accord.apps.console.screen.drawing.code import draw_code
from accord.apps.console.screen.drawing.palette import Ink, Palette

__all__ = ["Stretch", "Whole", "cells_of", "draw_markdown", "fitted", "is_delimiter"]

_PARSER = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")


class Whole(msgspec.Struct):
    """What the pieces of a long list or table share."""

    last_number: int = 0
    columns: list[int] = []


class Stretch(msgspec.Struct):
    """Which piece of a long list or table it is. The first one tells the number that a list begins with itself."""

    whole: Whole
    start: int | None = None
    is_first: bool = True
    is_last: bool = True


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


class _List(ListElement):
    last_number = 0

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _List:
        assert isinstance(markdown, _Page)
        stretch = markdown.stretch if token.level == 0 else None
        made = cls(token.type, int(token.attrs.get("start", 1)))
        if stretch is not None:
            made.list_start = made.list_start if stretch.start is None else stretch.start
            made.last_number = stretch.whole.last_number
        return made

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        start = self.list_start or 0
        last = max(self.last_number, start + len(self.items))
        for number, item in enumerate(self.items, start):
            if self.list_type == "bullet_list_open":
                yield from item.render_bullet(console, options)
            else:
                yield from item.render_number(console, options, number, last)


class _Table(TableElement):
    stretch: Stretch | None = None

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _Table:
        assert isinstance(markdown, _Page)
        made = cls()
        made.stretch = markdown.stretch if token.level == 0 else None
        return made

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        stretch = self.stretch
        table = Table(box=box.ROUNDED, border_style="accord.border", header_style="bold", pad_edge=True)
        header = [] if self.header is None or self.header.row is None else self.header.row.cells
        widths = [None] * len(header) if stretch is None else fitted(stretch.whole.columns, options.max_width)
        for cell, width in zip(header, widths, strict=False):
            table.add_column(cell.content, width=width, overflow="fold")
        for row in () if self.body is None else self.body.rows:
            table.add_row(*[cell.content for cell in row.cells])
        if stretch is None:
            yield table
            return
        table.show_header = stretch.is_first
        lines = console.render_lines(table, options, pad=False)
        for line in lines[0 if stretch.is_first else 1 : None if stretch.is_last else -1]:
            yield from line
            yield Segment.line()


class _Page(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
        "bullet_list_open": _List,
        "ordered_list_open": _List,
    }

    def __init__(self, tokens: list[Token], palette: Palette, stretch: Stretch | None) -> None:
        # Not super().__init__, which makes a parser of its own each time.
        self.markup, self.parsed, self.palette, self.stretch = "", tokens, palette, stretch
        self.code_theme = self.inline_code_theme = palette.syntax
        self.justify, self.style, self.hyperlinks, self.inline_code_lexer = None, "none", False, None


def _language(token: Token) -> str:
    return (token.info or "").strip().partition(" ")[0] or "text"


def draw_markdown(source: str, ink: Ink, stretch: Stretch | None = None) -> list[Strip]:
    """The lines, without blank ones at the beginning and the end."""
    tokens = _PARSER.parse(source)
    if len(tokens) == 1 and tokens[0].type == "fence":
        return draw_code(tokens[0].content.rstrip("\n"), _language(tokens[0]), ink)
    for token in tokens:
        token.children = [child for child in token.children or () if child.markup != "autolink"]  # it shows its address
        for child in token.children:
            child.content = visible(child.content)  # an entity may have become what the source did not hold
    strips = ink.render(_Themed(_Page(tokens, ink.palette, stretch), _theme(ink.palette)))
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


_DELIMITER = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_UNSEEN = re.compile(r"[*`\\]|~~")


def is_delimiter(line: str) -> bool:
    """Whether this is the line below the head of a table."""
    return "|" in line and _DELIMITER.match(line) is not None


def cells_of(line: str) -> list[int]:
    """The widths of the cells in a row, about: markup that is not shown is not counted."""
    inside = _UNSEEN.sub("", line.replace("\\|", "/")).strip().removeprefix("|").removesuffix("|")
    return [cell_len(cell.strip()) for cell in inside.split("|")]


def fitted(widths: Sequence[int], room: int) -> list[int]:
    """So that all of them have room with their borders; the widest give way."""
    room -= 3 * len(widths) + 1
    most = max(widths, default=1)
    while most > 1 and sum(min(width, most) for width in widths) > room:
        most -= 1
    return [max(1, min(width, most)) for width in widths]
