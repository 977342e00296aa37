"""What a reader that has fallen behind may be told at once, without losing a letter or the order of things.

Pieces of one text that follow each other are joined. Of a tool call, plan or list only the newest state is kept, at
the place where the first one stood.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from accord.session.content import Text
from accord.session.updates import (
    Change,
    CommandsChanged,
    InfoChanged,
    MessageChunk,
    MessagePiece,
    OptionsChanged,
    PlanChanged,
    TerminalOutput,
    TerminalPiece,
    ToolCallChanged,
    UsageChanged,
)
from accord.session.word import UNSET

__all__ = ["joined", "joins", "newest", "supersedes"]

_LISTS = (CommandsChanged, OptionsChanged, UsageChanged, InfoChanged)


def joins(change: Change) -> Hashable | None:
    """Changes that follow each other and have the same key here can be joined; None joins with nothing."""
    if type(change) is MessageChunk:
        content = change.content
        plain = type(content) is Text and content.annotations is None and content.meta is None
        if plain and change.patch.meta is UNSET:
            return ("text", change.message.role, change.message.id)
    elif type(change) is TerminalOutput and change.patch.meta is UNSET:
        return ("output", change.terminal.id)
    return None


def joined(changes: Sequence[Change]) -> Change:
    """One change that says what all of these say; they have the same `joins`."""
    first = changes[0]
    if len(changes) == 1:
        return first
    if type(first) is MessageChunk:
        text = Text("".join([change.text for change in changes if type(change) is MessageChunk]))
        patch = MessagePiece(role=first.patch.role, id=first.patch.id, content=text)
        return MessageChunk(message=first.message, content=text, patch=patch, created=first.created)
    if type(first) is TerminalOutput:
        pieces = [change for change in changes if type(change) is TerminalOutput]
        data = b"".join([change.data for change in pieces])
        piece = TerminalPiece(id=first.patch.id, data=data)
        return TerminalOutput(terminal=pieces[-1].terminal, data=data, patch=piece, created=first.created)
    raise TypeError(f"{type(first).__name__} cannot be joined")


def supersedes(change: Change) -> Hashable | None:
    """A change makes an earlier one with the same key here needless; None makes nothing needless."""
    if type(change) is ToolCallChanged:
        return ("tool call", change.call.id)
    if type(change) is PlanChanged:
        return ("plan", change.plan.id)
    if type(change) in _LISTS:
        return type(change)
    return None


def newest(earlier: Change, later: Change) -> Change:
    """The later of two changes with the same `supersedes`, still marked as the first sight if the earlier was."""
    if earlier.created:
        later.created = True
    return later
