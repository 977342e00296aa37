"""Every update of every version, with what has to be seen of it: `said_by` is held against the schema by a test."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import msgspec

from accord.dialects.negotiation import ProtocolVersion
from accord.schema import v1, v2, v2_draft
from accord.schema.wire_values import Known
from accord.testing import ScriptedAgent

MODES = [{"id": "quick", "name": "Quick"}, {"id": "careful", "name": "Careful"}]
SESSION_UPDATES: dict[Any, Any] = {1: v1.SessionUpdate, 2: v2.SessionUpdate, "2-draft": v2_draft.SessionUpdate}
PICTURE = base64.b64encode(b"twelve bytes").decode()


class Told(NamedTuple):
    """An update; what the screen shows of it when everything is unfolded; which event it is; what `accord run` prints."""

    update: dict[str, Any]
    seen: list[str]
    event: str | None = None
    printed: str | None = None


def named_by(expected: Any, member: str = "", known: set[Any] | None = None) -> set[tuple[str, str]]:
    """The values that a wire type names, with their members: tags of variants, words of enums."""
    known = set() if known is None else known
    if get_origin(expected) is Annotated:
        inner, *marks = get_args(expected)
        words = {(member, word) for mark in marks if isinstance(mark, Known) for word in mark.values}
        return words | named_by(inner, member, known)
    if not (isinstance(expected, type) and issubclass(expected, msgspec.Struct)):
        return {each for part in get_args(expected) for each in named_by(part, member, known)}
    if expected in known:
        return set()
    known.add(expected)
    field, tag = expected.__struct_config__.tag_field, expected.__struct_config__.tag
    found = {(field, tag)} if field and isinstance(tag, str) and tag else set[tuple[str, str]]()
    for each in msgspec.structs.fields(expected):
        found |= named_by(each.type, each.encode_name, known)
    return found


def used_in(value: Any, member: str = "") -> Iterator[tuple[str, str]]:
    """The strings in a JSON value, with their members."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from used_in(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from used_in(each, member)
    elif isinstance(value, str):
        yield member, value


def every_teller(version: ProtocolVersion) -> ScriptedAgent:
    """An agent whose sessions have what it will speak of."""
    agent = ScriptedAgent(version)
    if version != 2:
        modes = {"currentModeId": "quick", "availableModes": MODES}
        agent.on("session/new", lambda asked: {"sessionId": "session-1", "modes": modes})
    return agent


def said_by(version: ProtocolVersion) -> list[Told]:
    """In an order in which an agent could say it; a turn is begun and ended by whoever says it."""
    return [
        *_messages(version),
        *_tool_calls(version),
        *_items(version),
        *(_terminals() if version != 1 else ()),
        *_plans(version),
        *_whereabouts(version),
        *_remarks(),
    ]


def unknown_to(version: ProtocolVersion) -> list[Told]:
    """What no version has a word for yet, wherever it may stand."""
    message = {} if version == 1 else {"messageId": "from the future"}
    call = {"sessionUpdate": "tool_call" if version == 1 else "tool_call_update", "toolCallId": "later"}
    unknown = [
        Told({"sessionUpdate": "_weather", "sky": "blue"}, ["_weather", "blue"], "update", "_weather"),
        Told(
            {"sessionUpdate": "agent_message_chunk", **message, "content": {"type": "_hologram", "beam": 3}},
            ["[_hologram]"],
            "content",
            "_hologram",
        ),
        Told(
            {
                **call,
                "title": "Dance",
                "kind": "_dance",
                "status": "_resting",
                "content": [{"type": "_chart", "bars": 7}],
            },
            ["Dance", "_resting", "_chart", '"bars": 7'],
            "tool_call",
            "Dance",
        ),
        Told({"sessionUpdate": "notice", "severity": "_awe", "title": "How odd"}, ["How odd"], "notice", "How odd"),
    ]
    if version != 1:
        drawn = {"type": "_drawing", "planId": "sketch", "lines": 4}
        unknown.append(Told({"sessionUpdate": "plan_update", "plan": drawn}, ["_drawing", "sketch"], "update"))
    return unknown


