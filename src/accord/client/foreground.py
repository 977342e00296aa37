"""The foreground work of a session: what it has opened, and what becomes of that when it ends.

Law: what nobody will finish is not left open. Calls and plans that were there before it, and work in the background, are
not its own, and stay as they are. What an earlier turn had left without a result is nobody's: if the agent tells more of
it after that turn, it is open again, until the next turn ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from accord.session.entities import USER, Message, Plan, ToolCall
from accord.session.limits import LimitedDict
from accord.session.updates import PlanPatch, ToolCallPatch

if TYPE_CHECKING:
    from accord.client.session import Session

__all__ = ["Foreground"]


class Foreground:
    """One session's turns: ours, and in v2 also those that others ask for."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._open_before: set[str] | None = None
        """The calls that were open when it began; None while nothing is done."""
        self._left_before: set[str] = set()
        """The calls that an earlier turn had left without a result by then, also if more was told of them since."""
        self._plans_before: dict[str, Plan] = {}
        self._left: set[str] = set()
        self._left_plans: set[str] = set()
        self._refused: LimitedDict[bool] = LimitedDict()
        self._was_refused = False

    def begin(self) -> None:
        """A turn begins; what is open now belongs to something else. Without effect while one runs."""
        if self._open_before is None:
            transcript = self._session.transcript
            calls = transcript.tool_calls.items()
            self._left_before = {id for id, call in calls if call.ended_without_result or id in self._left}
            self._open_before = {id for id, call in calls if not call.finished} - self._left_before
            self._plans_before = dict(transcript.plans)

    def began(self, tool_call_id: str) -> None:
        """A call begins, perhaps under the id of an earlier one: it belongs to what is done now."""
        if self._open_before is not None:
            self._open_before.discard(tool_call_id)
            self._left_before.discard(tool_call_id)

    def begin_replay(self) -> None:
        """A history will be told: whatever it leaves open, nobody works on."""
        self._open_before = set()

    def end_earlier(self) -> None:
        """A history was told to which the agent is still adding: close what stands before its last prompt."""
        timeline = self._session.transcript.timeline
        prompts = [number for number, place in enumerate(timeline) if isinstance(place, Message) and place.role == USER]
        before = {place.id for place in timeline[: max(prompts, default=0)] if isinstance(place, ToolCall)}
        for id in [id for id in self._open_calls() if id in before]:
            self._close_call(id)

    def refused(self, tool_call_id: str | None) -> None:
        """The user has said no. Some agents say nothing more about such a call."""
        if self._open_before is not None:
            self._was_refused = True
            if tool_call_id is not None:
                self._refused.put(tool_call_id, True)

    def cancel(self) -> None:
        """Mark its open calls as cancelled, until the agent says otherwise (CANCEL-03)."""
        for id in [id for id in self._open_calls() if id not in self._left_before]:
            self._session.take(ToolCallPatch(id=id, status="cancelled"), 0)

    def end(self, *, is_clean: bool) -> None:
        """Close the calls that it opened, and unless it ended as it should the plans that it leaves running."""
        for id in list(self._open_calls()):
            if id in self._refused:
                self._session.take(ToolCallPatch(id=id, status="cancelled"), 0)
            else:
                self._close_call(id)
        if self._open_before is not None:
            self._end_plans(is_clean=is_clean and not self._was_refused)
            calls = self._session.transcript.tool_calls.items()
            self._left = {id for id, call in calls if call.ended_without_result}
        self._open_before, self._plans_before, self._was_refused = None, {}, False
        self._left_before.clear()
        self._refused.clear()

    def _end_plans(self, *, is_clean: bool) -> None:
        plans = self._session.transcript.plans
        for plan in list(plans.values()):
            is_own = self._plans_before.get(plan.id) is not plan
            if (is_own and not is_clean) or (not is_own and plan.id in self._left_plans):
                self._close_plan(plan)
        self._left_plans = {id for id, plan in plans.items() if plan.ended_without_result}

    def lose_all(self, *, is_left: bool = False) -> None:
        """The agent is gone, and with it all that it did, also in the background.

        If it was us who left, a plan between two turns is not broken off by that: it stays as its turn has left it.
        """
        transcript, is_resting = self._session.transcript, self._open_before is None
        for id in [id for id, call in transcript.tool_calls.items() if not call.finished]:
            self._close_call(id)
        for plan in [] if is_left and is_resting else list(transcript.plans.values()):
            self._close_plan(plan)

    def _open_calls(self) -> Iterator[str]:
        before, session = self._open_before, self._session
        if before is None:
            return
        for id, call in session.transcript.tool_calls.items():
            if not call.finished and id not in before and not session.in_background(id):
                yield id

    def _close_call(self, id: str) -> None:
        self._session.take(ToolCallPatch(id=id, ended_without_result=True), 0)

    def _close_plan(self, plan: Plan) -> None:
        if not plan.ended_without_result and any(entry.status == "in_progress" for entry in plan.entries):
            self._session.take(PlanPatch(plan=replace(plan, ended_without_result=True)), 0)
