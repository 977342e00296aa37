"""Our words in pydantic-ai's messages, and its answers in ours.

An answer goes back to who gave it exactly as it came (`provider_data`), with the signatures of its thoughts: Anthropic, OpenAI
and Google refuse or forget thoughts without them. To any other model it goes back in plain words, without thoughts.
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
from pydantic_ai.messages import (
    ModelMessage as Message,
)
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

__all__ = ["messages_of", "provider_data_of", "stop_reason_of", "tool_requests_of", "tools_of"]

# Where a result can be marked as an error. Elsewhere the library would wrap it in JSON, its lines escaped; it says
# itself that something failed.
_MARK_ERRORS = ("anthropic", "bedrock", "google", "google-cloud")


def messages_of(history: Sequence[ChatMessage], takes: InputKinds, provider: str) -> list[Message]:
    """The history for a model of this provider, which takes so much; what it can't take is named in its place."""
    messages: list[Message] = []
    for message in history:
        match message:
            case UserMessage():
                messages.append(ModelRequest([UserPromptPart(_plainly(_blocks(message.content, takes)))]))
            case ToolMessage():
                messages.append(ModelRequest([_outcome(outcome, takes, provider) for outcome in message.outcomes]))
            case ModelMessage():
                answer = _restored(message, provider) or _answer(message)
                if answer.parts:  # providers refuse an answer with nothing in it
                    messages.append(answer)
    return messages


def _answer(message: ModelMessage) -> ModelResponse:
    parts: list[ModelResponsePart] = [TextPart(message.text)] if message.text else []
    parts += [ToolCallPart(each.name, each.arguments, each.id) for each in message.requests]
    return ModelResponse(parts)


def _restored(message: ModelMessage, provider: str) -> ModelResponse | None:
    if message.provider_data is None:
        return None
    try:
        (answer,) = ModelMessagesTypeAdapter.validate_json(message.provider_data)
    except (ValidationError, ValueError):  # written by another version of the library
        return None
    return answer if isinstance(answer, ModelResponse) and answer.provider_name == provider else None


def _outcome(outcome: ToolOutcome, takes: InputKinds, provider: str) -> ToolReturnPart:
    seen = _blocks(outcome.content, takes)
    return ToolReturnPart(
        tool_name=outcome.name,
        content=[outcome.text, *seen] if seen else outcome.text,
        tool_call_id=outcome.id,
        outcome="failed" if outcome.is_error and provider in _MARK_ERRORS else "success",
    )


def _blocks(blocks: Sequence[Content], takes: InputKinds) -> list[UserContent]:
    return [_block(block, takes) for block in blocks]


def _plainly(content: list[UserContent]) -> str | list[UserContent]:
    """One text where it is all text: the templates of many local models know nothing else."""
    texts = [each for each in content if isinstance(each, str)]
    return "\n\n".join(texts) if len(texts) == len(content) else content


def _block(block: Content, takes: InputKinds) -> UserContent:
    match block:
        case Text():
            return block.text
        case Image():
            return _binary(block.data, block.mime_type, "picture", takes_it=takes.image)
        case Audio():
            return _binary(block.data, block.mime_type, "sound", takes_it=takes.audio)
        case ResourceLink():
            return f"[{block.name}]({block.uri})"
        case Resource():
            return f'<resource uri="{block.uri}">\n{block.text or "(binary, left out)"}\n</resource>'
        case _:
            return f"({block.tag}, left out: accord does not know it)"


def _binary(data: str, media_type: str, what: str, *, takes_it: bool) -> UserContent:
    if not takes_it:
        return f"(a {what}, left out: you do not take any)"
    try:
        return BinaryContent(base64.b64decode(data), media_type=media_type)
    except binascii.Error:
        return f"(a {what}, left out: its base64 is broken)"


def tools_of(tools: Sequence[ToolDescription]) -> list[ToolDefinition]:
    """The tools in the library's terms; it fits each schema to what the provider understands."""
    return [
        ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.parameters)
        for tool in tools
    ]


def tool_requests_of(answer: ModelResponse) -> list[ToolRequest]:
    """The tool calls of a whole answer, in its order."""
    return [
        ToolRequest(
            id=part.tool_call_id,
            name=part.tool_name,
            arguments=part.args if isinstance(part.args, str) else msgspec.json.encode(part.args or {}).decode(),
        )
        for part in answer.parts
        if isinstance(part, ToolCallPart)
    ]


def stop_reason_of(answer: ModelResponse) -> StopReason:
    """Why a whole answer ended. One that was cut short or refused requests nothing, whatever it began to write."""
    match answer.finish_reason:
        case "length":
            return "max_tokens"
        case "content_filter":
            return "refusal"
        case _:
            return "tools" if any(isinstance(part, ToolCallPart) for part in answer.parts) else "end"


def provider_data_of(answer: ModelResponse) -> str | None:
    """The answer as its provider needs it back; None if the plain words say it all."""
    if any(_is_signed(part) for part in answer.parts):
        return ModelMessagesTypeAdapter.dump_json([answer]).decode()
    return None


def _is_signed(part: ModelResponsePart) -> bool:
    if isinstance(part, ThinkingPart):
        return bool(part.signature or part.provider_name)
    return isinstance(part, TextPart | ToolCallPart) and part.provider_details is not None
