"""What one side asks of the other, in words that outlive a protocol version; each names the word it is answered with.

`AcpRequest` words are requests, `AcpNotification` words notifications. A dialect maps each to a method, or says that it has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

from accord.session.capabilities import AgentCapabilities, AuthMethod, ClientCapabilities, Implementation
from accord.session.content import Content
from accord.session.entities import Exit, Modes, Option, SlashCommand, TokenUsage
from accord.session.mcp_servers import McpServer
from accord.session.open_enums import PermissionKind, StopReason
from accord.session.updates import ToolCallPatch
from accord.session.value import UNSET, Unknown, UnsetType, Value


class EmptyResult(Value):
    """Success with nothing more to say."""


class AcpRequest(Value):
    """A request; its result is read into `result_type`."""

    result_type: ClassVar[type[Value]] = EmptyResult
    """The type of its result."""


class AcpNotification(Value):
    """A notification."""


class InitializeResult(Value):
    """The agent's half of the handshake, and the version it chose."""

    version: int
    info: Implementation | None
    capabilities: AgentCapabilities
    auth_methods: list[AuthMethod] = []


class Initialize(AcpRequest):
    """The client's half of the handshake: the newest version it has, and what it can do."""

    result_type: ClassVar[type[Value]] = InitializeResult

    version: int
    info: Implementation | None
    capabilities: ClientCapabilities


class Authenticate(AcpRequest):
    """Log in by one of the methods that the handshake named."""

    method_id: str


class Logout(AcpRequest):
    """Drop the credentials."""


class SessionSetup(Value):
    """What a new, loaded, resumed or forked session starts with. `UNSET` lists were not told.

    `session_id` is UNSET for load and resume, where the asker named it. `models` is unstable and opaque.
    """

    session_id: str | UnsetType = UNSET
    modes: Modes | None = None
    options: list[Option] | UnsetType = UNSET
    commands: list[SlashCommand] | UnsetType = UNSET
    models: Any = UNSET


class NewSession(AcpRequest):
    """Begin a conversation in `cwd`, which is absolute."""

    result_type: ClassVar[type[Value]] = SessionSetup

    cwd: str
    servers: list[McpServer] = []
    additional_directories: list[str] = []


class LoadSession(AcpRequest):
    """Take up a stored session; all of its history is told again before the answer."""

    result_type: ClassVar[type[Value]] = SessionSetup

    session_id: str
    cwd: str
    servers: list[McpServer] = []
    additional_directories: list[str] = []


class ResumeSession(AcpRequest):
    """Take up a stored session without telling its history."""

    result_type: ClassVar[type[Value]] = SessionSetup

    session_id: str
    cwd: str
    servers: list[McpServer] = []
    additional_directories: list[str] = []


class ForkSession(AcpRequest):
    """Begin a session with the history of another one. Unstable."""

    result_type: ClassVar[type[Value]] = SessionSetup

    session_id: str
    cwd: str
    servers: list[McpServer] = []
    additional_directories: list[str] = []


class SessionSummary(Value):
    """One line of a list of sessions."""

    session_id: str
    cwd: str
    additional_directories: list[str] = []
    title: str | None = None
    updated_at: str | None = None


class SessionPage(Value):
    """A part of the list; there is more when `next_cursor` is not None (an empty string is a cursor)."""

    sessions: list[SessionSummary]
    next_cursor: str | None = None


class ListSessions(AcpRequest):
    """The stored sessions, of one directory or of all."""

    result_type: ClassVar[type[Value]] = SessionPage

    cwd: str | None = None
    cursor: str | None = None


class CloseSession(AcpRequest):
    """Cancel what runs in the session and free what it holds."""

    session_id: str


class DeleteSession(AcpRequest):
    """Take the session off the list."""

    session_id: str


class PromptResult(Value):
    """The answer to a prompt: the stop reason where it ends the turn (v1, v2 draft), the message's id in v2."""

    stop_reason: StopReason | None = None
    message_id: str | None = None
    token_usage: TokenUsage | None = None


class Prompt(AcpRequest):
    """A user's message."""

    result_type: ClassVar[type[Value]] = PromptResult

    session_id: str
    content: list[Content]


class Cancel(AcpNotification):
    """Stop the session's foreground work."""

    session_id: str


class SetMode(AcpRequest):
    """Put a mode in force."""

    session_id: str
    mode_id: str


class SetModel(AcpRequest):
    """Choose a model. Unstable."""

    session_id: str
    model_id: str


