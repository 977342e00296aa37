"""Start the example agent as a child process, talk with it, and show everything: frames, changes, and the transcript.

python examples/conversation.py [--version 1|2|2-draft]
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from client import AGENT, ExampleClient, allow

from accord import MessageChanged, MessageChunk, PlanChanged, StateChanged, ToolCallChanged, Transcript
from accord.dialects.negotiation import Offered
from accord.peer.loop import run
from accord.session import Change, Diff, Message, Plan, ToolCall
from accord.session.diffs import git_patch
from accord.session.requests import RequestPermission

PROMPTS = ("Buy milk", "Call the plumber 🔧")
VERSIONS: dict[str, Offered] = {"auto": "auto", "1": 1, "2": 2, "2-draft": "2-draft"}
MARKS = {"completed": "✓", "failed": "✗", "in_progress": "…", "pending": "·", "cancelled": "✗"}
COLOURS = {"client": "36", "agent": "35", "frame": "2", "title": "1", "+": "32", "-": "31"}
COLOURFUL = sys.stdout.isatty() and "NO_COLOR" not in os.environ
WIDTH = min(shutil.get_terminal_size((100, 24)).columns, 160)


def show(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:  # whoever reads, perhaps `head`, has seen enough
        sys.stdout = io.StringIO()


def coloured(text: str, what: str) -> str:
    return f"\x1b[{COLOURS[what]}m{text}\x1b[0m" if COLOURFUL and what in COLOURS else text


def line(who: str, text: str) -> None:
    show(f"{coloured(f'{who:>8}', who)} {text}")


def show_frame(direction: str, frame: bytes) -> None:
    """One line for each frame: which way it went, what it is, and as much of it as there is room for."""
    message: dict[str, Any] = json.loads(frame)
    name = message.get("method") or ("error" if "error" in message else "result")
    payload = message.get("params") or message.get("result") or message.get("error")
    if name == "session/update":
        payload = dict(message["params"]["update"])
        name += f" {payload.pop('sessionUpdate')}"
    id = f" #{message['id']}" if "id" in message else ""
    arrow = "client → agent" if direction == "sent" else "client ← agent"
    text = f"  {arrow}  {name}{id}  {json.dumps(payload, ensure_ascii=False)}"
    show(coloured(text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…", "frame"))


def show_change(change: Change) -> None:
    match change:
        case MessageChunk(role=role, text=text):
            line("agent" if role == "agent" else "client", f"says {text!r}")
        case MessageChanged(message=message):
            line("agent" if message.role == "agent" else "client", f"says {message.text!r}")
        case ToolCallChanged(call=call):
            line("agent", f"{MARKS.get(call.status, '?')} {call.title} ({call.status})")
        case PlanChanged(plan=plan):
            line(
                "agent", "plans " + ", ".join(f"{MARKS.get(step.status, '?')} {step.content}" for step in plan.entries)
            )
        case StateChanged(state=state):
            line("agent", f"is {state.state}")
        case _:
            pass


def choose(asked: RequestPermission) -> str | None:
    options = " / ".join(option.name for option in asked.options)
    line("agent", f"asks: {asked.title}? ({options})")
    chosen = allow(asked)
    line("client", f"answers {chosen!r}")
    return chosen


def show_transcript(transcript: Transcript) -> None:
    for place in transcript.timeline:
        match place:
            case Message(role=role, text=text):
                line("client" if role == "user" else role, text)
            case Plan(entries=entries):
                for step in entries:
                    line("plan", f"{MARKS.get(step.status, '?')} {step.content}")
            case ToolCall():
                line(place.kind, f"{MARKS.get(place.status, '?')} {place.title}")
                for item in place.content:
                    if isinstance(item, Diff):
                        show_diff(item)
            case _:
                pass


def show_diff(diff: Diff) -> None:
    text = (
        diff.patch.text if diff.patch else "".join(git_patch(it.path, it.old_text, it.new_text) for it in diff.changes)
    )
    for row in text.splitlines()[1:]:
        line("", coloured(row, row[:1]))


async def converse(version: Offered) -> None:
    client = ExampleClient(AGENT, show_change, choose, version, on_frame=show_frame)
    async with client.peer:
        show(coloured("\nHandshake\n", "title"))
        await client.initialize()
        session_id = await client.new_session(str(Path.cwd()))
        for text in PROMPTS:
            show(coloured(f"\n{text}\n", "title"))
            reason = await client.prompt(session_id, text)
            line("turn", f"over: {reason}")
    show(coloured(f"\nThe transcript, in words that outlive {client.dialect.name}\n", "title"))
    show_transcript(client.transcripts[session_id])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A small conversation with the example agent, shown in full.")
    parser.add_argument("--version", choices=VERSIONS, default="auto", help="the protocol version to offer")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without arrows is no reason to fail
    run(converse(VERSIONS[parser.parse_args().version]))
