"""Whatever was said in one version can be said in every other, in a form that its schema takes as it is.

What a version cannot say is a loss that the dialect notes, or an error of the request; never a frame that does not fit.
Where the official schemas are at hand (`ACP_SCHEMAS`), frames are held against these too.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from accord.dialects.dialect import Dialect, Side
from accord.dialects.v1 import V1
from accord.dialects.v2 import V2
from accord.dialects.v2_draft import V2Draft
from accord.errors import InvalidParams, Malformed, MethodNotFound
from accord.schema import v1, v2, v2_draft
from accord.schema.method import Method
from accord.schema.reader import Reader
from accord.session.requests import PromptResult
from accord.session.transcript import Transcript
from tests.dialects.json_values import plain, raw
from tests.dialects.telling import ABLE, SESSION
from tests.parity.frames import validate
from tests.parity.official import load
from tests.properties.wire_values import encoded, foreign, values

DIALECTS: list[type[Dialect]] = [V1, V2, V2Draft]
UPDATES: dict[type[Dialect], Any] = {
    V1: v1.SessionUpdate,
    V2: v2.SessionUpdate,
    V2Draft: v2_draft.SessionUpdate,
}
PAIRS = [(one, other) for one in DIALECTS for other in DIALECTS if one is not other]
EITHER_WAY = pytest.mark.parametrize(
    ("heard_in", "told_in"), PAIRS, ids=[f"{one.name} to {other.name}" for one, other in PAIRS]
)
PATIENT = settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large],
)


def fits(dialect: type[Dialect], method: str, part: str, value: Any) -> None:
    """The params or result of a method are what the schema of the version has for it."""
    reason = refusal(Reader(getattr(dialect.METHODS[method], part), strict=True), encoded(value))
    # A name that the protocol may give one day is passed on as somebody has sent it.
    assert reason is None or reason.endswith("or a name that begins with `_`"), reason
    if dialect is not V2Draft and "ACP_SCHEMAS" in os.environ:
        official = load(dialect.version).methods.get(method)
        if official is not None:
            assert list(validate(plain(value), dialect.version, getattr(official, part))) == []


def refusal(reader: Reader[Any], raw: bytes) -> str | None:
    try:
        reader.decode(raw)
    except Malformed as error:
        return str(error)
    return None


@EITHER_WAY
@given(chosen=st.data())
@PATIENT
def test_updates_of_one_version_are_told_in_another(
    heard_in: type[Dialect], told_in: type[Dialect], chosen: st.DataObject
):
    source, target, transcript = heard_in(client=ABLE), told_in(client=ABLE), Transcript()
    for update in chosen.draw(st.lists(foreign(UPDATES[heard_in]), max_size=4)):
        params = heard_in.UPDATE_PARAMS(session_id=SESSION, update=update)
        for report in source.update_from_wire(Raw(encoded(params)))[1]:
            for told in target.update_to_wire(SESSION, transcript.apply(report)):
                fits(told_in, "session/update", "params", told)
                assert target.update_from_wire(raw(plain(told)))[0] == SESSION


@EITHER_WAY
@given(chosen=st.data())
@PATIENT
def test_requests_of_one_version_are_asked_in_another(
    heard_in: type[Dialect], told_in: type[Dialect], chosen: st.DataObject
):
    method = chosen.draw(st.sampled_from(requests_of(heard_in)))
    source, target = heard_in(client=ABLE), told_in(client=ABLE)
    try:
        asked = source.request_from_wire(method.name, Raw(encoded(chosen.draw(foreign(method.params)))), sender(method))
        name, told = target.request_to_wire(asked)
    except (InvalidParams, Malformed, MethodNotFound):
        return
    fits(told_in, name, "params", told)


@EITHER_WAY
@given(chosen=st.data())
@PATIENT
def test_answers_of_one_version_are_given_in_another(
    heard_in: type[Dialect], told_in: type[Dialect], chosen: st.DataObject
):
    method = chosen.draw(st.sampled_from(requests_of(heard_in)))
    source, target = heard_in(client=ABLE), told_in(client=ABLE)
    try:
        asked = source.request_from_wire(method.name, Raw(encoded(chosen.draw(values(method.params)))), sender(method))
        exchange = target.REQUESTS[type(asked)]
        answer = source.result_from_wire(asked, Raw(encoded(chosen.draw(foreign(method.result)))))
    except (InvalidParams, KeyError):
        return
    if isinstance(answer, PromptResult):
        answer = replace(answer, message_id=answer.message_id or "m1")  # whoever passes it on has given it one
    fits(told_in, exchange.method, "result", target.result_to_wire(asked, answer))


def requests_of(dialect: type[Dialect]) -> list[Method]:
    asked = {exchange.method for exchange in dialect.REQUESTS.values()}
    return [dialect.METHODS[name] for name in sorted(asked)]


def sender(method: Method) -> Side:
    return "agent" if method.sender == "agent" else "client"
