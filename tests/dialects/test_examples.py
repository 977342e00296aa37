"""Every example of the documents that describe v1 and the draft is read by its type and written back as it was."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from accord.errors import Malformed
from accord.jsonrpc.messages import ErrorObject
from accord.schema import v1, v2_draft
from accord.schema.reader import Reader

pytestmark = pytest.mark.interop

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "spec" / "examples"
EXAMPLES = Path(os.environ.get("ACP_EXAMPLES") or BESIDE)
INDEX: list[dict[str, Any]] = (
    json.loads((EXAMPLES / "index.json").read_bytes()) if (EXAMPLES / "index.json").exists() else []
)
PACKAGES: dict[str, Any] = {"v1": v1, "v2": v2_draft}
RENAMED = {"KillTerminalCommandRequest": "KillTerminalRequest"}


def type_of(entry: dict[str, Any]) -> Any:
    package = PACKAGES[entry["version"]]
    method = package.METHODS.get(entry["method"])
    if method is not None:
        return method.result if entry["type"].endswith("Response") else method.params
    if entry["type"] == "Error":
        return ErrorObject
    name: str = entry["type"] or ""
    return getattr(package, RENAMED.get(name, name), None)


def payload_of(entry: dict[str, Any]) -> Any:
    """The part of an example that has a type of its own."""
    value = json.loads((EXAMPLES / entry["file"]).read_bytes())
    if entry["shape"] in ("message", "call", "result"):
        return next(value[key] for key in ("params", "result", "error") if key in value)
    return value


def test_the_examples_are_there():
    if not INDEX:
        pytest.skip("no examples: name their folder in ACP_EXAMPLES")
    assert {entry["file"] for entry in INDEX} == {file.name for file in EXAMPLES.glob("v*.json")}


class Known(NamedTuple):
    """An example that its type does not take, or not give back, as it is: why, and what becomes of it."""

    reason: str
    read_as: Any
    written: Any


KNOWN = {
    "v1-000-ext-custom-request.json": Known("an implementer's method has no type", Any, ...),
    "v1-000-ext-custom-notification.json": Known("an implementer's method has no type", Any, ...),
    "v1-000-fs-write-text-file-response-null.json": Known(
        "one document shows null, the other an empty object; null is read, the object is written (AMB-01)",
        v1.WriteTextFileResponse | None,
        ...,
    ),
    "v1-004-session-modes.json": Known(
        "an excerpt of the answer to session/new: without the id only the answer to session/load takes it",
        v1.LoadSessionResponse,
        ...,
    ),
    "v2-001-plan-update.json": Known("a plan is written under both of its keys", None, {"planId": "plan-1"}),
}


@pytest.mark.parametrize("entry", INDEX, ids=lambda entry: entry["file"].removesuffix(".json"))
def test_an_example_is_written_back_as_it_was_read(entry: dict[str, Any]):
    known = KNOWN.get(entry["file"])
    before = payload_of(entry)
    read = Reader((known and known.read_as) or type_of(entry), strict=True).convert(before)
    after = json.loads(msgspec.json.encode(read, enc_hook=lambda unknown: unknown.__wire__()))
    if known is not None and known.written is not ...:
        before["update"]["plan"] |= known.written
    assert after == before


@pytest.mark.parametrize("entry", [entry for entry in INDEX if entry["file"] in KNOWN], ids=lambda entry: entry["file"])
def test_what_is_known_about_an_example_is_still_true(entry: dict[str, Any]):
    expected, before = type_of(entry), payload_of(entry)
    if expected is None:
        return
    try:
        read = Reader(expected, strict=True).convert(before)
    except Malformed:
        return
    assert json.loads(msgspec.json.encode(read)) != before
