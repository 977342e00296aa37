"""Turns as real agents of v1 take them, frame by frame: what each of them sends for a write, an edit or a command."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

from accord.testing import ScriptedAgent

Turn: TypeAlias = Callable[[ScriptedAgent], Awaitable[bool]]
"""What an agent does in a turn; whether it could do it."""

OPENCODE_OPTIONS = [
    {"optionId": "once", "kind": "allow_once", "name": "Allow once"},
    {"optionId": "always", "kind": "allow_always", "name": "Always allow"},
    {"optionId": "reject", "kind": "reject_once", "name": "Reject"},
]
KIMI_OPTIONS = [
    {"optionId": "approve_once", "name": "Approve once", "kind": "allow_once"},
    {"optionId": "approve_always", "name": "Approve for this session", "kind": "allow_always"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
]
GOOSE_OPTIONS = [
    {"optionId": kind, "name": kind, "kind": kind}
    for kind in ("allow_always", "allow_once", "reject_once", "reject_always")
]


def does(agent: ScriptedAgent, *turns: Turn, text: str = "Over.") -> ScriptedAgent:
    """The agent, which does these at each prompt and then says something."""

    async def answer(asked: Any) -> None:
        for turn in turns:
            await turn(agent)
        if text:
            agent.say(text)
        agent.finish(asked)

    agent.on("session/prompt", answer)
    return agent


def text_item(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


async def permitted(agent: ScriptedAgent, call: dict[str, Any], options: list[dict[str, str]]) -> bool:
    about = {"sessionId": agent.session_id, "toolCall": call, "options": options}
    answered = await agent.ask("session/request_permission", about)
    chosen = (answered.result or {}).get("outcome", {}).get("optionId")
    kinds = {option["optionId"]: option["kind"] for option in options}
    return kinds.get(chosen, "").startswith("allow")


async def write(agent: ScriptedAgent, path: Path, text: str) -> bool:
    about = {"sessionId": agent.session_id, "path": str(path), "content": text}
    return (await agent.ask("fs/write_text_file", about)).error is None


async def run(agent: ScriptedAgent, command: str, **more: Any) -> bool:
    """A command in a terminal of the client's, to its end."""
    about = {"sessionId": agent.session_id}
    made = await agent.ask("terminal/create", {**about, "command": command, **more})
    if made.error is not None:
        return False
    terminal = {**about, "terminalId": made.result["terminalId"]}
    await agent.ask("terminal/wait_for_exit", terminal)
    await agent.ask("terminal/output", terminal)
    await agent.ask("terminal/release", terminal)
    return True


def jsdiff(path: Path, old: str, new: str) -> str:
    """A patch as opencode makes it: every line goes, and comes again."""
    removed, added = old.splitlines(), new.splitlines()
    return "\n".join(
        [
            f"Index: {path}",
            "=" * 67,
            f"--- {path}\t",
            f"+++ {path}\t",
            f"@@ -{min(1, len(removed))},{len(removed)} +1,{len(added)} @@",
            *(f"-{line}" for line in removed),
            *([] if old.endswith("\n") or not old else ["\\ No newline at end of file"]),
            *(f"+{line}" for line in added),
            *([] if new.endswith("\n") or not new else ["\\ No newline at end of file"]),
            "",
        ]
    )


def opencode_write(path: Path, old: str, new: str, *, writes: bool = True, id: str = "call_1") -> Turn:
    """opencode and kilo: the permission shows the diff, the last update has words in its place."""
    patch = jsdiff(path, old, new)

    async def turn(agent: ScriptedAgent) -> bool:
        about = {"filePath": str(path), "content": new}
        agent.update("tool_call", toolCallId=id, title="write", kind="edit", status="pending", rawInput={})
        agent.update(
            "tool_call_update", toolCallId=id, status="in_progress", kind="edit", title="write", rawInput=about
        )
        call = {
            "toolCallId": id,
            "title": str(path),
            "kind": "edit",
            "status": "pending",
            "locations": [{"path": str(path)}],
            "rawInput": {"filepath": str(path), "diff": patch},
            "content": [{"type": "diff", "path": str(path), "oldText": old, "newText": new}],
        }
        if not await permitted(agent, call, OPENCODE_OPTIONS):
            agent.update("tool_call_update", toolCallId=id, status="failed", content=[text_item("rejected")])
            return False
        done = await write(agent, path, new) if writes else True
        agent.update(
            "tool_call_update",
            toolCallId=id,
            status="completed",
            title=path.name,
            content=[text_item("Wrote file successfully.")],
            rawOutput={"output": "Wrote file successfully."},
        )
        return done

    return turn


