from __future__ import annotations

import asyncio

import pytest

from accord.peer.required_await import requires_await

ADVICE = r"answer.give\(...\) has no result until it is awaited: write `await answer.give\(...\)`"


class Answer:
    @requires_await("answer.give")
    async def give(self, text: str = "yes") -> str:
        """Give it."""
        await asyncio.sleep(0)
        return text


async def test_it_is_awaited_as_any_coroutine():
    answer = Answer()
    assert await answer.give("a") == "a"
    assert await asyncio.create_task(answer.give("b")) == "b"
    assert await asyncio.wait_for(answer.give("c"), 60) == "c"
    assert await asyncio.gather(answer.give("d"), answer.give("e")) == ["d", "e"]
    async with asyncio.TaskGroup() as group:
        task = group.create_task(answer.give())
        assert "Answer.give" in repr(task)
    assert asyncio.run_coroutine_threadsafe(answer.give(), asyncio.get_running_loop()) is not None


@pytest.mark.parametrize(
    "use",
    [
        bool,
        lambda unawaited: not unawaited,
        lambda unawaited: unawaited == "yes",
        lambda unawaited: unawaited != "yes",
        lambda unawaited: "y" in unawaited,
        list,
        lambda unawaited: f"{unawaited}",
    ],
)
def test_whatever_needs_the_result_says_await(use):
    with pytest.raises(TypeError, match=ADVICE):
        use(Answer().give())


def test_so_does_an_attribute_of_the_result():
    unawaited = Answer().give()
    with pytest.raises(AttributeError, match=ADVICE):
        _ = unawaited.strip  # pyright: ignore[reportAttributeAccessIssue]
    unawaited.close()


def test_one_that_is_only_forgotten_is_warned_about_by_python():
    with pytest.warns(RuntimeWarning, match=r"'Answer\.give' was never awaited"):
        Answer().give()  # pyright: ignore[reportUnusedCoroutine]


def test_name_and_docstring_stay():
    assert (Answer.give.__name__, Answer.give.__doc__) == ("give", "Give it.")
