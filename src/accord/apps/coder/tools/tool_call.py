"""One call of a tool, from what the model wrote to what it is told.

Law: whatever goes wrong becomes an outcome that the model can act on, and a call that the user sees end; only the end of
the turn itself is raised.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import msgspec

from accord.agent.tool_calls import AgentToolCall
from accord.apps.coder.approvals import refusal
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.history import MODEL_TEXT, OUTPUT
from accord.apps.coder.models.model import ToolOutcome, ToolRequest
from accord.apps.coder.settings.display import printable
from accord.apps.coder.tools.file_state import ToolContext
from accord.apps.coder.tools.tool import Tool, ToolResult
from accord.apps.coder.tools.toolbox import Toolbox
from accord.errors import ConnectionClosed, RequestFailed, TurnStopped
from accord.session.open_enums import ToolKind

__all__ = ["bounded", "call_tools"]

log = logging.getLogger("accord.coder")

_LONGEST_TITLE = 200


async def call_tools(
    context: ToolContext, toolbox: Toolbox, requests: Sequence[ToolRequest], outcomes: list[ToolOutcome]
) -> None:
    """Call them in order; those that only look and stand side by side, at the same time.

    What came of each is in `outcomes` as soon as it is known, also when a later one is cancelled.
    """

    async def call(request: ToolRequest) -> None:
        outcomes.append(await _called(context, toolbox, request))

    for only_looks, group in groupby(requests, lambda request: _only_looks(toolbox, request)):
        if not only_looks:
            for request in group:
                await call(request)
            continue
        try:
            async with asyncio.TaskGroup() as tasks:
                for request in group:
                    tasks.create_task(call(request))
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None


def _only_looks(toolbox: Toolbox, request: ToolRequest) -> bool:
    tool = toolbox.find(request.name)
    return tool is not None and tool.needs == "nothing"


async def _called(context: ToolContext, toolbox: Toolbox, request: ToolRequest) -> ToolOutcome:
    tool = toolbox.find(request.name)
    if tool is None:
        return await _refused(context, request, _unknown(request.name, toolbox), _line(request.name), "other")
    title = _line(request.name)
    try:
        arguments = tool.parsed(request.arguments)
        title, locations = _line(tool.title(context, arguments)), list(tool.locations(context, arguments))
        preview = await tool.preview(context, arguments)
    except Exception as error:  # noqa: BLE001  # told to the model, as the law says
        return await _refused(context, request, _failed(tool, error), title, tool.kind)
    opened = context.turn.tool_call(
        title, kind=tool.kind, name=tool.name, raw_input=_raw(request), content=preview, locations=locations
    )
    if tool.is_quiet:
        result = await tool.run(context, arguments, opened)
        return ToolOutcome(id=request.id, name=request.name, text=result.text, is_error=result.is_error)
    async with opened as call:
        return _outcome(context, request, await _run(context, tool, arguments, call), call)


async def _run(context: ToolContext, tool: Tool[Any], arguments: Any, call: AgentToolCall) -> ToolResult:
    try:
        refused = await refusal(context, tool, arguments, call)
        if refused is not None:
            return refused
        await call.begin()
        return await tool.run(context, arguments, call)
    except (ConnectionClosed, TurnStopped):
        raise
    except Exception as error:  # noqa: BLE001  # as the law says
        failed = _failed(tool, error)
        await call.say(failed.reason)
        return _result(failed)


def _failed(tool: Tool[Any], error: Exception) -> ToolFailed:
    if isinstance(error, ToolFailed):
        return error
    if isinstance(error, RequestFailed):
        return ToolFailed(f"the client refused: {error.full_message()}")
    log.error("the tool %s failed", tool.name, exc_info=error)
    return ToolFailed(f"{tool.name} failed unexpectedly: {error or type(error).__name__}", "try another way")


def _result(failed: ToolFailed) -> ToolResult:
    return ToolResult(failed.told_to_model, display=failed.reason, is_error=True)


async def _refused(
    context: ToolContext, request: ToolRequest, failed: ToolFailed, title: str, kind: ToolKind
) -> ToolOutcome:
    """A call that never began is shown all the same."""
    async with context.turn.tool_call(title, kind=kind, name=request.name, raw_input=_raw(request)) as call:
        await call.say(failed.reason)
        return _outcome(context, request, _result(failed), call)


def _outcome(context: ToolContext, request: ToolRequest, result: ToolResult, call: AgentToolCall) -> ToolOutcome:
    """End the call, and what the model is told, which is also kept: a history is made from it after a restart.

    The raw output is something that many clients show, so it holds what people are told.
    """
    text = bounded(result.text, context.settings.output_limit)
    shown = text if result.display is None else bounded(result.display, context.settings.output_limit)
    call.end(
        "failed" if result.is_error else "completed",
        raw_output={OUTPUT: shown, **result.details},
        meta=None if shown == text else {MODEL_TEXT: text},
    )
    return ToolOutcome(
        id=request.id,
        name=request.name,
        text=text,
        is_error=result.is_error,
        content=result.content,
        display=result.display,
        is_rejected=result.is_rejected,
    )


def bounded(text: str, limit: int) -> str:
    """At most about `limit` characters: the beginning and the end, and how much is left out between them."""
    if len(text) <= limit:
        return text
    begin, end = limit * 2 // 3, limit // 3
    left_out = len(text) - begin - end
    return f"{text[:begin]}\n[… {left_out} characters left out …]\n{text[len(text) - end :]}"


def _line(title: str) -> str:
    """One short line, in which names that a stranger chose do nothing."""
    line = printable(title)
    return line if len(line) <= _LONGEST_TITLE else f"{line[:_LONGEST_TITLE]}…"


def _raw(request: ToolRequest) -> Any:
    try:
        return msgspec.json.decode(request.arguments or "{}", type=dict[str, Any])
    except msgspec.DecodeError:
        return {"text": request.arguments}


def _unknown(name: str, toolbox: Toolbox) -> ToolFailed:
    near = difflib.get_close_matches(name, toolbox.names, n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    return ToolFailed(f"there is no tool {name!r}", f"{meant}There are {', '.join(toolbox.names)}.")
