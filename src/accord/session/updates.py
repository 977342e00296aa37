"""What was reported (a patch), and what changed by it (the entity after the change).

A peer reports patches. `Transcript.apply` turns each into a change, which carries the patch and the entity as it is
after it. Users get changes; the wire gets patches.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from accord.session.content import Content, Text
from accord.session.entities import (
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
    SlashCommand,
    State,
    Terminal,
    TerminalSize,
    ToolCall,
    ToolCallItem,
    Usage,
)
from accord.session.open_enums import CompactionStatus, ToolKind, ToolStatus
from accord.session.value import UNSET, Tristate

__all__ = [
    "CommandsChanged",
    "CommandsPatch",
    "CompactionAppend",
    "CompactionChanged",
    "CompactionPatch",
    "InfoChanged",
    "InfoPatch",
    "MessageAppend",
    "MessageChanged",
    "MessageChunk",
    "MessagePatch",
    "ModeChanged",
    "ModePatch",
    "ModesPatch",
    "NoticePatch",
    "NoticeShown",
    "OptionsChanged",
    "OptionsPatch",
    "Patch",
    "PlanChanged",
    "PlanPatch",
    "PromptChanged",
    "PromptPatch",
    "StateChanged",
    "StatePatch",
    "TerminalAppend",
    "TerminalChanged",
    "TerminalOutput",
    "TerminalPatch",
    "ToolCallAppend",
    "ToolCallChanged",
    "ToolCallPatch",
    "UnknownPatch",
    "UnknownUpdate",
    "Update",
    "UsageChanged",
    "UsagePatch",
]


# The tags stand in stored journals: a class may get another name, its tag stays.
class PatchFields(msgspec.Struct, gc=False, kw_only=True, tag_field="report", tag=True):
    """`meta` is the update's `_meta`; `notification_meta` that of the notification around it, told but not kept."""

    meta: Tristate[dict[str, Any]] = UNSET
    notification_meta: Tristate[dict[str, Any]] = msgspec.field(default=UNSET, name="meta_around")  # as stored


class EntityPatch(PatchFields, kw_only=True, tag=True):
    """A patch whose `meta` is stored with the entity: laid over the stored one key by key, where None removes a key.

    With `meta_replaces` an object takes the place of all that was stored, as in v1 and the v2 draft.
    """

    meta_replaces: bool = False


class MessagePatch(EntityPatch, tag="MessagePatch"):
    """A message created or patched whole. Without an id: the one that a piece without an id would go to."""

    role: str
    id: str | None
    content: Tristate[list[Content]] = UNSET


class MessageAppend(PatchFields, tag="MessagePiece"):
    """One block appended to a message. Without an id: to the one being told, else to a new one.

    The piece's own `meta` is told to whoever listens, but not kept.
    """

    role: str
    id: str | None
    content: Content


class ToolCallPatch(EntityPatch, tag="ToolCallPatch"):
    """A tool call created or patched. `creates` marks v1's `tool_call`, which is the same upsert.

    `ended_without_result` is how a client closes a call that nobody will finish; every other patch takes that back.
    """

    id: str
    title: Tristate[str] = UNSET
    name: Tristate[str] = UNSET
    kind: Tristate[ToolKind] = UNSET
    status: Tristate[ToolStatus] = UNSET
    content: Tristate[list[ToolCallItem]] = UNSET
    locations: Tristate[list[Location]] = UNSET
    raw_input: Any = UNSET
    raw_output: Any = UNSET
    cancellable: Tristate[bool] = UNSET
    creates: bool = False
    ended_without_result: bool = False


class ToolCallAppend(PatchFields, tag="ToolCallPiece"):
    """One item appended to a tool call's content."""

    id: str
    item: ToolCallItem


class TerminalPatch(EntityPatch, tag="TerminalPatch"):
    """A display terminal created or patched; `output` replaces all the bytes there were."""

    id: str
    command: Tristate[str] = UNSET
    cwd: Tristate[str] = UNSET
    output: Tristate[bytes] = UNSET
    exit: Tristate[Exit] = UNSET
    size: Tristate[TerminalSize] = UNSET
    cancellable: Tristate[bool] = UNSET


class TerminalAppend(PatchFields, tag="TerminalPiece"):
    """Bytes appended to a display terminal."""

    id: str
    data: bytes


class PlanPatch(PatchFields, tag="PlanReport"):
    """A plan, complete."""

    plan: Plan


class CommandsPatch(PatchFields, tag="CommandsReport"):
    """All commands there are now."""

    commands: list[SlashCommand]


class OptionsPatch(PatchFields, tag="OptionsReport"):
    """All options there are now, with their values."""

    options: list[Option]


class ModesPatch(PatchFields, tag="ModesReport"):
    """All modes there are, and the one in force; told when a v1 session opens."""

    modes: Modes


class ModePatch(PatchFields, tag="ModeReport"):
    """The mode now in force."""

    mode_id: str


class InfoPatch(EntityPatch, tag="InfoPatch"):
    """A new title or time of change."""

    title: Tristate[str] = UNSET
    updated_at: Tristate[str] = UNSET


class UsagePatch(PatchFields, tag="UsageReport"):
    """Tokens and cost; an omitted cost stays as it was."""

    used: int
    size: int
    cost: Tristate[Cost] = UNSET


