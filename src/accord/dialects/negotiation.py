"""Negotiates the protocol version: the client's offer, the agent's answer, and the dialect that follows.

The number alone does not tell: several agents repeat any number they are offered and speak v1. So the shape counts as
well. Version 2 with `info` is v2 as published, without it is the draft; an answer of a number that nobody has, in v1's
shape, is v1. Only the dialect that was agreed on is loaded.

It is written by hand, without the schemas: which of them is needed only the answer tells, and loading one takes longer
than all the rest of the handshake.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.dialects.dialect import Dialect
from accord.errors import InvalidParams, InvalidRequest, Malformed, VersionRefused
from accord.session.capabilities import ClientCapabilities, Implementation
from accord.session.requests import Initialize, InitializeResult

__all__ = [
    "VERSIONS",
    "DialectName",
    "Members",
    "ProtocolVersion",
    "accepted",
    "as_v1",
    "load_dialect",
    "meta_of_v1",
    "negotiate",
    "offer",
    "offer_of_v1",
    "offer_of_v2",
    "shows_terminals",
]

VERSIONS = (1, 2)
"""The versions that accord has."""

ProtocolVersion: TypeAlias = Literal["auto", 1, 2, "2-draft"]
"""What a client offers: all it has, or only one."""

DialectName: TypeAlias = Literal["v1", "v2", "v2 draft"]

_DIALECTS: dict[DialectName, tuple[str, str]] = {
    "v1": ("accord.dialects.v1", "V1"),
    "v2": ("accord.dialects.v2", "V2"),
    "v2 draft": ("accord.dialects.v2_draft", "V2Draft"),
}


class _Peek(msgspec.Struct, rename="camel"):
    """What decides, as it came."""

    protocol_version: Raw | UnsetType = UNSET
    info: Raw | UnsetType = UNSET
    capabilities: Raw | UnsetType = UNSET
    agent_info: Raw | UnsetType = UNSET
    agent_capabilities: Raw | UnsetType = UNSET

    @property
    def has_info(self) -> bool:
        return _is_there(self.info)


def negotiate(
    params: Raw, versions: Sequence[int] = VERSIONS, strict: bool = False, before: Dialect | None = None
) -> tuple[Dialect, Initialize]:
    """For an agent: the dialect to use, and the client's `initialize` request read by it.

    InvalidParams for a malformed offer; VersionRefused for an offer of v2 that is older than all the agent has;
    InvalidRequest for an older version than that of the dialect used before on the same connection.
    """
    try:
        said = _peek.decode(params)
    except _UNREADABLE as error:
        raise InvalidParams("expected an object") from error
    offered = _offered_version(said.protocol_version)
    chosen = _chosen(offered, said.has_info, versions)
    name: DialectName = "v1" if chosen == 1 else "v2" if said.has_info else "v2 draft"
    # What belongs to a newer version than the one chosen is no mistake of the client's.
    dialect = load_dialect(name)(strict=strict and offered <= chosen)
    if chosen == 1 and not dialect.strict and (said.has_info or _is_there(said.capabilities)):
        params = _in_v1_shape(params)
    word: Any = dialect.request_from_wire("initialize", params, "client")
    dialect.client = word.capabilities
    if strict and not dialect.strict:
        notes = dialect.notes
        dialect = load_dialect(name)(strict=True, client=word.capabilities)
        dialect.notes.extend(notes)
    if before is not None and dialect.version < before.version:
        raise InvalidRequest("A connection can't go back to an older version")
    return dialect, word


def offer(
    version: ProtocolVersion = "auto",
    info: Implementation | None = None,
    capabilities: ClientCapabilities | None = None,
) -> Members:
    """For a client: the params of `initialize`.

    By default it offers 2 in the shapes of both versions, so that an agent of either finds what it knows.
    """
    can = capabilities or ClientCapabilities()
    match version:
        case "auto":
            return {"protocolVersion": 2, **offer_of_v2(info, can), **offer_of_v1(info, can)}
        case 2:
            return {"protocolVersion": 2, **offer_of_v2(info, can)}
        case "2-draft":
            return {"protocolVersion": 2, **offer_of_v1(info, can)}
        case 1:
            return {"protocolVersion": 1, **offer_of_v1(info, can)}


def accepted(
    result: Raw,
    offered: ProtocolVersion = "auto",
    capabilities: ClientCapabilities | None = None,
    strict: bool = False,
) -> tuple[Dialect, InitializeResult]:
    """For a client: the dialect that the agent's answer calls for, and what it says in it.

    VersionRefused, which names what was answered and by whom, when it calls for none that was offered; Malformed when
    it is no answer at all.
    """
    try:
        said = _peek.decode(result)
    except _UNREADABLE as error:
        raise Malformed("$", "expected `object`") from error
    if said.protocol_version is UNSET:
        raise Malformed("$.protocolVersion", "required")
    name = _answered(said, offered)
    if name is None:
        raise _refused(said, offered)
    dialect = load_dialect(name)(strict=strict, client=capabilities)
    asked = Initialize(version=dialect.version, info=None, capabilities=dialect.client)
    return dialect, dialect.result_from_wire(asked, result)


_peek = msgspec.json.Decoder(_Peek)
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def load_dialect(name: DialectName) -> type[Dialect]:
    """The dialect of this name, imported when it is first used."""
    module, class_name = _DIALECTS[name]
    return getattr(importlib.import_module(module), class_name)


def _offered_version(version: Raw | UnsetType) -> int:
    """The number, if it is one: neither a text nor a truth value nor a fraction (FN-45, AMB-14)."""
    if version is UNSET:
        raise InvalidParams("required", field="protocolVersion")
    value = _value(version)
    if type(value) is not int or not 0 <= value <= 0xFFFF:
        raise InvalidParams(
            f"expected an integer from 0 to 65535, such as {VERSIONS[-1]}, got {_shown(version)}",
            field="protocolVersion",
        )
    return value


def _chosen(offered: int, with_info: bool, versions: Sequence[int]) -> int:
    """The newest that is not above the offered one; if there is none, an offer in v1's shape gets the newest (INIT-15)."""
    fitting = [version for version in versions if version <= offered]
    if not fitting and with_info:
        raise VersionRefused(offered, sorted(versions))
    return max(fitting or versions)


