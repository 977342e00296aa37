"""Anthropic's messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.model_server.script import Part, Reply, Seen

NAME = "anthropic"
FINISH = {"stop": "end_turn", "tools": "tool_use", "length": "max_tokens", "refusal": "refusal"}
KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
SIGNATURE = "c2lnbmVkIGJ5IHRoZSBzY3JpcHQ="


def seen(body: Any, model: str) -> Seen:
    users = [_blocks(message["content"]) for message in body.get("messages", []) if message["role"] == "user"]
    spoken = ["".join(block.get("text", "") for block in blocks) for blocks in users]
    is_result = bool(users) and any(block["type"] == "tool_result" for block in users[-1])
    last = next((text for text in reversed(spoken) if text), "")
    return Seen(NAME, body.get("model", model), last, is_result, body)


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def events(reply: Reply, request: Seen) -> Iterator[bytes]:
    message = {**_message(request), "content": [], "usage": _usage(reply.input_tokens, 1)}
    yield _event("message_start", message=message)
    yield _event("ping")
    for index, part in enumerate(reply.parts):
        yield _event("content_block_start", index=index, content_block=_opened(part))
        for piece in part.pieces:
            yield _event("content_block_delta", index=index, delta=_delta(part, piece))
        if part.kind == "thinking":
            delta = {"type": "signature_delta", "signature": SIGNATURE}
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)


def ending(reply: Reply, request: Seen) -> Iterator[bytes]:
    delta = {"stop_reason": FINISH[reply.finish], "stop_sequence": None}
    yield _event("message_delta", delta=delta, usage={"output_tokens": reply.output_tokens})
    yield _event("message_stop")


def whole(reply: Reply, request: Seen) -> Any:
    blocks: list[Any] = []
    for part in reply.parts:
        block = _opened(part)
        if part.kind == "tool":
            block["input"] = json.loads(part.whole)
        else:
            block[part.kind] = part.whole
        if part.kind == "thinking":
            block["signature"] = SIGNATURE
        blocks.append(block)
    usage = _usage(reply.input_tokens, reply.output_tokens)
    return {**_message(request), "content": blocks, "stop_reason": FINISH[reply.finish], "usage": usage}


def error(status: int, message: str, kind: str = "") -> Any:
    told = {"type": kind or KINDS.get(status, "api_error"), "message": message}
    return {"type": "error", "error": told, "request_id": "req_scripted"}


def error_event(reply: Reply) -> bytes:
    return f"event: error\ndata: {json.dumps(error(500, reply.message, reply.type))}\n\n".encode()


def _opened(part: Part) -> dict[str, Any]:
    if part.kind == "tool":
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
    if part.kind == "thinking":
        return {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "text", "text": ""}


def _delta(part: Part, piece: str) -> dict[str, str]:
    if part.kind == "tool":
        return {"type": "input_json_delta", "partial_json": piece}
    return {"type": f"{part.kind}_delta", part.kind: piece}


def _message(request: Seen) -> dict[str, Any]:
    return {
        "id": f"msg_scripted_{request.number}",  # agents take messages with one id for one message
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "stop_reason": None,
        "stop_sequence": None,
    }


def _usage(input_tokens: int, output_tokens: int) -> dict[str, int]:
    cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {"input_tokens": input_tokens, "output_tokens": output_tokens, **cached}


def _event(name: str, **members: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **members})}\n\n".encode()
