"""Test agents and clients: scripted ends, faulty peers, recorded conversations, and a pytest plugin.

Each name is loaded when it is first used. An agent needs none of them to be tested: `Client(agent)` talks to it in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the names of _HOMES, for type checkers and editors
    from accord.testing.faults import AnswersFirst as AnswersFirst
    from accord.testing.faults import AnswersSwapped as AnswersSwapped
    from accord.testing.faults import Dies as Dies
    from accord.testing.faults import Fault as Fault
    from accord.testing.faults import Noisy as Noisy
    from accord.testing.faults import Silent as Silent
    from accord.testing.faults import Slow as Slow
    from accord.testing.faults import faulty as faulty
    from accord.testing.programs import program as program
    from accord.testing.recording import Recording as Recording
    from accord.testing.recording_playback import ReplayedAgent as ReplayedAgent
    from accord.testing.recording_playback import replay as replay
    from accord.testing.scripted_agent import ScriptedAgent as ScriptedAgent
    from accord.testing.scripted_client import ScriptedClient as ScriptedClient
    from accord.testing.scripted_end import ReceivedFrame as ReceivedFrame
    from accord.testing.scripted_end import SentRequest as SentRequest

_HOMES = {
    "faults": "AnswersFirst AnswersSwapped Dies Fault Noisy Silent Slow faulty",
    "programs": "program",
    "recording": "Recording",
    "recording_playback": "ReplayedAgent replay",
    "scripted_agent": "ScriptedAgent",
    "scripted_client": "ScriptedClient",
    "scripted_end": "ReceivedFrame SentRequest",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = list(_HOME_OF)  # pyright: ignore[reportUnsupportedDunderAll]  # it reads the imports above

if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(__import__(f"accord.testing.{_HOME_OF[name]}", fromlist=[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
