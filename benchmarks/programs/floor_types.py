"""The few wire shapes that the floors need, typed with msgspec so that a whole frame is read in one pass."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

__all__ = [
    "AgentMessageChunk",
    "Content",
    "Diff",
    "FromAgent",
    "FromClient",
    "Implementation",
    "Initialize",
    "InitializeResult",
    "NewSession",
    "NewSessionResult",
    "Prompt",
    "PromptResult",
    "SessionUpdate",
    "SetMode",
    "SetModeResult",
    "Success",
    "Text",
    "ToolCallUpdate",
    "Update",
    "UpdateParams",
]


class Shape(Struct, rename="camel", omit_defaults=True):
    pass


class Text(Shape, tag="text"):
    text: str


class AgentMessageChunk(Shape, tag_field="sessionUpdate", tag="agent_message_chunk"):
    content: Text


class Content(Shape, tag="content"):
    content: Text


class Diff(Shape, tag="diff"):
    path: str
    new_text: str
    old_text: str | None | UnsetType = UNSET


class Location(Shape):
    path: str
    line: int | None | UnsetType = UNSET


class ToolCallUpdate(Shape, tag_field="sessionUpdate", tag="tool_call_update"):
    tool_call_id: str
    title: str | None | UnsetType = UNSET
    kind: str | None | UnsetType = UNSET
    status: str | None | UnsetType = UNSET
    content: list[Content | Diff] | None | UnsetType = UNSET
    locations: list[Location] | None | UnsetType = UNSET
    raw_input: Any = UNSET
    raw_output: Any = UNSET


SessionUpdate = AgentMessageChunk | ToolCallUpdate


class UpdateParams(Shape):
    session_id: str
    update: SessionUpdate


class Implementation(Shape):
    name: str
    version: str


class InitializeParams(Shape):
    protocol_version: int


class NewSessionParams(Shape):
    cwd: str
    mcp_servers: list[Any]


class SetModeParams(Shape):
    session_id: str
    mode_id: str


class PromptParams(Shape):
    session_id: str
    prompt: list[Text]


class InitializeResult(Shape):
    protocol_version: int
    agent_info: Implementation


class NewSessionResult(Shape):
    session_id: str


class SetModeResult(Shape):
    pass


class PromptResult(Shape):
    stop_reason: str


class Frame(Struct, kw_only=True, tag_field="method"):
    jsonrpc: str = "2.0"


class Initialize(Frame, tag="initialize"):
    id: int
    params: InitializeParams


class NewSession(Frame, tag="session/new"):
    id: int
    params: NewSessionParams


class SetMode(Frame, tag="session/set_mode"):
    id: int
    params: SetModeParams


class Prompt(Frame, tag="session/prompt"):
    id: int
    params: PromptParams


class Update(Frame, tag="session/update"):
    params: UpdateParams


FromClient = Initialize | NewSession | SetMode | Prompt


class Success(Struct):
    id: int
    result: InitializeResult | NewSessionResult | SetModeResult | PromptResult
    jsonrpc: str = "2.0"


class FromAgent(Struct):
    """Any frame of the agent; a notification has `params`, an answer `id` and `result`."""

    id: int | UnsetType = UNSET
    params: UpdateParams | UnsetType = UNSET
    result: msgspec.Raw | UnsetType = UNSET
