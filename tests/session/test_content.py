from __future__ import annotations

import pytest

from accord.session.content import Audio, Content, Image, Resource, ResourceLink, Text, render_text, text_of
from accord.session.value import Unknown


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (Text("hi"), "hi"),
        (ResourceLink(uri="file:///a", name="a", title="A"), "[A](file:///a)"),
        (Resource(uri="file:///a", text="x = 1"), "file:///a:\n```\nx = 1\n```"),
        (Resource(uri="file:///a", text="```py\n"), "file:///a:\n````\n```py\n````"),
        (Resource(uri="file:///a", blob="aGk=", mime_type="x/y"), "[x/y: file:///a]"),
        (Image(data="aGk=", mime_type="image/png"), "[image/png]"),
        (Audio(data="aGk=", mime_type="audio/wav"), "[audio/wav]"),
        (Unknown(tag="_smell", raw={}), "[_smell]"),
    ],
)
def test_every_block_can_be_read_as_text(block: Content, expected: str):
    assert render_text([block]) == expected


def test_only_what_was_written_is_the_text():
    blocks: list[Content] = [Text("See "), ResourceLink(uri="file:///a", name="a"), Text(".")]
    assert text_of(blocks) == "See ."
    assert render_text(blocks) == "See [a](file:///a)."
