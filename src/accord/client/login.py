"""Logging in: which way, and what has to happen for it.

A login that the agent does itself is a request. A terminal login is the same program started once more, for a person
to talk to; when it ended well, the client connects again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

from accord.client.target import Command
from accord.errors import AuthRequired
from accord.session.capabilities import AuthMethod, TerminalLogin, VariableLogin
from accord.session.value import Unknown

ChooseLogin: TypeAlias = str | Callable[[Sequence[AuthMethod]], Awaitable[str | None]]
"""The id of a method, or who chooses one among those that the agent has; None for not now."""

RunLogin: TypeAlias = Callable[[Command], Awaitable[int]]
"""Runs a command where a person can talk to it; its exit code."""


_TERMINATE_SECONDS = 2.0


def method_of(methods: Sequence[AuthMethod], method_id: str) -> AuthMethod:
    """The method of this id; ValueError when the agent named no such method (AUTH-05)."""
    for method in methods:
        if not isinstance(method, Unknown) and method.id == method_id:
            return method
    known = [method.id for method in methods if not isinstance(method, Unknown)]
    offered = f", only {', '.join(map(repr, known))}" if known else ": it offers none"
    raise ValueError(f"the agent has no login {method_id!r}{offered}")


async def chosen_login(methods: Sequence[AuthMethod], choose: ChooseLogin | None) -> str | None:
    """What was chosen, if there is anything to choose from and somebody who does."""
    if choose is None or not methods:
        return None
    return choose if isinstance(choose, str) else await choose(methods)


def login_command(command: Command, method: TerminalLogin) -> Command:
    """The agent's own command with what the method adds; the method cannot name another program."""
    return Command([*command.args, *method.args], env={**command.env, **method.env}, cwd=command.cwd)


def check_variables(method: VariableLogin, command: Command) -> None:
    """AuthRequired that names the variables which a login needs and the agent was started without."""
    environment = command.environment()
    missing = [each.name for each in method.variables if not each.optional and not environment.get(each.name)]
    if missing:
        error = AuthRequired()
        error.message = (
            f"The login {method.id!r} needs {', '.join(missing)} in the agent's environment: set it and start again"
        )
        raise error


async def run_in_terminal(command: Command) -> int:
    """Run a login on the terminal that this program has."""
    process = await asyncio.create_subprocess_exec(*command.args, env=command.environment(), cwd=command.cwd)
    try:
        return await process.wait()
    except asyncio.CancelledError:
        await _ended(process)
        raise


async def _ended(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _TERMINATE_SECONDS)
            return
        process.kill()
    await process.wait()


def login_failed(method: TerminalLogin, code: int) -> AuthRequired:
    """A terminal login that ended badly."""
    error = AuthRequired()
    error.message = f"The login {method.id!r} failed: its command ended with exit code {code}"
    return error
