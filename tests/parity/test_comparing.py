from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias, Union

import pytest
from msgspec import Meta

from accord.schema.method import Method
from accord.schema.wire_values import (
    UNSET,
    Alias,
    Defaulted,
    DefaultTag,
    Items,
    Known,
    Lenient,
    Nullable,
    NullIsEmpty,
    Open,
    UInt16,
    UnsetType,
    Wire,
)
from tests.parity import official
from tests.parity.official import OfficialMethod, Schema, schema_directory
from tests.parity.parity import Entry, differences, entries, unexplained, unused

META = {"type": ["object", "null"], "additionalProperties": True, "x-deserialize-default-on-error": True}
ON_ERROR = {"x-deserialize-default-on-error": True}
SKIPPING = {**ON_ERROR, "x-deserialize-skip-invalid-items": True}


def ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def obj(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {**properties, "_meta": META}, "required": list(required)}


def tagged(tag: str, name: str) -> dict[str, Any]:
    told = {"type": {"type": "string", "const": tag}}
    return {"type": "object", "properties": told, "required": ["type"], "allOf": [ref(name)]}


OTHER = {"title": "other", "type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]}


def told(definitions: dict[str, Any], exports: dict[str, Any]) -> list[str]:
    return unexplained(differences(Schema(definitions, {}), exports, {}), [])


Colour: TypeAlias = Annotated[str, Known("red", "green")]


class Box(Wire):
    width: UInt16
    parts: Items[Box]
    colour: Lenient[Colour] = UNSET
    labels: NullIsEmpty[dict[str, str]] = UNSET
    note: Nullable[str] = UNSET
    extra: Lenient[Any] = UNSET


COLOUR = {"anyOf": [{"type": "string", "const": "red"}, {"type": "string", "const": "green"}, {"type": "string"}]}
BOX = obj(
    ("width", "parts"),
    width={"type": "integer", "format": "uint16", "minimum": 0, "maximum": 65535},
    colour={"anyOf": [ref("Colour"), {"type": "null"}], **ON_ERROR},
    parts={"type": "array", "items": ref("Box"), **SKIPPING},
    labels={
        "type": "object",
        "additionalProperties": {"type": "string"},
        "x-deserialize-default-on-null": True,
    },
    note={"type": ["string", "null"]},
    extra=ON_ERROR,
)
BOXES = {"Box": Box, "Colour": Colour}


def changed(**properties: Any) -> dict[str, Any]:
    return {"Colour": COLOUR, "Box": {**BOX, "properties": {**BOX["properties"], **properties}}}


def test_types_that_say_the_same_do_not_differ():
    assert told({"Colour": COLOUR, "Box": BOX}, BOXES) == []


@pytest.mark.parametrize(
    ("definitions", "difference"),
    [
        (changed(height={"type": "integer"}), "Box.height: missing"),
        (changed(note={"type": "string"}), "Box.note: nullable"),
        (changed(note={"type": ["string", "null"], **ON_ERROR}), "Box.note: not forgiven (DEFAULT_ON_ERROR)"),
        (changed(note={"type": ["boolean", "null"]}), "Box.note: narrower (not boolean)"),
        (changed(note={"type": ["string", "null"], "minLength": 1}), "Box.note: wider (string (1, None) there, "),
        (changed(extra={"type": "string", **ON_ERROR}), "Box.extra: wider (anything)"),
        (changed(width={"type": "integer", "format": "uint32"}), "Box.width: narrower (integer (0, 4294967295)"),
        (changed(parts={"type": "array", "items": ref("Box")}), "Box.parts: forgiven (DEFAULT_ON_ERROR)"),
        (changed(parts={"type": "array", "items": {"type": "string"}, **SKIPPING}), "Box.parts: narrower (elements:"),
        (changed(parts={"type": ["array", "null"], "items": ref("Box"), **SKIPPING}), "Box.parts: not nullable"),
        (changed(colour={"type": ["string", "null"], **ON_ERROR}), "Box.colour: wider (also green)"),
        (
            changed(labels={"type": "object", "additionalProperties": {"type": "number"}}),
            "Box.labels: forgiven (DEFAULT_ON_NULL)",
        ),
        ({"Colour": COLOUR, "Box": {**BOX, "required": ["parts"]}}, "Box.width: required"),
        ({"Colour": COLOUR, "Box": {**BOX, "required": ["parts", "width", "note"]}}, "Box.note: optional"),
        ({"Box": BOX, "Colour": {"oneOf": COLOUR["anyOf"][:2]}}, "Colour: wider (also other strings)"),
        ({"Box": BOX, "Colour": {"anyOf": COLOUR["anyOf"][1:]}}, "Colour: wider (also red)"),
        ({"Box": BOX, "Colour": COLOUR, "Lid": obj()}, "Lid: missing"),
        ({"Box": BOX, "Colour": COLOUR, "Odd": {"type": "string"}}, "Odd: missing"),
        ({"Colour": COLOUR, "Other": obj()}, "Box: extra"),
    ],
)
def test_whatever_the_schema_says_otherwise_is_a_difference(definitions: dict[str, Any], difference: str):
    found = told(definitions, BOXES)
    assert any(line.startswith(difference) for line in found), found


class Ball(Wire, tag_field="type", tag="ball"):
    radius: float
    name: Annotated[str, Alias("title")]


class Cube(Wire, tag_field="type", tag="cube"):
    name: Annotated[str, Alias("title")]


Thing: TypeAlias = Annotated[Open[Union[Ball, Cube]], DefaultTag("ball")]


def thing(*variants: dict[str, Any]) -> dict[str, Any]:
    return {"properties": {"name": {"type": "string"}, "_meta": META}, "required": ["name"], "anyOf": [*variants]}


THINGS = {
    "Ball": {"type": "object", "properties": {"radius": {"type": "number"}}, "required": ["radius"]},
    "Cube": {"type": "object"},
    "Thing": thing(tagged("ball", "Ball"), tagged("cube", "Cube"), {**OTHER, "required": ["type", "name"]}),
}
TAGGED = {"Thing": Thing, "Ball": Ball, "Cube": Cube}


def test_a_variant_repeats_what_belongs_to_its_union():
    assert told(THINGS, TAGGED) == [
        "Ball.name: alias (title)",
        "Ball: joined (_meta, name belong to Thing)",
        "Cube.name: alias (title)",
        "Cube: joined (_meta, name belong to Thing)",
        "Thing.type: default tag (ball)",
        "Thing: wider (unknown variants need not have what they must have there)",
    ]


def test_tags_are_compared_in_both_directions():
    definitions = {**THINGS, "Thing": thing(tagged("ball", "Ball"), tagged("cone", "Cube"))}
    found = told(definitions, TAGGED)
    assert {"Thing.type=cone: missing", "Thing.type=cube: extra"} <= set(found)


class Contents(Wire):
    """Two definitions, told apart by their members."""

    uri: str
    text: Defaulted[str] = UNSET
    blob: Defaulted[str] = UNSET


TEXT = {"type": "string"}
CONTENTS = {
    "Text": obj(("uri", "text"), uri=TEXT, text=TEXT),
    "Blob": obj(("uri", "blob"), uri=TEXT, blob=TEXT),
    "Contents": {"anyOf": [{"title": "text", "allOf": [ref("Text")]}, {"title": "blob", "allOf": [ref("Blob")]}]},
}


def test_one_struct_for_several_definitions_is_compared_with_all_of_them_at_once():
    assert told(CONTENTS, {"Contents": Contents}) == [
        "Blob: merged",
        "Contents.blob: forgiven (DEFAULT_ON_ERROR)",
        "Contents.text: forgiven (DEFAULT_ON_ERROR)",
        "Text: merged",
    ]


class Entries(Wire):
    uri: str
    text: Union[str, UnsetType] = UNSET
    blob: Union[str, UnsetType] = UNSET


def test_arrays_told_apart_by_their_elements_are_compared_by_those():
    arrays = [{"type": "array", "items": ref(name), "minItems": 1} for name in ("Text", "Blob")]
    definitions = {"Text": CONTENTS["Text"], "Blob": CONTENTS["Blob"], "List": {"anyOf": arrays}}
    same = {"List": Annotated[list[Entries], Meta(min_length=1)], "Entries": Entries}
    assert told(definitions, same) == ["Blob: merged", "Text: merged"]
    longer = {**same, "List": Annotated[list[Entries], Meta(min_length=2)]}
    assert told(definitions, longer)[1].startswith("List: other type (lengths [(1, None), (1, None)] there")


def test_methods_are_compared_by_sender_params_and_result():
    definitions = {"Box": BOX, "Colour": COLOUR, "Contents": CONTENTS["Text"]}
    theirs = {
        "box/open": OfficialMethod("client", "Box", "Box"),
        "box/close": OfficialMethod("client", "Box"),
        "box/burn": OfficialMethod("agent", "Box"),
    }
    ours = {
        "box/open": Method("box/open", "request", "agent", Contents, Box),
        "box/close": Method("box/close", "request", "client", Box, Box),
        "box/hide": Method("box/hide", "notification", "client", Box),
    }
    found = differences(Schema(definitions, theirs), {**BOXES, "Contents": Contents}, ours)
    assert [line for line in unexplained(found, []) if line.startswith("box/")] == [
        "box/burn: missing (method)",
        "box/close: other type (a request here)",
        "box/close: result (None there)",
        "box/hide: extra (method)",
        "box/open: params (Box there)",
        "box/open: sender (client there, agent here)",
    ]


def test_an_entry_explains_one_difference_and_is_unused_without_it(tmp_path: Path):
    listing = tmp_path / "differences.toml"
    listing.write_text(
        '[[difference]]\ndefinition = "Box"\nproperty = "note"\nwhat = "nullable"\nreason = "why not"\n'
        '[[difference]]\ndefinition = "Box"\nwhat = "extra"\nreason = "none"\n'
    )
    listed = entries(listing)
    assert listed == [Entry("Box", "nullable", "why not", "note"), Entry("Box", "extra", "none")]
    found = differences(Schema(changed(note={"type": "string"}), {}), BOXES, {})
    assert unexplained(found, listed) == []
    assert unused(found, listed) == ["Box: extra"]


def test_without_a_schema_the_comparison_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ACP_SCHEMAS", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="make interop"):
        schema_directory()
    monkeypatch.delenv("ACP_SCHEMAS")
    monkeypatch.setattr(official, "PLACES", ())
    with pytest.raises(FileNotFoundError, match="ACP_SCHEMAS"):
        schema_directory()
