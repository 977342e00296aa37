from __future__ import annotations

import re

import pytest

from accord.apps.coder.settings.files import SettingsFile
from accord.apps.coder.settings.precedence import merge_sources
from accord.apps.coder.settings.settings import Settings, describe_settings
from tests.cli.pages import DOCS, PAGES, with_made_part


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_page_says_what_the_code_says(path):
    page = path.read_text(encoding="utf-8")
    assert with_made_part(page, PAGES[path]()) == page, "run `python -m tests.cli.pages`"


def test_every_setting_says_what_it_means():
    assert [setting.name for setting in describe_settings()] == list(Settings.__struct_fields__)
    assert [setting.name for setting in describe_settings() if not setting.meaning] == []


def test_the_example_of_the_page_can_be_loaded():
    (example,) = re.findall(
        r"^```toml\n(.*?)^```$", (DOCS / "settings.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    _, origins = merge_sources({}, {}, SettingsFile(DOCS / "example.toml", example.encode()))
    shown = {name.partition(".")[0] for name, origin in origins.items() if origin != "default"}
    assert shown == set(Settings.__struct_fields__)
