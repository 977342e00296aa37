"""The things a session is made of. A `Transcript` owns them; everybody else reads them.

A change makes a new entity and leaves the old one as it was; only `Message`, which grows by many small pieces, is
changed in place.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from accord.session.content import Content
from accord.session.message import AGENT, THOUGHT, USER, Message
from accord.session.open_enums import (
    CompactionStatus,
    NoticeSeverity,
    OptionCategory,
    PlanPriority,
    PlanStatus,
    StopReason,
    ToolKind,
    ToolStatus,
)
from accord.session.snapshots import SnapshotBytes, SnapshotList
from accord.session.value import Unknown, Value

__all__ = [
    "AGENT",
    "OTHER",
    "PENDING",
    "THOUGHT",
    "USER",
    "Compaction",
    "ContentItem",
    "Cost",
    "Diff",
    "DiffPatch",
    "EmptyGroup",
    "Exit",
    "FileChange",
    "Info",
    "Location",
    "Message",
    "Mode",
    "Modes",
    "Notice",
    "Option",
    "OptionChoice",
    "Plan",
    "PlanEntry",
    "SlashCommand",
    "State",
    "Terminal",
    "TerminalItem",
    "TerminalSize",
    "TokenUsage",
    "ToolCall",
    "ToolCallItem",
    "Usage",
    "Work",
]

OTHER, PENDING = "other", "pending"


class ContentItem(Value, tag_field="type", tag="content"):
    """A content block that a tool produced."""

    content: Content


class FileChange(Value):
    """One file of a diff. The texts are known when the diff came with them (v1), else None: see the diff's patch."""

    operation: str
    path: str
    old_path: str | None = None
    file_type: str | None = None
    mime_type: str | None = None
    old_text: str | None = None
    new_text: str | None = None
    raw: dict[str, Any] | None = None  # an operation that accord has no word for, whole


class DiffPatch(Value):
    """The change as text, in a format such as `git_patch`."""

    format: str
    text: str


class Diff(Value, tag_field="type", tag="diff"):
    """Files changed by a tool."""

    changes: list[FileChange]
    patch: DiffPatch | None = None


class TerminalItem(Value, tag_field="type", tag="terminal"):
    """A terminal shown inside a tool call."""

    terminal_id: str


ToolCallItem: TypeAlias = ContentItem | Diff | TerminalItem | Unknown


class Location(Value):
    """A place in a file, its line counted from 1."""

    path: str
    line: int | None = None


class ToolCall(Value, kw_only=True):
    """Something the model asked the agent to do.

    `content` is a sequence that shares its storage with what came before and after it: each tool call in the queue of
    a slow reader still shows exactly the items it had, and a piece costs the same however many there were before it.
    `dropped` tells that the transcript's limit has cost it its content, raw fields, locations and meta.
    `ended_without_result` is not the agent's word but the client's: the turn that opened the call, or the agent, has
    ended, and `status` is the last that was heard of it. Whatever is told of the call later takes the mark away.
    """

    id: str
    title: str | None = None
    name: str | None = None
    kind: ToolKind = OTHER
    status: ToolStatus = PENDING
    content: Sequence[ToolCallItem] = msgspec.field(default_factory=SnapshotList[ToolCallItem])
    locations: list[Location] = []
    raw_input: Any = None
    raw_output: Any = None
    cancellable: bool = False
    dropped: bool = False
    ended_without_result: bool = False

    @property
    def finished(self) -> bool:
        """Whether the status is one of the three that end a tool call, or it ended without a result."""
        return self.status in ("completed", "failed", "cancelled") or self.ended_without_result


class PlanEntry(Value):
    """One step of a plan."""

    content: str
    priority: PlanPriority = "medium"
    status: PlanStatus = PENDING


