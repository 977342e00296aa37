"""JSON-RPC batches: several messages in one frame, as an array.

Laws:

- The entries of a received batch are handled in their order. Its responses are sent as one array, when the last of its
  requests is done; a batch that needs no response gets none, not even an empty array.
- A batch is sent only by an explicit call, and never with a method that changes what may be sent next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Union

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.jsonrpc.error_codes import INVALID_REQUEST
from accord.jsonrpc.messages import InvalidMessage, Message, Notification, Request

BATCH_LIMIT = 10_000
"""The most entries of a batch. Without a limit, two bytes of garbage would cost a hundred bytes of response."""

NEVER_BATCHED = frozenset(
    ("initialize", "authenticate", "auth/login", "session/new", "session/load", "session/resume", "session/prompt")
)


class Batch(msgspec.Struct, gc=False):
    """The entries of a received array in their order; never empty."""

    entries: list[Message]


class BatchRequest(msgspec.Struct):
    """A request to be sent in a batch, which gives it its id."""

    method: str
    params: Any = UNSET


class InboundBatch(msgspec.Struct, eq=False):
    """A received batch: its responses so far, and how many of its requests are pending."""

    responses: list[bytes]
    pending: int = 0

    def frame(self) -> bytes:
        return b"[" + b",".join(self.responses) + b"]"

    def complete(self, response: bytes) -> bytes | None:
        """Add the response to a pending request; the frame to send if it was the last one. RPC-57"""
        self.responses.append(response)
        self.pending -= 1
        return None if self.pending else self.frame()


def requests_and_notifications(
    entries: Sequence[BatchRequest | Notification], first_id: int
) -> list[Request | Notification]:
    """The messages of a batch to send; raises ValueError if it is empty or has a method that must be sent alone."""
    if not entries:
        raise ValueError("a batch needs at least one entry")
    refused = [entry.method for entry in entries if entry.method in NEVER_BATCHED]  # RPC-63
    if refused:
        raise ValueError(f"{', '.join(refused)} must be sent alone, not in a batch")
    messages: list[Request | Notification] = []
    for entry in entries:
        if isinstance(entry, BatchRequest):
            messages.append(Request(first_id, entry.method, entry.params))
            first_id += 1
        else:
            messages.append(entry)
    return messages


_read_list = msgspec.json.Decoder(list[Raw]).decode


def read_entries(array: Raw, commas: int) -> list[Raw] | InvalidMessage:
    """The undecoded entries of an array; `commas` is an upper bound of its separators."""
    try:
        entries = _read_list(array) if commas < BATCH_LIMIT else _read_at_most(BATCH_LIMIT)(array)
    except msgspec.ValidationError:
        return InvalidMessage(INVALID_REQUEST, f"a batch may have at most {BATCH_LIMIT} entries")
    return entries or InvalidMessage(INVALID_REQUEST, "a batch needs at least one entry")  # RPC-55


@cache
def _read_at_most(limit: int) -> Callable[[Raw], list[Raw]]:
    # A list would be built before its length is checked: 64 MiB of "1,1,1" as 2 GiB of objects. A struct encoded as an
    # array rejects the first element too many.
    fields = [(f"entry_{number}", Union[Raw, UnsetType], UNSET) for number in range(limit)]
    read = msgspec.json.Decoder(
        msgspec.defstruct("Entries", fields, array_like=True, forbid_unknown_fields=True, gc=False)
    ).decode
    return lambda array: [entry for entry in msgspec.structs.astuple(read(array)) if entry is not UNSET]
