"""Time is virtual here: a wait of minutes takes none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest

from accord.apps.coder.errors import ModelFailed, ModelNeedsKey, ModelOverloaded, ModelUnreachable
from accord.apps.coder.models.model import Event, InputKinds, ModelRequest, Stop, TextDelta
from accord.apps.coder.models.retry import OnWait, stream_with_retries
from tests.virtual_clock import run

BUSY = ModelOverloaded("busy")


class Scripted:
    """Each request gets the next of these: events, and then maybe a failure."""

    name, input_kinds, context_size, is_language_model = "scripted", InputKinds(), None, True

    def __init__(self, *answers: Sequence[Event | ModelFailed]) -> None:
        self.answers = list(answers)
        self.requests: list[float] = []
        self.closed = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        self.requests.append(asyncio.get_running_loop().time())
        try:
            for each in self.answers.pop(0):
                if isinstance(each, ModelFailed):
                    raise each
                yield each
        finally:
            self.closed += 1

    async def aclose(self) -> None: ...


DONE: list[Event | ModelFailed] = [TextDelta("Hello"), Stop("end")]


def events(model: Scripted, retries: int = 4, on_wait: OnWait | None = None) -> list[Event]:
    async def main() -> list[Event]:
        request = ModelRequest("", [])
        return [event async for event in stream_with_retries(model, request, retries=retries, on_wait=on_wait)]

    return run(main())


@pytest.mark.parametrize("failure", [BUSY, ModelUnreachable("nobody there")], ids=["busy", "unreachable"])
def test_a_model_that_could_not_begin_is_asked_again_after_longer_and_longer_waits(failure: ModelFailed):
    model = Scripted([failure], [failure], [failure], DONE)
    waits: list[tuple[float, str]] = []
    assert events(model, on_wait=lambda seconds, reason: waits.append((seconds, reason))) == DONE
    assert model.requests == [0, 1, 3, 7]
    assert waits == [(1, failure.reason), (2, failure.reason), (4, failure.reason)]


def test_the_wait_that_the_provider_asks_for_is_kept():
    model = Scripted([ModelOverloaded("busy", retry_after=17.5)], DONE)
    assert events(model) == DONE
    assert model.requests == [0, 17.5]


def test_waits_do_not_grow_without_end():
    model = Scripted(*[[BUSY]] * 8, DONE)
    assert events(model, retries=8) == DONE
    assert model.requests[-1] - model.requests[-2] == 30


@pytest.mark.parametrize("retries", [0, 2])
def test_after_so_many_tries_the_failure_is_told(retries: int):
    model = Scripted(*[[BUSY]] * 5)
    with pytest.raises(ModelOverloaded):
        events(model, retries=retries)
    assert len(model.requests) == retries + 1


def test_a_wait_that_is_too_long_is_the_users_decision():
    model = Scripted([ModelOverloaded("busy", retry_after=3600)], DONE)
    with pytest.raises(ModelOverloaded):
        events(model)
    assert model.requests == [0]


@pytest.mark.parametrize("failure", [BUSY, ModelUnreachable("gone")], ids=["busy", "unreachable"])
def test_once_a_token_was_streamed_nothing_is_asked_again(failure: ModelFailed):
    model = Scripted([TextDelta("He"), failure], DONE)
    with pytest.raises(type(failure)):
        events(model)
    assert len(model.requests) == 1


@pytest.mark.parametrize("failure", [ModelFailed("no such model"), ModelNeedsKey("KEY", "somebody")])
def test_what_waiting_does_not_help_is_told_at_once(failure: ModelFailed):
    model = Scripted([failure], DONE)
    with pytest.raises(type(failure)):
        events(model)
    assert len(model.requests) == 1


def test_who_is_told_of_a_wait_may_take_time_for_it():
    model = Scripted([BUSY], DONE)

    async def tell(seconds: float, reason: str) -> None:
        await asyncio.sleep(5)

    assert events(model, on_wait=tell) == DONE
    assert model.requests == [0, 6]


def test_a_cancel_ends_the_wait():
    async def main() -> None:
        reading = asyncio.create_task(anext(stream_with_retries(model, ModelRequest("", []))))
        await asyncio.sleep(0.5)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    model = Scripted([BUSY], DONE)
    run(main())
    assert model.requests == [0]


def test_leaving_closes_the_answer():
    async def main() -> None:
        reading = stream_with_retries(model, ModelRequest("", []))
        await anext(reading)
        await reading.aclose()

    model = Scripted(DONE)
    run(main())
    assert model.closed == 1
