"""What the server answers: replies in order, or to the request that each one is for.

A script is a list of replies, or an object with `replies` and `models` (names for the list of models). A reply:

    {"when": {...},                 only for a request that fits; without it, for the next one
     "times": 1,                    how many requests it answers; 0 for any number
     "parts": [                     what is streamed, in order
        {"text": "Hello"},          or a list of pieces, one event each; a text alone is cut into words
        {"thinking": "Hm"},         likewise
        {"tool": "read", "arguments": {"path": "a"}, "id": "call_1"}],     text as arguments is sent as it is
     "finish": "stop",              stop, length, tools, refusal; tools where there are any
     "usage": {"input": 10, "output": 5},
     "pause": 0.0,                  seconds before each event
     "interleaved": false}          parallel calls with their arguments in turns, where the API can say that

`when` may have `last_user` (a part of the last user message; one that is all in a tag, such as `<system-reminder>`, is the
agent's own and does not count), `tool_result` (whether the request ends in one), `tools` (whether it offers any: what an
agent asks on the side, such as a title, offers none), `api` (openai-chat, openai-responses, anthropic, google), `model`
and `request` (its number, from 1). A fault:

    {"fault": "status", "status": 429, "retry_after": 1, "message": "slow down", "type": "..."}
    {"fault": "cut", "parts": [...]}         the connection breaks after the parts
    {"fault": "unfinished", "parts": [...]}  the stream ends there as if that were all
    {"fault": "error", "parts": [...], "message": "...", "type": "overloaded_error"}     told inside the stream
    {"fault": "hang", "parts": [...]}        nothing more, until the client goes away
    {"fault": "garbage", "parts": [...]}     then an event that is no JSON
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Part:
    """Of an answer. `kind` is text, thinking or tool; `pieces` are its texts or the JSON of its arguments."""

    kind: str
    pieces: list[str]
    name: str = ""
    id: str = ""

    @property
    def whole(self) -> str:
        return "".join(self.pieces)


@dataclass
class Reply:
    parts: list[Part]
    finish: str
    input_tokens: int
    output_tokens: int
    fault: str = ""
    status: int = 500
    retry_after: float | None = None
    message: str = ""
    type: str = ""
    pause: float = 0.0
    interleaved: bool = False


@dataclass
class Seen:
    """A request, as far as scripts care."""

    api: str
    model: str
    last_user: str
    has_tool_result: bool
    body: Any = field(repr=False, default=None)
    number: int = 0

    @property
    def offers_tools(self) -> bool:
        return bool(self.body and self.body.get("tools"))


class Script:
    """Hands out replies. Wrong scripts raise ValueError at once, not when a reply is due."""

    def __init__(self, told: Any) -> None:
        if isinstance(told, list):
            told = {"replies": told}
        self.models: list[str] = told.get("models", ["scripted"])
        self._entries = [(entry, _reply(entry, number)) for number, entry in enumerate(told["replies"], 1)]
        self._uses = [0] * len(self._entries)
        self._requests = 0

    def next(self, seen: Seen) -> Reply | None:
        """The reply to this request; None if the script has none."""
        self._requests += 1
        seen.number = self._requests
        for index, (entry, reply) in enumerate(self._entries):
            times = entry.get("times", 1)
            if (times == 0 or self._uses[index] < times) and self._fits(entry.get("when", {}), seen):
                self._uses[index] += 1
                return reply
        return None

    def _fits(self, when: dict[str, Any], seen: Seen) -> bool:
        return (
            when.get("last_user", "") in seen.last_user
            and when.get("tool_result", seen.has_tool_result) == seen.has_tool_result
            and when.get("tools", seen.offers_tools) == seen.offers_tools
            and when.get("api", seen.api) == seen.api
            and when.get("model", seen.model) == seen.model
            and when.get("request", self._requests) == self._requests
        )


_MEMBERS = {"when", "times", "parts", "finish", "usage", "pause", "interleaved"}
_FAULT_MEMBERS = {"fault", "status", "retry_after", "message", "type"}


def _reply(entry: dict[str, Any], number: int) -> Reply:
    unknown = entry.keys() - _MEMBERS - _FAULT_MEMBERS
    if unknown:
        raise ValueError(f"reply {number} has unknown members: {', '.join(sorted(unknown))}")
    parts = [_part(part, f"call_{number}_{index}") for index, part in enumerate(entry.get("parts", []))]
    usage = entry.get("usage", {})
    return Reply(
        parts=parts,
        finish=entry.get("finish", "tools" if any(part.kind == "tool" for part in parts) else "stop"),
        input_tokens=usage.get("input", 10),
        output_tokens=usage.get("output", 5),
        fault=entry.get("fault", ""),
        status=entry.get("status", 500),
        retry_after=entry.get("retry_after"),
        message=entry.get("message", "the script says so"),
        type=entry.get("type", ""),
        pause=entry.get("pause", 0.0),
        interleaved=entry.get("interleaved", False),
    )


def _part(part: dict[str, Any], id: str) -> Part:
    if "tool" in part:
        arguments = part.get("arguments", {})
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        pieces = [text[start : start + 8] for start in range(0, len(text), 8)]
        return Part("tool", pieces, part["tool"], part.get("id", id))
    for kind in ("text", "thinking"):
        if kind in part:
            told = part[kind]
            return Part(kind, re.findall(r"\s*\S+\s*$|\s*\S+|\s+", told) if isinstance(told, str) else list(told))
    raise ValueError(f"a part is text, thinking or tool, not {', '.join(part)}")
