"""Maps peer information, capabilities and logins, which all versions spell alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from accord.dialects.dialect import Dialect
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.schema.wire_values import UNSET, Wire
from accord.session.capabilities import (
    AgentCapabilities,
    AgentLogin,
    AuthMethod,
    ClientCapabilities,
    Implementation,
    LoginVariable,
    TerminalLogin,
    VariableLogin,
)
from accord.session.mcp_servers import Pairs
from accord.session.value import Unknown

__all__ = [
    "can_open_terminal",
    "elicitation_to_wire",
    "group",
    "group_meta",
    "info_from_wire",
    "info_to_wire",
    "marker",
    "other_login",
    "read_auth_method",
    "read_auth_methods",
    "unstable",
    "unstable_of",
    "variable_login",
    "variables_to_wire",
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
    return schema.Implementation(
        name=info.name, version=info.version, title=unset_if_none(info.title), meta=unset_if_none(info.meta)
    )


def info_from_wire(info: Any) -> Implementation | None:
    """Who speaks, if it was said."""
    said = none_if_unset(info)
    if said is None:
        return None
    return Implementation(
        name=said.name, version=said.version, title=none_if_unset(said.title), meta=none_if_unset(said.meta)
    )


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
            said = none_if_unset(getattr(groups.get(path), member, None))
            if said is not None and said is not False:
                found[place] = {} if said is True else said
    return found


def read_auth_methods(said: Iterable[Any], methods: Sequence[AuthMethod]) -> list[AuthMethod]:
    """What the error's `authMethods` say; one that the handshake named too is told in full there."""
    by_id = {method.id: method for method in methods if not isinstance(method, Unknown)}
    named: list[AuthMethod] = []
    for each in said:
        method = read_auth_method(cast("dict[str, Any]", each)) if isinstance(each, dict) else None
        if method is not None:
            named.append(by_id.get(method.id, method))
    return named


def read_auth_method(said: dict[str, Any]) -> AgentLogin | TerminalLogin | VariableLogin | None:
    """One login, in whatever version's spelling; None when it has no id, or is of an unknown type."""
    id = said.get("methodId", said.get("id"))
    kind = said.get("type", "agent")
    if not isinstance(id, str) or kind not in ("agent", "terminal", "env_var"):
        return None
    name, description = said.get("name"), said.get("description")
    members: dict[str, Any] = {
        "id": id,
        "name": name if isinstance(name, str) else id,
        "description": description if isinstance(description, str) else None,
    }
    if kind == "agent":
        return AgentLogin(**members)
    if kind == "env_var":
        link, meta = said.get("link"), said.get("_meta")
        members["link"] = link if isinstance(link, str) else None
        members["meta"] = cast("dict[str, Any]", meta) if isinstance(meta, dict) else None
        return variable_login(said.get("vars"), **members)
    args = said.get("args")
    arguments = [part for part in cast("list[Any]", args) if isinstance(part, str)] if isinstance(args, list) else []
    return TerminalLogin(**members, args=arguments, env=_variables(said.get("env")))


def other_login(raw: dict[str, Any]) -> AgentLogin:
    """A login of a type that is not known, but that has an id and a name: the agent's."""
    description, meta = raw.get("description"), raw.get("_meta")
    return AgentLogin(
        id=raw["methodId"] if isinstance(raw.get("methodId"), str) else raw["id"],
        name=raw["name"],
        description=description if isinstance(description, str) else None,
        meta=cast("dict[str, Any]", meta) if isinstance(meta, dict) else None,
        raw=raw,
    )


def _variables(said: Any) -> Mapping[str, str]:
    """A map in v1 and the draft, a list of names and values in v2."""
    pairs: list[tuple[Any, Any]] = []
    if isinstance(said, dict):
        pairs = list(cast("dict[Any, Any]", said).items())
    elif isinstance(said, list):
        listed = [cast("dict[str, Any]", each) for each in cast("list[Any]", said) if isinstance(each, dict)]
        pairs = [(each.get("name"), each.get("value")) for each in listed]
    read = [(name, value) for name, value in pairs if isinstance(name, str) and isinstance(value, str)]
    by_name = dict(read)
    return by_name if len(by_name) == len(read) else Pairs(read)


def variable_login(said: Any, **members: Any) -> VariableLogin:
    """A login by variables; what is not understood in their list is left out."""
    listed = cast("list[Any]", said) if isinstance(said, list) else []
    read = [_variable(cast("dict[str, Any]", entry)) for entry in listed if isinstance(entry, dict)]
    return VariableLogin(variables=[variable for variable in read if variable is not None], **members)


def _variable(said: dict[str, Any]) -> LoginVariable | None:
    name, label, meta = said.get("name"), said.get("label"), said.get("_meta")
    if not isinstance(name, str):
        return None
    return LoginVariable(
        name=name,
        label=label if isinstance(label, str) else None,
        secret=said.get("secret") is not False,
        optional=said.get("optional") is True,
        meta=cast("dict[str, Any]", meta) if isinstance(meta, dict) else None,
    )


def variables_to_wire(login: VariableLogin) -> list[dict[str, Any]]:
    """The variables, spelled alike in every version that has them."""
    variables: list[dict[str, Any]] = []
    for variable in login.variables:
        optional = {"label": variable.label, "_meta": variable.meta, "optional": variable.optional or None}
        given = {key: value for key, value in optional.items() if value is not None}
        variables.append({"name": variable.name, **given} | ({} if variable.secret else {"secret": False}))
    return variables
