"""Whatever the draft can say in a request or an answer is the same words after it was said again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from accord.dialects.v2_draft import V2Draft
from accord.session.requests import Prompt, SessionSetup
from tests.dialects.json_values import plain, raw
from tests.dialects.telling import SESSION
from tests.dialects.v2_draft.speaking import speaker
from tests.properties.wire_values import encoded, values

METHODS = [method for method in V2Draft.METHODS.values() if method.kind == "request"]
# What differs after all is in the loss table: v2's diffs, and commands in an answer.
EXACT = [method for method in METHODS if method.name != "session/request_permission"]


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


@pytest.mark.parametrize("method", EXACT, ids=lambda method: method.name)
@given(chosen=st.data())
@settings(max_examples=15, suppress_health_check=[HealthCheck.filter_too_much])  # a choice must fit its type
def test_a_request_said_again_is_the_same_word(method: Any, chosen: st.DataObject):
    params = acceptable(chosen.draw(values(method.params)))
    word = speaker().request_from_wire(method.name, Raw(encoded(params)), method.sender)
    name, again = speaker().request_to_wire(word)
    assert speaker().request_from_wire(name, raw(plain(again)), method.sender) == word


@pytest.mark.parametrize("converter", V2Draft.REQUESTS.values(), ids=lambda converter: converter.method)
@given(chosen=st.data())
@settings(max_examples=15)
def test_an_answer_said_again_is_the_same_word(converter: Any, chosen: st.DataObject):
    kind = converter.request_type
    asked = kind(**{name: SESSION for name in kind.__struct_fields__ if name in kind.__annotations__})
    dialect = speaker()
    result = chosen.draw(values(V2Draft.METHODS[converter.method].result))
    word = dialect.result_from_wire(asked, Raw(encoded(result)))
    again = dialect.result_from_wire(asked, raw(plain(dialect.result_to_wire(asked, word))))
    if kind.result_type is SessionSetup:
        again.commands, word.modes = word.commands, again.modes
    if kind is Prompt:
        word.stop_reason = word.stop_reason or "end_turn"
    assert again == word
