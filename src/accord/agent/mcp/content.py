"""MCP tools, and the results of their calls as content blocks (CONTENT-02)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

import msgspec

from accord.errors import Malformed
from accord.session.content import Audio, Content, Image, Resource, ResourceLink, Text
from accord.session.value import Unknown

_BLOCK = Text | Image | Audio | ResourceLink | Resource
_TAGS = frozenset(("text", "image", "audio", "resource_link", "resource"))
_NAMES = {"_meta": "meta", "mimeType": "mime_type", "lastModified": "last_modified"}
_OUR_NAMES = frozenset((*_NAMES.values(), "contents_meta"))  # members of these names are ignored


def result_from_mcp(raw: dict[str, Any]) -> McpResult:
    """Raises `Malformed` for an invalid block of a known kind.

    NaN and the infinities, which are not JSON but sent by some servers, become null, as in most other languages.
    """
    raw = msgspec.json.decode(msgspec.json.encode(raw))
    blocks = raw.get("content")
    if blocks is None:
        blocks = []  # some servers send structured content alone
    if not isinstance(blocks, list):
        raise Malformed("$.content", "expected an array")
    meta = raw.get("_meta")
    return McpResult(
        content=[content_from_mcp(block, f"$.content[{i}]") for i, block in enumerate(cast("list[Any]", blocks))],
        structured=raw.get("structuredContent"),
        is_error=raw.get("isError") is True,
        meta=cast("dict[str, Any]", meta) if isinstance(meta, dict) else None,
    )


def content_from_mcp(block: Any, path: str = "$") -> Content:
    """One content block; one of an unknown kind is kept whole."""
    if not isinstance(block, dict):
        raise Malformed(path, "expected an object")
    members = cast("dict[str, Any]", block)
    tag = members.get("type")
    if not isinstance(tag, str):
        raise Malformed(path, "a content block needs a type")
    if tag not in _TAGS:
        return Unknown(tag=tag, raw=members)
    fields = _rename_members(members)
    fields["annotations"] = _rename_members(fields.get("annotations"))
    if tag == "resource_link":
        if isinstance(fields.get("icons"), list):
            fields["icons"] = [_rename_members(icon) for icon in fields["icons"]]
        size = fields.get("size")
        if isinstance(size, int) and not 0 <= size < 2**64:
            fields["size"] = None
    if tag == "resource":
        fields |= _resource_fields(fields.get("resource"), path)
    try:
        return msgspec.convert(fields, _BLOCK)
    except msgspec.ValidationError as error:
        raise Malformed(path, str(error)) from None


def _resource_fields(contents: Any, path: str) -> dict[str, Any]:
    if not isinstance(contents, dict):
        raise Malformed(f"{path}.resource", "expected an object")
    members = cast("dict[str, Any]", contents)
    if (members.get("text") is None) == (members.get("blob") is None):
        raise Malformed(f"{path}.resource", "a resource needs either text or blob")
    return {
        "uri": members.get("uri"),
        "text": members.get("text"),
        "blob": members.get("blob"),
        "mime_type": members.get("mimeType"),
        "contents_meta": members.get("_meta"),
    }


def _rename_members(members: Any) -> Any:
    if not isinstance(members, dict):
        return members
    return {
        _NAMES.get(name, name): value
        for name, value in cast("dict[str, Any]", members).items()
        if name not in _OUR_NAMES
    }


OnProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
"""Called with progress, total and message, one call at a time, the last one before the result."""


class McpTool(msgspec.Struct, kw_only=True, frozen=True):
    """A tool as its server describes it. `annotations` are hints of the server, which may be wrong or a lie."""

    server: str
    name: str
    title: str | None = None
    description: str | None = None
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    annotations: dict[str, Any] = {}
    meta: dict[str, Any] | None = None


class McpResult(msgspec.Struct, kw_only=True, frozen=True):
    """The result of a tool call. `is_error`: the tool itself says that it failed; `content` then says why."""

    content: list[Content] = []
    structured: Any = None
    is_error: bool = False
    meta: dict[str, Any] | None = None
