"""The real provider code of pydantic-ai, through every API that the model server speaks."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from accord.apps.coder.errors import AnswerCutOff, ModelFailed, ModelNeedsKey, ModelOverloaded, ModelUnreachable
from accord.apps.coder.models.model import (
    ModelMessage,
    ModelRequest,
    Stop,
    TextDelta,
    TokenUsage,
    ToolMessage,
    ToolOutcome,
    ToolRequest,
    UserMessage,
)
from accord.apps.coder.models.open_models import open_model
from accord.apps.coder.models.retry import stream_with_retries
from accord.apps.coder.settings.settings import ModelSettings
from accord.session.content import Audio, Content, Image, Text
from tests.apps.coder.models.asking import (
    NAMES,
    answer,
    answer_until_it_fails,
    ask,
    requested,
    said,
    scripted,
    spoken,
    thought,
    user,
)
from tests.model_server.server import ModelServer

every_api = pytest.mark.parametrize("provider", NAMES)
PIXEL = base64.b64encode(b"a picture").decode()


@every_api
async def test_text_thoughts_and_usage_are_streamed(provider: str):
    reply = {
        "parts": [{"thinking": ["Let me", " see"]}, {"text": ["Good", " day"]}],
        "usage": {"input": 7, "output": 9},
    }
    async with scripted(provider, [reply]) as (model, _):
        events = await answer(model, "hello")
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Good", " day"]
    assert thought(events) == "Let me see"
    assert [event for event in events if isinstance(event, TokenUsage)] == [TokenUsage(7, 9, None)]
    assert isinstance(events[-1], Stop)
    assert events[-1].reason == "end"


@every_api
@pytest.mark.parametrize("interleaved", [False, True])
async def test_parallel_tool_calls_are_told_when_their_arguments_are_complete(provider: str, interleaved: bool):
    calls = [{"tool": "read", "arguments": {"path": "a/long/path"}}, {"tool": "read", "arguments": {"path": "b"}}]
    async with scripted(provider, [{"parts": calls, "interleaved": interleaved}]) as (model, _):
        events = await answer(model, "read both")
    assert [(each.name, each.arguments.replace(" ", "")) for each in requested(events)] == [
        ("read", '{"path":"a/long/path"}'),
        ("read", '{"path":"b"}'),
    ]
    assert len({each.id for each in requested(events)}) == 2
    assert isinstance(events[-1], Stop)
    assert events[-1].reason == "tools"


@every_api
async def test_an_answer_and_the_outcomes_of_its_calls_go_back_as_they_came(provider: str):
    first = {
        "parts": [{"thinking": "Hm"}, {"text": "Reading."}, {"tool": "read", "arguments": {"path": "a"}, "id": "c1"}]
    }
    last = {"when": {"tool_result": True, "last_user": "look"}, "parts": [{"text": "Done."}]}
    async with scripted(provider, [first, last]) as (model, server):
        events = await answer(model, "look")
        outcome = ToolOutcome(id=requested(events)[0].id, name="read", text="no such file\nat all", is_error=True)
        assert said(await answer(model, "look", spoken(events), ToolMessage([outcome]))) == "Done."
    sent = server.requests[-1]["body"]
    assert _signature(provider, sent) is not None, "the provider gets its own signature back"
    assert "no such file\\nat all" in _json(sent)


@every_api
async def test_the_instructions_the_tools_and_the_settings_are_sent(provider: str):
    async with scripted(provider, [{"parts": [{"text": "Yes"}]}], max_tokens=77) as (model, server):
        await answer(model, "hello")
    sent = _json(server.requests[0]["body"])
    assert "Be brief." in sent
    assert "Read a file." in sent
    assert "77" in sent


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])  # models that reason at length take none
async def test_the_temperature_of_the_settings_is_sent(provider: str):
    async with scripted(provider, [{"parts": [{"text": "Yes"}]}], temperature=0.25) as (model, server):
        await answer(model, "hello")
    assert "0.25" in _json(server.requests[0]["body"])


@every_api
async def test_what_one_request_asks_for_goes_before_the_settings(provider: str):
    async with scripted(provider, [{"parts": [{"text": "Yes"}]}], max_tokens=77) as (model, server):
        asked = ModelRequest("", [user("hello")], max_tokens=33)
        assert isinstance([event async for event in model.stream(asked)][-1], Stop)
    assert "33" in _json(server.requests[0]["body"])
    assert "77" not in _json(server.requests[0]["body"])


@every_api
async def test_pictures_go_to_models_that_take_them(provider: str):
    picture = UserMessage([Text(text="What is this?"), Image(data=PIXEL, mime_type="image/png")])
    async with scripted(provider, [{"parts": [{"text": "A cat"}]}], takes={NAMES[provider]: ["image"]}) as (
        model,
        server,
    ):
        await answer(model, picture)
    assert PIXEL in _json(server.requests[0]["body"])


@every_api
@pytest.mark.parametrize("block", [Image(data=PIXEL, mime_type="image/png"), Audio(data=PIXEL, mime_type="audio/wav")])
async def test_what_a_model_does_not_take_is_named_in_its_place(provider: str, block: Content):
    """A history may hold what an earlier model of the session took."""
    async with scripted(provider, [{"parts": [{"text": "?"}]}], takes={NAMES[provider]: []}) as (model, server):
        await answer(model, UserMessage([block]))
    sent = _json(server.requests[0]["body"])
    assert PIXEL not in sent
    assert "left out" in sent


@every_api
async def test_a_picture_in_an_outcome_goes_to_models_that_take_it(provider: str):
    request = ToolRequest(id="c1", name="read", arguments='{"path": "a.png"}')
    outcome = ToolOutcome(id="c1", name="read", text="a picture", content=[Image(data=PIXEL, mime_type="image/png")])
    async with scripted(provider, [{"parts": [{"text": "A cat"}]}], takes={NAMES[provider]: ["image"]}) as (
        model,
        server,
    ):
        await answer(model, "look", ModelMessage(requests=[request]), ToolMessage([outcome]))
    assert PIXEL in _json(server.requests[0]["body"])


@every_api
@pytest.mark.parametrize(
    ("finish", "reason"), [("stop", "end"), ("length", "max_tokens"), ("refusal", "refusal"), ("tools", "end")]
)
async def test_why_it_stopped_is_told(provider: str, finish: str, reason: str):
    async with scripted(provider, [{"parts": [{"text": "Well"}], "finish": finish}]) as (model, _):
        events = await answer(model, "hello")
    assert isinstance(events[-1], Stop)
    assert events[-1].reason == reason


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
async def test_a_call_that_was_cut_short_by_the_limit_is_no_call(provider: str):
    reply = {"parts": [{"text": "Now"}, {"tool": "read", "arguments": '{"path": "a/lo'}], "finish": "length"}
    async with scripted(provider, [reply]) as (model, _):
        events = await answer(model, "hello")
    assert requested(events) == []
    assert events[-1] == Stop("max_tokens")


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
async def test_malformed_arguments_are_handed_on_exactly_and_can_be_sent_back(provider: str):
    replies = [{"parts": [{"tool": "read", "arguments": '{"path": oops'}]}, {"parts": [{"text": "Sorry"}]}]
    async with scripted(provider, replies) as (model, server):
        events = await answer(model, "hello")
        (request,) = requested(events)
        assert request.arguments == '{"path": oops'
        outcome = ToolOutcome(id=request.id, name="read", text="malformed", is_error=True)
        assert said(await answer(model, "hello", spoken(events), ToolMessage([outcome]))) == "Sorry"
    assert "oops" in _json(server.requests[-1]["body"])


async def test_googles_malformed_call_is_a_failure_that_says_so():
    async with scripted("google", [{"parts": [{"tool": "read", "arguments": "{oops"}]}]) as (model, _):
        with pytest.raises(ModelFailed, match="failed in the middle"):
            await answer(model, "hello")


async def test_thoughts_do_not_go_to_another_provider():
    async with scripted("anthropic", [{"parts": [{"thinking": "secret"}, {"text": "Hello"}]}]) as (model, _):
        first = spoken(await answer(model, "hi"))
    async with scripted("openai", [{"parts": [{"text": "Hello"}]}]) as (model, server):
        await answer(model, "hi", first, "and now?")
    sent = _json(server.requests[0]["body"])
    assert "Hello" in sent
    assert "secret" not in sent


@every_api
@pytest.mark.parametrize("fault", ["cut", "unfinished", "error", "garbage"])
async def test_a_stream_that_breaks_in_the_middle_says_so(provider: str, fault: str):
    async with scripted(provider, [{"fault": fault, "parts": [{"text": ["One", " two"]}]}]) as (model, _):
        events, failed = await answer_until_it_fails(model, "hello")
    assert "was cut off" in str(failed)
    assert said(events) == "One two"
    assert type(failed) is AnswerCutOff, "not an error that is retried"
    assert "send another prompt" in failed.advice


@every_api
@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
async def test_a_busy_or_broken_provider_is_worth_another_try(provider: str, status: int):
    fault = {"fault": "status", "status": status, "retry_after": 12, "message": "come back later"}
    async with scripted(provider, [fault]) as (model, server):
        with pytest.raises(ModelOverloaded, match="come back later") as failed:
            await answer(model, "hello")
    assert failed.value.retry_after == 12
    assert len(server.requests) == 1, "asking again is ours, not the library's"


@every_api
async def test_an_overload_told_inside_the_stream_before_any_token_is_one_too(provider: str):
    fault = {"fault": "error", "type": "UNAVAILABLE" if provider == "google" else "overloaded_error"}
    async with scripted(provider, [fault]) as (model, _):
        with pytest.raises(ModelOverloaded):
            await answer(model, "hello")


@every_api
async def test_a_refused_key_names_its_variable(provider: str):
    async with scripted(provider, [{"fault": "status", "status": 401, "message": "bad key"}]) as (model, _):
        with pytest.raises(ModelNeedsKey, match="bad key") as failed:
            await answer(model, "hello")
    assert failed.value.variable.endswith("_API_KEY")


@every_api
async def test_a_model_that_is_not_there_is_named_with_the_address(provider: str):
    async with scripted(provider, [{"fault": "status", "status": 404, "message": "unknown model"}]) as (model, server):
        with pytest.raises(ModelFailed, match="has no model") as failed:
            await answer(model, "hello")
    assert NAMES[provider].partition(":")[2] in str(failed.value)
    assert server.url in str(failed.value)


@every_api
async def test_a_conversation_that_is_too_long_says_how_to_shorten_it(provider: str):
    fault = {"fault": "status", "status": 400, "message": "prompt is too long: 300000 tokens > 200000 maximum"}
    async with scripted(provider, [fault]) as (model, _):
        with pytest.raises(ModelFailed, match="/compact"):
            await answer(model, "hello")


@every_api
async def test_nobody_at_the_address_is_told_with_the_address(provider: str):
    async with ModelServer([]) as server:
        url = server.url
    model = await open_model(NAMES[provider], ModelSettings(base_urls={provider: url}), {})
    with pytest.raises(ModelUnreachable, match=url):
        await answer(model, "hello")
    await model.aclose()


@every_api
async def test_it_is_asked_again_until_it_can(provider: str):
    busy = {"fault": "status", "status": 429, "retry_after": 0}
    waits: list[tuple[float, str]] = []
    async with scripted(provider, [busy, busy, {"parts": [{"text": "Hello"}]}]) as (model, server):
        asking = stream_with_retries(
            model, ask("hello"), on_wait=lambda seconds, reason: waits.append((seconds, reason))
        )
        assert said([event async for event in asking]) == "Hello"
    assert len(server.requests) == 3
    assert [seconds for seconds, _ in waits] == [0, 0]


@every_api
async def test_leaving_a_stream_closes_the_connection_at_once(provider: str):
    async with scripted(provider, [{"fault": "hang", "parts": [{"text": ["One", " two"]}]}]) as (model, server):
        stream = model.stream(ask("hello"))
        assert await anext(stream) == TextDelta("One")
        await stream.aclose()
        assert await server.ended(1) == "gone"


@every_api
@pytest.mark.parametrize("parts", [[], [{"text": "One"}]], ids=["before the first token", "between tokens"])
async def test_cancelling_who_waits_for_a_token_closes_the_connection_at_once(provider: str, parts: list[Any]):
    async with scripted(provider, [{"fault": "hang", "parts": parts}]) as (model, server):
        reading = asyncio.create_task(answer(model, "hello"))
        await server.asked(1)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert await server.ended(1) == "gone"


@every_api
async def test_two_sessions_ask_one_model_at_once(provider: str):
    replies = [
        {"when": {"last_user": "first"}, "parts": [{"text": "to the first"}], "pause": 0.01},
        {"when": {"last_user": "second"}, "parts": [{"text": "to the second"}]},
        {"when": {"last_user": "third"}, "fault": "hang"},
    ]
    async with scripted(provider, replies) as (model, _):
        third = asyncio.create_task(answer(model, "third"))
        first, second = await asyncio.gather(answer(model, "first"), answer(model, "second"))
        third.cancel()
    assert (said(first), said(second)) == ("to the first", "to the second")


async def test_a_model_can_be_closed_twice():
    async with scripted("openai", []) as (model, _):
        await model.aclose()


async def test_a_provider_that_does_not_exist_is_told_with_those_that_do():
    with pytest.raises(ModelFailed, match=r"Did you mean 'openai'\? Known providers are .*anthropic.*base URL"):
        await open_model("opnai:gpt-5", ModelSettings(), {})


async def test_a_provider_whose_package_is_missing_says_what_to_install():
    with pytest.raises(ModelFailed, match=r'pip install "pydantic-ai-slim\[groq\]"'):
        await open_model("groq:llama", ModelSettings(), {"GROQ_API_KEY": "k"})


async def test_any_name_with_an_address_is_a_server_that_speaks_the_chat_api():
    async with ModelServer([{"parts": [{"text": "Hello"}]}]) as server:
        settings = ModelSettings(
            base_urls={"mine": f"{server.url}/v1"},
            environment={"MINE_API_KEY": "sesame"},
            context_sizes={"mine:a/b": 4096},
        )
        model = await open_model("mine:a/b", settings, {})
        assert model.context_size == 4096
        assert said(await answer(model, "hi")) == "Hello"
        await model.aclose()
    assert server.requests[0]["api"] == "openai-chat"
    assert server.requests[0]["body"]["model"] == "a/b"
    assert server.requests[0]["headers"]["authorization"] == "Bearer sesame"


async def test_a_server_on_this_machine_gets_a_connection_for_each_request():
    """Some, such as llama.cpp, hang up after an answer, and the next request would be lost with the connection."""
    async with scripted("openai", [{"times": 0, "parts": [{"text": "Hello"}]}]) as (model, server):
        await answer(model, "one")
        await answer(model, "two")
    assert server.requests[0]["from_port"] != server.requests[1]["from_port"]


async def test_a_known_provider_can_be_asked_at_another_address():
    async with ModelServer([{"parts": [{"text": "Hello"}]}]) as server:
        model = await open_model(
            "deepseek:deepseek-chat", ModelSettings(base_urls={"deepseek": f"{server.url}/v1"}), {}
        )
        assert said(await answer(model, "hi")) == "Hello"
        await model.aclose()


async def test_the_key_of_the_environment_is_used_and_the_process_environment_left_alone(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of the process")
    async with ModelServer([{"parts": [{"text": "Hello"}]}]) as server:
        settings = ModelSettings(
            base_urls={"anthropic": server.url}, environment={"ANTHROPIC_API_KEY": "of the config"}
        )
        model = await open_model("anthropic:claude-scripted", settings)
        await answer(model, "hi")
        await model.aclose()
    assert server.requests[0]["headers"]["authorization"] == "Bearer of the config"


async def test_the_context_and_the_price_of_a_known_model_are_known():
    model = await open_model("openai:gpt-5", ModelSettings(), {"OPENAI_API_KEY": "k"})
    assert model.context_size == 400_000
    await model.aclose()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _signature(provider: str, sent: Any) -> str | None:
    """What the script signed a thought or a call with, where the provider's API has it."""
    match provider:
        case "openai":
            return next((each["reasoning_content"] for each in sent["messages"] if "reasoning_content" in each), None)
        case "openai-responses":
            return next((each["encrypted_content"] for each in sent["input"] if each.get("type") == "reasoning"), None)
        case "anthropic":
            blocks = [block for message in sent["messages"] for block in message["content"]]
            return next((block["signature"] for block in blocks if block["type"] == "thinking"), None)
        case _:
            parts = [part for content in sent["contents"] for part in content["parts"]]
            return next((part["thoughtSignature"] for part in parts if "thoughtSignature" in part), None)
