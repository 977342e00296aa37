from __future__ import annotations

from typing import Any

import pytest

from accord.schema import v2
from tests.schema.v1.shape import assert_shape, kept, known, read, refuses, write

SCHEMA = {"type": "object", "properties": {"bed": {"type": "string"}}}
URL = {"mode": "url", "message": "m", "elicitationId": "e", "url": "https://example.org"}
NOTES = {"title": "t", "description": "d"}
ONE = {"const": "a", "title": "A"}


def test_a_form_and_a_page() -> None:
    form = {"mode": "form", "message": "m", "sessionId": "s", "requestedSchema": SCHEMA}
    assert_shape(v2.CreateElicitationRequest, form, {"toolCallId": "c"})
    assert_shape(v2.CreateElicitationRequest, {**URL, "sessionId": "s"}, {"toolCallId": "c"})
    assert_shape(v2.ElicitationSchema, SCHEMA, {**NOTES, "required": ["bed"]})


@pytest.mark.parametrize(
    ("scope", "taken"),
    [
        ({"sessionId": "s"}, True),
        ({"requestId": 1}, True),
        ({"requestId": "one"}, True),
        ({}, False),
        ({"toolCallId": "c"}, False),
        ({"sessionId": "s", "requestId": 1}, False),
        ({"requestId": 1.5}, False),
        ({"requestId": None}, False),
    ],
)
def test_a_question_belongs_to_one_session_or_one_request(scope: dict[str, Any], taken: bool) -> None:
    if taken:
        assert write(read(v2.CreateElicitationRequest, {**URL, **scope})) == {**URL, **scope}
    else:
        assert refuses(v2.CreateElicitationRequest, {**URL, **scope})


@pytest.mark.parametrize("kind", ["array", "_object", 1, None])
def test_a_form_is_an_object_and_nothing_else(kind: Any) -> None:
    assert refuses(v2.ElicitationSchema, {"type": kind, "properties": {}})


@pytest.mark.parametrize(
    ("kind", "optional"),
    [
        ("string", {"minLength": 0, "maxLength": 2**32 - 1, "pattern": "a", "format": "uri", "default": "a"}),
        ("string", {"enum": ["a"], "oneOf": [ONE]}),
        ("number", {"minimum": 0.5, "maximum": 1.5, "default": 0.75}),
        ("integer", {"minimum": -(2**63), "maximum": 2**63 - 1, "default": 0}),
        ("boolean", {"default": False}),
    ],
)
def test_the_fields_of_a_form(kind: str, optional: dict[str, Any]) -> None:
    assert_shape(v2.ElicitationPropertySchema, {"type": kind}, {**NOTES, **optional})


def test_a_multiple_choice_needs_its_items() -> None:
    required = {"type": "array", "items": {"type": "string", "enum": ["a"]}}
    assert_shape(v2.ElicitationPropertySchema, required, {**NOTES, "minItems": 0, "maxItems": 2**64 - 1, "default": []})
    assert_shape(v2.EnumOption, ONE, {"description": "d"})


@pytest.mark.parametrize(
    ("items", "taken"),
    [
        ({"type": "string", "enum": ["a"]}, True),
        ({"anyOf": [ONE]}, True),
        ({"type": "string", "anyOf": [ONE]}, True),
        ({"type": "string"}, False),
        ({"type": "string", "enum": []}, False),
        ({"anyOf": []}, False),
        ({"enum": ["a"]}, False),
        ({}, False),
    ],
)
def test_the_items_of_a_multiple_choice(items: dict[str, Any], taken: bool) -> None:
    if taken:
        assert write(read(v2.MultiSelectItems, items)) == items
    else:
        assert refuses(v2.MultiSelectItems, items)


def test_the_items_of_a_type_that_is_not_known_are_kept_whole() -> None:
    field = {"type": "array", "items": {"type": "_colour", "palette": ["red"], "enum": 5}}
    assert kept(v2.ElicitationPropertySchema, field) == field


@pytest.mark.parametrize(
    "bounds", [{"minLength": -1}, {"maxLength": 2**32}, {"enum": []}, {"oneOf": []}, {"pattern": 1}, {"format": 1}]
)
def test_constraints_out_of_bounds_are_errors(bounds: dict[str, Any]) -> None:
    assert refuses(v2.StringPropertySchema, bounds)


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_the_answers(action: str) -> None:
    content = {"bed": "north", "any": [{"thing": None}]}
    assert_shape(v2.CreateElicitationResponse, {"action": "accept"}, {"content": content})
    assert_shape(v2.CreateElicitationResponse, {"action": action})


def test_the_end_of_a_visit_is_told_by_its_id() -> None:
    assert_shape(v2.CompleteElicitationNotification, {"elicitationId": "e"})


def test_the_known_formats() -> None:
    assert set(known(v2.StringFormat).values) == {"email", "uri", "date", "date-time"}
