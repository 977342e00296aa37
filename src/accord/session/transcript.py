"""The state of a session. Law: it changes in `Transcript.apply`, and nowhere else.

What the fields of a patch do is told in `patching`. A list takes the place of the whole list that was there, pieces
that were added to it included; an empty one and None clear it. Pieces go to the end. An id that was not seen before
creates its entity, also when it comes with a piece (AMB-54). Order of receipt is all that counts.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, ClassVar, TypeAlias, TypeVar

from msgspec.structs import replace

from accord.session import updates
from accord.session.content import Content
from accord.session.entities import (
    AGENT,
    OTHER,
    PENDING,
    THOUGHT,
    USER,
    Command,
    Compaction,
    Info,
    Message,
    Modes,
    Option,
    Plan,
    State,
    Terminal,
    ToolCall,
    Usage,
)
from accord.session.growing import Items, Output
from accord.session.patching import added_by, lay, meta_after, plus
from accord.session.updates import Change, MessageChunk, MessagePiece, PromptPatch, Report, UnknownReport
from accord.session.weight import (
    CONTENT,
    DETAILS,
    TRANSCRIPT_BYTES,
    content_weight,
    details_growth,
    details_weight,
    left_of,
    weigh,
    weigh_detail,
    weigh_piece,
)
from accord.session.word import UNSET

__all__ = ["Place", "Transcript"]

Place: TypeAlias = Message | ToolCall | Plan | Compaction | UnknownReport
"""What can stand in a transcript's timeline."""

_Entity = TypeVar("_Entity", ToolCall, Terminal, Compaction)
T = TypeVar("T")
_Key: TypeAlias = tuple[str, Any]  # the name of a table, and the key in it

_TERMINAL = {"command": None, "cwd": None, "exit": None, "size": None, "cancellable": False}
_INFO = {"title": None, "updated_at": None}


