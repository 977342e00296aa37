"""The official SDK's steps from a model to a line and back."""

from __future__ import annotations

import json

from acp.schema import SessionNotification
from acp.utils import serialize_params

from benchmarks.programs.payloads import TOOL_CALL_FRAME
from benchmarks.programs.wire import measure_wire

NOTIFICATION = SessionNotification.model_validate(TOOL_CALL_FRAME["params"])


def encode() -> bytes:
    frame = {"jsonrpc": "2.0", "method": "session/update", "params": serialize_params(NOTIFICATION)}
    return (json.dumps(frame, separators=(",", ":")) + "\n").encode()


def decode(frame: bytes) -> SessionNotification:
    return SessionNotification.model_validate(json.loads(frame)["params"])


if __name__ == "__main__":
    measure_wire(encode, decode)
