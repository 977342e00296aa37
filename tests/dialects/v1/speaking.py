"""A v1 dialect with a client that can show everything, and what it says."""

from __future__ import annotations

from typing import Any

from accord.dialects.v1 import V1
from accord.session.capabilities import ClientCapabilities
from accord.session.transcript import Transcript
from accord.session.updates import Report
from tests.dialects.json_values import plain, raw

ABLE = ClientCapabilities(
    read_files=True,
    write_files=True,
    terminals=True,
    terminal_login=True,
    form_elicitation=True,
    url_elicitation=True,
    boolean_options=True,
    notices=True,
    compaction=True,
)

SESSION = "sess_1"


def speaker(strict: bool = False, client: ClientCapabilities = ABLE) -> V1:
    return V1(strict=strict, client=client)


def updates_of(dialect: V1, *reports: Report, transcript: Transcript | None = None) -> list[dict[str, Any]]:
    """The `update` objects that tell the reports, one after the other, to a session's listener."""
    transcript = transcript or Transcript()
    changes = [transcript.apply(report) for report in reports]
    return [plain(params)["update"] for change in changes for params in dialect.update_to_wire(SESSION, change)]


def reports_of(dialect: V1, **update: Any) -> list[Report]:
    """What an `update` object reports."""
    return dialect.update_from_wire(raw({"sessionId": SESSION, "update": update}))[1]


def rows_lost(dialect: V1) -> list[str]:
    return [loss.row for loss in dialect.losses]
