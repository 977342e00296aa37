"""What one side asks of the other, in words that outlive a protocol version; each names the word it is answered with.

`Asked` words are requests, `Told` words notifications. A dialect maps each to a method, or says that it has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

from accord.session.capabilities import AgentCapabilities, AuthMethod, ClientCapabilities, Implementation
from accord.session.content import Content
from accord.session.entities import Command, Exit, Modes, Option, TokenUsage
from accord.session.mcp_servers import McpServer
from accord.session.updates import ToolCallPatch
from accord.session.value import UNSET, Unknown, UnsetType, Word
from accord.session.vocabulary import PermissionKind, StopReason

__all__ = [
    "Asked",
    "Authenticate",
    "Cancel",
    "CancelTerminal",
    "CancelToolCall",
    "CloseSession",
    "CommandSubject",
    "CreateTerminal",
    "DeleteSession",
    "Done",
    "Elicit",
    "ElicitationAnswer",
    "ElicitationCompleted",
    "FileContent",
    "ForkSession",
    "Initialize",
    "Initialized",
    "KillTerminal",
    "ListSessions",
    "LoadSession",
    "Logout",
    "NewSession",
    "PermissionAnswer",
    "PermissionOption",
    "Prompt",
    "PromptAnswer",
    "ReadFile",
    "ReadTerminal",
    "ReleaseTerminal",
    "RequestPermission",
    "ResumeSession",
    "SessionOpened",
    "SessionPage",
    "SessionSummary",
    "SetMode",
    "SetModel",
    "SetOption",
    "Subject",
    "TerminalCreated",
    "TerminalSnapshot",
    "Told",
    "ToolCallSubject",
    "WaitForExit",
    "WriteFile",
]


class Done(Word):
    """Success with nothing more to say."""


class Asked(Word):
    """A request; `answer` is the word that a successful answer is read into."""

    answer: ClassVar[type[Word]] = Done


class Told(Word):
    """A notification."""


class Initialized(Word):
    """The agent's half of the handshake, and the version it chose."""

    version: int
    info: Implementation | None
    capabilities: AgentCapabilities
    auth_methods: list[AuthMethod] = []


class Initialize(Asked):
    """The client's half of the handshake: the newest version it has, and what it can do."""

    answer: ClassVar[type[Word]] = Initialized

    version: int
    info: Implementation | None
    capabilities: ClientCapabilities


class Authenticate(Asked):
    """Log in by one of the methods that the handshake named."""

    method_id: str


class Logout(Asked):
    """Drop the credentials."""


class SessionOpened(Word):
    """What a new, loaded, resumed or forked session starts with. `UNSET` lists were not told.

    `session_id` is UNSET for load and resume, where the asker named it. `models` is unstable and opaque.
    """

    session_id: str | UnsetType = UNSET
    modes: Modes | None = None
    options: list[Option] | UnsetType = UNSET
    commands: list[Command] | UnsetType = UNSET
    models: Any = UNSET


class NewSession(Asked):
    """Begin a conversation in `cwd`, which is absolute."""

    answer: ClassVar[type[Word]] = SessionOpened

    cwd: str
    servers: list[McpServer] = []
    additional_directories: list[str] = []


class LoadSession(Asked):
    """Take up a stored session; all of its history is told again before the answer."""

    answer: ClassVar[type[Word]] = SessionOpened

    session_id: str
    cwd: str
    servers: list[McpServer] = []
    additional_directories: list[str] = []


class ResumeSession(Asked):
    """Take up a stored session without telling its history."""

    answer: ClassVar[type[Word]] = SessionOpened

    session_id: str
    cwd: str
    servers: list[McpServer] = []
    additional_directories: list[str] = []


class ForkSession(Asked):
    """Begin a session with the history of another one. Unstable."""

    answer: ClassVar[type[Word]] = SessionOpened

    session_id: str
    cwd: str
    servers: list[McpServer] = []
    additional_directories: list[str] = []


class SessionSummary(Word):
    """One line of a list of sessions."""

    session_id: str
    cwd: str
    additional_directories: list[str] = []
    title: str | None = None
    updated_at: str | None = None


class SessionPage(Word):
    """A part of the list; there is more when `next_cursor` is not None (an empty string is a cursor)."""

    sessions: list[SessionSummary]
    next_cursor: str | None = None


class ListSessions(Asked):
    """The stored sessions, of one directory or of all."""

    answer: ClassVar[type[Word]] = SessionPage

    cwd: str | None = None
    cursor: str | None = None


class CloseSession(Asked):
    """Cancel what runs in the session and free what it holds."""

    session_id: str


class DeleteSession(Asked):
    """Take the session off the list."""

    session_id: str


