"""Every message of v2 becomes words, and the words become the same message."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from accord.dialects.v2 import V2
from accord.session.transcript import Transcript
from tests.dialects.json_values import differences, plain, raw
from tests.dialects.v2.speaking import asked_of, speaker

FIXTURES = Path(__file__).parents[2] / "fixtures" / "v2"
FILES = sorted(FIXTURES.glob("*.json"))
BY_SLUG = {name.removeprefix("$/").replace("/", "_"): name for name in V2.METHODS}

# Objects whose `_meta` has no place in words; a relay forwards the bytes it received.
WITHOUT_META = re.compile(
    r"(mcpServers|authMethods)\[\d\]\.(env|headers)\[\d\]\._meta"
    r"|replayFrom\._meta"
    r"|(.*\.)?(toolCall|update)\.capabilities(\.cancel)?\._meta"
    r"|update\.output\._meta"
    r"|_meta"  # of the notification around an update, which has its own
)


def files(kind: str) -> list[Any]:
    return [pytest.param(file, id=file.stem) for file in FILES if file.name.split(".")[1] == kind]


def method_of(file: Path) -> str:
    return BY_SLUG[file.name.split(".")[0]]


def unexplained(before: Any, after: Any, around: str = "") -> dict[str, tuple[Any, Any]]:
    found = differences(before, after)
    always_said = {"capabilities", "authMethods"} if around == "initialize" else set()
    return {
        place: (was, becomes)
        for place, (was, becomes) in found.items()
        if not (becomes is ... and WITHOUT_META.fullmatch(place) and (place != "_meta" or around == "session/update"))
        and not (was is ... and not becomes and place in always_said)
    }


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("file", files("request"))
def test_a_request_becomes_a_word_and_the_same_request_again(file: Path, strict: bool) -> None:
    dialect, method, params = speaker(strict), method_of(file), json.loads(file.read_bytes())
    word = asked_of(dialect, method, params)
    assert type(word) in V2.REQUESTS
    written_method, written = dialect.request_to_wire(word)
    assert written_method == method
    assert unexplained(params, plain(written), method) == {}
    assert asked_of(speaker(strict=True), method, plain(written)) == word
    assert (dialect.losses, dialect.notes) == ([], [])


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("file", files("response"))
def test_an_answer_becomes_a_word_and_the_same_answer_again(file: Path, strict: bool) -> None:
    dialect, method, result = speaker(strict), method_of(file), json.loads(file.read_bytes())
    request = next(FIXTURES.glob(f"{file.name.split('.')[0]}.request*minimal.json"))
    asked = asked_of(dialect, method, json.loads(request.read_bytes()))
    word = dialect.result_from_wire(asked, raw(result))
    assert type(word) is asked.result_type
    written = plain(dialect.result_to_wire(asked, word))
    assert unexplained(result, written, method) == {}
    assert speaker(strict=True).result_from_wire(asked, raw(written)) == word
    assert (dialect.losses, dialect.notes) == ([], [])


@pytest.mark.parametrize("file", [file for file in files("notification") if "session_update" not in file.id])
def test_a_notification_becomes_a_word_and_the_same_notification_again(file: Path) -> None:
    dialect, method, params = speaker(strict=True), method_of(file), json.loads(file.read_bytes())
    sender: Any = {"either": "client"}.get(V2.METHODS[method].sender, V2.METHODS[method].sender)
    word = dialect.notification_from_wire(method, raw(params), sender)
    if method == "$/cancel_request":  # the conversation's, not the dialect's
        assert word is None
        return
    assert word is not None
    assert dialect.notification_to_wire(word)[0] == method
    assert plain(dialect.notification_to_wire(word)[1]) == params


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("file", [file for file in files("notification") if "session_update" in file.id])
@pytest.mark.requirement("UPDATE-13")
def test_an_update_becomes_a_report_and_its_change_the_same_update_again(file: Path, strict: bool) -> None:
    dialect, transcript, params = speaker(strict), Transcript(), json.loads(file.read_bytes())
    session_id, reports = dialect.update_from_wire(raw(params))
    [change] = [transcript.apply(report) for report in reports]
    [written] = dialect.update_to_wire(session_id, change)
    assert unexplained(params, plain(written), "session/update") == {}
    assert speaker(strict=True).update_from_wire(raw(plain(written))) == (session_id, reports)
    assert (dialect.losses, dialect.notes) == ([], [])


def test_each_request_and_notification_that_v2_has_is_in_the_fixtures() -> None:
    covered = {method_of(file) for file in FILES}
    spoken = {exchange.method for exchange in V2.REQUESTS.values()}
    spoken |= {telling.method for telling in V2.NOTIFICATIONS.values()}
    assert covered - spoken == {"session/update", "$/cancel_request"}
    assert spoken <= covered
    assert covered == set(V2.METHODS)
