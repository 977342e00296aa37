"""Test agents and clients: scripted ends, faulty peers, recorded conversations, and a pytest plugin.

Each name is loaded when it is first used. An agent needs none of them to be tested: `Client(agent)` talks to it in memory.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accord.testing.faults import AnswersFirst, AnswersSwapped, Dies, Fault, Noisy, Silent, Slow, faulty
    from accord.testing.programs import program
    from accord.testing.recording import Recording
    from accord.testing.recording_playback import ReplayedAgent, replay
    from accord.testing.scripted_agent import ScriptedAgent
    from accord.testing.scripted_client import ScriptedClient
    from accord.testing.scripted_end import Heard, Question

__all__ = [
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

_HOMES = {
    "faults": "AnswersFirst AnswersSwapped Dies Fault Noisy Silent Slow faulty",
    "programs": "program",
    "recording": "Recording",
    "recording_playback": "ReplayedAgent replay",
    "scripted_end": "Heard Question",
    "scripted_agent": "ScriptedAgent",
    "scripted_client": "ScriptedClient",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'accord.testing' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"accord.testing.{_HOME_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
