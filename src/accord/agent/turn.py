"""One turn of a session, as a prompt handler holds it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from accord.agent.connection import AgentConnection, AgentEndpoint, trace_context
from accord.agent.deadlines import TurnDeadlines
from accord.agent.definition import TurnPolicy
from accord.agent.files import ClientFiles
from accord.agent.permissions import OPTIONS, UserRequests
from accord.agent.session import AgentSession, Publisher
from accord.agent.session_servers import SessionServers
from accord.agent.tool_calls import (
    AgentToolCall,
    BackgroundWork,
    CommandResult,
    FilePath,
    ToolCallContent,
    to_diff,
    to_items,
    to_location,
)
from accord.errors import TurnStopped
from accord.peer.required_await import requires_await
from accord.session.content import Content, Text, render_text, separate_texts, text_of
from accord.session.entities import AGENT, THOUGHT, Cost, Diff, Location, Notice, Plan, PlanEntry, TokenUsage
from accord.session.open_enums import STOP_REASONS, NoticeSeverity, StopReason, ToolKind
from accord.session.requests import PermissionOption, Prompt
from accord.session.type_checks import check_type
from accord.session.updates import MessageAppend, ModePatch, NoticePatch, Patch, PlanPatch, ToolCallPatch, UsagePatch
from accord.session.validation import check_token_usage
from accord.session.value import UNSET

if TYPE_CHECKING:
    from accord.agent.mcp import ServerConnections

NextPrompt: TypeAlias = Callable[[], Awaitable[list[Content] | None]]


class TurnState:
    """The state of a turn, shared by the turn queue and the objects that the handler holds."""

    def __init__(
        self,
        session: AgentSession,
        publisher: Publisher,
        servers: SessionServers,
        endpoint: AgentEndpoint,
        prompt: Prompt,
        *,
        new_content: list[Content],
        policy: TurnPolicy,
        next_prompt: NextPrompt,
    ) -> None:
        self.session = session
        self.publisher = publisher
        self.servers = servers
        self.endpoint = endpoint
        self.prompt = prompt
        self.new_content = new_content
        self.policy = policy
        self.deadlines = TurnDeadlines(policy.idle_deadline, policy.turn_deadline)
        self.next_prompt = next_prompt
        self.trace = trace_context(prompt.meta)
        self.command: str | None = None
        self.arguments = ""
        self.is_over = False
        self.is_cancelled = False
        self.request_count = 0
        self.token_count = 0
        self.token_usage: TokenUsage | None = None
        self.plan_ids: set[str] = set()
        """The plans that were sent in this turn."""


class TurnContext:
    """The part of a turn that needs no waiting: the same in `Turn` and in `SyncTurn`."""

    def __init__(self, state: TurnState) -> None:
        self._state = state

    @property
    def session(self) -> AgentSession:
        """The session that the turn belongs to."""
        return self._state.session

    @property
    def content(self) -> list[Content]:
        """The prompt, block by block."""
        return self._state.prompt.content

    @property
    def new_content(self) -> list[Content]:
        """The prompt without blocks that repeat a cancelled prompt: some clients send those again (FN-110)."""
        return self._state.new_content

    @property
    def text(self) -> str:
        """The text that the user typed, each block a paragraph; `content` and `whole_text` have attachments as well."""
        return text_of(separate_texts(block for block in self.content if type(block) is Text))

    @property
    def whole_text(self) -> str:
        """The prompt for a model that reads text only, with links and embedded texts in their places."""
        return render_text(separate_texts(self.content))

    @property
    def meta(self) -> dict[str, Any]:
        """The prompt's `_meta`."""
        return self._state.prompt.meta or {}

    @property
    def trace(self) -> dict[str, Any]:
        """The trace context of the prompt; every request to the client carries it on."""
        return self._state.trace

    @property
    def command(self) -> str | None:
        """The slash command that was called, if any."""
        return self._state.command

    @property
    def arguments(self) -> str:
        """The text after the slash command."""
        return self._state.arguments

    @property
    def cwd(self) -> Path:
        """The session's working directory, absolute."""
        return self._state.session.cwd

    @property
    def options(self) -> dict[str, str | bool | None]:
        """The value of each option, the mode's included."""
        return self._state.session.options

    @property
    def is_cancelled(self) -> bool:
        """Whether the user cancelled the turn; for loops that call nothing of the turn."""
        return self._state.is_cancelled

    @property
    def is_over(self) -> bool:
        """Whether the turn has ended. What is sent later must be sent with `turn.session`."""
        return self._state.is_over

    @property
    def can_ask(self) -> bool:
        """Whether the client can show forms."""
        return self._state.endpoint.capabilities.form_elicitation

    @property
    def token_usage(self) -> TokenUsage | None:
        """The tokens that the turn used; set it, and the end of the turn reports it."""
        return self._state.token_usage

    @token_usage.setter
    def token_usage(self, usage: TokenUsage | None) -> None:
        if usage is not None:
            check_token_usage(usage)
        self._touch()
        self._state.token_usage = usage

    def stop(self, reason: StopReason) -> NoReturn:
        """End the turn here with a stop reason; one of your own begins with an underscore, such as `_budget`."""
        STOP_REASONS.check(reason)
        raise TurnStopped(reason)

    def count_request(self) -> None:
        """Count a request to the model; past the agent's `max_requests` the turn ends with `max_turn_requests`."""
        self._state.request_count += 1
        limit = self._state.policy.max_requests
        if limit is not None and self._state.request_count > limit:
            self.stop("max_turn_requests")

    def count_tokens(self, tokens: int) -> None:
        """Count tokens; past the agent's `max_tokens` the turn ends with `max_tokens`."""
        self._state.token_count += tokens
        limit = self._state.policy.max_tokens
        if limit is not None and self._state.token_count > limit:
            self.stop("max_tokens")

    def _touch(self) -> None:
        if self._state.is_over:
            raise RuntimeError("the turn has ended: an update now would come after its response; use turn.session.send")
        self._state.deadlines.touch()