def _in_v1_shape(params: Raw) -> Raw:
    """An offer in v2's shape as one that v1 can read; if it has v1's members too, they are what counts."""
    try:
        members: Members = msgspec.json.decode(params)
    except _UNREADABLE as error:
        raise InvalidParams("not valid JSON, nested too deeply, or a number too large") from error
    info, capabilities = members.pop("info", None), members.pop("capabilities", None)
    if "clientInfo" not in members and "clientCapabilities" not in members:
        members |= as_v1(info, capabilities)
    return Raw(msgspec.json.encode(members))


def _answered(said: _Peek, offered: ProtocolVersion) -> DialectName | None:
    """The dialect that an answer calls for, if it was offered."""
    assert said.protocol_version is not UNSET
    version = _value(said.protocol_version)
    if type(version) is not int:
        return None
    if version not in VERSIONS and _is_there(said.agent_capabilities) and not said.has_info:
        version = 1  # FN-90
    if version == 1:
        return "v1" if offered in ("auto", 1) else None
    if version == 2 and offered == "2-draft":
        return "v2 draft"
    if version == 2 and said.has_info:
        return "v2" if offered in ("auto", 2) else None
    return "v2 draft" if version == 2 and offered == "auto" else None


def _refused(said: _Peek, offered: ProtocolVersion) -> VersionRefused:
    assert said.protocol_version is not UNSET
    wanted = sorted(VERSIONS) if offered == "auto" else [2 if offered == "2-draft" else offered]
    answered = _value(said.protocol_version)
    error = VersionRefused(answered, wanted)
    shape = ", in the shape of v1" if answered == 2 and not said.has_info else ""
    spoken = " or ".join(map(str, wanted))
    error.message = (
        f"{_agent(said)} answered with protocol version {_shown(said.protocol_version)}{shape}; expected {spoken}"
    )
    return error


def _agent(said: _Peek) -> str:
    for info in (said.info, said.agent_info):
        try:
            return f"The agent {msgspec.json.decode(b'{}' if info is UNSET else info, type=_Named).name[:100]!r}"
        except _UNREADABLE:
            continue
    return "The agent"


class _Named(msgspec.Struct):
    name: str


def _is_there(member: Raw | UnsetType) -> bool:
    return member is not UNSET and bytes(member) != b"null"


def _value(version: Raw) -> Any:
    try:
        return msgspec.json.decode(version)
    except _UNREADABLE:  # a number that fits nowhere, perhaps
        return None


def _shown(version: Raw) -> str:
    text = bytes(version).decode("utf-8", "replace")
    return text if len(text) <= 40 else f"{text[:40]}…"


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
