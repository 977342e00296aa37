"""One turn of a session, as a prompt handler holds it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from accord.agent.command_line import CommandResult
from accord.agent.command_runs import CommandRunner
from accord.agent.connection import AgentConnection, trace_context
from accord.agent.deadlines import TurnDeadlines
from accord.agent.definition import TurnPolicy
from accord.agent.files import ClientFiles
from accord.agent.permissions import OPTIONS, ClientQuestions
from accord.agent.session import AgentSession
from accord.agent.tool_calls import AgentToolCall, BackgroundWork, ToolCallContent, to_items
from accord.errors import TurnStopped
from accord.session.content import Content, Text, drop_repeated, render_text, separate_texts, text_of
from accord.session.entities import AGENT, THOUGHT, Cost, Location, Notice, Plan, PlanEntry, TokenUsage
from accord.session.open_enums import STOP_REASONS, NoticeSeverity, StopReason, ToolKind
from accord.session.requests import PermissionOption, Prompt
from accord.session.type_checks import check_type
from accord.session.updates import (
    MessageAppend,
    ModePatch,
    NoticePatch,
    Patch,
    PlanPatch,
    ToolCallPatch,
    UsagePatch,
)
from accord.session.validation import check_token_usage
from accord.session.value import UNSET

if TYPE_CHECKING:
    from accord.agent.mcp import ServerConnections

__all__ = ["NextPrompt", "Turn"]

NextPrompt: TypeAlias = Callable[[], Awaitable[list[Content] | None]]


class Turn:
    """What the user asked, and everything a handler can do about it, in whatever version the client speaks."""

    def __init__(
        self,
        session: AgentSession,
        client: AgentConnection,
        asked: Prompt,
        *,
        policy: TurnPolicy,
        deadlines: TurnDeadlines,
        take_steered: NextPrompt,
    ) -> None:
        self.session = session
        self.content: list[Content] = asked.content
        """The prompt, block by block."""
        self.new_content = drop_repeated(asked.content, session.cancelled_content)
        """The same without what only repeats a prompt that was cancelled: some clients send that again (FN-110)."""
        self.meta = asked.meta or {}
        """The prompt's `_meta`."""
        self.trace = trace_context(asked.meta)
        """The trace context of the prompt, which every request to the client carries on."""
        self.client = client.traced(self.trace, session.validator)
        """Who prompted, and is asked whatever there is to ask."""
        self.command: str | None = None
        """The slash command that was called."""
        self.arguments = ""
        """What stands behind the command."""
        self.is_over = False
        self.is_cancelled = False
        self.requests = 0
        self.tokens = 0
        self.files = ClientFiles(session, self.client)
        self.plan_ids: set[str] = set()
        """The plans that were told in this turn."""
        self._token_usage: TokenUsage | None = None
        self._policy = policy
        self._deadlines = deadlines
        self._questions = ClientQuestions(session, self.client, deadlines)
        self._commands = CommandRunner(session, self.client)
        self._take_steered = take_steered

    @property
    def text(self) -> str:
        """What the user wrote, each block a paragraph; what came with it is in `content` and in `whole_text`."""
        return text_of(separate_texts(block for block in self.content if type(block) is Text))

    @property
    def whole_text(self) -> str:
        """The prompt for a model that reads text only: links and texts that came with it are in their places."""
        return render_text(separate_texts(self.content))

    @property
    def cwd(self) -> Path:
        """The session's directory, absolute."""
        return self.session.cwd

    @property
    def options(self) -> dict[str, str | bool | None]:
        """The value of each option, the mode's included."""
        return self.session.options

    async def say(self, content: str | Content) -> None:
        """Tell the user something, in Markdown; say it piece by piece as it comes."""
        piece = self._piece(AGENT, content)
        if self.is_over or self._deadlines.idle is not None:
            self._touch()
        if not self.session.post(piece):
            await self.session.drain()

    async def think(self, content: str | Content) -> None:
        """Show a thought."""
        piece = self._piece(THOUGHT, content)
        self._touch()
        if not self.session.post(piece):
            await self.session.drain()

    async def notice(self, title: str, description: str | None = None, severity: NoticeSeverity = "info") -> None:
        """Show something that is not part of the conversation; clients that can't will not see it."""
        await self.tell(NoticePatch(notice=Notice(severity=severity, title=title, description=description)))

    async def plan(self, entries: Iterable[str | PlanEntry], id: str = "main") -> None:
        """Show the plan as it is now, complete; nothing is told when the turn has told it just so.

        A turn that fails, is refused or is cancelled leaves nothing of it in progress: such entries are pending again.
        """
        listed = [PlanEntry(content=entry) if isinstance(entry, str) else entry for entry in entries]
        await self.tell(PlanPatch(plan=Plan(id=id, entries=listed)))

    def tool_call(
        self,
        title: str,
        *,
        kind: ToolKind = "other",
        name: str | None = None,
        raw_input: Any = None,
        content: ToolCallContent | Iterable[ToolCallContent] = (),
        locations: Iterable[str | os.PathLike[str] | Location] = (),
        id: str | None = None,
    ) -> AgentToolCall:
        """A tool call: `async with turn.tool_call(...) as call`. What is given here is shown before it is allowed."""
        announcement = ToolCallPatch(
            id=self.session.unused_call_id() if id is None else id,
            title=title,
            kind=kind,
            status="pending",
            name=UNSET if name is None else name,
            raw_input=UNSET if raw_input is None else raw_input,
            content=to_items(content) or UNSET,
            locations=[self._location(place) for place in locations] or UNSET,
            creates=True,
        )
        return AgentToolCall(self.session, announcement, self._touch)

    async def in_background(self, call: AgentToolCall, work: BackgroundWork) -> None:
        """Begin `work(call)`, which goes on beside the turns until it is done or the session is closed.

        Cancelling leaves it alone, and it can't ask the user anything. The call is not entered: `in_background` does.
        """
        self._touch()
        call.outlives_turn()
        await self.session.background.start(call, work)

    async def allowed(
        self,
        about: AgentToolCall | str,
        *,
        options: Sequence[PermissionOption] = OPTIONS,
        description: str | None = None,
        scope: str | None = None,
    ) -> bool:
        """Whether the user allows it; anything but a clear yes is a no. A question in words becomes a call of its own.

        An always-choice holds for the rest of the session: for tool calls of the same `name`, or else of the same kind
        and title, unless `scope` says what it is about.
        """
        self._touch()
        self._questions.check(options, description)
        if isinstance(about, str):
            async with self.tool_call(about) as call:  # v1 can only ask about one, which must not stay open
                return await self.allowed(call, options=options, description=description, scope=scope)
        check_type(about, AgentToolCall, "a tool call or a question in words")
        yes = about.allowed = await self._questions.permission(about, options, description, scope)
        if yes:
            await about.begin()
        return yes

    @property
    def can_ask(self) -> bool:
        """Whether the client can show forms."""
        return self.client.capabilities.form_elicitation

    async def ask(
        self, message: str, fields: Mapping[str, Any], *, required: Sequence[str] | None = None
    ) -> dict[str, Any] | None:
        """Ask the user by a form; `fields` are JSON Schema properties, flat, all required unless told otherwise.

        None when the user declines, or the client has no forms. Never ask for secrets.
        """
        self._touch()
        return await self._questions.form(message, fields, required, None)

    async def ask_to_open(self, message: str, url: str, id: str) -> bool:
        """Whether the user agreed to open the address; False where the client can't ask that."""
        self._touch()
        return await self._questions.url(message, url, id)

    async def run(
        self,
        *command: str,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        deadline: float | None = None,
        output_limit: int = 1024 * 1024,
        call: AgentToolCall | None = None,
    ) -> CommandResult:
        """Run a command to its end: in the client's terminal where it has some, else here; shown in `call`.

        One string with blanks in it is a line for the shell. Past the deadline it is killed, and what it wrote is kept.
        """
        self._touch()
        return await self._commands.run(command, cwd, env, deadline=deadline, limit=output_limit, call=call)

    async def servers(self) -> ServerConnections:
        """The session's MCP servers, once each is connected or has failed; a turn that never asks does not wait for them.

        The client shows a pending tool call while they are waited for. Without servers there are no tools in it.
        """
        self._touch()
        shows_notices = self.client.capabilities.notices
        return await self.session.mcp_servers.wait(self.tool_call, shows_notices=shows_notices)

    async def usage(self, used: int, size: int, cost: float | None = None, currency: str = "USD") -> None:
        """Tell how many tokens are in context, how many fit, and what the session has cost so far."""
        price = UNSET if cost is None else Cost(amount=cost, currency=currency)
        await self.tell(UsagePatch(used=used, size=size, cost=price))

    @property
    def token_usage(self) -> TokenUsage | None:
        """The tokens that the turn took; what is set here is told at its end."""
        return self._token_usage

    @token_usage.setter
    def token_usage(self, usage: TokenUsage | None) -> None:
        if usage is not None:
            check_token_usage(usage)
        self._touch()
        self._token_usage = usage

    async def title(self, title: str) -> None:
        """Name the session."""
        self._touch()
        await self.session.set_title(title)

    async def mode(self, mode_id: str) -> None:
        """Put a mode in force, and tell the client; ValueError when the agent has no such mode."""
        await self.tell(ModePatch(mode_id=mode_id))

    async def steered(self) -> list[Content] | None:
        """What the user said meanwhile, if anything; for agents that are steered while they work."""
        return await self._take_steered()

    def stop(self, reason: StopReason) -> NoReturn:
        """End the turn here, for this reason; one of your own begins with an underscore, such as `_budget`."""
        STOP_REASONS.check(reason)
        raise TurnStopped(reason)

    def count_request(self) -> None:
        """Count a request to the model; past the agent's `max_requests` the turn ends with `max_turn_requests`."""
        self.requests += 1
        if self._policy.max_requests is not None and self.requests > self._policy.max_requests:
            self.stop("max_turn_requests")

    def count_tokens(self, tokens: int) -> None:
        """Count tokens; past the agent's `max_tokens` the turn ends with `max_tokens`."""
        self.tokens += tokens
        if self._policy.max_tokens is not None and self.tokens > self._policy.max_tokens:
            self.stop("max_tokens")

    async def tell(self, report: Patch) -> None:
        """Report anything there is a word for, see `accord.session.updates`; ValueError for what must not be told."""
        self._touch()
        if isinstance(report, PlanPatch):
            self.session.validator.patch(report)
            plan = report.plan
            if plan.id in self.plan_ids and report.meta is UNSET and plan == self.session.transcript.plans.get(plan.id):
                return
            self.plan_ids.add(plan.id)
        await self.session.send(report)

    def _piece(self, role: str, content: str | Content) -> Patch:
        if isinstance(content, str):
            return MessageAppend(role=role, id=None, content=Text(content))
        return self.session.validator.patch(MessageAppend(role=role, id=None, content=content))

    def _touch(self) -> None:
        if self.is_over:
            raise RuntimeError("the turn is over: what is told now would come after its answer; use turn.session")
        self._deadlines.touch()

    def _location(self, place: str | os.PathLike[str] | Location) -> Location:
        if isinstance(place, Location):
            return place
        return Location(path=self.session.absolute(place))
