"""How the tests of the models ask one."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from accord.apps.coder.errors import ModelFailed
from accord.apps.coder.models.model import (
    ChatMessage,
    Event,
    Model,
    ModelMessage,
    ModelRequest,
    Stop,
    TextDelta,
    ThoughtDelta,
    ToolDescription,
    ToolRequest,
    UserMessage,
)
from accord.apps.coder.models.open_models import open_model
from accord.apps.coder.settings.settings import ModelSettings
from accord.session.content import Text
from tests.model_server.server import ModelServer

READ = ToolDescription(
    name="read",
    description="Read a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)

NAMES = {
    "openai": "openai:scripted",  # a compatible server: the chat API
    "openai-responses": "openai-responses:gpt-5",
    "anthropic": "anthropic:claude-scripted",
    "google": "google:gemini-scripted",
}
"""A model of each API that the model server speaks, by its provider."""


def user(text: str) -> UserMessage:
    return UserMessage([Text(text=text)])


def ask(*history: ChatMessage | str, tools: list[ToolDescription] | None = None) -> ModelRequest:
    past = [user(each) if isinstance(each, str) else each for each in history]
    return ModelRequest("Be brief.", past, [READ] if tools is None else tools)


async def answer(model: Model, *history: ChatMessage | str) -> list[Event]:
    return [event async for event in model.stream(ask(*history))]


async def answer_until_it_fails(model: Model, *history: ChatMessage | str) -> tuple[list[Event], ModelFailed]:
    events: list[Event] = []
    try:
        async for event in model.stream(ask(*history)):
            events.append(event)  # noqa: PERF401  # what came before the failure is of interest
    except ModelFailed as failed:
        return events, failed
    raise AssertionError("it did not fail")


def said(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def thought(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, ThoughtDelta))


def requested(events: list[Event]) -> list[ToolRequest]:
    return [event for event in events if isinstance(event, ToolRequest)]


def spoken(events: list[Event]) -> ModelMessage:
    """The answer as the loop keeps it."""
    stopped = events[-1]
    assert isinstance(stopped, Stop)
    return ModelMessage(text=said(events), requests=requested(events), provider_data=stopped.provider_data)


@asynccontextmanager
async def scripted(provider: str, replies: list[Any], **settings: Any) -> AsyncGenerator[tuple[Model, ModelServer]]:
    """A model of this provider whose answers are these replies."""
    async with ModelServer(replies) as server:
        url = server.url if provider in ("anthropic", "google") else f"{server.url}/v1"
        told = ModelSettings(base_urls={provider: url}, **settings)
        model = await open_model(NAMES[provider], told, {})
        try:
            yield model, server
        finally:
            await model.aclose()
