"""Updates that every version spells alike: usage, the session's description, notices, compactions, and unknown ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from accord.dialects.all_versions.content import ContentConverter
from accord.dialects.dialect import Dialect, UpdatesFromWire, UpdatesToWire
from accord.dialects.unset_values import map_value, meta_whole, none_if_unset, unset_if_none
from accord.schema.wire_values import UNSET, Unknown
from accord.session.content import Content, Text
from accord.session.entities import Cost, Notice
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

__all__ = ["UpdateConverter", "tags_of"]


class UpdateConverter:
    """Bound to the schema of one version. `meta_replaces`: an entity's `_meta` is told whole, as before v2."""

    def __init__(self, schema: Any, content: ContentConverter, meta_replaces: bool = False) -> None:
        self._schema = schema
        self._content = content
        self._meta_replaces = meta_replaces
        self.to_wire: UpdatesToWire = {
            InfoChanged: self.info_changed,
            UsageChanged: self.usage_changed,
            NoticeShown: self.notice_shown,
            CompactionChanged: self.compaction_changed,
            PromptChanged: _prompt_changed,
        }
        self.from_wire: UpdatesFromWire = {
            schema.SessionInfoUpdate: self.info,
            schema.UsageUpdate: self.usage,
            schema.Notice: self.notice,
            schema.CompactionUpdate: self.compaction,
            schema.CompactionSummaryChunk: self.compaction_piece,
            Unknown: self.unknown,
        }

    def piece(self, role: str) -> Callable[[Dialect, Any], list[Patch]]:
        """How a chunk of a message of this role is read; v1 and v2 put its members in another order, no more."""
        text_content, from_wire = self._schema.TextContent, self._content.from_wire

        def piece(dialect: Dialect, update: Any) -> list[Patch]:
            block, message_id = update.content, update.message_id
            if type(block) is text_content and block.annotations is UNSET and block.meta is UNSET:  # nearly always
                content: Content = Text(block.text)
            else:
                content = from_wire(block)
            message_id = None if message_id is UNSET else message_id
            return [MessageAppend(role=role, id=message_id, content=content, meta=update.meta)]

        return piece

    def info_changed(self, dialect: Dialect, session_id: str, change: InfoChanged) -> list[Any]:
        patch = change.patch
        meta = self._meta(patch, change.info)
        return [self._schema.SessionInfoUpdate(title=patch.title, updated_at=patch.updated_at, meta=meta)]

    def info(self, dialect: Dialect, update: Any) -> list[Patch]:
        return [
            InfoPatch(
                title=update.title,
                updated_at=update.updated_at,
                meta=update.meta,
                meta_replaces=self._meta_replaces,
            )
        ]

    def usage_changed(self, dialect: Dialect, session_id: str, change: UsageChanged) -> list[Any]:
        """The cost is told each time: some take one that is left out for none."""
        usage = change.usage
        cost: Any = change.patch.cost
        if usage.cost is not None:
            cost = self._schema.Cost(
                amount=usage.cost.amount, currency=usage.cost.currency, meta=unset_if_none(usage.cost.meta)
            )
        return [self._schema.UsageUpdate(used=usage.used, size=usage.size, cost=cost, meta=change.patch.meta)]

    def usage(self, dialect: Dialect, update: Any) -> list[Patch]:
        cost = map_value(update.cost, _cost)
        return [UsagePatch(used=update.used, size=update.size, cost=cost, meta=update.meta)]

    def notice_shown(self, dialect: Dialect, session_id: str, change: NoticeShown) -> list[Any]:
        notice = change.notice
        meta = unset_if_none(notice.meta) if change.patch.meta is UNSET else change.patch.meta
        return [
            self._schema.Notice(
                severity=notice.severity, title=notice.title, description=unset_if_none(notice.description), meta=meta
            )
        ]

    def notice(self, dialect: Dialect, update: Any) -> list[Patch]:
        word = Notice(
            severity=update.severity,
            title=update.title,
            description=none_if_unset(update.description),
            meta=none_if_unset(update.meta),
        )
        return [NoticePatch(notice=word, meta=update.meta)]

    def compaction_changed(self, dialect: Dialect, session_id: str, change: CompactionChanged) -> list[Any]:
        patch = change.patch
        if isinstance(patch, CompactionAppend):
            content = self._content.to_wire(dialect, patch.content)
            return [self._schema.CompactionSummaryChunk(compaction_id=patch.id, content=content, meta=patch.meta)]
        return [
            self._schema.CompactionUpdate(
                compaction_id=patch.id,
                status=patch.status,
                summary=map_value(patch.summary, partial(self._content.all_to_wire, dialect)),
                error=patch.error,
                meta=self._meta(patch, change.compaction),
            )
        ]

    def compaction(self, dialect: Dialect, update: Any) -> list[Patch]:
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

    def compaction_piece(self, dialect: Dialect, update: Any) -> list[Patch]:
        content = self._content.from_wire(update.content)
        return [CompactionAppend(id=update.compaction_id, content=content, meta=update.meta)]

    def unknown(self, dialect: Dialect, update: Unknown) -> list[Patch]:
        return [UnknownPatch(tag=update.tag, raw=update.raw, version=self._content.closed_by)]

    def unknown_to_wire(self, tags: frozenset[str]) -> Callable[[Dialect, str, UnknownUpdate], list[Any]]:
        """For a version that has updates of these names: an unknown one is told as it came.

        It is not when its name is one of them, or when no others are allowed and it was not heard in this version.
        """
        closed_by = self._content.closed_by

        def unknown_to_wire(dialect: Dialect, session_id: str, change: UnknownUpdate) -> list[Any]:
            patch = change.patch
            if patch.tag in tags or closed_by not in (None, patch.version):
                dialect.lose("update-type", patch.tag)
                return []
            return [Unknown(patch.tag, patch.raw)]

        return unknown_to_wire

    def _meta(self, patch: EntityPatch, entity: Value) -> Any:
        return meta_whole(patch, entity) if self._meta_replaces else patch.meta


def tags_of(updates: UpdatesFromWire) -> frozenset[str]:
    """The names of the updates that a version has."""
    return frozenset(kind.__struct_config__.tag for kind in updates if kind is not Unknown)


def _prompt_changed(dialect: Dialect, session_id: str, change: PromptChanged) -> list[Any]:
    dialect.lose("prompt", change.former_id)
    return []


def _cost(cost: Any) -> Cost:
    return Cost(amount=cost.amount, currency=cost.currency, meta=none_if_unset(cost.meta))
