"""A v2 dialect and what it says."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from accord.dialects.v2 import V2
from accord.session.capabilities import ClientCapabilities
from accord.session.transcript import Transcript
from accord.session.updates import Patch, PromptPatch
from tests.dialects.json_values import plain, raw

SESSION = "session-1"


def speaker(strict: bool = False) -> V2:
    return V2(strict=strict, client=ClientCapabilities(terminal_login=True))


def updates_of(
    dialect: V2, *reports: Patch | PromptPatch, transcript: Transcript | None = None
) -> list[dict[str, Any]]:
    """The `update` objects that tell the reports, one after the other, to a session's listener."""
    transcript = transcript or Transcript()
    changes = [transcript.apply(report) for report in reports]
    return [plain(params)["update"] for change in changes for params in dialect.update_to_wire(SESSION, change)]


def reports_of(dialect: V2, **update: Any) -> list[Patch]:
    """What an `update` object reports."""
    return dialect.update_from_wire(raw({"sessionId": SESSION, "update": update}))[1]


def transcript_of(*updates: dict[str, Any]) -> Transcript:
    """What a client has after the `update` objects."""
    dialect, transcript = V2(), Transcript()
    for update in updates:
        for report in reports_of(dialect, **update):
            transcript.apply(report)
    assert dialect.notes == []
    return transcript


def asked_of(dialect: V2, method: str, params: Any) -> Any:
    """What a request asks."""
    sender: Any = V2.METHODS[method].sender
    return dialect.request_from_wire(method, params if isinstance(params, Raw) else raw(params), sender)


def rows_lost(dialect: V2) -> list[str]:
    return [loss.row for loss in dialect.losses]
