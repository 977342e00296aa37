"""The fields of a form: parsed leniently from a flat JSON Schema object, and validated when they are sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One field. `choices` are values with their names."""

    name: str
    title: str
    kind: Literal["text", "number", "integer", "boolean", "choice", "choices"]
    description: str = ""
    is_required: bool = False
    is_secret: bool = False
    default: Any = None
    choices: list[tuple[str, str]] = []
    schema: Mapping[str, Any] = {}

    @property
    def initial_text(self) -> str:
        """The default of a text or number field. Empty for a secret field, which would hide it."""
        return "" if self.default is None or self.is_secret else str(self.default)


def fields_of(schema: Mapping[str, Any]) -> list[Field]:
    """The fields in the order of the schema. Properties that are not objects are left out."""
    required: Any = schema.get("required", [])
    properties: Any = schema.get("properties", {})
    if not isinstance(properties, dict):
        return []
    return [
        _field(str(name), cast("dict[str, Any]", value), isinstance(required, list) and name in required)
        for name, value in cast("dict[Any, Any]", properties).items()
        if isinstance(value, dict)
    ]


def _field(name: str, schema: dict[str, Any], is_required: bool) -> Field:
    choices = _choices(schema)
    kind: Any = schema.get("type")
    items: Any = schema.get("items")
    if kind == "array":
        choices = _choices(cast("dict[str, Any]", items)) if isinstance(items, dict) else []
        kind = "choices" if choices else "text"
    elif choices:
        kind = "choice"
    elif kind not in ("number", "integer", "boolean"):
        kind = "text"
    return Field(
        name=name,
        title=str(schema.get("title") or name),
        kind=kind,
        description=str(schema.get("description") or ""),
        is_required=is_required,
        is_secret=schema.get("format") == "password" or bool(schema.get("writeOnly")),
        default=schema.get("default"),
        choices=choices,
        schema=schema,
    )


def _choices(schema: dict[str, Any]) -> list[tuple[str, str]]:
    for key in ("oneOf", "anyOf"):
        options: Any = schema.get(key)
        if isinstance(options, list):
            objects = [cast("dict[str, Any]", each) for each in cast("list[Any]", options) if isinstance(each, dict)]
            return [
                (str(each["const"]), str(each.get("title") or each["const"])) for each in objects if "const" in each
            ]
    values: Any = schema.get("enum")
    names: Any = schema.get("enumNames")
    if not isinstance(values, list):
        return []
    texts = [str(value) for value in cast("list[Any]", values)]
    titles = [str(name) for name in cast("list[Any]", names)] if isinstance(names, list) else texts
    return list(zip(texts, titles if len(titles) == len(texts) else texts, strict=True))


def read_field(field: Field, value: Any) -> Any:
    """Validate the value of a widget; returns None to send none. ValueError says what is wrong."""
    if field.kind == "boolean":
        return bool(value)
    if value in (None, "", []):
        if field.is_required:
            raise ValueError("required")
        return None
    match field.kind:
        case "number" | "integer":
            return _number(field, str(value))
        case "text":
            return _text(field, str(value))
        case "choices":
            _check_bounds(field, len(value), "minItems", "maxItems", "choose")
            return value
        case _:
            return value


def _number(field: Field, text: str) -> float | int:
    try:
        value = int(text) if field.kind == "integer" else float(text)
    except ValueError:
        raise ValueError("must be an integer" if field.kind == "integer" else "must be a number") from None
    _check_bounds(field, value, "minimum", "maximum", "must be")
    return value


def _text(field: Field, text: str) -> str:
    _check_bounds(field, len(text), "minLength", "maxLength", "characters:")
    pattern: Any = field.schema.get("pattern")
    # The agent chooses the pattern: only patterns that cannot take long are used.
    if isinstance(pattern, str) and len(pattern) < 100 and not re.search(r"[+*}]\)?[+*{]", pattern):
        try:
            matches = re.search(pattern, text[:1000]) is not None
        except re.error:
            return text
        if not matches:
            raise ValueError(f"must match the pattern {pattern}")
    return text


def _check_bounds(field: Field, value: float, minimum: str, maximum: str, what: str) -> None:
    low, high = field.schema.get(minimum), field.schema.get(maximum)
    if isinstance(low, int | float) and value < low:
        raise ValueError(f"{what} at least {low}")
    if isinstance(high, int | float) and value > high:
        raise ValueError(f"{what} at most {high}")
