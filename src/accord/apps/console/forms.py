"""Questions of an agent (elicitation), asked line by line at the terminal."""

from __future__ import annotations

from typing import Any, cast

from accord.apps.console.person import Person
from accord.apps.console.sanitising import one_line, visible
from accord.client.questions import OnElicitation
from accord.session.requests import Elicit, ElicitationAnswer

__all__ = ["asked_of"]

_DECLINED = ElicitationAnswer(action="decline")


def asked_of(person: Person) -> OnElicitation:
    """Who answers elicitations: a form is asked field by field, a link is shown and confirmed."""

    async def answer(asked: Elicit) -> ElicitationAnswer:
        async with person.attention():
            person.tell(f"The agent asks: {visible(asked.message)}\n")
            if asked.mode == "url":
                person.tell(f"  {one_line(asked.url or '', 2000)}\n")
                typed = await person.ask("Open it yourself, then press Enter; n declines: ")
                return _DECLINED if typed is None or typed.strip().lower() in ("n", "no") else _accepted(None)
            return await _form(person, asked.schema or {})

    return answer


async def _form(person: Person, schema: dict[str, Any]) -> ElicitationAnswer:
    required = cast("list[str]", schema.get("required") or [])
    properties = cast("dict[str, dict[str, Any]]", schema.get("properties") or {})
    if not properties:
        typed = await person.ask("Enter accepts, n declines: ")
        return _DECLINED if typed is None or typed.strip().lower() in ("n", "no") else _accepted({})
    person.tell("Enter leaves a field out or takes its default; a single . declines.\n")
    values: dict[str, Any] = {}
    for name, field in properties.items():
        while True:
            typed = await person.ask(_question(name, field, name in required))
            if typed is None or typed.strip() == ".":
                return _DECLINED
            if not typed.strip():
                if "default" in field:
                    values[name] = field["default"]
                elif name in required:
                    person.tell("  this one is needed\n")
                    continue
                break
            try:
                values[name] = _value(typed.strip(), field)
            except ValueError as wrong:
                person.tell(f"  {wrong}\n")
                continue
            break
    return _accepted(values)


def _accepted(content: dict[str, Any] | None) -> ElicitationAnswer:
    return ElicitationAnswer(action="accept", content=content)


def _choices(field: dict[str, Any]) -> list[tuple[str, str]]:
    """Values and the words for them."""
    items = cast("dict[str, Any]", field.get("items") or {}) if field.get("type") == "array" else field
    titled = cast("list[dict[str, str]]", items.get("oneOf") or items.get("anyOf") or [])
    bare = cast("list[str]", items.get("enum") or [])
    return [(each["const"], each.get("title") or each["const"]) for each in titled] or [(each, each) for each in bare]


def _question(name: str, field: dict[str, Any], is_required: bool) -> str:
    title = one_line(str(field.get("title") or name), 80)
    about = one_line(str(field.get("description") or ""), 200)
    lines = [f"{title}{': ' if about else ''}{about}{' (needed)' if is_required else ''}"]
    lines += [f"  {number}  {one_line(title, 80)}" for number, (_, title) in enumerate(_choices(field), start=1)]
    kind = {"boolean": "y or n", "integer": "a whole number", "number": "a number", "array": "numbers, with commas"}
    hint = "a number" if _choices(field) and field.get("type") != "array" else kind.get(str(field.get("type")), "")
    default = f" [{one_line(str(field['default']), 40)}]" if "default" in field else ""
    return "\n".join([*lines, f"{hint}{default}> "])


def _value(typed: str, field: dict[str, Any]) -> Any:
    """ValueError says what was expected."""
    choices = _choices(field)
    if field.get("type") == "array":
        return [_chosen(part.strip(), choices) for part in typed.split(",") if part.strip()]
    if choices:
        return _chosen(typed, choices)
    if field.get("type") == "boolean":
        if typed.lower() not in ("y", "yes", "true", "n", "no", "false"):
            raise ValueError("y or n?")
        return typed.lower() in ("y", "yes", "true")
    if field.get("type") in ("integer", "number"):
        try:
            number = int(typed) if field["type"] == "integer" else float(typed)
        except ValueError:
            raise ValueError("that is no number") from None
        if number < field.get("minimum", number) or number > field.get("maximum", number):
            raise ValueError(f"from {field.get('minimum', 'any')} to {field.get('maximum', 'any')}")
        return number
    return typed


def _chosen(typed: str, choices: list[tuple[str, str]]) -> str:
    if typed.isdecimal() and 1 <= int(typed) <= len(choices):
        return choices[int(typed) - 1][0]
    for value, title in choices:
        if typed in (value, title):
            return value
    raise ValueError(f"a number from 1 to {len(choices)}")
