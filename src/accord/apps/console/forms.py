"""Questions of an agent (elicitation), asked line by line at the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from accord.apps.console.person import Person
from accord.apps.console.sanitising import exact, exact_line
from accord.client.questions import OnElicitation
from accord.session.requests import Elicit, ElicitationAnswer

__all__ = ["asked_of"]

_SHORT_DEFAULT = 40
_DECLINED = ElicitationAnswer(action="decline")


def asked_of(person: Person, on_asked: Callable[[], None]) -> OnElicitation:
    """Who answers elicitations: a form is asked field by field, a link is shown and confirmed. `on_asked` hears of each."""

    async def answer(asked: Elicit) -> ElicitationAnswer:
        on_asked()
        async with person.attention():
            lines = f"The agent asks: {exact(asked.message, tab='    ')}".splitlines()
            lines += [f"  {exact_line(asked.url or '')}"] if asked.mode == "url" else []
            if not await person.reads(lines):
                return _DECLINED
            if asked.mode == "url":
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
        if not await person.reads(_about(name, field, name in required)):
            return _DECLINED
        while True:
            typed = await person.ask(_question(field))
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


def _about(name: str, field: dict[str, Any], is_required: bool) -> list[str]:
    title = exact_line(str(field.get("title") or name))
    about = exact_line(str(field.get("description") or ""))
    lines = [f"{title}{': ' if about else ''}{about}{' (needed)' if is_required else ''}"]
    lines += [f"  {number}  {exact_line(title)}" for number, (_, title) in enumerate(_choices(field), start=1)]
    default = exact_line(str(field.get("default", "")))
    return [*lines, f"  by default: {default}"] if len(default) > _SHORT_DEFAULT else lines


def _question(field: dict[str, Any]) -> str:
    kind = {"boolean": "y or n", "integer": "a whole number", "number": "a number", "array": "numbers, with commas"}
    hint = "a number" if _choices(field) and field.get("type") != "array" else kind.get(str(field.get("type")), "")
    default = f" [{exact_line(str(field['default']), _SHORT_DEFAULT)}]" if "default" in field else ""
    return f"{hint}{default}> "


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
        low, high = (
            each if isinstance(each := field.get(bound), int | float) else None for bound in ("minimum", "maximum")
        )
        if (low is not None and number < low) or (high is not None and number > high):
            raise ValueError(f"from {'any' if low is None else low} to {'any' if high is None else high}")
        return number
    return typed


def _chosen(typed: str, choices: list[tuple[str, str]]) -> str:
    if typed.isdecimal() and 1 <= int(typed) <= len(choices):
        return choices[int(typed) - 1][0]
    for value, title in choices:
        if typed in (value, title):
            return value
    raise ValueError(f"a number from 1 to {len(choices)}")
