"""Content blocks of v1, and the updates that every version spells alike."""

from __future__ import annotations

from collections.abc import Iterable

from accord.dialects.alike import AlikeUpdates
from accord.dialects.content import ContentMapping
from accord.dialects.dialect import Dialect
from accord.schema import v1 as wire
from accord.session.content import Content, ResourceLink

__all__ = ["ALIKE", "CONTENT", "block_to_wire", "note_icons"]

CONTENT = ContentMapping(wire)
ALIKE = AlikeUpdates(wire, CONTENT, meta_replaces=True)


def block_to_wire(dialect: Dialect, block: Content) -> wire.ContentBlock:
    """A block of v1, where links have no icons."""
    if type(block) is ResourceLink:
        note_icons(dialect, (block,))
    return CONTENT.to_wire(block)


def note_icons(dialect: Dialect, blocks: Iterable[Content]) -> None:
    """Note the loss of each link's icons."""
    for block in blocks:
        if type(block) is ResourceLink and block.icons:
            dialect.lose("icons", block.uri)
