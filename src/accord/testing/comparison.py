"""Whether two conversations say the same, apart from what differs from one run to the next.

Ids that somebody generates become names in the order of their first appearance, times and UUIDs become marks, and adjacent
pieces of one text are joined: how a text was cut depends on the clock.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, cast

from accord.testing.frames import Peek, Side, other, peek

__all__ = ["Account", "differences", "renamed", "told_apart"]

_GENERATED = frozenset(
    (
        "sessionId",
        "messageId",
        "toolCallId",
        "terminalId",
        "planId",
        "compactionId",
        "elicitationId",
        "cursor",
        "nextCursor",
    )
)
_LONG_ID = 12
_MARKED = frozenset(("correlationId", "traceparent"))
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


class Account:
    """What has been said on one connection; `statements` are those of each side, made comparable."""

    def __init__(self, ignore: Collection[str] = ()) -> None:
        self.statements: dict[Side, list[Any]] = {"agent": [], "client": []}
        self._ignore = frozenset(ignore)
        self._names: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._asked: dict[Side, list[Any]] = {"agent": [], "client": []}

    def add(self, sender: Side, frame: bytes) -> None:
        """Take in what was said next."""
        seen = peek(frame)
        if not seen.is_json:
            self._append(sender, {"not JSON": repr(bytes(frame))})
        elif isinstance(seen.json, dict):
            self._append(sender, self._comparable(self._with_number(sender, seen)))
        else:
            self._append(sender, self._comparable(seen.json))

    def name_of(self, member: str, value: str) -> str | None:
        """The name of a generated id. Outside of the members that hold them, short ones may be something else."""
        return self._names.get(value) if member in _GENERATED or len(value) >= _LONG_ID else None

    def value_of(self, name: str) -> str | None:
        """The generated id that has a name."""
        return self._values.get(name)

    def number_of(self, asker: Side, id: Any) -> int | None:
        """Which of its side's requests had this id."""
        asked = self._asked[asker]
        return asked.index(id) if id in asked else None

    def id_of(self, asker: Side, number: int) -> Any:
        """The id of a request."""
        return self._asked[asker][number]

    def _with_number(self, sender: Side, seen: Peek) -> dict[str, Any]:
        message = dict(cast("dict[str, Any]", seen.json))
        if seen.is_request:
            self._asked[sender].append(seen.id)
            message["id"] = f"#{len(self._asked[sender])}"
        elif seen.is_answer:
            number = self.number_of(other(sender), seen.id)
            message["id"] = seen.id if number is None else f"#{number + 1}"
        return message

    def _append(self, sender: Side, statement: Any) -> None:
        said = self.statements[sender]
        text = _text_of(statement)
        if text is not None and said and _text_of(said[-1]) is not None:
            joined = _with_text(statement, "")
            if joined == _with_text(said[-1], ""):
                said[-1] = _with_text(statement, f"{_text_of(said[-1])}{text}")
                return
        said.append(statement)

    def _comparable(self, value: Any, member: str = "") -> Any:
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value).items()
            return {key: self._comparable(each, key) for key, each in members if key not in self._ignore}
        if isinstance(value, list):
            return [self._comparable(each, member) for each in cast("list[Any]", value)]
        if not isinstance(value, str):
            return value
        if member in _MARKED:
            return f"<{member}>"
        if member in _GENERATED:
            return self._named(member, value)
        return self.name_of(member, value) or _UUID.sub("<uuid>", _TIME.sub("<time>", value))

    def _named(self, member: str, value: str) -> str:
        if value not in self._names:
            self._counts[member] = self._counts.get(member, 0) + 1
            name = self._names[value] = f"<{member} {self._counts[member]}>"
            self._values[name] = value
        return self._names[value]


def told_apart(recorded: list[Any], now: list[Any]) -> int | None:
    """The first statement that differs for sure; the newest may still grow."""
    for index, (one, two) in enumerate(zip(recorded, now, strict=False)):
        may_grow = index == len(now) - 1 and _text_of(two) is not None and _text_of(one) is not None
        if one != two and not (may_grow and _with_text(one, "") == _with_text(two, "")):
            return index
    return None


def differences(recorded: list[Any], now: list[Any]) -> str:
    """What differs, for people: each member of the first statement that is another, and the lines around it."""
    pairs = zip(recorded, now, strict=False)
    first = next((pair for pair in pairs if pair[0] != pair[1]), None)
    details = [] if first is None else [f"  {line}" for line in _members("$", *first)]
    before, after = [_line(each) for each in recorded], [_line(each) for each in now]
    return "\n".join([*details, *list(difflib.unified_diff(before, after, "recorded", "now", lineterm="", n=2))])


def _members(path: str, one: Any, two: Any) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(two, dict):
        before, after = cast("dict[str, Any]", one), cast("dict[str, Any]", two)
        for key in [*before, *(key for key in after if key not in before)]:
            yield from _members(f"{path}.{key}", before.get(key, _ABSENT), after.get(key, _ABSENT))
    elif isinstance(one, list) and isinstance(two, list) and len(cast("list[Any]", one)) == len(cast("list[Any]", two)):
        for index, (before, after) in enumerate(zip(cast("list[Any]", one), cast("list[Any]", two), strict=True)):
            yield from _members(f"{path}[{index}]", before, after)
    elif one != two:
        yield f"{path}: recorded {_value(one)}, now {_value(two)}"


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


_ABSENT = _Absent()


def _value(value: Any) -> str:
    return repr(value) if value is _ABSENT else _line(value)


def _line(statement: Any) -> str:
    return json.dumps(statement, ensure_ascii=False)


def _text_of(statement: Any) -> str | None:
    """The text of an update that is a piece of a text."""
    try:
        update = statement["params"]["update"]
        is_piece = update["sessionUpdate"].endswith("_chunk") and update["content"]["type"] == "text"
        return update["content"]["text"] if is_piece else None
    except (KeyError, TypeError, AttributeError):
        return None


def _with_text(statement: Any, text: str) -> Any:
    update = statement["params"]["update"]
    replaced = {**update, "content": {**update["content"], "text": text}}
    return {**statement, "params": {**statement["params"], "update": replaced}}


def renamed(value: Any, rename: Callable[[str, str], str | None], member: str = "") -> Any:
    """The value with every string that has another name replaced; `rename` gets its member and the string."""
    if isinstance(value, dict):
        return {key: renamed(each, rename, key) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [renamed(each, rename, member) for each in cast("list[Any]", value)]
    return (rename(member, value) or value) if isinstance(value, str) else value