def _text(text: str, **members: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **members}


def _blocks(version: ProtocolVersion) -> list[tuple[dict[str, Any], str, str]]:
    """Each kind of content, with what the screen and `accord run` make of it."""
    icons = [{"src": "https://x.org/i.png", "theme": "dark"}, {"src": "https://x.org/j.png", "theme": "light"}]
    link = {"type": "resource_link", "name": "plan.txt", "uri": "file:///plan.txt", "title": "The plan"}
    return [
        (_text("Plain words", annotations={"audience": ["user", "assistant"], "priority": 1}), "Plain words", "Plain"),
        ({"type": "image", "data": PICTURE, "mimeType": "image/png"}, "[image/png, 12 B]", "image/png"),
        ({"type": "audio", "data": PICTURE, "mimeType": "audio/wav"}, "[audio/wav, 12 B]", "audio/wav"),
        (link if version == 1 else {**link, "icons": icons}, "[The plan]", "plan.txt"),
        ({"type": "resource", "resource": {"uri": "file:///a.txt", "text": "inside"}}, "[a.txt, 6 B]", "a.txt"),
        ({"type": "resource", "resource": {"uri": "file:///b.bin", "blob": PICTURE}}, "[b.bin, ", "b.bin"),
    ]


def _messages(version: ProtocolVersion) -> Iterator[Told]:
    for number, (block, seen, printed) in enumerate(_blocks(version)):
        named = {} if version == 1 else {"messageId": f"said-{number}"}
        event = "text" if block["type"] == "text" else "content"
        yield Told({"sessionUpdate": "agent_message_chunk", **named, "content": block}, [seen], event, printed)
    named = {} if version == 1 else {"messageId": "thought"}
    hmm = Told(
        {"sessionUpdate": "agent_thought_chunk", **named, "content": _text("Hmm, well")}, ["Hmm, well"], "thought"
    )
    yield hmm._replace(printed="Hmm, well")
    named = {} if version == 1 else {"messageId": "echo"}
    yield Told({"sessionUpdate": "user_message_chunk", **named, "content": _text("As I said")}, ["As I said"])
    if version == 1:
        return
    whole = {"sessionUpdate": "user_message", "messageId": "whole 1", "content": [_text("Told for me")]}
    yield Told(whole, ["Told for me"])
    whole = {"sessionUpdate": "agent_message", "messageId": "whole 2", "content": [_text("Said at once")]}
    yield Told(whole, [], "text", "Said at once")
    yield Told({**whole, "content": [_text("Said anew")]}, ["Said anew"], "message", "Said anew")
    whole = {"sessionUpdate": "agent_thought", "messageId": "whole 3", "content": [_text("Thought of")]}
    yield Told(whole, ["Thought of"], "thought", "Thought of")


def _tool_calls(version: ProtocolVersion) -> Iterator[Told]:
    create = "tool_call" if version == 1 else "tool_call_update"
    for kind in ("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"):
        title = f"Tool of kind {kind}"
        yield Told(
            {"sessionUpdate": create, "toolCallId": kind, "title": title, "kind": kind}, [title], "tool_call", title
        )
    marks = {"pending": "○", "in_progress": "◐", "completed": "✓", "failed": "✗", "paused": "‖", "cancelled": "⊘"}
    for status, mark in marks.items():
        if version == 1 and status in ("paused", "cancelled"):
            continue
        title = f"Call that is {status}"
        update = {"sessionUpdate": create, "toolCallId": status, "title": title, "status": status}
        yield Told(update, [f"{mark} • {title}"], "tool_call", title)
    place = {"path": "/far/away.py", "line": 7}
    change = {"sessionUpdate": "tool_call_update", "toolCallId": "read", "rawInput": {"depth": 9}, "locations": [place]}
    yield Told({**change, "status": "completed"}, ["away.py:7", '"depth": 9'], "tool_call")
    if version == "2-draft":
        yield Told({"sessionUpdate": "tool_call", "toolCallId": "v1", "title": "As in v1"}, ["As in v1"], "tool_call")


