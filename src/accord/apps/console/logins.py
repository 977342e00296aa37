"""Which way to log in: named on the command line, or chosen at the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from accord.apps.console.person import Person
from accord.apps.console.sanitising import one_line
from accord.client.login import ChooseLogin
from accord.session.capabilities import AuthMethod, TerminalLogin, VariableLogin
from accord.session.word import Unknown

__all__ = ["advice_for", "chooser", "described"]


def chooser(named: str | None, person: Person | None) -> ChooseLogin | None:
    """The method that was named; without one, the person's choice; None where nobody can choose."""
    if named is not None or person is None:
        return named

    async def choose(methods: Sequence[AuthMethod]) -> str | None:
        known = [method for method in methods if not isinstance(method, Unknown)]
        if not known:
            return None
        lines = ["The agent wants a login first:"]
        lines += [f"  {number}  {described(method)}" for number, method in enumerate(known, start=1)]
        async with person.attention():
            person.tell("\n".join([*lines, ""]))
            typed = await person.ask(f"1-{len(known)}, or Enter for none: ")
        if typed and typed.strip().isdecimal() and 1 <= int(typed) <= len(known):
            return known[int(typed) - 1].id
        return None

    return choose


def described(method: AuthMethod) -> str:
    """A method in a few safe words."""
    if isinstance(method, Unknown):
        name = method.raw.get("name")
        return f"{one_line(name, 80) if isinstance(name, str) else 'A way'} (not by accord: {one_line(method.tag, 40)})"
    about = f": {one_line(method.description)}" if method.description else ""
    how = ", in the terminal" if isinstance(method, TerminalLogin) else ""
    if isinstance(method, VariableLogin) and method.variables:
        how = f", by {', '.join(one_line(variable.name, 80) for variable in method.variables)} in the environment"
    return f"{one_line(method.name, 80)} ({one_line(method.id, 80)}{how}){about}"


def advice_for(method: Unknown) -> str:
    """What the user can do about a login that accord can't carry out."""
    description = method.raw.get("description")
    told = f" {one_line(description).rstrip('.')}." if isinstance(description, str) and description.strip() else ""
    return f"this login is of a kind that accord can't carry out ({one_line(method.tag, 40)}).{told}"
