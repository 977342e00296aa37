"""The logins that an `auth_required` names, in whatever version's spelling: agents often send no more than their ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from accord.session.capabilities import AgentLogin, AuthMethod, LoginVariable, TerminalLogin, VariableLogin
from accord.session.pairs import Pairs
from accord.session.word import Unknown

__all__ = ["login_said", "logins_named", "other_login", "variable_login", "variables_to_wire"]


def logins_named(said: Iterable[Any], known: Sequence[AuthMethod]) -> list[AuthMethod]:
    """What the error's `authMethods` say; one that the handshake named too is told in full there."""
    by_id = {method.id: method for method in known if not isinstance(method, Unknown)}
    named: list[AuthMethod] = []
    for each in said:
        method = login_said(cast("dict[str, Any]", each)) if isinstance(each, dict) else None
        if method is not None:
            named.append(by_id.get(method.id, method))
    return named


def login_said(said: dict[str, Any]) -> AgentLogin | TerminalLogin | VariableLogin | None:
    """One login, in whatever version's spelling; None when it has no id, or is of an unknown type."""
    id = said.get("methodId", said.get("id"))
    kind = said.get("type", "agent")
    if not isinstance(id, str) or kind not in ("agent", "terminal", "env_var"):
        return None
    name, description = said.get("name"), said.get("description")
    told: dict[str, Any] = {
        "id": id,
        "name": name if isinstance(name, str) else id,
        "description": description if isinstance(description, str) else None,
    }
    if kind == "agent":
        return AgentLogin(**told)
    if kind == "env_var":
        link, meta = said.get("link"), said.get("_meta")
        told["link"] = link if isinstance(link, str) else None
        told["meta"] = cast("dict[str, Any]", meta) if isinstance(meta, dict) else None
        return variable_login(said.get("vars"), **told)
    args = said.get("args")
    arguments = [part for part in cast("list[Any]", args) if isinstance(part, str)] if isinstance(args, list) else []
    return TerminalLogin(**told, args=arguments, env=_variables(said.get("env")))


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


def variable_login(said: Any, **told: Any) -> VariableLogin:
    """A login by variables; what is not understood in their list is left out."""
    listed = cast("list[Any]", said) if isinstance(said, list) else []
    read = [_variable(cast("dict[str, Any]", entry)) for entry in listed if isinstance(entry, dict)]
    return VariableLogin(variables=[variable for variable in read if variable is not None], **told)


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
    told: list[dict[str, Any]] = []
    for variable in login.variables:
        optional = {"label": variable.label, "_meta": variable.meta, "optional": variable.optional or None}
        given = {key: value for key, value in optional.items() if value is not None}
        told.append({"name": variable.name, **given} | ({} if variable.secret else {"secret": False}))
    return told
