"""Every frame on a connection against the official schema.

A test that has a connection hands `FrameValidator(version).on_frame(side)` to the peer on that side and, at the end,
asserts that there are no `violations`. Frames of the draft, and those that are wrong on purpose, are not for it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Collection, Iterator
from typing import Any, Literal, NamedTuple

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import best_match

from tests.parity.official import load
from tests.parity.shapes import FORMATS

Side = Literal["client", "agent"]
Pending = dict[tuple[Side, str], str]
"""The method of each request that waits for an answer, by its sender and its id as JSON."""

ENVELOPES = ({"id", "method", "params"}, {"method", "params"}, {"id", "result"}, {"id", "error"})

NUMBERS = FormatChecker(formats=())
ANY_STRING = {"sessionId", "messageId", "toolCallId", "text", "title"}


def _within(name: str, number: Any) -> bool:
    least, most = FORMATS[name]
    if isinstance(number, bool) or not isinstance(number, int | float):
        return True  # what kind of value it is, is not the format's business
    return (least is None or number >= least) and number <= (2**64 - 1 if most is None else most)


for _name in FORMATS:
    NUMBERS.checks(_name)(functools.partial(_within, _name))


class Violation(NamedTuple):
    sender: Side
    reason: str


@functools.cache
def validator(version: int, definition: str) -> Draft202012Validator:
    schema = {"$ref": f"#/$defs/{definition}", "$defs": load(version).definitions}
    return Draft202012Validator(schema, format_checker=NUMBERS)


def validate(value: Any, version: int, definition: str) -> Iterator[str]:
    """Why a value is not what a definition says; of several reasons the one that goes deepest."""
    if _is_valid(json.dumps(_without_words(value)), version, definition):
        return
    error = best_match(validator(version, definition).iter_errors(value))
    if error is not None:
        yield f"{definition} {error.json_path}: {error.message}"


@functools.lru_cache(maxsize=20_000)
def _is_valid(value: str, version: int, definition: str) -> bool:
    return validator(version, definition).is_valid(json.loads(value))


def _without_words(value: Any) -> Any:
    """The value with nothing in strings that may be any string: frames that differ in these alone are judged once."""
    if isinstance(value, dict):
        return {
            name: "" if name in ANY_STRING and isinstance(member, str) else _without_words(member)
            for name, member in value.items()
        }
    return [_without_words(member) for member in value] if isinstance(value, list) else value


def validate_frame(
    frame: bytes, version: int, sender: Side, pending: Pending, allowed: Collection[str] = ()
) -> list[str]:
    """What is wrong with a frame; remembers its requests in `pending` and forgets those it answers.

    `allowed` are methods beyond the stable schema, which may carry anything, as those that begin with `_` may.
    """
    try:
        content = json.loads(frame)
    except ValueError:
        return ["not JSON"]
    messages = content if isinstance(content, list) else [content]
    if not messages:
        return ["an empty batch"]
    return [
        reason for message in messages for reason in _message_violations(message, version, sender, pending, allowed)
    ]


def _message_violations(
    message: Any, version: int, sender: Side, pending: Pending, allowed: Collection[str]
) -> Iterator[str]:
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        yield "not a JSON-RPC 2.0 message"
        return
    members = message.keys() - {"jsonrpc"}
    if members not in ENVELOPES and members | {"params"} not in ENVELOPES:
        yield f"no message has exactly the members {', '.join(sorted(members))}"
        return
    if "id" in message and not ("error" in message and message["id"] is None):
        yield from validate(message["id"], version, "RequestId")
    if "method" in message:
        yield from _call_violations(message, version, sender, pending, allowed)
    else:
        yield from _answer_violations(message, version, sender, pending, allowed)


def _call_violations(
    message: dict[str, Any], version: int, sender: Side, pending: Pending, allowed: Collection[str]
) -> Iterator[str]:
    name = message["method"]
    if "id" in message:
        pending[sender, json.dumps(message["id"])] = name
    if _is_beyond(name, allowed):
        return
    method = load(version).methods.get(name)
    if method is None or method.params is None:
        yield f"{name}: no method of v{version}"
        return
    if method.sender not in (sender, "either"):
        yield f"{name}: not for the {sender} to send"
    if ("id" in message) is (method.result is None):
        yield f"{name}: a {'notification' if method.result is None else 'request'}, sent as the other"
    yield from (f"{name}: {reason}" for reason in validate(message.get("params", {}), version, method.params))


def _answer_violations(
    message: dict[str, Any], version: int, sender: Side, pending: Pending, allowed: Collection[str]
) -> Iterator[str]:
    asker: Side = "agent" if sender == "client" else "client"
    name = pending.pop((asker, json.dumps(message["id"])), None)
    if "error" in message:
        if name is None and message["id"] is not None:
            yield "an error for no open request"
        yield from (f"{name}: {reason}" for reason in validate(message["error"], version, "Error"))
        return
    if name is None:
        yield "an answer to no open request"
        return
    method = load(version).methods.get(name)
    if not _is_beyond(name, allowed) and method is not None and method.result is not None:
        yield from (f"{name}: {reason}" for reason in validate(message["result"], version, method.result))


def _is_beyond(name: str, allowed: Collection[str]) -> bool:
    return name.startswith("_") or name in allowed


class FrameValidator:
    """Watches both directions of one connection."""

    def __init__(self, version: int, allowed: Collection[str] = ()) -> None:
        self.version = version
        self.allowed = allowed
        self.violations: list[Violation] = []
        self.pending: Pending = {}

    def observe(self, sender: Side, frame: bytes) -> None:
        reasons = validate_frame(frame, self.version, sender, self.pending, self.allowed)
        self.violations += [Violation(sender, reason) for reason in reasons]

    def on_frame(self, side: Side) -> Callable[[Literal["sent", "received"], bytes], None]:
        """The observer for the peer on one side; for two peers of one connection, take only one of them."""
        other: Side = "agent" if side == "client" else "client"
        return lambda direction, frame: self.observe(side if direction == "sent" else other, frame)

    def violations_of(self, side: Side) -> list[str]:
        """Of one side only, for a connection whose other side is not ours."""
        return [violation.reason for violation in self.violations if violation.sender == side]
