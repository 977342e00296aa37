"""`accord run --json`: what happens, as one event per line."""

from __future__ import annotations

import codecs
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from accord import __version__
from accord.apps.console.file_changes import ChangedFiles
from accord.apps.console.permission_flags import permission_summary
from accord.apps.console.run import event_types
from accord.apps.console.run.output_format import NOT_ACCEPTED, Outcome, Reporter, describe_stop
from accord.apps.console.run.output_stream import StandardStreams
from accord.apps.console.sanitizer import escape_json
from accord.apps.console.tool_input import affected_files, command_line
from accord.client.permissions.writes_and_commands import allows
from accord.client.session import Session
from accord.session import replay, updates
from accord.session.content import Content, Text
from accord.session.entities import AGENT, THOUGHT, USER, Message, Plan, ToolCall, ToolCallItem
from accord.session.limits import LimitedDict
from accord.session.memory_estimate import weigh_piece
from accord.session.requests import (
    CommandSubject,
    InitializeResult,
    PermissionAnswer,
    PermissionRequest,
    ToolCallSubject,
)
from accord.session.value import UNSET

E = TypeVar("E", bound=event_types.Event)
_TOLD_BYTES = 4 * 1024 * 1024
_EARLY_BYTES = 4 * 1024 * 1024
_SETTINGS = (
    updates.CommandsChanged,
    updates.OptionsChanged,
    updates.ModeChanged,
    updates.InfoChanged,
    updates.UsageChanged,
    updates.StateChanged,
)


class JsonEventPrinter(Reporter):
    """Writes each event to stdout, and failures to stderr too, where people look for them."""

    def __init__(self, outputs: StandardStreams) -> None:
        self._outputs = outputs
        self._maker = EventBuilder()
        self._files = ChangedFiles()
        self._cwd = ""
        self._early: list[bytes] | None = []
        """What happened before the session was open, and can be told only after that."""
        self._early_room = _EARLY_BYTES

    def started(self, agent: InitializeResult, session: Session, *, resumed: bool) -> None:
        info, early, self._early = agent.info, self._early, None
        self._cwd = session.cwd
        self._write(
            event_types.StartEvent(
                format=event_types.FORMAT,
                accord=__version__,
                agent=info and info.name,
                agent_version=info and info.version,
                protocol=agent.version,
                session_id=session.id,
                cwd=session.cwd,
                resumed=resumed,
            )
        )
        for change in replay(session.transcript, 0):
            if not isinstance(change, updates.StateChanged):
                self.changed(change)
        self._write_lines(early)

    def changed(self, change: updates.Update) -> None:
        if self._early is not None and isinstance(change, _SETTINGS):
            return  # told as they are when the session is open
        self._files.tell(change)
        for event in self._maker.events_of(change):
            self._write(event)

    def decided(self, request: PermissionRequest, answer: PermissionAnswer, by: Literal["rule", "person"]) -> None:
        subject = request.subject
        call = subject.call if isinstance(subject, ToolCallSubject) else None
        command = subject.command if isinstance(subject, CommandSubject) else call and command_line(call.raw_input)
        self._write(
            event_types.PermissionEvent(
                title=permission_summary(request),
                tool_call_id=(call and call.id) or None,
                allowed=allows(request, answer),
                option_id=answer.option_id,
                by=by,
                command=command,
                files=[] if call is None else affected_files(call),
            )
        )

    def wrote(self, path: str, size: int) -> None:
        self._files.wrote(path)
        self._write(event_types.FileWrittenEvent(path=path, size=size))

    def noted(self, text: str, severity: str = "info") -> None:
        self._write(event_types.NoticeEvent(severity=severity, title=text, source="accord"))

    def ended(self, outcome: Outcome) -> None:
        failure = outcome.failure
        error = failure and event_types.FailureDetails(
            reason=failure.reason, advice=failure.advice, last_words=failure.last_words
        )
        early, self._early = self._early, None
        self._write_lines(early)
        self._write(
            event_types.EndEvent(
                format=event_types.FORMAT,
                exit=outcome.exit,
                stop_reason=outcome.stop_reason,
                session_id=outcome.session_id,
                error=error,
                files_changed=self._files.paths(self._cwd),
            )
        )
        if stopped := describe_stop(outcome):
            self._outputs.err.write(f"{stopped}\n")

    def _write(self, event: event_types.Event) -> None:
        line = escape_json(msgspec.json.encode(event, enc_hook=_plain)) + b"\n"
        if self._early is None:
            self._outputs.out.write_bytes(line)
            return
        self._early_room -= len(line)
        if self._early_room >= 0:
            self._early.append(line)

    def _write_lines(self, early: list[bytes] | None) -> None:
        for line in early or ():
            self._outputs.out.write_bytes(line)
        if self._early_room < 0:
            self.noted("the agent said so much before the session was open that some of it was left out", "warning")
            self._early_room = 0


class _Told(msgspec.Struct):
    """How many items of a call were told, and the last of them: whether it still stands there tells if they do."""

    count: int
    last: ToolCallItem
    weight: int


