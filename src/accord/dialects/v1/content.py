"""Content blocks of v1, and the updates that every version spells alike."""

from __future__ import annotations

from collections.abc import Iterable

from accord.dialects.alike import AlikeUpdates
from accord.dialects.content import ContentMapping
from accord.dialects.dialect import Dialect
from accord.schema import v1 as wire
from accord.session.content import Content, ResourceLink, is_plain
from accord.session.word import Unknown

__all__ = ["ALIKE", "CONTENT", "block_to_wire", "note_losses"]

_AUDIENCES = frozenset(("user", "assistant"))
CONTENT = ContentMapping(wire, _AUDIENCES)
ALIKE = AlikeUpdates(wire, CONTENT, meta_replaces=True)


def block_to_wire(dialect: Dialect, block: Content) -> wire.ContentBlock:
    """A block of v1, where links have no icons and nobody but the user and the assistant is an audience."""
    if not is_plain(block):
        note_losses(dialect, (block,))
    return CONTENT.to_wire(block)


def note_losses(dialect: Dialect, blocks: Iterable[Content]) -> None:
    """Note what v1 can't say of each block."""
    for block in blocks:
        if isinstance(block, Unknown):
            continue
        if type(block) is ResourceLink and block.icons:
            dialect.lose("icons", block.uri)
        hints = block.annotations
        if hints is not None and not _AUDIENCES.issuperset(hints.audience or ()):
            dialect.lose("audience", type(block).__name__)