def kimi_write(path: Path, old: str, new: str, *, writes: bool = True, ends: str = "completed") -> Turn:
    """kimi-code: the arguments are streamed as text, which the permission replaces; they are told again after it.

    A file that is written has no diff; one that is edited has those of the places, until the last update.
    """
    name = "Edit" if old else "Write"
    arguments = (
        {"path": path.name, "old_string": old, "new_string": new} if old else {"path": path.name, "content": new}
    )
    diffs = [{"type": "diff", "path": str(path), "oldText": old, "newText": new}] if old else []
    streamed = json.dumps(arguments)

    async def turn(agent: ScriptedAgent) -> bool:
        id = "0:call_1"
        half = len(streamed) // 2
        agent.update("tool_call", toolCallId=id, title=name, kind="edit", status="pending", content=[text_item("{")])
        for piece in (streamed[:half], streamed):
            agent.update("tool_call_update", toolCallId=id, status="in_progress", content=[text_item(piece)])
        asks = text_item(f"Requesting approval to {name[:-1] if old else 'Writ'}ing {path.name}")
        if not await permitted(agent, {"toolCallId": id, "title": name, "content": [*diffs, asks]}, KIMI_OPTIONS):
            agent.update("tool_call_update", toolCallId=id, status="failed", content=[text_item("rejected")])
            return False
        agent.update(
            "tool_call_update",
            toolCallId=id,
            title=f"{name} {path.name}",
            kind="edit",
            status="in_progress",
            rawInput=arguments,
            locations=[{"path": str(path)}],
            content=[*diffs, text_item(streamed)],
        )
        done = await write(agent, path, new) if writes else True
        words = [text_item(f"Wrote {len(new)} bytes")]
        agent.update("tool_call_update", toolCallId=id, status=ends, content=words, rawOutput="ok")
        return done

    return turn


def kimi_shell(line: str, cwd: Path) -> Turn:
    """kimi-code: the permission has the line; the command goes into the session's directory first, without colours."""
    quiet = {"NO_COLOR": "1", "TERM": "dumb", "GIT_TERMINAL_PROMPT": "0", "SHELL": "/bin/bash"}

    async def turn(agent: ScriptedAgent) -> bool:
        id, streamed = "0:call_1", text_item(json.dumps({"command": line}))
        agent.update(
            "tool_call", toolCallId=id, title="Bash", kind="execute", status="pending", content=[text_item("")]
        )
        agent.update("tool_call_update", toolCallId=id, status="in_progress", content=[streamed])
        asks = text_item(f"Requesting approval to Running: {line}")
        agent.update("tool_call_update", toolCallId=id, rawInput={"command": line})
        if not await permitted(agent, {"toolCallId": id, "title": "Bash", "content": [asks]}, KIMI_OPTIONS):
            agent.update("tool_call_update", toolCallId=id, status="failed", content=[text_item("rejected")])
            return False
        about = {"title": f"Running: {line}", "kind": "execute", "rawInput": {"command": line}, "content": [streamed]}
        agent.update("tool_call_update", toolCallId=id, status="in_progress", **about)
        done = await run(
            agent,
            "/bin/bash",
            args=["-c", f"cd '{cwd}' && {line}"],
            env=[{"name": name, "value": value} for name, value in quiet.items()],
            cwd=str(cwd),
            outputByteLimit=4_194_304,
        )
        agent.update("tool_call_update", toolCallId=id, status="completed" if done else "failed")
        return done

    return turn