class SetOption(AcpRequest):
    """Give an option a value; the answer is the complete list."""

    result_type: ClassVar[type[Value]] = SessionSetup

    session_id: str
    option_id: str
    value: str | bool


class CancelToolCall(AcpRequest):
    """Stop one tool call that said it can be."""

    session_id: str
    tool_call_id: str


class CancelTerminal(AcpRequest):
    """Stop the process of one display terminal that said it can be."""

    session_id: str
    terminal_id: str


class PermissionOption(Value):
    """One answer the user can give; `kind` is a hint such as `allow_once`."""

    id: str
    name: str
    kind: PermissionKind


class ToolCallSubject(Value, tag_field="type", tag="tool_call"):
    """Permission for a tool call; the patch is applied before the user is asked."""

    call: ToolCallPatch


class CommandSubject(Value, tag_field="type", tag="command"):
    """Permission for a command that the agent would run."""

    command: str
    cwd: str
    tool_call_id: str | None = None
    terminal_id: str | None = None


Subject: TypeAlias = ToolCallSubject | CommandSubject | Unknown


class PermissionAnswer(Value):
    """What the user chose. Anything but `selected` with an offered option that allows is a no."""

    outcome: str
    option_id: str | None = None
    raw: dict[str, Any] | None = None
    outcome_meta: dict[str, Any] | None = None


SHARED = "accord/shared"
"""In the `_meta` of a question to a client that did not prompt: others are asked, too, and the first answer counts."""


class PermissionRequest(AcpRequest):
    """May the agent do this? In v1 the title is the tool call's."""

    result_type: ClassVar[type[Value]] = PermissionAnswer

    session_id: str
    options: list[PermissionOption]
    title: str | None = None
    description: str | None = None
    subject: Subject | None = None


class ElicitationAnswer(Value):
    """accept with the form's values, decline, cancel; any other action counts as cancel."""

    action: str
    content: dict[str, Any] | None = None
    raw: dict[str, Any] | None = None


class ElicitationRequest(AcpRequest):
    """Ask the user by a form (`schema`, a flat JSON Schema object) or by a URL to open.

    The scope is a session (perhaps a tool call in it), or a request of the client's that is still open.
    """

    result_type: ClassVar[type[Value]] = ElicitationAnswer

    message: str
    mode: str
    session_id: str | None = None
    tool_call_id: str | None = None
    request_id: int | str | None = None
    schema: dict[str, Any] | None = None
    elicitation_id: str | None = None
    url: str | None = None
    raw: dict[str, Any] | None = None


class ElicitationCompleted(AcpNotification):
    """What the URL was opened for is done."""

    elicitation_id: str


class FileContent(Value):
    """The text of a file, or of the lines asked for."""

    content: str


class ReadFile(AcpRequest):
    """Read a text file as the editor has it, unsaved changes included. Not in v2."""

    result_type: ClassVar[type[Value]] = FileContent

    session_id: str
    path: str
    line: int | None = None
    limit: int | None = None


class WriteFile(AcpRequest):
    """Write a text file, creating it if need be. Not in v2."""

    session_id: str
    path: str
    content: str


class CreateTerminalResult(Value):
    """The id of a command that now runs in the client's environment."""

    terminal_id: str


class CreateTerminal(AcpRequest):
    """Run a command in the client's environment. Not in v2."""

    result_type: ClassVar[type[Value]] = CreateTerminalResult

    session_id: str
    command: str
    args: list[str] = []
    env: Mapping[str, str] = {}
    cwd: str | None = None
    output_byte_limit: int | None = None


class TerminalSnapshot(Value):
    """The output so far, and the exit once there is one."""

    output: str
    truncated: bool
    exit: Exit | None = None


class ReadTerminal(AcpRequest):
    """The output so far, without waiting. Not in v2."""

    result_type: ClassVar[type[Value]] = TerminalSnapshot

    session_id: str
    terminal_id: str


class WaitForExit(AcpRequest):
    """Answered when the command has ended. Not in v2."""

    result_type: ClassVar[type[Value]] = Exit

    session_id: str
    terminal_id: str


class KillTerminal(AcpRequest):
    """End the command, keep the terminal. Not in v2."""

    session_id: str
    terminal_id: str


class ReleaseTerminal(AcpRequest):
    """End the command if it runs, and forget the terminal. Not in v2."""

    session_id: str
    terminal_id: str
