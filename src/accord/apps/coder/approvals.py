"""Decides whether a tool call may run: by the session's mode, otherwise by asking the user."""

from __future__ import annotations

from functools import partial
from typing import Any

from accord.agent.tool_calls import AgentToolCall
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.settings.display import printable
from accord.apps.coder.tools.file_state import ToolContext
from accord.apps.coder.tools.tool import Need, Tool, ToolResult
from accord.local.threads import in_thread
from accord.session.requests import PermissionOption

__all__ = ["MODES", "confirm_danger", "refusal", "rejection"]

_FREE: dict[str, frozenset[Need]] = {
    "ask": frozenset({"nothing"}),
    "architect": frozenset({"nothing"}),
    "code": frozenset({"nothing", "edit"}),
}
_CLOSED_TO_ARCHITECTS: frozenset[Need] = frozenset({"edit", "delete", "command", "mcp"})

_ALLOW = PermissionOption(id="allow", name="Allow", kind="allow_once")
_REJECT = PermissionOption(id="reject", name="Reject", kind="reject_once")


def rejection() -> ToolResult:
    """What comes of a call when the user said no."""
    return ToolResult(
        "The user said no. Don't try the same again; ask what they would rather have, or go on without it.",
        display="Not allowed.",
        is_error=True,
        is_rejected=True,
    )


async def refusal(context: ToolContext, tool: Tool[Any], arguments: Any, call: AgentToolCall) -> ToolResult | None:
    """None when it may go on; otherwise what comes of the call."""
    danger = await in_thread(partial(tool.danger, context, arguments))
    if danger is None and tool.needs in _FREE.get(context.mode, _FREE["ask"]):
        return None
    if context.mode == "architect" and tool.needs in _CLOSED_TO_ARCHITECTS:
        reason = f"{tool.name} is not possible now: an architect changes nothing"
        shown, leave = reason, ""
        if not context.is_read_only:
            shown, leave = f"{reason}. /mode leaves the mode", ". The tool switch_mode asks to leave the mode"
        await call.fail(f"{shown}.")
        return ToolResult(f"{reason}{leave}.", display=f"{shown}.", is_error=True)
    if danger is not None:
        if tool.needs == "edit":  # a client that allows edits by their kind is asked as well
            await call.update(kind="other")
        await call.say(danger)
    if await _is_allowed(context, tool, arguments, call, is_dangerous=danger is not None):
        return None
    return rejection()


async def confirm_danger(context: ToolContext, call: AgentToolCall, danger: str) -> bool:
    """Ask the user about this call alone, whatever the mode and earlier choices say; `danger` is shown with it."""
    await call.say(danger)
    return await context.turn.allowed(call, options=[_ALLOW, _REJECT], scope=f"call {call.id}")


async def _is_allowed(
    context: ToolContext, tool: Tool[Any], arguments: Any, call: AgentToolCall, *, is_dangerous: bool
) -> bool:
    # A mode is the user's own safeguard: never given away for always.
    scope = None if is_dangerous or tool.needs == "mode" else await in_thread(partial(tool.scope, context, arguments))
    context.asked[call.id] = scope
    try:
        if scope is None:
            return await context.turn.allowed(call, options=[_ALLOW, _REJECT], scope=f"call {call.id}")
        decided = context.session.remembered.get(scope)
        if decided is False:
            await call.say(f"You never allow this here: {printable(scope)}. `accord permissions` takes that back.")
        return await context.turn.allowed(call, options=_options(scope), scope=scope)
    except ValueError as wrong:
        raise ToolFailed(f"nothing can be allowed: {wrong}") from None


def _options(scope: str) -> list[PermissionOption]:
    """What can be answered; an always-choice says what it covers."""
    covers = printable(scope)
    return [
        _ALLOW,
        PermissionOption(id="allow-always", name=f"Always allow in this project: {covers}", kind="allow_always"),
        _REJECT,
        PermissionOption(id="reject-always", name=f"Never allow in this project: {covers}", kind="reject_always"),
    ]


MODES: dict[str, tuple[str, str]] = {
    "ask": ("Ask", "Asks before each change and each command"),
    "architect": ("Architect", "Reads and plans; changes nothing"),
    "code": ("Code", "Edits files without asking; asks before commands"),
}
"""The name of each, and what it means."""