def goose_write(path: Path, old: str | None, new: str) -> Turn:
    """goose: the permission has no kind, no place and no diff, only the arguments; the diff comes after the write."""

    async def turn(agent: ScriptedAgent) -> bool:
        agent.update("tool_call", toolCallId="g1", title="developer: write", status="pending")
        call = {
            "toolCallId": "g1",
            "title": "developer: write",
            "kind": "other",
            "status": "pending",
            "rawInput": {"path": path.name, "content": new},
        }
        if not await permitted(agent, call, GOOSE_OPTIONS):
            return False
        agent.update("tool_call_update", toolCallId="g1", kind="edit", locations=[{"path": str(path)}])
        done = await write(agent, path, new)
        if done:
            diff = {"type": "diff", "path": str(path), "newText": new, **({} if old is None else {"oldText": old})}
            agent.update("tool_call_update", toolCallId="g1", content=[diff])
        agent.update("tool_call_update", toolCallId="g1", status="completed" if done else "failed")
        return done

    return turn


def goose_shell(line: str, cwd: Path) -> Turn:
    """goose: the permission has the arguments only; the command comes as a whole line, with the session's directory."""

    async def turn(agent: ScriptedAgent) -> bool:
        agent.update("tool_call", toolCallId="g2", title="developer: shell", status="pending")
        call = {
            "toolCallId": "g2",
            "title": "developer: shell",
            "kind": "other",
            "status": "pending",
            "rawInput": {"command": line},
        }
        if not await permitted(agent, call, GOOSE_OPTIONS):
            return False
        agent.update("tool_call_update", toolCallId="g2", kind="execute")
        done = await run(agent, line, cwd=str(cwd), outputByteLimit=50_000)
        agent.update("tool_call_update", toolCallId="g2", status="completed" if done else "failed")
        return done

    return turn


def wrapped_shell(line: str, *shell: str) -> Turn:
    """grok and fast-agent: the permission has the line, the command runs it in a shell."""

    async def turn(agent: ScriptedAgent) -> bool:
        about = {"command": line, "description": "scripted description"}
        call = {"toolCallId": "w1", "title": "scripted description", "kind": "execute", "rawInput": about}
        agent.update("tool_call", status="pending", **call)
        if not await permitted(agent, {"toolCallId": "w1"}, GOOSE_OPTIONS):
            return False
        done = await run(agent, shell[0], args=[*shell[1:], line])
        agent.update("tool_call_update", toolCallId="w1", status="completed" if done else "failed")
        return done

    return turn


def pi_shell(line: str, *pieces: str, id: str = "t1", code: int = 0) -> Turn:
    """pi-acp: the command is the title, its output is in `_meta` alone; the last piece comes with the end."""

    async def turn(agent: ScriptedAgent) -> bool:
        def output(text: str) -> dict[str, Any]:
            return {"terminal_output": {"terminal_id": id, "data": text}}

        agent.update(
            "tool_call",
            toolCallId=id,
            title=line,
            kind="execute",
            status="in_progress",
            content=[{"type": "terminal", "terminalId": id}],
            _meta={"terminal_info": {"terminal_id": id, "cwd": "/work"}},
        )
        for piece in pieces[:-1]:
            agent.update("tool_call_update", toolCallId=id, status="in_progress", _meta=output(piece))
        ended = {"terminal_exit": {"terminal_id": id, "exit_code": code, "signal": None}}
        status = "completed" if code == 0 else "failed"
        agent.update("tool_call_update", toolCallId=id, status=status, _meta={**output(pieces[-1]), **ended})
        return True

    return turn


