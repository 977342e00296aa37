"""What a reader that has fallen behind may be told at once, without losing a letter or the order of things.

Pieces of one text that follow each other are joined. Of a tool call, plan or list only the newest state is kept, at
the place where the first one stood. The end of a tool call tells its whole outcome, whatever was told before: some
clients draw a call from its last update alone (FN-114).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from msgspec.structs import replace

from accord.session.content import Text
from accord.session.open_enums import FINAL_STATUSES
from accord.session.updates import (
    CommandsChanged,
    InfoChanged,
    MessageAppend,
    MessageChunk,
    OptionsChanged,
    PlanChanged,
    TerminalAppend,
    TerminalOutput,
    ToolCallChanged,
    ToolCallPatch,
    Update,
    UsageChanged,
)
from accord.session.value import UNSET

_DETAILS = ("title", "name", "kind", "locations", "raw_input", "cancellable")
_LISTS = (CommandsChanged, OptionsChanged, UsageChanged, InfoChanged)


def merge_key(change: Update) -> Hashable | None:
    """Changes that follow each other and have the same key here can be joined; None joins with nothing."""
    if type(change) is MessageChunk:
        if change.plain_text is not None:
            return ("text", change.message.role, change.message.id)
    elif type(change) is TerminalOutput and change.patch.meta is UNSET and change.patch.notification_meta is UNSET:
        return ("output", change.terminal.id)
    return None


def merge(changes: Sequence[Update]) -> Update:
    """One change that says what all of these say; they have the same `merge_key`."""
    first = changes[0]
    if len(changes) == 1:
        return first
    if type(first) is MessageChunk:
        text = Text("".join([change.text for change in changes if type(change) is MessageChunk]))
        patch = MessageAppend(role=first.patch.role, id=first.patch.id, content=text)
        return MessageChunk(message=first.message, content=text, patch=patch, created=first.created)
    if type(first) is TerminalOutput:
        pieces = [change for change in changes if type(change) is TerminalOutput]
        data = b"".join([change.data for change in pieces])
        piece = TerminalAppend(id=first.patch.id, data=data)
        return TerminalOutput(terminal=pieces[-1].terminal, data=data, patch=piece, created=first.created)
    raise TypeError(f"{type(first).__name__} cannot be joined")


def supersede_key(change: Update) -> Hashable | None:
    """A change makes an earlier one with the same key here needless; None makes nothing needless."""
    if type(change) is ToolCallChanged:
        return ("tool call", change.call.id)
    if type(change) is PlanChanged:
        return ("plan", change.plan.id)
    if type(change) in _LISTS:
        return type(change)
    return None


def supersede(earlier: Update, later: Update) -> Update:
    """The later of two changes with the same `supersede_key`, still marked as the first sight if the earlier was."""
    if earlier.created:
        later.created = True
    return later


def waits_for_end(change: ToolCallChanged) -> bool:
    """Whether it may wait for the end of its call, which then tells it: a piece, or a patch without status and meta."""
    patch = change.patch
    if change.created or patch.meta is not UNSET:
        return False
    return type(patch) is not ToolCallPatch or (patch.status is UNSET and not patch.ended_without_result)


def is_final(change: ToolCallChanged) -> bool:
    """Whether it gives a call that was told before its final status."""
    patch = change.patch
    return type(patch) is ToolCallPatch and not change.created and patch.status in FINAL_STATUSES


def with_outcome(change: ToolCallChanged, waiting: Sequence[ToolCallChanged] = ()) -> ToolCallChanged:
    """The end of a call with all that the call shows and gave, and with what changes of it that were not told say.

    What the transcript has dropped is left as the other side has it.
    """
    end, call = change.patch, change.call
    assert type(end) is ToolCallPatch
    patches = [end, *(each.patch for each in reversed(waiting) if type(each.patch) is ToolCallPatch)]
    told = {name: _first_set(patches, name) for name in (*_DETAILS, "content", "raw_output")}
    if call.content and not call.dropped:
        told["content"] = list(call.content)
    if call.raw_output is not None and not call.dropped:
        told["raw_output"] = call.raw_output
    return ToolCallChanged(call=call, patch=replace(end, **told), created=False)


def _first_set(patches: Sequence[ToolCallPatch], name: str) -> Any:
    return next((value for patch in patches if (value := getattr(patch, name)) is not UNSET), UNSET)
