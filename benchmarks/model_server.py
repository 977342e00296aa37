"""A model provider on this machine: answers Anthropic's messages API at once, and notes when each request arrives."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

__all__ = ["ModelServer", "model_server"]


class ModelServer(ThreadingHTTPServer):
    """`arrivals` are the times of `time.perf_counter()` at which requests came in."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.arrivals: list[float] = []

    @property
    def variables(self) -> dict[str, str]:
        """The environment of an agent that uses this server."""
        return {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self.server_port}", "ANTHROPIC_API_KEY": "key"}


@contextmanager
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, ModelServer)
        self.server.arrivals.append(time.perf_counter())
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in _EVENTS:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name is the base class's
        pass


_USAGE = {"input_tokens": 1, "output_tokens": 1}
_EVENTS: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-bench",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _USAGE,
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Done."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": _USAGE},
    {"type": "message_stop"},
]
