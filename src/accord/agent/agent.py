"""`Agent`: what an author registers, served to any client in whatever version it speaks."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from accord.agent.connection import AgentConnection
from accord.agent.definition import (
    AgentDefinition,
    Busy,
    CommandDefinition,
    Handler,
    LoginMethod,
    OptionDefinition,
    TurnPolicy,
    to_option_choice,
)
from accord.agent.session_methods import SessionMethods
from accord.agent.session_registry import SessionRegistry
from accord.peer import FrameObserver, Limits
from accord.peer.event_loop import is_strict, run, run_until
from accord.session.capabilities import AgentCapabilities, AgentLogin, Implementation, TerminalLogin
from accord.session.entities import Option, OptionChoice, SlashCommand
from accord.session.open_enums import OptionCategory
from accord.session.type_checks import check_types
from accord.session.validation import check_command, check_extension, check_option
from accord.transports.transport import Transport

if TYPE_CHECKING:
    from accord.store.store import Store

__all__ = ["Agent"]

F = TypeVar("F", bound=Handler)


class Agent:
    """An agent. `store` makes its sessions survive; `busy` says what becomes of a prompt while a turn runs.

    `image`, `audio` and `embedded_context` say which content prompts may hold beside text and links; embedded texts are
    taken anyway unless `strict`, because some clients send them with every prompt. `meta` goes into
    the `_meta` of the capabilities, for what is beyond the protocol. `logged_in` tells whether sessions may be opened
    without a login; it may be a function that looks. `legacy_models` tells clients of v1 and the draft the option of the
    category `model` a second time, as the unstable `models`, and serves `session/set_model`. The times are told in `TurnPolicy`.
    `sessions` has those that are open, and decides what becomes of one that nobody subscribes to any more.
    """

    is_on_this_machine = True
    """As a client's target: it sees the client's directories."""

    def __init__(
        self,
        name: str,
        version: str = "0",
        *,
        title: str | None = None,
        store: Store | None = None,
        busy: Busy = "queue",
        strict: bool | None = None,
        image: bool = False,
        audio: bool = False,
        embedded_context: bool = False,
        meta: Mapping[str, Any] | None = None,
        logged_in: bool | Callable[[], bool] = False,
        legacy_models: bool = False,
        merge_seconds: float = 0.02,
        idle_deadline: float | None = None,
        turn_deadline: float | None = None,
        cancel_grace: float = 2.0,
        max_requests: int | None = None,
        max_tokens: int | None = None,
        limits: Limits | None = None,
        slow_loop_seconds: float | None = 1.0,
        mcp_connect_deadline: float = 30.0,
        on_frame: FrameObserver | None = None,
        sessions: SessionRegistry | None = None,
    ) -> None:
        self.sessions = sessions or SessionRegistry()
        """Those that are open, on whatever connections."""
        self.definition = AgentDefinition(
            info=Implementation(name=name, version=version, title=title),
            policy=TurnPolicy(
                busy=busy,
                merge_seconds=merge_seconds,
                idle_deadline=idle_deadline,
                turn_deadline=turn_deadline,
                cancel_grace=cancel_grace,
                max_requests=max_requests,
                max_tokens=max_tokens,
                slow_loop_seconds=slow_loop_seconds,
                mcp_connect_deadline=mcp_connect_deadline,
            ),
            strict=is_strict() if strict is None else strict,
            store=store,
            image=image,
            audio=audio,
            embedded_context=embedded_context,
            meta=dict(meta) if meta else None,
            logged_in=logged_in,
            legacy_models=legacy_models,
            limits=limits,
            on_frame=on_frame,
        )
        """What was given and registered."""
        check_types(self.definition.info)
        check_types(AgentCapabilities(meta=self.definition.meta))

    def prompt(self, handler: F) -> F:
        """Register what answers a prompt: `async def f(turn: Turn)`, or `def f(turn: SyncTurn)` in a thread.

        It returns a stop reason, or None for `end_turn`.
        """
        self.definition.prompt_handler = handler
        return handler

    def new_session(self, handler: F) -> F:
        """Register what prepares a session when it is opened, new or again: `f(session)`. It may refuse by raising."""
        self.definition.session_handler = handler
        return handler

    def login(self, id: str, *, name: str, description: str | None = None) -> Callable[[F], F]:
        """Register a way to log in: `f(client)`. It has failed when it raises."""
        _check_new(self.definition.logins, "login", id)
        method = AgentLogin(id=id, name=name, description=description)
        check_types(method)

        def register(handler: F) -> F:
            self.definition.logins[id] = LoginMethod(method, handler)
            return handler

        return register

    def terminal_login(
        self,
        id: str,
        *,
        name: str,
        description: str | None = None,
        args: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Offer a login that the client runs as an interactive start of this program, with these arguments more."""
        _check_new(self.definition.logins, "login", id)
        method = TerminalLogin(id=id, name=name, description=description, args=list(args), env=dict(env or {}))
        check_types(method)
        self.definition.logins[id] = LoginMethod(method)

    def logout(self, handler: F) -> F:
        """Register what drops the credentials: `f(client)`."""
        self.definition.logout_handler = handler
        return handler

    def option(
        self,
        id: str,
        *,
        name: str | None = None,
        choices: Iterable[str | tuple[str, str] | OptionChoice] = (),
        default: str | bool | None = None,
        description: str | None = None,
        category: OptionCategory | None = None,
    ) -> Callable[[F], F]:
        """Offer a setting, and register what is told when the user chooses: `f(session, value)`, which may refuse.

        Without choices it is a switch. The category `mode` makes it the session's modes. A handler is not needed.
        """
        listed = [to_option_choice(choice) for choice in choices]
        if not listed and not isinstance(default, bool):
            raise TypeError("an option has choices, or a default that is True or False")
        _check_new(self.definition.options, "option", id)
        value = listed[0].value if default is None else default
        option = Option(id=id, name=name or id.replace("_", " ").capitalize(), value=value, choices=listed)
        option.kind = "select" if listed else "boolean"
        option.description = description
        option.category = category or (id if id in ("mode", "model") else None)
        check_option(option)
        offered = self.definition.options[id] = OptionDefinition(option)

        def register(handler: F) -> F:
            offered.handler = handler
            return handler

        return register

    def command(self, name: str, description: str, hint: str | None = None) -> Callable[[F], F]:
        """Register a slash command, which is answered as a prompt is; what follows its name is `turn.arguments`."""
        _check_new(self.definition.commands, "command", name)
        command = SlashCommand(name=name, description=description, hint=hint)
        check_command(command)

        def register(handler: F) -> F:
            self.definition.commands[name] = CommandDefinition(command, handler)
            return handler

        return register

    def method(self, name: str) -> Callable[[F], F]:
        """Register a method of your own, such as `_acme/ping`: `f(params, client)`; its result is the answer."""
        return self._extension(self.definition.methods, name)

    def notification(self, name: str) -> Callable[[F], F]:
        """Register a notification of your own, such as `_acme/seen`: `f(params, client)`."""
        return self._extension(self.definition.notifications, name)

    def _extension(self, table: dict[str, Handler], name: str) -> Callable[[F], F]:
        check_extension(name)

        def register(handler: F) -> F:
            table[name] = handler
            return handler

        return register

    def capabilities(self) -> AgentCapabilities:
        """What is offered to clients."""
        return self.definition.capabilities()

    async def serve(self, transport: Transport) -> None:
        """Serve one connection until it ends, from either side; all turns have ended then."""
        await AgentConnection(self.definition, transport, partial(SessionMethods, self.definition, self.sessions)).run()

    def connect(self) -> Transport:
        """A client's end of a connection in memory; opening it begins to serve the other end."""
        from accord.agent.in_process import InProcessTransport  # noqa: PLC0415  # only tests and embedding need it

        return InProcessTransport(self.serve)

    def run(self) -> None:
        """Serve stdin and stdout until the client hangs up. On a terminal it explains itself instead of waiting.

        It returns within 5 seconds of the end of input, whatever handlers and their threads do. (FN-37)
        """
        if sys.stdin is not None and sys.stdin.isatty():
            sys.stderr.write(self._explanation())
            return
        from accord.transports.stdio import Stdio  # noqa: PLC0415  # needs a process of its own

        stdio = Stdio()
        with suppress(KeyboardInterrupt):
            run(run_until(stdio.over, partial(self.serve, stdio), self._close))

    async def _close(self) -> None:
        if self.definition.store is not None:
            await self.definition.store.aclose()

    def _explanation(self) -> str:
        name = self.definition.info.title or self.definition.info.name
        program = Path(sys.argv[0])
        command = [sys.executable, str(program.absolute() if program.exists() else program), *sys.argv[1:]]
        return (
            f"{name} {self.definition.info.version} is an agent: an editor starts it and speaks the Agent Client Protocol with it\n"
            "through stdin and stdout. There is nothing to type here. Tell your editor to run this command:\n\n"
            f"    {shlex.join(command)}\n"
        )


def _check_new(registered: Mapping[str, Any], what: str, id: str) -> None:
    if id in registered:
        raise ValueError(f"duplicate {what} {id!r}: the agent has one already")
