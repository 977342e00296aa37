from __future__ import annotations

from accord.schema import v1
from accord.schema.v2_draft import METHODS


def test_the_methods_are_those_of_v1_and_the_new_names_of_v2() -> None:
    assert v1.METHODS.keys() <= METHODS.keys()
    assert METHODS.keys() - v1.METHODS.keys() == {"auth/login", "auth/logout", "tool_call/cancel", "terminal/cancel"}
