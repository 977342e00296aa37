"""Prepares a prompt for a model: reads linked files, writes out resources, and rejects content that it does not accept."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from accord.agent.turn import Turn
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.models.model import Model
from accord.apps.coder.tools.tool import ToolContext
from accord.apps.coder.tools.tool_call import shortened
from accord.errors import InvalidParams
from accord.local.text import printable
from accord.session.content import Audio, Content, Image, Resource, ResourceLink, Text


async def prompt_content(context: ToolContext, model: Model) -> list[Content]:
    """The blocks of the turn's prompt for this model; InvalidParams names the one that it does not accept."""
    for number, block in enumerate(context.turn.content):
        kind = _unaccepted_kind(block, model)
        if kind is not None:
            reason = f"the model {model.name} does not accept {kind}: choose another one with /model, or leave it out"
            raise InvalidParams(reason, field=f"prompt[{number}]")
    return [await _prepare(context, model, block) for block in context.turn.new_content]


async def steering_content(context: ToolContext, model: Model, content: Sequence[Content]) -> list[Content]:
    """The same for what the user wrote meanwhile. It can't be rejected any more: a note replaces such a block."""
    blocks: list[Content] = []
    for block in content:
        kind = _unaccepted_kind(block, model)
        if kind is None:
            blocks.append(await _prepare(context, model, block))
        else:
            title = f"{model.name} does not accept {kind}"
            await show_note(context.turn, title, "That part of your message is left out.")
            blocks.append(Text(f"({kind}, left out: you do not accept them)"))
    return blocks


async def show_note(turn: Turn, title: str, description: str) -> None:
    """Show something minor: as a notice, or as a thought if the client has no notices."""
    if turn.client.capabilities.notices:
        await turn.notice(title, description)
    else:
        await turn.think(f"{title}: {description}\n")


def _unaccepted_kind(block: Content, model: Model) -> str | None:
    match block:
        case Image() if not model.input_kinds.image:
            return "images"
        case Audio() if not model.input_kinds.audio:
            return "audio"
        case Text() | Image() | Audio() | ResourceLink() | Resource():
            return None
        case _:
            return f"content of the kind {block.tag!r}"


async def _prepare(context: ToolContext, model: Model, block: Content) -> Content:
    match block:
        case ResourceLink():
            return await _linked_file(context, block)
        case Resource(blob=str(blob), mime_type=str(kind)) if kind.startswith("image/") and model.input_kinds.image:
            return Image(data=blob, mime_type=kind)
        case Resource():
            return _resource_text(context, block)
        case _:
            return block


async def _linked_file(context: ToolContext, link: ResourceLink) -> Text:
    """The content of a text file in the session's directories, otherwise the link itself."""
    file = _path_of(link.uri, "", "file")
    if file is None:
        return Text(f"[{link.name}]({link.uri})")
    try:
        path = context.path(file or link.name)
        text = await context.files.read(path)
    except ToolFailed as failed:
        return Text(f"[{link.name}]({link.uri}) ({failed.model_text})")
    context.files.seen.add(path, text)
    return Text(_as_file(context, context.display_path(path), text))


def _resource_text(context: ToolContext, resource: Resource) -> Text:
    file = _path_of(resource.uri, "file")
    name = resource.uri if file is None else context.display_path(Path(file))
    if resource.text is None:
        return Text(f"{printable(name)}: binary data ({resource.mime_type or 'unknown type'}), left out")
    return Text(_as_file(context, name, resource.text))


def _path_of(uri: str, *schemes: str) -> str | None:
    """The path of a URI with one of these schemes; None for any other, and for an invalid URI."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    return unquote(parts.path) if parts.scheme in schemes else None


def _as_file(context: ToolContext, name: str, text: str) -> str:
    return f'<file path="{escape(printable(name))}">\n{shortened(text, context.settings.output_limit)}\n</file>'
