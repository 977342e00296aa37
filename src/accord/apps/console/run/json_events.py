"""`accord run --json`: what happens, as one event per line.

Law: events are few and whole, and nothing is lost. The pieces of a text are one event, a tool call is told when it begins,
when its status changes, when somebody is asked about it and when it ends, and a state is told when it is another one.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from typing import Any, Literal

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
from accord.session import updates
from accord.session.content import Content, Text
from accord.session.entities import AGENT, PENDING, THOUGHT, USER, Message, Terminal, ToolCall
from accord.session.limits import LimitedDict
from accord.session.memory_estimate import weigh
from accord.session.replay import replay
from accord.session.requests import (
    CommandSubject,
    InitializeResult,
    PermissionAnswer,
    PermissionRequest,
    ToolCallSubject,
)
from accord.session.value import UNSET

_HELD_BYTES = 4 * 1024 * 1024
_EARLY_BYTES = 4 * 1024 * 1024
_LONGEST_TEXT = 64 * 1024
_MOST_TERMINALS = 100
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
        self._write_held()
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
        call_id = (call and call.id) or None
        self._write_now(
            event_types.PermissionEvent(
                title=permission_summary(request),
                tool_call_id=call_id,
                allowed=allows(request, answer),
                option_id=answer.option_id,
                by=by,
                command=command,
                files=[] if call is None else affected_files(call),
            ),
            call_id,
        )

    def wrote(self, path: str, size: int) -> None:
        self._files.wrote(path)
        self._write_now(event_types.FileWrittenEvent(path=path, size=size))

    def noted(self, text: str, severity: str = "info") -> None:
        self._write_now(event_types.NoticeEvent(severity=severity, title=text, source="accord"))

    def ended(self, outcome: Outcome) -> None:
        failure = outcome.failure
        error = failure and event_types.FailureDetails(
            reason=failure.reason, advice=failure.advice, last_words=failure.last_words
        )
        self._write_held()
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

    def _write_now(self, event: event_types.Event, call_id: str | None = None) -> None:
        """Write an event that is no update, after what was held back until something else happens."""
        for each in self._maker.before_other(call_id):
            self._write(each)
        self._write(event)

    def _write_held(self) -> None:
        for event in self._maker.rest():
            self._write(event)

    def _write(self, event: event_types.Event) -> None:
        line = encode_line(event)
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


def encode_line(value: msgspec.Struct) -> bytes:
    """As a line of JSON that no terminal obeys."""
    return escape_json(msgspec.json.encode(value, enc_hook=_plain)) + b"\n"


class _HeldCall(msgspec.Struct):
    """A tool call of which something was not told yet, and which of its members that are."""

    call: ToolCall
    created: bool = False
    changed: dict[str, None] = {}
    weight: int = 0


class _HeldOutput(msgspec.Struct):
    """What a terminal has written and was not told yet; `shown` is what was last told of the terminal itself."""

    decoder: codecs.IncrementalDecoder
    shown: event_types.TerminalStateEvent | None = None
    text: str = ""
    replaces: bool = False
    is_told: bool = False


class _HeldText(msgspec.Struct):
    """What a message says and was not told yet."""

    role: str
    message_id: str | None
    pieces: list[str]
    size: int = 0


class EventBuilder:
    """Turns the changes of one session into events."""

    def __init__(self) -> None:
        self._text: _HeldText | None = None
        self._calls: dict[str, _HeldCall] = {}
        self._calls_weight = 0
        self._told_calls: LimitedDict[tuple[str, bool]] = LimitedDict()
        """By the id of a call, how it was last told: its status, and whether it ended without a result."""
        self._outputs: dict[str, _HeldOutput] = {}
        self._states: LimitedDict[event_types.Event] = LimitedDict()
        """By its type and id, the state that was last told."""

    def events_of(self, change: updates.Update) -> Iterator[event_types.Event]:
        """Often none: what may get more is held back until something else happens."""
        match change:
            case updates.MessageChunk():
                yield from self._pieces(change.role, change.message.id, [change.content])
            case updates.MessageChanged(message=message, added=added):
                if added is not None:
                    yield from self._pieces(message.role, message.id, added)
                else:
                    yield from self.before_other()
                    content = list(message.content)
                    yield event_types.MessageEvent(role=message.role, content=content, message_id=message.id)
            case updates.PromptChanged(message=Message(not_accepted=True)):
                yield from self.before_other()
                yield event_types.NoticeEvent(severity="warning", title=NOT_ACCEPTED, source="accord")
            case updates.ToolCallChanged():
                yield from self._tool_call(change)
            case updates.TerminalChanged(terminal=terminal, patch=patch):
                yield from self._terminal(terminal, patch.output)
            case updates.TerminalOutput(terminal=terminal, data=piece):
                yield from self._wrote(self._output(terminal.id), terminal.id, piece)
            case _:
                event = event_types.state_event(change)
                if event is not None and self._is_news(event):
                    yield from self.rest() if _is_idle(event) else self.before_other()
                    yield event

    def before_other(self, call_id: str | None = None) -> Iterator[event_types.Event]:
        """What has to be told before anything else is; with an id, also what that tool call has got."""
        held, self._text = self._text, None
        if held is not None:
            kind = event_types.TextEvent if held.role == AGENT else event_types.ThoughtEvent
            yield kind(text="".join(held.pieces), message_id=held.message_id)
        for id in [id for id in self._calls if id == call_id or id not in self._told_calls]:
            yield self._told(id)

    def rest(self) -> Iterator[event_types.Event]:
        """All that was held back."""
        yield from self.before_other()
        for id in [*self._calls]:
            yield self._told(id)
        for id, output in self._outputs.items():
            yield from _written(id, output)

    def _is_news(self, event: event_types.Event) -> bool:
        if isinstance(event, event_types.NoticeEvent | event_types.UnknownUpdateEvent):
            return True
        key = f"{event.__struct_config__.tag} {getattr(event, 'id', '')}"
        before = self._states.get(key)
        self._states.put(key, event)
        return event != (event_types.InfoEvent(title=None) if before is None else before)

    def _pieces(self, role: str, message_id: str | None, blocks: Sequence[Content]) -> Iterator[event_types.Event]:
        if role == USER:
            return  # the prompt, which whoever reads this has given
        for block in blocks:
            if not isinstance(block, Text) or role not in (AGENT, THOUGHT):
                yield from self.before_other()
                yield event_types.ContentEvent(role=role, content=block, message_id=message_id)
                continue
            held = self._text
            is_other = held is None or (held.role, held.message_id) != (role, message_id)
            if is_other or any(id not in self._told_calls for id in self._calls):
                yield from self.before_other()
            if self._text is None:
                self._text = _HeldText(role, message_id, [])
            self._text.pieces.append(block.text)
            self._text.size += len(block.text)
            if self._text.size >= _LONGEST_TEXT:
                yield from self.before_other()

    def _tool_call(self, change: updates.ToolCallChanged) -> Iterator[event_types.Event]:
        call = change.call
        held = self._calls.setdefault(call.id, _HeldCall(call, changed={}))
        weight = weigh(change.patch)
        held.call, held.created, held.weight = call, held.created or change.created, held.weight + weight
        held.changed |= dict.fromkeys(_told_members(change.patch))
        self._calls_weight += weight
        before = self._told_calls.get(call.id)
        is_new = before is None and (call.status != PENDING or call.finished)
        if is_new or (before is not None and before != (call.status, call.ended_without_result)):
            yield from self.before_other(call.id)
        elif self._calls_weight > _HELD_BYTES:
            yield from self.before_other()
            for id in [*self._calls]:
                yield self._told(id)

    def _told(self, call_id: str) -> event_types.ToolCallEvent:
        held = self._calls.pop(call_id)
        call = held.call
        self._calls_weight -= held.weight
        self._told_calls.put(call_id, (call.status, call.ended_without_result))
        return event_types.copy_members(
            call,
            event_types.ToolCallEvent,
            content=list(call.content),
            created=held.created,
            changed=[] if held.created else list(held.changed),
        )

    def _output(self, terminal_id: str) -> _HeldOutput:
        output = self._outputs.get(terminal_id)
        if output is None:
            output = _HeldOutput(codecs.getincrementaldecoder("utf-8")("replace"))
            self._outputs[terminal_id] = output
        return output

    def _terminal(self, terminal: Terminal, whole: Any) -> Iterator[event_types.Event]:
        output, shown = self._output(terminal.id), event_types.copy_members(terminal, event_types.TerminalStateEvent)
        if output.shown is None:
            yield from self._shown(output, shown)
        if whole is not UNSET:
            output.decoder.reset()
            output.text, output.replaces = "", output.is_told
            yield from self._wrote(output, terminal.id, whole or b"")
        if shown != output.shown:
            yield from _written(terminal.id, output)
            yield from self._shown(output, shown)
        yield from self._forget_oldest()

    def _shown(self, output: _HeldOutput, shown: event_types.TerminalStateEvent) -> Iterator[event_types.Event]:
        yield from self.before_other()
        output.shown = shown
        yield shown

    def _wrote(self, output: _HeldOutput, terminal_id: str, piece: bytes) -> Iterator[event_types.Event]:
        output.text += output.decoder.decode(piece)
        if len(output.text) >= _LONGEST_TEXT:
            yield from _written(terminal_id, output)
        yield from self._forget_oldest()

    def _forget_oldest(self) -> Iterator[event_types.Event]:
        held = self._outputs
        while len(held) > _MOST_TERMINALS or (len(held) > 1 and sum(map(len, held)) > _HELD_BYTES):
            oldest = next(iter(self._outputs))
            yield from _written(oldest, self._outputs.pop(oldest))


def _written(terminal_id: str, output: _HeldOutput) -> Iterator[event_types.Event]:
    text, replaces = output.text, output.replaces
    if not text and not replaces:
        return
    output.text, output.replaces, output.is_told = "", False, True
    yield event_types.TerminalOutputEvent(id=terminal_id, text=text, replaces=replaces)


def _is_idle(event: event_types.Event) -> bool:
    return isinstance(event, event_types.StateEvent) and event.state == "idle"


def _told_members(patch: updates.ToolCallPatch | updates.ToolCallAppend) -> list[str]:
    """The members of the event that an update of a tool call is about."""
    if isinstance(patch, updates.ToolCallAppend):
        return ["content"]
    names = [name for name in event_types.ToolCallEvent.__struct_fields__ if name in patch.__struct_fields__]
    return [name for name in names if name != "id" and not _is_unset(getattr(patch, name))]


def _is_unset(value: object) -> bool:
    return value is UNSET or value is False


def _plain(value: Any) -> Any:
    if isinstance(value, Sequence):
        return list(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    raise NotImplementedError(type(value).__name__)
