"""Items of tool calls as a client of v1 or the draft can show them: diffs file by file, display terminals as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from accord.dialects.absent import known, told
from accord.dialects.content import ContentMapping
from accord.dialects.dialect import Dialect
from accord.dialects.paths import noted
from accord.dialects.shown import ShowingDialect, terminal_text
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.diffs import texts_of_patch
from accord.session.entities import ContentItem, Diff, FileChange, TerminalItem, ToolCallItem
from accord.session.word import Unknown

__all__ = ["ShownItems", "diff_from_wire"]


class ShownItems:
    """Bound to the schema of one version, its diffs and its content blocks."""

    def __init__(self, schema: Any, diff: type[Any], content: ContentMapping) -> None:
        self._content = schema.Content
        self._text_block = schema.TextContent
        self._terminal = schema.Terminal
        self._diff = diff
        self._block_to_wire = content.to_wire
        self._closed_by = content.closed_by

    def to_wire(self, dialect: ShowingDialect, session_id: str, items: Iterable[ToolCallItem]) -> list[Any]:
        """The items, in order; a diff becomes as many as it has files."""
        written: list[Any] = []
        for item in items:
            if type(item) is ContentItem:  # nearly always, and quicker than a match
                block = self._block_to_wire(dialect, item.content)
                written.append(self._content(content=block, meta=told(item.meta)))
            elif isinstance(item, Diff):
                written.extend(self._files(dialect, item))
            elif isinstance(item, TerminalItem):
                written.append(self._terminal_item(dialect, session_id, item))
            elif isinstance(item, Unknown):
                written.append(self._unknown_item(dialect, item))
        return written

    def _unknown_item(self, dialect: Dialect, item: Unknown) -> Any:
        """As it came; where types are closed and it came from elsewhere, its type as text."""
        if self._closed_by in (None, item.version):
            return UnknownOnWire(item.tag, item.raw)
        dialect.lose("content-type", item.tag)
        return self._text_item(f"[{item.tag}]")

    def _terminal_item(self, dialect: ShowingDialect, session_id: str, item: TerminalItem) -> Any:
        shown = dialect.shown(session_id)
        is_told = item.terminal_id in shown.in_meta
        terminal = None if is_told else shown.terminals.get(item.terminal_id)
        if terminal is not None:
            return self._text_item(terminal_text(terminal))
        if is_told or dialect.client.terminals:
            return self._terminal(terminal_id=item.terminal_id, meta=told(item.meta))
        dialect.lose("client-terminal", item.terminal_id)  # AMB-18
        return self._text_item(f"[terminal {item.terminal_id}]")

    def _text_item(self, text: str) -> Any:
        return self._content(content=self._text_block(text=text))

    def _files(self, dialect: Dialect, diff: Diff) -> Iterator[Any]:
        """For each file a diff that shows its text before and after, or a line that says what happened."""
        partial = {} if diff.patch is None else texts_of_patch(diff.patch)
        for change in diff.changes:
            old_text, new_text = change.old_text, change.new_text
            deleted = change.operation == "delete"
            simple = deleted or change.operation in ("add", "modify")
            if simple and (old_text if deleted else new_text) is None and change.path in partial:
                dialect.lose("diff-partial", change.path)
                old_text, new_text = partial[change.path]
            if not simple or (old_text if deleted else new_text) is None:
                dialect.lose("diff-operation", change.path)
                yield self._text_item(_described(change))
                continue
            if deleted:
                dialect.lose("diff-delete", change.path)
            if change.file_type not in (None, "text") or change.mime_type is not None:
                dialect.lose("diff-details", change.path)
            yield self._diff(
                path=change.path,
                old_text=None if change.operation == "add" else old_text,
                new_text=new_text or "",
                meta=told(change.meta if change.meta is not None else diff.meta),
            )


def _described(change: FileChange) -> str:
    origin = f"{change.old_path} → " if change.old_path else ""
    return f"{change.operation}: {origin}{change.path}"


def diff_from_wire(dialect: Dialect, item: Any) -> Diff:
    """A changed file; without an old text it is a new one."""
    old_text = known(item.old_text)
    change = FileChange(
        operation="add" if old_text is None else "modify",
        path=noted(dialect, item.path, "content"),
        old_text=old_text,
        new_text=item.new_text,
    )
    return Diff(changes=[change], meta=known(item.meta))
