"""The loss table is published as it is, and names nothing that does not exist."""

from __future__ import annotations

import re
from pathlib import Path

from accord.dialects.translation_losses import loss_table
from accord.dialects.v1 import V1
from accord.dialects.v2 import V2
from accord.dialects.v2_draft import V2Draft
from tests.dialects.losses_page import PAGE, with_table

SOURCE = Path(__file__).resolve().parents[2] / "src" / "accord" / "dialects"


def test_the_page_shows_the_table_as_it_is():
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_table(page), "run `python -m tests.dialects.losses_page`"


def test_every_row_names_dialects_that_exist():
    names = {dialect.name for dialect in (V1, V2, V2Draft)}
    assert {row.id for row in loss_table().values() if not row.dialects or not names.issuperset(row.dialects)} == set()


def test_the_rows_that_are_noted_are_the_rows_of_the_table():
    noted: set[str] = set()
    for file in SOURCE.rglob("*.py"):
        noted.update(re.findall(r"""\.record_loss\(\s*"([^"]+)\"""", file.read_text(encoding="utf-8")))
    assert noted == loss_table().keys()
