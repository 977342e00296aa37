"""Every message of the draft becomes words and a message of the draft again; those of v1 and v2 are read as well."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from accord.dialects.v1 import V1
from accord.dialects.v2_draft import V2Draft
from accord.session.transcript import Transcript
from accord.session.updates import ToolCallPatch
from tests.dialects.json_values import differences, plain, raw, without_nulls
from tests.dialects.v2_draft.speaking import speaker

FIXTURES = Path(__file__).parents[2] / "fixtures"
BY_SLUG = {name.replace("/", "_"): name for name in V2Draft.METHODS}

# What words do not keep, or what is always said: place, what was read, what is written, `...` for nothing.
NORMALISED: list[tuple[str, Any, Any]] = [
    (r"_meta", dict, ...),  # of a notification around an update, which has its own
    (r".*mcpServers\[.\]\.(env|headers)\[.\]\._meta", dict, ...),  # variables and headers are plain pairs
    (r"mcpServers|mcpServers\[.\]\.(args|env|headers)", ..., list),  # always said
    (r"update\.messageId", ..., str),  # each message has an id
    (r"type", ..., str),  # of a choice: always said
    (r".*availableCommands\[.\](\.input)?\.type", ..., str),  # always said
    (r"availableCommands", list, ...),  # in the answer that opens a session: noted as lost
    (r".*capabilities\._meta", dict, ...),  # of a tool call's capabilities
    (r".*content(\[2\])?\.(type|changes|patch|_meta|content)", object, object),  # v2's diff: noted as lost
    (r"replayFrom", dict, ...),  # makes it a request to load
    (r"subject", dict, ...),  # a tool call goes without
]
TOLD_OTHERWISE = {"tool_call", "plan"}  # v1's forms are written as the draft's
NOT_TOLD = {"state_update", "terminal_update", "terminal_output_chunk"}  # of v2; see the loss table


def is_normalised(place: str, before: Any, after: Any) -> bool:
    def fits(value: Any, expected: Any) -> bool:
        return value is ... if expected is ... else expected is object or isinstance(value, expected)

    return any(
        re.fullmatch(where, place) and fits(before, was) and fits(after, becomes) for where, was, becomes in NORMALISED
    )


def unexplained(before: Any, after: Any) -> dict[str, tuple[Any, Any]]:
    found = differences(without_nulls(before), without_nulls(after))
    return {place: pair for place, pair in found.items() if not is_normalised(place, *pair)}


def files(kind: str, *versions: str) -> list[Any]:
    return [
        pytest.param(file, id=f"{version}-{file.stem}")
        for version in versions
        for file in sorted((FIXTURES / version).glob("*.json"))
        if file.name.split(".")[1] == kind and file.name.split(".")[0] in BY_SLUG
    ]


def method_of(file: Path) -> str:
    return BY_SLUG[file.name.split(".")[0]]


def sender_of(method: str) -> Any:
    return V2Draft.METHODS[method].sender


def some_request(file: Path) -> Any:
    slug = file.name.split(".")[0]
    found = [
        next((FIXTURES / version).glob(f"{slug}.request*minimal.json"), None) for version in ("v2_draft", "v1", "v2")
    ]
    return json.loads(next(each for each in found if each is not None).read_bytes())


@pytest.mark.parametrize("file", [file for file in files("request", "v2_draft") if "initialize" not in file.id])
def test_a_request_becomes_a_word_and_the_same_request_again(file: Path):
    dialect, method, params = speaker(), method_of(file), json.loads(file.read_bytes())
    word = dialect.request_from_wire(method, raw(params), sender_of(method))
    again = plain(dialect.request_to_wire(word)[1])
    if "command" in file.name:
        assert again.pop("toolCall")["kind"] == "execute"
    assert unexplained(params, again) == {}
    assert dialect.notes == []


@pytest.mark.parametrize("file", [file for file in files("response", "v2_draft") if "initialize" not in file.id])
def test_an_answer_becomes_a_word_and_the_same_answer_again(file: Path):
    dialect, method, result = speaker(), method_of(file), json.loads(file.read_bytes())
    asked = dialect.request_from_wire(method, raw(some_request(file)), sender_of(method))
    word = dialect.result_from_wire(asked, raw(result))
    assert type(word) is asked.result_type
    again = plain(dialect.result_to_wire(asked, word))
    if "accepted" in file.name:
        assert again.pop("stopReason") == "end_turn"
    assert unexplained(result, again) == {}
    assert dialect.notes == []


@pytest.mark.parametrize("file", files("notification", "v2_draft"))
@pytest.mark.requirement("UPDATE-13", "TOOL-03", "AMB-19", "AMB-20", "AMB-21")
def test_an_update_becomes_reports_and_their_changes_an_update_of_the_draft_again(file: Path):
    dialect, transcript, params = speaker(), Transcript(), json.loads(file.read_bytes())
    kind = params["update"]["sessionUpdate"]
    if kind.startswith("tool_call"):
        transcript.apply(ToolCallPatch(id=params["update"]["toolCallId"]))
    session_id, reports = dialect.update_from_wire(raw(params))
    changes = [transcript.apply(report) for report in reports]
    written = [plain(each) for change in changes for each in dialect.update_to_wire(session_id, change)]
    assert len(written) == (0 if kind in NOT_TOLD else 1)
    if kind in TOLD_OTHERWISE:
        assert written[0]["update"]["sessionUpdate"] == {"tool_call": "tool_call_update", "plan": "plan_update"}[kind]
    elif written:
        assert unexplained(params, written[0]) == {}
    assert dialect.notes == []


@pytest.mark.parametrize("file", files("request", "v1", "v2"))
def test_a_request_of_v1_or_v2_is_read_as_v1_reads_its_own(file: Path):
    dialect, method, params = speaker(), method_of(file), json.loads(file.read_bytes())
    word = dialect.request_from_wire(method, raw(params), sender_of(method))
    if file.parent.name == "v1":
        assert word == V1().request_from_wire(method, raw(params), sender_of(method))


# There the values of a form are any JSON; in the draft elicitation is v1's.
NOT_READ = {"v2-elicitation_create.response.accept.full"}


@pytest.mark.parametrize("file", [file for file in files("response", "v1", "v2") if file.id not in NOT_READ])
def test_an_answer_of_v1_or_v2_is_read_as_v1_reads_its_own(file: Path):
    dialect, method, result = speaker(), method_of(file), json.loads(file.read_bytes())
    asked = dialect.request_from_wire(method, raw(some_request(file)), sender_of(method))
    word = dialect.result_from_wire(asked, raw(result))
    if file.parent.name == "v1":
        assert word == V1().result_from_wire(asked, raw(result))


@pytest.mark.parametrize("file", files("notification", "v1", "v2"))
def test_an_update_of_v1_or_v2_is_read_as_v1_reads_its_own(file: Path):
    dialect, method, params = speaker(), method_of(file), json.loads(file.read_bytes())
    if method != "session/update":
        assert dialect.notification_from_wire(method, raw(params), sender_of(method)) is not None
        return
    reports = dialect.update_from_wire(raw(params))
    assert reports[1]
    if file.parent.name == "v1":
        assert reports == V1().update_from_wire(raw(params))


@pytest.mark.parametrize("file", files("request", "v2_draft"))
def test_what_the_draft_writes_is_what_the_strict_draft_reads(file: Path):
    method = method_of(file)
    word = speaker().request_from_wire(method, raw(json.loads(file.read_bytes())), sender_of(method))
    method, written = speaker().request_to_wire(word)
    again = speaker(strict=True).request_from_wire(method, raw(plain(written)), sender_of(method))
    assert type(again) is type(word)
