"""Converts peer information, capabilities and auth methods, as far as the versions have them alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from accord.dialects.dialect import Dialect
from accord.dialects.struct_converter import StructConverter
from accord.schema import handshake as wire
from accord.schema.wire_values import UNSET, Wire
from accord.session.capabilities import (
    AgentCapabilities,
    AgentLogin,
    AuthMethod,
    Implementation,
    LoginVariable,
    TerminalLogin,
    VariableLogin,
)
from accord.session.mcp_servers import Pairs
from accord.session.value import Unknown

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
"""Members that are in no published version, by the path of their object: kept and sent unchanged."""

_V2_NAMES = {"sessionCapabilities": "session", "promptCapabilities": "session.prompt", "mcpCapabilities": "session.mcp"}

_INFO = StructConverter(Implementation, wire.Implementation)


def info_to_wire(info: Implementation | None) -> Any:
    return UNSET if info is None else _INFO.to_wire(info)


def info_from_wire(info: Any) -> Implementation | None:
    return _INFO.from_wire(info) if is_set(info) else None


def is_set(member: Any) -> bool:
    """Whether a member is on the wire and not null; that is how capabilities are offered in v2."""
    return member is not UNSET and member is not None


def marker(wire_type: Callable[..., Any], is_on: bool, meta: Mapping[str, dict[str, Any]], path: str) -> Any:
    """The object whose presence offers a capability."""
    return wire_type(meta=meta.get(path, UNSET)) if is_on else UNSET


def markers(can: AgentCapabilities, group: str, **wire_types: Callable[..., Any]) -> dict[str, Any]:
    """The markers of a group that have the names of the capabilities."""
    return {
        name: marker(wire_type, getattr(can, name), can.group_meta, f"{group}.{_camel(name)}")
        for name, wire_type in wire_types.items()
    }


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def group_meta(capabilities: Wire, above: str = "") -> dict[str, dict[str, Any]]:
    """The `_meta` of the objects inside a capability object, by their dotted path in v2."""
    found: dict[str, dict[str, Any]] = {}
    for field, key in zip(capabilities.__struct_fields__, capabilities.__struct_encode_fields__, strict=True):
        inner: Any = getattr(capabilities, field)
        path = above + _V2_NAMES.get(key, key)
        meta: Any = None
        if isinstance(inner, Wire):
            meta = inner.meta
            found |= group_meta(inner, f"{path}.")
        elif field != "meta" and isinstance(inner, dict):
            meta = cast("dict[str, Any]", inner).get("_meta")
        if isinstance(meta, dict):
            found[path] = cast("dict[str, Any]", meta)
    return found


def can_offer_terminal_login(dialect: Dialect, method: TerminalLogin) -> bool:
    """Whether the client supports a login in a terminal; if not, the loss is recorded."""
    if not dialect.client.terminal_login:
        dialect.record_loss("terminal-login", method.id)
    return dialect.client.terminal_login


def unstable_members(can: AgentCapabilities, path: str) -> dict[str, Any]:
    """The members of the object at this path that are in no published version."""
    return {member: can.unstable[place] for member, place in _UNSTABLE[path].items() if place in can.unstable}


def read_unstable(groups: Mapping[str, Any]) -> dict[str, Any]:
    """The members of these objects, by path, that are in no published version; `null` and `false` count as missing."""
    found: dict[str, Any] = {}
    for path, members in _UNSTABLE.items():
        for member, place in members.items():
            value = getattr(groups.get(path), member, None)
            if is_set(value) and value is not False:
                found[place] = {} if value is True else value
    return found


def read_auth_methods(raw: Iterable[Any], methods: Sequence[AuthMethod]) -> list[AuthMethod]:
    """The methods of an error's `authMethods`; `methods` are those of the handshake, which are complete."""
    by_id = {method.id: method for method in methods if not isinstance(method, Unknown)}
    read = [read_auth_method(cast("dict[str, Any]", method)) for method in raw if isinstance(method, dict)]
    return [by_id.get(method.id, method) for method in read if method is not None]


def read_auth_method(raw: dict[str, Any]) -> AgentLogin | TerminalLogin | VariableLogin | None:
    """An auth method as any version spells it; None when it has no id, or is of an unknown type."""
    id, kind = raw.get("methodId", raw.get("id")), raw.get("type", "agent")
    if not isinstance(id, str) or kind not in ("agent", "terminal", "env_var"):
        return None
    members: dict[str, Any] = {"id": id, "name": _text(raw, "name") or id, "description": _text(raw, "description")}
    if kind == "agent":
        return AgentLogin(**members)
    if kind == "env_var":
        return VariableLogin(
            **members, link=_text(raw, "link"), meta=_object(raw, "_meta"), variables=read_variables(raw.get("vars"))
        )
    args = raw.get("args")
    arguments = [part for part in cast("list[Any]", args) if isinstance(part, str)] if isinstance(args, list) else []
    return TerminalLogin(**members, args=arguments, env=_environment(raw.get("env")))


def other_login(raw: dict[str, Any]) -> AgentLogin:
    """A login of an unknown type that has an id and a name: the agent performs it."""
    return AgentLogin(
        id=raw["methodId"] if isinstance(raw.get("methodId"), str) else raw["id"],
        name=raw["name"],
        description=_text(raw, "description"),
        meta=_object(raw, "_meta"),
        raw=raw,
    )


def _text(raw: dict[str, Any], name: str) -> Any:
    return value if isinstance(value := raw.get(name), str) else None


def _object(raw: dict[str, Any], name: str) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value := raw.get(name), dict) else None


def _objects(raw: Any) -> list[dict[str, Any]]:
    return [entry for entry in cast("list[Any]", raw) if isinstance(entry, dict)] if isinstance(raw, list) else []


def _environment(raw: Any) -> Mapping[str, str]:
    """A map in v1 and the draft, a list of names and values in v2."""
    if isinstance(raw, dict):
        pairs = list(cast("dict[Any, Any]", raw).items())
    else:
        pairs = [(entry.get("name"), entry.get("value")) for entry in _objects(raw)]
    valid = [(name, value) for name, value in pairs if isinstance(name, str) and isinstance(value, str)]
    by_name = dict(valid)
    return by_name if len(by_name) == len(valid) else Pairs(valid)


def read_variables(raw: Any) -> list[LoginVariable]:
    """The variables of a login; malformed entries are left out."""
    return [
        LoginVariable(
            name=entry["name"],
            label=_text(entry, "label"),
            secret=entry.get("secret") is not False,
            optional=entry.get("optional") is True,
            meta=_object(entry, "_meta"),
        )
        for entry in _objects(raw)
        if isinstance(entry.get("name"), str)
    ]


def variables_to_wire(login: VariableLogin) -> list[dict[str, Any]]:
    """The variables, the same in every version that has them."""
    variables: list[dict[str, Any]] = []
    for variable in login.variables:
        optional = {"label": variable.label, "_meta": variable.meta, "optional": variable.optional or None}
        members = {name: value for name, value in optional.items() if value is not None}
        variables.append({"name": variable.name, **members} | ({} if variable.secret else {"secret": False}))
    return variables
