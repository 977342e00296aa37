"""What the three states of a patch's field do to a stored entity.

Left out (UNSET) keeps the stored value, None puts the default back, a value takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from accord.session.content import Content, Text, is_plain
from accord.session.snapshots import SnapshotList
from accord.session.updates import EntityPatch
from accord.session.value import UNSET

T = TypeVar("T")


def apply_fields(patch: object, entity: object, defaults: Mapping[str, Any]) -> None:
    """Lay the fields that `defaults` names over an entity that nobody else holds yet."""
    for name, default in defaults.items():
        value = getattr(patch, name)
        if value is not UNSET:
            setattr(entity, name, default if value is None else value)


def merge_meta(stored: dict[str, Any] | None, patch: EntityPatch) -> dict[str, Any] | None:
    """The `meta` an entity has after a patch: always a dict of its own, so that older copies stay as they are."""
    told = patch.meta
    if told is UNSET:
        return stored
    if told is None or patch.meta_replaces:
        return None if told is None else dict(told)
    merged = {**(stored or {}), **told}
    return {key: value for key, value in merged.items() if value is not None or key not in told}


def append_item(items: Sequence[T], item: T) -> SnapshotList[T]:
    """The items and one more, which takes the same time for the first and the last of many."""
    return (items if isinstance(items, SnapshotList) else SnapshotList(items)).plus(item)


def appended_content(before: Sequence[Content], after: Sequence[Content]) -> list[Content] | None:
    """What has to be appended to make the one the other, or None when appending does not do it.

    It does not matter how a text is cut into blocks, as long as nothing but text was said about it.
    """
    old, new = _merged(before), _merged(after)
    if not old:
        return new
    last = len(old) - 1
    if len(new) <= last or old[:last] != new[:last]:
        return None
    if old[last] == new[last]:
        return new[last + 1 :]
    told, whole = old[last], new[last]
    if is_plain(told) and is_plain(whole) and whole.text.startswith(told.text):
        return [Text(whole.text[len(told.text) :]), *new[last + 1 :]]
    return None


def _merged(blocks: Sequence[Content]) -> list[Content]:
    merged: list[Content] = []
    texts: list[str] = []
    for block in blocks:
        if is_plain(block):
            texts.append(block.text)
            continue
        if texts:
            merged.append(Text("".join(texts)))
            texts = []
        merged.append(block)
    if texts:
        merged.append(Text("".join(texts)))
    return merged
