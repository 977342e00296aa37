"""Content blocks between wire and words; one mapping serves every version.

Their blocks differ in icons, which v1 does not have, in the bounds of numbers, and in what is closed: v1 lists all types of
blocks and all audiences there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from accord.dialects.dialect import Dialect
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.schema.wire_values import UNSET
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.content import Annotations, Audio, Content, Icon, Image, Resource, ResourceLink, Text
from accord.session.value import Unknown

__all__ = ["ContentConverter"]

_AUDIENCES = ("assistant", "user")


class ContentConverter:
    """Bound to the schema of one version, and to its name if that closes what it lists."""

    def __init__(self, schema: Any, closed_by: str | None = None) -> None:
        self._schema = schema
        self.closed_by = closed_by
        self._has_icons = hasattr(schema, "Icon")
        self._sizes = range(2**64) if closed_by is None else range(-(2**63), 2**63)
        self._from_wire: dict[type[Any], Callable[[Any], Content]] = {
            schema.TextContent: _text,
            schema.ImageContent: _image,
            schema.AudioContent: _audio,
            schema.ResourceLink: self._link,
            schema.EmbeddedResource: _resource,
            UnknownOnWire: self._unknown,
        }
        self._to_wire: dict[type[Any], Callable[[Dialect, Any], Any]] = {
            Text: self._wire_text,
            Image: self._wire_image,
            Audio: self._wire_audio,
            ResourceLink: self._wire_link,
            Resource: self._wire_resource,
            Unknown: self._wire_unknown,
        }

    def from_wire(self, block: Any) -> Content:
        """The block as a word."""
        return self._from_wire[type(block)](block)

    def all_from_wire(self, blocks: Iterable[Any]) -> list[Content]:
        """The blocks as words, in order."""
        readers = self._from_wire
        return [readers[type(block)](block) for block in blocks]

    def to_wire(self, dialect: Dialect, block: Content) -> Any:
        """The word as a block of this version."""
        return self._to_wire[type(block)](dialect, block)

    def all_to_wire(self, dialect: Dialect, blocks: Iterable[Content]) -> list[Any]:
        """The words as blocks of this version, in order."""
        writers = self._to_wire
        return [writers[type(block)](dialect, block) for block in blocks]

    def _unknown(self, block: UnknownOnWire) -> Content:
        return Unknown(tag=block.tag, raw=block.raw, version=self.closed_by)

    def _wire_unknown(self, dialect: Dialect, block: Unknown) -> Any:
        """As it came; where types are closed and it came from elsewhere, its type as text."""
        if self.closed_by in (None, block.version):
            return UnknownOnWire(block.tag, block.raw)
        dialect.lose("content-type", block.tag)
        return self._schema.TextContent(text=f"[{block.tag}]")

    def _link(self, block: Any) -> Content:
        icons = none_if_unset(block.icons) if self._has_icons else None
        return ResourceLink(
            uri=block.uri,
            name=block.name,
            title=none_if_unset(block.title),
            description=none_if_unset(block.description),
            mime_type=none_if_unset(block.mime_type),
            size=none_if_unset(block.size),
            icons=None if icons is None else [_icon(icon) for icon in icons],
            annotations=_annotations(block.annotations),
            meta=none_if_unset(block.meta),
        )

    def _wire_text(self, dialect: Dialect, block: Text) -> Any:
        if block.annotations is None and block.meta is None:
            return self._schema.TextContent(text=block.text)
        return self._schema.TextContent(
            text=block.text,
            annotations=self._wire_annotations(dialect, block.annotations),
            meta=unset_if_none(block.meta),
        )

    def _wire_image(self, dialect: Dialect, block: Image) -> Any:
        return self._schema.ImageContent(
            data=block.data,
            mime_type=block.mime_type,
            uri=unset_if_none(block.uri),
            annotations=self._wire_annotations(dialect, block.annotations),
            meta=unset_if_none(block.meta),
        )

    def _wire_audio(self, dialect: Dialect, block: Audio) -> Any:
        return self._schema.AudioContent(
            data=block.data,
            mime_type=block.mime_type,
            annotations=self._wire_annotations(dialect, block.annotations),
            meta=unset_if_none(block.meta),
        )

    def _wire_link(self, dialect: Dialect, block: ResourceLink) -> Any:
        size = block.size
        if size is not None and size not in self._sizes:
            dialect.lose("size", block.uri)
            size = None
        link = self._schema.ResourceLink(
            uri=block.uri,
            name=block.name,
            title=unset_if_none(block.title),
            description=unset_if_none(block.description),
            mime_type=unset_if_none(block.mime_type),
            size=unset_if_none(size),
            annotations=self._wire_annotations(dialect, block.annotations),
            meta=unset_if_none(block.meta),
        )
        if not self._has_icons:
            if block.icons:
                dialect.lose("icons", block.uri)
        elif block.icons is not None:
            link.icons = [
                self._schema.Icon(
                    src=icon.src,
                    mime_type=unset_if_none(icon.mime_type),
                    sizes=unset_if_none(icon.sizes),
                    theme=unset_if_none(icon.theme),
                    meta=unset_if_none(icon.meta),
                )
                for icon in block.icons
            ]
        return link

    def _wire_resource(self, dialect: Dialect, block: Resource) -> Any:
        contents = self._schema.EmbeddedResourceResource(
            uri=block.uri,
            text=unset_if_none(block.text),
            blob=unset_if_none(block.blob),
            mime_type=unset_if_none(block.mime_type),
            meta=unset_if_none(block.contents_meta),
        )
        return self._schema.EmbeddedResource(
            resource=contents,
            annotations=self._wire_annotations(dialect, block.annotations),
            meta=unset_if_none(block.meta),
        )

    def _wire_annotations(self, dialect: Dialect, annotations: Annotations | None) -> Any:
        if annotations is None:
            return UNSET
        audience, priority = annotations.audience, annotations.priority
        if self.closed_by is not None and audience and not set(audience).issubset(_AUDIENCES):
            dialect.lose("audience", "annotations")
            audience = [each for each in audience if each in _AUDIENCES] or None
        if self.closed_by is None and priority is not None and not 0 <= priority <= 1:
            dialect.lose("priority", "annotations")
            priority = 0.0 if priority < 0 else 1.0
        return self._schema.Annotations(
            audience=unset_if_none(audience),
            priority=unset_if_none(priority),
            last_modified=unset_if_none(annotations.last_modified),
            meta=unset_if_none(annotations.meta),
        )


def _annotations(annotations: Any) -> Annotations | None:
    if annotations is UNSET or annotations is None:
        return None
    return Annotations(
        audience=none_if_unset(annotations.audience),
        priority=none_if_unset(annotations.priority),
        last_modified=none_if_unset(annotations.last_modified),
        meta=none_if_unset(annotations.meta),
    )


def _text(block: Any) -> Content:
    if block.annotations is UNSET and block.meta is UNSET:
        return Text(block.text)
    return Text(block.text, annotations=_annotations(block.annotations), meta=none_if_unset(block.meta))


def _image(block: Any) -> Content:
    return Image(
        data=block.data,
        mime_type=block.mime_type,
        uri=none_if_unset(block.uri),
        annotations=_annotations(block.annotations),
        meta=none_if_unset(block.meta),
    )


def _audio(block: Any) -> Content:
    return Audio(
        data=block.data,
        mime_type=block.mime_type,
        annotations=_annotations(block.annotations),
        meta=none_if_unset(block.meta),
    )


def _icon(icon: Any) -> Icon:
    return Icon(
        src=icon.src,
        mime_type=none_if_unset(icon.mime_type),
        sizes=none_if_unset(icon.sizes),
        theme=none_if_unset(icon.theme),
        meta=none_if_unset(icon.meta),
    )


def _resource(block: Any) -> Content:
    contents = block.resource
    text = none_if_unset(contents.text)
    return Resource(
        uri=contents.uri,
        text=text,
        blob=none_if_unset(contents.blob) if text is None else None,
        mime_type=none_if_unset(contents.mime_type),
        annotations=_annotations(block.annotations),
        contents_meta=none_if_unset(contents.meta),
        meta=none_if_unset(block.meta),
    )
