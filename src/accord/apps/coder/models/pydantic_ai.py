"""Converts our messages to those of pydantic-ai, and its responses to ours.

An answer goes back to its provider exactly as it came (`provider_data`), with the signatures of its thoughts: Anthropic,
OpenAI and Google reject or ignore thoughts without them. To any other provider it goes back as plain text, without thoughts.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

import msgspec
from pydantic import ValidationError
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.messages import ModelMessage as Message
from pydantic_ai.tools import ToolDefinition

from accord.apps.coder.models.model import (
    ChatMessage,
    InputKinds,
    ModelMessage,
    StopReason,
    ToolDescription,
    ToolMessage,
    ToolOutcome,
    ToolRequest,
    UserMessage,
)
from accord.session.content import Audio, Content, Image, Resource, ResourceLink, Text

# Providers whose API can mark a result as an error. For others the library would wrap the text in JSON and escape its lines.
_WITH_ERROR_FLAG = ("anthropic", "bedrock", "google", "google-cloud")


def messages_of(history: Sequence[ChatMessage], kinds: InputKinds, provider: str) -> list[Message]:
    """The history for a model of this provider; content of a kind that it does not accept is replaced by a note."""
    messages: list[Message] = []
    for message in history:
        match message:
            case UserMessage():
                messages.append(ModelRequest([UserPromptPart(_joined_text(_blocks(message.content, kinds)))]))
            case ToolMessage():
                messages.append(ModelRequest([_outcome(outcome, kinds, provider) for outcome in message.outcomes]))
            case ModelMessage():
                response = _restored(message, provider) or _plain_response(message)
                if response.parts:  # providers reject an empty answer
                    messages.append(response)
    return messages


def _plain_response(message: ModelMessage) -> ModelResponse:
    parts: list[ModelResponsePart] = [TextPart(message.text)] if message.text else []
    parts += [ToolCallPart(each.name, each.arguments, each.id) for each in message.requests]
    return ModelResponse(parts)


def _restored(message: ModelMessage, provider: str) -> ModelResponse | None:
    if message.provider_data is None:
        return None
    try:
        (response,) = ModelMessagesTypeAdapter.validate_json(message.provider_data)
    except (ValidationError, ValueError):  # written by another version of the library
        return None
    return response if isinstance(response, ModelResponse) and response.provider_name == provider else None


def _outcome(outcome: ToolOutcome, kinds: InputKinds, provider: str) -> ToolReturnPart:
    blocks = _blocks(outcome.content, kinds)
    return ToolReturnPart(
        tool_name=outcome.name,
        content=[outcome.text, *blocks] if blocks else outcome.text,
        tool_call_id=outcome.id,
        outcome="failed" if outcome.is_error and provider in _WITH_ERROR_FLAG else "success",
    )


def _blocks(blocks: Sequence[Content], kinds: InputKinds) -> list[UserContent]:
    return [_block(block, kinds) for block in blocks]


def _joined_text(content: list[UserContent]) -> str | list[UserContent]:
    """One text if all of it is text: the templates of many local models support nothing else."""
    texts = [each for each in content if isinstance(each, str)]
    return "\n\n".join(texts) if len(texts) == len(content) else content


def _block(block: Content, kinds: InputKinds) -> UserContent:
    match block:
        case Text():
            return block.text
        case Image():
            return _binary(block.data, block.mime_type, "image", is_accepted=kinds.image)
        case Audio():
            return _binary(block.data, block.mime_type, "audio", is_accepted=kinds.audio)
        case ResourceLink():
            return f"[{block.name}]({block.uri})"
        case Resource():
            return f'<resource uri="{block.uri}">\n{block.text or "(binary data, left out)"}\n</resource>'
        case _:
            return f"({block.tag}, left out: unknown kind of content)"


def _binary(data: str, media_type: str, kind: str, *, is_accepted: bool) -> UserContent:
    if not is_accepted:
        return f"({kind}, left out: you do not accept it)"
    try:
        return BinaryContent(base64.b64decode(data), media_type=media_type)
    except binascii.Error:
        return f"({kind}, left out: invalid base64)"


def tools_of(tools: Sequence[ToolDescription]) -> list[ToolDefinition]:
    """The tools as the library describes them; it adapts each schema to the provider."""
    return [
        ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.parameters)
        for tool in tools
    ]


def tool_requests_of(response: ModelResponse) -> list[ToolRequest]:
    """The tool calls of a complete response, in order."""
    return [
        ToolRequest(
            id=part.tool_call_id,
            name=part.tool_name,
            arguments=part.args if isinstance(part.args, str) else msgspec.json.encode(part.args or {}).decode(),
        )
        for part in response.parts
        if isinstance(part, ToolCallPart)
    ]


def stop_reason_of(response: ModelResponse) -> StopReason:
    """Why a complete response ended. One that hit the token limit or was refused requests no tools."""
    match response.finish_reason:
        case "length":
            return "max_tokens"
        case "content_filter":
            return "refusal"
        case _:
            return "tools" if any(isinstance(part, ToolCallPart) for part in response.parts) else "end"


def provider_data_of(response: ModelResponse) -> str | None:
    """The response in the provider's own form; None if the plain text says it all."""
    if any(_is_signed(part) for part in response.parts):
        return ModelMessagesTypeAdapter.dump_json([response]).decode()
    return None


def _is_signed(part: ModelResponsePart) -> bool:
    if isinstance(part, ThinkingPart):
        return bool(part.signature or part.provider_name)
    return isinstance(part, TextPart | ToolCallPart) and part.provider_details is not None
