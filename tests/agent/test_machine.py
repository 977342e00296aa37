"""Random sequences of prompts, cancels and answers: whatever happens, a turn keeps its promises."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.agent import Turn
from accord.errors import ConnectionClosed, RequestCancelled
from accord.session.content import Text
from accord.session.requests import Cancel, PermissionAnswer, Prompt, RequestPermission
from accord.session.updates import StateChanged
from tests.agent.user import User, plain_agent
from tests.virtual_clock import run

STEPS = st.lists(
    st.sampled_from(["prompt", "ask", "hang", "fail", "cancel", "allow", "reject", "withdraw", "tick"]), max_size=14
)


class Story:
    """One connection; every prompt's outcome is written down."""

    def __init__(self, version: Any, steps: list[str], crash: bool) -> None:
        self.version = version
        self.steps = steps
        self.crash = crash
        self.prompts: list[asyncio.Task[str]] = []
        self.calls: list[Any] = []
        self.questions: list[asyncio.Future[str]] = []
        self.running = 0

    async def tell(self) -> None:
        agent = plain_agent(slow_loop_seconds=None, cancel_grace=1.0)

        @agent.prompt
        async def work(turn: Turn) -> None:
            assert self.running == 0, "two turns at once"
            self.running += 1
            try:
                await turn.say(f"<{turn.text}>")
                async with turn.tool_call("Work") as call:
                    if turn.text == "ask":
                        await turn.allowed(call)
                    if turn.text == "hang":
                        await asyncio.Event().wait()
                    if turn.text == "fail":
                        raise ValueError("broken on purpose")
            finally:
                self.running -= 1

        async with User(agent, self.version) as user:
            user.answers[RequestPermission] = self.question
            session = await user.new_session()
            for step in self.steps:
                await self.do(step, user, session)
            if not self.crash:
                await self.finish(user, session)
                self.check(user, session)
        for prompt in self.prompts:
            assert prompt.done()
        assert self.running == 0

    async def question(self, asked: RequestPermission) -> PermissionAnswer:
        answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.questions.append(answered)
        kind = await answered
        return PermissionAnswer(
            outcome="selected", option_id=next(option.id for option in asked.options if option.kind == kind)
        )

    async def do(self, step: str, user: User, session: str) -> None:
        match step:
            case "cancel":
                await user.tell(Cancel(session_id=session))
            case "allow" | "reject":
                for question in self.questions:
                    if not question.done():
                        question.set_result(f"{step}_once")
            case "tick":
                for _ in range(5):
                    await asyncio.sleep(0)
            case "withdraw":
                if self.calls:
                    self.calls[-1].cancel()
            case kind:
                assert user.dialect is not None
                asked = Prompt(session_id=session, content=[Text(kind)])
                call = user.peer.call(*user.dialect.request_to_wire(asked))
                self.calls.append(call)
                self.prompts.append(asyncio.create_task(self.outcome(call)))

    async def outcome(self, call: Any) -> str:
        try:
            result = msgspec.json.decode(await call)
        except RequestCancelled:
            return "withdrawn"
        except ConnectionClosed:
            return "closed"
        except Exception:  # noqa: BLE001  # an outcome like any other
            return "failed"
        return result.get("stopReason", "inserted")

    async def finish(self, user: User, session: str) -> None:
        while not all(prompt.done() for prompt in self.prompts) or self.running:
            await user.tell(Cancel(session_id=session))
            await asyncio.sleep(0.01)
        await asyncio.sleep(5.0)

    def check(self, user: User, session: str) -> None:
        transcript = user.transcripts[session]
        assert all(call.finished for call in transcript.tool_calls.values())
        outcomes = [prompt.result() for prompt in self.prompts]
        assert "closed" not in outcomes
        if self.version == 2:
            ends = [change for change in user.changes if isinstance(change, StateChanged)]
            idle = [change.state.stop_reason for change in ends if change.state.state == "idle"]
            assert len(idle) == outcomes.count("inserted")
            assert None not in idle
            assert not ends or ends[-1].state.state == "idle"
        else:
            assert set(outcomes) <= {"end_turn", "cancelled", "failed", "withdrawn"}
        assert user.frames.count(("received", b"")) == 0


@settings(max_examples=60)
@given(version=st.sampled_from([1, 2, "2-draft"]), steps=STEPS, crash=st.booleans())
def test_a_turn_keeps_its_promises(version, steps, crash):
    run(Story(version, steps, crash).tell())
