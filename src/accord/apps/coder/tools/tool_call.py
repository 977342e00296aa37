"""Runs the tool calls that a model requests, from the JSON it wrote to the result it gets.

Law: every failure becomes a result that the model can act on, and a tool call that the user sees end. Only the end of the
turn itself is raised.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec

from accord.agent.tool_calls import AgentToolCall
from accord.apps.coder.approvals import refusal
from accord.apps.coder.errors import AmbiguousText, FileMissing, ToolFailed
from accord.apps.coder.history import MODEL_TEXT, OUTPUT
from accord.apps.coder.models.model import FailureKind, ToolDescription, ToolOutcome, ToolRequest
from accord.apps.coder.tools.edit import EditFile
from accord.apps.coder.tools.fetch import FetchPage
from accord.apps.coder.tools.git_diff import ShowChanges
from accord.apps.coder.tools.mcp_tools import McpServerTool
from accord.apps.coder.tools.move_and_delete import DeleteFile, MoveFile
from accord.apps.coder.tools.plan import UpdatePlan
from accord.apps.coder.tools.questions import AskUser, SwitchMode
from accord.apps.coder.tools.read import ListDirectory, ReadFile
from accord.apps.coder.tools.run import RunCommand
from accord.apps.coder.tools.search import SearchFiles
from accord.apps.coder.tools.tool import Tool, ToolContext, ToolResult
from accord.apps.coder.tools.write import WriteFile
from accord.errors import ConnectionClosed, RequestFailed, TurnStopped
from accord.local.text import printable
from accord.session.open_enums import ToolKind

_OWN_TOOLS: list[Tool[Any]] = [
    ReadFile(),
    ListDirectory(),
    SearchFiles(),
    ShowChanges(),
    WriteFile(),
    EditFile(),
    DeleteFile(),
    MoveFile(),
    RunCommand(),
    FetchPage(),
    UpdatePlan(),
    AskUser(),
    SwitchMode(),
]
_FOR_ARCHITECTS = ("nothing", "network", "mode")


class Toolbox:
    """The tools of one turn: our own and those of the session's MCP servers."""

    def __init__(self, of_servers: Iterable[McpServerTool] = ()) -> None:
        self._tools = {tool.name: tool for tool in [*_OWN_TOOLS, *of_servers]}

    def find(self, name: str) -> Tool[Any] | None:
        return self._tools.get(name)

    @property
    def names(self) -> list[str]:
        return list(self._tools)

    def descriptions(self, context: ToolContext) -> list[ToolDescription]:
        """The tools that the model is offered in the current mode: an architect gets none that change anything."""
        return [tool.describe() for tool in self._tools.values() if _is_offered(tool, context)]


def _is_offered(tool: Tool[Any], context: ToolContext) -> bool:
    if context.is_read_only and tool.needs == "mode":
        return False
    return context.mode != "architect" or tool.needs in _FOR_ARCHITECTS


log = logging.getLogger("accord.coder")

_MAX_TITLE = 200


async def call_tools(
    context: ToolContext, toolbox: Toolbox, requests: Sequence[ToolRequest], outcomes: list[ToolOutcome]
) -> None:
    """Call the tools in order; neighbours that need no permission run at the same time.

    Each outcome is appended as soon as it is known, also if a later call is cancelled.
    """

    async def call(request: ToolRequest) -> None:
        outcomes.append(await _call(context, toolbox, request))

    for is_concurrent, group in groupby(requests, lambda request: _needs_nothing(toolbox, request)):
        if not is_concurrent:
            for request in group:
                await call(request)
            continue
        try:
            async with asyncio.TaskGroup() as tasks:
                for request in group:
                    tasks.create_task(call(request))
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None


def _needs_nothing(toolbox: Toolbox, request: ToolRequest) -> bool:
    tool = toolbox.find(request.name)
    return tool is not None and tool.needs == "nothing"


