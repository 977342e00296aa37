"""A message, which grows by many small pieces.

Text pieces that follow each other are one block of its content: a million of them take a million steps, and about the
memory of their text. A block that carries annotations or a `meta` of its own, or came with a whole message, stays as
it was sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accord.session.content import Content, Text, text_of
from accord.session.memory_estimate import PIECE, weigh_piece, weigh_text

USER, AGENT, THOUGHT = "user", "agent", "thought"
PAGE = 1000


class Message:
    """One message of the user, the agent, or the agent's thinking; only a transcript changes it.

    `dropped` tells that the transcript's limit has cost it earlier content; `not_accepted`, that it is a prompt of ours
    which the agent did not take: it is no part of the history.
    """

    __slots__ = ("_blocks", "_count", "_full", "_pieces", "dropped", "id", "meta", "not_accepted", "role")
    __match_args__ = ("role", "text")

    def __init__(
        self,
        *,
        role: str,
        id: str,
        content: Iterable[Content] = (),
        meta: dict[str, Any] | None = None,
        dropped: bool = False,
        not_accepted: bool = False,
    ) -> None:
        self.role = role
        self.id = id
        self.meta = meta
        self.dropped = dropped
        self.not_accepted = not_accepted
        self._blocks: list[Content] | None = [*content] if content else None  # snapshots share them
        self._count = 0 if self._blocks is None else len(self._blocks)  # and this many are our own
        self._pieces: list[str] | None = None  # text that waits to be one block: pages, then the last pieces
        self._full = PAGE  # how many of them there are when the last pieces become a page

    @property
    def content(self) -> list[Content]:
        """The blocks, in a list of their own."""
        blocks = [] if self._blocks is None else self._blocks[: self._count]
        if self._pieces is not None:
            blocks.append(Text(self._waiting_text()))
        return blocks

    @property
    def text(self) -> str:
        """The text of the text blocks, joined as it was sent."""
        return text_of(self.content)

    def append(self, block: Content) -> int:
        """Add a piece; what it weighs is returned."""
        if type(block) is not Text or block.annotations is not None or block.meta is not None:
            self._settle()
            self._add(block)
            return weigh_piece(block)
        return self.append_text(block.text)

    def append_text(self, text: str) -> int:
        """As `append`, for a piece of plain text."""
        pieces = self._pieces
        if pieces is None:
            self._pieces = [text]
            return PIECE + weigh_text(text)
        pieces.append(text)
        if len(pieces) == self._full:
            pieces[-PAGE:] = ["".join(pieces[-PAGE:])]
            self._full += 1
        return len(text) if text.isascii() else weigh_text(text)

    def replace(self, content: Iterable[Content]) -> int:
        """Take other content; the difference in weight is returned."""
        before = self.weight
        self._blocks, self._pieces, self._full = [*content], None, PAGE
        self._count = len(self._blocks)
        return self.weight - before

    @property
    def weight(self) -> int:
        """What the content counts for in the transcript's limit."""
        return sum([weigh_piece(block) for block in self.content])

    def snapshot(self) -> Message:
        """A copy that stays as it is. The text told so far becomes a block of its own, so that it is copied only once."""
        self._settle()
        copy = object.__new__(Message)  # a history has many, and is told at once
        copy.role, copy.id, copy.meta, copy.dropped = self.role, self.id, self.meta, self.dropped
        copy.not_accepted = self.not_accepted
        copy._blocks, copy._count = self._blocks, self._count
        copy._pieces, copy._full = None, PAGE
        return copy

    def _settle(self) -> None:
        pieces = self._pieces
        if pieces is not None:
            self._add(Text(pieces[0] if len(pieces) == 1 else "".join(pieces)))
            self._pieces, self._full = None, PAGE

    def _add(self, block: Content) -> None:
        if self._blocks is None or len(self._blocks) != self._count:  # another one's have gone on without us
            self._blocks = [] if self._blocks is None else self._blocks[: self._count]
        self._blocks.append(block)
        self._count += 1

    def _waiting_text(self) -> str:
        text = "".join(self._pieces or ())
        self._pieces, self._full = [text], PAGE + 1
        return text

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Message):
            mine = (self.role, self.id, self.content, self.meta, self.dropped, self.not_accepted)
            return mine == (other.role, other.id, other.content, other.meta, other.dropped, other.not_accepted)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"Message(role={self.role!r}, id={self.id!r}, content={self.content!r})"
