"""The conversation of a session as blocks. Law: only this module turns updates into blocks of the screen."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Literal, TypeAlias, TypeVar

from accord.apps.console.file_changes import WrittenFiles
from accord.apps.console.run.output_format import is_activity
from accord.apps.console.screen.blocks.block import Block
from accord.apps.console.screen.blocks.messages import AgentMessage, Thought, UserMessage
from accord.apps.console.screen.blocks.notices import (
    CompactionBlock,
    NoteBlock,
    NoticeBlock,
    TerminalBlock,
    UnknownBlock,
)
from accord.apps.console.screen.blocks.tool_calls import ToolCallBlock
from accord.session import updates
from accord.session.content import Content
from accord.session.entities import THOUGHT, USER, Plan, Terminal, TerminalItem, ToolCall
from accord.session.memory_estimate import content_weight, details_growth, details_weight, weigh, weigh_piece
from accord.session.value import UNSET

MOST_BYTES = 64 * 1024 * 1024
_BLOCK = 2048
"""The weight of a block without its content."""
_CONTENT = ("content", "raw_input", "raw_output")
_DROPPED = (
    "earlier messages are no longer shown, to stay within the memory limit; /export has them as far as they are kept"
)

Part: TypeAlias = Literal["block", "plan", "commands", "status"]
K = TypeVar("K")
V = TypeVar("V")


class Conversation:
    """The blocks of one session in their order, and its plan.

    `on_change` is called with the part that has changed, for every update: it must be fast. `fold_pastes` puts labels in
    the place of long texts that were pasted into a prompt.
    """

    def __init__(self, cwd: str, on_change: Callable[[Part], None], fold_pastes: Callable[[str], str] = str) -> None:
        self.blocks: list[Block] = []
        self.most = MOST_BYTES
        """The limit for the weight of all blocks; the oldest are dropped."""
        self._weights: dict[int, int] = {}
        """The weight of each block, by its id."""
        self._weight = 0
        self.plan: Plan | None = None
        self.plan_is_old = False
        """Whether the agent has not updated the plan since the last prompt."""
        self.is_turn_empty = True
        """Whether the agent has sent no message, thought or tool call in this turn."""
        self.folds_thoughts = True
        self.written = WrittenFiles()
        """The files that were written through the client. A replay of the history does not clear them."""
        self.cwd = cwd
        self.fold_pastes = fold_pastes
        self._on_change = on_change
        self._messages: dict[tuple[str, str], UserMessage | AgentMessage] = {}
        self._calls: dict[str, ToolCallBlock] = {}
        self._call_in_question: str | None = None
        self._compactions: dict[str, CompactionBlock] = {}
        self._terminals: dict[str, Terminal] = {}
        self._calls_of_terminal: dict[str, set[str]] = {}
        self._terminal_blocks: dict[str, TerminalBlock] = {}
        """The terminals that no tool call shows."""
        self._other_plans: dict[str, UnknownBlock] = {}

    def clear(self) -> None:
        """Remove everything: the history will be replayed."""
        self.plan = None
        self.blocks.clear()
        self._weights.clear()
        self._weight = 0
        self.begin_part()
        self._on_change("block")
        self._on_change("plan")

    def begin_part(self) -> None:
        """Keep the blocks, but forget their ids: later updates have ids of their own."""
        by_id = (self._messages, self._calls, self._compactions, self._terminals, self._calls_of_terminal)
        for blocks in (*by_id, self._terminal_blocks, self._other_plans):
            blocks.clear()

    def begin_with(self, blocks: list[Block]) -> None:
        """Insert earlier blocks at the beginning."""
        self.blocks[:0] = blocks
        self._on_change("block")

    def add(self, block: Block) -> None:
        """Add a block that is not from the agent."""
        self.blocks.append(block)
        self._on_change("block")

    def changed(self) -> None:
        """A block that is not from the agent has changed."""
        self._on_change("block")

    @property
    def calls(self) -> list[ToolCallBlock]:
        """The tool calls, the oldest first."""
        return [block for block in self.blocks if isinstance(block, ToolCallBlock)]

    def add_written_file(self, path: str, old_text: str | None, new_text: str) -> None:
        """A file was written through the client."""
        self.written.add(path, old_text, new_text)
        self._on_change("status")

    def mark_question(self, call_id: str | None) -> None:
        """Mark the tool call that the current question is about. The call itself may arrive later."""
        self._call_in_question = call_id
        for block in self._calls.values():
            if block.is_in_question != (block.call.id == call_id):
                block.is_in_question = block.call.id == call_id
                block.invalidate()
                self._on_change("block")

    def apply(self, update: updates.Update) -> None:
        """Apply an update of the session."""
        self.is_turn_empty = self.is_turn_empty and not is_activity(update)
        match update:
            case updates.MessageChunk():
                self._message(update.message.role, update.message.id, [update.content], added=True)
            case updates.MessageChanged(message=message, added=added):
                content = message.content if added is None else added
                self._message(message.role, message.id, content, added=added is not None)
            case updates.PromptChanged():
                self._prompt(update)
            case updates.ToolCallChanged():
                self._call(update)
            case updates.TerminalChanged() | updates.TerminalOutput():
                self._terminal(update.terminal)
            case updates.PlanChanged():
                self._plan(update.plan)
            case updates.CompactionChanged():
                self._compaction(update)
            case updates.NoticeShown():
                notice = NoticeBlock(update.notice)
                self.add(notice)
                self._grow(notice, weigh(update.notice))
            case updates.UnknownUpdate():
                unknown = UnknownBlock(update.patch.tag, update.patch.raw)
                self.add(unknown)
                self._grow(unknown, weigh(update.patch))
            case updates.CommandsChanged():
                self._on_change("commands")
            case (
                updates.StateChanged()
                | updates.UsageChanged()
                | updates.InfoChanged()
                | updates.ModeChanged()
                | updates.OptionsChanged()
            ):
                self._on_change("status")

    def _grow(self, block: Block, weight: int, *, is_all: bool = False) -> None:
        """Add to the weight of a block; with `is_all`, set it."""
        before = self._weights.get(id(block), 0)
        weight = weight + _BLOCK if is_all or not before else before + weight
        self._weights[id(block)] = weight
        self._weight += weight - before
        if self._weight > self.most:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Drop the oldest blocks until a quarter of the limit is free, so that this happens rarely."""
        count = 0
        for block in self.blocks[:-1]:
            if self._weight <= self.most * 3 // 4:
                break
            self._weight -= self._weights.pop(id(block), 0)
            count += 1
        if not count:
            return
        dropped = {id(block) for block in self.blocks[:count]}
        dropped_calls = {call_id for call_id, block in self._calls.items() if id(block) in dropped}
        for terminal_id, calls in list(self._calls_of_terminal.items()):
            calls -= dropped_calls
            if not calls:
                del self._calls_of_terminal[terminal_id]
                self._terminals.pop(terminal_id, None)
        for terminal_id in [key for key, block in self._terminal_blocks.items() if id(block) in dropped]:
            self._terminals.pop(terminal_id, None)
        _forget(self._messages, dropped)
        _forget(self._calls, dropped)
        _forget(self._compactions, dropped)
        _forget(self._terminal_blocks, dropped)
        _forget(self._other_plans, dropped)
        self.blocks[:count] = [NoteBlock(_DROPPED)]
        self._on_change("block")

    def begin_turn(self) -> None:
        """A turn begins: a completed plan is removed, and any other becomes old."""
        self.is_turn_empty = True
        if self.plan is None:
            return
        if all(entry.status == "completed" for entry in self.plan.entries):
            self.plan = None
        self.plan_is_old = True
        self._on_change("plan")

    def end_work(self) -> None:
        """The agent works no more: nothing looks as if it still did. (The client closes tool calls and plans.)"""
        for block in self._compactions.values():
            if block.end():
                self._on_change("block")

    def _message(self, role: str, message_id: str, content: list[Content], *, added: bool) -> None:
        block = self._messages.get((role, message_id))
        if block is not None and added and self._weights.get(id(block), 0) > self.most // 4:
            block = None  # an endless message continues in another block, so that its beginning can be dropped
        if block is None:
            block = self._messages[role, message_id] = self._message_block(role)
            if isinstance(block, Thought):
                block.is_folded = self.folds_thoughts
            self.blocks.append(block)
            self._grow(block, len(message_id))
        if added:
            for each in content:
                block.append(each)
        else:
            block.replace(content)
        weight = sum(weigh_piece(each) for each in content)
        self._grow(block, weight if added else weight + len(message_id), is_all=not added)
        self._on_change("block")

    def _message_block(self, role: str) -> UserMessage | AgentMessage:
        if role == USER:
            return UserMessage(self.fold_pastes)
        return Thought() if role == THOUGHT else AgentMessage()

    def _prompt(self, update: updates.PromptChanged) -> None:
        """A prompt got another id or position, or was not accepted."""
        message = update.message
        block = self._messages.pop((USER, update.former_id), None)
        if not isinstance(block, UserMessage):
            return
        if self._messages.setdefault((USER, message.id), block) is not block:
            self.blocks.remove(block)  # the agent has echoed it; that message stays
            self._weight -= self._weights.pop(id(block), 0)
        elif update.patch.goes_last and self.blocks[-1] is not block:
            self.blocks.remove(block)
            self.blocks.append(block)
        block.mark(not_accepted=message.not_accepted)
        self._on_change("block")

    def _call(self, update: updates.ToolCallChanged) -> None:
        call = update.call
        block = self._calls.get(call.id)
        before = None if block is None else block.call
        if block is None:
            block = self._calls[call.id] = ToolCallBlock(call, self.cwd, self._terminals.get)
            block.is_in_question = call.id == self._call_in_question
            self.blocks.append(block)
        else:
            block.show(call, update.patch)
        for item in call.content:
            if isinstance(item, TerminalItem):
                self._calls_of_terminal.setdefault(item.terminal_id, set()).add(call.id)
                if terminal_block := self._terminal_blocks.pop(item.terminal_id, None):
                    self.blocks.remove(terminal_block)
                    self._weight -= self._weights.pop(id(terminal_block), 0)
        patch = update.patch
        if isinstance(patch, updates.ToolCallAppend):
            self._grow(block, weigh_piece(patch.item))
        elif id(block) not in self._weights or any(getattr(patch, name) is not UNSET for name in _CONTENT):
            current = set(map(id, call.content))
            earlier = sum(weigh_piece(diff) for diff in block.all_diffs if id(diff) not in current)
            content = content_weight("tool_calls", call) + self._output_weight(call) + earlier
            self._grow(block, content + details_weight("tool_calls", call), is_all=True)
        else:
            self._grow(block, details_growth("tool_calls", before, call))
        self._on_change("block")

    def _output_weight(self, call: ToolCall) -> int:
        """The weight of the output in its terminals."""
        ids = [item.terminal_id for item in call.content if isinstance(item, TerminalItem)]
        return sum(len(terminal.output) for each in ids if (terminal := self._terminals.get(each)) is not None)

    def _terminal(self, terminal: Terminal) -> None:
        before = self._terminals.get(terminal.id)
        growth = len(terminal.output) - (0 if before is None else len(before.output))
        growth += details_growth("terminals", before, terminal)
        self._terminals[terminal.id] = terminal
        calls = self._calls_of_terminal.get(terminal.id)
        if calls is None:
            self._show_terminal(terminal)
            return
        for call_id in calls:
            block = self._calls.get(call_id)
            if block is not None:
                block.invalidate()
                self._grow(block, growth)
                self._on_change("block")

    def _show_terminal(self, terminal: Terminal) -> None:
        block = self._terminal_blocks.get(terminal.id)
        if block is None:
            block = self._terminal_blocks[terminal.id] = TerminalBlock(terminal, self.cwd)
            self.blocks.append(block)
        else:
            block.show(terminal)
        self._grow(block, len(terminal.output) + details_weight("terminals", terminal), is_all=True)
        self._on_change("block")

    def _plan(self, plan: Plan) -> None:
        if plan.raw is None:
            self.plan, self.plan_is_old = plan, False
            self._on_change("plan")
            return
        block = self._other_plans.get(plan.id)
        if block is None:
            block = self._other_plans[plan.id] = UnknownBlock(plan.type, plan.raw, "a plan")
            self.blocks.append(block)
        else:
            block.show(plan.type, plan.raw)
        self._grow(block, content_weight("plans", plan) + details_weight("plans", plan), is_all=True)
        self._on_change("block")

    def _compaction(self, update: updates.CompactionChanged) -> None:
        compaction = update.compaction
        block = self._compactions.get(compaction.id)
        if block is None:
            block = self._compactions[compaction.id] = CompactionBlock(compaction)
            self.blocks.append(block)
        else:
            block.show(compaction)
        patch = update.patch
        if isinstance(patch, updates.CompactionAppend):
            self._grow(block, weigh_piece(patch.content))
        else:
            details = details_weight("compactions", compaction)
            self._grow(block, content_weight("compactions", compaction) + details, is_all=True)
        self._on_change("block")


def _forget(table: MutableMapping[K, V], dropped: set[int]) -> None:
    for key in [key for key, block in table.items() if id(block) in dropped]:
        del table[key]
