from __future__ import annotations

from typing import Any

import msgspec
import pytest

from accord.agent.mcp.content import McpResult, content_from_mcp, result_from_mcp
from accord.dialects.v1 import V1
from accord.dialects.v1.tool_calls import CONTENT as CONTENT_OF_V1
from accord.dialects.v2 import V2
from accord.dialects.v2.tool_calls import CONTENT as CONTENT_OF_V2
from accord.errors import Malformed
from accord.jsonrpc.codec import encode
from accord.jsonrpc.messages import Notification
from accord.session.content import Resource, Text

HINTS = {"audience": ["user", "assistant"], "priority": 1, "lastModified": "2025-01-12T15:00:58Z", "_meta": {"a": 1}}
BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": ""},
    {"type": "text", "text": "words", "annotations": HINTS, "_meta": {"acme/a": [1, None]}},
    {"type": "image", "data": "aQ==", "mimeType": "image/png", "annotations": HINTS, "_meta": {}},
    {"type": "audio", "data": "aQ==", "mimeType": "audio/wav", "annotations": {"audience": []}},
    {"type": "resource_link", "uri": "a:b", "name": "b", "title": "B", "description": "", "mimeType": "c/d", "size": 0},
    {
        "type": "resource",
        "resource": {"uri": "a:b", "text": "", "mimeType": "c/d", "_meta": {"e": 1}},
        "_meta": {"f": 2},
    },
    {"type": "resource", "resource": {"uri": "a:b", "blob": "aQ=="}, "annotations": HINTS},
    {"type": "hologram", "rays": [1, {"_meta": 2}], "mimeType": "a/b"},
]
ICONS = {"icons": [{"src": "data:,", "mimeType": "image/png", "sizes": ["any"], "theme": "dark"}]}


def on_the_wire(block: Any) -> Any:
    return msgspec.json.decode(encode(Notification("x", {"block": block})))["params"]["block"]


@pytest.mark.requirement("CONTENT-02")
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block["type"])
def test_a_block_of_a_server_reaches_the_client_unchanged(block: dict[str, Any]):
    word = content_from_mcp(block)
    in_v1 = {"type": "text", "text": "[hologram]"} if block["type"] == "hologram" else block  # v1 has no such block
    assert on_the_wire(CONTENT_OF_V1.to_wire(V1(), word)) == in_v1
    assert on_the_wire(CONTENT_OF_V2.to_wire(V2(), word)) == block


def test_icons_reach_a_client_that_has_them():
    block = {"type": "resource_link", "uri": "a:b", "name": "b", **ICONS}
    assert on_the_wire(CONTENT_OF_V2.to_wire(V2(), content_from_mcp(block))) == block


def test_members_that_only_look_like_ours_mean_nothing():
    stray = {"meta": 5, "mime_type": 5, "last_modified": 5, "contents_meta": 5}
    assert content_from_mcp({"type": "text", "text": "a", "annotations": {}, **stray}).meta is None
    resource = content_from_mcp({"type": "resource", "resource": {"uri": "a:b", "text": "t", "blob": None}, **stray})
    assert resource == Resource(uri="a:b", text="t")


@pytest.mark.parametrize(
    "block",
    [
        None,
        "text",
        {},
        {"type": None},
        {"type": "text"},
        {"type": "text", "text": None},
        {"type": "text", "text": "a", "annotations": "b"},
        {"type": "text", "text": "a", "_meta": []},
        {"type": "image", "data": "a"},
        {"type": "resource"},
        {"type": "resource", "resource": {"uri": "a:b"}},
        {"type": "resource", "resource": {"text": "t"}},
        {"type": "resource", "resource": {"uri": "a:b", "text": "t", "blob": "aQ=="}},
        {"type": "resource_link", "uri": "a:b", "name": "b", "icons": [5]},
    ],
)
def test_a_malformed_block_says_where_it_is(block: Any):
    with pytest.raises(Malformed) as malformed:
        result_from_mcp({"content": [{"type": "text", "text": "a"}, block]})
    assert malformed.value.path.startswith("$.content[1]")


def test_a_result_of_any_shape_is_read_or_refused():
    assert result_from_mcp({}) == McpResult()
    assert result_from_mcp({"content": None, "isError": True, "_meta": 5}) == McpResult(is_error=True)
    assert result_from_mcp({"content": [{"type": "text", "text": "a"}], "structuredContent": [1]}) == McpResult(
        content=[Text("a")], structured=[1]
    )
    with pytest.raises(Malformed):
        result_from_mcp({"content": {}})
