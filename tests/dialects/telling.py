"""What a dialect makes of reports, and reports of what it reads."""

from __future__ import annotations

from typing import Any

from accord.dialects.dialect import Dialect
from accord.session.capabilities import ClientCapabilities
from accord.session.transcript import Transcript
from accord.session.updates import Patch, PromptPatch
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
"""A client that can show everything."""

SESSION = "sess_1"


def updates_of(
    dialect: Dialect, *reports: Patch | PromptPatch, transcript: Transcript | None = None
) -> list[dict[str, Any]]:
    """The `update` objects that tell the reports, one after the other, to a session's listener."""
    transcript = transcript or Transcript()
    changes = [transcript.apply(report) for report in reports]
    return [plain(params)["update"] for change in changes for params in dialect.update_to_wire(SESSION, change)]


def reports_of(dialect: Dialect, **update: Any) -> list[Patch]:
    """What an `update` object reports."""
    return dialect.update_from_wire(raw({"sessionId": SESSION, "update": update}))[1]


def rows_lost(dialect: Dialect) -> list[str]:
    return [loss.row for loss in dialect.losses]
