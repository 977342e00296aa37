"""Converts the parts of tool calls that the versions have alike: locations, and items other than diffs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from accord.dialects.all_versions.content import ContentConverter
from accord.dialects.all_versions.paths_and_lines import display_path
from accord.dialects.dialect import Dialect
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.schema.all_versions import Terminal
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import ContentItem, Diff, Location, TerminalItem, ToolCallItem
from accord.session.value import Unknown


def locations_to_wire(wire_type: type[Any], locations: Iterable[Location]) -> list[Any]:
    """The locations, each as an object of this type."""
    return [
        wire_type(path=location.path, line=unset_if_none(location.line), meta=unset_if_none(location.meta))
        for location in locations
    ]


def locations_from_wire(dialect: Dialect, locations: Iterable[Any]) -> list[Location]:
    """A line that is less than 1 is left out, its path is kept (AMB-47)."""
    return [
        Location(
            path=display_path(dialect, location.path, "locations"),
            line=none_if_unset(location.line) or None,
            meta=none_if_unset(location.meta),
        )
        for location in locations
    ]


class ItemReader:
    """For the content blocks and the diffs of one version."""

    def __init__(
        self,
        content: type[Any],
        blocks: ContentConverter,
        diff: type[Any],
        diff_from_wire: Callable[[Dialect, Any], Diff],
    ) -> None:
        self._blocks = blocks
        self._readers: dict[type[Any], Callable[[Dialect, Any], ToolCallItem]] = {
            content: self._content_item,
            diff: diff_from_wire,
            Terminal: _terminal_item,
            UnknownOnWire: self._unknown_item,
        }

    def from_wire(self, dialect: Dialect, item: Any) -> ToolCallItem:
        """An item of an unknown type is kept whole (COMPAT-09)."""
        return self._readers[type(item)](dialect, item)

    def all_from_wire(self, dialect: Dialect, items: Iterable[Any]) -> list[ToolCallItem]:
        readers = self._readers
        return [readers[type(item)](dialect, item) for item in items]

    def _content_item(self, dialect: Dialect, item: Any) -> ToolCallItem:
        return ContentItem(content=self._blocks.from_wire(item.content), meta=none_if_unset(item.meta))

    def _unknown_item(self, dialect: Dialect, item: UnknownOnWire) -> ToolCallItem:
        return Unknown(tag=item.tag, raw=item.raw, version=self._blocks.closed_by)


def _terminal_item(dialect: Dialect, item: Any) -> ToolCallItem:
    return TerminalItem(terminal_id=item.terminal_id, meta=none_if_unset(item.meta))
