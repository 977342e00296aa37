"""Whatever v1 can say is the same words after it was said again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from accord.dialects.v1 import V1
from accord.schema import v1
from accord.session.transcript import Transcript
from tests.dialects.json_values import plain, raw
from tests.dialects.telling import SESSION
from tests.dialects.v1.speaking import speaker
from tests.properties.wire_values import encoded, values

METHODS = [method for method in V1.METHODS.values() if method.kind == "request"]


def spoken(method: Any) -> Any:
    return next(converter.request_type for converter in V1.REQUESTS.values() if converter.method == method.name)


def acceptable(params: Any) -> Any:
    """The params with paths that are absolute and a line that counts from 1."""
    for name in ("cwd", "path"):
        if isinstance(getattr(params, name, None), str):
            setattr(params, name, f"/{getattr(params, name)}")
    if isinstance(getattr(params, "additional_directories", None), list):
        params.additional_directories = [f"/{path}" for path in params.additional_directories]
    for server in getattr(params, "mcp_servers", None) or ():
        if isinstance(server.command, str):
            server.command = f"/{server.command}"
    if getattr(params, "line", None) == 0:
        params.line = 1
    return params


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@given(chosen=st.data())
@settings(max_examples=15)
def test_a_request_said_again_is_the_same_word(method: Any, chosen: st.DataObject):
    params = acceptable(chosen.draw(values(method.params)))
    word = speaker().request_from_wire(method.name, Raw(encoded(params)), method.sender)
    again = plain(speaker().request_to_wire(word)[1])
    assert speaker().request_from_wire(method.name, raw(again), method.sender) == word


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@given(chosen=st.data())
@settings(max_examples=15)
def test_an_answer_said_again_is_the_same_word(method: Any, chosen: st.DataObject):
    kind = spoken(method)
    asked = kind(**{name: SESSION for name in kind.__struct_fields__ if name in kind.__annotations__})
    dialect = speaker()
    word = dialect.result_from_wire(asked, Raw(encoded(chosen.draw(values(method.result)))))
    again = plain(dialect.result_to_wire(asked, word))
    if method.name == "initialize":
        word.version = again["protocolVersion"]
    assert _without_made_modes(dialect.result_from_wire(asked, raw(again)), word) == word


def _without_made_modes(again: Any, word: Any) -> Any:
    if getattr(word, "modes", ...) is None:
        again.modes = None
    return again


@given(updates=st.lists(values(v1.SessionUpdate), max_size=5))
@settings(max_examples=100)
def test_updates_said_again_give_the_same_transcript(updates: list[Any]):
    dialect, client = speaker(), speaker()
    told, heard = Transcript(), Transcript()
    for update in updates:
        notification = v1.SessionNotification(session_id=SESSION, update=update)
        for report in client.update_from_wire(Raw(encoded(notification)))[1]:
            for params in dialect.update_to_wire(SESSION, told.apply(report)):
                for again in client.update_from_wire(raw(plain(params)))[1]:
                    heard.apply(again)
    assert [getattr(place, "id", place) for place in heard.timeline] == [
        getattr(place, "id", place) for place in told.timeline
    ]
    for name in ("messages", "plans", "compactions", "commands", "options", "info", "usage", "state"):
        assert getattr(heard, name) == getattr(told, name), name
    for name, call in told.tool_calls.items():
        after = heard.tool_calls[name]
        assert (after.name, after.kind, after.status, after.locations) == (
            call.name,
            call.kind,
            call.status,
            call.locations,
        )
        assert (after.content, after.raw_input, after.raw_output) == (call.content, call.raw_input, call.raw_output)
