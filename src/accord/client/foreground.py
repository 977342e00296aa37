"""Foreground work of a session: the tool calls and plans that a turn opens, and how they are closed when it ends.

Law: nothing that nobody will finish stays open. Calls and plans that were open before the turn, and background work, are
not the turn's own: they stay as they are. A call that an earlier turn left without a result belongs to nobody: if the agent
updates it after that turn, it is open again until the next turn ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from accord.session import Transcript
from accord.session.entities import USER, Message, Plan, State, ToolCall
from accord.session.limits import LimitedDict
from accord.session.updates import Patch, PlanPatch, ToolCallAppend, ToolCallPatch


class Foreground:
    """The turns of one session: ours, and in v2 also those that others prompt for. `take` gets the patches that close."""

    def __init__(self, transcript: Transcript, take: Callable[[Patch, int], None]) -> None:
        self._transcript = transcript
        self._take = take
        self._open_before: set[str] | None = None
        """The calls that were open when the turn began; None while no turn runs."""
        self._reopened: set[str] = set()
        """The calls that an earlier turn had left without a result and that were updated since."""
        self._reopened_plans: set[str] = set()
        self._plans: LimitedDict[bool] = LimitedDict()
        """The plans that were updated in the turn."""
        self._refusals: LimitedDict[bool] = LimitedDict()
        self._has_refusal = False

    def is_background(self, id: str | None) -> bool:
        """Whether a tool call or terminal runs in the background, where a cancel does not reach it."""
        return id is not None and any(work.id == id for work in self._transcript.state.background or ())

    def begin(self) -> None:
        """A turn begins; what is open now belongs to something else. No effect while a turn runs."""
        if self._open_before is None:
            self._open_before = {call.id for call in self._transcript.open_calls} - self._reopened

    def note_update(self, patch: Patch) -> None:
        """A patch will be applied. What was left without a result is open again, until the turn ends."""
        if isinstance(patch, ToolCallPatch | ToolCallAppend):
            call = self._transcript.tool_calls.get(patch.id)
            if call is not None and call.ended_without_result:
                self._reopened.add(patch.id)
        elif isinstance(patch, PlanPatch) and not patch.plan.ended_without_result:
            plan = self._transcript.plans.get(patch.plan.id)
            if self._open_before is not None:
                self._plans.put(patch.plan.id, True)
            elif plan is not None and plan.ended_without_result:
                self._reopened_plans.add(plan.id)

    def begin_call(self, tool_call_id: str) -> None:
        """A call begins, perhaps under the id of an earlier one: it belongs to the turn that runs."""
        if self._open_before is not None:
            self._open_before.discard(tool_call_id)
            self._reopened.discard(tool_call_id)

    def begin_replay(self) -> None:
        """A history will be replayed: nobody works on what it leaves open."""
        self._open_before = set()

    def end_earlier(self) -> None:
        """A history was replayed and the agent is still busy: close what precedes its last prompt."""
        timeline = self._transcript.timeline
        prompts = [index for index, entry in enumerate(timeline) if isinstance(entry, Message) and entry.role == USER]
        before = {entry.id for entry in timeline[: max(prompts, default=0)] if isinstance(entry, ToolCall)}
        for id in [id for id in self._open_calls() if id in before]:
            self._close_call(id)

    def note_refusal(self, tool_call_id: str | None) -> None:
        """The user refused permission. Some agents never update such a call again."""
        if self._open_before is not None:
            self._has_refusal = True
            if tool_call_id is not None:
                self._refusals.put(tool_call_id, True)

    def cancel(self) -> None:
        """Mark the open calls of the turn as cancelled, until the agent says otherwise (CANCEL-03)."""
        for id in [id for id in self._open_calls() if id not in self._reopened]:
            self._take(ToolCallPatch(id=id, status="cancelled"), 0)

    def end(self, *, is_clean: bool) -> None:
        """The turn ended: close the calls that it opened and, unless it ended cleanly, the plans that it left in progress."""
        for id in list(self._open_calls()):
            if id in self._refusals:
                self._take(ToolCallPatch(id=id, status="cancelled"), 0)
            else:
                self._close_call(id)
        if self._open_before is not None:
            self._end_plans(is_clean=is_clean and not self._has_refusal)
            self._reopened.clear()
        self._open_before, self._has_refusal = None, False
        self._refusals.clear()

    def rest(self, state: State) -> None:
        """A turn that was not ours ended with this idle state."""
        self.end(is_clean=(state.stop_reason or "end_turn") == "end_turn")

    def _end_plans(self, *, is_clean: bool) -> None:
        plans = self._transcript.plans
        own = [] if is_clean else [id for id in plans if id in self._plans]
        for id in (*own, *self._reopened_plans):
            if id in plans and (id not in self._plans or not is_clean):
                self._close_plan(plans[id])
        self._reopened_plans.clear()
        self._plans.clear()

    def close_all(self, *, is_closed_here: bool = False) -> None:
        """The agent is gone: close everything that is open, background work included.

        If this side closed the connection (`is_closed_here`), a plan between two turns stays as its turn left it.
        """
        transcript, is_resting = self._transcript, self._open_before is None
        for call in transcript.open_calls:
            self._close_call(call.id)
        for plan in [] if is_closed_here and is_resting else list(transcript.plans.values()):
            self._close_plan(plan)

    def _open_calls(self) -> Iterator[str]:
        before = self._open_before
        if before is None:
            return
        for call in self._transcript.open_calls:
            if call.id not in before and not self.is_background(call.id):
                yield call.id

    def _close_call(self, id: str) -> None:
        self._take(ToolCallPatch(id=id, ended_without_result=True), 0)

    def _close_plan(self, plan: Plan) -> None:
        if not plan.ended_without_result and any(entry.status == "in_progress" for entry in plan.entries):
            self._take(PlanPatch(plan=replace(plan, ended_without_result=True)), 0)