def codex_shell(line: str, *pieces: str, id: str = "call-2", key: str = "terminal_output", code: int = 0) -> Turn:
    """codex-acp: output comes in updates with nothing else in them, under one of two keys; the end by itself."""

    async def turn(agent: ScriptedAgent) -> bool:
        agent.update(
            "tool_call",
            toolCallId=id,
            kind="execute",
            title=line,
            status="in_progress",
            content=[{"type": "terminal", "terminalId": id}],
            rawInput={"command": line, "cwd": "/work"},
            _meta={"terminal_info": {"cwd": "/work", "terminal_id": id}},
        )
        for piece in pieces:
            agent.update("tool_call_update", toolCallId=id, _meta={key: {"data": piece, "terminal_id": id}})
        agent.update(
            "tool_call_update",
            toolCallId=id,
            status="completed" if code == 0 else "failed",
            rawOutput={"formatted_output": "".join(pieces), "exit_code": code},
            _meta={"terminal_exit": {"exit_code": code, "signal": None, "terminal_id": id}},
        )
        return True

    return turn


def claude_shell(line: str, output: str, *, id: str = "toolu_3") -> Turn:
    """claude-agent-acp: the call has no command at first and no directory; all of its output comes at once."""

    async def turn(agent: ScriptedAgent) -> bool:
        shown = [{"type": "terminal", "terminalId": id}]
        name = {"claudeCode": {"toolName": "Bash"}}
        about = {"command": line, "description": "scripted description"}
        agent.update(
            "tool_call",
            toolCallId=id,
            title="Terminal",
            kind="execute",
            status="pending",
            content=shown,
            rawInput={},
            _meta={**name, "terminal_info": {"terminal_id": id}},
        )
        agent.update(
            "tool_call_update", toolCallId=id, title=line, kind="execute", content=shown, rawInput=about, _meta=name
        )
        agent.update("tool_call_update", toolCallId=id, _meta={"terminal_output": {"terminal_id": id, "data": output}})
        ended = {"terminal_exit": {"terminal_id": id, "exit_code": 0, "signal": None}}
        agent.update(
            "tool_call_update",
            toolCallId=id,
            status="completed",
            content=shown,
            rawOutput=output,
            _meta={**name, **ended},
        )
        return True

    return turn


DEEPAGENTS_OPTIONS = [
    {"optionId": "approve", "name": "Approve", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
    {"optionId": "approve_always", "name": "Always allow edit_file commands", "kind": "allow_always"},
]


def deepagents_edit(path: Path, old: str, new: str, *, id: str = "call_1") -> Turn:
    """deepagents-code: the permission has another id than the call, and no kind; it writes the file itself."""

    async def turn(agent: ScriptedAgent) -> bool:
        title = f"Edit `{path}`"
        agent.update(
            "tool_call",
            toolCallId=id,
            title=title,
            kind="edit",
            status="pending",
            locations=[{"path": str(path)}],
            content=[{"type": "diff", "path": str(path), "oldText": old, "newText": new}],
            rawInput={"path": str(path)},
        )
        raw = {"file_path": str(path), "old_string": old, "new_string": new}
        request = {"toolCallId": f"interrupt-{id}", "title": title, "rawInput": raw}
        allowed = await permitted(agent, request, DEEPAGENTS_OPTIONS)
        if allowed:
            text = path.read_text()  # noqa: ASYNC240  # a small file
            path.write_text(text.replace(old, new))  # noqa: ASYNC240
        status = "completed" if allowed else "failed"
        agent.update("tool_call_update", toolCallId=id, status=status, content=[text_item("Updated")])
        return allowed

    return turn


def deepagents_shell(line: str, *, id: str = "call_2") -> Turn:
    """deepagents-code: the titles differ, too; the arguments are the same."""

    async def turn(agent: ScriptedAgent) -> bool:
        raw = {"command": line}
        agent.update("tool_call", toolCallId=id, title=line, kind="execute", status="pending", rawInput=raw)
        request = {"toolCallId": f"interrupt-{id}", "title": f"Execute: `{line}`", "rawInput": raw}
        allowed = await permitted(agent, request, DEEPAGENTS_OPTIONS)
        agent.update("tool_call_update", toolCallId=id, status="completed" if allowed else "failed")
        return allowed

    return turn