async def _call(context: ToolContext, toolbox: Toolbox, request: ToolRequest) -> ToolOutcome:
    tool, title = toolbox.find(request.name), _one_line(request.name)
    if tool is None:
        return await _fail(context, request, _unknown_tool(request.name, toolbox), title, "other")
    try:
        arguments = tool.parse(request.arguments)
        title, locations = _one_line(tool.title(context, arguments)), tool.locations(context, arguments)
        preview = await tool.preview(context, arguments)
    except Exception as error:  # noqa: BLE001  # becomes a result, as the law says
        return await _fail(context, request, _failure(tool, error), title, tool.kind)
    opened = context.turn.tool_call(
        title, kind=tool.kind, name=tool.name, raw_input=_raw_input(request), content=preview, locations=locations
    )
    if tool.is_quiet:
        result = await tool.run(context, arguments, opened)
        return ToolOutcome(id=request.id, name=request.name, text=result.text, is_error=result.is_error)
    async with opened as call:
        return _end(context, request, await _run(context, tool, arguments, call), call)


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
        failed = _failure(tool, error)
        await call.say(failed.reason)
        return _result(failed)


def _failure(tool: Tool[Any], error: Exception) -> ToolFailed:
    if isinstance(error, ToolFailed):
        return error
    if isinstance(error, RequestFailed):
        return ToolFailed(f"the client refused: {error.full_message()}")
    log.error("the tool %s failed", tool.name, exc_info=error)
    return ToolFailed(f"{tool.name} failed unexpectedly: {error or type(error).__name__}", "try another way")


_KINDS: dict[type[ToolFailed], FailureKind] = {FileMissing: "not_found", AmbiguousText: "ambiguous"}


def _result(failed: ToolFailed) -> ToolResult:
    return ToolResult(
        failed.model_text,
        display=failed.reason,
        is_error=True,
        failure=_KINDS.get(type(failed)),
    )


async def _fail(
    context: ToolContext, request: ToolRequest, failed: ToolFailed, title: str, kind: ToolKind
) -> ToolOutcome:
    """The outcome of a call that never began; it is shown all the same."""
    async with context.turn.tool_call(title, kind=kind, name=request.name, raw_input=_raw_input(request)) as call:
        await call.say(failed.reason)
        return _end(context, request, _result(failed), call)


def _end(context: ToolContext, request: ToolRequest, result: ToolResult, call: AgentToolCall) -> ToolOutcome:
    """End the call. What the model gets is stored with it: the history is made from it after a restart.

    Many clients show the raw output, so it holds what is meant for people.
    """
    limit = context.settings.output_limit
    whole = "\n".join(part for part in (result.header and f"[{result.header}]", result.text) if part)
    text = shortened(whole, limit)
    display = text if result.display is None else shortened(result.display, limit)
    call.end(
        "failed" if result.is_error else "completed",
        raw_output={OUTPUT: display, **result.details},
        meta=None if display == text else {MODEL_TEXT: text},
    )
    members: dict[str, Any] = {**msgspec.structs.asdict(result), "text": text}
    return ToolOutcome(id=request.id, name=request.name, **members, is_shortened=text != whole)


def shortened(text: str, limit: int) -> str:
    """At most about `limit` characters: the beginning and the end, and how much is left out between them."""
    if len(text) <= limit:
        return text
    begin, end = limit * 2 // 3, limit // 3
    left_out = len(text) - begin - end
    return f"{text[:begin]}\n[… {left_out} characters left out …]\n{text[len(text) - end :]}"


def _one_line(title: str) -> str:
    """A short title on one line, in which foreign names have no effect."""
    line = printable(title)
    return line if len(line) <= _MAX_TITLE else f"{line[:_MAX_TITLE]}…"


def _raw_input(request: ToolRequest) -> Any:
    try:
        return msgspec.json.decode(request.arguments or "{}", type=dict[str, Any])
    except msgspec.DecodeError:
        return {"text": request.arguments}


def _unknown_tool(name: str, toolbox: Toolbox) -> ToolFailed:
    near = difflib.get_close_matches(name, toolbox.names, n=1)
    suggestion = f"did you mean {near[0]}? " if near else ""
    return ToolFailed(f"unknown tool {name!r}", f"{suggestion}The tools are {', '.join(toolbox.names)}.")
