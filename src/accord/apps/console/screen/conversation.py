"""A session as blocks. Law: here, and nowhere else, what a session tells becomes something on the screen."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Literal, TypeAlias, TypeVar

from accord.apps.console.file_changes import WrittenFiles
from accord.apps.console.run.output_format import is_work
from accord.apps.console.screen.blocks.block import Block
from accord.apps.console.screen.blocks.messages import AgentMessage, Thought, UserMessage
from accord.apps.console.screen.blocks.notices import CompactionBlock, NoticeBlock, Remark, TerminalBlock, UnknownBlock
from accord.apps.console.screen.blocks.tool_calls import ToolCallBlock
from accord.session.content import Content
from accord.session.entities import THOUGHT, USER, Plan, Terminal, TerminalItem, ToolCall
from accord.session.memory_estimate import content_weight, details_growth, details_weight, weigh, weigh_piece
from accord.session.updates import (
    CommandsChanged,
    CompactionAppend,
    CompactionChanged,
    InfoChanged,
    MessageChanged,
    MessageChunk,
    ModeChanged,
    NoticeShown,
    OptionsChanged,
    PlanChanged,
    PromptChanged,
    StateChanged,
    TerminalChanged,
    TerminalOutput,
    ToolCallAppend,
    ToolCallChanged,
    UnknownUpdate,
    Update,
    UsageChanged,
)
from accord.session.value import UNSET

__all__ = ["MOST_BYTES", "Part", "Story"]

MOST_BYTES = 64 * 1024 * 1024
_BLOCK = 2048
"""What a block weighs beside what it shows."""
_CONTENT = ("content", "raw_input", "raw_output")
_LET_GO = "what came before this is not shown any more, to keep within the memory limit; /export has what is kept of it"

Part: TypeAlias = Literal["block", "plan", "commands", "status"]
K = TypeVar("K")
V = TypeVar("V")
OnChange: TypeAlias = Callable[[Part, Block | None], None]


class Story:
    """The blocks of one session in their order, and its plan. `on_change` hears of every change, and does no work."""

    def __init__(self, cwd: str, on_change: OnChange) -> None:
        self.blocks: list[Block] = []
        self.most = MOST_BYTES
        """What its blocks may weigh; past it the oldest go."""
        self._weights: dict[int, int] = {}
        """By the id of a block, what it weighs."""
        self._weight = 0
        self.plan: Plan | None = None
        self.plan_is_old = False
        """Whether the agent has said nothing of it since the user has asked for something else."""
        self.is_turn_empty = True
        """Whether the agent has said, thought and done nothing since the turn began."""
        self.folds_thoughts = True
        self.written = WrittenFiles()
        """What was written through us, which no telling of the history takes back."""
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
        self._weights.clear()
        self._weight = 0
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

    def wrote(self, path: str, old_text: str | None, new_text: str) -> None:
        """A file was written through us."""
        self.written.add(path, old_text, new_text)
        self._on_change("status", None)

    def ask_about(self, call_id: str | None) -> None:
        """The tool call that the user is asked about now."""
        for block in self._calls.values():
            if block.is_asked_about != (block.call.id == call_id):
                block.is_asked_about = block.call.id == call_id
                block.touch()
                self._on_change("block", block)

    def tell(self, change: Update) -> None:
        """Take in what a session has told."""
        self.is_turn_empty = self.is_turn_empty and not is_work(change)
        match change:
            case MessageChunk():
                self._message(change.message.role, change.message.id, [change.content], added=True)
            case MessageChanged(message=message, added=added):
                content = message.content if added is None else added
                self._message(message.role, message.id, content, added=added is not None)
            case PromptChanged():
                self._prompt(change)
            case ToolCallChanged():
                self._call(change)
            case TerminalChanged() | TerminalOutput():
                self._terminal(change.terminal)
            case PlanChanged():
                self._plan(change.plan)
            case CompactionChanged():
                self._compaction(change)
            case NoticeShown():
                notice = NoticeBlock(change.notice)
                self.add(notice)
                self._grow(notice, weigh(change.notice))
            case UnknownUpdate():
                unknown = UnknownBlock(change.patch.tag, change.patch.raw)
                self.add(unknown)
                self._grow(unknown, weigh(change.patch))
            case CommandsChanged():
                self._on_change("commands", None)
            case StateChanged() | UsageChanged() | InfoChanged() | ModeChanged() | OptionsChanged():
                self._on_change("status", None)

    def _grow(self, block: Block, weight: int, *, is_all: bool = False) -> None:
        """So much was put into a block; or, with `is_all`, that is what it weighs now."""
        before = self._weights.get(id(block), 0)
        weight = weight + _BLOCK if is_all or not before else before + weight
        self._weights[id(block)] = weight
        self._weight += weight - before
        if self._weight > self.most:
            self._let_go()

    def _let_go(self) -> None:
        """Drop the oldest blocks until a quarter of the room is free: not one for each that comes."""
        count = 0
        for block in self.blocks[:-1]:
            if self._weight <= self.most * 3 // 4:
                break
            self._weight -= self._weights.pop(id(block), 0)
            count += 1
        if not count:
            return
        gone = {id(block) for block in self.blocks[:count]}
        calls = {call_id for call_id, block in self._calls.items() if id(block) in gone}
        for terminal_id, shown_in in list(self._shown_in.items()):
            shown_in -= calls
            if not shown_in:
                del self._shown_in[terminal_id]
                self._terminals.pop(terminal_id, None)
        for terminal_id in [id_ for id_, block in self._alone.items() if id(block) in gone]:
            self._terminals.pop(terminal_id, None)
        _forget(self._messages, gone)
        _forget(self._calls, gone)
        _forget(self._compactions, gone)
        _forget(self._alone, gone)
        _forget(self._other_plans, gone)
        self.blocks[:count] = [Remark(_LET_GO)]
        self._on_change("block", None)

    def begin_turn(self) -> None:
        """Something else begins: a plan that is done goes, and one that is not takes less room."""
        self.is_turn_empty = True
        if self.plan is None:
            return
        if all(entry.status == "completed" for entry in self.plan.entries):
            self.plan = None
        self.plan_is_old = True
        self._on_change("plan", None)

    def _message(self, role: str, message_id: str, content: list[Content], *, added: bool) -> None:
        block = self._messages.get((role, message_id))
        if block is not None and added and self._weights.get(id(block), 0) > self.most // 4:
            block = None  # one that grows without end goes on in another, so that its beginning can be let go
        if block is None:
            block = self._messages[role, message_id] = _message_block(role)
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
        self._on_change("block", block)

    def _prompt(self, change: PromptChanged) -> None:
        """What became of a prompt: it has another id or place, or was not accepted."""
        message = change.message
        block = self._messages.pop((USER, change.former_id), None)
        if not isinstance(block, UserMessage):
            return
        if self._messages.setdefault((USER, message.id), block) is not block:
            self.blocks.remove(block)  # the agent has told it in other words, which stay
            self._weight -= self._weights.pop(id(block), 0)
        elif change.patch.goes_last and self.blocks[-1] is not block:
            self.blocks.remove(block)
            self.blocks.append(block)
        block.mark(not_accepted=message.not_accepted)
        self._on_change("block", block)

    def _call(self, change: ToolCallChanged) -> None:
        call = change.call
        block = self._calls.get(call.id)
        before = None if block is None else block.call
        if block is None:
            block = self._calls[call.id] = ToolCallBlock(call, self.cwd, self._terminals.get)
            self.blocks.append(block)
        else:
            block.show(call, change.patch)
        for item in call.content:
            if isinstance(item, TerminalItem):
                self._shown_in.setdefault(item.terminal_id, set()).add(call.id)
                if alone := self._alone.pop(item.terminal_id, None):
                    self.blocks.remove(alone)
                    self._weight -= self._weights.pop(id(alone), 0)
        patch = change.patch
        if isinstance(patch, ToolCallAppend):
            self._grow(block, weigh_piece(patch.item))
        elif id(block) not in self._weights or any(getattr(patch, name) is not UNSET for name in _CONTENT):
            now = set(map(id, call.content))
            earlier = sum(weigh_piece(diff) for diff in block.shown if id(diff) not in now)
            content = content_weight("tool_calls", call) + self._output_of(call) + earlier
            self._grow(block, content + details_weight("tool_calls", call), is_all=True)
        else:
            self._grow(block, details_growth("tool_calls", before, call))
        self._on_change("block", block)

    def _output_of(self, call: ToolCall) -> int:
        """The weight of what it shows in terminals."""
        shown = [self._terminals.get(item.terminal_id) for item in call.content if isinstance(item, TerminalItem)]
        return sum(len(terminal.output) for terminal in shown if terminal is not None)

    def _terminal(self, terminal: Terminal) -> None:
        before = self._terminals.get(terminal.id)
        growth = len(terminal.output) - (0 if before is None else len(before.output))
        growth += details_growth("terminals", before, terminal)
        self._terminals[terminal.id] = terminal
        calls = self._shown_in.get(terminal.id)
        if calls is None:
            self._show_alone(terminal)
            return
        for call_id in calls:
            block = self._calls.get(call_id)
            if block is not None:
                block.touch()
                self._grow(block, growth)
                self._on_change("block", block)

    def _show_alone(self, terminal: Terminal) -> None:
        block = self._alone.get(terminal.id)
        if block is None:
            block = self._alone[terminal.id] = TerminalBlock(terminal, self.cwd)
            self.blocks.append(block)
        else:
            block.show(terminal)
        self._grow(block, len(terminal.output) + details_weight("terminals", terminal), is_all=True)
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
        self._grow(block, content_weight("plans", plan) + details_weight("plans", plan), is_all=True)
        self._on_change("block", block)

    def _compaction(self, change: CompactionChanged) -> None:
        compaction = change.compaction
        block = self._compactions.get(compaction.id)
        if block is None:
            block = self._compactions[compaction.id] = CompactionBlock(compaction)
            self.blocks.append(block)
        else:
            block.show(compaction)
        patch = change.patch
        if isinstance(patch, CompactionAppend):
            self._grow(block, weigh_piece(patch.content))
        else:
            details = details_weight("compactions", compaction)
            self._grow(block, content_weight("compactions", compaction) + details, is_all=True)
        self._on_change("block", block)


def _message_block(role: str) -> UserMessage | AgentMessage:
    if role == USER:
        return UserMessage()
    return Thought() if role == THOUGHT else AgentMessage()


def _forget(table: MutableMapping[K, V], gone: set[int]) -> None:
    for key in [key for key, block in table.items() if id(block) in gone]:
        del table[key]
