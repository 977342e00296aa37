from __future__ import annotations

import pytest

from accord.cli.markdown_text import render_page, sections


def rendered(markdown: str, width: int = 40) -> str:
    return render_page(markdown, width, lambda text, target: f"{text} <{target}>")


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("# A title\n\nSome *fine* and **bold** words with `*code*` in them.", "A TITLE\n\nSome fine and bold words with `*code*`\nin them.\n"),
        ("### Lower\nBelow", "Lower\n\nBelow\n"),
        ("- one two three four five six seven eight nine\n  ten\n- b\n  - c", "- one two three four five six seven\n  eight nine ten\n- b\n  - c\n"),
        ("1. one\n2. two", "1. one\n2. two\n"),
        ("See [a page](run.md), ![a picture](x.svg)!", "See a page <run.md>, !\n"),
        ("```sh\nx  *y*\n\nz\n```\nafter", "    x  *y*\n\n    z\n\nafter\n"),
        ("<!-- hidden\n\nall of it -->\nseen", "seen\n"),
        ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name\n"),
    ],
)  # fmt: skip
def test_what_pages_are_made_of(markdown: str, text: str):
    assert rendered(markdown) == text


class TestATable:
    def test_that_fits_is_in_columns(self):
        assert rendered("| a | b |\n|---|--:|\n| one | 2 |\n| x | `a\\|b` |") == "a    b\none  2\nx    `a|b`\n"

    def test_without_heads_has_none(self):
        assert rendered("| | |\n|---|---|\n| one | 2 |") == "one  2\n"

    def test_of_two_columns_has_the_second_wrapped(self):
        assert rendered("| | |\n|---|---|\n| one | " + "word " * 10 + "|") == (
            "one  word word word word word word word\n     word word word\n"
        )

    def test_of_two_columns_keeps_its_heads(self):
        assert rendered("| | about |\n|---|---|\n| one | " + "word " * 8 + "|").startswith("     about\none  word")

    def test_that_does_not_fit_has_its_cells_below_each_other(self):
        table = "| a | first | second |\n|---|---|---|\n| one | " + "word " * 9 + "| x |"
        assert rendered(table) == "one\n    first: word word word word word word\n    word word word\n    second: x\n"


def test_the_sections_of_a_page():
    page = "# All\n\nbegin\n\n## One\n1\n### Deep\n2\n```\n# no heading\n```\n## `Two`\n3"
    found = sections(page)
    assert list(found) == ["All", "One", "Deep", "`Two`"]
    assert found["One"] == "## One\n1\n### Deep\n2\n```\n# no heading\n```"
    assert found["All"] == page
