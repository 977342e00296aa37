"""A conversation as a file: Markdown to read, or JSON with everything that the transcript holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from accord.apps.console.screen.drawing.diffs import FileDiff, file_diffs
from accord.apps.console.tool_input import command_lines, untold_action
from accord.local.paths import expand_path, file_kind
from accord.session import replay
from accord.session.content import render_text
from accord.session.entities import THOUGHT, USER, Compaction, ContentItem, Message, Plan, TerminalItem, ToolCall
from accord.session.transcript import Transcript
from accord.session.updates import UnknownPatch

__all__ = ["as_json", "as_markdown", "export", "export_path", "json_of"]


def export(transcript: Transcript, path: Path) -> None:
    """The end of the name decides which one; a file that is there is not written over."""
    text = as_json(transcript) if path.suffix == ".json" else as_markdown(transcript)
    with path.open("x", encoding="utf-8", errors="replace") as file:
        file.write(text)


def export_path(where: str, cwd: Path, session_id: str) -> Path:
    """Where to: a path as it was given, `.md` if it says nothing; for nothing, `md` or `json`, one that is free."""
    kind = where.strip().removeprefix(".") or "md"
    if kind not in ("md", "json"):
        path = cwd / expand_path(where.strip())
        return path if path.suffix or not path.name else path.with_name(f"{path.name}.md")
    safe = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in session_id)[:60]
    ends = ["", *(f"-{number}" for number in range(2, 1000))]
    paths = [cwd / f"accord-{safe}{end}.{kind}" for end in ends]
    return next((path for path in paths if file_kind(path) is None), paths[-1])


def as_json(transcript: Transcript) -> str:
    """The reports from which an equal transcript can be made, one after the other."""
    return json_of([transcript])


def json_of(parts: Sequence[Transcript]) -> str:
    """As `as_json`, of what was told in several parts."""
    reports = [change.patch for part in parts for change in replay(part)]
    document = {"format": "accord transcript", "version": 1, "reports": reports}
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode()


def as_markdown(transcript: Transcript) -> str:
    """What was said and done, in its order."""
    parts = [f"# {_line(transcript.info.title or 'A conversation')}"]
    parts += [_place(place, transcript) for place in transcript.timeline]
    return "\n\n".join(part for part in parts if part) + "\n"


def _place(place: object, transcript: Transcript) -> str:
    match place:
        case Message():
            who = {USER: "User", THOUGHT: "Thought"}.get(place.role, "Agent")
            who += " (not accepted)" if place.not_accepted else ""
            text = render_text(place.content)
            if place.role == THOUGHT:
                text = "\n".join(f"> {line}" for line in text.split("\n"))
            return f"## {who}\n\n{text}"
        case ToolCall():
            return _call(place, transcript)
        case Plan():
            marks = {"completed": "x"}
            lines = [f"- [{marks.get(entry.status, ' ')}] {_line(entry.content)}" for entry in place.entries]
            return "\n".join(["### Plan", "", *lines])
        case Compaction():
            return f"### The context was compacted\n\n{render_text(place.summary)}"
        case UnknownPatch():
            return f"### {_line(place.tag)}\n\n{_fenced(msgspec.json.encode(place.raw).decode(), 'json')}"
        case _:
            return ""


def _call(call: ToolCall, transcript: Transcript) -> str:
    status = "ended without a result" if call.ended_without_result else call.status
    parts = [f"### {_line(call.title or call.name or call.id)} ({_line(call.kind)}, {_line(status)})"]
    parts += [f"- `{place.path}{'' if place.line is None else f':{place.line}'}`" for place in call.locations]
    shown = [transcript.terminals.get(item.terminal_id) for item in call.content if isinstance(item, TerminalItem)]
    terminals = [terminal for terminal in shown if terminal is not None]
    command = untold_action(call, call.title or call.name or "", "")[0]
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
