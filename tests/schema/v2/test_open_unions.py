"""Open unions: what is told by a tag, by a missing tag and by an unknown one."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec
import pytest

from accord.schema import v2
from accord.schema.reader import Reader
from accord.schema.wire_values import Alias, DefaultTag, Known, Unknown, Untagged
from tests.schema.exports import exports
from tests.schema.v1.shape import marker, read, refuses


def markers(annotation: Any) -> list[Any]:
    return list(getattr(annotation, "__metadata__", ()))


@pytest.mark.parametrize("kind", [v2.ReplayFrom, v2.PlanUpdateContent, v2.AvailableCommand, v2.AvailableCommandInput])
def test_a_union_of_one_still_wants_its_tag(kind: Any) -> None:
    one = get_args(get_args(kind)[0])[0]
    members = {"planId": "p", "entries": [], "name": "n", "description": "d", "hint": "h"}
    tag = one.__struct_config__.tag
    assert isinstance(read(kind, {"type": tag, **members}), one)
    assert refuses(kind, members)


def test_an_empty_tag_is_refused_and_nobody_can_make_an_untagged_object() -> None:
    assert refuses(v2.ReplayFrom, {"type": ""})
    with pytest.raises(ValueError):
        Untagged()


@pytest.mark.parametrize(
    ("kind", "tag"),
    [
        (v2.AvailableCommand, "command"),
        (v2.AvailableCommandInput, "text"),
        (v2.McpServer, "stdio"),
        (v2.AuthMethod, "agent"),
    ],
)
def test_an_older_form_without_a_type_has_one_to_be_read_as(kind: Any, tag: str) -> None:
    assert marker(kind, DefaultTag).tag == tag


@pytest.mark.parametrize("kind", [v2.ReplayFrom, v2.PlanUpdateContent, v2.ContentBlock, v2.SessionUpdate])
def test_other_unions_have_none(kind: Any) -> None:
    assert not any(isinstance(each, DefaultTag) for each in markers(kind))


@pytest.mark.parametrize(
    ("kind", "field", "key"),
    [
        (v2.AuthMethodAgent, "method_id", "id"),
        (v2.AuthMethodTerminal, "method_id", "id"),
        (v2.SessionConfigSelect, "config_id", "id"),
        (v2.SessionConfigBoolean, "config_id", "id"),
        (v2.SessionConfigSelectChoice, "group_id", "group"),
        (v2.PlanItems, "plan_id", "id"),
    ],
)
def test_an_older_spelling_of_a_key_is_marked(kind: Any, field: str, key: str) -> None:
    annotation = next(info.type for info in msgspec.structs.fields(kind) if info.name == field)
    assert marker(annotation, Alias).key == key


def test_no_enum_is_closed() -> None:
    found = [each for kind in exports(v2).values() for each in markers(kind) if isinstance(each, Known)]
    assert len(found) == 17
    assert not any(enum.closed for enum in found)


@pytest.mark.requirement("COMPAT-01", "COMPAT-03", "COMPAT-06")
@pytest.mark.parametrize(
    ("kind", "members", "field"),
    [
        (v2.StateUpdate, {"state": "_dreaming"}, "state"),
        (v2.StateUpdate, {"state": "idle", "stopReason": "_bored"}, "stop_reason"),
        (v2.ToolCallUpdate, {"toolCallId": "c", "kind": "_dig"}, "kind"),
        (v2.ToolCallUpdate, {"toolCallId": "c", "status": "_stuck"}, "status"),
        (v2.PermissionOption, {"optionId": "o", "name": "n", "kind": "_maybe"}, "kind"),
        (v2.PlanEntry, {"content": "c", "priority": "_soon", "status": "pending"}, "priority"),
        (v2.Notice, {"severity": "_dire", "title": "t"}, "severity"),
        (v2.CompactionUpdate, {"compactionId": "c", "status": "_paused"}, "status"),
        (v2.Icon, {"src": "data:,", "theme": "_dusk"}, "theme"),
        (v2.DiffPatch, {"format": "_words", "text": ""}, "format"),
    ],
)
def test_a_value_that_no_enum_lists_is_kept(kind: Any, members: dict[str, Any], field: str) -> None:
    value = Reader(kind).convert(members)
    assert getattr(value, field).startswith("_")
    assert members.items() <= json.loads(msgspec.json.encode(value)).items()


@pytest.mark.requirement("COMPAT-08", "COMPAT-09")
def test_an_unknown_variant_is_written_back_as_it_was() -> None:
    raw = {"type": "_map", "zoom": 3, "_meta": None}
    call = v2.ToolCallUpdate("c", content=[Unknown("_map", raw)])
    written = json.loads(msgspec.json.encode(call, enc_hook=lambda value: value.__wire__()))
    assert written == {"toolCallId": "c", "content": [raw]}


def test_a_known_tag_with_a_bad_payload_is_an_error() -> None:
    assert refuses(v2.SessionUpdate, {"sessionUpdate": "notice", "severity": "info", "title": ""})
