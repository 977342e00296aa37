"""Markdown that grows. Law: what has been drawn once is not drawn again when more is appended.

More lines can change the last block of a Markdown document and none before it. So of the lines that are complete all but
the last block is settled: cut off, drawn once and kept. A fenced code block that is still open is settled in pages.
"""

from __future__ import annotations

import re

from textual.strip import Strip

from accord.apps.console.screen.drawing.ink import Ink
from accord.apps.console.screen.drawing.markdown import PARSER, draw_markdown

__all__ = ["StreamedMarkdown"]

PAGE_LINES = 60
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


class _Piece:
    """A settled part; `goes_on` when the next one belongs to the same code block."""

    __slots__ = ("goes_on", "source", "strips")

    def __init__(self, source: str, *, goes_on: bool = False) -> None:
        self.source = source
        self.goes_on = goes_on
        self.strips: list[Strip] | None = None


class StreamedMarkdown:
    """A text that is appended to, and its lines."""

    def __init__(self, text: str = "") -> None:
        self._pieces: list[_Piece] = []
        self._fence: str | None = None
        self._tail: list[str] = [text] if text else []
        self._ink: Ink | None = None

    def append(self, text: str) -> None:
        self._tail.append(text)

    @property
    def source(self) -> str:
        """All of the text, but for the fences that were put around pages of code."""
        return "\n".join([*(piece.source for piece in self._pieces), "".join(self._tail)])

    def draw(self, ink: Ink) -> list[Strip]:
        if self._ink is None or not self._ink.is_like(ink):
            self.forget()
            self._ink = ink
        self._settle()
        strips: list[Strip] = []
        joins = True
        for piece in self._pieces:
            if piece.strips is None:
                piece.strips = draw_markdown(piece.source, ink)
            if not joins and piece.strips:
                strips.append(Strip([]))
            strips += piece.strips
            joins = piece.goes_on
        tail = draw_markdown(self._tail_source(), ink)
        if tail and not joins:
            strips.append(Strip([]))
        return strips + tail

    def forget(self) -> None:
        """Let go of the lines; the text stays."""
        for piece in self._pieces:
            piece.strips = None

    def _tail_source(self) -> str:
        tail = "".join(self._tail)
        return tail if self._fence is None else f"{self._fence}\n{tail}"

    def _settle(self) -> None:
        tail = "".join(self._tail)
        while tail:
            rest = self._settle_code(tail) if self._fence is not None else self._settle_blocks(tail)
            if rest is None:
                break
            tail = rest
        self._tail = [tail] if tail else []

    def _settle_blocks(self, tail: str) -> str | None:
        """What is left when the blocks that are over were cut off; None when none is."""
        complete = tail[: tail.rfind("\n") + 1]
        tops = [token for token in PARSER.parse(complete) if token.level == 0 and token.map is not None]
        last = tops[-1] if tops else None
        if last is None or last.map is None:
            return None
        lines = tail.split("\n")
        start = last.map[0]
        if start > 0:
            self._pieces.append(_Piece("\n".join(lines[:start])))
            return "\n".join(lines[start:])
        opened = _FENCE.match(lines[0]) if last.type == "fence" else None
        if opened is not None and len(lines) > PAGE_LINES:
            self._fence = lines[0]
            return "\n".join(lines[1:])
        return None

    def _settle_code(self, tail: str) -> str | None:
        """Inside a long code block: cut off a page, or the rest of it when its end has come."""
        assert self._fence is not None
        opened = _FENCE.match(self._fence)
        assert opened is not None
        mark = opened[1]
        closing = re.compile(rf"^ {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
        lines = tail.split("\n")
        complete = lines[:-1]
        for place, line in enumerate(complete):
            if closing.match(line):
                self._piece_of_code(lines[:place], goes_on=False)
                self._fence = None
                return "\n".join(lines[place + 1 :])
        if len(complete) <= PAGE_LINES:
            return None
        self._piece_of_code(complete[:PAGE_LINES], goes_on=True)
        return "\n".join(lines[PAGE_LINES:])

    def _piece_of_code(self, lines: list[str], *, goes_on: bool) -> None:
        assert self._fence is not None
        opened = _FENCE.match(self._fence)
        assert opened is not None
        self._pieces.append(_Piece("\n".join([self._fence, *lines, opened[1]]), goes_on=goes_on))
