"""The history that the model gets: kept while the session is open, and made from the transcript after a restart.

Law: every tool request has its outcome, in the message that follows; model servers reject anything else.
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

OUTPUT = "output"
"""The member of a tool call's raw output that holds the model's text, without the advice for it."""

MODEL_TEXT = "accord/told"
"""The member of a tool call's `_meta` that holds the model's text if people see something else."""

REFUSED = "accord/refused"
"""The member of a prompt's `_meta` that says: the model refused it, and never gets anything of that turn again."""

_CANCELLED = "Cancelled by the user before it was done."
_TOO_OLD = "(too old: not kept)"


def history_of(transcript: Transcript) -> list[ChatMessage]:
    """The conversation in a form with which a model can continue."""
    history: list[ChatMessage] = []
    is_refused = False
    for item in transcript.timeline:
        if isinstance(item, Message) and item.role == USER:
            is_refused = bool((item.meta or {}).get(REFUSED))
        if not is_refused:
            _append(history, item)
    return history


def _append(history: list[ChatMessage], item: Place) -> None:
    match item:
        case Message(role=role) if role == USER:
            history.append(UserMessage(content=item.content or [Text(_TOO_OLD)]))
        case Message(role=role) if role == AGENT:
            history.append(ModelMessage(text=item.text, requests=[]))
        case ToolCall(name=str(name)):  # a call without a name is not the model's: it informs the user
            _append_call(history, item, name)
        case Compaction(status="completed"):
            history[:] = [*summary_history(text_of(item.summary)), *_unanswered(history)]
        case _:
            pass


def _unanswered(history: list[ChatMessage]) -> list[ChatMessage]:
    """The prompt that needed the room: it came before the compaction, which does not include it."""
    last = [*takewhile(lambda message: isinstance(message, UserMessage), reversed(history))]
    return [each for each in reversed(last) if not text_of(getattr(each, "content", [])).startswith("/compact")]


def _append_call(history: list[ChatMessage], call: ToolCall, name: str) -> None:
    request = ToolRequest(id=call.id, name=name, arguments=msgspec.json.encode(call.raw_input or {}).decode())
    outcome = ToolOutcome(id=call.id, name=name, text=_output(call), is_error=call.status != "completed")
    if history and isinstance(last := history[-1], ToolMessage) and isinstance(before := history[-2], ModelMessage):
        before.requests.append(request)  # the transcript does not say which calls came in one message
        last.outcomes.append(outcome)
        return
    if not history or not isinstance(history[-1], ModelMessage):
        history.append(ModelMessage(requests=[]))
    message = history[-1]
    assert isinstance(message, ModelMessage)
    message.requests.append(request)
    history.append(ToolMessage(outcomes=[outcome]))


def _output(call: ToolCall) -> str:
    if isinstance(text := (call.meta or {}).get(MODEL_TEXT), str):
        return text
    raw: Any = call.raw_output
    if isinstance(raw, dict) and isinstance(text := raw.get(OUTPUT), str):  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return text
    return _CANCELLED if call.status == "cancelled" else f"({call.status}; its output is not kept)"


def summary_history(summary: str) -> list[ChatMessage]:
    """A history that begins with a summary of what came before."""
    return [UserMessage(content=[Text(f"Summary of this session so far:\n\n{summary}")])]


def close_requests(history: list[ChatMessage], outcomes: Iterable[ToolOutcome] = ()) -> None:
    """Give every request of the last message its outcome: one of these, or that it was cancelled."""
    if history and isinstance(last := history[-1], ModelMessage) and last.requests:
        by_id = {outcome.id: outcome for outcome in outcomes}
        history.append(
            ToolMessage(
                outcomes=[
                    by_id.get(each.id) or ToolOutcome(id=each.id, name=each.name, text=_CANCELLED, is_error=True)
                    for each in last.requests
                ]
            )
        )