class NoticePatch(PatchFields, tag="NoticeReport"):
    """Something to show now and not to keep."""

    notice: Notice


class CompactionPatch(EntityPatch, tag="CompactionPatch"):
    """A compaction begun, ended or patched."""

    id: str
    status: CompactionStatus
    summary: Tristate[list[Content]] = UNSET
    error: Tristate[str] = UNSET


class CompactionAppend(PatchFields, tag="CompactionPiece"):
    """One block appended to a compaction's summary."""

    id: str
    content: Content


class StatePatch(PatchFields, tag="StateReport"):
    """A snapshot of what the foreground does."""

    state: State


class UnknownPatch(PatchFields, tag="UnknownReport"):
    """An update accord has no word for, whole; `version` as in `Unknown`."""

    tag: str
    raw: dict[str, Any]
    version: str | None = None


class PromptPatch(PatchFields, tag="PromptPatch"):
    """What became of a prompt that a client has sent and shown as message `id`.

    The agent gave it another id, it goes to the end of the timeline, or it was not accepted. This is the client's own
    word and not a `Patch`: it is neither told nor stored.
    """

    id: str
    new_id: str | None = None
    goes_last: bool = False
    not_accepted: bool = False


Patch: TypeAlias = (
    MessagePatch
    | MessageAppend
    | ToolCallPatch
    | ToolCallAppend
    | TerminalPatch
    | TerminalAppend
    | PlanPatch
    | CommandsPatch
    | OptionsPatch
    | ModesPatch
    | ModePatch
    | InfoPatch
    | UsagePatch
    | NoticePatch
    | CompactionPatch
    | CompactionAppend
    | StatePatch
    | UnknownPatch
)


class UpdateFields(msgspec.Struct, gc=False, kw_only=True):
    """`created` is true when the entity was not there before."""

    created: bool = False


class MessageChunk(UpdateFields):
    """A block was appended to `message`, which by now may hold more than that."""

    message: Message
    content: Content
    patch: MessageAppend

    @property
    def role(self) -> str:
        """Whose message it is: user, agent or thought."""
        return self.message.role

    @property
    def text(self) -> str:
        """The block's text; empty when it is not a text block."""
        return self.content.text if type(self.content) is Text else ""

    @property
    def plain_text(self) -> str | None:
        """The block's text if there is nothing else to it: no annotations and no meta; None otherwise."""
        content, patch = self.content, self.patch
        if type(content) is not Text or content.annotations is not None or content.meta is not None:
            return None
        return content.text if patch.meta is UNSET and patch.notification_meta is UNSET else None


class MessageChanged(UpdateFields):
    """A message was created or patched; `message` is as it was right after that, whatever came later."""

    message: Message
    patch: MessagePatch
    added: list[Content] | None = None
    """What the change put at the end of the content, when it left all before it as it was; else None."""
    before: list[Content] = []
    """The content that the change took away, when `added` is None."""


class PromptChanged(UpdateFields):
    """A prompt that was shown when it was sent, as message `former_id`, got its id or its place, or was not accepted.

    `message` is as it was right after that.
    """

    message: Message
    former_id: str
    patch: PromptPatch


class ToolCallChanged(UpdateFields):
    """`call` is as it was right after this change, whatever came later."""

    call: ToolCall
    patch: ToolCallPatch | ToolCallAppend


class TerminalChanged(UpdateFields):
    """A display terminal was created or patched; `terminal` is as it was right after that, whatever came later."""

    terminal: Terminal
    patch: TerminalPatch


class TerminalOutput(UpdateFields):
    """`data` was appended to `terminal`, which is as it was right after that, whatever came later."""

    terminal: Terminal
    data: bytes
    patch: TerminalAppend


class PlanChanged(UpdateFields):
    """A plan was created or replaced."""

    plan: Plan
    patch: PlanPatch


class CommandsChanged(UpdateFields):
    """The list of commands was replaced."""

    commands: list[SlashCommand]
    patch: CommandsPatch


class OptionsChanged(UpdateFields):
    """The list of options was replaced."""

    options: list[Option]
    patch: OptionsPatch


class ModeChanged(UpdateFields):
    """The mode, or the list of modes, changed. `modes` is None when the peer never told a list."""

    mode_id: str
    modes: Modes | None
    patch: ModePatch | ModesPatch


class InfoChanged(UpdateFields):
    """The session's title or time changed."""

    info: Info
    patch: InfoPatch


class UsageChanged(UpdateFields):
    """New figures of tokens and cost."""

    usage: Usage
    patch: UsagePatch


class NoticeShown(UpdateFields):
    """Something to show now; the transcript does not keep it."""

    notice: Notice
    patch: NoticePatch


class CompactionChanged(UpdateFields):
    """A compaction began, grew or ended."""

    compaction: Compaction
    patch: CompactionPatch | CompactionAppend


class StateChanged(UpdateFields):
    """What the foreground does now."""

    state: State
    patch: StatePatch


class UnknownUpdate(UpdateFields):
    """An update accord has no word for; `patch.raw` is all of it."""

    patch: UnknownPatch


Update: TypeAlias = (
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
