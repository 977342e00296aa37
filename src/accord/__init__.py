"""The Agent Client Protocol: agents, clients, and the wire between them.

The public names, listed in docs/api.md. Each is loaded when it is first used, so `import accord` is fast. What only
authors of libraries need is in its package: the connection in `accord.peer`, the wire types in `accord.schema.v1` and
`accord.schema.v2`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the names of _HOMES, for type checkers and editors
    from accord.agent import Agent as Agent
    from accord.agent import AgentConnection as AgentConnection
    from accord.agent import AgentSession as AgentSession
    from accord.agent import AgentToolCall as AgentToolCall
    from accord.agent import SyncToolCall as SyncToolCall
    from accord.agent import SyncTurn as SyncTurn
    from accord.agent import Turn as Turn
    from accord.client import permissions as permissions
    from accord.client.client import Client as Client
    from accord.client.deadlines import Deadlines as Deadlines
    from accord.client.login import run_in_terminal as run_in_terminal
    from accord.client.reply import Reply as Reply
    from accord.client.session import Session as Session
    from accord.client.session import SessionUpdate as SessionUpdate
    from accord.client.target import Command as Command
    from accord.client.target import Remote as Remote
    from accord.client.workspace.terminals import TerminalEvent as TerminalEvent
    from accord.client.workspace.workspace import FileWrite as FileWrite
    from accord.client.workspace.workspace import Workspace as Workspace
    from accord.dialects.negotiation import ProtocolVersion as ProtocolVersion
    from accord.errors import AccordError as AccordError
    from accord.errors import AuthRequired as AuthRequired
    from accord.errors import ConnectionClosed as ConnectionClosed
    from accord.errors import DeadlineExceeded as DeadlineExceeded
    from accord.errors import Denied as Denied
    from accord.errors import InvalidParams as InvalidParams
    from accord.errors import MethodNotFound as MethodNotFound
    from accord.errors import NotFound as NotFound
    from accord.errors import RateLimited as RateLimited
    from accord.errors import RequestFailed as RequestFailed
    from accord.errors import VersionRefused as VersionRefused
    from accord.session.capabilities import AuthMethod as AuthMethod
    from accord.session.capabilities import Implementation as Implementation
    from accord.session.content import Audio as Audio
    from accord.session.content import Content as Content
    from accord.session.content import Image as Image
    from accord.session.content import Resource as Resource
    from accord.session.content import ResourceLink as ResourceLink
    from accord.session.content import Text as Text
    from accord.session.content import text_of as text_of
    from accord.session.diffs import diff_text as diff_text
    from accord.session.entities import Diff as Diff
    from accord.session.entities import FileChange as FileChange
    from accord.session.entities import Location as Location
    from accord.session.entities import Message as Message
    from accord.session.entities import Plan as Plan
    from accord.session.entities import PlanEntry as PlanEntry
    from accord.session.entities import TokenUsage as TokenUsage
    from accord.session.entities import ToolCall as ToolCall
    from accord.session.mcp_servers import HttpServer as HttpServer
    from accord.session.mcp_servers import SseServer as SseServer
    from accord.session.mcp_servers import StdioServer as StdioServer
    from accord.session.open_enums import StopReason as StopReason
    from accord.session.open_enums import ToolKind as ToolKind
    from accord.session.open_enums import ToolStatus as ToolStatus
    from accord.session.requests import CommandSubject as CommandSubject
    from accord.session.requests import ElicitationAnswer as ElicitationAnswer
    from accord.session.requests import ElicitationRequest as ElicitationRequest
    from accord.session.requests import PermissionAnswer as PermissionAnswer
    from accord.session.requests import PermissionOption as PermissionOption
    from accord.session.requests import PermissionRequest as PermissionRequest
    from accord.session.requests import ToolCallSubject as ToolCallSubject
    from accord.session.transcript import Transcript as Transcript
    from accord.session.updates import CommandsChanged as CommandsChanged
    from accord.session.updates import CompactionChanged as CompactionChanged
    from accord.session.updates import InfoChanged as InfoChanged
    from accord.session.updates import MessageChanged as MessageChanged
    from accord.session.updates import MessageChunk as MessageChunk
    from accord.session.updates import ModeChanged as ModeChanged
    from accord.session.updates import NoticeShown as NoticeShown
    from accord.session.updates import OptionsChanged as OptionsChanged
    from accord.session.updates import PlanChanged as PlanChanged
    from accord.session.updates import PromptChanged as PromptChanged
    from accord.session.updates import StateChanged as StateChanged
    from accord.session.updates import TerminalChanged as TerminalChanged
    from accord.session.updates import TerminalOutput as TerminalOutput
    from accord.session.updates import ToolCallChanged as ToolCallChanged
    from accord.session.updates import UnknownUpdate as UnknownUpdate
    from accord.session.updates import Update as Update
    from accord.session.updates import UsageChanged as UsageChanged
    from accord.session.value import Unknown as Unknown

__version__ = "0.1.0"

_HOMES = {
    "accord.agent": "Agent AgentConnection AgentSession AgentToolCall SyncToolCall SyncTurn Turn",
    "accord.client": "permissions",
    "accord.client.client": "Client",
    "accord.client.deadlines": "Deadlines",
    "accord.client.login": "run_in_terminal",
    "accord.client.reply": "Reply",
    "accord.client.session": "Session SessionUpdate",
    "accord.client.target": "Command Remote",
    "accord.client.workspace.terminals": "TerminalEvent",
    "accord.client.workspace.workspace": "FileWrite Workspace",
    "accord.dialects.negotiation": "ProtocolVersion",
    "accord.errors": "AccordError AuthRequired ConnectionClosed DeadlineExceeded Denied InvalidParams MethodNotFound "
    "NotFound RateLimited RequestFailed VersionRefused",
    "accord.session.capabilities": "AuthMethod Implementation",
    "accord.session.content": "Audio Content Image Resource ResourceLink Text text_of",
    "accord.session.diffs": "diff_text",
    "accord.session.entities": "Diff FileChange Location Message Plan PlanEntry TokenUsage ToolCall",
    "accord.session.mcp_servers": "HttpServer SseServer StdioServer",
    "accord.session.requests": "CommandSubject ElicitationAnswer ElicitationRequest PermissionAnswer "
    "PermissionOption PermissionRequest ToolCallSubject",
    "accord.session.transcript": "Transcript",
    "accord.session.updates": "CommandsChanged CompactionChanged InfoChanged MessageChanged MessageChunk ModeChanged "
    "NoticeShown OptionsChanged PlanChanged PromptChanged StateChanged TerminalChanged TerminalOutput ToolCallChanged "
    "UnknownUpdate Update UsageChanged",
    "accord.session.value": "Unknown",
    "accord.session.open_enums": "StopReason ToolKind ToolStatus",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = list(_HOME_OF)  # pyright: ignore[reportUnsupportedDunderAll]  # it reads the imports above

if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(__import__(_HOME_OF[name], fromlist=[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
