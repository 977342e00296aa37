from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from accord.schema import v2_draft
from tests.schema.v1.shape import read, write


@pytest.mark.parametrize(
    "offer",
    [
        {"protocolVersion": 2},
        {"protocolVersion": 2, "clientInfo": {"name": "n", "version": "v"}, "clientCapabilities": {"terminal": True}},
        {"protocolVersion": 2, "capabilities": {"elicitation": {"form": {}}}},
        {"protocolVersion": 2, "info": {"name": "n", "version": "v"}, "clientInfo": {"name": "n", "version": "v"}},
    ],
)
def test_an_offer_may_come_in_either_shape_or_both(offer: dict[str, Any]) -> None:
    assert write(read(v2_draft.InitializeRequest, offer)) == offer


@pytest.mark.parametrize(
    ("said", "supported"), [(True, True), ({}, True), ({"x": 1}, True), (False, False), (None, False), (UNSET, False)]
)
def test_true_and_any_object_offer_a_capability(said: Any, supported: bool) -> None:
    assert v2_draft.is_supported(said) is supported


def test_capabilities_are_read_as_booleans_and_as_objects() -> None:
    answer = {"protocolVersion": 2, "capabilities": {"session": {"load": True, "prompt": {"image": {}}}}}
    session = read(v2_draft.InitializeResponse, answer).capabilities.session
    assert (session.load, session.prompt.image) == (True, {})


@pytest.mark.parametrize("spelling", [{"id": "x"}, {"methodId": "x"}])
@pytest.mark.parametrize("env", [{"A": "b"}, [{"name": "A", "value": "b"}]])
def test_a_login_is_found_by_either_key_and_takes_both_forms_of_environment(spelling: Any, env: Any) -> None:
    method = read(v2_draft.AuthMethod, {"name": "n", "env": env, **spelling})
    assert method.method_id == method.id == "x"
    assert write(method)["env"] == env