def _items(version: ProtocolVersion) -> Iterator[Told]:
    items: list[tuple[dict[str, Any], list[str]]] = [
        ({"type": "content", "content": _text("What came out")}, ["What came out"]),
        (
            {"type": "content", "content": {"type": "image", "data": PICTURE, "mimeType": "image/gif"}},
            ["[image/gif, 12 B]"],
        ),
        ({"type": "terminal", "terminalId": "t"}, [] if version == 1 else ["make all", "all is made", "exit 3"]),
    ]
    if version in (1, "2-draft"):
        old = {"type": "diff", "path": "/w/old.py", "oldText": "one\n", "newText": "two\n"}
        items.append((old, ["old.py", "one", "two"]))
    if version != 1:
        patch = "--- a/w/m.py\n+++ b/w/m.py\n@@ -1 +1 @@\n-three\n+four\n"
        changes = [
            {"operation": "modify", "path": "/w/m.py", "fileType": "text", "mimeType": "text/x-python"},
            {"operation": "add", "path": "/w/added.png", "fileType": "binary"},
            {"operation": "delete", "path": "/w/gone", "fileType": "directory"},
            {"operation": "move", "path": "/w/moved", "oldPath": "/w/before", "fileType": "symlink"},
            {"operation": "copy", "path": "/w/copied.py", "oldPath": "/w/m.py"},
        ]
        seen = ["m.py", "three", "four", "added.png", "gone", "before → ", "moved", "copied.py", "delete", "copy"]
        diff = {"type": "diff", "changes": changes, "patch": {"format": "git_patch", "text": patch}}
        items.append((diff, seen))
    create = "tool_call" if version == 1 else "tool_call_update"
    for number, (item, seen) in enumerate(items):
        call = {"sessionUpdate": create, "toolCallId": f"item-{number}", "title": f"Shows {number}"}
        yield Told({**call, "content": [item]}, seen, "tool_call", f"Shows {number}")
    if version != 1:
        piece = {"type": "content", "content": _text("and one thing more")}
        update = {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "item-0", "content": piece}
        yield Told(update, ["and one thing more"], "tool_call")


