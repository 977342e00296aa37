"""The official JSON schemas: where they are, their definitions, and which method has which params and result."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
PLACES = (
    REPOSITORY / "tests" / "interop" / "typescript" / "node_modules" / "@agentclientprotocol" / "sdk" / "schema",
    REPOSITORY.parent / "shared" / "schema",
)
# Whoever handles a method is its side; whoever is not, sends it.
SENDERS = {"agent": "client", "client": "agent", "protocol": "either", "proxy": "either"}


class OfficialMethod(NamedTuple):
    sender: str
    params: str | None = None
    result: str | None = None


class Schema(NamedTuple):
    definitions: dict[str, Any]
    methods: dict[str, OfficialMethod]


def schema_directory() -> Path:
    """Where the schemas are; a missing schema is an error, since whoever asks wants to know how we compare."""
    chosen = os.environ.get("ACP_SCHEMAS")
    for place in (Path(chosen),) if chosen else PLACES:
        if (place / "v1" / "schema.json").is_file() and (place / "v2" / "schema.json").is_file():
            return place
    raise FileNotFoundError(
        "no official schemas: run `make interop`, or name a directory with v1/schema.json and v2/schema.json "
        "in ACP_SCHEMAS"
    )


@functools.cache
def load(version: int, unstable: bool = False) -> Schema:
    name = "schema.unstable.json" if unstable else "schema.json"
    path = schema_directory() / f"v{version}" / name
    definitions = json.loads(path.read_text(encoding="utf-8"))["$defs"]
    methods: dict[str, OfficialMethod] = {}
    for name, definition in definitions.items():
        if "x-method" not in definition:
            continue
        method = methods.get(definition["x-method"]) or OfficialMethod(SENDERS[definition["x-side"]])
        part = "result" if name.endswith("Response") else "params"
        methods[definition["x-method"]] = method._replace(**{part: name})
    return Schema(definitions, methods)
