"""The events of `accord run --json`: one JSON object per line, told apart by `type`.

Law: the shape is a promise. Within one `format` members and types may be added, nothing is taken away or changed.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from msgspec import Struct

from accord.session import entities, updates
from accord.session.content import Content

S = TypeVar("S", bound=Struct)
FORMAT = 2


class Event(Struct, kw_only=True, tag_field="type"):
    """Something that happened in a run."""


class StartEvent(Event, tag="start"):
    """The session is open. Always the first event, unless the run ends before that."""

    format: int
    accord: str
    agent: str | None
    agent_version: str | None
    protocol: int
    session_id: str
    cwd: str
    resumed: bool


class TextEvent(Event, tag="text"):
    """What the agent said, up to the next other event; append it to what it has said in this message, if it goes on."""

    text: str
    message_id: str | None


class ThoughtEvent(Event, tag="thought"):
    """What the agent thought, likewise."""

    text: str
    message_id: str | None


class ContentEvent(Event, tag="content"):
    """A message got a block that is no text, such as an image; `role` is agent, thought or user."""

    role: str
    content: Content
    message_id: str | None


class MessageEvent(Event, tag="message"):
    """A message was told anew: this is all of it now."""

    role: str
    content: list[Content]
    message_id: str | None


class ToolCallEvent(Event, tag="tool_call"):
    """A tool call, all of it as it is now: when it begins, its status changes, it is asked about or it ends.

    `changed`: which members the agent has told since the last event of this call. `ended_without_result`: its turn, or the
    agent, has ended and nothing more was said of it.
    """

    id: str
    title: str | None
    name: str | None
    kind: str
    status: str
    locations: list[entities.Location]
    content: list[entities.ToolCallItem]
    raw_input: Any
    raw_output: Any
    created: bool
    changed: list[str]
    ended_without_result: bool = False


class TerminalStateEvent(Event, tag="terminal"):
    """A command that the agent runs or shows, without its output; `exit` is null while it runs."""

    id: str
    command: str | None
    cwd: str | None
    exit: entities.Exit | None


class TerminalOutputEvent(Event, tag="terminal_output"):
    """What a command wrote, up to its end; with `replaces` this is all that it wrote. Bytes that are no text are replaced."""

    id: str
    text: str
    replaces: bool = False


class PlanEvent(Event, tag="plan"):
    """A plan, complete. `ended_without_result`: what is in progress in it is not being done any more."""

    id: str
    entries: list[entities.PlanEntry]
    ended_without_result: bool = False


class CommandsEvent(Event, tag="commands"):
    """All slash commands that there are now."""

    commands: list[entities.SlashCommand]


class OptionsEvent(Event, tag="options"):
    """All options that there are now, with their values."""

    options: list[entities.Option]


class ModeEvent(Event, tag="mode"):
    """The mode that is now in force."""

    mode_id: str


class InfoEvent(Event, tag="info"):
    """The session has another title."""

    title: str | None


class UsageEvent(Event, tag="usage"):
    """Tokens in the context, how many fit, and what the session has cost."""

    used: int
    size: int
    cost: entities.Cost | None


class NoticeEvent(Event, tag="notice"):
    """Something the user should see; `source` is agent, or accord for what we say ourselves."""

    severity: str
    title: str
    description: str | None = None
    source: Literal["agent", "accord"] = "agent"


class CompactionEvent(Event, tag="compaction"):
    """The agent shortens its memory of the session."""

    id: str
    status: str
    summary: list[Content]
    error: str | None


class StateEvent(Event, tag="state"):
    """What the agent does: running, idle, requires_action, or another word for busy; `background` runs beside it.

    `token_usage` comes with the idle that ends a turn, where the agent tells what the turn took.
    """

    state: str
    background: list[entities.Work] | None
    token_usage: entities.TokenUsage | None = None


class PermissionEvent(Event, tag="permission"):
    """The agent asked whether it may, and was answered: `by` a rule (`--permissions`) or a dialog.

    `command` and `files` are what it was about, as far as that is told.
    """

    title: str
    tool_call_id: str | None
    allowed: bool
    option_id: str | None
    by: Literal["rule", "person"]
    command: str | None = None
    files: list[str] = []


class FileWrittenEvent(Event, tag="file_written"):
    """A file was written for the agent through accord (v1); `size` is in bytes."""

    path: str
    size: int


class UnknownUpdateEvent(Event, tag="update"):
    """An update, or a plan, that accord has no word for, whole."""

    tag: str
    raw: dict[str, Any]


class FailureDetails(Struct, kw_only=True):
    """Why a run failed, what to do about it, and the end of what the agent wrote on stderr."""

    reason: str
    advice: str
    last_words: str


class EndEvent(Event, tag="end"):
    """Always the last event. `exit` is the exit status; `error` is null unless something failed.

    `files_changed`: by their paths, those that were written through accord or shown in a diff of a completed tool call.
    """

    format: int
    exit: int
    stop_reason: str | None
    session_id: str | None
    error: FailureDetails | None
    files_changed: list[str] = []


EVENTS: tuple[type[Event], ...] = tuple(Event.__subclasses__())


def state_event(change: updates.Update) -> Event | None:
    """The event of a change that replaces what was told before, or stands for itself; None for other changes."""
    match change:
        case updates.PlanChanged(plan=entities.Plan(type=kind, raw=dict(raw))):
            return UnknownUpdateEvent(tag=kind, raw=raw)
        case updates.PlanChanged(plan=plan):
            return copy_members(plan, PlanEvent)
        case updates.CommandsChanged(commands=commands):
            return CommandsEvent(commands=commands)
        case updates.OptionsChanged(options=options):
            return OptionsEvent(options=options)
        case updates.ModeChanged(mode_id=mode_id):
            return ModeEvent(mode_id=mode_id)
        case updates.InfoChanged(info=info):
            return InfoEvent(title=info.title)
        case updates.UsageChanged(usage=usage):
            return copy_members(usage, UsageEvent)
        case updates.NoticeShown(notice=notice):
            return copy_members(notice, NoticeEvent)
        case updates.CompactionChanged(compaction=compaction):
            return copy_members(compaction, CompactionEvent, summary=list(compaction.summary))
        case updates.StateChanged(state=state):
            return copy_members(state, StateEvent)
        case updates.UnknownUpdate(patch=patch):
            return UnknownUpdateEvent(tag=patch.tag, raw=patch.raw)
        case _:
            return None


def copy_members(entity: Struct, kind: type[S], **others: Any) -> S:
    """An event, or the like, with the members of an entity that have the same names, and others."""
    names = [name for name in kind.__struct_fields__ if name not in others and hasattr(entity, name)]
    return kind(**{name: getattr(entity, name) for name in names}, **others)
