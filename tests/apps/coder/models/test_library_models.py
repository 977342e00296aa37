"""pydantic-ai's own models for tests are models of ours too, so the loop can be tested with them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest
from pydantic_ai.messages import ModelMessage as Message
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel

from accord.apps.coder.errors import ModelFailed
from accord.apps.coder.models.catalog import ModelEndpoint
from accord.apps.coder.models.model import (
    ChatMessage,
    InputKinds,
    ModelMessage,
    Stop,
    TextDelta,
    ToolMessage,
    ToolOutcome,
    ToolRequest,
    UserMessage,
)
from accord.apps.coder.models.providers import ProviderModel
from accord.apps.coder.settings.settings import ModelSettings
from accord.session.content import Image, Resource, ResourceLink, Text
from accord.session.value import Unknown
from tests.apps.coder.models.asking import answer, ask, requested, said


async def test_the_test_model_calls_its_tools_and_then_speaks():
    model = ProviderModel(TestModel(custom_output_text="All done"))
    assert model.name == "test:test"
    events = await answer(model, "go")
    (request,) = requested(events)
    assert request.name == "read"
    assert events[-1] == Stop("tools")
    outcome = ToolOutcome(id=request.id, name="read", text="content")
    events = await answer(model, "go", ModelMessage(requests=[request]), ToolMessage([outcome]))
    assert said(events) == "All done"
    assert events[-1] == Stop("end")


async def test_a_function_model_streams_what_its_function_yields():
    async def speak(messages: list[Message], info: AgentInfo) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        assert info.instructions == "Be brief."
        assert [tool.name for tool in info.function_tools] == ["read"]
        yield "One"
        yield " two"
        yield {1: DeltaToolCall(name="read", json_args='{"path"', tool_call_id="c1")}
        yield {1: DeltaToolCall(json_args=': "a"}')}

    events = await answer(ProviderModel(FunctionModel(stream_function=speak)), "go")
    assert events[:2] == [TextDelta("One"), TextDelta(" two")]
    assert requested(events) == [ToolRequest(id="c1", name="read", arguments='{"path": "a"}')]
    assert events[-1] == Stop("tools")


async def seen_by_the_library(*history: ChatMessage, takes: Sequence[str] = ()) -> list[Message]:
    seen: list[Message] = []

    async def listen(messages: list[Message], info: AgentInfo) -> AsyncIterator[str]:
        seen.extend(messages)
        yield "ok"

    settings = ModelSettings(takes={"function:ears": list(takes)})
    await answer(
        ProviderModel(
            FunctionModel(stream_function=listen), endpoint=ModelEndpoint("function:ears", settings), settings=settings
        ),
        *history,
    )
    return seen


async def test_text_blocks_become_one_text_since_many_local_models_know_nothing_else():
    (message,) = await seen_by_the_library(UserMessage([Text(text="One"), Text(text="two")]))
    assert isinstance(message, ModelRequest)
    (part,) = message.parts
    assert isinstance(part, UserPromptPart)
    assert part.content == "One\n\ntwo"


async def test_every_kind_of_block_has_words_for_a_model_that_takes_only_text():
    blocks = [
        Image(data="AAAA", mime_type="image/png"),
        ResourceLink(uri="file:///a.py", name="a.py"),
        Resource(uri="file:///b.py", text="b = 1"),
        Resource(uri="file:///c.bin", blob="AAAA"),
        Unknown(tag="hologram", raw={"type": "hologram"}),
    ]
    (message,) = await seen_by_the_library(UserMessage(list(blocks)))
    content = str(message.parts)
    for words in ("image, left out", "[a.py](file:///a.py)", "b = 1", "c.bin", "hologram, left out"):
        assert words in content


async def test_a_picture_whose_base64_is_broken_is_named_instead_of_sent():
    broken = UserMessage([Image(data="A", mime_type="image/png")])
    (message,) = await seen_by_the_library(broken, takes=["image"])
    assert "invalid base64" in str(message.parts)


async def test_an_answer_with_nothing_in_it_is_not_sent_back():
    seen = await seen_by_the_library(UserMessage([Text(text="a")]), ModelMessage(), UserMessage([Text(text="b")]))
    assert [type(message) for message in seen] == [ModelRequest, ModelRequest]


@pytest.mark.parametrize(
    "kept", ["no JSON", "[]", '[{"kind": "request", "parts": []}]', '[{"kind": "response", "parts": []}]']
)
async def test_what_was_kept_by_another_version_or_provider_gives_way_to_the_plain_words(kept: str):
    request = ToolRequest(id="c1", name="read", arguments="{oops")
    told = ModelMessage(text="Reading", requests=[request], provider_data=kept)
    seen = await seen_by_the_library(
        UserMessage([Text(text="a")]), told, ToolMessage([ToolOutcome("c1", "read", "no")])
    )
    spoken = seen[1]
    assert isinstance(spoken, ModelResponse)
    assert [type(part) for part in spoken.parts] == [TextPart, ToolCallPart]
    result = seen[2].parts[0]
    assert isinstance(result, ToolReturnPart)
    assert (result.tool_call_id, result.content) == ("c1", "no")


async def test_a_function_that_fails_is_a_model_that_failed():
    async def fail(messages: list[Message], info: AgentInfo) -> AsyncIterator[str]:
        yield "One"
        raise RuntimeError("out of ideas")

    model = ProviderModel(FunctionModel(stream_function=fail))
    with pytest.raises(ModelFailed, match="was cut off: out of ideas"):
        await answer(model, "go")


async def test_the_settings_say_what_it_takes_and_how_much():
    settings = ModelSettings(takes={"test:test": ["image"]}, context_sizes={"test:test": 1000})
    model = ProviderModel(TestModel(), settings=settings)
    assert model.input_kinds == InputKinds(image=True)
    assert model.context_size == 1000
    assert model.is_language_model


async def test_leaving_early_is_no_failure():
    stream = ProviderModel(TestModel(custom_output_text="One two three", call_tools=[])).stream(ask("go", tools=[]))
    await anext(stream)
    await stream.aclose()
