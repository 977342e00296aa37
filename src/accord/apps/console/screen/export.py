"""Export of a conversation: as Markdown to read, or as JSON with the whole transcript."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from accord.apps.console.screen.drawing.hunks import FileDiff, file_diffs
from accord.apps.console.tool_input import command_lines, remaining_action
from accord.local.paths import expand_path, file_kind
from accord.session.content import render_text
from accord.session.entities import THOUGHT, USER, Compaction, ContentItem, Message, Plan, TerminalItem, ToolCall
from accord.session.replay import replay
from accord.session.transcript import Transcript
from accord.session.updates import UnknownPatch


def export(transcript: Transcript, path: Path) -> None:
    """Write a new file: JSON if the name ends in `.json`, else Markdown. Never overwrites a file."""
    text = as_json(transcript) if path.suffix == ".json" else as_markdown(transcript)
    with path.open("x", encoding="utf-8", errors="replace") as file:
        file.write(text)


def export_path(target: str, cwd: Path, session_id: str) -> Path:
    """The path to write to: as given, by default with `.md`; for nothing, `md` or `json`, an unused name."""
    kind = target.strip().removeprefix(".") or "md"
    if kind not in ("md", "json"):
        path = cwd / expand_path(target.strip())
        return path if path.suffix or not path.name else path.with_name(f"{path.name}.md")
    name = "".join(each if each.isalnum() or each in "-_" else "-" for each in session_id)[:60]
    suffixes = ["", *(f"-{number}" for number in range(2, 1000))]
    paths = [cwd / f"accord-{name}{suffix}.{kind}" for suffix in suffixes]
    return next((path for path in paths if file_kind(path) is None), paths[-1])


def as_json(transcript: Transcript) -> str:
    """The patches from which an equal transcript can be made, in order."""
    return json_of([transcript])


def json_of(parts: Sequence[Transcript]) -> str:
    """As `as_json`, for a conversation in several parts."""
    patches = [update.patch for part in parts for update in replay(part)]
    document = {"format": "accord transcript", "version": 1, "reports": patches}
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode()


def as_markdown(transcript: Transcript) -> str:
    """The messages and tool calls in their order."""
    parts = [f"# {_line(transcript.info.title or 'A conversation')}"]
    parts += [_entity(entity, transcript) for entity in transcript.timeline]
    return "\n\n".join(part for part in parts if part) + "\n"


def _entity(entity: object, transcript: Transcript) -> str:
    match entity:
        case Message():
            heading = {USER: "User", THOUGHT: "Thought"}.get(entity.role, "Agent")
            heading += " (not accepted)" if entity.not_accepted else ""
            text = render_text(entity.content)
            if entity.role == THOUGHT:
                text = "\n".join(f"> {line}" for line in text.split("\n"))
            return f"## {heading}\n\n{text}"
        case ToolCall():
            return _call(entity, transcript)
        case Plan():
            entries = [(entry.status == "completed", _line(entry.content)) for entry in entity.entries]
            return "\n".join(["### Plan", "", *(f"- [{'x' if done else ' '}] {text}" for done, text in entries)])
        case Compaction():
            return f"### The context was compacted\n\n{render_text(entity.summary)}"
        case UnknownPatch():
            return f"### {_line(entity.tag)}\n\n{_fenced(msgspec.json.encode(entity.raw).decode(), 'json')}"
        case _:
            return ""


def _call(call: ToolCall, transcript: Transcript) -> str:
    status = "ended without a result" if call.ended_without_result else call.status
    parts = [f"### {_line(call.title or call.name or call.id)} ({_line(call.kind)}, {_line(status)})"]
    parts += [f"- `{each.path}{'' if each.line is None else f':{each.line}'}`" for each in call.locations]
    found = [transcript.terminals.get(item.terminal_id) for item in call.content if isinstance(item, TerminalItem)]
    terminals = [terminal for terminal in found if terminal is not None]
    command = remaining_action(call, call.title or call.name or "", "")[0]
    if command is not None and not any(each.command in command_lines(call.raw_input) for each in terminals):
        parts.append(_fenced(f"$ {command}", "console"))
    parts += [render_text([item.content]) for item in call.content if isinstance(item, ContentItem)]
    parts += [_fenced(_patch(diff), "diff") for diff in file_diffs(call.content)]
    parts += [_fenced(f"$ {terminal.command or ''}\n{terminal.text}", "console") for terminal in terminals]
    return "\n\n".join(parts)


def _patch(diff: FileDiff) -> str:
    lines = [f"--- {diff.old_path or diff.path}", f"+++ {diff.path}"]
    for hunk in diff.hunks:
        lines.append(f"@@ {hunk.lines[0].number} @@" if hunk.lines else "@@ @@")
        lines += [f"{line.sign}{line.text}" for line in hunk.lines]
    return "\n".join(lines)


def _fenced(text: str, language: str) -> str:
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _line(text: str) -> str:
    return " ".join(text.split())
