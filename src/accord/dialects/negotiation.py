"""Negotiates the protocol version: the client's offer, the agent's answer, and the dialect that follows.

The number alone does not tell: several agents repeat any number they are offered and speak v1. So the shape counts as
well. Version 2 with `info` is the published v2, without it is the draft; an unknown number in v1's shape is v1.

Offers are written by hand, without the schemas: only the answer tells which schema is needed, and importing one takes
longer than the rest of the handshake.
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

VERSIONS = (1, 2)
"""The versions that accord has."""

ProtocolVersion: TypeAlias = Literal["auto", 1, 2, "2-draft"]
"""What a client offers: every version, or only one."""

DialectName: TypeAlias = Literal["v1", "v2", "v2 draft"]

Members: TypeAlias = dict[str, Any]

UNKNOWN_PEER = Implementation(name="unknown", version="unknown")
"""For v2, where each side must name itself."""

_DIALECTS: dict[DialectName, tuple[str, str]] = {
    "v1": ("accord.dialects.v1", "V1"),
    "v2": ("accord.dialects.v2", "V2"),
    "v2 draft": ("accord.dialects.v2_draft", "V2Draft"),
}


class _Name(msgspec.Struct):
    name: str


class _Handshake(msgspec.Struct, rename="camel"):
    """The members of an `initialize` request or result that decide the dialect, undecoded."""

    protocol_version: Raw | UnsetType = UNSET
    info: Raw | UnsetType = UNSET
    capabilities: Raw | UnsetType = UNSET
    agent_info: Raw | UnsetType = UNSET
    agent_capabilities: Raw | UnsetType = UNSET

    @property
    def has_info(self) -> bool:
        return _is_set(self.info)


_decoder = msgspec.json.Decoder(_Handshake)
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def negotiate(
    params: Raw, versions: Sequence[int] = VERSIONS, strict: bool = False, before: Dialect | None = None
) -> tuple[Dialect, Initialize]:
    """For an agent: the dialect to use, and the client's `initialize` request read by it.

    InvalidParams for a malformed offer; VersionRefused for an offer of v2 that is older than all the agent has;
    InvalidRequest for an older version than that of the dialect used before on the same connection.
    """
    try:
        handshake = _decoder.decode(params)
    except _UNREADABLE as error:
        raise InvalidParams("expected an object") from error
    offered = _offered_version(handshake.protocol_version)
    chosen = _choose_version(offered, handshake.has_info, versions)
    name: DialectName = "v1" if chosen == 1 else "v2" if handshake.has_info else "v2 draft"
    # Members of a newer version than the chosen one are not an error of the client.
    dialect = load_dialect(name)(strict=strict and offered <= chosen)
    if chosen == 1 and not dialect.strict and (handshake.has_info or _is_set(handshake.capabilities)):
        params = _in_v1_shape(params)
    request: Any = dialect.request_from_wire("initialize", params, "client")
    dialect.client = request.capabilities
    if strict and not dialect.strict:
        notes = dialect.notes
        dialect = load_dialect(name)(strict=True, client=request.capabilities)
        dialect.notes.extend(notes)
    if before is not None and dialect.version < before.version:
        raise InvalidRequest("A connection can't go back to an older version")
    return dialect, request


def offer(
    version: ProtocolVersion = "auto",
    info: Implementation | None = None,
    capabilities: ClientCapabilities | None = None,
) -> Members:
    """For a client: the params of `initialize`.

    By default it offers 2 in the shapes of both versions, so that an agent of either finds the members it knows.
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
    result: Raw, offered: ProtocolVersion = "auto", capabilities: ClientCapabilities | None = None, strict: bool = False
) -> tuple[Dialect, InitializeResult]:
    """For a client: the dialect that the agent's result calls for, and the result read by it.

    VersionRefused, with the agent's name and version, when it calls for none that was offered; Malformed when it can't
    be read.
    """
    try:
        handshake = _decoder.decode(result)
    except _UNREADABLE as error:
        raise Malformed("$", "expected `object`") from error
    if handshake.protocol_version is UNSET:
        raise Malformed("$.protocolVersion", "required")
    name = _dialect_of_result(handshake, offered)
    if name is None:
        raise _refused(handshake, offered)
    dialect = load_dialect(name)(strict=strict, client=capabilities)
    request = Initialize(version=dialect.version, info=None, capabilities=dialect.client)
    return dialect, dialect.result_from_wire(request, result)


def load_dialect(name: DialectName) -> type[Dialect]:
    """The dialect of this name, imported when it is first used."""
    module, class_name = _DIALECTS[name]
    return getattr(importlib.import_module(module), class_name)


def _offered_version(version: Raw | UnsetType) -> int:
    """The version; InvalidParams for a string, a boolean or a fraction (FN-45, AMB-14)."""
    if version is UNSET:
        raise InvalidParams("required", field="protocolVersion")
    value = _decode_version(version)
    if type(value) is not int or not 0 <= value <= 0xFFFF:
        raise InvalidParams(
            f"expected an integer from 0 to 65535, such as {VERSIONS[-1]}, got {_excerpt(version)}",
            field="protocolVersion",
        )
    return value


def _choose_version(offered: int, has_info: bool, versions: Sequence[int]) -> int:
    """The newest that is not above the offered one; if there is none, an offer in v1's shape gets the newest (INIT-15)."""
    candidates = [version for version in versions if version <= offered]
    if not candidates and has_info:
        raise VersionRefused(offered, sorted(versions))
    return max(candidates or versions)


