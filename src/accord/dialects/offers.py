"""What a client says first, before any version is agreed on, and v2's way of saying it put into v1's.

It is written by hand, without the schemas: which of them is needed only the answer tells, and loading one takes longer
than all the rest of the handshake.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from accord.session.capabilities import ClientCapabilities, Implementation

__all__ = ["Members", "as_v1", "meta_of_v1", "offer_of_v1", "offer_of_v2", "shows_terminals"]

Members: TypeAlias = dict[str, Any]

_TERMINALS = "terminal_output"
"""In the `_meta` of v1's capabilities: the client shows terminals that are told in `_meta`, see `terminal_meta`."""


def offer_of_v1(info: Implementation | None, can: ClientCapabilities) -> Members:
    """The members that v1 has for who the client is and what it can do."""
    meta = can.group_meta
    options = _group(
        meta, "session.configOptions", boolean=_marker(can.boolean_options, meta, "session.configOptions.boolean")
    )
    capabilities: Members = {
        "fs": {"readTextFile": can.read_files, "writeTextFile": can.write_files} | _meta(meta.get("fs")),
        "terminal": can.terminals,
        "session": _group(
            meta,
            "session",
            configOptions=options,
            notices=_marker(can.notices, meta, "session.notices"),
            compaction=_marker(can.compaction, meta, "session.compaction"),
        ),
        "auth": _group(meta, "auth", terminal=True if can.terminal_login else None),
        "elicitation": _elicitation(can),
    }
    return _said(clientInfo=_info(info), clientCapabilities=_said(**capabilities) | _meta(meta_of_v1(can)))


def meta_of_v1(can: ClientCapabilities) -> Members | None:
    """The `_meta` of v1's capabilities, which says also what v1 has no member for."""
    return {**(can.meta or {}), _TERMINALS: True} if can.display_terminals else can.meta


def shows_terminals(meta: Any) -> bool:
    """Whether the `_meta` of v1's capabilities says so."""
    return _object(meta).get(_TERMINALS) is True


def offer_of_v2(info: Implementation | None, can: ClientCapabilities) -> Members:
    """The members that v2 has for it; `info` is always there."""
    meta = can.group_meta
    capabilities: Members = {
        "auth": _group(meta, "auth", terminal=_marker(can.terminal_login, meta, "auth.terminal")),
        "elicitation": _elicitation(can),
    }
    return {
        "info": _info(info) or {"name": "unknown", "version": "unknown"},
        "capabilities": _said(**capabilities) | _meta(can.meta),
    }


def as_v1(info: Any, capabilities: Any) -> Members:
    """v2's members, as they came, in v1's words: no files and terminals, but switches can be shown."""
    said = _object(capabilities)
    capabilities_of_v1: Members = {
        "session": {"configOptions": {"boolean": {}}},
        "auth": {"terminal": True} if isinstance(_object(said.get("auth")).get("terminal"), dict) else None,
        "elicitation": said.get("elicitation"),
        "_meta": said.get("_meta"),
    }
    if not isinstance(info, dict):  # of a client of the draft, which has kept v1's
        capabilities_of_v1 |= {"fs": said.get("fs"), "terminal": said.get("terminal")}
    return _said(clientInfo=info, clientCapabilities=_said(**capabilities_of_v1))


def _elicitation(can: ClientCapabilities) -> Members | None:
    meta = can.group_meta
    return _group(
        meta,
        "elicitation",
        form=_marker(can.form_elicitation, meta, "elicitation.form"),
        url=_marker(can.url_elicitation, meta, "elicitation.url"),
    )


def _info(info: Implementation | None) -> Members | None:
    if info is None:
        return None
    return _said(name=info.name, version=info.version, title=info.title) | _meta(info.meta)


def _said(**members: Any) -> Members:
    return {key: value for key, value in members.items() if value is not None}


def _meta(meta: Members | None) -> Members:
    return {} if meta is None else {"_meta": meta}


def _marker(is_on: bool, meta: dict[str, Members], path: str) -> Members | None:
    return _meta(meta.get(path)) if is_on else None


def _group(meta: dict[str, Members], path: str, **markers: Any) -> Members | None:
    """The object that holds the markers, if there is something in it."""
    return (_said(**markers) | _meta(meta.get(path))) or None


def _object(value: Any) -> Members:
    return cast("Members", value) if isinstance(value, dict) else {}
