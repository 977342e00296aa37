"""The open tool call that a permission request is for, where the request has an id of its own: deepagents-code.

Law: a request takes over the kind of a call only if both tell the same action, and only one call does. What reads or edits
by its kind may be allowed without a question, so for those more has to be the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from accord.client.permissions.writes_and_commands import PATHS, TEXTS, members, raw_command
from accord.session.entities import Diff, ToolCall
from accord.session.updates import ToolCallPatch

__all__ = ["open_call_for"]

_READS = ("read", "search", "think")


def open_call_for(told: ToolCallPatch, calls: Iterable[ToolCall], cwd: str) -> ToolCall | None:
    """The call that is meant by a request that names none and no kind; None if there is none, or more than one."""
    if told.kind:
        return None
    likeness = {call.id: (_likeness(told, call, cwd), call) for call in calls if not call.finished}
    most = max((rank for rank, _ in likeness.values()), default=0)
    found = [call for rank, call in likeness.values() if rank == most > 0]
    return found[0] if len(found) == 1 else None


def _likeness(told: ToolCallPatch, call: ToolCall, cwd: str) -> int:
    """How much speaks for it: 0 if nothing does, or something speaks against it."""
    raw, known = members(told.raw_input), members(call.raw_input)
    paths, known_paths = _paths(told, cwd), _paths(call, cwd)
    if (
        _differ(told.raw_input or None, call.raw_input)
        or not _is_same_command(raw, call)
        or not _may_be_same(paths, known_paths)
    ):
        return 0
    is_titled, is_equal = bool(told.title) and told.title == call.title, bool(raw) and raw == known
    writes = any(isinstance(item, Diff) for item in told.content or ()) or any(name in raw for name in TEXTS)
    if call.kind in _READS:
        return 2 if is_titled and raw == known and not writes else 0
    if call.kind == "edit" and raw and not writes and not (is_equal and is_titled):
        return 0
    is_telling = writes or raw_command(raw) is not None
    if is_equal and (is_titled or is_telling):
        return 3
    if is_titled:
        return 2
    return 1 if call.kind == "edit" and writes and paths and paths == known_paths else 0


def _differ(raw: Any, known: Any) -> bool:
    """Whether one says something else than the other; what only one of them says is no difference."""
    if isinstance(raw, dict) and isinstance(known, dict):
        said, also = members(raw), members(known)
        return any(said[name] != also[name] for name in said.keys() & also.keys())
    return raw is not None and known is not None and raw != known


def _is_same_command(raw: dict[str, Any], call: ToolCall) -> bool:
    """Whether the call runs the command that the request tells, if it tells one."""
    command = raw_command(raw)
    if command is None:
        return True
    known = raw_command(call.raw_input)
    return command == (call.title if known is None and call.kind == "execute" else known)


def _paths(call: ToolCall | ToolCallPatch, cwd: str) -> set[str]:
    diffs = [item for item in call.content or () if isinstance(item, Diff)]
    named = [change.path for diff in diffs for change in diff.changes] + [place.path for place in call.locations or ()]
    raw = members(call.raw_input)
    named += [raw[name] for name in PATHS if isinstance(raw.get(name), str)]
    return {os.path.normpath(os.path.join(cwd, path)) for path in named}  # noqa: PTH118  # not what is on this disk


def _may_be_same(paths: set[str], known: set[str]) -> bool:
    return not paths or not known or paths <= known or known <= paths
