"""The fields of a form: a flat JSON Schema object read tolerantly, and what was entered checked against it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec

__all__ = ["Field", "fields_of", "read_field"]


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to enter. `choices` are values with their names."""

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
    def entered(self) -> str:
        """What stands in a field for text or a number before anybody writes there. Nobody could see it in a secret one."""
        return "" if self.default is None or self.is_secret else str(self.default)


def fields_of(schema: Mapping[str, Any]) -> list[Field]:
    """In the schema's order; what is no object in `properties` is left out."""
    required: Any = schema.get("required", [])
    properties: Any = schema.get("properties", {})
    if not isinstance(properties, dict):
        return []
    return [
        _field(str(name), cast("dict[str, Any]", found), isinstance(required, list) and name in required)
        for name, found in cast("dict[Any, Any]", properties).items()
        if isinstance(found, dict)
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
            named = [
                cast("dict[str, Any]", option) for option in cast("list[Any]", options) if isinstance(option, dict)
            ]
            return [(str(each["const"]), str(each.get("title") or each["const"])) for each in named if "const" in each]
    values: Any = schema.get("enum")
    names: Any = schema.get("enumNames")
    if not isinstance(values, list):
        return []
    texts = [str(value) for value in cast("list[Any]", values)]
    known = [str(name) for name in cast("list[Any]", names)] if isinstance(names, list) else texts
    return list(zip(texts, known if len(known) == len(texts) else texts, strict=True))


def read_field(field: Field, entered: Any) -> Any:
    """The value to send, None to send none; ValueError says what is wrong with it."""
    if field.kind == "boolean":
        return bool(entered)
    if entered in (None, "", []):
        if field.is_required:
            raise ValueError("please fill it in")
        return None
    match field.kind:
        case "number" | "integer":
            return _number(field, str(entered))
        case "text":
            return _text(field, str(entered))
        case "choices":
            _bounds(field, len(entered), "minItems", "maxItems", "choose")
            return entered
        case _:
            return entered


def _number(field: Field, entered: str) -> float | int:
    try:
        value = int(entered) if field.kind == "integer" else float(entered)
    except ValueError:
        raise ValueError("a whole number, please" if field.kind == "integer" else "a number, please") from None
    _bounds(field, value, "minimum", "maximum", "")
    return value


def _text(field: Field, entered: str) -> str:
    _bounds(field, len(entered), "minLength", "maxLength", "characters:")
    pattern: Any = field.schema.get("pattern")
    # Only patterns that cannot take long: an agent chooses them.
    if isinstance(pattern, str) and len(pattern) < 100 and not re.search(r"[+*}]\)?[+*{]", pattern):
        try:
            fits = re.search(pattern, entered[:1000]) is not None
        except re.error:
            return entered
        if not fits:
            raise ValueError(f"it must look like {pattern}")
    return entered


def _bounds(field: Field, value: float, least: str, most: str, what: str) -> None:
    low, high = field.schema.get(least), field.schema.get(most)
    if isinstance(low, int | float) and value < low:
        raise ValueError(f"{what} at least {low}".strip())
    if isinstance(high, int | float) and value > high:
        raise ValueError(f"{what} at most {high}".strip())
