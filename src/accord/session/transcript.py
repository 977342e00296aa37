"""The state of a session. Law: it changes in `Transcript.apply`, and nowhere else.

What the fields of a patch do is told in `patching`. A list takes the place of the whole list that was there, pieces
that were added to it included; an empty one and None clear it. Pieces go to the end. An id that was not seen before
creates its entity, also when it comes with a piece (AMB-54). Order of receipt is all that counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count, takewhile
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
    Compaction,
    Message,
    Modes,
    Option,
    Plan,
    SlashCommand,
    State,
    Terminal,
    ToolCall,
    Usage,
)
from accord.session.limits import Key, LimitedTables
from accord.session.memory_estimate import (
    TRANSCRIPT_BYTES,
    content_weight,
    details_weight,
    weigh,
    weigh_detail,
    weigh_piece,
)
from accord.session.patch_rules import append_item, appended_content, apply_fields, merge_meta
from accord.session.snapshots import SnapshotBytes, SnapshotList
from accord.session.updates import MessageAppend, MessageChunk, Patch, PromptPatch, UnknownPatch, Update
from accord.session.value import UNSET

__all__ = ["Place", "Transcript"]

Place: TypeAlias = Message | ToolCall | Plan | Compaction | UnknownPatch
"""What can stand in a transcript's timeline."""

_Entity = TypeVar("_Entity", ToolCall, Terminal, Compaction)

_TERMINAL = {"command": None, "cwd": None, "exit": None, "size": None, "cancellable": False}
_INFO = {"title": None, "updated_at": None}


