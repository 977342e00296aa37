from __future__ import annotations

import pytest

from accord.apps.coder.tools.fetch import text_of_page


def test_a_page_is_read_as_a_person_reads_it() -> None:
    page = "<style>p{}</style><ul><li>one<li>two</ul><svg><text>no</text></svg><p>three &amp; four"
    assert text_of_page(page) == "one\ntwo\nthree & four"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("", ""),
        ("1 < 2 & 3 > 2", "1 < 2 & 3 > 2"),
        ("a<!-- <p>b</p> -->c<!-->d<!doctype html>e<?xml?>f", "acdef"),
        ("<SCRIPT>a</Script >b", "b"),
        ("<script>'</div>'; a < b</script>c", "c"),
        ("<a title='x > y' href = \"u\">b</a>c", "bc"),
        ("<a title=it's>b</a>", "b"),
        ("<p>a<br/>b<P CLASS=x>c", "a\nb\nc"),
        ("&lt;p&gt; &#65;&#x42;&copy;&nbsp;&hellip; &nosuch; &#99999999999;", "<p> AB© … &nosuch; &#99999999999;"),
        ("<my-own-element>a</my-own-element>", "a"),
        ("a <!-- b", "a"),
        ("a <script> b", "a"),
        ("a <b title='c", "a"),
        ("a <b", "a"),
        ("a &", "a &"),
    ],
)
def test_odd_markup_is_read_as_browsers_read_it(page: str, text: str) -> None:
    assert text_of_page(page) == text