def _terminals() -> Iterator[Told]:
    started = {"sessionUpdate": "terminal_update", "terminalId": "t", "command": "make all", "cwd": "/w"}
    yield Told(started, ["make all"], "terminal")
    data = base64.b64encode(b"all is made\n").decode()
    piece = {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": data}
    yield Told(piece, ["all is made"], "terminal_output")
    yield Told(
        {"sessionUpdate": "terminal_update", "terminalId": "t", "exitStatus": {"exitCode": 3}}, ["exit 3"], "terminal"
    )
    output = {"data": base64.b64encode(b"by itself\n").decode()}
    alone = {"sessionUpdate": "terminal_update", "terminalId": "alone", "command": "sleep 1", "output": output}
    yield Told(alone, ["sleep 1", "by itself"], "terminal")


def _plans(version: ProtocolVersion) -> Iterator[Told]:
    statuses = ["completed", "in_progress", "pending", *(["cancelled"] if version != 1 else [])]
    ranks = ["high", "medium", "low", "low"]
    entries = [
        {"content": f"Step {number}", "priority": rank, "status": status}
        for number, (rank, status) in enumerate(zip(ranks, statuses, strict=False))
    ]
    seen = [f"Step {number}" for number in range(len(entries))]
    if version != 2:
        yield Told(
            {"sessionUpdate": "plan", "entries": entries[:3]}, seen[:3], "plan", "plan: 1 of 3 done, now: Step 1"
        )
    if version != 1:
        plan = {"type": "items", "planId": "main", "entries": entries}
        yield Told({"sessionUpdate": "plan_update", "plan": plan}, seen, "plan", "plan: 1 of 4 done, now: Step 1")


def _whereabouts(version: ProtocolVersion) -> Iterator[Told]:
    usage = {"sessionUpdate": "usage_update", "used": 500, "size": 1000, "cost": {"amount": 0.5, "currency": "EUR"}}
    yield Told(usage, ["context 50%", "€0.500"], "usage", "500 of 1,000 tokens, 0.5 EUR")
    yield Told({"sessionUpdate": "session_info_update", "title": "A fine talk"}, ["A fine talk"], "info")
    review: dict[str, Any] = {"name": "review", "description": "Look again", "input": {"hint": "which file"}}
    if version != 1:
        review |= {"type": "command", "input": {"type": "text", "hint": "which file"}}
    update = {"sessionUpdate": "available_commands_update", "availableCommands": [review]}
    yield Told(update, ["/review", "Look again"], "commands")
    if version != 2:
        yield Told({"sessionUpdate": "current_mode_update", "currentModeId": "careful"}, [], "mode")
    key = "configId" if version == 2 else "id"
    values = [{"value": "good", "name": "Good"}, {"value": "quick", "name": "Quick"}]
    options: list[dict[str, Any]] = [
        {key: category, "name": f"Choice of {category}", "category": category, "type": "select"}
        | {"currentValue": "good", "options": values}
        for category in ("mode", "model", "model_config", "thought_level")
    ]
    options.append({key: "web", "name": "Choice of web", "type": "boolean", "currentValue": True})
    seen = [option["name"] for option in options]
    yield Told({"sessionUpdate": "config_option_update", "configOptions": options}, seen, "options")


def _remarks() -> Iterator[Told]:
    for severity in ("info", "warning", "error"):
        title = f"A notice of {severity}"
        update = {
            "sessionUpdate": "notice",
            "severity": severity,
            "title": title,
            "description": f"so much for {severity}",
        }
        yield Told(update, [title, f"so much for {severity}"], "notice", title)
    ends = {
        "in_progress": "compacting the context",
        "completed": "context",
        "failed": "compacting the context failed: no room",
        "cancelled": "context",
    }
    for status, seen in ends.items():
        update = {"sessionUpdate": "compaction_update", "compactionId": status, "status": status}
        failed = {"error": "no room"} if status == "failed" else {}
        yield Told({**update, **failed}, [seen], "compaction", status)
    piece = {"sessionUpdate": "compaction_summary_chunk", "compactionId": "completed", "content": _text("In short")}
    yield Told(piece, ["In short"], "compaction")


def states() -> list[dict[str, Any]]:
    """What v2 says of its work, from the beginning to the end of a turn."""
    background = [{"type": "terminal", "terminalId": "t"}, {"type": "tool_call", "toolCallId": "read"}]
    reasons = ("max_tokens", "max_turn_requests", "refusal", "cancelled", "error", "end_turn")
    return [
        {"sessionUpdate": "state_update", "state": "running"},
        {"sessionUpdate": "state_update", "state": "requires_action"},
        *({"sessionUpdate": "state_update", "state": "idle", "stopReason": reason} for reason in reasons),
        {"sessionUpdate": "state_update", "state": "idle", "background": background},
    ]


def elicitations() -> list[dict[str, Any]]:
    """A form with every kind of field, and a page to be opened."""
    formats = {name: {"type": "string", "title": f"A {name}", "format": name} for name in ("email", "uri", "date")}
    sizes = [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]
    properties = {
        **formats,
        "moment": {"type": "string", "title": "A date-time", "format": "date-time"},
        "count": {"type": "integer", "title": "A whole number"},
        "weight": {"type": "number", "title": "A number"},
        "sure": {"type": "boolean", "title": "A yes or no"},
        "size": {"type": "string", "title": "One of some", "oneOf": sizes},
        "extras": {"type": "array", "title": "Some of many", "items": {"type": "string", "enum": ["ham", "eggs"]}},
    }
    schema = {"type": "object", "properties": properties}
    return [
        {"mode": "form", "message": "Tell me all", "requestedSchema": schema},
        {"mode": "url", "message": "Look there", "elicitationId": "e", "url": "https://example.org/there"},
    ]
