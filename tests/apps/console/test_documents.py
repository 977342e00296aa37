"""docs/run.md says what the code does."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from pathlib import Path

import msgspec
import pytest

from accord.apps.console.errors import ExitStatus
from accord.apps.console.known_agents import PRESETS
from accord.apps.console.permission_flags import EDITS, PERMISSIONS, READS
from accord.apps.console.run import batch, event_types
from accord.session import content, entities

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "run.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_event_is_in_the_table_with_all_its_members_in_order():
    told = {re.findall("`(.*?)`", row[0])[0]: re.findall("`(.*?)`", row[1]) for row in rows("Events") if len(row) == 3}
    assert told == {kind.__struct_config__.tag: [*kind.__struct_fields__] for kind in event_types.EVENTS}
    assert list(told) == [kind.__struct_config__.tag for kind in event_types.EVENTS]


INSIDE: dict[str, list[type[msgspec.Struct]]] = {
    "`content` of a message, `summary`": [
        content.Text,
        content.Image,
        content.Audio,
        content.ResourceLink,
        content.Resource,
    ],
    "`content` of a tool call": [entities.ContentItem, entities.Diff, entities.TerminalItem],
    "`changes` of a diff": [entities.FileChange],
    "`patch` of a diff": [entities.DiffPatch],
    "`locations`": [entities.Location],
    "`exit` of a terminal": [entities.Exit],
    "`entries` of a plan": [entities.PlanEntry],
    "`commands`": [entities.SlashCommand],
    "`options`": [entities.Option],
    "`choices` of an option": [entities.OptionChoice],
    "`cost`": [entities.Cost],
    "`background`": [entities.Work],
    "`token_usage`": [entities.TokenUsage],
}


@pytest.mark.parametrize("where", INSIDE)
def test_the_members_of_what_stands_inside_events_are_told(where: str):
    (told,) = [row[1] for row in rows("Events") if len(row) == 2 and row[0] == where]
    names = re.findall("`(.*?)`", told)
    for kind in INSIDE[where]:
        members = [name for name in kind.__struct_fields__ if name not in ("meta", "annotations")]
        tag = kind.__struct_config__.tag
        if tag is not None:
            assert [tag, *members] == names[names.index(tag) :][: len(members) + 1]
        else:
            assert names == members


def test_the_members_of_a_failure_are_told():
    end = next(row[2] for row in rows("Events") if row[0] == "`end`")
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


def test_the_members_of_a_result_are_in_the_table():
    told = {name: about for names, about in rows("Several prompts") for name in re.findall("`(.*?)`", names)}
    assert list(told) == [*batch.BatchResult.__struct_fields__]
    calls = re.findall("`(.*?)`", told["tool_calls"])
    assert calls == [*batch.CallResult.__struct_fields__]


@pytest.mark.interop
async def test_the_evaluation_runs_as_it_is_written(project: Path):
    if shutil.which("jq") is None:
        pytest.skip("no jq")
    section = PAGE.partition("An evaluation of an agent")[2]
    script, printed = re.findall(r"^```\w+\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[:2]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    finished = await asyncio.create_subprocess_exec(
        "sh", "-ec", script, cwd=project, env={**os.environ, "PATH": path}, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await finished.communicate()
    assert (finished.returncode, out.decode()) == (0, printed)
