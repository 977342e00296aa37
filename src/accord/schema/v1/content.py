"""Content blocks of v1: the parts of prompts, messages and tool calls."""

from __future__ import annotations

from typing import Annotated, TypeAlias, Union

from accord.schema.wire_values import UNSET, Closed, Defaulted, Int64, Known, Lenient, LenientItems, Wire

__all__ = [
    "Annotations",
    "AudioContent",
    "ContentBlock",
    "EmbeddedResource",
    "EmbeddedResourceResource",
    "ImageContent",
    "ResourceLink",
    "Role",
    "TextContent",
]

Role: TypeAlias = Annotated[str, Known("assistant", "user", closed=True)]


class Annotations(Wire):
    """Hints for displaying or using the content; a receiver may ignore them."""

    audience: LenientItems[Role] = UNSET
    last_modified: Lenient[str] = UNSET
    priority: Lenient[float] = UNSET


class TextContent(Wire, tag_field="type", tag="text"):
    """Text, Markdown unless the context says otherwise; every agent accepts it in prompts."""

    text: str
    annotations: Lenient[Annotations] = UNSET


class ImageContent(Wire, tag_field="type", tag="image"):
    """An image in base64; in prompts only for agents with `promptCapabilities.image`."""

    data: str
    mime_type: str
    annotations: Lenient[Annotations] = UNSET
    uri: Lenient[str] = UNSET


class AudioContent(Wire, tag_field="type", tag="audio"):
    """Audio in base64; in prompts only for agents with `promptCapabilities.audio`."""

    data: str
    mime_type: str
    annotations: Lenient[Annotations] = UNSET


class ResourceLink(Wire, tag_field="type", tag="resource_link"):
    """A link to a resource that the agent can fetch itself; every agent accepts it in prompts."""

    name: str
    uri: str
    annotations: Lenient[Annotations] = UNSET
    description: Lenient[str] = UNSET
    mime_type: Lenient[str] = UNSET
    size: Lenient[Int64] = UNSET
    title: Lenient[str] = UNSET


class EmbeddedResourceResource(Wire):
    """The contents of a resource: `text`, or `blob` in base64; if both are present, `text` is used."""

    uri: str
    mime_type: Lenient[str] = UNSET
    text: Defaulted[str] = UNSET
    blob: Defaulted[str] = UNSET

    def __post_init__(self) -> None:
        if self.text is UNSET and self.blob is UNSET:
            raise ValueError("a resource needs `text` or `blob`")


class EmbeddedResource(Wire, tag_field="type", tag="resource"):
    """A resource with its contents; in prompts only for agents with `promptCapabilities.embeddedContext`."""

    resource: EmbeddedResourceResource
    annotations: Lenient[Annotations] = UNSET


ContentBlock: TypeAlias = Closed[Union[TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource]]