class Plan(Value, kw_only=True):
    """A plan, replaced whole by each report. `raw` holds a plan of a type that accord has no word for.

    `ended_without_result` is not the agent's word but the client's: the turn that worked on it failed, was cut off or was
    rejected, or the agent has ended, and what is `in_progress` in it is not being done.
    """

    id: str
    entries: list[PlanEntry] = []
    type: str = "items"
    raw: dict[str, Any] | None = None
    dropped: bool = False
    ended_without_result: bool = False


class Exit(Value):
    """How a process ended; both are None when that is not known."""

    code: int | None = None
    signal: str | None = None


class TerminalSize(Value):
    """Columns and rows."""

    columns: int
    rows: int


class Terminal(Value, kw_only=True):
    """A terminal that the agent shows. `output` is bytes, cut anywhere: even inside a character."""

    id: str
    command: str | None = None
    cwd: str | None = None
    output: SnapshotBytes = msgspec.field(default_factory=SnapshotBytes)
    exit: Exit | None = None
    size: TerminalSize | None = None
    cancellable: bool = False
    dropped: bool = False

    @property
    def text(self) -> str:
        """The output decoded so far; a character that may still be completed is left out."""
        return codecs.utf_8_decode(bytes(self.output), "replace", self.exit is not None)[0]


class EmptyGroup(Value):
    """A group of choices that has none; `after` is how many choices stand before it."""

    id: str
    name: str
    after: int = 0


class OptionChoice(Value):
    """One value of a select option, with the group it stands in."""

    value: str
    name: str
    description: str | None = None
    group: str | None = None
    group_name: str | None = None
    group_meta: dict[str, Any] | None = None


class Option(Value, kw_only=True):
    """A setting of the session: `kind` is select or boolean. `raw` holds one of a kind that accord has no word for."""

    id: str
    name: str
    kind: str = "select"
    value: str | bool | None = None
    choices: list[OptionChoice] = []
    description: str | None = None
    category: OptionCategory | None = None
    raw: dict[str, Any] | None = None
    empty_groups: list[EmptyGroup] = []


class Mode(Value):
    """A way the agent can work in."""

    id: str
    name: str
    description: str | None = None


class Modes(Value):
    """The modes there are, and the one in force."""

    current: str
    available: list[Mode]


class SlashCommand(Value):
    """A slash command, its name without the slash. `raw` holds one of a type that accord has no word for."""

    name: str
    description: str
    hint: str | None = None
    input_meta: dict[str, Any] | None = None
    raw: dict[str, Any] | None = None


class Cost(Value):
    """What the session has cost so far."""

    amount: float
    currency: str


class Usage(Value):
    """Tokens in context, and how many fit."""

    used: int
    size: int
    cost: Cost | None = None


class TokenUsage(Value):
    """The tokens that the work on a prompt took, as the agent counts them; None for what it does not tell. Unstable.

    Some agents of v1 count from the beginning of the session.
    """

    total: int
    input: int
    output: int
    thought: int | None = None
    cached_read: int | None = None
    cached_write: int | None = None


class Info(Value):
    """The session's title and when it last changed."""

    title: str | None = None
    updated_at: str | None = None


class Notice(Value):
    """Something the user should see that is not part of the conversation. It is never replayed."""

    severity: NoticeSeverity
    title: str
    description: str | None = None


class Compaction(Value, kw_only=True):
    """The agent shortening its memory of the session."""

    id: str
    status: CompactionStatus
    summary: Sequence[Content] = msgspec.field(default_factory=SnapshotList[Content])
    error: str | None = None
    dropped: bool = False


class Work(Value):
    """Something that runs beside the foreground: a terminal or a tool call by id, or `raw` of another type."""

    type: str
    id: str
    raw: dict[str, Any] | None = None


class State(Value):
    """What the session's foreground does: running, idle, requires_action, or a value to be shown as busy.

    `raw` holds all of a state, or of a stop reason, that accord has no word for.
    """

    state: str = "idle"
    stop_reason: StopReason | None = None
    error: dict[str, Any] | None = None
    background: list[Work] | None = None
    token_usage: TokenUsage | None = None
    raw: dict[str, Any] | None = None
