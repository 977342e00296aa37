"""The model loop: requests to the model and tool calls in turn, until the model has finished its answer.

Law: however the loop ends, a model can continue with the history that it leaves.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from accord.apps.coder.compaction import compact, size_of
from accord.apps.coder.errors import ModelFailed
from accord.apps.coder.history import REFUSED, close_requests
from accord.apps.coder.instructions import instructions
from accord.apps.coder.models.model import (
    ChatMessage,
    Event,
    Model,
    ModelMessage,
    ModelRequest,
    Stop,
    TextDelta,
    ThoughtDelta,
    TokenUsage,
    ToolOutcome,
    ToolRequest,
    UserMessage,
)
from accord.apps.coder.models.retry import stream_with_retries
from accord.apps.coder.prompt_content import show_note, steering_content
from accord.apps.coder.tools.tool import ToolContext
from accord.apps.coder.tools.tool_call import Toolbox, call_tools
from accord.session.content import Content
from accord.session.entities import USER, Message
from accord.session.open_enums import StopReason
from accord.session.updates import MessagePatch

_MAX_OFFLINE_STEPS = 20


class ModelLoop:
    """One turn with a model. `project` is the text of the project's own instructions."""

    def __init__(self, context: ToolContext, toolbox: Toolbox, model: Model, project: str) -> None:
        self._context = context
        self._turn = context.turn
        self._toolbox = toolbox
        self._model = model
        self._history: list[ChatMessage] = context.session.state["history"]
        self._project = project
        self._prompt_index = _last_prompt(context)
        self._is_rejected = False
        usage = context.session.transcript.usage
        self._tokens = 0 if usage is None else usage.used
        self._cost = 0.0 if usage is None or usage.cost is None else usage.cost.amount

    async def run(self, prompt: list[Content]) -> StopReason | None:
        """Answer a prompt; returns why the turn ended, None for the usual end."""
        close_requests(self._history)
        before = list(self._history)
        self._history.append(UserMessage(content=prompt))
        try:
            reason = await self._run()
        finally:
            close_requests(self._history)
        if reason == "refusal":
            self._history[:] = before
            await self._mark_refused()
        if self._is_rejected:  # whatever the plan says, nobody continues with it now
            await self._turn.pause_plans()
        return reason

    async def _run(self) -> StopReason | None:
        limit = self._context.settings.max_requests if self._model.is_language_model else _MAX_OFFLINE_STEPS
        for _ in range(limit):
            await self._make_room()
            message, stop = await self._request()
            if stop.reason in ("max_tokens", "refusal"):
                return stop.reason
            if message.requests:
                await self._call_tools(message)
            if not await self._take_steering() and not message.requests:
                return None
        return "max_turn_requests"

    async def _request(self) -> tuple[ModelMessage, Stop]:
        """One request to the model, shown as it streams. The answer is in the history even if it is cut off."""
        message, stop = ModelMessage(requests=[]), Stop(reason="end")
        texts: list[str] = []
        try:
            async with aclosing(self._events()) as events:
                async for event in events:
                    match event:
                        case TextDelta(text=text):
                            texts.append(text)
                            await self._turn.say(text)
                        case ThoughtDelta(text=text):
                            await self._turn.think(text)
                        case ToolRequest():
                            message.requests.append(event)
                        case TokenUsage():
                            await self._count(event)
                        case Stop():
                            stop = event
        finally:
            message = ModelMessage(text="".join(texts), requests=message.requests, provider_data=stop.provider_data)
            if message.text or message.requests:
                self._history.append(message)
        return message, stop

    def _events(self) -> AsyncGenerator[Event, None]:
        request = ModelRequest(
            instructions=instructions(self._context, self._project),
            history=list(self._history),
            tools=self._toolbox.descriptions(self._context),
        )
        return stream_with_retries(
            self._model, request, retries=self._context.settings.retries, on_wait=self._show_wait
        )

    async def _show_wait(self, seconds: float, reason: str) -> None:
        await show_note(self._turn, f"Retrying in {seconds:.0f} s", reason)

    async def _call_tools(self, message: ModelMessage) -> None:
        outcomes: list[ToolOutcome] = []
        try:
            await call_tools(self._context, self._toolbox, message.requests, outcomes)
        finally:
            close_requests(self._history, outcomes)
            self._is_rejected = self._is_rejected or any(outcome.failure == "rejected" for outcome in outcomes)

    async def _take_steering(self) -> bool:
        """Add what the user wrote meanwhile to the conversation. The offline model does one thing after the other."""
        if not self._model.is_language_model:
            return False
        content = await self._turn.next_prompt()
        if content is None:
            return False
        self._history.append(UserMessage(content=await steering_content(self._context, self._model, content)))
        return True

    async def _count(self, usage: TokenUsage) -> None:
        self._tokens = usage.input_tokens + usage.output_tokens
        self._cost += usage.cost or 0.0
        if self._model.context_size:
            await self._turn.usage(self._tokens, self._model.context_size, self._cost or None)

    async def _make_room(self) -> None:
        """Compact a history that nearly fills the model's context, all but a prompt that is not answered yet."""
        size = self._model.context_size
        if not size or self._tokens <= size * self._context.settings.compact_at:
            return
        prompt = self._history.pop() if isinstance(self._history[-1], UserMessage) else None
        self._tokens = 0  # if it can't be compacted, the model itself will report that it is too long
        try:
            with suppress(ModelFailed):
                if await compact(self._turn, self._model, self._history, self._context.settings.retries):
                    self._tokens = size_of(self._history)
        finally:
            if prompt is not None:
                self._history.append(prompt)

    async def _mark_refused(self) -> None:
        """The model never gets anything of this turn again, not even after a restart."""
        for item in list(self._context.session.transcript.timeline)[self._prompt_index :]:
            if isinstance(item, Message) and item.role == USER:
                await self._turn.send(MessagePatch(role=USER, id=item.id, meta={REFUSED: True}))


def _last_prompt(context: ToolContext) -> int:
    """The index of the last prompt in the timeline."""
    items = enumerate(context.session.transcript.timeline)
    return max((index for index, item in items if isinstance(item, Message) and item.role == USER), default=0)
