"""The payloads that every contender sends and receives, so that all of them move the same JSON."""

from __future__ import annotations

from typing import Any

__all__ = [
    "AGENT_NAME",
    "MODE_ID",
    "PROTOCOL_VERSION",
    "SESSION_ID",
    "TOOL_CALL_FRAME",
    "TOOL_CALL_ID",
    "characters_of",
    "is_tool_update",
    "read_order",
    "text_of",
    "tool_title",
    "write_order",
]

PROTOCOL_VERSION = 1
AGENT_NAME = "bench"
SESSION_ID = "sess_0d9f4c1b7e"
MODE_ID = "ask"
TOOL_CALL_ID = "call_0001"

_LINE = "The quick brown fox jumps over the lazy dog and runs home again\n"

TOOL_CALL_FRAME: dict[str, Any] = {
    "jsonrpc": "2.0",
    "method": "session/update",
    "params": {
        "sessionId": SESSION_ID,
        "update": {
            "sessionUpdate": "tool_call_update",
            "toolCallId": TOOL_CALL_ID,
            "title": "Edit src/server/handlers.py",
            "kind": "edit",
            "status": "in_progress",
            "content": [
                {"type": "content", "content": {"type": "text", "text": "Replacing the handler's body."}},
                {
                    "type": "diff",
                    "path": "/repo/src/server/handlers.py",
                    "oldText": "def handle(request):\n    return None\n",
                    "newText": "def handle(request):\n    return answer(request)\n",
                },
            ],
            "locations": [{"path": "/repo/src/server/handlers.py", "line": 42}],
            "rawInput": {"path": "/repo/src/server/handlers.py", "replace_all": False},
        },
    },
}


def text_of(size: int) -> str:
    """`size` characters of plain text with a line break in every 64."""
    if size < len(_LINE):
        return _LINE[:size]
    if size % len(_LINE):
        raise ValueError(f"{size} is not a multiple of {len(_LINE)}")
    return _LINE * (size // len(_LINE))


def write_order(count: int, size: int, tool_every: int = 0) -> str:
    """The prompt's text that asks for `count` updates: chunks of `size` characters, each `tool_every`th a tool update."""
    return f"{count} {size} {tool_every}"


def read_order(text: str) -> tuple[int, int, int]:
    count, size, tool_every = text.split()
    return int(count), int(size), int(tool_every)


def is_tool_update(number: int, tool_every: int) -> bool:
    """Whether the update of this number, from 0, is one of a tool call."""
    return tool_every > 0 and number % tool_every == 0


def tool_title(number: int) -> str:
    return f"Step {number}"


def characters_of(count: int, size: int, tool_every: int) -> int:
    """How much text an order brings."""
    tools = -(-count // tool_every) if tool_every else 0
    return (count - tools) * size
