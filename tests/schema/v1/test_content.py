from __future__ import annotations

from typing import Any, get_args

import pytest

from accord.schema import v1
from accord.schema.wire_values import UNSET
from tests.schema.v1.shape import assert_shape, read, refuses, write

ANNOTATIONS = {"annotations": {}}


@pytest.mark.requirement("CONTENT-05", "CONTENT-07", "CONTENT-09", "CONTENT-16")
def test_each_block_needs_its_tag_and_its_content():
    assert_shape(v1.ContentBlock, {"type": "text", "text": "Hello"}, ANNOTATIONS)
    image = {"type": "image", "data": "AAEC", "mimeType": "image/png"}
    assert_shape(v1.ContentBlock, image, {"uri": "file:///a.png"} | ANNOTATIONS)
    assert_shape(v1.ContentBlock, {"type": "audio", "data": "AAEC", "mimeType": "audio/wav"}, ANNOTATIONS)
    assert_shape(
        v1.ContentBlock,
        {"type": "resource_link", "uri": "file:///a", "name": "a"},
        {"mimeType": "text/plain", "title": "A", "description": "The first", "size": 3} | ANNOTATIONS,
    )


@pytest.mark.requirement("CONTENT-09")
def test_sound_has_no_uri():
    assert "uri" not in v1.AudioContent.__struct_encode_fields__


@pytest.mark.requirement("CONTENT-04")
def test_there_are_five_blocks():
    tags = {block.__struct_config__.tag for block in get_args(get_args(v1.ContentBlock)[0])}
    assert tags == {"text", "image", "audio", "resource_link", "resource"}


@pytest.mark.requirement("CONTENT-11", "CONTENT-12", "CONTENT-13")
def test_an_embedded_resource_holds_text_or_bytes():
    for contents in ({"text": "hello"}, {"blob": "AAEC"}):
        resource = {"uri": "file:///a"} | contents
        assert_shape(v1.ContentBlock, {"type": "resource", "resource": resource}, ANNOTATIONS)
        assert_shape(v1.EmbeddedResourceResource, resource, {"mimeType": "text/plain"})


@pytest.mark.requirement("CONTENT-13")
def test_a_resource_without_contents_is_refused():
    assert refuses(v1.EmbeddedResourceResource, {"uri": "file:///a", "mimeType": "text/plain"})
    with pytest.raises(ValueError, match="`text` or `blob`"):
        v1.EmbeddedResourceResource(uri="file:///a")


def test_an_empty_text_is_a_text():
    assert read(v1.EmbeddedResourceResource, {"uri": "file:///a", "text": ""}).text == ""


def test_a_resource_with_both_contents_keeps_both():
    both = {"uri": "file:///a", "text": "hello", "blob": "aGVsbG8="}
    assert write(read(v1.EmbeddedResourceResource, both)) == both


@pytest.mark.requirement("CONTENT-18")
def test_all_annotations_are_optional():
    assert_shape(
        v1.Annotations,
        {},
        {"audience": ["user", "assistant"], "priority": 0.5, "lastModified": "2025-09-30T00:00:00Z"},
    )


@pytest.mark.parametrize("size", [0, 2**53 + 1, 2**63 - 1])
def test_a_size_is_exact_up_to_64_bits(size: int):
    link = {"type": "resource_link", "uri": "file:///a", "name": "a", "size": size}
    assert write(read(v1.ContentBlock, link))["size"] == size


@pytest.mark.parametrize("value", [UNSET, None, v1.Annotations()])
@pytest.mark.requirement("AMB-48")
def test_an_optional_member_is_absent_null_or_there(value: Any):
    block = v1.TextContent(text="Hello", annotations=value)
    assert read(v1.ContentBlock, block) == block
    assert ("annotations" in write(block)) is (value is not UNSET)


@pytest.mark.requirement("CONTENT-01")
def test_the_same_block_goes_into_prompts_messages_and_tool_calls():
    block = v1.TextContent("Hello")
    places = (v1.PromptRequest("sess_1", [block]), v1.AgentMessageChunk(block), v1.Content(block))
    assert [read(type(place), place) for place in places] == list(places)
