"""The process that runs a model file: llama.cpp with its OpenAI-compatible API, on loopback and with an API key.

A separate process, because loading holds Python's global lock for seconds, and llama.cpp aborts on errors. `local_model`
starts and ends it.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

KEY_VARIABLE = "ACCORD_LOCAL_KEY"
"""The environment variable with the API key."""

READY_PREFIX = b"accord-local "
"""Start of the line that reports, as JSON, the URL and the context size."""

_MAX_DEFAULT_CONTEXT = 32_768  # the settings may ask for more; its memory is allocated at once
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


def main() -> None:
    path, context = sys.argv[1], int(sys.argv[2])
    llama: Any = import_module("xllamacpp")  # an extra, and not typed
    params = llama.CommonParams()
    params.model.path = path
    params.n_ctx = context or min(trained_context(Path(path)) or _MAX_DEFAULT_CONTEXT, _MAX_DEFAULT_CONTEXT)
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.api_keys = [os.environ[KEY_VARIABLE]]
    params.ui = False
    params.verbosity = 1  # errors
    try:
        server = llama.Server(params)
    except RuntimeError:  # llama.cpp has written the reason to stderr
        sys.exit(1)
    ready = json.dumps({"url": server.listening_address, "context": params.n_ctx})
    sys.stdout.buffer.write(b"\n" + READY_PREFIX + ready.encode() + b"\n")
    sys.stdout.flush()
    threading.Event().wait()


def trained_context(path: Path) -> int | None:
    """The context size, in tokens, that the model in a GGUF file was trained with; None if the file does not say."""
    with path.open("rb") as file:
        file.seek(4 + 4 + 8)  # the magic number, the version, how many tensors
        for _ in range(_number(file, "Q")):
            name = _text(file)
            value = _value(file, _number(file, "I"))
            if name.endswith(b".context_length"):
                return int(value)
    return None


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _text(file)
    if kind == _ARRAY:
        inner, length = _number(file, "I"), _number(file, "Q")
        if inner in _SCALARS:
            file.seek(length * struct.calcsize(_SCALARS[inner]), 1)
            return None
        return [_value(file, inner) for _ in range(length)]
    return _number(file, _SCALARS[kind])


def _number(file: BinaryIO, form: str) -> Any:
    (value,) = struct.unpack(f"<{form}", file.read(struct.calcsize(form)))
    return value


def _text(file: BinaryIO) -> bytes:
    return file.read(_number(file, "Q"))


if __name__ == "__main__":
    main()