class PromptAnswer(Word):
    """The answer to a prompt: the stop reason where it ends the turn (v1, v2 draft), the message's id in v2."""

    stop_reason: StopReason | None = None
    message_id: str | None = None
    token_usage: TokenUsage | None = None


class Prompt(Asked):
    """A user's message."""

    answer: ClassVar[type[Word]] = PromptAnswer

    session_id: str
    content: list[Content]


class Cancel(Told):
    """Stop the session's foreground work."""

    session_id: str


class SetMode(Asked):
    """Put a mode in force."""

    session_id: str
    mode_id: str


class SetModel(Asked):
    """Choose a model. Unstable."""

    session_id: str
    model_id: str


class SetOption(Asked):
    """Give an option a value; the answer is the complete list."""

    answer: ClassVar[type[Word]] = SessionOpened

    session_id: str
    option_id: str
    value: str | bool


class CancelToolCall(Asked):
    """Stop one tool call that said it can be."""

    session_id: str
    tool_call_id: str


class CancelTerminal(Asked):
    """Stop the process of one display terminal that said it can be."""

    session_id: str
    terminal_id: str


class PermissionOption(Word):
    """One answer the user can give; `kind` is a hint such as `allow_once`."""

    id: str
    name: str
    kind: PermissionKind


class ToolCallSubject(Word, tag_field="type", tag="tool_call"):
    """Permission for a tool call; the patch is applied before the user is asked."""

    call: ToolCallPatch


class CommandSubject(Word, tag_field="type", tag="command"):
    """Permission for a command that the agent would run."""

    command: str
    cwd: str
    tool_call_id: str | None = None
    terminal_id: str | None = None


Subject: TypeAlias = ToolCallSubject | CommandSubject | Unknown


class PermissionAnswer(Word):
    """What the user chose. Anything but `selected` with an offered option that allows is a no."""

    outcome: str
    option_id: str | None = None
    raw: dict[str, Any] | None = None
    outcome_meta: dict[str, Any] | None = None


class RequestPermission(Asked):
    """May the agent do this? In v1 the title is the tool call's."""

    answer: ClassVar[type[Word]] = PermissionAnswer

    session_id: str
    options: list[PermissionOption]
    title: str | None = None
    description: str | None = None
    subject: Subject | None = None


class ElicitationAnswer(Word):
    """accept with the form's values, decline, cancel; any other action counts as cancel."""

    action: str
    content: dict[str, Any] | None = None
    raw: dict[str, Any] | None = None


class Elicit(Asked):
    """Ask the user by a form (`schema`, a flat JSON Schema object) or by a URL to open.

    The scope is a session (perhaps a tool call in it), or a request of the client's that is still open.
    """

    answer: ClassVar[type[Word]] = ElicitationAnswer

    message: str
    mode: str
    session_id: str | None = None
    tool_call_id: str | None = None
    request_id: int | str | None = None
    schema: dict[str, Any] | None = None
    elicitation_id: str | None = None
    url: str | None = None
    raw: dict[str, Any] | None = None


class ElicitationCompleted(Told):
    """What the URL was opened for is done."""

    elicitation_id: str


class FileContent(Word):
    """The text of a file, or of the lines asked for."""

    content: str


class ReadFile(Asked):
    """Read a text file as the editor has it, unsaved changes included. Not in v2."""

    answer: ClassVar[type[Word]] = FileContent

    session_id: str
    path: str
    line: int | None = None
    limit: int | None = None


class WriteFile(Asked):
    """Write a text file, creating it if need be. Not in v2."""

    session_id: str
    path: str
    content: str


class TerminalCreated(Word):
    """The id of a command that now runs in the client's environment."""

    terminal_id: str


class CreateTerminal(Asked):
    """Run a command in the client's environment. Not in v2."""

    answer: ClassVar[type[Word]] = TerminalCreated

    session_id: str
    command: str
    args: list[str] = []
    env: Mapping[str, str] = {}
    cwd: str | None = None
    output_byte_limit: int | None = None


class TerminalSnapshot(Word):
    """The output so far, and the exit once there is one."""

    output: str
    truncated: bool
    exit: Exit | None = None


class ReadTerminal(Asked):
    """The output so far, without waiting. Not in v2."""

    answer: ClassVar[type[Word]] = TerminalSnapshot

    session_id: str
    terminal_id: str


class WaitForExit(Asked):
    """Answered when the command has ended. Not in v2."""

    answer: ClassVar[type[Word]] = Exit

    session_id: str
    terminal_id: str


class KillTerminal(Asked):
    """End the command, keep the terminal. Not in v2."""

    session_id: str
    terminal_id: str


class ReleaseTerminal(Asked):
    """End the command if it runs, and forget the terminal. Not in v2."""

    session_id: str
    terminal_id: str
