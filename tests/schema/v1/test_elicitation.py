from __future__ import annotations

from typing import Any

import pytest

from accord.schema import v1
from accord.schema.wire_values import UNSET
from tests.schema.v1.shape import assert_shape, kept, read, refuses, write

SHOWN = {"title": "Name", "description": "Of the project"}
CHOICE = {"const": "red", "title": "Red"}
URL: dict[str, Any] = {"mode": "url", "message": "Sign in", "elicitationId": "el_1", "url": "https://example.com"}
FORM: dict[str, Any] = {"mode": "form", "message": "Which one?", "requestedSchema": {}}


def test_a_page_is_asked_for_with_an_id_and_an_address():
    assert_shape(v1.CreateElicitationRequest, URL | {"sessionId": "sess_1"}, {"toolCallId": "call_001"})


def test_a_form_is_asked_for_with_a_schema():
    assert_shape(v1.CreateElicitationRequest, FORM | {"sessionId": "sess_1"}, {"toolCallId": "call_001"})
    properties = {"properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
    assert_shape(v1.ElicitationSchema, {}, {"type": "object"} | SHOWN | properties)


@pytest.mark.parametrize("request_id", [0, 2**63 - 1, "a-7", None])
def test_a_question_may_belong_to_any_open_request(request_id: object):
    question = read(v1.CreateElicitationRequest, URL | {"requestId": request_id})
    assert question.request_id == request_id
    assert question.session_id is UNSET
    assert write(question) == URL | {"requestId": request_id}


def test_a_question_that_belongs_to_nothing_is_refused():
    assert refuses(v1.CreateElicitationRequest, URL)
    assert refuses(v1.CreateElicitationRequest, FORM)
    with pytest.raises(ValueError, match="`sessionId` or `requestId`"):
        v1.ElicitationUrlMode(message="Sign in", elicitation_id="el_1", url="https://example.com")


def test_a_null_request_id_beside_a_session_does_no_harm():
    question = read(v1.CreateElicitationRequest, URL | {"sessionId": "sess_1", "requestId": None})
    assert question.session_id == "sess_1"


def test_each_type_of_property_takes_its_own_constraints():
    text = {"minLength": 1, "maxLength": 9, "pattern": "^a", "format": "date-time", "default": "a"}
    lists = {"enum": ["red"], "oneOf": [CHOICE]}
    items = {"type": "string", "enum": ["red"]}
    number, integer = {"minimum": 0.5, "maximum": 1.5, "default": 1.0}, {"minimum": -1, "maximum": 2**62, "default": 0}
    assert_shape(v1.ElicitationPropertySchema, {"type": "string"}, SHOWN | text | lists)
    assert_shape(v1.ElicitationPropertySchema, {"type": "number"}, SHOWN | number)
    assert_shape(v1.ElicitationPropertySchema, {"type": "integer"}, SHOWN | integer)
    assert_shape(v1.ElicitationPropertySchema, {"type": "boolean"}, SHOWN | {"default": True})
    several = {"minItems": 0, "maxItems": 2, "default": ["red"]}
    assert_shape(v1.ElicitationPropertySchema, {"type": "array", "items": items}, SHOWN | several)
    assert_shape(v1.EnumOption, CHOICE, {"description": "Warm"})


@pytest.mark.parametrize("items", [{"type": "string", "enum": ["red"]}, {"anyOf": [CHOICE]}])
def test_a_multiple_choice_lists_plain_values_or_titled_ones(items: dict[str, Any]):
    assert write(read(v1.MultiSelectItems, items)) == items


def test_a_multiple_choice_of_a_type_of_its_own_is_kept_whole():
    field = {"type": "array", "items": {"type": "colour", "palette": ["red"], "enum": 5}}
    assert kept(v1.ElicitationPropertySchema, field) == field


@pytest.mark.parametrize("items", [{}, {"type": "string"}, {"enum": ["red"]}, {"type": "string", "enum": [1]}])
def test_a_multiple_choice_without_choices_is_refused(items: dict[str, Any]):
    assert refuses(v1.MultiSelectItems, items)


def test_the_type_of_titled_choices_does_not_matter():
    assert read(v1.MultiSelectItems, {"type": "string", "anyOf": [CHOICE]}).any_of == [v1.EnumOption("red", "Red")]


@pytest.mark.parametrize("value", ["a", 3, 2**53 + 1, 0.25, True, [], ["a", "b"]])
def test_an_answer_holds_plain_values(value: object):
    answer = {"action": "accept", "content": {"field": value}}
    read_back = write(read(v1.CreateElicitationResponse, answer))["content"]["field"]
    assert (read_back, type(read_back)) == (value, type(value))


@pytest.mark.parametrize("value", [None, {"a": 1}, [1], [["a"]]])
def test_an_answer_holds_nothing_nested(value: object):
    assert refuses(v1.CreateElicitationResponse, {"action": "accept", "content": {"field": value}})


@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": {}}])
def test_the_content_of_an_answer_is_absent_null_or_there(content: dict[str, Any]):
    answer = {"action": "accept"} | content
    assert write(read(v1.CreateElicitationResponse, answer)) == answer


@pytest.mark.parametrize(
    ("action", "answer"), [("decline", v1.ElicitationDeclineAction), ("cancel", v1.ElicitationCancelAction)]
)
def test_a_no_is_told_from_no_answer(action: str, answer: type):
    assert type(read(v1.CreateElicitationResponse, {"action": action})) is answer


def test_the_end_of_a_visit_names_the_question():
    assert_shape(v1.CompleteElicitationNotification, {"elicitationId": "el_1"})
