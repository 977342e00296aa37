"""Draws Markdown, including parts of long lists and tables. HTML is shown as written, and links show their address."""

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
from accord.apps.console.screen.drawing.palette import Canvas, Palette

_PARSER = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")


class BlockLayout(msgspec.Struct):
    """The layout that all parts of a long list or table share."""

    last_number: int = 0
    columns: list[int] = []


class BlockSlice(msgspec.Struct):
    """One part of a long list or table. `start` is the number of its first item; the source has that of the first part."""

    layout: BlockLayout
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
        assert isinstance(markdown, _Document)
        code = cls(_language(token), "")
        code.palette = markdown.palette
        return code

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip("\n")
        for strip in draw_code(code, self.lexer_name, Canvas(self.palette, options.max_width)):
            yield from strip
            yield Segment.line()


class _List(ListElement):
    last_number = 0

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _List:
        assert isinstance(markdown, _Document)
        part = markdown.slice if token.level == 0 else None
        element = cls(token.type, int(token.attrs.get("start", 1)))
        if part is not None:
            element.list_start = element.list_start if part.start is None else part.start
            element.last_number = part.layout.last_number
        return element

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        start = self.list_start or 0
        last = max(self.last_number, start + len(self.items))
        for number, item in enumerate(self.items, start):
            if self.list_type == "bullet_list_open":
                yield from item.render_bullet(console, options)
            else:
                yield from item.render_number(console, options, number, last)


class _Table(TableElement):
    slice: BlockSlice | None = None

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _Table:
        assert isinstance(markdown, _Document)
        element = cls()
        element.slice = markdown.slice if token.level == 0 else None
        return element

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        part = self.slice
        table = Table(box=box.ROUNDED, border_style="accord.border", header_style="bold", pad_edge=True)
        header = [] if self.header is None or self.header.row is None else self.header.row.cells
        widths = [None] * len(header) if part is None else fit_columns(part.layout.columns, options.max_width)
        for cell, width in zip(header, widths, strict=False):
            table.add_column(cell.content, width=width, overflow="fold")
        for row in () if self.body is None else self.body.rows:
            table.add_row(*[cell.content for cell in row.cells])
        if part is None:
            yield table
            return
        table.show_header = part.is_first
        lines = console.render_lines(table, options, pad=False)
        for line in lines[0 if part.is_first else 1 : None if part.is_last else -1]:
            yield from line
            yield Segment.line()


class _Document(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
        "bullet_list_open": _List,
        "ordered_list_open": _List,
    }

    def __init__(self, tokens: list[Token], palette: Palette, part: BlockSlice | None) -> None:
        # Not super().__init__, which creates a parser each time.
        self.markup, self.parsed, self.palette, self.slice = "", tokens, palette, part
        self.code_theme = self.inline_code_theme = palette.syntax
        self.justify, self.style, self.hyperlinks, self.inline_code_lexer = None, "none", False, None


def _language(token: Token) -> str:
    return (token.info or "").strip().partition(" ")[0] or "text"


def draw_markdown(source: str, canvas: Canvas, part: BlockSlice | None = None) -> list[Strip]:
    """Draw Markdown, without blank lines at the beginning and the end."""
    tokens = _PARSER.parse(source)
    if len(tokens) == 1 and tokens[0].type == "fence":
        return draw_code(tokens[0].content.rstrip("\n"), _language(tokens[0]), canvas)
    for token in tokens:
        token.children = [child for child in token.children or () if child.markup != "autolink"]  # it shows its address
        for child in token.children:
            child.content = visible(child.content)  # an entity may stand for a control character
    strips = canvas.render(_Themed(_Document(tokens, canvas.palette, part), _theme(canvas.palette)))
    while strips and not strips[-1].text.strip():
        strips.pop()
    while strips and not strips[0].text.strip():
        strips.pop(0)
    return strips or ([canvas.strip(Text(source))] if source.strip() else [])


class _Themed:
    def __init__(self, document: Markdown, theme: Theme) -> None:
        self._document = document
        self._theme = theme

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with console.use_theme(self._theme):
            yield from list(console.render(self._document, options))


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
_MARKUP = re.compile(r"[*`\\]|~~")


def is_delimiter(line: str) -> bool:
    """Whether this is the delimiter row of a table, below its header."""
    return "|" in line and _DELIMITER.match(line) is not None


def cell_widths(line: str) -> list[int]:
    """The approximate widths of the cells in a row, without markup."""
    inside = _MARKUP.sub("", line.replace("\\|", "/")).strip().removeprefix("|").removesuffix("|")
    return [cell_len(cell.strip()) for cell in inside.split("|")]


def fit_columns(widths: Sequence[int], room: int) -> list[int]:
    """Reduce the widest columns until the table fits with its borders."""
    room -= 3 * len(widths) + 1
    most = max(widths, default=1)
    while most > 1 and sum(min(width, most) for width in widths) > room:
        most -= 1
    return [max(1, min(width, most)) for width in widths]
