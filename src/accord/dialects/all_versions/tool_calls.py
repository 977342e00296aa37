"""Reading what tool calls are made of, as far as every version spells it alike: locations, and items but for diffs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from accord.dialects.all_versions.content import ContentConverter
from accord.dialects.all_versions.paths_and_lines import noted
from accord.dialects.dialect import Dialect
from accord.dialects.unset_values import none_if_unset
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import ContentItem, Diff, Location, TerminalItem, ToolCallItem
from accord.session.value import Unknown

__all__ = ["ItemReader", "locations_from_wire"]


def locations_from_wire(dialect: Dialect, locations: Iterable[Any]) -> list[Location]:
    """The locations; a line that does not count from 1 is left out, its path kept (AMB-47)."""
    return [
        Location(
            path=noted(dialect, location.path, "locations"),
            line=none_if_unset(location.line) or None,
            meta=none_if_unset(location.meta),
        )
        for location in locations
    ]


class ItemReader:
    """Bound to the schema of one version, its content blocks, and its diffs."""

    def __init__(
        self, schema: Any, content: ContentConverter, diff: type[Any], diff_from_wire: Callable[[Dialect, Any], Diff]
    ) -> None:
        self._content = content
        self._readers: dict[type[Any], Callable[[Dialect, Any], ToolCallItem]] = {
            schema.Content: self._content_item,
            diff: diff_from_wire,
            schema.Terminal: _terminal_item,
            UnknownOnWire: self._unknown_item,
        }

    def from_wire(self, dialect: Dialect, item: Any) -> ToolCallItem:
        """One item of a tool call's content as a word; one of an unknown type is kept whole (COMPAT-09)."""
        return self._readers[type(item)](dialect, item)

    def all_from_wire(self, dialect: Dialect, items: Iterable[Any]) -> list[ToolCallItem]:
        """The items as words, in order."""
        readers = self._readers
        return [readers[type(item)](dialect, item) for item in items]

    def _content_item(self, dialect: Dialect, item: Any) -> ToolCallItem:
        return ContentItem(content=self._content.from_wire(item.content), meta=none_if_unset(item.meta))

    def _unknown_item(self, dialect: Dialect, item: UnknownOnWire) -> ToolCallItem:
        return Unknown(tag=item.tag, raw=item.raw, version=self._content.closed_by)


def _terminal_item(dialect: Dialect, item: Any) -> ToolCallItem:
    return TerminalItem(terminal_id=item.terminal_id, meta=none_if_unset(item.meta))
