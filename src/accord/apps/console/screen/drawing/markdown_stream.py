"""Markdown that grows. Law: appending text never redraws what was drawn before, except the last block.

More lines can change only the last block of a Markdown document. So the document is cut where a block has ended: after a
blank line, unless the next line may still belong to a list, and around code and tables. A long code block, list or table
is cut between its lines, items or rows, and anything else that gets too long is cut as well.
"""

from __future__ import annotations

import re
from itertools import zip_longest

from textual.strip import Strip

from accord.apps.console.screen.drawing.code import draw_code
from accord.apps.console.screen.drawing.incremental_text import IncrementalText, TextPart
from accord.apps.console.screen.drawing.markdown import (
    BlockLayout,
    BlockSlice,
    cell_widths,
    draw_markdown,
    is_delimiter,
)
from accord.apps.console.screen.drawing.palette import Canvas
from accord.apps.console.screen.drawing.parts import PART_CHARACTERS, PART_LINES, Margin, no_margin

_FENCE = re.compile(r"( *)(`{3,}(?=[^`]*$)|~{3,})(.*)")
_ITEM = re.compile(r"( *)([-*+]|(\d{1,9})([.)]))( +|$)(.?)")
_HEADING = re.compile(r" {0,3}#{1,6}(?: |$)")
_OTHER_BLOCK = re.compile(r" {0,3}(?:>|#{1,6}(?: |$)|(?:[-*_] *){3,}$)")


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


class _Fence:
    """The opening fence of a code block, which defines its end."""

    __slots__ = ("_closing", "_indent", "is_inner", "language")

    def __init__(self, opened: re.Match[str], *, is_inner: bool) -> None:
        self._indent = len(opened[1])
        self.is_inner = is_inner
        """The code block is part of a list item, and ends with it."""
        self.language = opened[3].strip().partition(" ")[0] or "text"
        mark = opened[2]
        self._closing = re.compile(rf" {{0,{self._indent + 3}}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")

    def is_closed_by(self, line: str) -> bool:
        return self._closing.match(line) is not None

    def is_left_by(self, line: str) -> bool:
        return self.is_inner and bool(line.strip()) and _indent_of(line) < self._indent

    def without_indent(self, line: str) -> str:
        return line[min(self._indent, _indent_of(line)) :]


class _Markdown(TextPart):
    """Some blocks, or a part of a long one."""

    __slots__ = ("slice",)

    def __init__(self, margin: Margin, *, is_apart: bool, part: BlockSlice | None = None) -> None:
        super().__init__(margin, is_apart=is_apart)
        self.slice = part

    def draw(self, canvas: Canvas) -> list[Strip]:
        return draw_markdown(self.text(), canvas, self.slice)


class _Code(TextPart):
    """Lines of a code block."""

    __slots__ = ("fence", "is_continued")

    def __init__(self, margin: Margin, fence: _Fence, *, is_apart: bool) -> None:
        super().__init__(margin, is_apart=is_apart)
        self.fence = fence
        self.is_continued = False
        """The next part belongs to the same code block."""

    @property
    def is_blank(self) -> bool:
        return False

    def draw(self, canvas: Canvas) -> list[Strip]:
        lines = self.source if not self.rest or self.fence.is_closed_by(self.rest) else [*self.source, self.rest]
        code = "\n".join(map(self.fence.without_indent, lines))
        return draw_code(code if self.is_continued else code.rstrip("\n"), self.fence.language, canvas)


class _LongBlock:
    """A list or a table that may have several parts; they look like one."""

    def __init__(self, first: TextPart) -> None:
        assert isinstance(first, _Markdown)
        self.layout = BlockLayout()
        self.parts = [first]

    def next_part(self, margin: Margin, start: int | None = None) -> _Markdown:
        """Begin another part."""
        last = self.parts[-1]
        if last.slice is None:
            last.slice = BlockSlice(self.layout)
        last.slice.is_last = False
        last.invalidate()
        part = _Markdown(margin, is_apart=False, part=BlockSlice(self.layout, start=start, is_first=False))
        self.parts.append(part)
        return part

    def invalidate(self) -> None:
        if len(self.parts) > 1:
            for part in self.parts:
                part.invalidate()


class _List(_LongBlock):
    def __init__(self, first: TextPart, item: re.Match[str]) -> None:
        super().__init__(first)
        self._kind = item[4] or item[2]
        self.next_number = int(item[3] or 0)
        self.is_ordered = item[3] is not None
        self.add(item)

    def is_continued_by(self, item: re.Match[str]) -> bool:
        return self._kind == (item[4] or item[2])

    def add(self, item: re.Match[str]) -> None:
        self.width = item.end(2) + min(max(len(item[5]), 1), 4)
        """The indent that makes a line part of the item."""
        self.next_number += 1
        grows = len(str(self.next_number)) > len(str(self.layout.last_number))
        self.layout.last_number = self.next_number
        if grows and self.is_ordered:
            self.invalidate()


class _Table(_LongBlock):
    def __init__(self, first: TextPart, head: list[str]) -> None:
        super().__init__(first)
        self.head = head
        self.layout.columns = cell_widths(head[0])
        self._complete = self.layout.columns
        """The widths of the columns without the incomplete line, which may turn out not to be a row."""

    def add(self, row: str) -> None:
        self._complete = self._with(row)
        self.set_rest("")

    def set_rest(self, rest: str) -> None:
        columns = self._with(rest)
        if columns != self.layout.columns:
            self.layout.columns = columns
            self.invalidate()

    def _with(self, row: str) -> list[int]:
        cells = cell_widths(row)[: len(self._complete)]
        return [max(widths) for widths in zip_longest(self._complete, cells, fillvalue=0)]


