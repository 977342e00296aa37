"""A recorded conversation, played again: the agent's side for a client, or the client's side against an agent.

Two conversations are the same apart from what differs from one run to the next: generated ids become names in the order of
their first appearance, times and UUIDs become marks, and adjacent pieces of one text are joined.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from typing import Any, cast

from accord.client.target import AnyTarget
from accord.testing.frame_taps import Peek, Side, frame_of, other
from accord.testing.recording import Recording
from accord.testing.scripted_client import ScriptedClient
from accord.testing.scripted_end import PATIENCE, AgentEnd, ReceivedFrame

_GENERATED = frozenset(
    [
        "sessionId",
        "messageId",
        "toolCallId",
        "terminalId",
        "planId",
        "compactionId",
        "elicitationId",
        "cursor",
        "nextCursor",
    ]
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
        seen = Peek(frame)
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


def _first_difference(recorded: list[Any], now: list[Any]) -> int | None:
    """The first statement that differs for sure; the newest may still grow."""
    for index, (one, two) in enumerate(zip(recorded, now, strict=False)):
        may_grow = index == len(now) - 1 and _text_of(two) is not None and _text_of(one) is not None
        if one != two and not (may_grow and _with_text(one, "") == _with_text(two, "")):
            return index
    return None


def _differences(recorded: list[Any], now: list[Any]) -> str:
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


_ABSENT = object()


def _value(value: Any) -> str:
    return "nothing" if value is _ABSENT else _line(value)


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


def _renamed(value: Any, rename: Callable[[str, str], str | None], member: str = "") -> Any:
    """The value with every string that has another name replaced; `rename` gets its member and the string."""
    if isinstance(value, dict):
        return {key: _renamed(each, rename, key) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_renamed(each, rename, member) for each in cast("list[Any]", value)]
    return (rename(member, value) or value) if isinstance(value, str) else value


async def replay(
    recording: Recording, target: AnyTarget, *, ignore: Collection[str] = (), patience: float = PATIENCE
) -> Recording:
    """Say to an agent what the client said, and raise an AssertionError if it answers otherwise than it did.

    Generated ids, times and how a text is cut don't count, nor do members whose names are in `ignore`. Returns what was
    said this time.
    """
    client = ScriptedClient(target, patience=patience)
    async with client:
        playing = _Playing(client, ignore)
        for entry in recording.entries:
            if entry.closed is not None:
                break
            if entry.sender == "client":
                await playing.catch_up()
                playing.send(entry.frame)
            else:
                playing.recorded.add("agent", entry.frame)
        await playing.catch_up(to_the_end=True)
    return client.recording


class _Playing:
    """The client's side, and what the agent has said: before, and now."""

    def __init__(self, client: ScriptedClient, ignore: Collection[str]) -> None:
        self.recorded = Account(ignore)
        self._now = Account(ignore)
        self._client = client
        self._taken = 0

    def send(self, frame: bytes) -> None:
        """What the client said, with the ids of now."""
        seen = Peek(frame)
        self.recorded.add("client", frame)
        sent = frame_of(self._translated(seen)) if isinstance(seen.json, dict) else frame
        self._now.add("client", sent)
        self._client.send(sent)

    async def catch_up(self, *, to_the_end: bool = False) -> None:
        """Wait until the agent has said as much as it had said here."""
        try:
            await self._client.wait_until(lambda: self._has_caught_up(to_the_end) or None, "what the agent said next")
        except AssertionError as error:
            raise self._different(str(error).splitlines()[0]) from None

    def _has_caught_up(self, to_the_end: bool) -> bool:
        for heard in self._client.received[self._taken :]:
            self._now.add("agent", heard.raw)
            self._taken += 1
        before, now = self.recorded.statements["agent"], self._now.statements["agent"]
        if _first_difference(before, now) is not None or len(now) > len(before):
            raise self._different("the agent says something else than it did")
        return before == now if to_the_end else len(now) == len(before)

    def _different(self, why: str) -> AssertionError:
        before, now = self.recorded.statements["agent"], self._now.statements["agent"]
        return AssertionError(f"{why}\n{_differences(before, now)}")

    def _translated(self, seen: Peek) -> dict[str, Any]:
        message = cast("dict[str, Any]", _renamed(seen.json, self._name_now))
        if seen.is_answer:
            number = self.recorded.number_of("agent", seen.id)
            message["id"] = seen.id if number is None else self._now.id_of("agent", number)
        return message

    def _name_now(self, member: str, value: str) -> str | None:
        name = self.recorded.name_of(member, value)
        return None if name is None else self._now.value_of(name)


class ReplayedAgent(AgentEnd):
    """A target for `Client`: says what the agent said, each time as soon as the client has said what came before.

    What the client says is matched by method and by the id that it answers; `check()` raises if the rest differs, or if
    something recorded was never said. A request that the recording doesn't have is refused.
    """

    def __init__(self, recording: Recording, *, ignore: Collection[str] = (), patience: float = PATIENCE) -> None:
        super().__init__(patience)
        self._played = recording
        self._ignore = ignore
        self._start()

    def begun(self) -> None:
        """Called when a connection begins."""
        self._start()
        self._begin(self._play())

    def check(self) -> None:
        """Raises an AssertionError if the client has not said what it said when it was recorded."""
        super().check()
        before, now = self._recorded.statements["client"], self._now.statements["client"]
        if before != now:
            raise AssertionError(f"the client says something else than it did\n{_differences(before, now)}")
        if self._expected:
            unsaid = ", ".join(str(each) for each in self._expected[:3])
            raise AssertionError(f"the client has not said: {unsaid}\n{self._story()}")

    def _start(self) -> None:
        self._entries = list(self._played.entries)
        self.received.clear()
        self._recorded, self._now = Account(self._ignore), Account(self._ignore)
        self._ids: list[tuple[Any, Any]] = []
        said = [entry.frame for entry in self._entries if entry.sender == "client" and entry.closed is None]
        self._expected = [Peek(frame) for frame in said]

    async def _play(self) -> None:
        with suppress(AssertionError):  # the client hung up, or says something else: `check` tells what
            await self._say_and_hear()

    async def _say_and_hear(self) -> None:
        for entry in self._entries:
            if entry.sender == "client":
                if entry.closed is None:
                    await self._hear(self._expected[0])
            elif entry.closed is not None:
                self.die(entry.exit_code, entry.stderr, entry.closed)
            else:
                self._recorded.add("agent", entry.frame)
                said = self._translated(Peek(entry.frame))
                self._now.add("agent", said)
                self.send(said)

    async def _hear(self, expected: Peek) -> None:
        def fits(heard: ReceivedFrame) -> bool:
            if expected.is_answer:
                return heard.is_answer and heard.id == expected.id
            return heard.method == expected.method and (expected.is_json or heard.raw == expected.raw)

        heard = await self.next(where=fits)
        self._expected.pop(0)
        if expected.is_request:
            self._ids.append((expected.id, heard.id))
        self._recorded.add("client", expected.raw)
        self._now.add("client", heard.raw)

    def _heard(self, heard: ReceivedFrame) -> None:
        waiting = sum(1 for each in self.received if each.method == heard.method and not each.is_taken)
        known = sum(1 for each in self._expected if each.method == heard.method)
        if heard.is_request and waiting > known:
            self._failed(heard, LookupError(f"{heard} is not in the recording"))

    def _translated(self, seen: Peek) -> bytes:
        if not seen.is_answer:
            return seen.raw
        ours = next((now for before, now in reversed(self._ids) if before == seen.id), seen.id)
        return seen.raw if ours == seen.id else frame_of({**seen.json, "id": ours})
