"""What was reported (a patch), and what changed by it (the entity after the change).

A peer reports patches. `Transcript.apply` turns each into a change, which carries the patch and the entity as it is
after it. Users get changes; the wire gets patches.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from accord.session.content import Content, Text
from accord.session.entities import (
    Command,
    Compaction,
    Cost,
    Exit,
    Info,
    Location,
    Message,
    Modes,
    Notice,
    Option,
    Plan,
    State,
    Terminal,
    TerminalSize,
    ToolCall,
    ToolCallItem,
    Usage,
)
from accord.session.value import UNSET, Patched
from accord.session.vocabulary import CompactionStatus, ToolKind, ToolStatus

__all__ = [
    "Change",
    "CommandsChanged",
    "CommandsReport",
    "CompactionChanged",
    "CompactionPatch",
    "CompactionPiece",
    "InfoChanged",
    "InfoPatch",
    "MessageChanged",
    "MessageChunk",
    "MessagePatch",
    "MessagePiece",
    "ModeChanged",
    "ModeReport",
    "ModesReport",
    "NoticeReport",
    "NoticeShown",
    "OptionsChanged",
    "OptionsReport",
    "PlanChanged",
    "PlanReport",
    "PromptChanged",
    "PromptPatch",
    "Report",
    "StateChanged",
    "StateReport",
    "TerminalChanged",
    "TerminalOutput",
    "TerminalPatch",
    "TerminalPiece",
    "ToolCallChanged",
    "ToolCallPatch",
    "ToolCallPiece",
    "UnknownReport",
    "UnknownUpdate",
    "UsageChanged",
    "UsageReport",
]


class Reported(msgspec.Struct, gc=False, kw_only=True, tag_field="report", tag=True):
    """`meta` is the update's `_meta`; `meta_around` that of the notification around it, told but not kept."""

    meta: Patched[dict[str, Any]] = UNSET
    meta_around: Patched[dict[str, Any]] = UNSET


class Upsert(Reported, kw_only=True, tag=True):
    """A patch whose `meta` is stored with the entity: laid over the stored one key by key, where None removes a key.

    With `meta_replaces` an object takes the place of all that was stored, as in v1 and the v2 draft.
    """

    meta_replaces: bool = False


class MessagePatch(Upsert):
    """A message created or patched whole. Without an id: the one that a piece without an id would go to."""

    role: str
    id: str | None
    content: Patched[list[Content]] = UNSET


class MessagePiece(Reported):
    """One block appended to a message. Without an id: to the one being told, else to a new one.

    The piece's own `meta` is told to whoever listens, but not kept.
    """

    role: str
    id: str | None
    content: Content


class ToolCallPatch(Upsert):
    """A tool call created or patched. `creates` marks v1's `tool_call`, which is the same upsert.

    `ended_without_result` is how a client closes a call that nobody will finish; every other patch takes that back.
    """

    id: str
    title: Patched[str] = UNSET
    name: Patched[str] = UNSET
    kind: Patched[ToolKind] = UNSET
    status: Patched[ToolStatus] = UNSET
    content: Patched[list[ToolCallItem]] = UNSET
    locations: Patched[list[Location]] = UNSET
    raw_input: Any = UNSET
    raw_output: Any = UNSET
    cancellable: Patched[bool] = UNSET
    creates: bool = False
    ended_without_result: bool = False


class ToolCallPiece(Reported):
    """One item appended to a tool call's content."""

    id: str
    item: ToolCallItem


class TerminalPatch(Upsert):
    """A display terminal created or patched; `output` replaces all the bytes there were."""

    id: str
    command: Patched[str] = UNSET
    cwd: Patched[str] = UNSET
    output: Patched[bytes] = UNSET
    exit: Patched[Exit] = UNSET
    size: Patched[TerminalSize] = UNSET
    cancellable: Patched[bool] = UNSET


class TerminalPiece(Reported):
    """Bytes appended to a display terminal."""

    id: str
    data: bytes


class PlanReport(Reported):
    """A plan, complete."""

    plan: Plan


class CommandsReport(Reported):
    """All commands there are now."""

    commands: list[Command]


class OptionsReport(Reported):
    """All options there are now, with their values."""

    options: list[Option]


class ModesReport(Reported):
    """All modes there are, and the one in force; told when a v1 session opens."""

    modes: Modes


class ModeReport(Reported):
    """The mode now in force."""

    mode_id: str


class InfoPatch(Upsert):
    """A new title or time of change."""

    title: Patched[str] = UNSET
    updated_at: Patched[str] = UNSET


class UsageReport(Reported):
    """Tokens and cost; an omitted cost stays as it was."""

    used: int
    size: int
    cost: Patched[Cost] = UNSET


