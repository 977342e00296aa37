"""Content blocks between wire and words; one mapping serves every version, whose blocks differ only in icons."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from accord.dialects.absent import known, told
from accord.schema.values import UNSET
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.content import Annotations, Audio, Content, Icon, Image, Resource, ResourceLink, Text
from accord.session.word import Unknown

__all__ = ["ContentMapping"]


class ContentMapping:
    """Bound to the schema of one version; `audiences` are those that it has, where they are no open list."""

    def __init__(self, schema: Any, audiences: frozenset[str] | None = None) -> None:
        self._schema = schema
        self._audiences = audiences
        self._has_icons = hasattr(schema, "Icon")
        self._from_wire: dict[type[Any], Callable[[Any], Content]] = {
            schema.TextContent: _text,
            schema.ImageContent: _image,
            schema.AudioContent: _audio,
            schema.ResourceLink: self._link,
            schema.EmbeddedResource: _resource,
            UnknownOnWire: _unknown,
        }
        self._to_wire: dict[type[Any], Callable[[Any], Any]] = {
            Text: self._wire_text,
            Image: self._wire_image,
            Audio: self._wire_audio,
            ResourceLink: self._wire_link,
            Resource: self._wire_resource,
            Unknown: lambda block: UnknownOnWire(block.tag, block.raw),
        }

    def from_wire(self, block: Any) -> Content:
        """The block as a word."""
        return self._from_wire[type(block)](block)

    def all_from_wire(self, blocks: Iterable[Any]) -> list[Content]:
        """The blocks as words, in order."""
        readers = self._from_wire
        return [readers[type(block)](block) for block in blocks]

    def to_wire(self, block: Content) -> Any:
        """The word as a block of this version."""
        return self._to_wire[type(block)](block)

    def all_to_wire(self, blocks: Iterable[Content]) -> list[Any]:
        """The words as blocks of this version, in order."""
        writers = self._to_wire
        return [writers[type(block)](block) for block in blocks]

    def _link(self, block: Any) -> Content:
        icons = known(block.icons) if self._has_icons else None
        return ResourceLink(
            uri=block.uri,
            name=block.name,
            title=known(block.title),
            description=known(block.description),
            mime_type=known(block.mime_type),
            size=known(block.size),
            icons=None if icons is None else [_icon(icon) for icon in icons],
            annotations=_annotations(block.annotations),
            meta=known(block.meta),
        )

    def _wire_text(self, block: Text) -> Any:
        if block.annotations is None and block.meta is None:
            return self._schema.TextContent(text=block.text)
        return self._schema.TextContent(
            text=block.text, annotations=self._wire_annotations(block.annotations), meta=told(block.meta)
        )

    def _wire_image(self, block: Image) -> Any:
        return self._schema.ImageContent(
            data=block.data,
            mime_type=block.mime_type,
            uri=told(block.uri),
            annotations=self._wire_annotations(block.annotations),
            meta=told(block.meta),
        )

    def _wire_audio(self, block: Audio) -> Any:
        return self._schema.AudioContent(
            data=block.data,
            mime_type=block.mime_type,
            annotations=self._wire_annotations(block.annotations),
            meta=told(block.meta),
        )

    def _wire_link(self, block: ResourceLink) -> Any:
        link = self._schema.ResourceLink(
            uri=block.uri,
            name=block.name,
            title=told(block.title),
            description=told(block.description),
            mime_type=told(block.mime_type),
            size=told(block.size),
            annotations=self._wire_annotations(block.annotations),
            meta=told(block.meta),
        )
        if self._has_icons and block.icons is not None:
            link.icons = [
                self._schema.Icon(
                    src=icon.src,
                    mime_type=told(icon.mime_type),
                    sizes=told(icon.sizes),
                    theme=told(icon.theme),
                    meta=told(icon.meta),
                )
                for icon in block.icons
            ]
        return link

    def _wire_resource(self, block: Resource) -> Any:
        contents = self._schema.EmbeddedResourceResource(
            uri=block.uri,
            text=told(block.text),
            blob=told(block.blob),
            mime_type=told(block.mime_type),
            meta=told(block.contents_meta),
        )
        return self._schema.EmbeddedResource(
            resource=contents, annotations=self._wire_annotations(block.annotations), meta=told(block.meta)
        )

    def _wire_annotations(self, annotations: Annotations | None) -> Any:
        if annotations is None:
            return UNSET
        audience = annotations.audience
        if audience is not None and self._audiences is not None:
            audience = [each for each in audience if each in self._audiences]
        return self._schema.Annotations(
            audience=told(audience),
            priority=told(annotations.priority),
            last_modified=told(annotations.last_modified),
            meta=told(annotations.meta),
        )


def _annotations(annotations: Any) -> Annotations | None:
    if annotations is UNSET or annotations is None:
        return None
    return Annotations(
        audience=known(annotations.audience),
        priority=known(annotations.priority),
        last_modified=known(annotations.last_modified),
        meta=known(annotations.meta),
    )


def _text(block: Any) -> Content:
    if block.annotations is UNSET and block.meta is UNSET:
        return Text(block.text)
    return Text(block.text, annotations=_annotations(block.annotations), meta=known(block.meta))


def _image(block: Any) -> Content:
    return Image(
        data=block.data,
        mime_type=block.mime_type,
        uri=known(block.uri),
        annotations=_annotations(block.annotations),
        meta=known(block.meta),
    )


def _audio(block: Any) -> Content:
    return Audio(
        data=block.data,
        mime_type=block.mime_type,
        annotations=_annotations(block.annotations),
        meta=known(block.meta),
    )


def _icon(icon: Any) -> Icon:
    return Icon(
        src=icon.src,
        mime_type=known(icon.mime_type),
        sizes=known(icon.sizes),
        theme=known(icon.theme),
        meta=known(icon.meta),
    )


def _resource(block: Any) -> Content:
    contents = block.resource
    text = known(contents.text)
    return Resource(
        uri=contents.uri,
        text=text,
        blob=known(contents.blob) if text is None else None,
        mime_type=known(contents.mime_type),
        annotations=_annotations(block.annotations),
        contents_meta=known(contents.meta),
        meta=known(block.meta),
    )


def _unknown(block: UnknownOnWire) -> Content:
    return Unknown(tag=block.tag, raw=block.raw)
