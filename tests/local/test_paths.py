"""Paths as people write them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from accord.local.paths import expand_path, file_kind
from tests.local.odd_names import ODD_NAMES


@pytest.mark.parametrize("name", ODD_NAMES)
def test_what_can_be_no_path_leads_to_nothing(name):
    assert file_kind(expand_path(name)) is None


def test_a_tilde_is_the_home_and_that_of_nobody_a_name_like_others(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert expand_path("~") == tmp_path
    assert expand_path("~/a b.txt") == tmp_path / "a b.txt"
    assert expand_path("~nobody-of-this-name/x") == Path("~nobody-of-this-name/x")
    assert expand_path("a/~") == Path("a/~")


@pytest.mark.skipif(sys.platform == "win32", reason="has no pipes with names")
def test_links_are_followed_to_what_is_there(tmp_path):
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    targets = {"file": "file", ".": "directory", "pipe": "other", "missing": None, "link": None}
    for target, kind in targets.items():
        link = tmp_path / "link"
        link.symlink_to(target)
        assert file_kind(link) == kind
        link.unlink()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may enter everything")
def test_what_may_not_be_entered_holds_nothing_for_us(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    assert file_kind(closed / "x") is None
    assert file_kind(closed) == "directory"
