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
from accord.apps.coder.tools.file_state import Work
from accord.apps.coder.tools.tool_call import bounded
from accord.errors import InvalidParams
from accord.session.content import Audio, Content, Image, Resource, ResourceLink, Text

__all__ = ["aside", "prompt_for", "steered_for", "warning"]


async def prompt_for(work: Work, model: Model) -> list[Content]:
    """The blocks of the turn's prompt for this model; InvalidParams names the one that it can't take."""
    for number, block in enumerate(work.turn.content):
        what = _not_taken(block, model)
        if what is not None:
            reason = f"the model {model.name} takes no {what}: choose another one with /model, or leave it out"
            raise InvalidParams(reason, field=f"prompt[{number}]")
    return [await _told(work, model, block) for block in work.turn.new_content]


async def steered_for(work: Work, model: Model, content: Sequence[Content]) -> list[Content]:
    """The same for what the user said meanwhile. It can't be refused any more: what can't be taken is named."""
    blocks: list[Content] = []
    for block in content:
        what = _not_taken(block, model)
        if what is None:
            blocks.append(await _told(work, model, block))
        else:
            await aside(work.turn, f"{model.name} takes no {what}", "That part of your message is left out.")
            blocks.append(Text(f"({what}, left out: you take none)"))
    return blocks


def _not_taken(block: Content, model: Model) -> str | None:
    match block:
        case Image() if not model.takes.image:
            return "pictures"
        case Audio() if not model.takes.audio:
            return "sound"
        case Text() | Image() | Audio() | ResourceLink() | Resource():
            return None
        case _:
            return f"content of the kind {block.tag!r}"


async def _told(work: Work, model: Model, block: Content) -> Content:
    match block:
        case ResourceLink():
            return await _linked(work, block)
        case Resource(blob=str(blob), mime_type=str(kind)) if kind.startswith("image/") and model.takes.image:
            return Image(data=blob, mime_type=kind)
        case Resource():
            return _written_out(work, block)
        case _:
            return block


async def _linked(work: Work, link: ResourceLink) -> Text:
    """What it leads to if that is a text file in the session's directories, else its address."""
    path_in = _path_in(link.uri, "", "file")
    if path_in is None:
        return Text(f"[{link.name}]({link.uri})")
    try:
        path = work.path(path_in or link.name)
        text = await work.read(path)
    except ToolFailed as failed:
        return Text(f"[{link.name}]({link.uri}) ({failed.told_to_model})")
    work.seen.note(path, text)
    return Text(_file(work.shown(path), bounded(text, work.settings.output_limit)))


def _written_out(work: Work, resource: Resource) -> Text:
    path_in = _path_in(resource.uri, "file")
    name = resource.uri if path_in is None else work.shown(Path(path_in))
    if resource.text is None:
        return Text(f"{printable(name)}: binary data ({resource.mime_type or 'of no known kind'}), left out")
    return Text(_file(name, bounded(resource.text, work.settings.output_limit)))


def _path_in(uri: str, *schemes: str) -> str | None:
    """The path of an address with one of these schemes; None for any other, and for what is no address."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    return unquote(parts.path) if parts.scheme in schemes else None


def _file(name: str, text: str) -> str:
    return f'<file path="{escape(printable(name))}">\n{text}\n</file>'


async def aside(turn: Turn, title: str, description: str) -> None:
    """Worth a look, and no more: a notice, or else a thought."""
    if turn.client.capabilities.notices:
        await turn.notice(title, description)
    else:
        await turn.think(f"{title}: {description}\n")


async def warning(turn: Turn, title: str, description: str) -> None:
    """To be seen in any case: a notice, or else a part of the answer."""
    if turn.client.capabilities.notices:
        await turn.notice(title, description, "warning")
    else:
        await turn.say(f"> **{title}:** {description}\n\n")
