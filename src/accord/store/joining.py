"""Pieces of one text that follow each other, told at once.

Law: applied to any transcript, the joined reports do what the separate ones did, as long as no turn begins between
two pieces of a message that has no id. `session.merging` does the same for changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from accord.session.content import Text
from accord.session.updates import MessagePiece, TerminalPiece
from accord.session.word import UNSET

__all__ = ["joined", "plain"]

T = TypeVar("T")

LONGEST = 64 * 1024
"""Characters or bytes after which a joined piece is long enough: joining must not undo the bounds of reading."""


def plain(report: object) -> str | bytes | None:
    """The text or the output that a piece consists of, when it joins with its like; None when more is said than that.

    Only what is exactly of the declared types joins: it can always be written, and read back.
    """
    if type(report) is MessagePiece:
        content, name = report.content, report.id
        if (
            type(content) is Text
            and type(content.text) is str
            and content.annotations is None
            and content.meta is None
            and report.meta is UNSET
            and type(report.role) is str
            and (name is None or type(name) is str)
        ):
            return content.text
    elif (
        type(report) is TerminalPiece and type(report.data) is bytes and report.meta is UNSET and type(report.id) is str
    ):
        return report.data
    return None


def joined(entries: Iterable[T]) -> list[T | MessagePiece | TerminalPiece]:
    """The entries, with pieces of one message's text or one terminal's output that follow each other put together."""
    result: list[Any] = []
    first: Any = None  # of a run of pieces, which stands last in the result
    run: list[Any] = []
    room = -1
    for entry in entries:
        inside = plain(entry)
        if inside is not None and len(inside) <= room and _alike(first, entry):
            run.append(inside)
            room -= len(inside)
            continue
        if len(run) > 1:
            result[-1] = _whole(first, run)
        result.append(entry)
        if inside is None:
            first, run, room = None, [], -1
        else:
            first, run, room = entry, [inside], LONGEST - len(inside)
    if len(run) > 1:
        result[-1] = _whole(first, run)
    return result


def _alike(first: Any, entry: Any) -> bool:
    if type(first) is not type(entry) or first.id != entry.id:
        return False
    return type(entry) is TerminalPiece or first.role == entry.role


def _whole(first: MessagePiece | TerminalPiece, run: list[Any]) -> MessagePiece | TerminalPiece:
    if isinstance(first, MessagePiece):
        return MessagePiece(role=first.role, id=first.id, content=Text("".join(run)))
    return TerminalPiece(id=first.id, data=b"".join(run))
