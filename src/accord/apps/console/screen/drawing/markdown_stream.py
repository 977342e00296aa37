"""Markdown that grows. Law: what has been drawn once is not drawn again when more is appended.

More lines can change the last block of a Markdown document and none before it. So it is cut where a block must be over:
before what follows a blank line, unless that may still belong to a list; and around code and tables. A long code block,
list or table is cut between its lines, items or rows, and so is whatever else gets too long.
"""

from __future__ import annotations

import re
from itertools import zip_longest

from textual.strip import Strip

from accord.apps.console.screen.drawing.code import draw_code
from accord.apps.console.screen.drawing.incremental_text import GrowingText, Piece
from accord.apps.console.screen.drawing.markdown import Stretch, Whole, cells_of, draw_markdown, is_delimiter
from accord.apps.console.screen.drawing.palette import Ink
from accord.apps.console.screen.drawing.parts import PART_LETTERS, PART_LINES, Frame, unframed

__all__ = ["StreamedMarkdown"]

_FENCE = re.compile(r"( *)(`{3,}(?=[^`]*$)|~{3,})(.*)")
_ITEM = re.compile(r"( *)([-*+]|(\d{1,9})([.)]))( +|$)(.?)")
_HEADING = re.compile(r" {0,3}#{1,6}(?: |$)")
_OTHER_BLOCK = re.compile(r" {0,3}(?:>|#{1,6}(?: |$)|(?:[-*_] *){3,}$)")


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


class _Fence:
    """How a code block began, and so how it ends."""

    __slots__ = ("_closing", "_indent", "is_inner", "language")

    def __init__(self, opened: re.Match[str], *, is_inner: bool) -> None:
        self._indent = len(opened[1])
        self.is_inner = is_inner
        """It is part of a list item, and ends with it."""
        self.language = opened[3].strip().partition(" ")[0] or "text"
        mark = opened[2]
        self._closing = re.compile(rf" {{0,{self._indent + 3}}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")

    def is_closed_by(self, line: str) -> bool:
        return self._closing.match(line) is not None

    def is_left_by(self, line: str) -> bool:
        return self.is_inner and bool(line.strip()) and _indent_of(line) < self._indent

    def without_indent(self, line: str) -> str:
        return line[min(self._indent, _indent_of(line)) :]


class _Markdown(Piece):
    """Some blocks, or a page of a long one."""

    __slots__ = ("stretch",)

    def __init__(self, frame: Frame, *, is_apart: bool, stretch: Stretch | None = None) -> None:
        super().__init__(frame, is_apart=is_apart)
        self.stretch = stretch

    def draw(self, ink: Ink) -> list[Strip]:
        return draw_markdown(self.text(), ink, self.stretch)


class _Code(Piece):
    """Lines of a code block."""

    __slots__ = ("fence", "goes_on")

    def __init__(self, frame: Frame, fence: _Fence, *, is_apart: bool) -> None:
        super().__init__(frame, is_apart=is_apart)
        self.fence = fence
        self.goes_on = False
        """The next piece is of the same code block."""

    @property
    def is_blank(self) -> bool:
        return False

    def draw(self, ink: Ink) -> list[Strip]:
        lines = self.source if not self.rest or self.fence.is_closed_by(self.rest) else [*self.source, self.rest]
        code = "\n".join(map(self.fence.without_indent, lines))
        return draw_code(code if self.goes_on else code.rstrip("\n"), self.fence.language, ink)


class _Long:
    """A list or a table that may have several pieces; they look as if it had one."""

    def __init__(self, first: Piece) -> None:
        assert isinstance(first, _Markdown)
        self.whole = Whole()
        self.pieces = [first]

    def go_on(self, frame: Frame, start: int | None = None) -> _Markdown:
        """The next piece."""
        last = self.pieces[-1]
        if last.stretch is None:
            last.stretch = Stretch(self.whole)
        last.stretch.is_last = False
        last.touch()
        piece = _Markdown(frame, is_apart=False, stretch=Stretch(self.whole, start=start, is_first=False))
        self.pieces.append(piece)
        return piece

    def looks_different(self) -> None:
        if len(self.pieces) > 1:
            for piece in self.pieces:
                piece.touch()


class _List(_Long):
    def __init__(self, first: Piece, item: re.Match[str]) -> None:
        super().__init__(first)
        self._kind = item[4] or item[2]
        self.next_number = int(item[3] or 0)
        self.is_ordered = item[3] is not None
        self.add(item)

    def is_continued_by(self, item: re.Match[str]) -> bool:
        return self._kind == (item[4] or item[2])

    def add(self, item: re.Match[str]) -> None:
        self.width = item.end(2) + min(max(len(item[5]), 1), 4)
        """What a line must be indented by to be part of the item."""
        self.next_number += 1
        grows = len(str(self.next_number)) > len(str(self.whole.last_number))
        self.whole.last_number = self.next_number
        if grows and self.is_ordered:
            self.looks_different()


class _Table(_Long):
    def __init__(self, first: Piece, head: list[str]) -> None:
        super().__init__(first)
        self.head = head
        self.whole.columns = cells_of(head[0])
        self._complete = self.whole.columns
        """How wide its columns are without the line that is not complete: that one may turn out to be no row."""

    def add(self, row: str) -> None:
        self._complete = self._with(row)
        self.put_rest("")

    def put_rest(self, rest: str) -> None:
        columns = self._with(rest)
        if columns != self.whole.columns:
            self.whole.columns = columns
            self.looks_different()

    def _with(self, row: str) -> list[int]:
        return [
            max(widths) for widths in zip_longest(self._complete, cells_of(row)[: len(self._complete)], fillvalue=0)
        ]


