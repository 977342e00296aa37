"""The five kinds of content that prompts, messages and tool calls are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypeGuard

from accord.session.value import Unknown, Value

__all__ = [
    "Annotations",
    "Audio",
    "Content",
    "Icon",
    "Image",
    "Resource",
    "ResourceLink",
    "Text",
    "drop_repeated",
    "is_plain",
    "render_text",
    "separate_texts",
    "text_of",
]


class Annotations(Value):
    """Hints on who a block is for and how much it matters."""

    audience: list[str] | None = None
    priority: float | None = None
    last_modified: str | None = None


class Text(Value, tag_field="type", tag="text"):
    """Markdown text."""

    text: str
    annotations: Annotations | None = None


class Image(Value, tag_field="type", tag="image"):
    """A picture, its bytes in base64."""

    data: str
    mime_type: str
    uri: str | None = None
    annotations: Annotations | None = None


class Audio(Value, tag_field="type", tag="audio"):
    """A sound, its bytes in base64."""

    data: str
    mime_type: str
    annotations: Annotations | None = None


class Icon(Value):
    """A picture that stands for a linked resource."""

    src: str
    mime_type: str | None = None
    sizes: list[str] | None = None
    theme: str | None = None


class ResourceLink(Value, tag_field="type", tag="resource_link"):
    """A resource named but not included; whoever receives it may be unable to read it."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    icons: list[Icon] | None = None
    annotations: Annotations | None = None


class Resource(Value, tag_field="type", tag="resource"):
    """A resource included whole: exactly one of `text` and `blob` (base64) is set.

    `meta` belongs to the block, `contents_meta` to the resource inside it.
    """

    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None
    annotations: Annotations | None = None
    contents_meta: dict[str, object] | None = None


Content: TypeAlias = Text | Image | Audio | ResourceLink | Resource | Unknown


def text_of(blocks: Iterable[Content]) -> str:
    """The text of the text blocks, joined as it was sent."""
    return "".join([block.text for block in blocks if type(block) is Text])


def render_text(blocks: Iterable[Content]) -> str:
    """All blocks as text, for a reader of nothing else: links and included texts in their places, the rest by name."""
    return "".join(map(_readable, blocks)).strip()


def _readable(block: Content) -> str:
    match block:
        case Text():
            return block.text
        case ResourceLink():
            return f"[{block.title or block.name}]({block.uri})"
        case Resource(text=str(text)):
            longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
            fence = "`" * max(3, longest + 1)
            end = "" if text.endswith("\n") else "\n"
            return f"\n\n{block.uri}:\n{fence}\n{text}{end}{fence}\n\n"
        case Resource():
            return f"[{block.mime_type or 'file'}: {block.uri}]"
        case Image() | Audio():
            return f"[{block.mime_type}]"
        case _:
            return f"[{block.tag}]"


def separate_texts(blocks: Iterable[Content]) -> list[Content]:
    """A prompt's blocks with a blank line between texts that follow each other: nobody wrote them as one line."""
    spaced: list[Content] = []
    for block in blocks:
        if type(block) is Text and spaced and type(spaced[-1]) is Text:
            spaced.append(Text("\n\n"))
        spaced.append(block)
    return spaced


def drop_repeated(prompt: list[Content], cancelled: Sequence[Content]) -> list[Content]:
    """A prompt without the blocks it begins with that only repeat what was cancelled, if there is text behind them.

    Some clients send what had no answer again, before what the user wrote now. Text that stands alone is asked for anew.
    """
    known = [_plain(block) for block in cancelled]
    begin = next((number for number, block in enumerate(prompt) if _plain(block) not in known), len(prompt))
    newer = prompt[begin:]
    return newer if any(type(block) is Text and block.text.strip() for block in newer) else prompt


def _plain(block: Content) -> Content:
    return Text(block.text.strip()) if type(block) is Text else block


def is_plain(block: Content) -> TypeGuard[Text]:
    """Whether the block is text and nothing more is said about it, so that it can be joined with its like."""
    return type(block) is Text and block.annotations is None and block.meta is None
