"""A long history made short, shown to the user where the client can show it.

Law: a compaction that was begun is ended, whatever happens; unless it is completed, the history stays as it was.
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

__all__ = ["compact", "size_of"]

_QUESTION = (
    "Summarise our work so far for somebody who takes over: what the user wants, what was decided and why, which files "
    "matter and what was changed in them, what was tried and failed, what is left to do. Facts only, no greeting."
)
_LINE = 200
_PIECE = 4000
_LETTERS_PER_TOKEN = 4


async def compact(turn: Turn, model: Model, history: list[ChatMessage], retries: int = 0) -> bool:
    """Replace the history by a summary of it; False when there is nothing to gain. ModelFailed leaves it as it was."""
    close_requests(history)
    if len(history) < 2:
        return False
    id = f"compaction-{os.urandom(6).hex()}"
    await turn.tell(CompactionPatch(id=id, status="in_progress"))
    try:
        summary = await _asked(model, history, retries) if model.is_language_model else _told(history, _LINE)
    except ModelFailed as failed:
        await turn.tell(CompactionPatch(id=id, status="failed", error=failed.reason))
        raise
    except asyncio.CancelledError:
        turn.session.send_nowait(CompactionPatch(id=id, status="cancelled"))
        raise
    summary += _in_their_words(history)
    await turn.tell(CompactionPatch(id=id, status="completed", summary=[Text(summary)]))
    history[:] = summary_history(summary)
    if model.context_size:
        await turn.usage(size_of(history), model.context_size)
    return True


def size_of(history: list[ChatMessage]) -> int:
    """How many tokens that is, roughly; for as long as no model has counted them."""
    return len(_told(history, _PIECE)) // _LETTERS_PER_TOKEN


async def _asked(model: Model, history: list[ChatMessage], retries: int) -> str:
    # As one text: some providers refuse calls of tools in a request that offers no tools.
    told = Text(f"{_QUESTION}\n\n<work>\n{_told(history, _PIECE)}\n</work>")
    asked = ModelRequest(instructions=_QUESTION, history=[UserMessage(content=[told])], tools=[])
    pieces: list[str] = []
    async with aclosing(stream_with_retries(model, asked, retries=retries)) as events:
        async for event in events:
            pieces += [event.text] if isinstance(event, TextDelta) else []
    summary = "".join(pieces).strip()
    if not summary:
        raise ModelFailed("the model gave no summary")
    return summary


def _in_their_words(history: list[ChatMessage]) -> str:
    """The request that is being worked on, if it is: a summary may have lost what matters in it."""
    if not isinstance(history[-1], ToolMessage):
        return ""
    last = next((message for message in reversed(history) if isinstance(message, UserMessage)), None)
    if last is None:
        return ""
    return f"\n\nThe user's last request, which is not finished:\n\n{_short(text_of(last.content), _PIECE)}"


def _told(history: list[ChatMessage], longest: int) -> str:
    """A line for everything that happened."""
    lines: list[str] = []
    for message in history:
        match message:
            case UserMessage():
                lines.append(f"- The user: {_short(text_of(message.content), longest)}")
            case ModelMessage():
                lines += [f"- {_short(message.text, longest)}"] if message.text.strip() else []
                lines += [f"- Tool {each.name} {_short(each.arguments, longest)}" for each in message.requests]
            case ToolMessage():
                lines += [
                    f"  - {'failed: ' if each.is_error else ''}{_short(each.text, longest)}"
                    for each in message.outcomes
                ]
    return "\n".join(lines)


def _short(text: str, longest: int) -> str:
    line = text.strip() if longest > _LINE else " ".join(text.split())
    return line if len(line) <= longest else f"{line[:longest]}…"