class MarkdownStream(IncrementalText):
    """Markdown received in chunks, in parts."""

    def __init__(self, text: str = "", margin: Margin = no_margin) -> None:
        super().__init__(margin)
        self._fence: _Fence | None = None
        self._inner_fence: _Fence | None = None
        self._list: _List | None = None
        self._table: _Table | None = None
        self._is_after_blank = False
        if text:
            self.append(text)

    def new_part(self) -> TextPart:
        return _Markdown(self.margin, is_apart=False)

    def add_line(self, line: str) -> None:
        if self._table is not None:
            self._table.set_rest("")
        if self._fence is not None:
            self._add_code(line, self._fence)
        elif not line.strip():
            self._table, self._is_after_blank = None, True
            self.last_part().add(line)
        else:
            self._cut_before(line)
            self._is_after_blank = False
            if self._fence is None:
                self.last_part().add(line)

    def rest_changed(self, part: TextPart) -> None:
        if self._table is not None:
            self._table.set_rest(part.rest)

    def _add_code(self, line: str, fence: _Fence) -> None:
        part = self.last_part()
        assert isinstance(part, _Code)
        is_left = fence.is_left_by(line)
        if is_left or fence.is_closed_by(line):
            part.invalidate()
            self._fence = None
            self.parts.append(_Markdown(self.margin, is_apart=True))
            if is_left:
                self.add_line(line)
            return
        if part.is_full:
            part.is_continued = True
            part.invalidate()
            part = _Code(self.margin, fence, is_apart=False)
            self.parts.append(part)
        part.add(line)

    def _cut_before(self, line: str) -> None:
        """Begin another part with this line, if the document can be cut here."""
        if line[0].isalpha() and not self._is_after_blank and self._table is None:  # most lines: no block begins here
            self._limit_size(line)
            return
        indent = _indent_of(line)
        opened, item = _FENCE.match(line), _ITEM.match(line)
        if self._list is not None and indent >= self._list.width:
            self._track_inner_code(line, opened)
        elif opened is not None and indent <= 3:
            self._begin_code(_Fence(opened, is_inner=False), is_apart=True)
            return
        elif item is not None and indent <= 3:
            self._add_item(item)
        elif (self._is_after_blank and indent <= 3) or _HEADING.match(line):
            self._begin_part()
        elif self._table is not None:
            self._add_row(line, self._table)
        elif self._list is None and is_delimiter(line):
            self._begin_table(line)
        self._limit_size(line)

    def _track_inner_code(self, line: str, opened: re.Match[str] | None) -> None:
        if self._inner_fence is None:
            self._inner_fence = None if opened is None else _Fence(opened, is_inner=True)
        elif self._inner_fence.is_closed_by(line):
            self._inner_fence = None

    def _begin_part(self) -> None:
        self._list = self._table = self._inner_fence = None
        if not self.last_part().is_blank:
            self.parts.append(_Markdown(self.margin, is_apart=True))

    def _begin_code(self, fence: _Fence, *, is_apart: bool) -> None:
        self._list = self._table = self._inner_fence = None
        last = self.last_part()
        if last.is_blank:
            self.parts.pop()
            is_apart = last.is_apart
        self._fence = fence
        self.parts.append(_Code(self.margin, fence, is_apart=is_apart))

    def _add_item(self, item: re.Match[str]) -> None:
        self._inner_fence = None
        if self._list is not None and self._list.is_continued_by(item):
            if self.last_part().is_full:
                number = self._list.next_number if self._list.is_ordered else None
                self.parts.append(self._list.next_part(self.margin, number))
            self._list.add(item)
            return
        can_begin = bool(item[6]) and item[3] in (None, "1")  # in the middle of a paragraph
        if self._is_after_blank or self._list is not None or can_begin or self.last_part().is_blank:
            self._begin_part()
            self._list = _List(self.last_part(), item)

    def _begin_table(self, line: str) -> None:
        part = self.last_part()
        head = part.source[-1] if part.source and not self._is_after_blank else ""
        if "|" not in head or len(cell_widths(head)) != len(cell_widths(line)):
            return
        if len(part.source) > 1:
            part.source.pop()
            part.invalidate()
            self._begin_part()
            part = self.last_part()
            part.add(head)
        self._table = _Table(part, [head, line])

    def _add_row(self, line: str, table: _Table) -> None:
        if _OTHER_BLOCK.match(line):
            self._begin_part()
            return
        table.add(line)
        if self.last_part().is_full:
            part = table.next_part(self.margin)
            part.source += table.head
            self.parts.append(part)

    def _limit_size(self, line: str) -> None:
        """Cut a block that is too long and has no better place to be cut."""
        part = self.last_part()
        if len(part.source) < 2 * PART_LINES and part.characters + len(line) < 2 * PART_CHARACTERS:
            return
        if self._inner_fence is not None:
            self._begin_code(self._inner_fence, is_apart=False)
            assert self._fence is not None
            self._add_code(line, self._fence)
        else:
            self._begin_part()
            self.last_part().is_apart = False
