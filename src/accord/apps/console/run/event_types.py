"""The events of `accord run --json`: one JSON object per line, told apart by `type`.

Law: the shape is a promise. Within one `format` members and types may be added, nothing is taken away or changed.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from accord.session import entities
from accord.session.content import Content

FORMAT = 1


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
    """The agent said more: append it to what it has said in this message."""

    text: str
    message_id: str | None


class ThoughtEvent(Event, tag="thought"):
    """The agent thought more, likewise."""

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
    """A tool call as it is now. `content` takes the place of all that was told from item `content_start` on.

    `ended_without_result`: its turn, or the agent, has ended and nothing more was said of it.
    """

    id: str
    title: str | None
    name: str | None
    kind: str
    status: str
    locations: list[entities.Location]
    content_start: int
    content: list[entities.ToolCallItem]
    raw_input: Any
    raw_output: Any
    created: bool
    ended_without_result: bool = False


class TerminalStateEvent(Event, tag="terminal"):
    """A command that the agent runs or shows, without its output; `exit` is null while it runs."""

    id: str
    command: str | None
    cwd: str | None
    exit: entities.Exit | None


class TerminalOutputEvent(Event, tag="terminal_output"):
    """A command wrote more, or with `replaces` this is all that it wrote; bytes that are no text are replaced."""

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
