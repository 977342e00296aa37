"""`Agent`: the handlers that an author registers, served to any client in whatever version it speaks."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, get_args

from accord.agent.connection import AgentConnection, AgentEndpoint
from accord.agent.definition import (
    AgentDefinition,
    Busy,
    CommandDefinition,
    Handler,
    LoginMethod,
    OptionDefinition,
    TurnPolicy,
    check_handler,
    to_option_choice,
    without_parentheses,
)
from accord.agent.session import AgentSession
from accord.agent.session_methods import SessionMethods
from accord.agent.session_registry import SessionRegistry
from accord.agent.sync_turn import SyncTurn
from accord.agent.turn import Turn
from accord.peer import FrameObserver, Limits
from accord.peer.event_loop import is_strict, run, run_until
from accord.session.capabilities import AgentCapabilities, AgentLogin, Implementation, TerminalLogin
from accord.session.entities import Option, OptionChoice, SlashCommand
from accord.session.open_enums import OptionCategory, StopReason
from accord.session.type_checks import check_type, check_types
from accord.session.validation import check_command, check_extension, check_option
from accord.transports.memory import memory_pair
from accord.transports.transport import Receiver, Transport

if TYPE_CHECKING:
    from accord.agent.asgi import AgentApplication
    from accord.store.store import Store
    from accord.transports.http_request import Authenticator
    from accord.transports.http_server import HttpLimits

PromptHandler: TypeAlias = Callable[[Turn], Awaitable[StopReason | None]] | Callable[[SyncTurn], StopReason | None]
"""An `async def` gets a `Turn`, a plain function a `SyncTurn`; it returns a stop reason, or None for `end_turn`."""
_Done: TypeAlias = Awaitable[None] | None
SessionHandler: TypeAlias = Callable[[AgentSession], _Done] | Callable[[], _Done]
ConnectionHandler: TypeAlias = Callable[[AgentConnection], _Done] | Callable[[], _Done]
OptionHandler: TypeAlias = Callable[[AgentSession, str], _Done] | Callable[[AgentSession, bool], _Done] | SessionHandler
ExtensionHandler: TypeAlias = Callable[[Any, AgentConnection], object] | Callable[[Any], object] | Callable[[], object]
PromptT = TypeVar("PromptT", bound=PromptHandler)
SessionT = TypeVar("SessionT", bound=SessionHandler)
ConnectionT = TypeVar("ConnectionT", bound=ConnectionHandler)
OptionT = TypeVar("OptionT", bound=OptionHandler)
ExtensionT = TypeVar("ExtensionT", bound=ExtensionHandler)


class Agent:
    """An agent. With a `store` its sessions survive a restart.

    `image`, `audio` and `embedded_context` say which content prompts may have beside text and links; embedded text is
    accepted anyway unless `strict`, because some clients send it with every prompt. `meta` becomes the `_meta` of the
    capabilities, for features beyond the protocol. `logged_in` says whether sessions may be opened without a login; it may be
    a function that checks. `legacy_models` sends the option of the category `model` to clients of v1 and the draft also as
    the unstable `models`, and serves `session/set_model`. `busy`, the deadlines and limits are those of `TurnPolicy`.
    `sessions` is the registry of open sessions, with its policy for those that every client has left.
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
        _check_settings(name, version, busy, store)
        self.sessions = sessions or SessionRegistry()
        """The open sessions, on whatever connections."""
        self._definition = AgentDefinition(
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
        check_types(self._definition.info)
        check_types(AgentCapabilities(meta=self._definition.meta))

    @without_parentheses
    def prompt(self, handler: PromptT) -> PromptT:
        """Register the handler of prompts: `async def f(turn: Turn)`, or `def f(turn: SyncTurn)` in a thread.

        It returns a stop reason, or None for `end_turn`.
        """
        _check_only(self._definition.prompt_handler, "@agent.prompt")
        check_handler("@agent.prompt", handler, 1, 1)
        self._definition.prompt_handler = handler
        return handler

    @without_parentheses
    def new_session(self, handler: SessionT) -> SessionT:
        """Register a handler that prepares each session that is created, loaded or resumed: `f(session)`. It may refuse by raising."""
        _check_only(self._definition.session_handler, "@agent.new_session")
        check_handler("@agent.new_session", handler, 1)
        self._definition.session_handler = handler
        return handler

    def login(self, id: str, *, name: str, description: str | None = None) -> Callable[[ConnectionT], ConnectionT]:
        """Register a login: `f(client)`. It fails by raising."""
        _check_new(self._definition.logins, "login", id)
        method = AgentLogin(id=id, name=name, description=description)
        check_types(method)

        def register(handler: ConnectionT) -> ConnectionT:
            check_handler("@agent.login", handler, 1)
            self._definition.logins[id] = LoginMethod(method, handler)
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
        """Offer a login for which the client runs this program in a terminal, with additional arguments."""
        _check_new(self._definition.logins, "login", id)
        method = TerminalLogin(id=id, name=name, description=description, args=list(args), env=dict(env or {}))
        check_types(method)
        self._definition.logins[id] = LoginMethod(method)

    @without_parentheses
    def logout(self, handler: ConnectionT) -> ConnectionT:
        """Register a handler that deletes the credentials: `f(client)`."""
        _check_only(self._definition.logout_handler, "@agent.logout")
        check_handler("@agent.logout", handler, 1)
        self._definition.logout_handler = handler
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
    ) -> Callable[[OptionT], OptionT]:
        """Offer an option; as a decorator, register a handler for its changes: `f(session, value)`, which may refuse.

        Without choices it is a switch. The category `mode` makes it the session's modes.
        """
        if isinstance(choices, str):
            raise TypeError(f"choices is a list such as [{choices!r}], not one string")
        option_choices = [to_option_choice(choice) for choice in choices]
        if not option_choices and not isinstance(default, bool):
            raise TypeError("an option needs choices, or a default that is True or False")
        _check_new(self._definition.options, "option", id)
        value = option_choices[0].value if default is None else default
        option = Option(id=id, name=name or id.replace("_", " ").capitalize(), value=value, choices=option_choices)
        option.kind = "select" if option_choices else "boolean"
        option.description = description
        option.category = category or (id if id in ("mode", "model") else None)
        check_option(option)
        definition = self._definition.options[id] = OptionDefinition(option)

        def register(handler: OptionT) -> OptionT:
            check_handler("@agent.option", handler, 2)
            definition.handler = handler
            return handler

        return register

    def command(self, name: str, description: str, hint: str | None = None) -> Callable[[PromptT], PromptT]:
        """Register the handler of a slash command, a prompt that begins with its name; the rest is `turn.arguments`."""
        _check_new(self._definition.commands, "command", name)
        command = SlashCommand(name=name, description=description, hint=hint)
        check_command(command)

        def register(handler: PromptT) -> PromptT:
            check_handler("@agent.command", handler, 1, 1)
            self._definition.commands[name] = CommandDefinition(command, handler)
            return handler

        return register

    def method(self, name: str) -> Callable[[ExtensionT], ExtensionT]:
        """Register a method of your own, such as `_acme/ping`: `f(params, client)` returns its result."""
        return self._extension(self._definition.methods, name)

    def notification(self, name: str) -> Callable[[ExtensionT], ExtensionT]:
        """Register a notification of your own, such as `_acme/seen`: `f(params, client)`."""
        return self._extension(self._definition.notifications, name)

    def _extension(self, table: dict[str, Handler], name: str) -> Callable[[ExtensionT], ExtensionT]:
        check_extension(name)

        def register(handler: ExtensionT) -> ExtensionT:
            check_handler(f"the extension {name!r}", handler, 2)
            table[name] = handler
            return handler

        return register

    def capabilities(self) -> AgentCapabilities:
        """The capabilities that clients get in the handshake."""
        return self._definition.capabilities()

    async def serve(self, transport: Transport) -> None:
        """Serve one connection until it ends, from either side; all turns have ended then."""
        await self._new_endpoint(transport).run()

    def asgi(
        self,
        path: str = "/acp",
        *,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        limits: HttpLimits | None = None,
        tokens: str | os.PathLike[str] | Authenticator | None = None,
    ) -> AgentApplication:
        """An ASGI application that serves this agent over HTTP and WebSocket, at this path below where it is mounted.

        It accepts requests to the names of loopback and to `hosts`, and of web pages of its own origin and of `origins`.
        Clients need a token of the file `tokens`, which `accord token` makes. Without it, the application does not ask who
        the client is: put authentication in front of it; the user that a middleware sets in the ASGI scope counts.
        """
        from accord.agent.asgi import AgentApplication  # noqa: PLC0415  # only servers need it

        return AgentApplication(
            self._new_endpoint, path=path, hosts=hosts, origins=origins, limits=limits, tokens=tokens
        )

    def _new_endpoint(self, transport: Transport) -> AgentEndpoint:
        return AgentEndpoint(self._definition, transport, partial(SessionMethods, self._definition, self.sessions))

    def connect(self) -> Transport:
        """A transport to this agent in memory; opening it starts to serve the other end."""
        from accord.agent.agent import InProcessTransport  # noqa: PLC0415  # only tests and embedding need it

        return InProcessTransport(self.serve)

    def run(
        self,
        *,
        http: str | None = None,
        tokens: str | os.PathLike[str] | None = None,
        tls: tuple[str, str] | None = None,
        behind_proxy: bool = False,
        hosts: Iterable[str] = (),
        audit: str | os.PathLike[str] | None = None,
    ) -> None:
        """Serve stdin and stdout until the client hangs up. In a terminal it prints what it is instead.

        With `http`, such as `"127.0.0.1:8000"`, it serves HTTP and WebSocket there until SIGINT or SIGTERM; this needs
        the extra `http`. Other machines can reach it only with `tokens`, a file of `accord token`, and with `tls`, the
        files of a certificate and its key, or `behind_proxy`, if a proxy does TLS. `audit` is a file that records who did
        what. It returns within 5 seconds of the end, whatever handlers and their threads do. (FN-37)
        """
        if http is not None:
            from accord.agent.asgi import run_http  # noqa: PLC0415  # only servers need it
            from accord.agent.http_settings import HttpSettings  # noqa: PLC0415  # as above

            settings = HttpSettings(
                address=http,
                tokens=None if tokens is None else os.fspath(tokens),
                tls=tls,
                behind_proxy=behind_proxy,
                hosts=tuple(hosts),
                audit=None if audit is None else os.fspath(audit),
            )
            run_http(self.asgi, settings, self._definition.info.name, self._close)
            return
        if sys.stdin is not None and sys.stdin.isatty():
            sys.stderr.write(self._explanation())
            return
        _check_no_loop()
        from accord.transports.stdio import StdioTransport  # noqa: PLC0415  # needs a process of its own

        stdio = StdioTransport()
        with suppress(KeyboardInterrupt):
            run(run_until(stdio.ended, partial(self.serve, stdio), self._close))

    async def _close(self) -> None:
        if self._definition.store is not None:
            await self._definition.store.aclose()

    def _explanation(self) -> str:
        name = self._definition.info.title or self._definition.info.name
        program = Path(sys.argv[0])
        command = [sys.executable, str(program.absolute() if program.exists() else program), *sys.argv[1:]]
        return (
            f"{name} {self._definition.info.version} is an agent: an editor starts it and speaks the Agent Client Protocol with it\n"
            "through stdin and stdout. There is nothing to type here. Tell your editor to run this command:\n\n"
            f"    {shlex.join(command)}\n"
        )


