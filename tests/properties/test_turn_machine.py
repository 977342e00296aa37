"""Random sequences of prompts, cancels, answers, crashes and reconnections: whatever happens, turns keep their promises.

Exactly one stop reason for each prompt; every tool call final, and every update told, before that; nobody left waiting
for an answer; a cancel that comes when nothing runs does nothing; what was acknowledged is there after a crash; no task
left behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.properties.turn_world import KINDS, Asked, World
from tests.virtual_clock import VirtualClockLoop

T = TypeVar("T")
CHOICE = st.integers(0, 3)


class Turns(RuleBasedStateMachine):
    version: Any = 1

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner(loop_factory=VirtualClockLoop)
        self.world: Any = None

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        self.runner.run(work)

    @initialize(
        busy=st.sampled_from(["queue", "refuse", "steer"]),
        on_disk=st.booleans(),
        direct=st.booleans(),
        merge_seconds=st.sampled_from([0.0, 0.02]),
    )
    def start(self, busy: str, on_disk: bool, direct: bool, merge_seconds: float) -> None:
        self.world = World(self.version, busy, on_disk, direct, merge_seconds)
        self.run(self.world.start())

    def open_sessions(self) -> list[str]:
        return [] if self.world is None else [id for id, session in self.world.sessions.items() if session is not None]

    def lost_sessions(self) -> list[str]:
        return [] if self.world is None else [id for id, session in self.world.sessions.items() if session is None]

    def open_prompts(self) -> list[Asked]:
        assert self.world is not None
        return [asked for id in self.open_sessions() for asked in self.world.unfinished(id)]

    @precondition(lambda self: bool(self.open_sessions()))
    @rule(which=CHOICE, kind=st.sampled_from(KINDS), is_read=st.booleans(), steps=st.sampled_from([0, 1, 8, 60]))
    def prompt(self, which: int, kind: str, is_read: bool, steps: int) -> None:
        self.run(self.world.prompt(chosen(self.open_sessions(), which), kind, is_read))
        self.run(go_on(steps))

    @precondition(lambda self: bool(self.open_sessions()))
    @rule(which=CHOICE)
    def cancel(self, which: int) -> None:
        self.run(self.world.cancel(chosen(self.open_sessions(), which)))

    # No precondition on what depends on how fast a disk is.
    @precondition(lambda self: bool(self.open_sessions()))
    @rule(which=CHOICE)
    def withdraw(self, which: int) -> None:
        if self.open_prompts():
            self.run(self.world.withdraw(chosen(self.open_prompts(), which)))

    @precondition(lambda self: bool(self.open_sessions()))
    @rule(kind=st.sampled_from(["allow_once", "reject_once", "cancelled"]))
    def answer(self, kind: str) -> None:
        for question in self.world.open_questions()[:1]:
            question.set_result(kind)

    @rule(steps=st.integers(1, 30))
    def go_on(self, steps: int) -> None:
        self.run(go_on(steps))

    @rule(seconds=st.sampled_from([0.03, 0.5, 3.0]))
    def wait(self, seconds: float) -> None:
        self.run(asyncio.sleep(seconds))

    @precondition(lambda self: self.world.client is not None)
    @rule()
    def client_crashes(self) -> None:
        self.run(self.world.crash_client())

    @precondition(lambda self: self.world.client is not None)
    @rule(survivors=st.integers(0, 5))
    def agent_crashes(self, survivors: int) -> None:
        self.run(self.world.crash_agent(survivors))

    @precondition(lambda self: bool(self.open_sessions()))
    @rule(which=CHOICE)
    def close(self, which: int) -> None:
        self.run(self.world.close(chosen(self.open_sessions(), which)))

    @precondition(lambda self: bool(self.lost_sessions()))
    @rule(which=CHOICE, load=st.booleans())
    def take_up(self, which: int, load: bool) -> None:
        self.run(self.world.take_up(chosen(self.lost_sessions(), which), load))

    @invariant()
    def promises_are_kept(self) -> None:
        if self.world is not None:
            self.world.check()

    def teardown(self) -> None:
        try:
            if self.world is not None:
                self.run(self.world.finish())
        finally:
            self.runner.close()


def chosen(things: list[T], which: int) -> T:
    return things[which % len(things)]


async def go_on(steps: int) -> None:
    for _ in range(steps):
        await asyncio.sleep(0)


@pytest.mark.timeout(300)  # for shrinking what failed
@pytest.mark.parametrize("version", [1, 2, "2-draft"], ids=["v1", "v2", "v2-draft"])
def test_turns_keep_their_promises_whatever_happens(version: Any):
    """FN-22, FN-25: also when either side crashes and comes back."""
    machine = type("Turns", (Turns,), {"version": version})
    run_state_machine_as_test(machine, settings=settings(max_examples=40, stateful_step_count=25, deadline=None))


@pytest.mark.parametrize("kind", ["talk", "ask", "hang", "open"])
@pytest.mark.parametrize("version", [1, 2, "2-draft"], ids=["v1", "v2", "v2-draft"])
def test_what_was_acknowledged_survives_a_crash_at_any_step(version: Any, kind: str):
    """FN-61: an agent that vanishes with all that it had not committed, after each step of its loop."""

    async def live(steps: int) -> None:
        world = World(version, "queue", on_disk=False, direct=False, merge_seconds=0.0)
        await world.start()
        session_id = next(iter(world.sessions))
        await world.prompt(session_id, "talk", is_read=True)
        await world.prompt(session_id, kind, is_read=True)
        await go_on(steps)
        for question in world.open_questions():
            if steps % 4:
                question.set_result("allow_once")
                await go_on(steps // 4)
        await world.crash_agent(survivors=0)
        await world.take_up(session_id, load=True)
        await world.prompt(session_id, "talk", is_read=True)
        await world.finish()

    for steps in range(0, 90, 2 if kind == "ask" else 7):
        with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
            runner.run(live(steps))
