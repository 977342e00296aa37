from __future__ import annotations

import pytest

from accord.schema import v2
from tests.schema.v1.shape import assert_shape, known, read, refuses

ANNOTATIONS = {"audience": ["user", "_robot"], "lastModified": "2026-11-03T10:15:00Z", "priority": 0.5}
HINTS = {"annotations": ANNOTATIONS, "_meta": {"a": 1}}


def test_text() -> None:
    assert_shape(v2.ContentBlock, {"type": "text", "text": "hi"}, HINTS)


def test_an_image() -> None:
    required = {"type": "image", "data": "AA==", "mimeType": "image/png"}
    assert_shape(v2.ContentBlock, required, {"uri": "file:///a.png", **HINTS})


def test_audio() -> None:
    assert_shape(v2.ContentBlock, {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}, HINTS)


def test_a_link_to_a_resource() -> None:
    icon = {"src": "https://example.org/a.svg", "mimeType": "image/svg+xml", "sizes": ["any"], "theme": "dark"}
    optional = {"title": "A", "description": "An a", "icons": [icon], "mimeType": "text/plain", "size": 2**64 - 1}
    assert_shape(v2.ContentBlock, {"type": "resource_link", "name": "a", "uri": "file:///a"}, {**optional, **HINTS})


@pytest.mark.parametrize("contents", [{"text": "t"}, {"blob": "AA=="}])
def test_a_resource_holds_text_or_a_blob(contents: dict[str, str]) -> None:
    assert_shape(v2.EmbeddedResourceResource, {"uri": "file:///a", **contents}, {"mimeType": "text/plain"})


def test_an_embedded_resource() -> None:
    resource = {"uri": "file:///a", "text": "t"}
    assert_shape(v2.ContentBlock, {"type": "resource", "resource": resource}, HINTS)
    assert refuses(v2.ContentBlock, {"type": "resource", "resource": {"uri": "file:///a"}})


@pytest.mark.parametrize("priority", [-0.01, 1.01])
def test_a_priority_lies_between_0_and_1(priority: float) -> None:
    assert refuses(v2.Annotations, {"priority": priority})
    assert [read(v2.Annotations, {"priority": bound}).priority for bound in (0, 1)] == [0.0, 1.0]


def test_the_known_roles_and_themes() -> None:
    assert set(known(v2.Role).values) == {"assistant", "user"}
    assert set(known(v2.IconTheme).values) == {"light", "dark"}
