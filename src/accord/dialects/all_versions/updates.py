"""Converts what every version has alike: message chunks, plans, usage, info, notices, compactions, unknown updates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from msgspec.structs import replace

from accord.dialects.all_versions.content import ContentConverter
from accord.dialects.dialect import Dialect, UpdatesFromWire, UpdatesToWire
from accord.dialects.struct_converter import StructConverter
from accord.dialects.unset_values import map_value, none_if_unset, whole_meta
from accord.errors import Malformed
from accord.schema import all_versions as wire
from accord.schema.wire_values import UNSET, Unknown
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.content import Content, Text
from accord.session.entities import Cost, Notice, Plan, PlanEntry
from accord.session.updates import (
    CompactionAppend,
    CompactionChanged,
    CompactionPatch,
    EntityPatch,
    InfoChanged,
    InfoPatch,
    MessageAppend,
    NoticePatch,
    NoticeShown,
    Patch,
    PromptChanged,
    UnknownPatch,
    UnknownUpdate,
    UsageChanged,
    UsagePatch,
)
from accord.session.value import Value

_COST = StructConverter(Cost, wire.Cost)
_NOTICE = StructConverter(Notice, wire.Notice)


class UpdateConverter:
    """For the schema of one version. `meta_replaces`: the `_meta` of an entity is sent whole, as before v2."""

    def __init__(self, schema: Any, content: ContentConverter, meta_replaces: bool = False) -> None:
        self._schema = schema
        self._content = content
        self._meta_replaces = meta_replaces
        self.to_wire: UpdatesToWire = {
            InfoChanged: self.info_to_wire,
            UsageChanged: _usage_to_wire,
            NoticeShown: self.notice_to_wire,
            CompactionChanged: self.compaction_to_wire,
            PromptChanged: _prompt_to_wire,
        }
        self.from_wire: UpdatesFromWire = {
            wire.SessionInfoUpdate: self._info_from_wire,
            wire.UsageUpdate: _usage_from_wire,
            wire.Notice: _notice_from_wire,
            schema.CompactionUpdate: self._compaction_from_wire,
            schema.CompactionSummaryChunk: self._summary_chunk_from_wire,
            Unknown: self._unknown_from_wire,
        }

    def chunk_from_wire(self, role: str) -> Callable[[Dialect, Any], list[Patch]]:
        """Reads a chunk of a message of this role."""
        text_content, from_wire = self._schema.TextContent, self._content.from_wire

        def chunk_from_wire(dialect: Dialect, update: Any) -> list[Patch]:
            block, message_id = update.content, update.message_id
            if type(block) is text_content and block.annotations is UNSET and block.meta is UNSET:  # nearly always
                content: Content = Text(block.text)
            else:
                content = from_wire(block)
            message_id = None if message_id is UNSET else message_id
            return [MessageAppend(role=role, id=message_id, content=content, meta=update.meta)]

        return chunk_from_wire

    def info_to_wire(self, dialect: Dialect, session_id: str, update: InfoChanged) -> list[Any]:
        patch = update.patch
        meta = self._meta(patch, update.info)
        return [wire.SessionInfoUpdate(title=patch.title, updated_at=patch.updated_at, meta=meta)]

    def _info_from_wire(self, dialect: Dialect, update: Any) -> list[Patch]:
        return [
            InfoPatch(
                title=update.title, updated_at=update.updated_at, meta=update.meta, meta_replaces=self._meta_replaces
            )
        ]

    def notice_to_wire(self, dialect: Dialect, session_id: str, update: NoticeShown) -> list[Any]:
        meta = update.patch.meta
        return [_NOTICE.to_wire(update.notice, **({} if meta is UNSET else {"meta": meta}))]

    def compaction_to_wire(self, dialect: Dialect, session_id: str, update: CompactionChanged) -> list[Any]:
        patch = update.patch
        if isinstance(patch, CompactionAppend):
            content = self._content.to_wire(dialect, patch.content)
            return [self._schema.CompactionSummaryChunk(compaction_id=patch.id, content=content, meta=patch.meta)]
        return [
            self._schema.CompactionUpdate(
                compaction_id=patch.id,
                status=patch.status,
                summary=map_value(patch.summary, partial(self._content.all_to_wire, dialect)),
                error=patch.error,
                meta=self._meta(patch, update.compaction),
            )
        ]

    def _compaction_from_wire(self, dialect: Dialect, update: Any) -> list[Patch]:
        return [
            CompactionPatch(
                id=update.compaction_id,
                status=update.status,
                summary=map_value(update.summary, self._content.all_from_wire),
                error=update.error,
                meta=update.meta,
                meta_replaces=self._meta_replaces,
            )
        ]

    def _summary_chunk_from_wire(self, dialect: Dialect, update: Any) -> list[Patch]:
        content = self._content.from_wire(update.content)
        return [CompactionAppend(id=update.compaction_id, content=content, meta=update.meta)]

    def _unknown_from_wire(self, dialect: Dialect, update: Unknown) -> list[Patch]:
        return [UnknownPatch(tag=update.tag, raw=update.raw, version=self._content.closed_by)]

    def unknown_to_wire(self, names: frozenset[str]) -> Callable[[Dialect, str, UnknownUpdate], list[Any]]:
        """For a version that has updates of these names: sends an unknown update unchanged.

        Not if its name is one of them, or if the version allows no others and it was not received in this version.
        """
        closed_by = self._content.closed_by

        def unknown_to_wire(dialect: Dialect, session_id: str, update: UnknownUpdate) -> list[Any]:
            patch = update.patch
            if patch.tag in names or closed_by not in (None, patch.version):
                dialect.record_loss("update-type", patch.tag)
                return []
            return [Unknown(patch.tag, patch.raw)]

        return unknown_to_wire

    def _meta(self, patch: EntityPatch, entity: Value) -> Any:
        return whole_meta(patch, entity) if self._meta_replaces else patch.meta


def update_names(updates: UpdatesFromWire) -> frozenset[str]:
    """The names of the updates that a version has."""
    return frozenset(wire_type.__struct_config__.tag for wire_type in updates if wire_type is not Unknown)


def _usage_to_wire(dialect: Dialect, session_id: str, update: UsageChanged) -> list[Any]:
    """The cost is sent each time: some clients take a missing one for none."""
    usage, patch = update.usage, update.patch
    cost: Any = patch.cost if usage.cost is None else _COST.to_wire(usage.cost)
    return [wire.UsageUpdate(used=usage.used, size=usage.size, cost=cost, meta=patch.meta)]


def _usage_from_wire(dialect: Dialect, update: Any) -> list[Patch]:
    cost = map_value(update.cost, _COST.from_wire)
    return [UsagePatch(used=update.used, size=update.size, cost=cost, meta=update.meta)]


def _notice_from_wire(dialect: Dialect, update: Any) -> list[Patch]:
    return [NoticePatch(notice=_NOTICE.from_wire(update), meta=update.meta)]


def _prompt_to_wire(dialect: Dialect, session_id: str, update: PromptChanged) -> list[Any]:
    dialect.record_loss("prompt", update.former_id)
    return []


class PlanConverter:
    """For the type of a plan's entry in one version; `id_names` are the members that may have a plan's id."""

    def __init__(self, entry: type[Any], *id_names: str) -> None:
        converter = StructConverter(PlanEntry, entry)
        self.entry_to_wire = converter.to_wire
        self.entry_from_wire = converter.from_wire
        self._id_names = id_names

    def from_wire(self, plan: Any) -> Plan:
        """A plan of an unknown type takes the place of the plan with its id."""
        if not isinstance(plan, UnknownOnWire):
            entries = list(map(self.entry_from_wire, plan.entries))
            return Plan(id=plan.plan_id, entries=entries, meta=none_if_unset(plan.meta))
        id = next((plan.raw[name] for name in self._id_names if name in plan.raw), None)
        if not isinstance(id, str):
            raise Malformed("$.update.plan.planId", "required")
        return Plan(id=id, type=plan.tag, raw=plan.raw)


def supported_entries(dialect: Dialect, plan: Plan) -> Iterator[PlanEntry]:
    """The entries with statuses that v1 and the draft have, without cancelled ones."""
    for entry in plan.entries:
        if entry.status in ("pending", "in_progress", "completed"):
            yield entry
        elif entry.status == "cancelled":
            dialect.record_loss("plan-entry", plan.id)
        else:
            dialect.record_loss("plan-status", plan.id)
            yield replace(entry, status="in_progress")
