"""What the model is told of a session: live as it was, and after a restart as its transcript tells it.

Law: every request for a tool has its outcome, in the message that follows; models' servers refuse anything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import Any

import msgspec

from accord.apps.coder.models.model import ChatMessage, ModelMessage, ToolMessage, ToolOutcome, ToolRequest, UserMessage
from accord.session.content import Text, text_of
from accord.session.entities import AGENT, USER, Compaction, Message, ToolCall
from accord.session.transcript import Place, Transcript

__all__ = ["MODEL_TEXT", "OUTPUT", "REFUSED", "close_requests", "history_of", "summary_history"]

OUTPUT = "output"
"""The member of a tool call's raw output that holds what the model was told, but for advice to it."""

MODEL_TEXT = "accord/told"
"""The member of a tool call's `_meta` that holds what the model was told where people are told something else."""

REFUSED = "accord/refused"
"""The member of a prompt's `_meta` that says: the model refused it, and nothing of that turn is told to it again."""

_CANCELLED = "Cancelled by the user before it was done."
_GONE = "(not kept: too long ago)"


def history_of(transcript: Transcript) -> list[ChatMessage]:
    """The conversation as a model can take it up again."""
    history: list[ChatMessage] = []
    is_refused = False
    for place in transcript.timeline:
        if isinstance(place, Message) and place.role == USER:
            is_refused = bool((place.meta or {}).get(REFUSED))
        if not is_refused:
            _tell(history, place)
    return history


def _tell(history: list[ChatMessage], place: Place) -> None:
    match place:
        case Message(role=role) if role == USER:
            history.append(UserMessage(content=place.content or [Text(_GONE)]))
        case Message(role=role) if role == AGENT:
            history.append(ModelMessage(text=place.text, requests=[]))
        case ToolCall(name=str(name)):  # one without a name is not the model's: it tells the user of something
            _tell_call(history, place, name)
        case Compaction(status="completed"):
            history[:] = [*summary_history(text_of(place.summary)), *_unanswered(history)]
        case _:
            pass


def _unanswered(history: list[ChatMessage]) -> list[ChatMessage]:
    """The prompt that needed the room: it came before the compaction, which leaves it alone."""
    asked = [*takewhile(lambda message: isinstance(message, UserMessage), reversed(history))]
    return [
        message for message in reversed(asked) if not text_of(getattr(message, "content", [])).startswith("/compact")
    ]


def _tell_call(history: list[ChatMessage], call: ToolCall, name: str) -> None:
    request = ToolRequest(id=call.id, name=name, arguments=msgspec.json.encode(call.raw_input or {}).decode())
    outcome = ToolOutcome(id=call.id, name=request.name, text=_output(call), is_error=call.status != "completed")
    if history and isinstance(last := history[-1], ToolMessage) and isinstance(before := history[-2], ModelMessage):
        before.requests.append(request)  # side by side: which came in one message is not told
        last.outcomes.append(outcome)
        return
    if not history or not isinstance(history[-1], ModelMessage):
        history.append(ModelMessage(requests=[]))
    spoken = history[-1]
    assert isinstance(spoken, ModelMessage)
    spoken.requests.append(request)
    history.append(ToolMessage(outcomes=[outcome]))


def _output(call: ToolCall) -> str:
    if isinstance(told := (call.meta or {}).get(MODEL_TEXT), str):
        return told
    raw: Any = call.raw_output
    if isinstance(raw, dict) and isinstance(told := raw.get(OUTPUT), str):  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return told
    return _CANCELLED if call.status == "cancelled" else f"({call.status}; what it gave is not kept)"


def summary_history(summary: str) -> list[ChatMessage]:
    """A history that begins with what came before, in short."""
    return [UserMessage(content=[Text(f"What happened in this session so far, in short:\n\n{summary}")])]


def close_requests(history: list[ChatMessage], outcomes: Iterable[ToolOutcome] = ()) -> None:
    """Give every request at the end its outcome: one of these, or that it was cancelled."""
    if history and isinstance(last := history[-1], ModelMessage) and last.requests:
        known = {outcome.id: outcome for outcome in outcomes}
        history.append(
            ToolMessage(
                outcomes=[
                    known.get(each.id) or ToolOutcome(id=each.id, name=each.name, text=_CANCELLED, is_error=True)
                    for each in last.requests
                ]
            )
        )
