"""Content blocks of v2: the parts of prompts, messages and tool calls."""

from __future__ import annotations

from typing import Annotated, TypeAlias, Union

from msgspec import Meta

from accord.schema.wire_values import UNSET, Defaulted, Known, Lenient, LenientItems, Open, UInt64, Wire, check_uint64

__all__ = [
    "AbsolutePath",
    "Annotations",
    "AudioContent",
    "ContentBlock",
    "EmbeddedResource",
    "EmbeddedResourceResource",
    "Icon",
    "IconTheme",
    "ImageContent",
    "MediaType",
    "ResourceLink",
    "Role",
    "TextContent",
]

AbsolutePath: TypeAlias = str
"""A path in the syntax of the agent's system; that it is absolute is checked where it is used."""

MediaType: TypeAlias = str

Role: TypeAlias = Annotated[str, Known("assistant", "user")]
IconTheme: TypeAlias = Annotated[str, Known("light", "dark")]


class Annotations(Wire):
    """Hints: the audience of a block and its priority; a receiver may ignore them."""

    audience: LenientItems[Role] = UNSET
    last_modified: Lenient[str] = UNSET
    priority: Lenient[Annotated[float, Meta(ge=0, le=1)]] = UNSET


class TextContent(Wire, tag_field="type", tag="text"):
    """Text, shown as Markdown."""

    text: str
    annotations: Lenient[Annotations] = UNSET


class ImageContent(Wire, tag_field="type", tag="image"):
    """An image in base64; `uri` is its origin."""

    data: str
    mime_type: MediaType
    uri: Lenient[str] = UNSET
    annotations: Lenient[Annotations] = UNSET


class AudioContent(Wire, tag_field="type", tag="audio"):
    """Audio in base64."""

    data: str
    mime_type: MediaType
    annotations: Lenient[Annotations] = UNSET


class Icon(Wire):
    """An image to show beside a name; never fetch it with credentials."""

    src: str
    mime_type: Lenient[MediaType] = UNSET
    sizes: LenientItems[str] = UNSET
    theme: Lenient[IconTheme] = UNSET


class ResourceLink(Wire, tag_field="type", tag="resource_link"):
    """A link to a resource; the receiver may not be able to read it."""

    name: str
    uri: str
    title: Lenient[str] = UNSET
    description: Lenient[str] = UNSET
    icons: LenientItems[Icon] = UNSET
    mime_type: Lenient[MediaType] = UNSET
    size: Lenient[UInt64] = UNSET
    annotations: Lenient[Annotations] = UNSET

    def __post_init__(self) -> None:
        check_uint64(self.size)


class EmbeddedResourceResource(Wire):
    """The contents of a resource: `text`, or `blob` in base64."""

    uri: str
    text: Defaulted[str] = UNSET
    blob: Defaulted[str] = UNSET
    mime_type: Lenient[MediaType] = UNSET

    def __post_init__(self) -> None:
        if self.text is UNSET and self.blob is UNSET:
            raise ValueError("a resource needs `text` or `blob`")


class EmbeddedResource(Wire, tag_field="type", tag="resource"):
    """A resource with its contents."""

    resource: EmbeddedResourceResource
    annotations: Lenient[Annotations] = UNSET


ContentBlock: TypeAlias = Open[Union[TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource]]
