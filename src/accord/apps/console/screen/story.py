"""A session as blocks. Law: here, and nowhere else, what a session tells becomes something on the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from accord.apps.console.screen.blocks.block import Block
from accord.apps.console.screen.blocks.messages import AgentMessage, Thought, UserMessage
from accord.apps.console.screen.blocks.remarks import CompactionBlock, NoticeBlock, TerminalBlock, UnknownBlock
from accord.apps.console.screen.blocks.tool_calls import ToolCallBlock
from accord.session.content import Content
from accord.session.entities import THOUGHT, USER, Plan, Terminal, TerminalItem
from accord.session.updates import (
    Change,
    CommandsChanged,
    CompactionChanged,
    InfoChanged,
    MessageChanged,
    MessageChunk,
    ModeChanged,
    NoticeShown,
    OptionsChanged,
    PlanChanged,
    StateChanged,
    TerminalChanged,
    TerminalOutput,
    ToolCallChanged,
    UnknownUpdate,
    UsageChanged,
)

__all__ = ["Part", "Story"]

Part: TypeAlias = Literal["block", "plan", "commands", "status"]
OnChange: TypeAlias = Callable[[Part, Block | None], None]


class Story:
    """The blocks of one session in their order, and its plan. `on_change` hears of every change, and does no work."""

    def __init__(self, cwd: str, on_change: OnChange) -> None:
        self.blocks: list[Block] = []
        self.plan: Plan | None = None
        self.plan_is_old = False
        """Whether the agent has said nothing of it since the user has asked for something else."""
        self.folds_thoughts = True
        self.cwd = cwd
        self._on_change = on_change
        self._messages: dict[tuple[str, str], UserMessage | AgentMessage] = {}
        self._calls: dict[str, ToolCallBlock] = {}
        self._compactions: dict[str, CompactionBlock] = {}
        self._terminals: dict[str, Terminal] = {}
        self._shown_in: dict[str, set[str]] = {}
        self._alone: dict[str, TerminalBlock] = {}
        """The terminals that no tool call shows."""
        self._other_plans: dict[str, UnknownBlock] = {}

    def clear(self) -> None:
        """Begin anew: the history will be told again."""
        self.plan = None
        self.blocks.clear()
        self.begin_part()
        self._on_change("block", None)
        self._on_change("plan", None)

    def begin_part(self) -> None:
        """What is told from now on is of another telling: its ids are not those of before, whose blocks stay."""
        by_id = (self._messages, self._calls, self._compactions, self._terminals, self._shown_in)
        for known in (*by_id, self._alone, self._other_plans):
            known.clear()

    def begin_with(self, blocks: list[Block]) -> None:
        """What is known of the time before."""
        self.blocks[:0] = blocks
        self._on_change("block", None)

    def add(self, block: Block) -> None:
        """Something of our own."""
        self.blocks.append(block)
        self._on_change("block", block)

    def changed(self, block: Block) -> None:
        """A block of our own has changed."""
        self._on_change("block", block)

    @property
    def calls(self) -> list[ToolCallBlock]:
        """The tool calls, the oldest first."""
        return [block for block in self.blocks if isinstance(block, ToolCallBlock)]

    def ask_about(self, call_id: str | None) -> None:
        """The tool call that the user is asked about now."""
        for block in self._calls.values():
            if block.is_asked_about != (block.call.id == call_id):
                block.is_asked_about = block.call.id == call_id
                block.touch()
                self._on_change("block", block)

    def tell(self, change: Change) -> None:
        """Take in what a session has told."""
        match change:
            case MessageChunk():
                self._message(change.message.role, change.message.id, [change.content], added=True)
            case MessageChanged(added=list(added)):
                self._message(change.message.role, change.message.id, added, added=True)
            case MessageChanged():
                self._message(change.message.role, change.message.id, change.message.content, added=False)
            case ToolCallChanged():
                self._call(change)
            case TerminalChanged() | TerminalOutput():
                self._terminal(change.terminal)
            case PlanChanged():
                self._plan(change.plan)
            case CompactionChanged():
                self._compaction(change)
            case NoticeShown():
                self.add(NoticeBlock(change.notice))
            case UnknownUpdate():
                self.add(UnknownBlock(change.patch.tag, change.patch.raw))
            case CommandsChanged():
                self._on_change("commands", None)
            case StateChanged() | UsageChanged() | InfoChanged() | ModeChanged() | OptionsChanged():
                self._on_change("status", None)

    def begin_turn(self) -> None:
        """Something else begins: a plan that is done goes, and one that is not takes less room."""
        if self.plan is None:
            return
        if all(entry.status == "completed" for entry in self.plan.entries):
            self.plan = None
        self.plan_is_old = True
        self._on_change("plan", None)

    def _message(self, role: str, message_id: str, content: list[Content], *, added: bool) -> None:
        block = self._messages.get((role, message_id))
        if block is None:
            block = self._messages[role, message_id] = _message_block(role)
            if isinstance(block, Thought):
                block.is_folded = self.folds_thoughts
            self.blocks.append(block)
        if added:
            for each in content:
                block.append(each)
        else:
            block.replace(content)
        self._on_change("block", block)

    def _call(self, change: ToolCallChanged) -> None:
        call = change.call
        block = self._calls.get(call.id)
        if block is None:
            block = self._calls[call.id] = ToolCallBlock(call, self.cwd, self._terminals.get)
            self.blocks.append(block)
        else:
            block.show(call)
        for item in call.content:
            if isinstance(item, TerminalItem):
                self._shown_in.setdefault(item.terminal_id, set()).add(call.id)
                if alone := self._alone.pop(item.terminal_id, None):
                    self.blocks.remove(alone)
        self._on_change("block", block)

    def _terminal(self, terminal: Terminal) -> None:
        self._terminals[terminal.id] = terminal
        calls = self._shown_in.get(terminal.id)
        if calls is None:
            self._show_alone(terminal)
            return
        for call_id in calls:
            block = self._calls[call_id]
            block.touch()
            self._on_change("block", block)

    def _show_alone(self, terminal: Terminal) -> None:
        block = self._alone.get(terminal.id)
        if block is None:
            block = self._alone[terminal.id] = TerminalBlock(terminal, self.cwd)
            self.blocks.append(block)
        else:
            block.show(terminal)
        self._on_change("block", block)

    def _plan(self, plan: Plan) -> None:
        if plan.raw is None:
            self.plan, self.plan_is_old = plan, False
            self._on_change("plan", None)
            return
        block = self._other_plans.get(plan.id)
        if block is None:
            block = self._other_plans[plan.id] = UnknownBlock(plan.type, plan.raw, "a plan")
            self.blocks.append(block)
        else:
            block.show(plan.type, plan.raw)
        self._on_change("block", block)

    def _compaction(self, change: CompactionChanged) -> None:
        compaction = change.compaction
        block = self._compactions.get(compaction.id)
        if block is None:
            block = self._compactions[compaction.id] = CompactionBlock(compaction)
            self.blocks.append(block)
        else:
            block.show(compaction)
        self._on_change("block", block)


def _message_block(role: str) -> UserMessage | AgentMessage:
    if role == USER:
        return UserMessage()
    return Thought() if role == THOUGHT else AgentMessage()
