"""Who speaks, and capabilities as objects that are there or not, each of which may carry `_meta` (EXT-12)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from accord.dialects.absent import known, told
from accord.dialects.dialect import Dialect
from accord.schema.values import UNSET, Wire
from accord.session.capabilities import AgentCapabilities, ClientCapabilities, Implementation, TerminalLogin

__all__ = [
    "can_open_terminal",
    "elicitation_to_wire",
    "group",
    "group_meta",
    "info_from_wire",
    "info_to_wire",
    "marker",
    "unstable",
    "unstable_of",
]

_UNSTABLE = {
    "": {"providers": "providers"},
    "session": {
        "status": "session.status",
        "title": "session.title",
        "archive": "session.archive",
        "system_prompt": "session.systemPrompt",
        "subagents": "session.subagents",
    },
    "session.mcp": {"acp": "session.mcp.acp"},
    "auth": {"status": "auth.status"},
}
"""Members that are in no published version, by the object they are in: kept as they come, and told as they came."""

_OLDER_NAMES = {
    "sessionCapabilities": "session",
    "promptCapabilities": "session.prompt",
    "mcpCapabilities": "session.mcp",
}


def info_to_wire(schema: Any, info: Implementation | None) -> Any:
    """Who speaks, if that is known."""
    if info is None:
        return UNSET
    return schema.Implementation(name=info.name, version=info.version, title=told(info.title), meta=told(info.meta))


def info_from_wire(info: Any) -> Implementation | None:
    """Who speaks, if it was said."""
    said = known(info)
    if said is None:
        return None
    return Implementation(name=said.name, version=said.version, title=known(said.title), meta=known(said.meta))


def marker(kind: Callable[..., Any], is_on: bool, meta: Mapping[str, dict[str, Any]], path: str) -> Any:
    """The object that says by being there that something is supported."""
    return kind(meta=meta.get(path, UNSET)) if is_on else UNSET


def group(kind: Callable[..., Any], meta: Mapping[str, dict[str, Any]], path: str, **markers: Any) -> Any:
    """The object that holds the markers, if there is something in it."""
    if path not in meta and all(each is UNSET for each in markers.values()):
        return UNSET
    return kind(meta=meta.get(path, UNSET), **markers)


def elicitation_to_wire(schema: Any, can: ClientCapabilities) -> Any:
    """How the client can ask the user, if it can."""
    meta = can.group_meta
    return group(
        schema.ElicitationCapabilities,
        meta,
        "elicitation",
        form=marker(schema.ElicitationFormCapabilities, can.form_elicitation, meta, "elicitation.form"),
        url=marker(schema.ElicitationUrlCapabilities, can.url_elicitation, meta, "elicitation.url"),
    )


def group_meta(capabilities: Wire, above: str = "") -> dict[str, dict[str, Any]]:
    """The `_meta` of the objects inside a capability object, by their dotted path in v2."""
    found: dict[str, dict[str, Any]] = {}
    for field, key in zip(capabilities.__struct_fields__, capabilities.__struct_encode_fields__, strict=True):
        inner: Any = getattr(capabilities, field)
        path = above + _OLDER_NAMES.get(key, key)
        meta: Any = None
        if isinstance(inner, Wire):
            meta = inner.meta
            found |= group_meta(inner, f"{path}.")
        elif field != "meta" and isinstance(inner, dict):
            meta = cast("dict[str, Any]", inner).get("_meta")
        if isinstance(meta, dict):
            found[path] = cast("dict[str, Any]", meta)
    return found


def can_open_terminal(dialect: Dialect, method: TerminalLogin) -> bool:
    """Whether the client can do its part of a login in a terminal; if not, the loss is noted."""
    if not dialect.client.terminal_login:
        dialect.lose("terminal-login", method.id)
    return dialect.client.terminal_login


def unstable(can: AgentCapabilities, path: str) -> dict[str, Any]:
    """The members of the object at this path that are in no published version."""
    return {member: can.unstable[place] for member, place in _UNSTABLE[path].items() if place in can.unstable}


def unstable_of(groups: Mapping[str, Any]) -> dict[str, Any]:
    """What objects, by their path, say that is in no published version; `null` and `false` say nothing."""
    found: dict[str, Any] = {}
    for path, members in _UNSTABLE.items():
        for member, place in members.items():
            said = known(getattr(groups.get(path), member, None))
            if said is not None and said is not False:
                found[place] = {} if said is True else said
    return found
