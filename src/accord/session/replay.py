"""A transcript told again, for a listener that was not there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from accord.session.entities import Compaction, Info, Message, Plan, Terminal, TerminalItem, ToolCall
from accord.session.transcript import Place, Transcript
from accord.session.updates import (
    CommandsChanged,
    CommandsPatch,
    CompactionChanged,
    CompactionPatch,
    InfoChanged,
    InfoPatch,
    MessageChanged,
    MessagePatch,
    ModeChanged,
    ModesPatch,
    OptionsChanged,
    OptionsPatch,
    PlanChanged,
    PlanPatch,
    StateChanged,
    StatePatch,
    TerminalChanged,
    TerminalPatch,
    ToolCallChanged,
    ToolCallPatch,
    UnknownUpdate,
    Update,
    UsageChanged,
    UsagePatch,
)
from accord.session.value import UNSET

__all__ = ["replay"]


def replay(transcript: Transcript, last: int | None = None) -> Iterator[Update]:
    """All that is retained, each thing whole and as it is at the moment of the call, whatever is applied meanwhile.

    With `last`, only so much from the end of the timeline, and the terminals that are shown in it.

    The timeline comes first, a terminal before the tool call that shows it; then the lists and figures; then, last,
    the state. A listener that applies the patches ends up with an equal transcript. Notices, and prompts that were not
    accepted, are not told again.
    """
    timeline = [place for place in transcript.timeline if not (isinstance(place, Message) and place.not_accepted)]
    retained = timeline if last is None else timeline[len(timeline) - min(last, len(timeline)) :]
    places = [place.snapshot() if isinstance(place, Message) else place for place in retained]
    terminals = dict(transcript.terminals)
    if last is not None:
        shown = {item.terminal_id for place in places if isinstance(place, ToolCall) for item in _terminals(place)}
        terminals = {id: terminal for id, terminal in terminals.items() if id in shown}
    return chain(_timeline(places, terminals), list(_settings(transcript)))


def _terminals(call: ToolCall) -> list[TerminalItem]:
    return [item for item in call.content if type(item) is TerminalItem]


def _timeline(places: list[Place], terminals: dict[str, Terminal]) -> Iterator[Update]:
    for place in places:
        match place:
            case Message():
                yield _message(place)
            case ToolCall():
                for item in _terminals(place):
                    if item.terminal_id in terminals:
                        yield _terminal(terminals.pop(item.terminal_id))
                yield _tool_call(place)
            case Plan():
                yield PlanChanged(plan=place, patch=PlanPatch(plan=place), created=True)
            case Compaction():
                yield _compaction(place)
            case _:
                yield UnknownUpdate(patch=place, created=True)
    for terminal in terminals.values():
        yield _terminal(terminal)


def _settings(transcript: Transcript) -> Iterator[Update]:
    commands, options, modes = transcript.commands, transcript.options, transcript.modes
    if commands:
        yield CommandsChanged(commands=commands, patch=CommandsPatch(commands=commands), created=True)
    if options:
        yield OptionsChanged(options=options, patch=OptionsPatch(options=options), created=True)
    if modes is not None:
        yield ModeChanged(mode_id=modes.current, modes=modes, patch=ModesPatch(modes=modes), created=True)
    info, usage, state = transcript.info, transcript.usage, transcript.state
    if info != Info():
        patch = InfoPatch(title=_told(info.title), updated_at=_told(info.updated_at), **_meta(info.meta))
        yield InfoChanged(info=info, patch=patch, created=True)
    if usage is not None:
        report = UsagePatch(used=usage.used, size=usage.size, cost=_told(usage.cost), meta=_told(usage.meta))
        yield UsageChanged(usage=usage, patch=report, created=True)
    yield StateChanged(state=state, patch=StatePatch(state=state), created=True)


def _message(message: Message) -> Update:
    content = message.content
    meta = UNSET if message.meta is None else message.meta
    patch = MessagePatch(role=message.role, id=message.id, content=content, meta=meta, meta_replaces=True)
    return MessageChanged(message=message, patch=patch, created=True, added=content)


def _tool_call(call: ToolCall) -> Update:
    patch = ToolCallPatch(
        id=call.id,
        title=_told(call.title),
        name=_told(call.name),
        kind=call.kind,
        status=call.status,
        content=list(call.content),
        locations=call.locations,
        raw_input=_told(call.raw_input),
        raw_output=_told(call.raw_output),
        cancellable=call.cancellable or UNSET,
        creates=True,
        ended_without_result=call.ended_without_result,
        **_meta(call.meta),
    )
    return ToolCallChanged(call=call, patch=patch, created=True)


def _terminal(terminal: Terminal) -> Update:
    patch = TerminalPatch(
        id=terminal.id,
        command=_told(terminal.command),
        cwd=_told(terminal.cwd),
        output=bytes(terminal.output),
        exit=_told(terminal.exit),
        size=_told(terminal.size),
        cancellable=terminal.cancellable or UNSET,
        **_meta(terminal.meta),
    )
    return TerminalChanged(terminal=terminal, patch=patch, created=True)


def _compaction(compaction: Compaction) -> Update:
    patch = CompactionPatch(
        id=compaction.id,
        status=compaction.status,
        summary=list(compaction.summary),
        error=_told(compaction.error),
        **_meta(compaction.meta),
    )
    return CompactionChanged(compaction=compaction, patch=patch, created=True)


def _told(value: Any) -> Any:
    return UNSET if value is None else value


def _meta(meta: dict[str, Any] | None) -> dict[str, Any]:
    return {"meta": _told(meta), "meta_replaces": True}
