"""Every message of v1 becomes words, and the words become the same message."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from accord.dialects.v1 import V1
from accord.session.transcript import Transcript
from accord.session.updates import ToolCallPatch
from tests.dialects.json_values import differences, plain, raw, without_nulls
from tests.dialects.v1.speaking import speaker

FIXTURES = Path(__file__).parents[2] / "fixtures" / "v1"
FILES = sorted(FIXTURES.glob("*.json"))
BY_SLUG = {name.replace("/", "_"): name for name in V1.METHODS}

# What words do not keep, or what is always said: place, what was read, what is written, `...` for nothing.
NORMALISED: list[tuple[str, Any, Any]] = [
    (r"mcpServers\[.\]\.(env|headers)\[.\]\._meta|env\[.\]\._meta", dict, ...),  # variables and headers are plain pairs
    (r"mcpServers", ..., list),  # always said (FN-101)
    (r"(update\.)?configOptions\[1\]\.options", list, list),  # a group without choices is left out
    (r"clientCapabilities|agentCapabilities|authMethods", ..., (dict, list)),  # INIT-20, INIT-24: said, also when off
    (r"requestedSchema\.(type|properties)", ..., (str, dict)),  # senders write both
    (r"update\.messageId", ..., str),  # each message has an id
    (r"update\.(kind|status)", ..., str),  # the defaults are said
    (r"_meta", dict, ...),  # of a notification around an update, which has its own
]


def is_normalised(place: str, before: Any, after: Any) -> bool:
    def fits(value: Any, expected: Any) -> bool:
        return value is ... if expected is ... else value is not ... and isinstance(value, expected)

    return any(
        re.fullmatch(where, place) and fits(before, was) and fits(after, becomes) for where, was, becomes in NORMALISED
    )


def unexplained(before: Any, after: Any) -> dict[str, tuple[Any, Any]]:
    found = differences(without_nulls(before), without_nulls(after))
    return {place: pair for place, pair in found.items() if not is_normalised(place, *pair)}


def files(kind: str) -> list[Any]:
    return [pytest.param(file, id=file.stem) for file in FILES if file.name.split(".")[1] == kind]


def method_of(file: Path) -> str:
    return BY_SLUG.get(file.name.split(".")[0], "$/cancel_request")


def some_request(file: Path) -> Any:
    slug = file.name.split(".")[0]
    return json.loads(next(FIXTURES.glob(f"{slug}.request*minimal.json")).read_bytes())


@pytest.mark.parametrize("file", files("request"))
def test_a_request_becomes_a_word_and_the_same_request_again(file: Path):
    dialect, method, params = speaker(), method_of(file), json.loads(file.read_bytes())
    word = dialect.request_from_wire(method, raw(params), V1.METHODS[method].sender)  # pyright: ignore[reportArgumentType]
    assert type(word) in V1.REQUESTS
    written_method, written = dialect.request_to_wire(word)
    assert written_method == method
    assert unexplained(params, plain(written)) == {}
    assert (dialect.losses, dialect.notes) == ([], [])


@pytest.mark.parametrize("file", files("response"))
def test_an_answer_becomes_a_word_and_the_same_answer_again(file: Path):
    dialect, method, result = speaker(), method_of(file), json.loads(file.read_bytes())
    sender: Any = V1.METHODS[method].sender
    asked = dialect.request_from_wire(method, raw(some_request(file)), sender)
    word = dialect.result_from_wire(asked, raw(result))
    assert type(word) is asked.result_type
    assert unexplained(result, plain(dialect.result_to_wire(asked, word))) == {}
    assert (dialect.losses, dialect.notes) == ([], [])


@pytest.mark.parametrize("file", [file for file in files("notification") if "session_update" not in file.id])
def test_a_notification_becomes_a_word_and_the_same_notification_again(file: Path):
    dialect, method, params = speaker(), method_of(file), json.loads(file.read_bytes())
    sender: Any = {"either": "client"}.get(V1.METHODS[method].sender, V1.METHODS[method].sender)
    word = dialect.notification_from_wire(method, raw(params), sender)
    if method == "$/cancel_request":  # the conversation's, not the dialect's
        assert word is None
        return
    assert word is not None
    assert dialect.notification_to_wire(word)[0] == method
    assert unexplained(params, plain(dialect.notification_to_wire(word)[1])) == {}


@pytest.mark.parametrize("file", [file for file in files("notification") if "session_update" in file.id])
@pytest.mark.requirement("UPDATE-01", "UPDATE-02")
def test_an_update_becomes_a_report_and_its_change_the_same_update_again(file: Path):
    dialect, transcript, params = speaker(), Transcript(), json.loads(file.read_bytes())
    if params["update"]["sessionUpdate"] == "tool_call_update":
        transcript.apply(ToolCallPatch(id=params["update"]["toolCallId"]))
    session_id, reports = dialect.update_from_wire(raw(params))
    changes = [transcript.apply(report) for report in reports]
    written = [plain(each) for change in changes for each in dialect.update_to_wire(session_id, change)]
    assert len(written) == 1
    assert unexplained(params, written[0]) == {}
    assert (dialect.losses, dialect.notes) == ([], [])


@pytest.mark.parametrize("file", files("request"))
def test_what_v1_writes_is_what_strict_v1_reads(file: Path):
    method = method_of(file)
    sender: Any = V1.METHODS[method].sender
    word = speaker().request_from_wire(method, raw(json.loads(file.read_bytes())), sender)
    written = plain(speaker().request_to_wire(word)[1])
    assert speaker(strict=True).request_from_wire(method, raw(written), sender) == word


def test_each_request_and_notification_word_that_v1_has_is_in_the_fixtures():
    covered = {method_of(file) for file in FILES}
    spoken = {exchange.method for exchange in V1.REQUESTS.values()}
    spoken |= {telling.method for telling in V1.NOTIFICATIONS.values()}
    assert spoken <= covered
    assert covered - spoken == {"session/update", "$/cancel_request"}
