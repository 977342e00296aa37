"""The logins that an `auth_required` names, in whatever version's spelling: agents often send no more than their ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from accord.session.capabilities import AgentLogin, AuthMethod, TerminalLogin
from accord.session.word import Unknown

__all__ = ["logins_named"]


def logins_named(said: Iterable[Any], known: Sequence[AuthMethod]) -> list[AuthMethod]:
    """What the error's `authMethods` say; one that the handshake named too is told in full there."""
    by_id = {method.id: method for method in known if not isinstance(method, Unknown)}
    named: list[AuthMethod] = []
    for each in said:
        method = _login(cast("dict[str, Any]", each)) if isinstance(each, dict) else None
        if method is not None:
            named.append(by_id.get(method.id, method))
    return named


def _login(said: dict[str, Any]) -> AgentLogin | TerminalLogin | None:
    id = said.get("methodId", said.get("id"))
    kind = said.get("type", "agent")
    if not isinstance(id, str) or kind not in ("agent", "terminal"):
        return None
    name, description = said.get("name"), said.get("description")
    told: dict[str, Any] = {
        "id": id,
        "name": name if isinstance(name, str) else id,
        "description": description if isinstance(description, str) else None,
    }
    if kind == "agent":
        return AgentLogin(**told)
    args = said.get("args")
    arguments = [part for part in cast("list[Any]", args) if isinstance(part, str)] if isinstance(args, list) else []
    return TerminalLogin(**told, args=arguments, env=_variables(said.get("env")))


def _variables(said: Any) -> dict[str, str]:
    """A map in v1 and the draft, a list of names and values in v2."""
    pairs: list[tuple[Any, Any]] = []
    if isinstance(said, dict):
        pairs = list(cast("dict[Any, Any]", said).items())
    elif isinstance(said, list):
        listed = [cast("dict[str, Any]", each) for each in cast("list[Any]", said) if isinstance(each, dict)]
        pairs = [(each.get("name"), each.get("value")) for each in listed]
    return {name: value for name, value in pairs if isinstance(name, str) and isinstance(value, str)}