class StreamedMarkdown(GrowingText):
    """A text that is appended to, and its parts."""

    def __init__(self, text: str = "", frame: Frame = unframed) -> None:
        super().__init__(frame)
        self._fence: _Fence | None = None
        self._inner_fence: _Fence | None = None
        self._list: _List | None = None
        self._table: _Table | None = None
        self._is_after_blank = False
        if text:
            self.append(text)

    def new_piece(self) -> Piece:
        return _Markdown(self.frame, is_apart=False)

    def take(self, line: str) -> None:
        if self._table is not None:
            self._table.put_rest("")
        if self._fence is not None:
            self._take_code(line, self._fence)
        elif not line.strip():
            self._table, self._is_after_blank = None, True
            self.open_piece().add(line)
        else:
            self._find_cut(line)
            self._is_after_blank = False
            if self._fence is None:
                self.open_piece().add(line)

    def rest_changed(self, piece: Piece) -> None:
        if self._table is not None:
            self._table.put_rest(piece.rest)

    def _take_code(self, line: str, fence: _Fence) -> None:
        piece = self.open_piece()
        assert isinstance(piece, _Code)
        is_left = fence.is_left_by(line)
        if is_left or fence.is_closed_by(line):
            piece.touch()
            self._fence = None
            self.parts.append(_Markdown(self.frame, is_apart=True))
            if is_left:
                self.take(line)
            return
        if piece.is_full:
            piece.goes_on = True
            piece.touch()
            piece = _Code(self.frame, fence, is_apart=False)
            self.parts.append(piece)
        piece.add(line)

    def _find_cut(self, line: str) -> None:
        """Put what begins with this line into another piece, if it can be cut here."""
        if line[0].isalpha() and not self._is_after_blank and self._table is None:  # most lines, and no sign of a block
            self._keep_short(line)
            return
        indent = _indent_of(line)
        opened, item = _FENCE.match(line), _ITEM.match(line)
        if self._list is not None and indent >= self._list.width:
            self._look_for_inner_code(line, opened)
        elif opened is not None and indent <= 3:
            self._begin_code(_Fence(opened, is_inner=False), is_apart=True)
            return
        elif item is not None and indent <= 3:
            self._take_item(item)
        elif (self._is_after_blank and indent <= 3) or _HEADING.match(line):
            self._cut()
        elif self._table is not None:
            self._take_row(line, self._table)
        elif self._list is None and is_delimiter(line):
            self._begin_table(line)
        self._keep_short(line)

    def _look_for_inner_code(self, line: str, opened: re.Match[str] | None) -> None:
        if self._inner_fence is None:
            self._inner_fence = None if opened is None else _Fence(opened, is_inner=True)
        elif self._inner_fence.is_closed_by(line):
            self._inner_fence = None

    def _cut(self) -> None:
        self._list = self._table = self._inner_fence = None
        if not self.open_piece().is_blank:
            self.parts.append(_Markdown(self.frame, is_apart=True))

    def _begin_code(self, fence: _Fence, *, is_apart: bool) -> None:
        self._list = self._table = self._inner_fence = None
        last = self.open_piece()
        if last.is_blank:
            self.parts.pop()
            is_apart = last.is_apart
        self._fence = fence
        self.parts.append(_Code(self.frame, fence, is_apart=is_apart))

    def _take_item(self, item: re.Match[str]) -> None:
        self._inner_fence = None
        if self._list is not None and self._list.is_continued_by(item):
            if self.open_piece().is_full:
                number = self._list.next_number if self._list.is_ordered else None
                self.parts.append(self._list.go_on(self.frame, number))
            self._list.add(item)
            return
        can_begin = bool(item[6]) and item[3] in (None, "1")  # in the middle of a paragraph
        if self._is_after_blank or self._list is not None or can_begin or self.open_piece().is_blank:
            self._cut()
            self._list = _List(self.open_piece(), item)

    def _begin_table(self, line: str) -> None:
        piece = self.open_piece()
        head = piece.source[-1] if piece.source and not self._is_after_blank else ""
        if "|" not in head or len(cells_of(head)) != len(cells_of(line)):
            return
        if len(piece.source) > 1:
            piece.source.pop()
            piece.touch()
            self._cut()
            piece = self.open_piece()
            piece.add(head)
        self._table = _Table(piece, [head, line])

    def _take_row(self, line: str, table: _Table) -> None:
        if _OTHER_BLOCK.match(line):
            self._cut()
            return
        table.add(line)
        if self.open_piece().is_full:
            piece = table.go_on(self.frame)
            piece.source += table.head
            self.parts.append(piece)

    def _keep_short(self, line: str) -> None:
        """What can be cut nowhere is cut here when it is too long."""
        piece = self.open_piece()
        if len(piece.source) < 2 * PART_LINES and piece.letters + len(line) < 2 * PART_LETTERS:
            return
        if self._inner_fence is not None:
            self._begin_code(self._inner_fence, is_apart=False)
            assert self._fence is not None
            self._take_code(line, self._fence)
        else:
            self._cut()
            self.open_piece().is_apart = False
