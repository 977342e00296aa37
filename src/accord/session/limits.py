"""Tables with limits: those of a transcript, and dictionaries that forget their oldest entries.

Law: all that is kept is within `byte_limit`, but for lines of so few letters that they weigh nothing, and for what is
changing right now and can't be cut.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec.structs import replace

from accord.session.entities import Compaction, Info, Message, Plan, Terminal, ToolCall
from accord.session.memory_estimate import (
    content_weight,
    details_growth,
    details_weight,
    emptied_fields,
    is_light,
    weigh_detail,
)
from accord.session.updates import UnknownPatch

Key: TypeAlias = tuple[str, Any]
"""The name of a table, and the key in it."""

_REBUILD_EVERY = 4096  # a dict looks for its first entry among all that have gone, until it is filled anew


class LimitedTables:
    """Past `byte_limit` the content that has been left alone for longest goes first, and its entity stays as `dropped`.

    An entity whose id is long goes altogether, and so does the first one past `entity_limit` entities of one kind.
    """

    def __init__(self, byte_limit: int, entity_limit: int) -> None:
        self._byte_limit = byte_limit
        self._room: int = byte_limit  # what of it is left for content
        self.entity_limit = entity_limit
        self.forgotten = 0
        """How many entities went altogether."""
        self.messages: dict[tuple[str, str], Message] = {}
        """By role and id, since ids are unique only among the messages of a role (AMB-52)."""
        self.tool_calls: dict[str, ToolCall] = {}
        """The tool calls, by id, in the order of their beginning."""
        self.terminals: dict[str, Terminal] = {}
        """The terminals that were shown, by id."""
        self.plans: dict[str, Plan] = {}
        """The plans, by id."""
        self.compactions: dict[str, Compaction] = {}
        """The compactions of the context, by id."""
        self._open_calls: dict[str, None] = {}
        self._unknown: dict[int, UnknownPatch] = {}
        self._tables: dict[str, dict[Any, Any]] = {
            "messages": self.messages,
            "tool_calls": self.tool_calls,
            "terminals": self.terminals,
            "plans": self.plans,
            "compactions": self.compactions,
            "unknown": self._unknown,
        }
        self.info = Info()
        """The title of the session, and when it was last updated."""
        self.telling: Message | None = None
        """The message that a piece without an id goes on with, if it is of the same role."""
        self._order: dict[Key, None] = {}
        self._weight = 0  # of all content
        self._holding: OrderedDict[Key, None] = OrderedDict()  # the last one changed comes last
        self._changed_last: object = None  # the message itself if it was one, else its place in `_holding`

    @property
    def byte_limit(self) -> int:
        """How much all of it may weigh; a new limit is kept from the next report on."""
        return self._byte_limit

    @byte_limit.setter
    def byte_limit(self, limit: int) -> None:
        self._room += limit - self._byte_limit
        self._byte_limit = limit

    def _appeared(self, table: str, key: Any) -> Key:
        """Give a new entity its place; past the limit the first one of its kind goes."""
        place = (table, key)
        if table != "terminals":  # they are shown where a tool call has them
            self._order[place] = None
            self.telling = self.telling if table == "unknown" else None
        if len(self._tables[table]) > self.entity_limit:
            self._forget(table, next(iter(self._tables[table])))
        return place

    def _forget(self, table: str, key: Any) -> None:
        self._holding.pop((table, key), None)
        self._order.pop((table, key), None)
        entity = self._tables[table].pop(key)
        if table == "tool_calls":
            self._open_calls.pop(key, None)
        self._weight -= content_weight(table, entity)
        self._room += details_weight(table, entity)
        self.forgotten += 1
        if self.forgotten % _REBUILD_EVERY == 0:
            entries = self._tables[table].copy()
            self._tables[table].clear()
            self._tables[table].update(entries)
        if entity is self.telling:
            self.telling = None

    def _set(self, name: str, value: Any) -> None:
        """Put something in its place that a session has once."""
        self._room -= weigh_detail(value) - weigh_detail(getattr(self, name))
        setattr(self, name, value)
        if self._weight > self._room:
            self._drop()

    def _change(self, table: str, before: Any, after: Any, growth: int) -> None:
        """Take note that an entity has changed, and of what its content weighs more than before."""
        if before is not after:
            self._room -= details_growth(table, before, after)
        self._grow((table, after.id), growth)

    def _grow(self, place: Key, growth: int) -> None:
        last = self._changed_last
        if last.__class__ is not tuple or place != last:
            self._hold(place, place)
        self._weight += growth
        if self._weight > self._room:
            self._drop()

    def _hold(self, place: Key, sign: object) -> None:
        self._holding[place] = None
        self._holding.move_to_end(place)
        self._changed_last = sign

    def _drop(self) -> None:
        """Drop content until the limit is kept; what is changing right now goes only when nothing else is left."""
        while self._weight > self._room and self._holding:
            table, key = place = self._holding.popitem(last=False)[0]
            entity = self._tables[table][key]
            is_last = not self._holding
            if table == "unknown" or not (is_light(entity) or is_last):
                self._forget(table, key)
                continue
            self._empty(table, key, entity)
            if not is_light(entity):
                self._holding[place] = None  # it goes when another one changes
                break
        if self._weight > self._room and self.info.meta:  # which grows by what it is told
            self._room += weigh_detail(self.info)
            self.info = replace(self.info, meta=None)
            self._room -= weigh_detail(self.info)
        if not self._holding:
            self._changed_last = None

    def _empty(self, table: str, key: Any, entity: Any) -> None:
        self._room += details_weight(table, entity)
        if table == "messages":
            self._weight += entity.replace(())
            entity.meta = None
            entity.dropped = True
        else:
            self._weight -= content_weight(table, entity)
            entity = self._tables[table][key] = replace(entity, **emptied_fields(table, entity))
        self._room -= details_weight(table, entity)


V = TypeVar("V")

_LONG = 200
_LETTERS = 4 * 1024 * 1024


class LimitedDict(Generic[V]):
    """By the peer's ids, of which only the hash is kept where they are long; at most so many entries.

    Values that are texts have four million letters together at most; others should be small.
    """

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._entries: dict[str | int, V] = {}
        self._letters = 0

    def get(self, id: str) -> V | None:
        return self._entries.get(_key(id))

    def put(self, id: str, value: V) -> None:
        self.pop(id)
        self._entries[_key(id)] = value
        self._letters += _size(value)
        while len(self._entries) > self._limit or (self._letters > _LETTERS and self._entries):
            self._letters -= _size(self._entries.pop(next(iter(self._entries))))

    def pop(self, id: str) -> V | None:
        value = self._entries.pop(_key(id), None)
        self._letters -= _size(value)
        return value

    def clear(self) -> None:
        self._entries.clear()
        self._letters = 0

    def __contains__(self, id: str | None) -> bool:
        return id is not None and _key(id) in self._entries


def _key(id: str) -> str | int:
    return id if len(id) <= _LONG else hash(id)


def _size(value: object) -> int:
    return len(value) if isinstance(value, str) else 0
