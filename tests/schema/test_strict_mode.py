"""Strict mode is exact: it fills nothing in and leaves nothing out, and takes what the protocol leaves to implementers.

`tests/parity/test_strict_mode.py` compares it with the official schemas, where these are at hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from accord.errors import Malformed
from accord.schema import v1, v2
from accord.schema.reader import Reader
from tests.parity.mutants import Mutant, mutants

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
PACKAGES: dict[str, ModuleType] = {"v1": v1, "v2": v2}
FILES = [(version, file) for version in PACKAGES for file in sorted((FIXTURES / version).glob("*.json"))]

STDIO = {"name": "files", "command": "/files", "args": [], "env": []}
HTTP = {"type": "http", "name": "api", "url": "https://x", "headers": []}


def expected_type(version: str, file: Path) -> Any:
    slug, kind, *_ = file.name.split(".")
    methods = {name.removeprefix("$/").replace("/", "_"): method for name, method in PACKAGES[version].METHODS.items()}
    return methods[slug].result if kind == "response" else methods[slug].params


def written(value: Any) -> Any:
    return in_floats(msgspec.json.encode(value, enc_hook=lambda unknown: unknown.__wire__()))


def in_floats(text: bytes | str) -> Any:
    """What a JSON text says, with whole numbers as floats: so a number is equal to itself however it is written."""
    return json.loads(text, parse_int=float)


def accepted(expected: Any, value: Any) -> Iterator[tuple[Mutant, Any]]:
    """The mutants that strict mode takes, and what they are read as."""
    reader = Reader(expected, strict=True)
    for mutant in mutants(value):
        try:
            read = reader.convert(json.loads(json.dumps(mutant.value)))
        except Malformed:
            continue
        yield mutant, read


@pytest.mark.parametrize(("version", "file"), FILES, ids=[f"{version} {file.stem}" for version, file in FILES])
def test_what_strict_mode_takes_is_written_back_as_it_came(version: str, file: Path):
    """So nothing was filled in for what is missing, and nothing was dropped for what is malformed."""
    expected, value = expected_type(version, file), json.loads(file.read_bytes())
    assert written(Reader(expected, strict=True).convert(value)) == in_floats(file.read_bytes())
    changed = [
        (mutant.what, mutant.place)
        for mutant, read in accepted(expected, value)
        if written(read) != in_floats(json.dumps(mutant.value))
    ]
    assert changed == []


@pytest.mark.parametrize(("version", "file"), FILES, ids=[f"{version} {file.stem}" for version, file in FILES])
def test_what_strict_mode_takes_the_tolerant_reading_takes_alike(version: str, file: Path):
    expected, value = expected_type(version, file), json.loads(file.read_bytes())
    for mutant, read in accepted(expected, value):
        notes: list[str] = []
        assert written(Reader(expected).convert(mutant.value, notes)) == written(read), (mutant.what, mutant.place)
        assert notes == [], (mutant.what, mutant.place)


def opening(*servers: dict[str, Any]) -> dict[str, Any]:
    return {"cwd": "/w", "mcpServers": list(servers)}


def without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: each for name, each in value.items() if name != key}


def select(version: str, *options: dict[str, Any], **more: Any) -> dict[str, Any]:
    key = "id" if version == "v1" else "configId"
    option = {key: "o", "name": "O", "type": "select", "currentValue": "a", "options": list(options), **more}
    return {"sessionUpdate": "config_option_update", "configOptions": [option]}


@pytest.mark.parametrize(
    ("expected", "value", "error"),
    [
        (v1.NewSessionRequest, opening(without(STDIO, "args")), "$.mcpServers[0].args: required"),
        (v1.NewSessionRequest, opening(without(STDIO, "env")), "$.mcpServers[0].env: required"),
        (v1.NewSessionRequest, opening(STDIO, without(HTTP, "headers")), "$.mcpServers[1].headers: required"),
        (v1.SessionUpdate, select("v1", {"group": "g", "name": "G"}), "$.configOptions[0].options[0].options: required"),
        (v2.SessionUpdate, select("v2", {"groupId": "g", "name": "G"}), "$.configOptions[0].options[0].options: required"),
        (v1.SetSessionConfigOptionResponse, {}, "$.configOptions: required"),
        (v2.ListSessionsResponse, {}, "$.sessions: required"),
        (v1.ContentBlock, {"type": "_smell"}, "$.type: expected one of text, image, audio, resource_link, resource"),
    ],
)  # fmt: skip
def test_what_the_protocol_requires_is_not_filled_in(expected: Any, value: dict[str, Any], error: str):
    with pytest.raises(Malformed) as refused:
        Reader(expected, strict=True).convert(value)
    assert f"{refused.value.path}: {refused.value.reason}" == error


A = {"value": "a", "name": "A"}


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        (v1.SessionUpdate, select("v1", A, category="permissions")),
        (v2.SessionUpdate, select("v2", A, category="permissions")),
        (v2.SessionUpdate, {"sessionUpdate": "_weather", "sky": {"blue": True}}),
        (v2.ContentBlock, {"type": "_smell", "of": "roses"}),
        (v2.ToolCallContent, {"type": "_chart", "bars": [1]}),
        (v2.RequestPermissionOutcome, {"outcome": "_later", "until": 7}),
        (v2.CreateElicitationResponse, {"action": "_snooze", "minutes": 5}),
        (v1.CreateElicitationResponse, {"action": "_snooze", "minutes": 5}),
        (v2.AuthMethod, {"type": "_pigeon", "methodId": "p", "name": "P", "birds": 2}),
    ],
)
def test_what_the_protocol_leaves_to_implementers_is_taken(expected: Any, value: dict[str, Any]):
    assert written(Reader(expected, strict=True).convert(value)) == value


def test_a_name_that_is_the_protocols_to_give_is_refused_before_what_comes_with_it():
    update = {"sessionUpdate": "state_update", "dreams": 1, "state": "dreaming"}
    with pytest.raises(Malformed, match=r"\$\.state: expected one of running, idle, requires_action, or a name"):
        Reader(v2.SessionUpdate, strict=True).convert(update)


def test_a_list_of_what_is_expected_does_not_end_in_a_comma():
    resume = {"sessionId": "s", "cwd": "/w", "replayFrom": {"type": "middle"}}
    with pytest.raises(Malformed) as refused:
        Reader(v2.ResumeSessionRequest, strict=True).convert(resume)
    assert refused.value.path == "$.replayFrom.type"
    assert refused.value.reason == 'expected "start", or a name that begins with `_`'
