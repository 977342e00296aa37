"""The definition of an agent: the handlers, options and commands that its author registered, and its settings.

Capabilities are derived from it, so an agent can't advertise what it does not have.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast

import msgspec

from accord.peer import FrameObserver, Limits
from accord.session.capabilities import AgentCapabilities, AgentLogin, Implementation, TerminalLogin
from accord.session.entities import Option, OptionChoice, SlashCommand

if TYPE_CHECKING:
    from accord.store.store import Owner, Store

Handler: TypeAlias = Callable[..., Any]
"""A function of the author, plain or async."""

RegisterT = TypeVar("RegisterT", bound=Handler)

Busy: TypeAlias = Literal["queue", "refuse", "steer"]


class TurnPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent runs its turns. Times are in seconds; None is no limit.

    `busy`: whether a prompt that comes during a turn is queued, refused, or steers the turn. `merge_seconds`: how long text
    waits for more text, to be sent together. `idle_deadline`: the longest silence of a turn, `turn_deadline`: its longest
    duration, both without the time spent waiting for the user. `cancel_grace`: how long a cancelled handler may take to end
    before it is abandoned. `max_requests` and `max_tokens`: limits that `turn.count_request` and `turn.count_tokens` apply.
    `slow_loop_seconds`: a blocked event loop is logged after that. `mcp_connect_deadline`: an MCP server that is not
    connected by then has failed.
    """

    busy: Busy = "queue"
    merge_seconds: float = 0.02
    idle_deadline: float | None = None
    turn_deadline: float | None = None
    cancel_grace: float = 2.0
    max_requests: int | None = None
    max_tokens: int | None = None
    slow_loop_seconds: float | None = 1.0
    mcp_connect_deadline: float = 30.0


class LoginMethod(msgspec.Struct):
    """A login; without a handler it is one that the client runs in a terminal."""

    method: AgentLogin | TerminalLogin
    handler: Handler | None = None


class OptionDefinition(msgspec.Struct):
    """An option with its initial value."""

    option: Option
    handler: Handler | None = None


class CommandDefinition(msgspec.Struct):
    """A slash command and its handler."""

    command: SlashCommand
    handler: Handler


class AgentDefinition(msgspec.Struct, kw_only=True, dict=True):
    """All that connections and sessions need to know of the agent."""

    info: Implementation
    policy: TurnPolicy
    strict: bool
    store: Store | None = None
    image: bool = False
    audio: bool = False
    embedded_context: bool = False
    meta: dict[str, Any] | None = None
    logged_in: bool | Callable[[], bool] = False
    legacy_models: bool = False
    limits: Limits | None = None
    on_frame: FrameObserver | None = None
    prompt_handler: Handler | None = None
    session_handler: Handler | None = None
    logout_handler: Handler | None = None
    logins: dict[str, LoginMethod] = msgspec.field(default_factory=dict[str, LoginMethod])
    options: dict[str, OptionDefinition] = msgspec.field(default_factory=dict[str, OptionDefinition])
    commands: dict[str, CommandDefinition] = msgspec.field(default_factory=dict[str, CommandDefinition])
    methods: dict[str, Handler] = msgspec.field(default_factory=dict[str, Handler])
    notifications: dict[str, Handler] = msgspec.field(default_factory=dict[str, Handler])

    @cached_property
    def owner(self) -> Owner:
        """The owner of the agent's claims in the store: one for all its connections."""
        from accord.store.store import Owner  # noqa: PLC0415  # not loaded without a store

        return Owner.here()

    def capabilities(self) -> AgentCapabilities:
        """The capabilities that clients get in the handshake."""
        from accord.agent.mcp import is_installed  # noqa: PLC0415  # slow: it searches for a package

        has_store = self.store is not None
        has_mcp = is_installed()
        return AgentCapabilities(
            load=has_store,
            resume=has_store,
            list=has_store,
            close=True,
            delete=has_store,
            fork=has_store,
            additional_directories=True,
            image=self.image,
            audio=self.audio,
            embedded_context=self.embedded_context,
            mcp_http=has_mcp,
            mcp_sse=has_mcp,
            logout=self.logout_handler is not None or bool(self.logins),
            meta=self.meta,
        )


def to_option_choice(choice: str | OptionChoice | tuple[str, str]) -> OptionChoice:
    """A choice from a value that is its own name, or from a value and a name."""
    if isinstance(choice, OptionChoice):
        return choice
    if isinstance(choice, str):
        return OptionChoice(value=choice, name=choice)
    return OptionChoice(value=choice[0], name=choice[1])


def without_parentheses(register: RegisterT) -> RegisterT:
    """For a method that is a decorator itself: called with no function, it says how to write that."""

    @wraps(register)
    def registered(*arguments: Any, **named: Any) -> Any:
        if len(arguments) == 1 and not named:  # the agent
            spelling = f"@agent.{register.__name__}"
            raise TypeError(f"{spelling} takes no parentheses: write `{spelling}` above the function")
        return register(*arguments, **named)

    return cast("RegisterT", registered)


def check_handler(decorator: str, handler: Handler, most: int, least: int = 0) -> None:
    """TypeError for what cannot be a handler that is called with `most` arguments and has to accept `least` of them."""
    if not callable(handler):
        raise TypeError(f"{decorator} needs a function, not {type(handler).__name__}")
    name = getattr(handler, "__name__", type(handler).__name__)
    if inspect.isasyncgenfunction(handler) or inspect.isgeneratorfunction(handler):
        raise TypeError(
            f"the handler {name}() of {decorator} is a generator: send parts with turn.say(...), not with yield"
        )
    try:
        parameters = inspect.signature(handler).parameters.values()
    except ValueError:  # some built-in functions have none
        return
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    is_open = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    required = [each.name for each in positional if each.default is each.empty]
    named = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY and each.default is each.empty]
    if len(required) > most or named or (len(positional) < least and not is_open):
        given = ", ".join([*required, *named]) or "no parameters"
        expected = f"{least}" if least == most else f"at most {most}"
        raise TypeError(
            f"the handler {name}() of {decorator} is called with {expected} argument{'s' if most > 1 else ''}, and has: {given}"
        )
    _check_turn(decorator, name, handler, positional)


def _check_turn(decorator: str, name: str, handler: Handler, parameters: list[inspect.Parameter]) -> None:
    annotation: Any = parameters[0].annotation if parameters else None
    given = str(getattr(annotation, "__name__", annotation)).rpartition(".")[2]
    is_async = inspect.iscoroutinefunction(handler)
    if is_async and given in ("SyncTurn", "SyncToolCall"):
        raise TypeError(f"the handler {name}() of {decorator} is async and gets a Turn, not a SyncTurn")
    if not is_async and inspect.isfunction(handler) and given == "Turn":
        raise TypeError(f"the handler {name}() of {decorator} is no `async def` and gets a SyncTurn, not a Turn")


async def call_handler(handler: Handler, *arguments: Any) -> Any:
    """Call it with as many of the arguments as it accepts; a plain function in a thread, so that it may block (FN-15)."""
    accepted = arguments[: _parameter_count(handler)]
    if inspect.iscoroutinefunction(handler):
        return await handler(*accepted)
    result: Any = await asyncio.to_thread(handler, *accepted)
    return await result if inspect.isawaitable(result) else result


def _parameter_count(handler: Handler) -> int | None:
    """How many positional arguments it accepts; None for any number."""
    count = 0
    for parameter in inspect.signature(handler).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            return None
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            count += 1
    return count