class NoticeReport(Reported):
    """Something to show now and not to keep."""

    notice: Notice


class CompactionPatch(Upsert):
    """A compaction begun, ended or patched."""

    id: str
    status: CompactionStatus
    summary: Patched[list[Content]] = UNSET
    error: Patched[str] = UNSET


class CompactionPiece(Reported):
    """One block appended to a compaction's summary."""

    id: str
    content: Content


class StateReport(Reported):
    """A snapshot of what the foreground does."""

    state: State


class UnknownReport(Reported):
    """An update accord has no word for, whole; `version` as in `Unknown`."""

    tag: str
    raw: dict[str, Any]
    version: str | None = None


class PromptPatch(Reported):
    """What became of a prompt that a client has sent and shown as message `id`.

    The agent gave it another id, it goes to the end of the timeline, or it was not accepted. This is the client's own
    word and not a `Report`: it is neither told nor stored.
    """

    id: str
    new_id: str | None = None
    goes_last: bool = False
    not_accepted: bool = False


Report: TypeAlias = (
    MessagePatch
    | MessagePiece
    | ToolCallPatch
    | ToolCallPiece
    | TerminalPatch
    | TerminalPiece
    | PlanReport
    | CommandsReport
    | OptionsReport
    | ModesReport
    | ModeReport
    | InfoPatch
    | UsageReport
    | NoticeReport
    | CompactionPatch
    | CompactionPiece
    | StateReport
    | UnknownReport
)


class Changed(msgspec.Struct, gc=False, kw_only=True):
    """`created` is true when the entity was not there before."""

    created: bool = False


class MessageChunk(Changed):
    """A block was appended to `message`, which by now may hold more than that."""

    message: Message
    content: Content
    patch: MessagePiece

    @property
    def role(self) -> str:
        """Whose message it is: user, agent or thought."""
        return self.message.role

    @property
    def text(self) -> str:
        """The block's text; empty when it is not a text block."""
        return self.content.text if type(self.content) is Text else ""


class MessageChanged(Changed):
    """A message was created or patched; `message` is as it was right after that, whatever came later."""

    message: Message
    patch: MessagePatch
    added: list[Content] | None = None
    """What the change put at the end of the content, when it left all before it as it was; else None."""
    before: list[Content] = []
    """The content that the change took away, when `added` is None."""


class PromptChanged(Changed):
    """A prompt that was shown when it was sent, as message `former_id`, got its id or its place, or was not accepted.

    `message` is as it was right after that.
    """

    message: Message
    former_id: str
    patch: PromptPatch


class ToolCallChanged(Changed):
    """`call` is as it was right after this change, whatever came later."""

    call: ToolCall
    patch: ToolCallPatch | ToolCallPiece


class TerminalChanged(Changed):
    """A display terminal was created or patched; `terminal` is as it was right after that, whatever came later."""

    terminal: Terminal
    patch: TerminalPatch


class TerminalOutput(Changed):
    """`data` was appended to `terminal`, which is as it was right after that, whatever came later."""

    terminal: Terminal
    data: bytes
    patch: TerminalPiece


class PlanChanged(Changed):
    """A plan was created or replaced."""

    plan: Plan
    patch: PlanReport


class CommandsChanged(Changed):
    """The list of commands was replaced."""

    commands: list[Command]
    patch: CommandsReport


class OptionsChanged(Changed):
    """The list of options was replaced."""

    options: list[Option]
    patch: OptionsReport


class ModeChanged(Changed):
    """The mode, or the list of modes, changed. `modes` is None when the peer never told a list."""

    mode_id: str
    modes: Modes | None
    patch: ModeReport | ModesReport


class InfoChanged(Changed):
    """The session's title or time changed."""

    info: Info
    patch: InfoPatch


class UsageChanged(Changed):
    """New figures of tokens and cost."""

    usage: Usage
    patch: UsageReport


class NoticeShown(Changed):
    """Something to show now; the transcript does not keep it."""

    notice: Notice
    patch: NoticeReport


class CompactionChanged(Changed):
    """A compaction began, grew or ended."""

    compaction: Compaction
    patch: CompactionPatch | CompactionPiece


class StateChanged(Changed):
    """What the foreground does now."""

    state: State
    patch: StateReport


class UnknownUpdate(Changed):
    """An update accord has no word for; `patch.raw` is all of it."""

    patch: UnknownReport


Change: TypeAlias = (
    MessageChunk
    | MessageChanged
    | PromptChanged
    | ToolCallChanged
    | TerminalChanged
    | TerminalOutput
    | PlanChanged
    | CommandsChanged
    | OptionsChanged
    | ModeChanged
    | InfoChanged
    | UsageChanged
    | NoticeShown
    | CompactionChanged
    | StateChanged
    | UnknownUpdate
)
