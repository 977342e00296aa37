"""OpenAI's responses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from tests.model_server.openai_chat import error, text_in
from tests.model_server.script import Part, Reply, Seen

__all__ = ["NAME", "ending", "error", "error_event", "events", "seen", "whole"]

NAME = "openai-responses"
SEALED = "c2VhbGVkIGJ5IHRoZSBzY3JpcHQ="


def seen(body: Any, model: str) -> Seen:
    items = body.get("input", [])
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    users = [text_in(item["content"]) for item in items if item.get("role") == "user"]
    is_result = bool(items) and items[-1].get("type") == "function_call_output"
    return Seen(NAME, body.get("model", model), users[-1] if users else "", is_result, body)


def events(reply: Reply, request: Seen) -> Iterator[bytes]:
    number = count()
    yield _event(number, "response.created", response=_response(request, "in_progress"))
    yield _event(number, "response.in_progress", response=_response(request, "in_progress"))
    for index, part in enumerate(reply.parts):
        id = _id(part, request, index)
        place = {"output_index": index, "item_id": id}
        yield _event(number, "response.output_item.added", output_index=index, item=_item(part, id, done=False))
        yield from (_event(number, name, **place, **members) for name, members in _inner(part))
        yield _event(number, "response.output_item.done", output_index=index, item=_item(part, id, done=True))


def ending(reply: Reply, request: Seen) -> Iterator[bytes]:
    response = whole(reply, request)
    kind = "response.completed" if response["status"] == "completed" else "response.incomplete"
    yield _event(count(10_000), kind, response=response)


def whole(reply: Reply, request: Seen) -> Any:
    why = {"length": "max_output_tokens", "refusal": "content_filter"}.get(reply.finish)
    total = reply.input_tokens + reply.output_tokens
    return {
        **_response(request, "incomplete" if why else "completed"),
        "incomplete_details": {"reason": why} if why else None,
        "output": [_item(part, _id(part, request, index), done=True) for index, part in enumerate(reply.parts)],
        "usage": {
            "input_tokens": reply.input_tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": reply.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": total,
        },
    }


def error_event(reply: Reply) -> bytes:
    return _event(count(10_000), "error", code=reply.type or "server_error", message=reply.message, param=None)


def _inner(part: Part) -> Iterator[tuple[str, dict[str, Any]]]:
    if part.kind == "tool":
        for piece in part.pieces:
            yield "response.function_call_arguments.delta", {"delta": piece}
        yield "response.function_call_arguments.done", {"arguments": part.whole, "name": part.name}
    elif part.kind == "thinking":
        yield "response.reasoning_summary_part.added", {"summary_index": 0, "part": _summary("")}
        for piece in part.pieces:
            yield "response.reasoning_summary_text.delta", {"summary_index": 0, "delta": piece}
        yield "response.reasoning_summary_text.done", {"summary_index": 0, "text": part.whole}
        yield "response.reasoning_summary_part.done", {"summary_index": 0, "part": _summary(part.whole)}
    else:
        yield "response.content_part.added", {"content_index": 0, "part": _text("")}
        for piece in part.pieces:
            yield "response.output_text.delta", {"content_index": 0, "delta": piece, "logprobs": []}
        yield "response.output_text.done", {"content_index": 0, "text": part.whole, "logprobs": []}
        yield "response.content_part.done", {"content_index": 0, "part": _text(part.whole)}


def _item(part: Part, id: str, *, done: bool) -> dict[str, Any]:
    status, written = ("completed", part.whole) if done else ("in_progress", "")
    if part.kind == "tool":
        call = {"type": "function_call", "call_id": part.id, "name": part.name, "arguments": written}
        return {**call, "id": id, "status": status}
    if part.kind == "thinking":
        summary = [_summary(written)] if done else []
        return {"type": "reasoning", "id": id, "summary": summary, "encrypted_content": SEALED}
    content = [_text(written)] if done else []
    return {"type": "message", "id": id, "role": "assistant", "status": status, "content": content}


def _id(part: Part, request: Seen, index: int) -> str:
    # Agents take messages with one id for one message.
    return {"tool": "fc", "thinking": "rs", "text": "msg"}[part.kind] + f"_{request.number}_{index}"


def _text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _summary(text: str) -> dict[str, Any]:
    return {"type": "summary_text", "text": text}


def _response(request: Seen, status: str) -> dict[str, Any]:
    return {
        "id": "resp_scripted",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": request.model,
        "output": [],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": None,
    }


def _event(number: Iterator[int], name: str, /, **members: Any) -> bytes:
    told = json.dumps({"type": name, "sequence_number": next(number), **members})
    return f"event: {name}\ndata: {told}\n\n".encode()
