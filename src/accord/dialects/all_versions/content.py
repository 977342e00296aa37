"""Converts content blocks.

The versions differ in icons, which v1 does not have, in the ranges of numbers, and in what is closed: v1 lists all
types of blocks and all audiences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from accord.dialects.dialect import Dialect
from accord.dialects.struct_converter import StructConverter
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.schema.wire_values import UNSET
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.content import Annotations, Audio, Content, Icon, Image, Resource, ResourceLink, Text
from accord.session.value import Unknown

_AUDIENCES = ("assistant", "user")


class ContentConverter:
    """For the schema of one version; `closed_by` is its name if it allows no other types and audiences."""

    def __init__(self, schema: Any, closed_by: str | None = None) -> None:
        self._schema = schema
        self.closed_by = closed_by
        self._sizes = range(2**64) if closed_by is None else range(-(2**63), 2**63)
        self._annotations = StructConverter(Annotations, schema.Annotations)
        self._image = StructConverter(Image, schema.ImageContent)
        self._audio = StructConverter(Audio, schema.AudioContent)
        self._link = StructConverter(ResourceLink, schema.ResourceLink)
        self._icon = StructConverter(Icon, schema.Icon) if hasattr(schema, "Icon") else None
        self._from_wire: dict[type[Any], Callable[[Any], Content]] = {
            schema.TextContent: self._text_from_wire,
            schema.ImageContent: self._image_from_wire,
            schema.AudioContent: self._audio_from_wire,
            schema.ResourceLink: self._link_from_wire,
            schema.EmbeddedResource: self._resource_from_wire,
            UnknownOnWire: self._unknown_from_wire,
        }
        self._to_wire: dict[type[Any], Callable[[Dialect, Any], Any]] = {
            Text: self._text_to_wire,
            Image: self._image_to_wire,
            Audio: self._audio_to_wire,
            ResourceLink: self._link_to_wire,
            Resource: self._resource_to_wire,
            Unknown: self.unknown_to_wire,
        }

    def from_wire(self, block: Any) -> Content:
        return self._from_wire[type(block)](block)

    def all_from_wire(self, blocks: Iterable[Any]) -> list[Content]:
        readers = self._from_wire
        return [readers[type(block)](block) for block in blocks]

    def to_wire(self, dialect: Dialect, block: Content) -> Any:
        return self._to_wire[type(block)](dialect, block)

    def all_to_wire(self, dialect: Dialect, blocks: Iterable[Content]) -> list[Any]:
        writers = self._to_wire
        return [writers[type(block)](dialect, block) for block in blocks]

    def _unknown_from_wire(self, block: UnknownOnWire) -> Unknown:
        return Unknown(tag=block.tag, raw=block.raw, version=self.closed_by)

    def unknown_to_wire(self, dialect: Dialect, block: Unknown) -> Any:
        """Unchanged; where types are closed and it came from another version, its type as text."""
        if self.closed_by in (None, block.version):
            return UnknownOnWire(block.tag, block.raw)
        dialect.record_loss("content-type", block.tag)
        return self._schema.TextContent(text=f"[{block.tag}]")

    def _text_from_wire(self, block: Any) -> Text:
        if block.annotations is UNSET and block.meta is UNSET:
            return Text(block.text)
        return Text(
            block.text, annotations=self._annotations_from_wire(block.annotations), meta=none_if_unset(block.meta)
        )

    def _text_to_wire(self, dialect: Dialect, block: Text) -> Any:
        if block.annotations is None and block.meta is None:
            return self._schema.TextContent(text=block.text)
        annotations = self._annotations_to_wire(dialect, block.annotations)
        return self._schema.TextContent(text=block.text, annotations=annotations, meta=unset_if_none(block.meta))

    def _image_from_wire(self, block: Any) -> Image:
        return self._image.from_wire(block, annotations=self._annotations_from_wire(block.annotations))

    def _image_to_wire(self, dialect: Dialect, block: Image) -> Any:
        return self._image.to_wire(block, annotations=self._annotations_to_wire(dialect, block.annotations))

    def _audio_from_wire(self, block: Any) -> Audio:
        return self._audio.from_wire(block, annotations=self._annotations_from_wire(block.annotations))

    def _audio_to_wire(self, dialect: Dialect, block: Audio) -> Any:
        return self._audio.to_wire(block, annotations=self._annotations_to_wire(dialect, block.annotations))

    def _link_from_wire(self, block: Any) -> ResourceLink:
        annotations = self._annotations_from_wire(block.annotations)
        icons = none_if_unset(block.icons) if self._icon else None
        if icons is None or self._icon is None:
            return self._link.from_wire(block, annotations=annotations, icons=None)
        return self._link.from_wire(block, annotations=annotations, icons=list(map(self._icon.from_wire, icons)))

    def _link_to_wire(self, dialect: Dialect, block: ResourceLink) -> Any:
        members: dict[str, Any] = {"annotations": self._annotations_to_wire(dialect, block.annotations)}
        if block.size is not None and block.size not in self._sizes:
            dialect.record_loss("size", block.uri)
            members["size"] = UNSET
        if self._icon is None:
            if block.icons:
                dialect.record_loss("icons", block.uri)
        elif block.icons is not None:
            members["icons"] = list(map(self._icon.to_wire, block.icons))
        return self._link.to_wire(block, **members)

    def _resource_from_wire(self, block: Any) -> Resource:
        contents = block.resource
        text = none_if_unset(contents.text)
        return Resource(
            uri=contents.uri,
            text=text,
            blob=none_if_unset(contents.blob) if text is None else None,
            mime_type=none_if_unset(contents.mime_type),
            annotations=self._annotations_from_wire(block.annotations),
            contents_meta=none_if_unset(contents.meta),
            meta=none_if_unset(block.meta),
        )

    def _resource_to_wire(self, dialect: Dialect, block: Resource) -> Any:
        contents = self._schema.EmbeddedResourceResource(
            uri=block.uri,
            text=unset_if_none(block.text),
            blob=unset_if_none(block.blob),
            mime_type=unset_if_none(block.mime_type),
            meta=unset_if_none(block.contents_meta),
        )
        annotations = self._annotations_to_wire(dialect, block.annotations)
        return self._schema.EmbeddedResource(resource=contents, annotations=annotations, meta=unset_if_none(block.meta))

    def _annotations_from_wire(self, annotations: Any) -> Annotations | None:
        return None if annotations is UNSET or annotations is None else self._annotations.from_wire(annotations)

    def _annotations_to_wire(self, dialect: Dialect, annotations: Annotations | None) -> Any:
        if annotations is None:
            return UNSET
        members: dict[str, Any] = {}
        audience, priority = annotations.audience, annotations.priority
        if self.closed_by is not None and audience and not set(audience).issubset(_AUDIENCES):
            dialect.record_loss("audience", "annotations")
            members["audience"] = [name for name in audience if name in _AUDIENCES] or UNSET
        if self.closed_by is None and priority is not None and not 0 <= priority <= 1:
            dialect.record_loss("priority", "annotations")
            members["priority"] = 0.0 if priority < 0 else 1.0
        return self._annotations.to_wire(annotations, **members)
