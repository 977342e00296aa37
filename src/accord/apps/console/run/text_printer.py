"""What happens in a run, for people: the answer on stdout, everything else on stderr."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Literal

from accord.apps.console.permission_flags import least_permissions, permission_summary
from accord.apps.console.run.output_format import NOT_ACCEPTED, Outcome, Reporter, describe_exit, describe_stop
from accord.apps.console.run.output_stream import OutputStream, StandardStreams
from accord.apps.console.sanitizer import Cleaner, exact_line, one_line, strip_sequences, visible
from accord.apps.console.tool_input import command_lines, remaining_action
from accord.client.permissions.writes_and_commands import allows
from accord.client.session import Session
from accord.session import entities, updates
from accord.session.content import Content, Text, render_text
from accord.session.diffs import diff_text
from accord.session.limits import LimitedDict
from accord.session.requests import (
    CommandSubject,
    InitializeResult,
    PermissionAnswer,
    PermissionRequest,
    ToolCallSubject,
)

_FENCE = re.compile(r"^ *```[^`\n]*$", re.MULTILINE)
_NO_RESULT = "ended without a result"
_SIGNS = {"completed": "✓", "failed": "✗", "cancelled": "-", _NO_RESULT: "∅"}
_WORDS = {"completed": "Done:", "failed": "Failed:", "cancelled": "Cancelled:", _NO_RESULT: "Ended without a result:"}
_SPEAKERS = {entities.AGENT: "Answer: ", entities.THOUGHT: "Thought: ", entities.USER: "You: "}
_COLOURS = {"dim": "2", "red": "31", "green": "32", "yellow": "33"}
_MOST_LINES = 40
_MOST_COMMAND_LINES = 10
_MOST_FILES = 5
_LONGEST_LINE = 1000


def supports_colour(output: OutputStream, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether colours are wanted there: a terminal that is not dumb, and no NO_COLOR."""
    return output.is_terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