class Turn(TurnContext):
    """A prompt of the user, and everything a handler can do about it, in whatever version the client speaks."""

    def __init__(self, state: TurnState) -> None:
        super().__init__(state)
        publisher = self._publisher = state.publisher
        self.client = AgentConnection(state.endpoint, state.trace, publisher.validator)
        """The client that prompted. Questions to the user go to all clients of the session, other requests to it."""
        self.files = ClientFiles(state.session, publisher, self.client)
        """Text files: the client's where it offers them, on the disk otherwise."""
        self._requests = UserRequests(state.session, publisher, state.endpoint, self.client, state.deadlines)
        self._background_ids: set[str] = set()

    async def say(self, content: str | Content) -> None:
        """Send a part of the answer, in Markdown; call it for each part as it comes."""
        if not self._append(AGENT, content):
            await self._publisher.drain()

    async def think(self, content: str | Content) -> None:
        """Send a part of the agent's thoughts."""
        if not self._append(THOUGHT, content):
            await self._publisher.drain()

    async def notice(self, title: str, description: str | None = None, severity: NoticeSeverity = "info") -> None:
        """Show a notice that is not part of the conversation; clients without notices do not see it."""
        await self.send(NoticePatch(notice=Notice(severity=severity, title=title, description=description)))

    async def plan(self, entries: Iterable[str | PlanEntry], id: str = "main") -> None:
        """Show the plan as it is now, complete; nothing is sent if it has not changed in this turn.

        When a turn fails, is refused or is cancelled, its entries in progress become pending again.
        """
        if isinstance(entries, str):
            raise TypeError("a plan is a list of entries, not one string: write turn.plan([...])")
        check_type(entries, Iterable, "a list of the entries of a plan")
        plan = [PlanEntry(content=entry) if isinstance(entry, str) else entry for entry in entries]
        for entry in plan:
            check_type(entry, PlanEntry, "a string or a PlanEntry")
        await self.send(PlanPatch(plan=Plan(id=id, entries=plan)))

    async def pause_plans(self) -> None:
        """Show the entries in progress of this turn's plans as pending: nobody works on them any more."""
        self._touch()
        self._publisher.pause_plans(self._state.plan_ids)

    def tool_call(
        self,
        title: str,
        *,
        kind: ToolKind = "other",
        name: str | None = None,
        raw_input: Any = None,
        content: ToolCallContent | Iterable[ToolCallContent] = (),
        diff: tuple[FilePath, str | None, str | None] | Diff | None = None,
        locations: Iterable[FilePath | Location] = (),
        id: str | None = None,
    ) -> AgentToolCall:
        """A tool call: `async with turn.tool_call(...) as call`. The user sees these fields before permission is asked.

        `diff` is a change that the call will make: `(path, old_text, new_text)`, with None for the old text of a new
        file and for the new text of a deleted one. Its path is the location of the call, unless others are given.
        """
        check_type(title, str, "a string as the title of a tool call")
        items = to_items(content)
        if diff is not None:
            change = to_diff(diff)
            items.append(change)
            locations = list(locations) or [each.path for each in change.changes]
        announcement = ToolCallPatch(
            id=self._publisher.new_tool_call_id() if id is None else id,
            title=title,
            kind=kind,
            status="pending",
            name=UNSET if name is None else name,
            raw_input=UNSET if raw_input is None else raw_input,
            content=items or UNSET,
            locations=[to_location(location) for location in locations] or UNSET,
            creates=True,
        )
        return AgentToolCall(self._publisher, announcement, self._touch_call)

    async def in_background(self, call: AgentToolCall, work: BackgroundWork) -> None:
        """Start `work(call)`, which continues beside the turns until it is done or the session is closed.

        Cancelling a turn does not affect it, and it can't ask the user anything. Do not enter the call yourself.
        """
        self._touch()
        self._background_ids.add(call.id)
        await self._publisher.background.start(call, work)

    @requires_await("turn.allowed")
    async def allowed(
        self,
        about: AgentToolCall | str,
        *,
        options: Sequence[PermissionOption] = OPTIONS,
        description: str | None = None,
        scope: str | None = None,
    ) -> bool:
        """Ask the user for permission; only a clear yes is True. A question in words becomes a tool call of its own.

        An always-answer holds for the rest of the session: for tool calls of the same `name`, or else of the same kind
        and title, unless `scope` says what it applies to.
        """
        self._touch()
        self._requests.check_permission(options, description)
        if isinstance(about, str):
            async with self.tool_call(about) as call:  # v1 can ask only about a call, which must not stay open
                return await self.allowed(call, options=options, description=description, scope=scope)
        check_type(about, AgentToolCall, "a tool call or a question as a string")
        about.allowed = await self._requests.permission(about.call, options, description, scope)
        if about.allowed:
            await about.begin()
        return about.allowed

    @requires_await("turn.ask")
    async def ask(
        self, message: str, fields: Mapping[str, Any], *, required: Sequence[str] | None = None
    ) -> dict[str, Any] | None:
        """Ask the user with a form; `fields` are flat JSON Schema properties, all required unless `required` says which.

        None when the user declines, or the client has no forms. Never ask for secrets.
        """
        self._touch()
        return await self._requests.form(message, fields, required)

    @requires_await("turn.ask_to_open")
    async def ask_to_open(self, message: str, url: str, id: str) -> bool:
        """Ask the user to open a URL; False when the user declines, or the client can't ask that."""
        self._touch()
        return await self._requests.url(message, url, id)

    @requires_await("turn.run")
    async def run(
        self,
        *command: str,
        cwd: FilePath | None = None,
        env: Mapping[str, str] | None = None,
        deadline: float | None = None,
        output_limit: int = 1024 * 1024,
        call: AgentToolCall | None = None,
    ) -> CommandResult:
        """Run a command to its end: in the client's terminal where it has them, else here; displayed in `call`.

        A single string with blanks in it is a line for the shell. Past the deadline the command is killed; the result
        has its output so far.
        """
        self._touch()
        from accord.agent.command_runs import CommandRunner  # noqa: PLC0415  # not loaded when an agent starts

        commands = CommandRunner(self._publisher, self.client)
        return await commands.run(command, cwd, env, deadline=deadline, limit=output_limit, call=call)

    @requires_await("turn.servers")
    async def servers(self) -> ServerConnections:
        """The session's MCP servers, once each is connected or has failed; a turn that never asks does not wait for them.

        While it waits, the client shows a pending tool call. Without servers the result has no tools.
        """
        self._touch()
        shows_notices = self.client.capabilities.notices
        return await self._state.servers.wait(self.tool_call, shows_notices=shows_notices)

    async def usage(self, used: int, size: int, cost: float | None = None, currency: str = "USD") -> None:
        """Report the tokens in context, the size of the context, and the cost of the session so far."""
        price = UNSET if cost is None else Cost(amount=cost, currency=currency)
        await self.send(UsagePatch(used=used, size=size, cost=price))

    async def set_title(self, title: str) -> None:
        """Name the session."""
        check_type(title, str, "a string as the title of the session")
        self._touch()
        await self.session.set_title(title)

    async def set_mode(self, mode_id: str) -> None:
        """Switch the session to a mode; ValueError when the agent has no such mode."""
        await self.send(ModePatch(mode_id=mode_id))

    @requires_await("turn.next_prompt")
    async def next_prompt(self) -> list[Content] | None:
        """The next prompt that came during this turn, taken into it; None if there is none. For `busy="steer"`."""
        return await self._state.next_prompt()

    async def send(self, patch: Patch) -> None:
        """Send any update of `accord.session.updates`; ValueError for one that is not valid."""
        self._touch()
        if isinstance(patch, PlanPatch):
            self._publisher.validator.patch(patch)
            plan, plan_ids = patch.plan, self._state.plan_ids
            if plan.id in plan_ids and patch.meta is UNSET and plan == self.session.transcript.plans.get(plan.id):
                return
            plan_ids.add(plan.id)
        await self._publisher.send(patch)

    def _append(self, role: str, content: str | Content) -> bool:
        """Send a piece of a message; returns whether there is room for more."""
        state = self._state
        if isinstance(content, str):
            if state.is_over or state.deadlines.idle is not None:
                self._touch()
            return self._publisher.post_text(role, content)
        patch = self._publisher.validator.patch(MessageAppend(role=role, id=None, content=content))
        self._touch()
        return self._publisher.post(patch)

    def _touch_call(self, call_id: str) -> None:
        if call_id not in self._background_ids:
            self._touch()
