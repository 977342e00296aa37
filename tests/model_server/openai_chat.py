"""OpenAI's chat completions, as its compatible servers speak them too (thoughts as `reasoning_content`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from tests.model_server.script import Part, Reply, Seen

NAME = "openai-chat"
FINISH = {"stop": "stop", "tools": "tool_calls", "length": "length", "refusal": "content_filter"}
ID = "chatcmpl-scripted"
REMINDER = re.compile(r"\s*<([\w-]+)>.*</\1>\s*", re.DOTALL)


def seen(body: Any, model: str) -> Seen:
    messages = body.get("messages", [])
    texts = [text_in(message["content"]) for message in messages if message["role"] == "user"]
    users = [text for text in texts if not REMINDER.fullmatch(text)]
    is_result = bool(messages) and messages[-1]["role"] == "tool"
    return Seen(NAME, body.get("model", model), users[-1] if users else "", is_result, body)


def text_in(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [])


def events(reply: Reply, request: Seen) -> Iterator[bytes]:
    yield _chunk(request, {"role": "assistant", "content": ""})
    calls = [part for part in reply.parts if part.kind == "tool"]
    for part in reply.parts:
        if part.kind == "tool":
            if not reply.interleaved:
                yield from _call(request, calls.index(part), part)
            continue
        member = "content" if part.kind == "text" else "reasoning_content"
        for piece in part.pieces:
            yield _chunk(request, {member: piece})
    if reply.interleaved:
        for step in zip_longest(*[_call(request, index, part) for index, part in enumerate(calls)]):
            yield from [event for event in step if event is not None]


def ending(reply: Reply, request: Seen) -> Iterator[bytes]:
    yield _chunk(request, {}, FINISH[reply.finish])
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield _data({**_frame(request), "choices": [], "usage": _usage(reply)})
    yield b"data: [DONE]\n\n"


def whole(reply: Reply, request: Seen) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    for part in reply.parts:
        if part.kind == "tool":
            call = {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": part.whole}}
            message.setdefault("tool_calls", []).append(call)
        else:
            member = "content" if part.kind == "text" else "reasoning_content"
            message[member] = (message.get(member) or "") + part.whole
    choice = {"index": 0, "message": message, "finish_reason": FINISH[reply.finish], "logprobs": None}
    return {**_frame(request), "object": "chat.completion", "choices": [choice], "usage": _usage(reply)}


def error(status: int, message: str, kind: str = "") -> Any:
    kinds = {401: "authentication_error", 404: "invalid_request_error", 429: "rate_limit_exceeded"}
    told = kind or kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": told, "param": None, "code": kind or None}}


def error_event(reply: Reply) -> bytes:
    return _data(error(500, reply.message, reply.type))


def _call(request: Seen, index: int, part: Part) -> Iterator[bytes]:
    opened = {"index": index, "id": part.id, "type": "function", "function": {"name": part.name, "arguments": ""}}
    yield _chunk(request, {"tool_calls": [opened]})
    for piece in part.pieces:
        yield _chunk(request, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]})


def _chunk(request: Seen, delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _data({**_frame(request), "choices": [choice]})


def _frame(request: Seen) -> dict[str, Any]:
    return {"id": ID, "object": "chat.completion.chunk", "created": 1_700_000_000, "model": request.model}


def _usage(reply: Reply) -> dict[str, int]:
    total = reply.input_tokens + reply.output_tokens
    return {"prompt_tokens": reply.input_tokens, "completion_tokens": reply.output_tokens, "total_tokens": total}


def _data(value: Any) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()
