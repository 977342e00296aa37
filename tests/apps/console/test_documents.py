"""docs/run.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from accord.apps.console.errors import ExitStatus
from accord.apps.console.known_agents import PRESETS
from accord.apps.console.permission_flags import EDITS, PERMISSIONS, READS
from accord.apps.console.run import event_types

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "run.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_event_is_in_the_table_with_all_its_members_in_order():
    told = {re.findall("`(.*?)`", kind)[0]: re.findall("`(.*?)`", members) for kind, members, _ in rows("Events")}
    assert told == {kind.__struct_config__.tag: [*kind.__struct_fields__] for kind in event_types.EVENTS}
    assert list(told) == [kind.__struct_config__.tag for kind in event_types.EVENTS]


def test_the_members_of_a_failure_are_told():
    end = next(about for kind, _, about in rows("Events") if kind == "`end`")
    assert re.findall("`(.*?)`", end)[1:] == [
        field.name for field in msgspec.structs.fields(event_types.FailureDetails)
    ]


def test_the_format_is_the_one_that_is_told():
    assert f"Within `format` {event_types.FORMAT}," in PAGE


def test_every_exit_status_is_in_the_table():
    assert [int(status) for status, _ in rows("Exit statuses")] == [*ExitStatus]


def test_every_preset_is_in_the_table():
    told = {name.strip("`"): command.strip("`") for name, command, _ in rows("Which agent")}
    assert told == {name: " ".join([each.programs[0], *each.args]) for name, each in PRESETS.items()}


def test_the_choices_of_permissions_are_told():
    told = {name.strip("`"): re.findall("`(.*?)`", allowed) for name, allowed, _ in rows("What it may do")}
    assert tuple(told) == PERMISSIONS
    assert told["allow-reads"] == [*READS]
    assert told["allow-edits"][: len(EDITS) - len(READS)] == [kind for kind in EDITS if kind not in READS]
