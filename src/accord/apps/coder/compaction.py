"""Compaction: replaces a long history by a summary, and shows that to the user if the client can.

Law: a compaction that began also ends, whatever happens; unless it is completed, the history stays as it was.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing

from accord.agent.turn import Turn
from accord.apps.coder.errors import ModelFailed
from accord.apps.coder.history import close_requests, summary_history
from accord.apps.coder.models.model import (
    ChatMessage,
    Model,
    ModelMessage,
    ModelRequest,
    TextDelta,
    ToolMessage,
    UserMessage,
)
from accord.apps.coder.models.retry import stream_with_retries
from accord.session.content import Text, text_of
from accord.session.updates import CompactionPatch

_QUESTION = (
    "Summarise the work so far for someone who takes over: what the user wants, what was decided and why, which files "
    "matter and what was changed in them, what was tried and failed, what is left to do. Facts only, no greeting."
)
_MAX_LINE = 200
_MAX_TEXT = 4000
_CHARACTERS_PER_TOKEN = 4


async def compact(turn: Turn, model: Model, history: list[ChatMessage], retries: int = 0) -> bool:
    """Replace the history by a summary; False if there is nothing to shorten. ModelFailed leaves it as it was."""
    close_requests(history)
    if len(history) < 2:
        return False
    id = f"compaction-{os.urandom(6).hex()}"
    await turn.send(CompactionPatch(id=id, status="in_progress"))
    try:
        summary = await _summary(model, history, retries) if model.is_language_model else _outline(history, _MAX_LINE)
    except ModelFailed as failed:
        await turn.send(CompactionPatch(id=id, status="failed", error=failed.reason))
        raise
    except asyncio.CancelledError:
        turn.session.send_nowait(CompactionPatch(id=id, status="cancelled"))
        raise
    summary += _unfinished_request(history)
    await turn.send(CompactionPatch(id=id, status="completed", summary=[Text(summary)]))
    history[:] = summary_history(summary)
    if model.context_size:
        await turn.usage(size_of(history), model.context_size)
    return True


def size_of(history: list[ChatMessage]) -> int:
    """The rough number of tokens, until a model has counted them."""
    return len(_outline(history, _MAX_TEXT)) // _CHARACTERS_PER_TOKEN


async def _summary(model: Model, history: list[ChatMessage], retries: int) -> str:
    # As one text: some providers reject tool calls in a request that offers no tools.
    work = Text(f"{_QUESTION}\n\n<work>\n{_outline(history, _MAX_TEXT)}\n</work>")
    request = ModelRequest(instructions=_QUESTION, history=[UserMessage(content=[work])], tools=[])
    async with aclosing(stream_with_retries(model, request, retries=retries)) as events:
        summary = "".join([event.text async for event in events if isinstance(event, TextDelta)]).strip()
    if not summary:
        raise ModelFailed("the model returned no summary")
    return summary


def _unfinished_request(history: list[ChatMessage]) -> str:
    """The request in progress, if there is one, in the user's own words: the summary may have lost a detail."""
    if not isinstance(history[-1], ToolMessage):
        return ""
    last = next((message for message in reversed(history) if isinstance(message, UserMessage)), None)
    if last is None:
        return ""
    return f"\n\nThe user's last request, not finished yet:\n\n{_short(text_of(last.content), _MAX_TEXT)}"


def _outline(history: list[ChatMessage], max_length: int) -> str:
    """A line for every message and tool call."""
    lines: list[str] = []
    for message in history:
        match message:
            case UserMessage():
                lines.append(f"- User: {_short(text_of(message.content), max_length)}")
            case ModelMessage():
                lines += [f"- {_short(message.text, max_length)}"] if message.text.strip() else []
                lines += [f"- Tool {each.name} {_short(each.arguments, max_length)}" for each in message.requests]
            case ToolMessage():
                lines += [
                    f"  - {'failed: ' if each.is_error else ''}{_short(each.text, max_length)}"
                    for each in message.outcomes
                ]
    return "\n".join(lines)


def _short(text: str, max_length: int) -> str:
    line = text.strip() if max_length > _MAX_LINE else " ".join(text.split())
    return line if len(line) <= max_length else f"{line[:max_length]}…"
