"""The floor's client: msgspec structs on blocking pipes, one system call per frame."""

from __future__ import annotations

import subprocess
from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from benchmarks.programs.bare_pipe import receive_lines, send_line
from benchmarks.programs.client_program import Options, measure, read_options, report
from benchmarks.programs.floor_types import (
    AgentMessageChunk,
    FromAgent,
    FromClient,
    Initialize,
    InitializeParams,
    InitializeResult,
    NewSession,
    NewSessionParams,
    NewSessionResult,
    Prompt,
    PromptParams,
    PromptResult,
    SetMode,
    SetModeParams,
    SetModeResult,
    Text,
)
from benchmarks.programs.payloads import MODE_ID, PROTOCOL_VERSION, write_order

Result = TypeVar("Result")

ENCODER = msgspec.json.Encoder()
SET_MODE_RESULT = msgspec.json.Decoder(SetModeResult)


class Connected:
    """Its coroutines block instead of waiting, so nothing needs an event loop."""

    def __init__(self, agent: subprocess.Popen[bytes]) -> None:
        assert agent.stdin
        assert agent.stdout
        self.output = agent.stdin.fileno()
        self.frames = map(msgspec.json.Decoder(FromAgent).decode, receive_lines(agent.stdout.fileno()))
        self.last_id = -1
        initialized = self.ask(Initialize(id=self.next_id(), params=InitializeParams(PROTOCOL_VERSION)))
        self.agent_pid = int(msgspec.json.decode(initialized, type=InitializeResult).agent_info.version)
        opened = self.ask(NewSession(id=self.next_id(), params=NewSessionParams("/", [])))
        self.session_id = msgspec.json.decode(opened, type=NewSessionResult).session_id

    def next_id(self) -> int:
        self.last_id += 1
        return self.last_id

    def send(self, request: FromClient) -> None:
        frame = bytearray()
        ENCODER.encode_into(request, frame)
        send_line(self.output, frame)

    def receive_answer(self, request_id: int) -> msgspec.Raw:
        answer = next(self.frames)
        assert answer.id == request_id
        assert answer.result is not UNSET
        return answer.result

    def ask(self, request: FromClient) -> msgspec.Raw:
        self.send(request)
        return self.receive_answer(request.id)

    async def prompt(self, count: int, size: int) -> int:
        params = PromptParams(self.session_id, [Text(write_order(count, size))])
        self.send(Prompt(id=self.next_id(), params=params))
        received = 0
        for frame in self.frames:
            if frame.params is UNSET:
                assert frame.id == self.last_id
                assert frame.result is not UNSET
                msgspec.json.decode(frame.result, type=PromptResult)
                break
            assert isinstance(frame.params.update, AgentMessageChunk)
            received += len(frame.params.update.content.text)
        return received

    async def set_mode(self) -> None:
        SET_MODE_RESULT.decode(self.ask(SetMode(id=self.next_id(), params=SetModeParams(self.session_id, MODE_ID))))

    async def in_flight(self, count: int) -> None:
        # The agent's answers to all of them fit into its pipe, so it never stops reading.
        first = self.last_id + 1
        for _ in range(count):
            self.send(SetMode(id=self.next_id(), params=SetModeParams(self.session_id, MODE_ID)))
        for request_id in range(first, first + count):
            SET_MODE_RESULT.decode(self.receive_answer(request_id))


def run_blocking(main: Coroutine[Any, Any, Result]) -> Result:
    try:
        main.send(None)
    except StopIteration as finished:
        return finished.value
    raise RuntimeError("something waited for an event loop")


def converse(options: Options) -> dict[str, float]:
    with subprocess.Popen(options.agent_command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        return run_blocking(measure(options, Connected(agent)))


if __name__ == "__main__":
    given = read_options("bare_agent")
    report(converse(given))
