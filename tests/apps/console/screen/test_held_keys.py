"""Which key is held down, told by nothing but when it comes."""

from __future__ import annotations

import pytest

from accord.apps.console.screen import keys as screen_keys
from accord.apps.console.screen.keys import HeldKeys


@pytest.fixture
def noted(monkeypatch):
    """What is known after these keys, each with its time."""

    def noted(*keys: tuple[str, float]) -> HeldKeys:
        pressed = HeldKeys()
        for key, at in keys:
            monkeypatch.setattr(screen_keys, "monotonic", lambda at=at: 1000.0 + at)
            pressed.record(key)
        return pressed

    return noted


@pytest.mark.parametrize("delay", [0.25, 0.5, 0.66])
def test_a_key_repeats_at_last_after_two_thirds_of_a_second(noted, delay):
    assert not noted(("y", 0.0)).is_held("y")
    assert noted(("y", 0.0), ("y", delay)).is_held("y")
    assert noted(("y", 0.0), ("y", delay), ("y", delay + 0.03), ("y", delay + 0.1)).is_held("y")


def test_a_key_that_is_hammered_is_pressed_again(noted):
    assert not noted(("y", 0.0), ("y", 0.3), ("y", 0.6)).is_held("y")


def test_a_key_that_comes_later_is_pressed_again(noted):
    assert not noted(("escape", 0.0), ("escape", 0.03), ("escape", 1.0)).is_held("escape")


def test_a_key_after_another_is_pressed_again(noted):
    assert not noted(("y", 0.0), ("n", 0.1), ("y", 0.2)).is_held("y")


def test_what_came_since_does_not_make_a_held_key_a_pressed_one(noted):
    assert noted(("escape", 0.0), ("escape", 0.5), ("x", 0.51)).is_held("escape")


def test_a_key_is_not_held_for_ever(noted):
    assert not noted(("escape", 0.0), ("escape", 0.5), ("enter", 9.0)).is_held("escape")
