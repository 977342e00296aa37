"""The state of sessions at clients of v1 and the v2 draft, by which `display_fallback` knows what to send."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from accord.dialects.dialect import Dialect
from accord.session.entities import Option, Plan, Terminal, TerminalItem, ToolCall
from accord.session.snapshots import SnapshotBytes

if TYPE_CHECKING:
    from accord.dialects.terminal_meta import AnnouncedTerminal

TAIL = 32 * 1024
"""How much of a terminal's output is sent as text."""


class DisplayState:
    """The state of one session at the client."""

    __slots__ = ("_calls", "_sent_sizes", "_stale", "announced", "mode", "options", "plans", "terminals")

    def __init__(self) -> None:
        self.mode: str | None = None
        self.options: Sequence[Option] = ()
        self.plans: dict[str, Plan] = {}
        self.terminals: dict[str, Terminal] = {}
        self.announced: dict[str, AnnouncedTerminal] = {}
        """The terminals that were announced in `_meta`, and that the client displays itself."""
        self._calls: dict[str, ToolCall] = {}
        self._stale: set[str] = set()
        """The tool calls whose content at the client is not the newest."""
        self._sent_sizes: dict[tuple[str, str], int] = {}

    def track_call(self, call: ToolCall) -> None:
        """Remember a tool call if it contains a terminal."""
        if call.content and any(type(item) is TerminalItem for item in call.content):
            self._calls[call.id] = call
        else:
            self._calls.pop(call.id, None)

    def track_terminal(self, terminal: Terminal) -> None:
        """Remember a terminal as it is now; of one that has ended, only the output that can still be sent."""
        if terminal.exit is not None and len(terminal.output) > TAIL + 1:
            terminal = replace(terminal, output=SnapshotBytes(terminal.output[-TAIL - 1 :]))
        self.terminals[terminal.id] = terminal

    def calls_with(self, terminal_id: str) -> list[ToolCall]:
        """The tool calls that contain a terminal."""
        return [
            call
            for call in self._calls.values()
            if any(type(item) is TerminalItem and item.terminal_id == terminal_id for item in call.content)
        ]

    def send_output_now(self, terminal: Terminal, whole: bool) -> bool:
        """Whether to send the output now; if not, the tool calls that contain it are stale."""
        size, sent = len(terminal.output), self._sent_sizes.get(("terminal", terminal.id), 0)
        # Only the tail is sent: past it, each time as much has come as would be sent.
        if not whole and (size < sent * 5 // 4 or (size >= TAIL * 4 and size - sent < TAIL)):
            self._stale.update(call.id for call in self.calls_with(terminal.id))
            return False
        self._sent_sizes["terminal", terminal.id] = size
        return True

    def send_item_now(self, call: ToolCall) -> bool:
        """Whether to send the content now, after one more item; if not, the call is stale."""
        size, key = len(call.content), ("call", call.id)
        if size < self._sent_sizes.get(key, 0) * 5 // 4:
            self._stale.add(call.id)
            return False
        self._sent_sizes[key] = size
        self._stale.discard(call.id)
        return True

    def send_content_now(self, call: ToolCall, has_content: bool) -> bool:
        """Whether to send the content with a patch of a call: the patch has content, or the call is stale."""
        send = has_content or call.id in self._stale
        self._stale.discard(call.id)
        if call.finished:
            self._sent_sizes.pop(("call", call.id), None)
        elif send:
            self._sent_sizes["call", call.id] = len(call.content)
        return send


class DisplayDialect(Dialect):
    """A dialect that tracks the state of each session at the client."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.displays: defaultdict[str, DisplayState] = defaultdict(DisplayState)
        self.generated_calls = 0
        """How many tool calls were generated for permission requests."""

    def forget_session(self, session_id: str) -> None:
        self.displays.pop(session_id, None)

    def track_plan(self, session_id: str, plan: Plan) -> bool:
        """Remember a plan; whether to send it. A plan of an unknown type is not sent, but removes the one it replaces."""
        plans = self.displays[session_id].plans
        if plan.raw is None:
            plans[plan.id] = plan
            return True
        self.record_loss("plan-type", plan.id)
        return plans.pop(plan.id, None) is not None
