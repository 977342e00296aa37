"""A message, which grows by many small pieces.

Text pieces that follow each other are one block of its content: a million of them take a million steps, and about the
memory of their text. A block that carries annotations or a `meta` of its own, or came with a whole message, stays as
it was sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accord.session.content import Content, Text, text_of
from accord.session.growing import Items
from accord.session.weight import PIECE, weigh_piece, weigh_text

__all__ = ["AGENT", "THOUGHT", "USER", "Message"]

USER, AGENT, THOUGHT = "user", "agent", "thought"
PAGE = 1000


class Message:
    """One message of the user, the agent, or the agent's thinking; only a transcript changes it.

    `dropped` tells that the transcript's limit has cost it earlier content.
    """

    __slots__ = ("_pages", "_pieces", "_settled", "dropped", "id", "meta", "role")
    __match_args__ = ("role", "text")

    def __init__(
        self,
        *,
        role: str,
        id: str,
        content: Iterable[Content] = (),
        meta: dict[str, Any] | None = None,
        dropped: bool = False,
    ) -> None:
        self.role = role
        self.id = id
        self.meta = meta
        self.dropped = dropped
        self._settled = Items(content)
        self._pages: list[str] = []  # text pieces that wait to be one block: many at a time put together
        self._pieces: list[str] | None = None  # and the last ones, each by itself; None when no text waits

    @property
    def content(self) -> list[Content]:
        """The blocks, in a list of their own."""
        blocks = list(self._settled)
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
            self._settled = self._settled.plus(block)
            return weigh_piece(block)
        text, weight, pieces = block.text, 0, self._pieces
        if pieces is None:
            weight = PIECE
            self._pieces = [text]
        else:
            pieces.append(text)
            if len(pieces) == PAGE:
                self._pages.append("".join(pieces))
                pieces.clear()
        return weight + (len(text) if text.isascii() else weigh_text(text))

    def replace(self, content: Iterable[Content]) -> int:
        """Take other content; the difference in weight is returned."""
        before = self.weight
        self._settled = Items(content)
        self._pages, self._pieces = [], None
        return self.weight - before

    @property
    def weight(self) -> int:
        """What the content counts for in the transcript's limit."""
        return sum([weigh_piece(block) for block in self.content])

    def snapshot(self) -> Message:
        """A copy that stays as it is. The text told so far becomes a block of its own, so that it is copied only once."""
        self._settle()
        copy = Message(role=self.role, id=self.id, meta=self.meta, dropped=self.dropped)
        copy._settled = self._settled
        return copy

    def _settle(self) -> None:
        if self._pieces is not None:
            self._settled = self._settled.plus(Text(self._waiting_text()))
            self._pages, self._pieces = [], None

    def _waiting_text(self) -> str:
        text = "".join([*self._pages, *(self._pieces or ())])
        self._pages, self._pieces = [text], []
        return text

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Message):
            mine = (self.role, self.id, self.content, self.meta, self.dropped)
            return mine == (other.role, other.id, other.content, other.meta, other.dropped)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"Message(role={self.role!r}, id={self.id!r}, content={self.content!r})"
