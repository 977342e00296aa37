"""The model and its tools, in turns, until the model has said what it has to say.

Law: however the loop ends, the history it leaves can be taken up again.
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
from accord.apps.coder.tools.file_state import ToolContext
from accord.apps.coder.tools.tool_call import call_tools
from accord.apps.coder.tools.toolbox import Toolbox
from accord.session.content import Content
from accord.session.entities import USER, Message
from accord.session.open_enums import StopReason
from accord.session.updates import MessagePatch

__all__ = ["Loop"]

_MOST_STEPS = 20  # of a model that only follows rules, which are short


class Loop:
    """One turn with a model. `project` is what the project's own instructions say."""

    def __init__(
        self, context: ToolContext, toolbox: Toolbox, model: Model, history: list[ChatMessage], project: str
    ) -> None:
        self._context = context
        self._turn = context.turn
        self._toolbox = toolbox
        self._model = model
        self._history = history
        self._project = project
        self._prompt = _last_prompt(context)
        self._is_rejected = False
        usage = context.session.transcript.usage
        self._tokens = 0 if usage is None else usage.used
        self._cost = 0.0 if usage is None or usage.cost is None else usage.cost.amount

    async def run(self, prompt: list[Content]) -> StopReason | None:
        """Answer a prompt; why it ended, None for the usual end."""
        close_requests(self._history)
        before = list(self._history)
        self._history.append(UserMessage(content=prompt))
        try:
            reason = await self._answered()
        finally:
            close_requests(self._history)
        if reason == "refusal":
            self._history[:] = before
            await self._mark_refused()
        if self._is_rejected:  # whatever the model leaves of its plan, nobody goes on with it now
            self._context.session.pause_plans(self._turn.plan_ids)
        return reason

    async def _answered(self) -> StopReason | None:
        most = self._context.settings.max_requests if self._model.is_language_model else _MOST_STEPS
        for _ in range(most):
            await self._make_room()
            spoken, stopped = await self._speak()
            match stopped.reason:
                case "max_tokens" | "refusal" as reason:
                    return reason
                case _:
                    pass
            if spoken.requests:
                await self._call_tools(spoken)
            if not await self._take_steered() and not spoken.requests:
                return None
        return "max_turn_requests"

    async def _speak(self) -> tuple[ModelMessage, Stop]:
        """One request to the model, told as it streams; what came of it is in the history even when it is cut off."""
        spoken, stopped = ModelMessage(requests=[]), Stop(reason="end")
        said: list[str] = []
        try:
            async with aclosing(self._events()) as events:
                async for event in events:
                    match event:
                        case TextDelta(text=text):
                            said.append(text)
                            await self._turn.say(text)
                        case ThoughtDelta(text=text):
                            await self._turn.think(text)
                        case ToolRequest():
                            spoken.requests.append(event)
                        case TokenUsage():
                            await self._count(event)
                        case Stop():
                            stopped = event
        finally:
            spoken = ModelMessage(text="".join(said), requests=spoken.requests, provider_data=stopped.provider_data)
            if spoken.text or spoken.requests:
                self._history.append(spoken)
        return spoken, stopped

    def _events(self) -> AsyncGenerator[Event, None]:
        told = instructions(self._context, self._project)
        asked = ModelRequest(instructions=told, history=list(self._history), tools=self._toolbox.offered(self._context))
        return stream_with_retries(self._model, asked, retries=self._context.settings.retries, on_wait=self._waits)

    async def _waits(self, seconds: float, reason: str) -> None:
        await show_note(self._turn, f"Asking again in {seconds:.0f} s", reason)

    async def _call_tools(self, spoken: ModelMessage) -> None:
        outcomes: list[ToolOutcome] = []
        try:
            await call_tools(self._context, self._toolbox, spoken.requests, outcomes)
        finally:
            close_requests(self._history, outcomes)
            self._is_rejected = self._is_rejected or any(outcome.is_rejected for outcome in outcomes)

    async def _take_steered(self) -> bool:
        """What the user said meanwhile joins the conversation. Who only follows rules does one thing after the other."""
        if not self._model.is_language_model:
            return False
        content = await self._turn.steered()
        if content is None:
            return False
        self._history.append(UserMessage(content=await steering_content(self._context, self._model, content)))
        return True

    async def _count(self, used: TokenUsage) -> None:
        self._tokens = used.input_tokens + used.output_tokens
        self._cost += used.cost or 0.0
        if self._model.context_size:
            await self._turn.usage(self._tokens, self._model.context_size, self._cost or None)

    async def _make_room(self) -> None:
        """A history that nearly fills the model's context is made short, all but a prompt that nobody has answered."""
        size = self._model.context_size
        if not size or self._tokens <= size * self._context.settings.compact_at:
            return
        last = self._history.pop() if isinstance(self._history[-1], UserMessage) else None
        self._tokens = 0  # when it can't be made short, the model itself will say that it is too much
        try:
            with suppress(ModelFailed):
                if await compact(self._turn, self._model, self._history, self._context.settings.retries):
                    self._tokens = size_of(self._history)
        finally:
            if last is not None:
                self._history.append(last)

    async def _mark_refused(self) -> None:
        """Nothing of the turn is told to a model again, not even after a restart."""
        since = list(self._context.session.transcript.timeline)[self._prompt :]
        for prompt in since:
            if isinstance(prompt, Message) and prompt.role == USER:
                await self._turn.tell(MessagePatch(role=USER, id=prompt.id, meta={REFUSED: True}))


def _last_prompt(context: ToolContext) -> int:
    """Where in the timeline it stands."""
    places = enumerate(context.session.transcript.timeline)
    return max((number for number, place in places if isinstance(place, Message) and place.role == USER), default=0)
