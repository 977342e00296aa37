"""The values that the protocol lists for kinds, statuses, reasons and the like.

Each list is open: a value of one's own begins with an underscore (COMPAT-02, -04, -05, -07). What a version does not list
is a loss, which its dialect notes. The types are for whoever writes these values: an editor completes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

_ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]
_ToolStatus = Literal["pending", "in_progress", "paused", "completed", "failed", "cancelled"]
_StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
_PermissionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]
_PlanStatus = Literal["pending", "in_progress", "completed", "cancelled"]
_PlanPriority = Literal["high", "medium", "low"]
_NoticeSeverity = Literal["info", "warning", "error"]
_CompactionStatus = Literal["in_progress", "completed", "failed", "cancelled"]
_OptionCategory = Literal["mode", "model", "model_config", "thought_level"]

if TYPE_CHECKING:
    # A checker keeps both sides of such a union, and an editor completes the first.
    ToolKind: TypeAlias = _ToolKind | str
    ToolStatus: TypeAlias = _ToolStatus | str
    StopReason: TypeAlias = _StopReason | str
    PermissionKind: TypeAlias = _PermissionKind | str
    PlanStatus: TypeAlias = _PlanStatus | str
    PlanPriority: TypeAlias = _PlanPriority | str
    NoticeSeverity: TypeAlias = _NoticeSeverity | str
    CompactionStatus: TypeAlias = _CompactionStatus | str
    OptionCategory: TypeAlias = _OptionCategory | str
else:  # msgspec reads the annotations of the words, and takes no union of a literal and a string
    ToolKind = ToolStatus = StopReason = PermissionKind = PlanStatus = PlanPriority = str
    NoticeSeverity = CompactionStatus = OptionCategory = str


class OpenEnum:
    """What the protocol lists for one field; iterated, just that. `what` names one of the values in error messages."""

    def __init__(self, what: str, listed: Iterable[str]) -> None:
        self.what = what
        self._listed = dict.fromkeys(listed)

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __contains__(self, value: object) -> bool:
        """Whether it is listed, or one of the author's own."""
        return isinstance(value, str) and (value in self._listed or (value[:1] == "_" and len(value) > 1))

    def check(self, value: str) -> None:
        """ValueError that names the values there are, for any other."""
        if value not in self:
            listed = ", ".join(self._listed)
            raise ValueError(
                f"unknown {self.what} {value!r}: expected {listed}, or your own, beginning with an underscore"
            )


TOOL_KINDS = OpenEnum("tool kind", get_args(_ToolKind))
TOOL_STATUSES = OpenEnum("tool call status", get_args(_ToolStatus))
STOP_REASONS = OpenEnum("stop reason", get_args(_StopReason))
PERMISSION_KINDS = OpenEnum("kind of permission option", get_args(_PermissionKind))
PLAN_STATUSES = OpenEnum("status of a plan entry", get_args(_PlanStatus))
PLAN_PRIORITIES = OpenEnum("priority of a plan entry", get_args(_PlanPriority))
NOTICE_SEVERITIES = OpenEnum("severity of a notice", get_args(_NoticeSeverity))
COMPACTION_STATUSES = OpenEnum("status of a compaction", get_args(_CompactionStatus))
OPTION_CATEGORIES = OpenEnum("category of an option", get_args(_OptionCategory))
FILE_OPERATIONS = OpenEnum("operation on a file", ("add", "delete", "modify", "move", "copy"))
STATES = OpenEnum("state of a session", ("running", "idle", "requires_action"))
AUDIENCES = OpenEnum("audience of an annotation", ("user", "assistant"))
FINAL_STATUSES = ("completed", "failed", "cancelled")
"""The statuses that end a tool call. Nobody knows one of an author's own to be final, so there are no others."""
