"""Words go through v2 and come back: nothing that v2 has is lost on the way, in either direction."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from msgspec import Raw

from accord.dialects.v2 import V2
from accord.session.requests import NewSession, SessionSetup
from accord.session.transcript import Transcript
from tests.dialects.v2 import words
from tests.dialects.v2.speaking import SESSION, asked_of


def as_bytes(params: Any) -> Raw:
    return Raw(msgspec.json.encode(params, enc_hook=lambda unknown: unknown.__wire__()))


@given(words.reports(unknown=True))
@settings(max_examples=100)
def test_a_report_comes_back_as_it_was(report: Any) -> None:
    dialect = V2()
    [params] = dialect.update_to_wire(SESSION, Transcript().apply(report))
    assert dialect.update_from_wire(as_bytes(params)) == (SESSION, [report])
    assert (dialect.losses, dialect.notes) == ([], [])


@given(words.reports(unknown=False))
@settings(max_examples=100)
def test_what_is_written_is_right_by_the_strict_reading(report: Any) -> None:
    [params] = V2().update_to_wire(SESSION, Transcript().apply(report))
    assert V2(strict=True).update_from_wire(as_bytes(params)) == (SESSION, [report])


@given(words.few(words.reports(unknown=True), least=1))
@settings(max_examples=60)
def test_the_listener_has_the_transcript_that_the_teller_has(reports: list[Any]) -> None:
    dialect, teller, listener = V2(), Transcript(), Transcript()
    for report in reports:
        for params in dialect.update_to_wire(SESSION, teller.apply(report)):
            for told in dialect.update_from_wire(as_bytes(params))[1]:
                listener.apply(told)
    assert listener.timeline == teller.timeline
    for part in ("terminals", "commands", "options", "info", "usage", "state"):
        assert getattr(listener, part) == getattr(teller, part)


@given(words.asked(unknown=True))
def test_a_request_comes_back_as_it_was(asked: Any) -> None:
    dialect = V2()
    method, params = dialect.request_to_wire(asked)
    assert asked_of(dialect, method, as_bytes(params)) == asked
    assert (dialect.losses, dialect.notes) == ([], [])


@given(words.asked(unknown=False))
def test_a_request_is_right_by_the_strict_reading(asked: Any) -> None:
    method, params = V2().request_to_wire(asked)
    assert asked_of(V2(strict=True), method, as_bytes(params)) == asked


@given(words.opened(unknown=True))
def test_what_a_session_starts_with_comes_back_as_it_was(answer: SessionSetup) -> None:
    dialect, asked = V2(), NewSession(cwd="/srv/garden")
    result = dialect.result_to_wire(asked, answer)
    assert dialect.result_from_wire(asked, as_bytes(result)) == answer