class EventBuilder:
    """Turns the changes of one session into events."""

    def __init__(self) -> None:
        self._told: OrderedDict[str, _Told] = OrderedDict()
        self._told_room = _TOLD_BYTES
        self._decoders: LimitedDict[codecs.IncrementalDecoder] = LimitedDict(1000)

    def events_of(self, change: updates.Update) -> Iterator[event_types.Event]:
        """Often one, sometimes none."""
        match change:
            case updates.MessageChunk():
                yield from self._pieces(change.role, change.message.id, [change.content])
            case updates.MessageChanged(message=message, added=added):
                if added is not None:
                    yield from self._pieces(message.role, message.id, added)
                else:
                    content = list(message.content)
                    yield event_types.MessageEvent(role=message.role, content=content, message_id=message.id)
            case updates.PromptChanged(message=Message(not_accepted=True)):
                yield event_types.NoticeEvent(severity="warning", title=NOT_ACCEPTED, source="accord")
            case updates.ToolCallChanged(call=call):
                yield self._tool_call(call, created=change.created)
            case updates.TerminalChanged(terminal=shown, patch=patch):
                yield _copy(shown, event_types.TerminalStateEvent)
                if patch.output is not UNSET:
                    replaces = self._decoders.pop(shown.id) is not None
                    text = self._decoded(shown.id, patch.output or b"")
                    yield event_types.TerminalOutputEvent(id=shown.id, text=text, replaces=replaces)
            case updates.TerminalOutput(terminal=shown, data=piece):
                if text := self._decoded(shown.id, piece):
                    yield event_types.TerminalOutputEvent(id=shown.id, text=text)
            case _:
                event = _state_of(change)
                if event is not None:
                    yield event

    def _decoded(self, terminal_id: str, piece: bytes) -> str:
        decoder = self._decoders.get(terminal_id)
        if decoder is None:
            decoder = codecs.getincrementaldecoder("utf-8")("replace")
            self._decoders.put(terminal_id, decoder)
        return decoder.decode(piece)

    def _pieces(self, role: str, message_id: str | None, blocks: Sequence[Content]) -> Iterator[event_types.Event]:
        if role == USER:
            return  # the prompt, which whoever reads this has given
        for block in blocks:
            if isinstance(block, Text) and role == AGENT:
                yield event_types.TextEvent(text=block.text, message_id=message_id)
            elif isinstance(block, Text) and role == THOUGHT:
                yield event_types.ThoughtEvent(text=block.text, message_id=message_id)
            else:
                yield event_types.ContentEvent(role=role, content=block, message_id=message_id)

    def _tool_call(self, call: ToolCall, *, created: bool) -> event_types.ToolCallEvent:
        before, now = self._told.pop(call.id, None), call.content
        start = 0
        if before is not None:
            self._told_room += before.weight
            if before.count <= len(now) and now[before.count - 1] is before.last:
                start = before.count
        if now and not call.finished:
            told = self._told[call.id] = _Told(len(now), now[-1], len(call.id) + weigh_piece(now[-1]))
            self._told_room -= told.weight
            while self._told_room < 0 and len(self._told) > 1:  # one that is forgotten is told whole the next time
                self._told_room += self._told.popitem(last=False)[1].weight
        return _copy(call, event_types.ToolCallEvent, content_start=start, content=list(now[start:]), created=created)


def _state_of(change: updates.Update) -> event_types.Event | None:
    match change:
        case updates.PlanChanged(plan=Plan(type=kind, raw=dict(raw))):
            return event_types.UnknownUpdateEvent(tag=kind, raw=raw)
        case updates.PlanChanged(plan=plan):
            return _copy(plan, event_types.PlanEvent)
        case updates.CommandsChanged(commands=commands):
            return event_types.CommandsEvent(commands=commands)
        case updates.OptionsChanged(options=options):
            return event_types.OptionsEvent(options=options)
        case updates.ModeChanged(mode_id=mode_id):
            return event_types.ModeEvent(mode_id=mode_id)
        case updates.InfoChanged(info=info):
            return event_types.InfoEvent(title=info.title)
        case updates.UsageChanged(usage=usage):
            return _copy(usage, event_types.UsageEvent)
        case updates.NoticeShown(notice=notice):
            return _copy(notice, event_types.NoticeEvent)
        case updates.CompactionChanged(compaction=compaction):
            return _copy(compaction, event_types.CompactionEvent, summary=list(compaction.summary))
        case updates.StateChanged(state=state):
            return _copy(state, event_types.StateEvent)
        case updates.UnknownUpdate(patch=patch):
            return event_types.UnknownUpdateEvent(tag=patch.tag, raw=patch.raw)
        case _:
            return None


def _copy(entity: msgspec.Struct, kind: type[E], **others: Any) -> E:
    """An event with the members of an entity that have the same names, and others."""
    names = [name for name in kind.__struct_fields__ if name not in others and hasattr(entity, name)]
    return kind(**{name: getattr(entity, name) for name in names}, **others)


def _plain(value: Any) -> Any:
    if isinstance(value, Sequence):
        return list(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    raise NotImplementedError(type(value).__name__)
