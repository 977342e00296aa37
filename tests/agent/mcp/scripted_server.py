"""A server without any library, for what no library would send: `python scripted_server.py <behaviour>`."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
from typing import Any

behaviour = sys.argv[1]
INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {"listChanged": True}},
    "serverInfo": {"name": "scripted", "version": "1"},
}
MODERN = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
DISCOVERED = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": True}}, **MODERN}


def tool(name: str, **members: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **members}


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


tools = [tool("act")]


def send(message: dict[str, Any] | list[Any] | str) -> None:
    line = message if isinstance(message, str) else json.dumps(message)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def answer(asked: dict[str, Any], result: Any) -> None:
    send({"jsonrpc": "2.0", "id": asked["id"], "result": result})


def refuse(asked: dict[str, Any], code: int, message: str, **members: Any) -> None:
    send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": code, "message": message, **members}})


def notify(method: str, **params: Any) -> None:
    send({"jsonrpc": "2.0", "method": method, "params": params})


def act(asked: dict[str, Any]) -> None:
    results: dict[str, Any] = {
        "unknown-content": {"content": [{"type": "hologram", "rays": 3}, {"type": "text", "text": "flat", "new": 1}]},
        "bad-content": {"content": [{"type": "text", "text": "good"}, {"type": "image", "data": 5}]},
        "no-content": {"structuredContent": {"n": 1}},
        "not-a-number": {  # as json.dumps writes them
            "content": [
                {"type": "text", "text": "mean", "annotations": {"priority": math.nan}, "_meta": {"x": math.inf}}
            ],
            "structuredContent": {"mean": [1.0, math.nan], "most": math.inf},
            "_meta": {"y": -math.inf},
        },
        "odd-size": {"content": [{"type": "resource_link", "uri": "a:b", "name": "b", "size": -1}]},
        "wants-input": {"resultType": "input_required", "inputRequests": {}},
    }
    if behaviour == "half-emoji":
        send(f'{{"jsonrpc":"2.0","id":{asked["id"]},"result":{{"content":[{{"type":"text","text":"a\\ud83d"}}]}}}}')
    elif behaviour == "batch":
        send([{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}, wrapped(asked, text("batched"))])
    elif behaviour == "no-response":
        send({"jsonrpc": "2.0", "id": asked["id"], "result": "a string"})
    elif behaviour == "dies":
        sys.stderr.write("I am dying\n")
        sys.stderr.flush()
        os._exit(9)
    elif behaviour == "closes-output":
        os.close(1)
    elif behaviour == "too-long":
        sys.stdout.write("[" * (65 * 1024 * 1024) + "\n")
        sys.stdout.flush()
    elif behaviour == "shrinks":
        tools.clear()
        notify("notifications/tools/list_changed")
        answer(asked, text("shrunk"))
    elif behaviour == "modern":
        tools.append(tool("more"))
        for subscription in listening:
            notify("notifications/tools/list_changed", _meta={"io.modelcontextprotocol/subscriptionId": subscription})
        answer(asked, {**text("modern"), "resultType": "complete"})
    else:
        answer(asked, results.get(behaviour) or text(json.dumps(asked["params"].get("arguments"))))


def wrapped(asked: dict[str, Any], result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": asked["id"], "result": result}


listening: list[Any] = []


def listen(asked: dict[str, Any]) -> None:
    listening.append(asked["id"])
    notify(
        "notifications/subscriptions/acknowledged",
        notifications={"toolsListChanged": True},
        _meta={"io.modelcontextprotocol/subscriptionId": asked["id"]},
    )


def page(asked: dict[str, Any]) -> None:
    cursor = (asked.get("params") or {}).get("cursor")
    if behaviour == "pages" and cursor != "3":
        number = int(cursor or 1)
        answer(asked, {"tools": [tool(f"tool-{number}")], "nextCursor": str(number + 1)})
    elif behaviour == "endless-pages":
        answer(asked, {"tools": [tool("again")], "nextCursor": "same"})
    elif behaviour == "bad-tools":
        answer(
            asked, {"tools": [tool("good"), {"name": "shapeless"}, 5, tool("also-good", annotations={"title": "T"})]}
        )
    elif behaviour == "no-tools":
        refuse(asked, -32601, "Method not found")
    elif behaviour == "silent-without-tools":
        pass
    elif behaviour == "list-refused":
        refuse(asked, -32603, "the disk is full")
    else:
        answer(asked, {"tools": tools, **(MODERN if behaviour == "modern" else {})})


def initialize(asked: dict[str, Any]) -> None:
    if behaviour == "modern":
        refuse(asked, -32022, "Unsupported", data={"supported": ["2026-07-28"], "requested": "2025-11-25"})
    elif behaviour == "refuses":
        refuse(asked, -32603, "no licence")
    elif behaviour == "refuses-with-data":
        refuse(asked, -32603, "Internal error", data={"message": "no licence"})
    elif behaviour == "ancient":
        answer(asked, {**INITIALIZED, "protocolVersion": "1999-12-31"})
    elif behaviour == "not-mcp":
        answer(asked, {"hello": "there"})
    elif behaviour in ("no-tools", "silent-without-tools"):
        answer(asked, {**INITIALIZED, "capabilities": {}})
    else:
        answer(asked, INITIALIZED)


def cancelled() -> None:
    tools.append(tool("cancelled"))
    notify("notifications/tools/list_changed")


def received(asked: dict[str, Any]) -> None:
    match asked.get("method"):
        case "initialize":
            initialize(asked)
        case "server/discover" if behaviour == "modern":
            answer(asked, DISCOVERED)
        case "subscriptions/listen":
            listen(asked)
        case "tools/list":
            page(asked)
        case "tools/call" if behaviour == "waits":
            notify("notifications/progress", progressToken=asked["params"]["_meta"]["progressToken"], progress=1)
        case "tools/call":
            act(asked)
        case "notifications/cancelled":
            cancelled()
        case _:
            if "id" in asked and "method" in asked:
                refuse(asked, -32601, "Method not found")


def main() -> None:
    if behaviour == "exits":
        sys.stderr.write("no configuration found\n")
        sys.exit(3)
    if behaviour == "noisy":
        for noise in ("Starting...", "{not json", '{"level":"info"}', "\N{PILE OF POO}", "[]", "null"):
            send(noise)
    for line in sys.stdin:
        if behaviour != "never-answers":
            received(json.loads(line))
    if behaviour == "stays":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            signal.pause()


if __name__ == "__main__":
    main()