def _check_settings(name: str, version: str, busy: Busy, store: Store | None) -> None:
    for what, text in (("name", name), ("version", version)):
        check_type(text, str, f"a string as the agent's {what}")
    if busy not in get_args(Busy):
        raise ValueError(f"unknown busy {busy!r}: expected {', '.join(get_args(Busy))}")
    if store is not None and not hasattr(store, "claim"):
        raise TypeError(f"expected a store such as SqliteStore(path), not {type(store).__name__}")


def _check_no_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(
        "agent.run() starts an event loop: call it outside of async functions, or use `await agent.serve(...)`"
    )


def _check_only(registered: Handler | None, decorator: str) -> None:
    if registered is not None:
        name = getattr(registered, "__name__", type(registered).__name__)
        raise ValueError(f"the agent already has a handler of {decorator}: {name}()")


def _check_new(registered: Mapping[str, Any], kind: str, id: str) -> None:
    if id in registered:
        raise ValueError(f"duplicate {kind} {id!r}: the agent already has it")


class InProcessTransport:
    """The client's end. Opening it starts to serve the agent's end; closing it ends that and waits for it."""

    def __init__(self, serve: Callable[[Transport], Coroutine[Any, Any, None]]) -> None:
        self._serve = serve
        self._client_end, self._agent_end = memory_pair()
        self._server: asyncio.Task[None] | None = None

    async def open(self, receiver: Receiver) -> None:
        self._server = asyncio.create_task(self._serve(self._agent_end), name="accord agent in memory")
        await self._client_end.open(receiver)

    def send(self, frame: bytes) -> None:
        self._client_end.send(frame)

    def pause_receiving(self) -> None:
        self._client_end.pause_receiving()

    def resume_receiving(self) -> None:
        self._client_end.resume_receiving()

    @property
    def unsent(self) -> int:
        return self._client_end.unsent

    async def aclose(self) -> None:
        await self._client_end.aclose()
        if self._server is not None:
            await asyncio.wait([self._server])