class Transcript:
    """All that was told in a session, brought up to date in place.

    Past `byte_limit` it forgets: the content that has been left alone for longest goes first, and its entity stays,
    marked as `dropped`; see `weight`. Past `entity_limit` entities of one kind, the first one goes altogether.
    """

    def __init__(self, byte_limit: int = TRANSCRIPT_BYTES, entity_limit: int = 100_000) -> None:
        self._byte_limit = self._room = byte_limit  # and what of it is left for content
        self.entity_limit = entity_limit
        self.new_id: Callable[[], str] = map("accord-{}".format, count(1)).__next__
        """Makes up an id for a message that comes without one. These are unique in this transcript only."""
        self.forgotten = 0
        """How many entities went altogether."""
        self.messages: dict[tuple[str, str], Message] = {}
        """By role and id, since ids are unique only among the messages of a role (AMB-52)."""
        self.tool_calls: dict[str, ToolCall] = {}
        self.terminals: dict[str, Terminal] = {}
        self.plans: dict[str, Plan] = {}
        self.compactions: dict[str, Compaction] = {}
        self.commands: list[Command] = []
        self.options: list[Option] = []
        self.modes: Modes | None = None
        self.info = Info()
        self.usage: Usage | None = None
        self.state = State()
        self._unknown: dict[int, UnknownReport] = {}
        self._tables: dict[str, dict[Any, Any]] = {
            "messages": self.messages,
            "tool_calls": self.tool_calls,
            "terminals": self.terminals,
            "plans": self.plans,
            "compactions": self.compactions,
            "unknown": self._unknown,
        }
        self._order: list[_Key] = []
        self.telling: Message | None = None
        """The message that a piece without an id goes on with, if it is of the same role."""
        self._unknown_count = 0
        self._weight = 0  # of all content
        self._holding: OrderedDict[_Key, None] = OrderedDict()  # the last one changed comes last
        self._changed_last: object = None  # the message itself if it was one, else its place in `_holding`

    @property
    def byte_limit(self) -> int:
        """How much all of it may weigh; a new limit is kept from the next report on."""
        return self._byte_limit

    @byte_limit.setter
    def byte_limit(self, limit: int) -> None:
        self._room += limit - self._byte_limit
        self._byte_limit = limit

    @property
    def timeline(self) -> list[Place]:
        """Messages, tool calls, plans, compactions and unknown updates, in the order in which they first appeared."""
        return [self._tables[table][key] for table, key in self._order if key in self._tables[table]]

    def apply(self, report: Report | PromptPatch) -> Change:
        """Take in what was reported. The change carries the report, and what it concerns as it is now."""
        if type(report) is not MessagePiece:
            return self._rules[type(report)](self, report)
        # Its rule is not in the table: nearly every report is a piece of a message, and a call more would be felt.
        message, created = self.telling, False
        if message is None or message.role != report.role or (report.id is not None and report.id != message.id):
            message, created = self._message(report.role, report.id)
        if message is not self._changed_last:
            self._hold(("messages", (message.role, message.id)), message)
        content = report.content
        weight = self._weight = self._weight + message.append(content)
        if weight > self._room:
            self._drop()
        return MessageChunk(message=message, content=content, patch=report, created=created)

    def begin_turn(self) -> None:
        """From now on a message without an id is a new one (AMB-72)."""
        self.telling = None

    def _message_patch(self, report: updates.MessagePatch) -> Change:
        message, created = self._message(report.role, report.id)
        if report.meta is not UNSET:
            message.meta = self._detail(message.meta, meta_after(message.meta, report))
        added: list[Content] | None = []
        growth = 0
        if report.content is not UNSET:
            content = report.content or []
            added = added_by(message.content, content)
            growth = message.replace(content)
            message.dropped = False
        change = updates.MessageChanged(message=message.snapshot(), patch=report, created=created, added=added)
        self._grow(growth, "messages", (message.role, message.id))
        return change

    def _message(self, role: str, identifier: str | None) -> tuple[Message, bool]:
        if identifier is None and self.telling is not None and self.telling.role == role:
            return self.telling, False
        key = (role, self._unused_id() if identifier is None else identifier)
        message = self.messages.get(key)
        created = message is None
        if message is None:
            message = self.messages[key] = Message(role=role, id=key[1])
            self._hold(self._appeared("messages", key), message)
        self.telling = message
        return message, created

    def _prompt_patch(self, report: PromptPatch) -> Change:
        telling = self.telling
        message, created = self._message(USER, report.id)
        self.telling = telling
        if report.new_id is not None or report.goes_last:
            message = self._put(message, report.new_id or report.id, goes_last=report.goes_last)
        message.not_accepted = message.not_accepted or report.not_accepted
        return updates.PromptChanged(message=message.snapshot(), former_id=report.id, patch=report, created=created)

    def _put(self, message: Message, new_id: str, *, goes_last: bool) -> Message:
        """Give a prompt another id or place. A message that has the id already stays in its stead."""
        old, new = ("messages", (USER, message.id)), ("messages", (USER, new_id))
        stays = self.messages.get(new[1], message)
        place = len(self._order) - 1 - self._order[::-1].index(old)
        del self._order[place]
        self._holding.pop(old, None)
        if stays is message:
            self._order.insert(len(self._order) if goes_last else place, new)
            message.id = new_id
        else:
            self._weight -= message.weight
            self._room += details_weight("messages", message)
        self._hold(new, stays)
        del self.messages[old[1]]
        self.messages[new[1]] = stays
        for key in [key for table, key in self._order if table == "messages" and key in self.messages]:
            self.messages[key] = self.messages.pop(key)  # in the order of the timeline
        return stays

    def _unused_id(self) -> str:
        while True:
            identifier = self.new_id()
            known = self.messages
            if not ((AGENT, identifier) in known or (THOUGHT, identifier) in known or (USER, identifier) in known):
                return identifier

    def _tool_call_patch(self, report: updates.ToolCallPatch) -> Change:
        call, created = self._renewed("tool_calls", report.id, ToolCall)
        if report.creates and call.finished:  # another call under an old id; one that goes on ends no message (AMB-72)
            self.telling = None
        if report.title is not UNSET:
            call.title = self._detail(call.title, report.title)
        if report.name is not UNSET:
            call.name = self._detail(call.name, report.name)
        if report.kind is not UNSET:
            call.kind = OTHER if report.kind is None else report.kind  # AMB-50
        if report.status is not UNSET:
            call.status = PENDING if report.status is None else report.status
        if report.cancellable is not UNSET:
            call.cancellable = report.cancellable or False
        call.ended_without_result = report.ended_without_result
        if report.locations is not UNSET:
            call.locations = self._detail(call.locations, [*(report.locations or ())])
        if report.meta is not UNSET:
            call.meta = self._detail(call.meta, meta_after(call.meta, report))
        growth = 0
        if report.content is not UNSET:
            growth = -weigh(call.content)
            call.content = Items(report.content or ())
            growth += weigh(call.content)
        if report.raw_input is not UNSET:
            growth += weigh(report.raw_input) - weigh(call.raw_input)
            call.raw_input = report.raw_input
        if report.raw_output is not UNSET:
            growth += weigh(report.raw_output) - weigh(call.raw_output)
            call.raw_output = report.raw_output
        self._grow(growth, "tool_calls", call.id)
        return updates.ToolCallChanged(call=call, patch=report, created=created)

    def _tool_call_piece(self, report: updates.ToolCallPiece) -> Change:
        call, created = self._renewed("tool_calls", report.id, ToolCall)
        call.content = plus(call.content, report.item)
        call.ended_without_result = False
        self._grow(weigh_piece(report.item), "tool_calls", call.id)
        return updates.ToolCallChanged(call=call, patch=report, created=created)

    def _terminal_patch(self, report: updates.TerminalPatch) -> Change:
        before = self.terminals.get(report.id)
        terminal, created = self._renewed("terminals", report.id, Terminal)
        terminal.meta = meta_after(terminal.meta, report)
        lay(report, terminal, _TERMINAL)
        self._room -= details_growth("terminals", before, terminal)
        growth = 0
        if report.output is not UNSET:
            growth = -len(terminal.output)
            terminal.output = Output(report.output or b"")
            terminal.dropped = False
            growth += len(terminal.output)
        self._grow(growth, "terminals", terminal.id)
        return updates.TerminalChanged(terminal=terminal, patch=report, created=created)

    def _terminal_piece(self, report: updates.TerminalPiece) -> Change:
        terminal, created = self._renewed("terminals", report.id, Terminal)
        terminal.output = terminal.output.plus(report.data)
        self._grow(len(report.data), "terminals", terminal.id)
        return updates.TerminalOutput(terminal=terminal, data=report.data, patch=report, created=created)

    def _plan_report(self, report: updates.PlanReport) -> Change:
        plan = report.plan
        before = self.plans.get(plan.id)
        self.plans[plan.id] = plan
        growth = content_weight("plans", plan)
        self._room -= details_growth("plans", before, plan)
        if before is None:
            self._appeared("plans", plan.id)
        else:
            growth -= content_weight("plans", before)
        self._grow(growth, "plans", plan.id)
        return updates.PlanChanged(plan=plan, patch=report, created=before is None)

    def _compaction_patch(self, report: updates.CompactionPatch) -> Change:
        before = self.compactions.get(report.id)
        compaction, created = self._renewed("compactions", report.id, Compaction, status=report.status)
        compaction.status = report.status
        compaction.meta = meta_after(compaction.meta, report)
        growth = 0
        if report.error is not UNSET:
            compaction.error = report.error
        self._room -= details_growth("compactions", before, compaction)
        if report.summary is not UNSET:
            growth = -weigh(compaction.summary)
            compaction.summary = Items(report.summary or ())
            compaction.dropped = False
            growth += weigh(compaction.summary)
        self._grow(growth, "compactions", compaction.id)
        return updates.CompactionChanged(compaction=compaction, patch=report, created=created)

    def _compaction_piece(self, report: updates.CompactionPiece) -> Change:
        compaction, created = self._renewed("compactions", report.id, Compaction, status="in_progress")
        compaction.summary = plus(compaction.summary, report.content)
        self._grow(weigh_piece(report.content), "compactions", compaction.id)
        return updates.CompactionChanged(compaction=compaction, patch=report, created=created)

    def _renewed(self, table: str, key: str, kind: type[_Entity], **required: Any) -> tuple[_Entity, bool]:
        """A copy of the stored entity, or a new one, put in its place: older changes keep the one they have."""
        before: _Entity | None = self._tables[table].get(key)
        if before is not None:
            entity = self._tables[table][key] = replace(before)
            return entity, False
        entity = self._tables[table][key] = kind(id=key, **required)
        self._appeared(table, key)
        return entity, True

    def _detail(self, before: T, after: T) -> T:
        """What takes the place of a detail that the limit counts."""
        self._room -= weigh_detail(after) - weigh_detail(before)
        return after

    def _commands_report(self, report: updates.CommandsReport) -> Change:
        self.commands = report.commands
        return updates.CommandsChanged(commands=report.commands, patch=report)

    def _options_report(self, report: updates.OptionsReport) -> Change:
        self.options = report.options
        option = _mode_option(self.options)
        if option is not None and self.modes is not None and option.value != self.modes.current:
            self.modes = replace(self.modes, current=option.value)
        return updates.OptionsChanged(options=report.options, patch=report)

    def _modes_report(self, report: updates.ModesReport) -> Change:
        self.modes = report.modes
        self._set_mode_option(report.modes.current)
        return updates.ModeChanged(mode_id=report.modes.current, modes=report.modes, patch=report)

    def _mode_report(self, report: updates.ModeReport) -> Change:
        if self.modes is not None:
            self.modes = replace(self.modes, current=report.mode_id)
        self._set_mode_option(report.mode_id)
        return updates.ModeChanged(mode_id=report.mode_id, modes=self.modes, patch=report)

    def _set_mode_option(self, mode_id: str) -> None:
        chosen = _mode_option(self.options)
        if chosen is not None and chosen.value != mode_id:
            self.options = [replace(each, value=mode_id) if each is chosen else each for each in self.options]

    def _info_patch(self, report: updates.InfoPatch) -> Change:
        info = self.info = replace(self.info, meta=meta_after(self.info.meta, report))
        lay(report, info, _INFO)
        return updates.InfoChanged(info=info, patch=report)

    def _usage_report(self, report: updates.UsageReport) -> Change:
        cost = report.cost
        if cost is UNSET:
            cost = None if self.usage is None else self.usage.cost  # AMB-53
        self.usage = Usage(used=report.used, size=report.size, cost=cost, meta=report.meta or None)
        return updates.UsageChanged(usage=self.usage, patch=report)

    def _notice_report(self, report: updates.NoticeReport) -> Change:
        return updates.NoticeShown(notice=report.notice, patch=report)

    def _state_report(self, report: updates.StateReport) -> Change:
        self.state = report.state
        return updates.StateChanged(state=report.state, patch=report)

    def _unknown_report(self, report: UnknownReport) -> Change:
        key = self._unknown_count = self._unknown_count + 1
        self._unknown[key] = report
        self._appeared("unknown", key)
        self._grow(weigh(report.raw), "unknown", key)
        return updates.UnknownUpdate(patch=report, created=True)

    def _appeared(self, table: str, key: Any) -> _Key:
        place = (table, key)
        if table != "terminals":  # they are shown where a tool call has them
            self._order.append(place)
            self.telling = self.telling if table == "unknown" else None
        entities = self._tables[table]
        if len(entities) <= self.entity_limit:
            return place
        first = next(iter(entities))
        self._holding.pop((table, first), None)
        entity = entities.pop(first)
        self._weight -= content_weight(table, entity)
        self._room += details_weight(table, entity)
        self.forgotten += 1
        if len(self._order) > 16 + 2 * sum(map(len, self._tables.values())):
            self._order = [(table, key) for table, key in self._order if key in self._tables[table]]
        return place

    def _grow(self, growth: int, table: str, key: Any) -> None:
        place = (table, key)
        if place != self._changed_last:
            self._hold(place, place)
        self._weight += growth
        if self._weight > self._room:
            self._drop()

    def _hold(self, place: _Key, sign: object) -> None:
        self._holding[place] = None
        self._holding.move_to_end(place)
        self._changed_last = sign

    def _drop(self) -> None:
        """Drop content until the limit is kept; what is changing right now goes only when nothing else is left."""
        while self._weight > self._room and self._holding:
            (table, key), _ = self._holding.popitem(last=False)
            entity = self._tables[table][key]
            self._room += details_weight(table, entity)
            if table == "messages":
                self._weight += entity.replace(())
                entity.meta = None
                entity.dropped = True
            elif table == "unknown":
                self._weight -= weigh(self._unknown.pop(key).raw)
            else:
                self._weight -= content_weight(table, entity)
                left = {name: left_of(getattr(entity, name)) for name in DETAILS[table]}
                self._tables[table][key] = replace(entity, **CONTENT[table], **left, dropped=True)
        if not self._holding:
            self._changed_last = None

    _rules: ClassVar[Mapping[type, Callable[[Any, Any], Change]]] = {
        updates.MessagePatch: _message_patch,
        updates.PromptPatch: _prompt_patch,
        updates.ToolCallPatch: _tool_call_patch,
        updates.ToolCallPiece: _tool_call_piece,
        updates.TerminalPatch: _terminal_patch,
        updates.TerminalPiece: _terminal_piece,
        updates.PlanReport: _plan_report,
        updates.CompactionPatch: _compaction_patch,
        updates.CompactionPiece: _compaction_piece,
        updates.CommandsReport: _commands_report,
        updates.OptionsReport: _options_report,
        updates.ModesReport: _modes_report,
        updates.ModeReport: _mode_report,
        updates.InfoPatch: _info_patch,
        updates.UsageReport: _usage_report,
        updates.NoticeReport: _notice_report,
        updates.StateReport: _state_report,
        updates.UnknownReport: _unknown_report,
    }


def _mode_option(options: list[Option]) -> Option | None:
    return next((each for each in options if each.category == "mode" and isinstance(each.value, str)), None)
