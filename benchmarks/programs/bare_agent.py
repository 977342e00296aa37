"""The floor's agent: msgspec structs on blocking pipes, one system call per frame."""

from __future__ import annotations

import os

import msgspec

from benchmarks.programs.bare_pipe import receive_lines, send_line
from benchmarks.programs.floor_types import (
    AgentMessageChunk,
    FromClient,
    Implementation,
    Initialize,
    InitializeResult,
    NewSession,
    NewSessionResult,
    Prompt,
    PromptResult,
    SetMode,
    SetModeResult,
    Success,
    Text,
    Update,
    UpdateParams,
)
from benchmarks.programs.payloads import AGENT_NAME, PROTOCOL_VERSION, SESSION_ID, read_order, text_of

ENCODER = msgspec.json.Encoder()


def send(message: Success | Update) -> None:
    frame = bytearray()
    ENCODER.encode_into(message, frame)
    send_line(1, frame)


def answer(request: FromClient) -> Success:
    match request:
        case SetMode():
            return Success(request.id, SetModeResult())
        case Prompt():
            count, size, _ = read_order(request.params.prompt[0].text)
            text = text_of(size)
            for _ in range(count):
                update = AgentMessageChunk(Text(text))
                send(Update(params=UpdateParams(request.params.session_id, update)))
            return Success(request.id, PromptResult("end_turn"))
        case Initialize():
            return Success(request.id, InitializeResult(PROTOCOL_VERSION, Implementation(AGENT_NAME, str(os.getpid()))))
        case NewSession():
            return Success(request.id, NewSessionResult(SESSION_ID))


def serve() -> None:
    decoder = msgspec.json.Decoder(FromClient)
    for frame in receive_lines(0):
        send(answer(decoder.decode(frame)))


if __name__ == "__main__":
    serve()
