"""The fields of a form, and what may be entered."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from accord.apps.console.forms import fields_of, read_field


def field(schema: dict[str, Any], *, required: bool = False):
    return fields_of({"properties": {"f": schema}, "required": ["f"] if required else []})[0]


@pytest.mark.parametrize(
    ("schema", "entered", "value"),
    [
        ({"type": "string"}, "x", "x"),
        ({"type": "string"}, "", None),
        ({"type": "integer"}, "42", 42),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "boolean"}, False, False),
        ({"type": "string", "enum": ["a", "b"]}, "b", "b"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["a"], ["a"]),
        ({"type": "string", "pattern": "^[a-z]+$"}, "abc", "abc"),
        ({"type": "string", "pattern": "(a+)+$"}, "b", "b"),
    ],
)
def test_what_fits_is_sent_in_its_type(schema, entered, value):
    assert read_field(field(schema), entered) == value


@pytest.mark.parametrize(
    ("schema", "entered", "problem"),
    [
        ({"type": "integer"}, "1.5", "must be an integer"),
        ({"type": "number", "maximum": 3}, "4", "at most 3"),
        ({"type": "string", "minLength": 3}, "ab", "at least 3"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "12", "must match the pattern"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1}, ["a", "b"], "at most 1"),
    ],
)
def test_what_does_not_fit_is_told(schema, entered, problem):
    with pytest.raises(ValueError, match=problem):
        read_field(field(schema), entered)


def test_what_is_required_must_be_there():
    with pytest.raises(ValueError, match="required"):
        read_field(field({"type": "string"}, required=True), "")


def test_choices_have_the_names_that_the_schema_gives_them():
    titled = field({"oneOf": [{"const": "r", "title": "Red"}, {"const": "g"}]})
    assert titled.choices == [("r", "Red"), ("g", "g")]
    assert titled.kind == "choice"
    assert field({"enum": ["r"], "enumNames": ["Red"]}).choices == [("r", "Red")]


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=8),
    lambda children: some.lists(children, max_size=3) | some.dictionaries(some.text(max_size=8), children, max_size=3),
    max_leaves=8,
)


@given(some.dictionaries(some.sampled_from(["properties", "required", "type"]), JSON))
def test_any_schema_can_be_read(schema):
    for each in fields_of(schema):
        assert each.kind in ("text", "number", "integer", "boolean", "choice", "choices")
