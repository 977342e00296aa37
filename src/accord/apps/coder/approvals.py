"""Decides whether a tool call may run: by the session's mode, otherwise by asking the user."""

from __future__ import annotations

from functools import partial
from typing import Any

from accord.agent.tool_calls import AgentToolCall
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.tools.tool import Need, Tool, ToolContext, ToolResult
from accord.local.text import printable
from accord.local.threads import in_thread
from accord.session.requests import PermissionOption

_FREE: dict[str, frozenset[Need]] = {
    "ask": frozenset({"nothing"}),
    "architect": frozenset({"nothing"}),
    "code": frozenset({"nothing", "edit"}),
}
_CLOSED_TO_ARCHITECTS: frozenset[Need] = frozenset({"edit", "delete", "command", "mcp"})

_ALLOW = PermissionOption(id="allow", name="Allow", kind="allow_once")
_REJECT = PermissionOption(id="reject", name="Reject", kind="reject_once")


def rejection() -> ToolResult:
    """The result of a call that the user rejected."""
    return ToolResult(
        "The user rejected this call. Don't try it again; ask what they want instead, or continue without it.",
        display="Permission denied.",
        is_error=True,
        failure="rejected",
    )


async def refusal(context: ToolContext, tool: Tool[Any], arguments: Any, call: AgentToolCall) -> ToolResult | None:
    """None if the call may run, otherwise its result."""
    danger = await in_thread(partial(tool.danger, context, arguments))
    if danger is None and tool.needs in _FREE.get(context.mode, _FREE["ask"]):
        return None
    if context.mode == "architect" and tool.needs in _CLOSED_TO_ARCHITECTS:
        reason = f"{tool.name} is not available in the architect mode, which changes nothing"
        display, advice = f"{reason}.", ""
        if not context.is_read_only:
            display, advice = f"{reason}. /mode leaves it.", ". The tool switch_mode asks to leave it"
        await call.fail(display)
        return ToolResult(f"{reason}{advice}.", display=display, is_error=True)
    if danger is not None:
        if tool.needs == "edit":  # so that a client that allows all edits by their kind asks, too
            await call.update(kind="other")
        await call.say(danger)
    return None if await _is_allowed(context, tool, arguments, call, is_dangerous=danger is not None) else rejection()


async def confirm_danger(context: ToolContext, call: AgentToolCall, danger: str) -> bool:
    """Ask the user about this call alone, whatever the mode and earlier answers say; shows the danger."""
    await call.say(danger)
    return await _ask_once(context, call)


async def _is_allowed(
    context: ToolContext, tool: Tool[Any], arguments: Any, call: AgentToolCall, *, is_dangerous: bool
) -> bool:
    # A mode is the user's own safeguard: leaving it is never allowed for always.
    scope = None if is_dangerous or tool.needs == "mode" else await in_thread(partial(tool.scope, context, arguments))
    context.approved_scopes[call.id] = scope
    try:
        if scope is None:
            return await _ask_once(context, call)
        if context.session.saved_answers.get(scope) is False:
            await call.say(f"You never allow this here: {printable(scope)}. `accord permissions` revokes that.")
        return await context.turn.allowed(call, options=_options(scope), scope=scope)
    except ValueError as error:
        raise ToolFailed(f"permissions can't be read: {error}") from None


async def _ask_once(context: ToolContext, call: AgentToolCall) -> bool:
    return await context.turn.allowed(call, options=[_ALLOW, _REJECT], scope=f"call {call.id}")


def _options(scope: str) -> list[PermissionOption]:
    """The possible answers; an always-answer says what it covers."""
    covers = printable(scope)
    return [
        _ALLOW,
        PermissionOption(id="allow-always", name=f"Always allow in this project: {covers}", kind="allow_always"),
        _REJECT,
        PermissionOption(id="reject-always", name=f"Never allow in this project: {covers}", kind="reject_always"),
    ]
