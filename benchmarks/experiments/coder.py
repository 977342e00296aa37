"""The coding agent: its start, what it adds to each token, and what loading a provider's library delays.

The provider is Anthropic, whose library takes longest to load, with a server on this machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from benchmarks.child_processes import RawAgent, run_program, start_command, time_command
from benchmarks.contenders import Contender
from benchmarks.cpus import Cpus
from benchmarks.experiments.experiment import Experiment, Readings, Scale
from benchmarks.model_server import ModelServer, model_server

__all__ = ["EXPERIMENTS"]

CODER = Contender("coder", label="accord")
_IMPORT = Contender("import msgspec")
_OFFLINE = Contender("coder", label="model offline")
_SECOND = Contender("coder", label="second prompt")
_PROVIDER = ["--model", "anthropic:claude-bench"]
_PAUSE = 0.002
_PROMPT = [{"type": "text", "text": "Hello"}]


@contextmanager
def _started(*arguments: str, server: ModelServer | None = None) -> Iterator[RawAgent]:
    command = [sys.executable, "-m", "accord", "agent", *arguments]
    with start_command(command, server.variables if server else None) as program:
        yield RawAgent(program)


def _start(contender: Contender, scale: Scale) -> Readings:
    laps: list[float] = []
    for _ in range(scale.starts * 3):
        if contender is not CODER:
            laps.append(time_command("-c", contender.program))
            continue
        started = time.perf_counter()
        with _started() as agent:
            agent.initialize()
            laps.append(time.perf_counter() - started)
    return {"time": median(laps) * 1e3}


def _tokens(contender: Contender, scale: Scale) -> Readings:
    return {"cpu": run_program("coder_tokens", str(scale.updates))["seconds"] * 1e6}


def _provider_start(contender: Contender, scale: Scale) -> Readings:
    """From the start to an open session, with a model that needs a library and with one that needs none."""
    laps: list[float] = []
    with model_server() as server:
        for _ in range(scale.starts):
            started = time.perf_counter()
            with _started(*(_PROVIDER if contender is CODER else []), server=server) as agent:
                agent.initialize()
                agent.new_session()
                laps.append(time.perf_counter() - started)
    return {"time": median(laps) * 1e3}


def _provider_stall(contender: Contender, scale: Scale) -> Readings:
    """The longest wait for a response between the start of a session and the first request to the provider."""
    with model_server() as server, _started(*_PROVIDER, server=server) as agent:
        agent.initialize()
        session_id = agent.new_session()
        prompt = agent.send("session/prompt", sessionId=session_id, prompt=_PROMPT)
        longest = 0.0
        while not server.arrivals:
            sent = time.perf_counter()
            agent.response_to(agent.send("_benchmarks/unknown"))  # an error response is a response
            longest = max(longest, time.perf_counter() - sent)
            time.sleep(_PAUSE)
        agent.response_to(prompt)
    return {"wait": longest * 1e3}


def _provider_prompt(contender: Contender, scale: Scale) -> Readings:
    """From a prompt, sent after the time that a user types, to the request that reaches the provider."""
    with model_server() as server, _started(*_PROVIDER, server=server) as agent:
        agent.initialize()
        session_id = agent.new_session()
        if contender is CODER:
            time.sleep(scale.typing_seconds)
        else:
            agent.request("session/prompt", sessionId=session_id, prompt=_PROMPT)
        sent = time.perf_counter()
        agent.request("session/prompt", sessionId=session_id, prompt=_PROMPT)
        return {"time": (server.arrivals[-1] - sent) * 1e3}


EXPERIMENTS = {
    "coder-start": Experiment((CODER, _IMPORT), _start),
    "coder-tokens": Experiment((CODER,), _tokens, Cpus.ONE),
    "provider-start": Experiment((CODER, _OFFLINE), _provider_start),
    "provider-stall": Experiment((CODER,), _provider_stall),
    "provider-prompt": Experiment((CODER, _SECOND), _provider_prompt),
}