class Transcript(LimitedTables):
    """All that was told in a session, brought up to date in place.

    Past `byte_limit` it forgets: the content that has been left alone for longest goes first, and its entity stays,
    marked as `dropped`; see `weight`. Past `entity_limit` entities of one kind, the first one goes altogether.
    """

    def __init__(self, byte_limit: int = TRANSCRIPT_BYTES, entity_limit: int = 100_000) -> None:
        super().__init__(byte_limit, entity_limit)
        self.new_id: Callable[[], str] = map("accord-{}".format, count(1)).__next__
        """Makes up an id for a message that comes without one. These are unique in this transcript only."""
        self.commands: list[SlashCommand] = []
        """The slash commands that the agent offers now."""
        self.options: list[Option] = []
        """The settings of the session, with their values."""
        self.modes: Modes | None = None
        """The available modes and the current one; None if the agent has none, or an option for them."""
        self.usage: Usage | None = None
        """Tokens in context and cost so far, if the agent reports them."""
        self.state = State()
        """Whether the agent works, waits or is idle, and why its last turn ended."""
        self._unknown_count = 0

    @property
    def timeline(self) -> list[Place]:
        """Messages, tool calls, plans, compactions and unknown updates, in the order in which they first appeared."""
        return [self._tables[table][key] for table, key in self._order]

    @property
    def last(self) -> Place | None:
        """The last entry of the timeline; None if it is empty."""
        place = next(reversed(self._order), None)
        return None if place is None else self._tables[place[0]][place[1]]

    @property
    def open_calls(self) -> list[ToolCall]:
        """The tool calls that have not ended; however many have, it takes no longer."""
        return [self.tool_calls[id] for id in self._open_calls]

    def apply(self, report: Patch | PromptPatch) -> Update:
        """Take in what was reported. The change carries the report, and what it concerns as it is now."""
        if type(report) is not MessageAppend:
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

    def append_text(self, role: str, text: str) -> Message:
        """As `apply` for a piece of plain text without an id; returns the message, which an update would carry."""
        message = self.telling
        if message is None or message.role != role:
            message, _ = self._message(role, None)
        if message is not self._changed_last:
            self._hold(("messages", (role, message.id)), message)
        weight = self._weight = self._weight + message.append_text(text)
        if weight > self._room:
            self._drop()
        return message

    def begin_turn(self) -> None:
        """From now on a message without an id is a new one (AMB-72)."""
        self.telling = None

    def _message_patch(self, report: updates.MessagePatch) -> Update:
        message, created = self._message(report.role, report.id)
        if report.meta is not UNSET:
            meta, message.meta = message.meta, merge_meta(message.meta, report)
            self._room -= weigh_detail(message.meta) - weigh_detail(meta)
        added: list[Content] | None = []
        before: list[Content] = []
        growth = 0
        if report.content is not UNSET:
            content, before = report.content or [], message.content
            added = appended_content(before, content)
            growth = message.replace(content)
            message.dropped = False
        change = updates.MessageChanged(message=message.snapshot(), patch=report, created=created, added=added)
        change.before = before if added is None else []
        self._grow(("messages", (message.role, message.id)), growth)
        return change

    def _message(self, role: str, identifier: str | None) -> tuple[Message, bool]:
        if identifier is None and self.telling is not None and self.telling.role == role:
            return self.telling, False
        key = (role, self._unused_id() if identifier is None else identifier)
        message = self.messages.get(key)
        created = message is None
        if message is None:
            message = self.messages[key] = Message(role=role, id=key[1])
            self._room -= details_weight("messages", message)
            self._hold(self._appeared("messages", key), message)
        self.telling = message
        return message, created

    def _prompt_patch(self, report: PromptPatch) -> Update:
        telling = self.telling
        message, created = self._message(USER, report.id)
        self.telling = telling
        if report.new_id is not None or report.goes_last:
            message = self._put(message, report.new_id or report.id, goes_last=report.goes_last)
        message.not_accepted = message.not_accepted or report.not_accepted
        self._grow(("messages", (USER, message.id)), 0)
        return updates.PromptChanged(message=message.snapshot(), former_id=report.id, patch=report, created=created)

    def _put(self, message: Message, new_id: str, *, goes_last: bool) -> Message:
        """Give a prompt another id or place. A message that has the id already stays in its stead."""
        old, new = ("messages", (USER, message.id)), ("messages", (USER, new_id))
        stays = self.messages.get(new[1], message)
        self._holding.pop(old, None)
        following = [] if stays is not message or goes_last else self._following(old)
        del self._order[old], self.messages[old[1]]
        if stays is message:
            self._room -= weigh_detail(new_id) - weigh_detail(message.id)
            message.id = new_id
            self._order[new], self.messages[new[1]] = None, message
        else:
            self._weight -= message.weight
            self._room += details_weight("messages", message)
        for place in following:
            self._order[place] = self._order.pop(place)
            if place[0] == "messages":
                self.messages[place[1]] = self.messages.pop(place[1])
        self._hold(new, stays)
        return stays

    def _following(self, place: Key) -> list[Key]:
        """The places after this one. A prompt has few, however long the timeline is."""
        following = list(takewhile(lambda other: other != place, reversed(self._order)))
        return following[::-1]

    def _unused_id(self) -> str:
        while True:
            identifier = self.new_id()
            known = self.messages
            if not ((AGENT, identifier) in known or (THOUGHT, identifier) in known or (USER, identifier) in known):
                return identifier

    def _tool_call_patch(self, report: updates.ToolCallPatch) -> Update:
        before = self.tool_calls.get(report.id)
        call, created = self._renewed("tool_calls", report.id, ToolCall)
        if report.creates and call.finished:  # another call under an old id; one that goes on ends no message (AMB-72)
            self.telling = None
        if report.title is not UNSET:
            call.title = report.title
        if report.name is not UNSET:
            call.name = report.name
        if report.kind is not UNSET:
            call.kind = OTHER if report.kind is None else report.kind  # AMB-50
        if report.status is not UNSET:
            call.status = PENDING if report.status is None else report.status
        if report.cancellable is not UNSET:
            call.cancellable = report.cancellable or False
        call.ended_without_result = report.ended_without_result
        if report.locations is not UNSET:
            call.locations = [*(report.locations or ())]
        if report.meta is not UNSET:
            call.meta = merge_meta(call.meta, report)
        growth = 0
        if report.content is not UNSET:
            growth = -weigh(call.content)
            call.content = SnapshotList(report.content or ())
            growth += weigh(call.content)
        if report.raw_input is not UNSET:
            growth += weigh(report.raw_input) - weigh(call.raw_input)
            call.raw_input = report.raw_input
        if report.raw_output is not UNSET:
            growth += weigh(report.raw_output) - weigh(call.raw_output)
            call.raw_output = report.raw_output
        self._note_end(call)
        self._change("tool_calls", before, call, growth)
        return updates.ToolCallChanged(call=call, patch=report, created=created)

    def _tool_call_piece(self, report: updates.ToolCallAppend) -> Update:
        call, created = self._renewed("tool_calls", report.id, ToolCall)
        call.content = append_item(call.content, report.item)
        call.ended_without_result = False
        self._note_end(call)
        self._change("tool_calls", None if created else call, call, weigh_piece(report.item))
        return updates.ToolCallChanged(call=call, patch=report, created=created)

    def _note_end(self, call: ToolCall) -> None:
        if call.finished:
            self._open_calls.pop(call.id, None)
        else:
            self._open_calls[call.id] = None

    def _terminal_patch(self, report: updates.TerminalPatch) -> Update:
        before = self.terminals.get(report.id)
        terminal, created = self._renewed("terminals", report.id, Terminal)
        terminal.meta = merge_meta(terminal.meta, report)
        apply_fields(report, terminal, _TERMINAL)
        growth = 0
        if report.output is not UNSET:
            growth = -len(terminal.output)
            terminal.output = SnapshotBytes(report.output or b"")
            terminal.dropped = False
            growth += len(terminal.output)
        self._change("terminals", before, terminal, growth)
        return updates.TerminalChanged(terminal=terminal, patch=report, created=created)

    def _terminal_piece(self, report: updates.TerminalAppend) -> Update:
        terminal, created = self._renewed("terminals", report.id, Terminal)
        terminal.output = terminal.output.plus(report.data)
        self._change("terminals", None if created else terminal, terminal, len(report.data))
        return updates.TerminalOutput(terminal=terminal, data=report.data, patch=report, created=created)

    def _plan_report(self, report: updates.PlanPatch) -> Update:
        plan = report.plan
        before = self.plans.get(plan.id)
        self.plans[plan.id] = plan
        growth = content_weight("plans", plan)
        if before is None:
            self._appeared("plans", plan.id)
        else:
            growth -= content_weight("plans", before)
        self._change("plans", before, plan, growth)
        return updates.PlanChanged(plan=plan, patch=report, created=before is None)

    def _compaction_patch(self, report: updates.CompactionPatch) -> Update:
        before = self.compactions.get(report.id)
        compaction, created = self._renewed("compactions", report.id, Compaction, status=report.status)
        compaction.status = report.status
        compaction.meta = merge_meta(compaction.meta, report)
        growth = 0
        if report.error is not UNSET:
            compaction.error = report.error
        if report.summary is not UNSET:
            growth = -weigh(compaction.summary)
            compaction.summary = SnapshotList(report.summary or ())
            compaction.dropped = False
            growth += weigh(compaction.summary)
        self._change("compactions", before, compaction, growth)
        return updates.CompactionChanged(compaction=compaction, patch=report, created=created)

    def _compaction_piece(self, report: updates.CompactionAppend) -> Update:
        compaction, created = self._renewed("compactions", report.id, Compaction, status="in_progress")
        compaction.summary = append_item(compaction.summary, report.content)
        self._change("compactions", None if created else compaction, compaction, weigh_piece(report.content))
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

    def _commands_report(self, report: updates.CommandsPatch) -> Update:
        self._set("commands", report.commands)
        return updates.CommandsChanged(commands=report.commands, patch=report)

    def _options_report(self, report: updates.OptionsPatch) -> Update:
        self._set("options", report.options)
        option = _mode_option(self.options)
        if option is not None and self.modes is not None and option.value != self.modes.current:
            self._set("modes", replace(self.modes, current=option.value))
        return updates.OptionsChanged(options=report.options, patch=report)

    def _modes_report(self, report: updates.ModesPatch) -> Update:
        self._set("modes", report.modes)
        self._set_mode_option(report.modes.current)
        return updates.ModeChanged(mode_id=report.modes.current, modes=report.modes, patch=report)

    def _mode_report(self, report: updates.ModePatch) -> Update:
        if self.modes is not None:
            self._set("modes", replace(self.modes, current=report.mode_id))
        self._set_mode_option(report.mode_id)
        return updates.ModeChanged(mode_id=report.mode_id, modes=self.modes, patch=report)

    def _set_mode_option(self, mode_id: str) -> None:
        chosen = _mode_option(self.options)
        if chosen is not None and chosen.value != mode_id:
            options = [replace(each, value=mode_id) if each is chosen else each for each in self.options]
            self._set("options", options)

    def _info_patch(self, report: updates.InfoPatch) -> Update:
        info = replace(self.info, meta=merge_meta(self.info.meta, report))
        apply_fields(report, info, _INFO)
        self._set("info", info)
        return updates.InfoChanged(info=info, patch=report)

    def _usage_report(self, report: updates.UsagePatch) -> Update:
        cost = report.cost
        if cost is UNSET:
            cost = None if self.usage is None else self.usage.cost  # AMB-53
        usage = Usage(used=report.used, size=report.size, cost=cost, meta=report.meta or None)
        self._set("usage", usage)
        return updates.UsageChanged(usage=usage, patch=report)

    def _notice_report(self, report: updates.NoticePatch) -> Update:
        return updates.NoticeShown(notice=report.notice, patch=report)

    def _state_report(self, report: updates.StatePatch) -> Update:
        self._set("state", report.state)
        return updates.StateChanged(state=report.state, patch=report)

    def _unknown_report(self, report: UnknownPatch) -> Update:
        key = self._unknown_count = self._unknown_count + 1
        self._unknown[key] = report
        self._appeared("unknown", key)
        self._room -= details_weight("unknown", report)
        self._grow(("unknown", key), weigh(report.raw))
        return updates.UnknownUpdate(patch=report, created=True)

    _rules: ClassVar[Mapping[type, Callable[[Any, Any], Update]]] = {
        updates.MessagePatch: _message_patch,
        updates.PromptPatch: _prompt_patch,
        updates.ToolCallPatch: _tool_call_patch,
        updates.ToolCallAppend: _tool_call_piece,
        updates.TerminalPatch: _terminal_patch,
        updates.TerminalAppend: _terminal_piece,
        updates.PlanPatch: _plan_report,
        updates.CompactionPatch: _compaction_patch,
        updates.CompactionAppend: _compaction_piece,
        updates.CommandsPatch: _commands_report,
        updates.OptionsPatch: _options_report,
        updates.ModesPatch: _modes_report,
        updates.ModePatch: _mode_report,
        updates.InfoPatch: _info_patch,
        updates.UsagePatch: _usage_report,
        updates.NoticePatch: _notice_report,
        updates.StatePatch: _state_report,
        updates.UnknownPatch: _unknown_report,
    }


def _mode_option(options: list[Option]) -> Option | None:
    return next((each for each in options if each.category == "mode" and isinstance(each.value, str)), None)