def _in_v1_shape(params: Raw) -> Raw:
    """An offer in v2's shape as v1 can read it; if it has v1's members too, those count."""
    try:
        members: Members = msgspec.json.decode(params)
    except _UNREADABLE as error:
        raise InvalidParams("not valid JSON, nested too deeply, or a number too large") from error
    info, capabilities = members.pop("info", None), members.pop("capabilities", None)
    if "clientInfo" not in members and "clientCapabilities" not in members:
        members |= _v2_to_v1(info, capabilities)
    return Raw(msgspec.json.encode(members))


def _dialect_of_result(handshake: _Handshake, offered: ProtocolVersion) -> DialectName | None:
    """The dialect that a result calls for, if it was offered."""
    assert handshake.protocol_version is not UNSET
    version = _decode_version(handshake.protocol_version)
    if type(version) is not int:
        return None
    if version not in VERSIONS and _is_set(handshake.agent_capabilities) and not handshake.has_info:
        version = 1  # FN-90
    if version == 1:
        return "v1" if offered in ("auto", 1) else None
    if version == 2 and offered == "2-draft":
        return "v2 draft"
    if version == 2 and handshake.has_info:
        return "v2" if offered in ("auto", 2) else None
    return "v2 draft" if version == 2 and offered == "auto" else None


def _refused(handshake: _Handshake, offered: ProtocolVersion) -> VersionRefused:
    assert handshake.protocol_version is not UNSET
    expected = sorted(VERSIONS) if offered == "auto" else [2 if offered == "2-draft" else offered]
    version = _decode_version(handshake.protocol_version)
    error = VersionRefused(version, expected)
    shape = ", in the shape of v1" if version == 2 and not handshake.has_info else ""
    error.message = (
        f"{_agent(handshake)} answered with protocol version {_excerpt(handshake.protocol_version)}{shape}; "
        f"expected {' or '.join(map(str, expected))}"
    )
    return error


def _agent(handshake: _Handshake) -> str:
    for info in (handshake.info, handshake.agent_info):
        try:
            return f"The agent {msgspec.json.decode(b'{}' if info is UNSET else info, type=_Name).name[:100]!r}"
        except _UNREADABLE:
            continue
    return "The agent"


def _is_set(member: Raw | UnsetType) -> bool:
    return member is not UNSET and bytes(member) != b"null"


def _decode_version(version: Raw) -> Any:
    try:
        return msgspec.json.decode(version)
    except _UNREADABLE:  # a number too large, for example
        return None


def _excerpt(version: Raw) -> str:
    text = bytes(version).decode("utf-8", "replace")
    return text if len(text) <= 40 else f"{text[:40]}…"


_TERMINALS = "terminal_output"
"""In the `_meta` of v1's capabilities: the client displays terminals that are sent in `_meta`, see `terminal_meta`."""


def displays_terminals(meta: Any) -> bool:
    """Whether the `_meta` of v1's capabilities says so."""
    return _object(meta).get(_TERMINALS) is True


def offer_of_v1(info: Implementation | None, can: ClientCapabilities) -> Members:
    """The members of v1 that name the client and its capabilities."""
    meta = can.group_meta
    options = _group(
        meta, "session.configOptions", boolean=_marker(can.boolean_options, meta, "session.configOptions.boolean")
    )
    own_meta = {**(can.meta or {}), _TERMINALS: True} if can.display_terminals else can.meta
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
    return _without_none(clientInfo=_info(info), clientCapabilities=_without_none(**capabilities) | _meta(own_meta))


def offer_of_v2(info: Implementation | None, can: ClientCapabilities) -> Members:
    """The members of v2 that name the client and its capabilities."""
    meta = can.group_meta
    capabilities: Members = {
        "auth": _group(meta, "auth", terminal=_marker(can.terminal_login, meta, "auth.terminal")),
        "elicitation": _elicitation(can),
    }
    return {"info": _info(info or UNKNOWN_PEER), "capabilities": _without_none(**capabilities) | _meta(can.meta)}


def _v2_to_v1(info: Any, capabilities: Any) -> Members:
    """The members of an offer of v2 as those of v1: no files and terminals, but boolean options."""
    members = _object(capabilities)
    capabilities_of_v1: Members = {
        "session": {"configOptions": {"boolean": {}}},
        "auth": {"terminal": True} if isinstance(_object(members.get("auth")).get("terminal"), dict) else None,
        "elicitation": members.get("elicitation"),
        "_meta": members.get("_meta"),
    }
    if not isinstance(info, dict):  # of a client of the draft, which has these members of v1
        capabilities_of_v1 |= {"fs": members.get("fs"), "terminal": members.get("terminal")}
    return _without_none(clientInfo=info, clientCapabilities=_without_none(**capabilities_of_v1))


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
    return _without_none(name=info.name, version=info.version, title=info.title) | _meta(info.meta)


def _without_none(**members: Any) -> Members:
    return {name: value for name, value in members.items() if value is not None}


def _meta(meta: Members | None) -> Members:
    return {} if meta is None else {"_meta": meta}


def _marker(is_on: bool, meta: dict[str, Members], path: str) -> Members | None:
    return _meta(meta.get(path)) if is_on else None


def _group(meta: dict[str, Members], path: str, **markers: Any) -> Members | None:
    """The object that holds the markers, unless it would be empty."""
    return (_without_none(**markers) | _meta(meta.get(path))) or None


def _object(value: Any) -> Members:
    return cast("Members", value) if isinstance(value, dict) else {}