class TextPrinter(Reporter):
    """Says everything once. With `is_quiet` only the answer and failures; with `is_transcript` all of it on stdout.

    With `is_spoken` it is for the ear: words where there would be signs or colours, and nothing that was just asked about.
    """

    def __init__(
        self,
        outputs: StandardStreams,
        *,
        is_quiet: bool = False,
        is_transcript: bool = False,
        is_spoken: bool = False,
        cwd: str = "",
    ) -> None:
        self._outputs = outputs
        self._cwd = cwd
        self._aside = outputs.out if is_transcript else outputs.err
        self._is_quiet = is_quiet
        self._is_transcript = is_transcript
        self._is_spoken = is_spoken
        self._has_colour = supports_colour(self._aside) and not is_spoken
        self._cleaners = {id(each): Cleaner() for each in outputs.all}
        self._telling: dict[int, tuple[str, str | None]] = {}
        """By output, the message that is being told there."""
        self._shown: LimitedDict[str] = LimitedDict()
        self._plan = ""
        self._has_begun = False
        self._usage: entities.Usage | None = None
        self._has_said_how_to_allow = False
        self._is_retelling = False
        self._asked_about: LimitedDict[bool] = LimitedDict()
        self._actions: LimitedDict[list[str]] = LimitedDict()
        """By the id of a call, what was told of what it does."""
        self._commands: LimitedDict[bool] = LimitedDict()
        """Those that a call or a question has told, until a terminal runs them."""
        self._about: str | None = None
        """The call that the last line is about."""
        self._terminals: LimitedDict[bool] = LimitedDict()
        """By id, whether it was told that the command has ended."""
        self._titles: LimitedDict[str] = LimitedDict()
        """By the id of a terminal, the title of the call that shows it."""

    def started(self, agent: InitializeResult, session: Session, *, resumed: bool) -> None:
        self._has_begun = True

    def changed(self, change: updates.Update) -> None:
        match change:
            case updates.MessageChunk():
                self._said(change.role, change.message.id, [change.content])
            case updates.MessageChanged(message=message, added=added):
                if added is None:
                    self._telling.clear()  # told anew: it begins on a line of its own
                self._said(message.role, message.id, list(message.content) if added is None else added)
            case updates.PromptChanged(message=entities.Message(not_accepted=True)):
                self._note(NOT_ACCEPTED, "yellow")
            case updates.ToolCallChanged(call=call):
                self._tool_call(call)
            case updates.TerminalChanged(terminal=terminal):
                self._terminal(terminal)
            case updates.PlanChanged(plan=plan):
                self._planned(plan)
            case updates.NoticeShown(notice=notice):
                self._noticed(notice)
            case updates.CompactionChanged(compaction=compaction):
                self._note(f"memory of the session: {one_line(compaction.status, 40)}", "dim")
            case updates.UsageChanged(usage=usage):
                self._usage = usage
            case updates.UnknownUpdate(patch=patch):
                self._note(f"an update that accord does not know: {one_line(patch.tag, 80)}", "dim")
            case _:
                pass

    def retold(self, change: updates.Update) -> None:
        """As `changed`, of what was said earlier: also what the user said, whom nobody has just heard."""
        self._is_retelling = True
        try:
            self.changed(change)
        finally:
            self._is_retelling = False

    def decided(self, request: PermissionRequest, answer: PermissionAnswer, by: Literal["rule", "person"]) -> None:
        verdict, colour = ("allowed", "green") if allows(request, answer) else ("rejected", "yellow")
        if self._is_spoken and by == "person" and isinstance(request.subject, ToolCallSubject):
            self._asked_about.put(request.subject.call.id, True)
        how = ""
        if verdict == "rejected" and by == "rule" and not self._has_said_how_to_allow:
            self._has_said_how_to_allow = True
            why = "by --permissions reject" if self._is_spoken else "nobody can be asked here"
            how = f" ({why}; --permissions {least_permissions(request)} allows it)"
        self._note(f"{verdict}: {permission_summary(request)}{how}", colour)
        if verdict == "allowed" and isinstance(request.subject, CommandSubject):
            self._commands.put(request.subject.command, True)
        if isinstance(request.subject, ToolCallSubject) and request.subject.call.id:
            self._tell_action(request.subject.call, request.title or request.subject.call.title or "")

    def wrote(self, path: str, size: int) -> None:
        self._note(f"wrote {exact_line(path)}: {size:,} bytes", "dim")

    def noted(self, text: str, severity: str = "info") -> None:
        self._note(text, "yellow" if severity in ("warning", "error") else "dim")

    def prompted(self, text: str) -> None:
        """Show the prompt itself, where the whole conversation is shown."""
        for line in visible(text).splitlines() or [""]:
            self._outputs.out.write(f"> {line}\n")
        self._outputs.out.write("\n")

    def ended(self, outcome: Outcome) -> None:
        self._fresh_line(self._outputs.out)
        if stopped := describe_stop(outcome):
            self._say(stopped, "yellow")
        if self._usage is not None:
            cost = self._usage.cost
            price = f", {cost.amount:.4g} {one_line(cost.currency, 10)}" if cost else ""
            self._note(f"{self._usage.used:,} of {self._usage.size:,} tokens{price}", "dim")

    def _said(self, role: str, message_id: str | None, blocks: list[Content]) -> None:
        if role == entities.AGENT and self._has_begun:
            output = self._outputs.out
        elif (role in (entities.AGENT, entities.THOUGHT) or self._is_retelling) and not self._is_quiet:
            output = self._aside  # before the prompt, nothing is an answer
        else:
            return
        self._about = None
        if self._telling.get(id(output)) != (role, message_id):
            self._fresh_line(output)
            self._telling[id(output)] = (role, message_id)
            if self._is_spoken:
                output.write(_SPEAKERS.get(role, "Answer: "))
        cleaner = self._cleaners[id(output)]
        for block in blocks:
            text = cleaner.clean(block.text if isinstance(block, Text) else f"\n{render_text([block])}\n")
            output.write(self._painted(text, "dim") if role == entities.THOUGHT else text)

    def _tool_call(self, call: entities.ToolCall) -> None:
        for item in call.content:
            if isinstance(item, entities.TerminalItem):
                self._titles.put(item.terminal_id, _title(call))
        state = _NO_RESULT if call.ended_without_result else call.status
        if call.finished:
            if self._shown.get(call.id) == state:
                return
            self._shown.put(call.id, state)
        elif call.id in self._shown:
            self._tell_later(call)
            return
        else:
            self._shown.put(call.id, "")
        title = _title(call)
        colour = {"failed": "red", "completed": "green"}.get(state, "dim")
        sign = _WORDS.get(state, "Begun:") if self._is_spoken else _SIGNS.get(state, "→")
        why = "" if self._is_transcript else _why(call)
        if call.ended_without_result and not self._is_spoken:
            why = f": {_NO_RESULT}"
        self._note(f"{sign} {title}{why}", colour, call.id)
        self._tell_action(call, title)
        if self._is_transcript and call.finished:
            lines = strip_sequences(_content(call, with_diffs=call.id not in self._asked_about)).splitlines()
            for line in lines[:_MOST_LINES]:
                self._note(f"    {line}", "dim")
            if len(lines) > _MOST_LINES:
                self._note(f"    … and {len(lines) - _MOST_LINES} lines more", "dim")

    def _tell_later(self, call: entities.ToolCall) -> None:
        """What a call does, when its agent tells it after its title."""
        title = _title(call)
        if self._about != call.id and self._action(call, title) not in ([], self._actions.get(call.id)):
            self._note(f"{'Begun:' if self._is_spoken else '→'} {title}", "dim", call.id)
        self._tell_action(call, title)

    def _tell_action(self, call: entities.ToolCall | updates.ToolCallPatch, title: str) -> None:
        """The command that it runs or the files that it is about, once, where the title does not tell them."""
        lines = self._action(call, title)
        if not lines or lines == self._actions.get(call.id) or call.id in self._asked_about:
            return
        self._actions.put(call.id, lines)
        for line in command_lines(call.raw_input):
            self._commands.put(line, True)
        for line in lines:
            self._note(f"    {line}", "dim", call.id)

    def _action(self, call: entities.ToolCall | updates.ToolCallPatch, title: str) -> list[str]:
        command, files = remaining_action(call, title, self._cwd)
        if command is not None:
            sign = "Command: " if self._is_spoken else "$ "
            first, *more = [exact_line(line, _LONGEST_LINE) for line in command.splitlines()] or [""]
            if len(more) >= _MOST_COMMAND_LINES:
                more[_MOST_COMMAND_LINES - 1 :] = [f"… and {len(more) - _MOST_COMMAND_LINES + 1} lines more"]
            return [f"{sign}{first}", *(f"{' ' * len(sign)}{line}" for line in more)]
        sign = "File: " if self._is_spoken else ""
        lines = [f"{sign}{exact_line(path, _LONGEST_LINE)}" for path in files[:_MOST_FILES]]
        return lines + ([f"… and {len(files) - _MOST_FILES} files more"] if len(files) > _MOST_FILES else [])

    def _terminal(self, terminal: entities.Terminal) -> None:
        title = self._titles.get(terminal.id) or ""
        command = exact_line(terminal.command or title or "a command that was not named", 1000)
        if terminal.command is not None and terminal.id not in self._terminals:
            self._terminals.put(terminal.id, False)
            is_told = self._commands.pop(terminal.command) is not None or one_line(terminal.command) in title
            if not is_told:
                self._note(f"{'Running:' if self._is_spoken else '$'} {command}", "dim")
        if terminal.exit is None or self._terminals.get(terminal.id):
            return
        self._terminals.put(terminal.id, True)
        if self._is_transcript:
            lines = strip_sequences(terminal.text).splitlines()
            if len(lines) > _MOST_LINES:
                self._note(f"    … {len(lines) - _MOST_LINES} lines before", "dim")
            for line in lines[-_MOST_LINES:]:
                self._note(f"    {line}", "dim")
        how = describe_exit(terminal.exit)
        sign = "" if title and terminal.command is None else "$ "
        told = f"Ended, {how}: {command}" if self._is_spoken else f"{sign}{command}: {how}"
        self._note(told, "dim" if terminal.exit.code == 0 else "red")

    def _planned(self, plan: entities.Plan) -> None:
        if plan.raw is not None:
            self._note(f"a plan that accord does not know: {one_line(plan.type, 80)}", "dim")
            return
        done = sum(entry.status == "completed" for entry in plan.entries)
        current = next((entry.content for entry in plan.entries if entry.status == "in_progress"), "")
        now = "broken off at" if plan.ended_without_result else "now"
        text = f"plan: {done} of {len(plan.entries)} done" + (f", {now}: {one_line(current)}" if current else "")
        if text != self._plan:
            self._plan = text
            self._note(text, "dim")

    def _noticed(self, notice: entities.Notice) -> None:
        about = f": {one_line(notice.description, 500)}" if notice.description else ""
        self.noted(f"{one_line(notice.title)}{about}", notice.severity)

    def _note(self, text: str, colour: str, about: str | None = None) -> None:
        if not self._is_quiet:
            self._say(text, colour)
            self._about = about

    def _say(self, text: str, colour: str) -> None:
        self._fresh_line(self._aside)
        self._telling.pop(id(self._aside), None)
        self._aside.write(self._painted(visible(text), colour) + "\n")  # it may hold words of the agent's

    def _fresh_line(self, output: OutputStream) -> None:
        output.write(self._cleaners[id(output)].finish())
        if not output.at_line_start:
            output.write("\n")

    def _painted(self, text: str, colour: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self._has_colour and text else text


def _title(call: entities.ToolCall) -> str:
    return one_line(call.title or call.name or call.kind)


def _why(call: entities.ToolCall) -> str:
    """Why a call failed, as far as it says so in its last words."""
    if call.status != "failed":
        return ""
    said = render_text([item.content for item in call.content if isinstance(item, entities.ContentItem)])
    said = one_line(_FENCE.sub("", said))
    return f": {said}" if said else ""


def _content(call: entities.ToolCall, *, with_diffs: bool) -> str:
    """What a call shows, as text; the output of its terminals is told elsewhere."""
    parts: list[str] = []
    for item in call.content:
        match item:
            case entities.ContentItem(content=content):
                parts.append(render_text([content]))
            case entities.Diff() if with_diffs:
                parts.append(diff_text(item))
            case _:
                pass
    return "\n".join(parts)
