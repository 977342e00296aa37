"""The Agent Client Protocol: agents, clients, and the wire between them.

The names below are the public ones; each is loaded when it is first used, so importing accord costs next to nothing.
Those who want the wire itself find it in `accord.schema.v1` and `accord.schema.v2`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accord.agent.agent import Agent
    from accord.agent.turn import Turn
    from accord.client import permissions
    from accord.client.client import Client
    from accord.client.target import Command
    from accord.client.workspace.workspace import Workspace
    from accord.errors import (
        AccordError,
        AuthRequired,
        ConnectionClosed,
        DeadlineExceeded,
        Denied,
        InvalidParams,
        MethodNotFound,
        NotFound,
        RateLimited,
        RequestFailed,
        VersionRefused,
    )
    from accord.peer import Limits, Peer
    from accord.session.content import Audio, Image, Resource, ResourceLink, Text
    from accord.session.transcript import Transcript
    from accord.session.updates import (
        CommandsChanged,
        InfoChanged,
        MessageChanged,
        MessageChunk,
        OptionsChanged,
        PlanChanged,
        StateChanged,
        TerminalChanged,
        TerminalOutput,
        ToolCallChanged,
        UnknownUpdate,
        UsageChanged,
    )
    from accord.session.value import UNSET, Unknown

__version__ = "0.1.0"

__all__ = [
    "UNSET",
    "AccordError",
    "Agent",
    "Audio",
    "AuthRequired",
    "Client",
    "Command",
    "CommandsChanged",
    "ConnectionClosed",
    "DeadlineExceeded",
    "Denied",
    "Image",
    "InfoChanged",
    "InvalidParams",
    "Limits",
    "MessageChanged",
    "MessageChunk",
    "MethodNotFound",
    "NotFound",
    "OptionsChanged",
    "Peer",
    "PlanChanged",
    "RateLimited",
    "RequestFailed",
    "Resource",
    "ResourceLink",
    "StateChanged",
    "TerminalChanged",
    "TerminalOutput",
    "Text",
    "ToolCallChanged",
    "Transcript",
    "Turn",
    "Unknown",
    "UnknownUpdate",
    "UsageChanged",
    "VersionRefused",
    "Workspace",
    "permissions",
]

_HOMES = {
    "accord.agent.agent": "Agent",
    "accord.agent.turn": "Turn",
    "accord.client.client": "Client",
    "accord.client.target": "Command",
    "accord.client.workspace.workspace": "Workspace",
    "accord.errors": "AccordError AuthRequired ConnectionClosed DeadlineExceeded Denied InvalidParams MethodNotFound "
    "NotFound RateLimited RequestFailed VersionRefused",
    "accord.peer": "Limits Peer",
    "accord.session.content": "Audio Image Resource ResourceLink Text",
    "accord.session.transcript": "Transcript",
    "accord.session.updates": "CommandsChanged InfoChanged MessageChanged MessageChunk OptionsChanged PlanChanged "
    "StateChanged TerminalChanged TerminalOutput ToolCallChanged UnknownUpdate UsageChanged",
    "accord.session.value": "UNSET Unknown",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
_MODULES = {"permissions": "accord.client.permissions"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOME_OF:
        raise AttributeError(f"module 'accord' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
