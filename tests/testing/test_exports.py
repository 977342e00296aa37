from __future__ import annotations

import subprocess
import sys

from accord import testing

# A name that leaves this list breaks somebody's tests; a new one is a promise. Either way: on purpose.
PUBLIC = [
    "AnswersFirst",
    "AnswersSwapped",
    "Dies",
    "Fault",
    "Heard",
    "Noisy",
    "Question",
    "Recording",
    "ReplayedAgent",
    "ScriptedAgent",
    "ScriptedClient",
    "Silent",
    "Slow",
    "faulty",
    "program",
    "replay",
]


def test_the_public_names_are_these():
    assert sorted(testing.__all__) == sorted(PUBLIC)


def test_every_public_name_can_be_had():
    for name in PUBLIC:
        assert callable(getattr(testing, name))
        assert name in dir(testing)


def test_a_name_that_does_not_exist_is_an_attribute_error():
    assert not hasattr(testing, "Nothing")


def test_the_plugin_costs_nothing_until_it_is_used():
    program = """
import sys, pytest
before = set(sys.modules)
import accord.testing.plugin
print(sorted(name for name in set(sys.modules) - before if not name.startswith("accord")))
print(sorted(name for name in sys.modules if name.startswith("accord")))
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.splitlines() == ["[]", "['accord', 'accord.testing', 'accord.testing.plugin']"]
