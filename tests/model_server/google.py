"""Google's generateContent. Its arguments are objects, so malformed ones are its own reason to end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.model_server.script import Part, Reply, Seen

NAME = "google"
FINISH = {"stop": "STOP", "tools": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}
STATUSES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
STATUSES |= {429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}
SIGNATURE = "c2lnbmVkIGJ5IHRoZSBzY3JpcHQ="


def seen(body: Any, model: str) -> Seen:
    users = [content["parts"] for content in body.get("contents", []) if content.get("role", "user") == "user"]
    spoken = ["".join(part.get("text", "") for part in parts) for parts in users]
    is_result = bool(users) and any("functionResponse" in part for part in users[-1])
    return Seen(NAME, model, next((text for text in reversed(spoken) if text), ""), is_result, body)


def events(reply: Reply, request: Seen) -> Iterator[bytes]:
    for part in reply.parts:
        for piece in _pieces(part):
            yield _data(_response(request, [piece]))


def ending(reply: Reply, request: Seen) -> Iterator[bytes]:
    yield _data(_response(request, [{"text": ""}], reply))


def whole(reply: Reply, request: Seen) -> Any:
    joined = [replace(part, pieces=[part.whole]) for part in reply.parts]
    return _response(request, [piece for part in joined for piece in _pieces(part)], reply)


def error(status: int, message: str, kind: str = "") -> Any:
    return {"error": {"code": status, "message": message, "status": kind or STATUSES.get(status, "UNKNOWN")}}


def error_event(reply: Reply) -> bytes:
    return _data(error(503, reply.message, reply.type))


def _pieces(part: Part) -> Iterator[dict[str, Any]]:
    if part.kind == "tool":
        arguments = _arguments(part)
        if arguments is not None:
            call = {"name": part.name, "args": arguments, "id": part.id}
            yield {"functionCall": call, "thoughtSignature": SIGNATURE}
        return
    for piece in part.pieces:
        yield {"text": piece, "thought": True} if part.kind == "thinking" else {"text": piece}


def _arguments(part: Part) -> Any:
    try:
        return json.loads(part.whole)
    except ValueError:
        return None


def _response(request: Seen, parts: list[Any], ended: Reply | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    response = {"candidates": [candidate], "modelVersion": request.model, "responseId": "scripted"}
    if ended is None:
        return response
    malformed = any(part.kind == "tool" and _arguments(part) is None for part in ended.parts)
    candidate["finishReason"] = "MALFORMED_FUNCTION_CALL" if malformed else FINISH[ended.finish]
    usage = {"promptTokenCount": ended.input_tokens, "candidatesTokenCount": ended.output_tokens}
    return {**response, "usageMetadata": {**usage, "totalTokenCount": ended.input_tokens + ended.output_tokens}}


def _data(value: Any) -> bytes:
    return f"data: {json.dumps(value)}\r\n\r\n".encode()
