"""The layer that a profiled function belongs to, by the path of its file."""

from __future__ import annotations

__all__ = ["LAYERS", "layer_of"]

LAYERS: dict[str, tuple[str, ...]] = {
    "framing": ("/accord/transports/framing.py", "/accord/transports/frame_writer.py"),
    "transport": ("/accord/transports/",),
    "codec": ("/accord/jsonrpc/codec.py", "/accord/jsonrpc/messages.py"),
    "pending calls": ("/accord/jsonrpc/",),
    "peer": ("/accord/peer/",),
    "dialect": ("/accord/dialects/", "/accord/schema/"),
    "session": ("/accord/session/",),
    "store": ("/accord/store/", "/sqlite3/"),
    "agent": ("/accord/agent/",),
    "client": ("/accord/client/",),
    "relay": ("/accord/relay/",),
    "telemetry": ("/accord/telemetry/",),
    "tasks and wake-ups": (
        "/asyncio/tasks.py",
        "/asyncio/futures.py",
        "/asyncio/base_events.py",
        "/asyncio/events.py",
        "/_weakrefset.py",  # the set of all tasks
        ":_asyncio.",
    ),
    "the rest of asyncio": ("/asyncio/", "/selectors.py"),
    "Hypercorn and its parsers": ("/hypercorn/", "/h11/", "/wsproto/", "/h2/"),
    "websockets and httpx": ("/websockets/", "/httpx2/", "/httpcore2/"),
    "uvloop": ("/uvloop/", ":loop."),
    "the measured programs": ("/benchmarks/",),
}
"""From a layer to parts of `name:file`; the first part that is found decides."""
REST = "other Python code"


def layer_of(function: str) -> str:
    return next((layer for layer, parts in LAYERS.items() if any(part in function for part in parts)), REST)
