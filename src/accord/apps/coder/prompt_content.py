"""Prepares a prompt for its model: reads links, writes out resources, and says what the model can't take."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from accord.agent.turn import Turn
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.models.model import Model
from accord.apps.coder.settings.display import printable
from accord.apps.coder.tools.file_state import ToolContext
from accord.apps.coder.tools.tool_call import bounded
from accord.errors import InvalidParams
from accord.session.content import Audio, Content, Image, Resource, ResourceLink, Text

__all__ = ["prompt_content", "show_note", "show_warning", "steering_content"]


async def prompt_content(context: ToolContext, model: Model) -> list[Content]:
    """The blocks of the turn's prompt for this model; InvalidParams names the one that it can't take."""
    for number, block in enumerate(context.turn.content):
        what = _not_taken(block, model)
        if what is not None:
            reason = f"the model {model.name} takes no {what}: choose another one with /model, or leave it out"
            raise InvalidParams(reason, field=f"prompt[{number}]")
    return [await _told(context, model, block) for block in context.turn.new_content]


async def steering_content(context: ToolContext, model: Model, content: Sequence[Content]) -> list[Content]:
    """The same for what the user said meanwhile. It can't be refused any more: what can't be taken is named."""
    blocks: list[Content] = []
    for block in content:
        what = _not_taken(block, model)
        if what is None:
            blocks.append(await _told(context, model, block))
        else:
            await show_note(context.turn, f"{model.name} takes no {what}", "That part of your message is left out.")
            blocks.append(Text(f"({what}, left out: you take none)"))
    return blocks


def _not_taken(block: Content, model: Model) -> str | None:
    match block:
        case Image() if not model.input_kinds.image:
            return "pictures"
        case Audio() if not model.input_kinds.audio:
            return "sound"
        case Text() | Image() | Audio() | ResourceLink() | Resource():
            return None
        case _:
            return f"content of the kind {block.tag!r}"


async def _told(context: ToolContext, model: Model, block: Content) -> Content:
    match block:
        case ResourceLink():
            return await _linked(context, block)
        case Resource(blob=str(blob), mime_type=str(kind)) if kind.startswith("image/") and model.input_kinds.image:
            return Image(data=blob, mime_type=kind)
        case Resource():
            return _written_out(context, block)
        case _:
            return block


async def _linked(context: ToolContext, link: ResourceLink) -> Text:
    """What it leads to if that is a text file in the session's directories, else its address."""
    path_in = _path_in(link.uri, "", "file")
    if path_in is None:
        return Text(f"[{link.name}]({link.uri})")
    try:
        path = context.path(path_in or link.name)
        text = await context.read(path)
    except ToolFailed as failed:
        return Text(f"[{link.name}]({link.uri}) ({failed.told_to_model})")
    context.seen.note(path, text)
    return Text(_file(context.display_path(path), bounded(text, context.settings.output_limit)))


def _written_out(context: ToolContext, resource: Resource) -> Text:
    path_in = _path_in(resource.uri, "file")
    name = resource.uri if path_in is None else context.display_path(Path(path_in))
    if resource.text is None:
        return Text(f"{printable(name)}: binary data ({resource.mime_type or 'of no known kind'}), left out")
    return Text(_file(name, bounded(resource.text, context.settings.output_limit)))


def _path_in(uri: str, *schemes: str) -> str | None:
    """The path of an address with one of these schemes; None for any other, and for what is no address."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    return unquote(parts.path) if parts.scheme in schemes else None


def _file(name: str, text: str) -> str:
    return f'<file path="{escape(printable(name))}">\n{text}\n</file>'


async def show_note(turn: Turn, title: str, description: str) -> None:
    """Worth a look, and no more: a notice, or else a thought."""
    if turn.client.capabilities.notices:
        await turn.notice(title, description)
    else:
        await turn.think(f"{title}: {description}\n")


async def show_warning(turn: Turn, title: str, description: str) -> None:
    """To be seen in any case: a notice, or else a part of the answer."""
    if turn.client.capabilities.notices:
        await turn.notice(title, description, "warning")
    else:
        await turn.say(f"> **{title}:** {description}\n\n")
