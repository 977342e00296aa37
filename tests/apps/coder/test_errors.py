from __future__ import annotations

import pickle
import re

import pytest

from accord.apps.coder import errors
from accord.apps.coder.errors import (
    AnswerCutOff,
    CoderFailed,
    FileMissing,
    InvalidSettings,
    ModelFailed,
    ModelNeedsKey,
    ModelOverloaded,
    ModelUnreachable,
    ToolFailed,
)

EACH = [
    ModelFailed("It broke", "Repair it."),
    ModelNeedsKey("OPENAI_API_KEY", "openai"),
    ModelNeedsKey("OPENAI_API_KEY", "openai", "openai refused the key"),
    ModelOverloaded("Busy", "Wait.", 2.5),
    ModelUnreachable("Nobody there", "Start it."),
    AnswerCutOff("openai:gpt-5", "connection lost"),
    ToolFailed("it failed"),
    FileMissing("file not found: a.py"),
    InvalidSettings("config.toml: mode", "unknown mode"),
]


def test_the_tree_in_the_docstring_is_the_tree_in_the_code():
    drawn = set(re.findall(r"^ *│? *[├└]─ (\w+)", errors.__doc__ or "", re.MULTILINE))
    defined = {name for name, value in vars(errors).items() if getattr(value, "__module__", "") == errors.__name__}
    assert drawn | {"CoderFailed"} == {name for name in defined if not name.startswith("_")}


@pytest.mark.parametrize("failure", EACH, ids=repr)
def test_each_is_told_in_full_and_survives_pickling(failure: CoderFailed):
    again = pickle.loads(pickle.dumps(failure))
    assert type(again) is type(failure)
    assert str(again) == str(failure)
    assert vars(again) == vars(failure)


def test_a_failure_of_a_model_says_what_happened_and_what_helps():
    assert str(ModelFailed("It broke", "Repair it.")) == "It broke. Repair it."
    assert str(ModelFailed("It broke")) == "It broke"
    assert "OPENAI_API_KEY" in str(ModelNeedsKey("OPENAI_API_KEY", "openai"))
    assert str(ModelNeedsKey("K", "openai", "openai refused the key")).startswith("openai refused the key. Set K")
